//! The module being lowered: symbols, variables, functions by name.

use crate::error::{Lowered, invalid, unsupported};
use crate::function::scope::NameTable;
use crate::module::inlining::Inlining;
use crate::module::lines::Lines;
use crate::module::meetings::Meetings;
use crate::module::plan::{Plan, VarKey};
use crate::module::{data, library, plan};
use crate::options::Options;
use oriole_isa::Arch;
use oriole_ori::{DataReloc, DataRelocKind, Linkage, MemSpace, Module, Symbol, SymbolKind, Variable};
use oriole_ptx::ast::{self, Name, Space, Span, Sym};
use rustc_hash::{FxHashMap, FxHashSet};

/// Most bytes of variables with initial values, all of which stand in the file: more than any program has, and not
/// more than a machine holds.
const MOST_INITIALISED: u64 = 1 << 28;

/// The module being lowered: the Ori module so far and what is known of the PTX module.
pub(crate) struct ModuleCx<'a> {
    /// The result.
    pub(crate) out: Module,
    /// The user's PTX.
    pub(crate) ast: &'a ast::Module,
    /// Addresses are left to the linker.
    pub(crate) relocatable: bool,
    /// Jumps are instructions.
    pub(crate) keeps_jumps: bool,
    /// Calls of a function by itself, at its end, are jumps.
    pub(crate) tail_calls: bool,
    pub(crate) plan: Plan<'a>,
    /// Which calls become the callee's code.
    pub(crate) inlining: Inlining,
    /// Exchanges of the user's functions whose lanes may meet at others.
    pub(crate) meetings: Meetings,
    /// Ori symbols of the user's functions, by index in the plan.
    pub(crate) function_symbols: FxHashMap<usize, Symbol>,
    /// Those that have got one since the list was last taken.
    pub(crate) newly_named: Vec<usize>,
    /// Those of them that name device functions with a body.
    device_functions: FxHashSet<Symbol>,
    /// Ori symbols of variables.
    variable_symbols: FxHashMap<VarKey, Symbol>,
    /// Library functions asked for, in order, with their symbols.
    pub(crate) library: Vec<(library::Routine, Symbol)>,
    /// Bytes of variables with initial values so far.
    initialised: u64,
    /// End of the constant variables laid out so far, in bank 3.
    const_end: u64,
    /// The lines of the user's PTX, where its text is known.
    pub(crate) lines: Lines,
    /// What function bodies look their names up in, between two of the user's functions.
    pub(crate) names: NameTable,
    /// Entries of the tables of jumps in functions that kernels call.
    pub(crate) shared_table_entries: usize,
}

impl<'a> ModuleCx<'a> {
    /// Nothing lowered yet.
    pub(crate) fn new(out: Module, ast: &'a ast::Module, options: &Options<'_>, plan: Plan<'a>) -> Self {
        ModuleCx {
            out,
            ast,
            relocatable: options.relocatable,
            keeps_jumps: options.keeps_jumps,
            tail_calls: options.tail_calls,
            meetings: Meetings::new(&plan),
            inlining: if options.inlines { Inlining::new(&plan, options.relocatable) } else { Inlining::default() },
            plan,
            function_symbols: FxHashMap::default(),
            newly_named: Vec::new(),
            device_functions: FxHashSet::default(),
            variable_symbols: FxHashMap::default(),
            library: Vec::new(),
            initialised: 0,
            const_end: 0,
            shared_table_entries: 0,
            lines: options.source.map(|(_, text)| Lines::of(text)).unwrap_or_default(),
            names: NameTable::default(),
        }
    }

    /// The target.
    pub(crate) fn arch(&self) -> Arch {
        self.out.arch
    }

    // ---- functions ----

    /// The function of the user's module that `name` names, with its declaration.
    pub(crate) fn function(&self, sym: Sym) -> Option<(usize, &'a ast::Function)> {
        let index = *self.plan.by_name.get(&sym)?;
        Some((index, self.plan.functions[index]))
    }

