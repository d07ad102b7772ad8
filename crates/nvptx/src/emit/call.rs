//! Calls: parameters in `.param` space, prototypes of indirect calls.

use oriole_ptx::ast::{
    self, Address, AddressBase, Block, FunctionDirective, Modifier, Name, Operand, Prototype, Span, Statement, Word,
};

use super::body::Body;
use super::error::Error;
use crate::machine::{Call, CallId, Inst, ParamMove};

impl Body<'_, '_> {
    /// `{ .param …; st.param …; call …; ld.param …; }`
    pub(super) fn call(&mut self, inst: &Inst, call: CallId) -> Result<(), Error> {
        let function = self.function;
        let call = &function.calls[call];
        let outside = std::mem::take(&mut self.out);
        let args = self.arguments(inst, call)?;
        let ret = call.ret.map(|decl| {
            let name = self.emitter.own_name("retval0".to_owned());
            let variable = self.emitter.param(&decl, Some(name));
            self.out.push(Statement::Variable(Box::new(variable)));
            name
        });
        self.call_instruction(inst, call, &args, ret)?;
        for (at, result) in call.results.iter().enumerate() {
            let Some((operand, ret)) = inst.defs().get(at).zip(ret) else {
                return Err(self.internal("a call with results that it does not load"));
            };
            let operands = [self.operand(operand)?, self.slot(ret, result)];
            let load = self.instruction(result.form, operands);
            self.guarded(inst, load)?;
        }
        let statements = std::mem::replace(&mut self.out, outside);
        self.out.push(Statement::Block(Block { statements, span: Span::default() }));
        Ok(())
    }

    /// Declares and fills the parameters: each with what is stored to it.
    fn arguments(&mut self, inst: &Inst, call: &Call) -> Result<Vec<Name>, Error> {
        let mut names = Vec::with_capacity(call.params.len());
        for (index, decl) in call.params.iter().enumerate() {
            let name = self.emitter.own_name(format!("param{index}"));
            let variable = self.emitter.param(decl, Some(name));
            self.out.push(Statement::Variable(Box::new(variable)));
            for (at, arg) in call.args.iter().enumerate().filter(|(_, arg)| arg.param as usize == index) {
                let Some(operand) = inst.uses().get(at) else {
                    return Err(self.internal("a call with fewer operands than it stores"));
                };
                let operands = [self.slot(name, arg), self.operand(operand)?];
                let store = self.instruction(arg.form, operands);
                self.guarded(inst, store)?;
            }
            names.push(name);
        }
        Ok(names)
    }

    fn call_instruction(&mut self, inst: &Inst, call: &Call, args: &[Name], ret: Option<Name>) -> Result<(), Error> {
        let mut operands = Vec::new();
        if let Some(ret) = ret {
            operands.push(self.list(&[ret]));
        }
        let prototype = match call.callee {
            Some(callee) => {
                operands.push(Operand::Name(self.emitter.name(callee)));
                None
            }
            None => {
                let Some(address) = inst.uses().get(call.args.len()) else {
                    return Err(self.internal("an indirect call without an address"));
                };
                let label = self.prototype(call);
                operands.push(self.operand(address)?);
                Some(label)
            }
        };
        if !args.is_empty() {
            operands.push(self.list(args));
        }
        let uniform = [Modifier::Word(Word::Uni)];
        let modifiers = if prototype.is_none() { &uniform[..] } else { &[] };
        operands.extend(prototype.map(|label| Operand::Name(self.emitter.name(label.sym))));
        let instruction = self.make(ast::Opcode::Call, modifiers, operands);
        self.guarded(inst, instruction)
    }

    /// `prototype_N: .callprototype …`
    fn prototype(&mut self, call: &Call) -> Name {
        let label = self.emitter.own_name(format!("prototype_{}", self.emitter.prototypes));
        self.emitter.prototypes += 1;
        let rets = call.ret.iter().map(|decl| self.emitter.param(decl, None)).collect();
        let params = call.params.iter().map(|decl| self.emitter.param(decl, None)).collect();
        let never_returns = call.no_return && call.ret.is_none();
        let directives = if never_returns { vec![FunctionDirective::NoReturn] } else { Vec::new() };
        self.out.push(Statement::Prototype(Box::new(Prototype { label, rets, params, directives })));
        label
    }

    fn list(&mut self, names: &[Name]) -> Operand {
        let span = self.emitter.here();
        let items = names.iter().map(|name| Operand::Name(self.emitter.name(name.sym))).collect();
        Operand::List(items, span)
    }

    /// `[param0+offset]`
    fn slot(&mut self, param: Name, place: &ParamMove) -> Operand {
        let span = self.emitter.here();
        let base = AddressBase::Name(self.emitter.name(param.sym));
        let offset = place.offset as i64;
        Operand::Address(Box::new(Address { base, offset, rest: Vec::new(), span }))
    }
}
