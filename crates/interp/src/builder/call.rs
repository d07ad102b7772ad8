//! `call`: the callee, arguments and results.

use super::{Builder, FramePlace};
use crate::arith::{Bits, Unsupported};
use crate::code::{Argument, Call, Callee, Outcome};
use crate::{layout, runtime};
use oriole_ptx::ast::{Instruction, Operand, ScalarType, Variable};
use oriole_ptx::scope::Binding;

/// The declared results and parameters of what a call calls.
type Formals<'m> = (&'m [Variable], &'m [Variable]);

impl<'m> Builder<'_, 'm> {
    /// What a `call` does.
    pub(crate) fn call(&mut self, inst: &Instruction) -> Result<Call, Unsupported> {
        let call = inst.call().ok_or_else(|| Unsupported("this form of call".to_owned()))?;
        let (callee, mut formals) = self.callee(call.callee)?;
        if let Some(prototype) = call.prototype {
            formals = formals.or(self.prototype(prototype));
        }
        let (rets, params) = formals.unwrap_or_default();
        let args = call.args.iter().enumerate();
        let args = args.map(|(at, arg)| self.argument(arg, params.get(at))).collect::<Result<_, _>>()?;
        let outcomes = call.rets.iter().enumerate();
        let rets = outcomes.map(|(at, ret)| self.outcome(ret, rets.get(at))).collect::<Result<_, _>>()?;
        Ok(Call { callee, args, rets })
    }

    fn callee(&mut self, operand: &Operand) -> Result<(Callee, Option<Formals<'m>>), Unsupported> {
        let binding = operand.name().and_then(|name| Some((name, self.scopes.lookup(name.sym)?)));
        match binding {
            Some((name, Binding::Function(_) | Binding::Alias(..))) => {
                let number = self.numbers.get(&name.sym).copied();
                let number = number.ok_or_else(|| Unsupported("a call of an unknown function".to_owned()))?;
                let function = self.functions[number as usize];
                let system = runtime::by_name(self.module.text(name)).filter(|_| function.body.is_none());
                let callee = system.map_or(Callee::Function(number), Callee::System);
                Ok((callee, Some((&function.rets, &function.params))))
            }
            _ => Ok((Callee::Address(self.source(operand, ScalarType::U64)?), None)),
        }
    }

    /// The shape of the functions that an indirect call may reach.
    fn prototype(&self, label: oriole_ptx::ast::Name) -> Option<Formals<'m>> {
        match self.scopes.lookup(label.sym)? {
            Binding::Prototype(prototype) => Some((&prototype.rets, &prototype.params)),
            Binding::CallTargets(list) => {
                let number = *self.numbers.get(&list.targets.first()?.sym)?;
                let function = self.functions[number as usize];
                Some((&function.rets, &function.params))
            }
            _ => None,
        }
    }

    /// The frame variable that an operand names.
    fn frame_place(&self, operand: &Operand) -> Option<FramePlace> {
        match self.scopes.lookup(operand.name()?.sym)? {
            Binding::Variable(variable) => self.frame.get(&layout::key(variable.name?)).copied(),
            _ => None,
        }
    }

    /// The type of a register operand.
    fn register_type(&self, operand: &Operand) -> Option<ScalarType> {
        match self.scopes.lookup(operand.name()?.sym)? {
            Binding::Register(register) => Some(register.ty),
            _ => None,
        }
    }

    /// The element type of a vector register: what passes it need not say the same.
    fn vector_type(&self, operand: &Operand) -> Option<ScalarType> {
        match self.scopes.lookup(operand.name()?.sym)? {
            Binding::Register(register) => register.vector.map(|_| register.ty),
            _ => None,
        }
    }

    fn argument(&mut self, operand: &Operand, formal: Option<&Variable>) -> Result<Argument, Unsupported> {
        if let Some(FramePlace { offset, size }) = self.frame_place(operand) {
            return Ok(Argument::Frame { offset, size });
        }
        let ty = self.vector_type(operand).or(formal.map(|formal| formal.ty)).or_else(|| self.register_type(operand));
        let ty = ty.filter(|ty| ty.bits() <= Bits::BITS);
        let ty = ty.ok_or_else(|| Unsupported("an argument of this type".to_owned()))?;
        Ok(Argument::Value(self.sources(operand, ty)?, ty.bytes()))
    }

    fn outcome(&mut self, operand: &Operand, formal: Option<&Variable>) -> Result<Outcome, Unsupported> {
        if let Some(FramePlace { offset, size }) = self.frame_place(operand) {
            return Ok(Outcome::Frame { offset, size });
        }
        let ty = self.vector_type(operand).or(formal.map(|formal| formal.ty)).or_else(|| self.register_type(operand));
        let ty = ty.unwrap_or(ScalarType::B32);
        Ok(Outcome::Register(self.destinations(operand, ty)?, ty.bytes()))
    }
}