    /// The symbol of a user's function. Until its body is lowered it is an external one.
    pub(crate) fn function_symbol(&mut self, index: usize) -> Symbol {
        if let Some(symbol) = self.function_symbols.get(&index) {
            return *symbol;
        }
        let function = self.plan.functions[index];
        let linkage = if function.body.is_none() { Linkage::External } else { linkage_of(function.linkage) };
        let symbol = self.out.add_symbol(self.ast.text(function.name), linkage, SymbolKind::ExternalFunction);
        self.function_symbols.insert(index, symbol);
        self.newly_named.push(index);
        if function.body.is_some() && !function.is_entry {
            self.device_functions.insert(symbol);
        }
        symbol
    }

    /// The symbol and declaration of a library routine, which is lowered after the user's functions.
    pub(crate) fn library_symbol(&mut self, name: &str, span: Span) -> Lowered<(library::Routine, Symbol)> {
        if let Some(known) = self.library.iter().find(|(routine, _)| routine.name() == name) {
            return Ok(*known);
        }
        let routine =
            library::find(name).ok_or_else(|| unsupported(span, format!("what needs the library routine '{name}'")))?;
        let symbol = self.out.add_symbol(name, Linkage::Internal, SymbolKind::ExternalFunction);
        self.library.push((routine, symbol));
        Ok((routine, symbol))
    }

    // ---- variables ----

    /// The file-level variable of that name.
    pub(crate) fn global_variable(&self, sym: Sym) -> Option<VarKey> {
        self.plan.globals.get(&sym).copied()
    }

    /// The variable that a function declares at the place of `name`.
    pub(crate) fn local_variable(&self, name: Name) -> Option<VarKey> {
        self.plan.locals.get(&(name.sym, name.span.start)).copied()
    }

