//! Lowering of a module: its wanted functions, then the library functions that they ask for.

use crate::error::{LowerError, unsupported};
use crate::function::body::lower_function;
use crate::module::context::ModuleCx;
use crate::module::plan;
use crate::module::plan::{Plan, VarKey};
use crate::options::Options;
use oriole_isa::Arch;
use oriole_ori::{Function, FunctionKind, Module, Symbol, SymbolKind};
use oriole_ptx::ast::{self, Space, Span};

/// Lowers the wanted kernels of `ast` and all that they call.
pub(crate) fn lower_module(ast: &ast::Module, options: &Options<'_>) -> Result<Module, Vec<LowerError>> {
    if ast.address_size != 64 {
        return Err(vec![unsupported(Span::default(), "an address size other than 64 bits")]);
    }
    if !Arch::MODELLED.contains(&options.arch) {
        let known = Arch::MODELLED.map(Arch::name).join(" ");
        return Err(vec![unsupported(Span::default(), format!("code for {} (only for {known})", options.arch))]);
    }
    let plan = Plan::new(ast, options)?;
    let mut out = Module::new(options.arch);
    out.files.extend(options.source.map(|(name, _)| name.to_owned()));
    let mut cx = ModuleCx::new(out, ast, options, plan);
    cx.out.independent_samplers = ast.target.iter().any(|word| word == "texmode_independent");
    let mut errors = cx.lower_functions();
    errors.extend(cx.add_visible_variables());
    if errors.is_empty() { Ok(cx.out) } else { Err(errors) }
}

impl ModuleCx<'_> {
    /// Lowers every wanted function and the library functions that they need.
    fn lower_functions(&mut self) -> Vec<LowerError> {
        let mut errors = Vec::new();
        for index in self.plan.wanted.clone() {
            self.function_symbol(index);
        }
        for index in self.plan.wanted.clone() {
            let function = self.plan.functions[index];
            let kind = if function.is_entry { FunctionKind::Entry } else { FunctionKind::Device };
            let shared = self.plan.shared_bytes.get(&index).copied().unwrap_or(0);
            let shared = if self.relocatable { 0 } else { shared };
            match lower_function(self, self.ast, function, kind, shared) {
                Ok(lowered) => self.define(self.function_symbols[&index], lowered),
                Err(found) => errors.extend(found),
            }
        }
        let mut done = 0;
        while done < self.library.len() {
            let (routine, symbol) = self.library[done];
            match lower_function(self, routine.module, routine.function, FunctionKind::Internal, 0) {
                Ok(lowered) => self.define(symbol, lowered),
                Err(found) => errors.extend(found),
            }
            done += 1;
        }
        errors
    }

    fn define(&mut self, symbol: Symbol, function: Function) {
        let id = self.out.functions.push(function);
        self.out.symbols[symbol].kind = SymbolKind::Function(id);
    }

    /// Variables that others can see are part of the module even where no kernel names them.
    fn add_visible_variables(&mut self) -> Vec<LowerError> {
        let visible =
            |v: &ast::Variable| plan::is_exported(v.linkage) && matches!(v.space, Space::Global | Space::Const);
        let keys: Vec<VarKey> =
            (0..self.plan.variables.len()).filter(|&i| visible(self.plan.variables[i].ast)).map(VarKey).collect();
        keys.into_iter().filter_map(|key| self.variable_symbol(key).err()).collect()
    }
}
