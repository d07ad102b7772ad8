//! Writes what stands for an instruction.

use rustc_hash::FxHashMap;

use super::request::Request;
use super::template::Instance;
use crate::ir::{Body, InstFlags, InstId, Op, Type, TypeId, Value};
use crate::opt::{Context, call_of};

/// Writes what stands for an instruction.
pub(super) struct Writer<'a, 'm> {
    pub(super) cx: &'a mut Context<'m>,
    pub(super) body: &'a mut Body,
    pub(super) insts: &'a mut Vec<InstId>,
    /// What is replaced: its place in the source goes to what is written.
    pub(super) inst: InstId,
    /// What of the library is called, by name.
    pub(super) needed: &'a mut FxHashMap<String, Instance>,
}

impl Writer<'_, '_> {
    /// Writes an instruction; its result, if it has one.
    pub(super) fn push(&mut self, op: Op, ty: TypeId) -> Option<Value> {
        let inst = self.cx.make(self.body, op, ty, self.inst);
        self.insts.push(inst);
        self.body[inst].result.expand().map(Value::from)
    }

    /// The call; for vectors one for each element.
    pub(super) fn write(&mut self, request: &Request) -> Option<Value> {
        let ty = self.body[self.inst].ty;
        let args = &request.args;
        let lanes = match (request.elementwise, &self.cx.module.types[ty]) {
            (true, &Type::Vector(element, lanes)) => Some((element, lanes)),
            _ => None,
        };
        let Some((element, lanes)) = lanes else { return self.call(request, args, ty) };
        let mut vector = self.cx.poison(ty);
        for lane in 0..lanes {
            let index = self.cx.int(TypeId::I32, lane.into());
            let mut parts = Vec::with_capacity(args.len());
            for &arg in args {
                let whole = self.cx.ty(self.body, arg);
                let part = match self.cx.module.types[whole] {
                    Type::Vector(own, _) => self.push(Op::ExtractElement([arg, index]), own)?,
                    _ => arg,
                };
                parts.push(part);
            }
            let value = self.call(request, &parts, element)?;
            vector = self.push(Op::InsertElement([vector, value, index]), ty)?;
        }
        Some(vector)
    }

    /// One call, with the conversions around it.
    fn call(&mut self, request: &Request, args: &[Value], ty: TypeId) -> Option<Value> {
        let mut converted = Vec::with_capacity(args.len());
        for (at, &arg) in args.iter().enumerate() {
            let cast = request.casts.get(at).copied().flatten();
            converted.push(match cast {
                Some((op, to)) => self.push(Op::Cast(op, InstFlags::empty(), arg), to)?,
                None => arg,
            });
        }
        let ret = request.back.map_or(ty, |(from, _)| from);
        let op = call_of(self.cx, &request.function, ret, self.body, &converted);
        let value = self.push(op, ret)?;
        match request.back {
            Some((_, op)) => self.push(Op::Cast(op, InstFlags::empty(), value), ty),
            None => Some(value),
        }
    }
}