    /// The declaration of a variable.
    pub(crate) fn variable(&self, key: VarKey) -> &'a ast::Variable {
        self.plan.variables[key.0].ast
    }

    /// Byte offset of a shared variable in the shared segment.
    pub(crate) fn shared_offset(&mut self, key: VarKey) -> Lowered<u32> {
        let planned = &self.plan.variables[key.0];
        let offset =
            planned.shared_offset.ok_or_else(|| invalid(planned.ast.span, "a shared variable has no place"))?;
        self.variable_symbol(key)?;
        Ok(offset)
    }

    /// The symbol of a variable, made (with its initial value) at its first use.
    pub(crate) fn variable_symbol(&mut self, key: VarKey) -> Lowered<Symbol> {
        if let Some(symbol) = self.variable_symbols.get(&key) {
            return Ok(*symbol);
        }
        let planned = self.plan.variables[key.0].clone();
        let Some(name) = planned.ast.name else { return Err(invalid(planned.ast.span, "a variable without a name")) };
        let text = match planned.owner {
            Some(owner) => format!("{}${}", self.ast.text(self.plan.functions[owner].name), self.ast.text(name)),
            None => self.ast.text(name).to_owned(),
        };
        if let Some(kind) = crate::abi::object_kind(planned.ast.ty) {
            let symbol = self.object_variable(planned.ast, kind, &text)?;
            self.variable_symbols.insert(key, symbol);
            return Ok(symbol);
        }
        let variable = self.new_variable(&planned)?;
        let linkage = match linkage_of(planned.ast.linkage) {
            // Without a linker nobody else brings it: ptxas, too, makes a place of zeros.
            Linkage::External if !self.relocatable && variable.space != MemSpace::Shared => Linkage::Visible,
            linkage => linkage,
        };
        let symbol = self.out.add_symbol(&text, linkage, SymbolKind::Variable(variable));
        self.variable_symbols.insert(key, symbol);
        self.fill(symbol, planned.ast)?;
        Ok(symbol)
    }

    /// The variable without its initial value; `.const` variables get their place in bank 3.
    fn new_variable(&mut self, planned: &plan::PlannedVar<'_>) -> Lowered<Variable> {
        let ast = planned.ast;
        let space = match ast.space {
            Space::Global => MemSpace::Global,
            Space::Const => MemSpace::Const,
            Space::Shared | Space::SharedCta => MemSpace::Shared,
            _ => return Err(unsupported(ast.span, format!("a variable in .{} space", ast.space))),
        };
        let data = data::of(ast)?;
        let size = data::size_of(ast).ok_or_else(|| invalid(ast.span, "the variable is too large"))?;
        self.initialised = self.initialised.saturating_add(if ast.init.is_some() { size } else { 0 });
        if self.initialised > MOST_INITIALISED {
            let message = format!("variables with initial values take more than {MOST_INITIALISED} bytes");
            return Err(invalid(ast.span, message));
        }
        let align = ast.alignment();
        let offset = match space {
            _ if self.relocatable => None,
            MemSpace::Const => {
                let start = self.const_end.next_multiple_of(u64::from(align));
                self.const_end = start.saturating_add(size);
                if self.const_end > u64::from(self.arch().sm().constant_bank_bytes) {
                    return Err(invalid(ast.span, "the .const variables do not fit the constant bank of 64 KiB"));
                }
                Some(start)
            }
            MemSpace::Shared => planned.shared_offset.map(u64::from),
            _ => None,
        };
        Ok(Variable { space, size, align, init: data.bytes, relocs: Vec::new(), offset })
    }

    /// Bytes of the window of `.const` variables: what those of the module take together. What stands behind them in memory is no
    /// constant: on an H200 a `.global` variable does. Of an object file the linker alone knows, so all of the bank counts.
    pub(crate) fn constant_bytes(&self) -> u64 {
        let most = u64::from(self.arch().sm().constant_bank_bytes);
        if self.relocatable {
            return most;
        }
        let constants = self.plan.variables.iter().map(|planned| planned.ast).filter(|ast| ast.space == Space::Const);
        let end = constants.fold(0u64, |end, ast| {
            let start = end.next_multiple_of(u64::from(ast.alignment()));
            start.saturating_add(data::size_of(ast).unwrap_or(most))
        });
        end.min(most)
    }

    /// The symbol of the value that the linker puts in where a call goes through an address; only
    /// targets from sm_90 on have it.
    pub(crate) fn unified_offset(&mut self) -> Symbol {
        let known = self.out.symbol(oriole_ori::UNIFIED_OFFSET);
        known.unwrap_or_else(|| {
            self.out.add_symbol(oriole_ori::UNIFIED_OFFSET, Linkage::Weak, SymbolKind::ExternalFunction)
        })
    }

    /// Resolves the addresses in the initial value; the symbol exists, so that cycles end.
    fn fill(&mut self, symbol: Symbol, ast: &ast::Variable) -> Lowered {
        let mut relocs = Vec::new();
        let mut known = Vec::new();
        for address in data::of(ast)?.addresses {
            let target = self.symbol_of(address.name)?;
            if let Some(number) = self.function_number(target) {
                known.push((address, number));
                continue;
            }
            let kind = match (address.byte, address.generic) {
                (Some(byte), _) => DataRelocKind::Byte(byte),
                (None, true) => DataRelocKind::Generic,
                (None, false) => DataRelocKind::Address,
            };
            relocs.push(DataReloc {
                offset: address.offset,
                size: address.size,
                symbol: target,
                addend: address.addend,
                kind,
            });
        }
        if let SymbolKind::Variable(variable) = &mut self.out.symbols[symbol].kind {
            variable.relocs = relocs;
            for (address, number) in known {
                address.put(&mut variable.init, number);
            }
        }
        Ok(())
    }

    /// What stands for the address of a device function of this module; `None` for all other symbols,
    /// and where the linker knows the address.
    pub(crate) fn function_number(&mut self, symbol: Symbol) -> Option<u64> {
        let known = !self.relocatable && self.device_functions.contains(&symbol);
        known.then(|| self.out.function_number(symbol))
    }

    /// The symbol of a file-level variable or function.
    pub(crate) fn symbol_of(&mut self, name: Name) -> Lowered<Symbol> {
        if let Some((index, _)) = self.function(name.sym) {
            return Ok(self.function_symbol(index));
        }
        match self.global_variable(name.sym) {
            Some(key) => self.variable_symbol(key),
            None => Err(invalid(name.span, format!("'{}' is not declared", self.ast.text(name)))),
        }
    }
}

pub(super) fn linkage_of(linkage: ast::Linkage) -> Linkage {
    match linkage {
        // Parameters alone are hidden: they are no symbols.
        ast::Linkage::None | ast::Linkage::Hidden => Linkage::Internal,
        ast::Linkage::Extern => Linkage::External,
        ast::Linkage::Visible => Linkage::Visible,
        ast::Linkage::Weak => Linkage::Weak,
        ast::Linkage::Common => Linkage::Common,
    }
}
