//! Modules by hand: IR symbols and machine functions.

use std::io::Write;

use oriole_nvptx::emit::{self, EmitOptions, abi, names};
use oriole_nvptx::ir::{self, CallingConvention, Linkage, SymbolId, SymbolKind, Type, TypeId};
use oriole_nvptx::machine::{
    Base, Block, BlockId, Function, Inst, Module, Opcode, Operand, RegClass, Terminator, VReg,
};
use oriole_ptx::ast::{self, Sym};

/// A module under construction: its symbols first, then the bodies.
#[derive(Default)]
pub(crate) struct Build {
    pub(crate) ir: ir::Module,
    pub(crate) machine: Module,
}

impl Build {
    /// Adds a function or kernel to the IR.
    pub(crate) fn declare(&mut self, name: &str, params: &[TypeId], ret: TypeId, is_kernel: bool) -> SymbolId {
        let signature = self.ir.types.intern(Type::Function { ret, params: params.into(), varargs: false });
        let id = self.ir.symbol_or_new(name);
        let param = |&ty: &TypeId| ir::Param { ty, attributes: ir::Attributes::default() };
        self.ir.symbols[id].kind = SymbolKind::Function(Box::new(ir::Function {
            signature,
            ret,
            ret_attributes: ir::Attributes::default(),
            params: params.iter().map(param).collect(),
            varargs: false,
            attributes: ir::Attributes::default(),
            convention: if is_kernel { CallingConvention::PtxKernel } else { CallingConvention::C },
            debug: Default::default(),
            body: None,
        }));
        id
    }

    /// Adds a variable.
    pub(crate) fn variable(
        &mut self,
        name: &str,
        space: u32,
        linkage: Linkage,
        ty: TypeId,
        init: Option<ir::ConstId>,
    ) -> SymbolId {
        let id = self.ir.symbol_or_new(name);
        let symbol = &mut self.ir.symbols[id];
        symbol.space = ir::AddressSpace(space);
        symbol.linkage = linkage;
        symbol.kind = SymbolKind::Variable(ir::Variable {
            ty,
            constant: false,
            init,
            thread_local: false,
            externally_initialized: false,
            attributes: ir::Attributes::default(),
        });
        id
    }

    /// Gives the symbols their names; no more symbols after this.
    pub(crate) fn name(&mut self) {
        names::assign(&self.ir, &mut self.machine);
    }

    pub(crate) fn sym(&self, id: SymbolId) -> Sym {
        self.machine.names[id].expect("named")
    }

    /// A body for `id`, made by `make`.
    pub(crate) fn define(&mut self, id: SymbolId, make: impl FnOnce(&mut Code<'_>)) {
        let ir::Module { symbols, .. } = &self.ir;
        let declared = symbols[id].function().expect("a function");
        let is_entry = declared.convention == CallingConvention::PtxKernel;
        let abi::Signature { params, ret } = abi::signature(&self.ir, declared, is_entry, &[]);
        let name = self.sym(id);
        let mut function = Function::new(name, is_entry);
        for (at, decl) in params.into_iter().enumerate() {
            let sym = names::param(&mut self.machine.symbols, &self.machine.taken, name, at);
            function.params.push((sym, decl));
        }
        function.ret = ret.map(|decl| (names::result(&mut self.machine.symbols, &self.machine.taken), decl));
        let mut code = Code { machine: &mut self.machine, function, at: None };
        let entry = code.block();
        code.at = Some(entry);
        make(&mut code);
        let function = code.function;
        self.machine.functions.push((id, function));
    }

    /// The module, checked.
    pub(crate) fn emit(self, options: &EmitOptions) -> Result<ast::Module, emit::Error> {
        emit::module(&self.ir, self.machine, options)
    }

    /// The text, which parses to the same module and passes the checks.
    pub(crate) fn text(self) -> String {
        let module = self.emit(&EmitOptions { arch: "sm_90".to_owned(), ..EmitOptions::default() });
        let module = module.expect("a right module");
        let text = oriole_ptx::print(&module);
        match oriole_ptx::load(&text) {
            Ok(loaded) => {
                assert_eq!(loaded.items.len(), module.items.len());
                assert_eq!(oriole_ptx::print(&loaded), text);
            }
            Err(errors) => {
                let map = oriole_ptx::diag::SourceMap::new("emitted", &text);
                let shown: Vec<_> = errors.iter().map(|error| map.render(error)).collect();
                panic!("{}\n{text}", shown.join("\n"));
            }
        }
        ptxas_takes(&text);
        text
    }
}

/// Asks ptxas, where it is there.
pub(crate) fn ptxas_takes(text: &str) {
    let Some(ptxas) = oriole_prerequisites::tool("ptxas") else { return };
    let mut command = std::process::Command::new(ptxas);
    command.args(["-arch=sm_90", "-c", "-o", "/dev/null", "/dev/stdin"]);
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).stderr(piped()).spawn().expect("ptxas");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("ptxas reads");
    let output = child.wait_with_output().expect("ptxas ends");
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
}

/// A body under construction.
pub(crate) struct Code<'m> {
    pub(crate) machine: &'m mut Module,
    pub(crate) function: Function,
    at: Option<BlockId>,
}

impl Code<'_> {
    pub(crate) fn reg(&mut self, class: RegClass) -> VReg {
        self.function.regs.push(class)
    }

    /// A block at the end of the layout; instructions still go where they went.
    pub(crate) fn block(&mut self) -> BlockId {
        let block = Block { phis: Vec::new(), insts: Vec::new(), terminator: Terminator::Ret };
        let block = self.function.blocks.push(block);
        self.function.layout.push(block);
        block
    }

    /// Instructions go to `block` from now on.
    pub(crate) fn at(&mut self, block: BlockId) {
        self.at = Some(block);
    }

    pub(crate) fn end(&mut self, terminator: Terminator) {
        let block = self.at.expect("a block");
        self.function.blocks[block].terminator = terminator;
    }

    pub(crate) fn push(&mut self, opcode: Opcode, defs: u16, operands: impl IntoIterator<Item = Operand>) {
        let operands = operands.into_iter().collect();
        let inst = Inst { opcode, defs, guard: None, operands, loc: None.into(), source: None.into() };
        let block = self.at.expect("a block");
        self.function.blocks[block].insts.push(inst);
    }

    /// An instruction by its form.
    pub(crate) fn inst(&mut self, form: &str, defs: u16, operands: impl IntoIterator<Item = Operand>) {
        let form = self.machine.forms.intern(form).expect("a form of PTX");
        self.push(Opcode::Form(form), defs, operands);
    }

    /// An instruction with one result in a new register.
    pub(crate) fn value(&mut self, class: RegClass, form: &str, operands: impl IntoIterator<Item = Operand>) -> VReg {
        let result = self.reg(class);
        self.inst(form, 1, [Operand::from(result)].into_iter().chain(operands));
        result
    }

    /// Loads parameter `index`.
    pub(crate) fn param(&mut self, index: usize, class: RegClass, form: &str) -> VReg {
        let (sym, _) = self.function.params[index];
        self.value(class, form, [Operand::address(Base::Symbol(sym), 0)])
    }
}
