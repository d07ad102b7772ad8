//! Calls of the library in the place of instructions.

use rustc_hash::FxHashMap;

use super::Target;
use super::expand::is_expanded;
use super::rules::{self, Request};
use super::template::Instance;
use crate::analysis::View;
use crate::ir::{Body, CastOp, InstId, Op, SymbolId, Type, TypeId, Value};
use crate::ir::{InstFlags, Module};
use crate::opt::{Context, Options, Replacements, call_of};

/// Rewrites one function; what it needs is added to `needed` by name. True if something was written out.
pub(super) fn function(
    module: &mut Module,
    symbol: SymbolId,
    target: Target,
    needed: &mut FxHashMap<String, Instance>,
) -> bool {
    let Some(mut body) = module.symbols[symbol].function_mut().and_then(|function| function.body.take()) else {
        return false;
    };
    let mut changed = false;
    let options = Options::default();
    let mut cx = Context { module, symbol, kernel: None, options: &options, room: 0 };
    let mut replacements = Replacements::default();
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let old = std::mem::take(&mut body[block].insts);
        let mut insts = Vec::with_capacity(old.len());
        for inst in old {
            let sized = !is_too_long(cx.view(&body), inst);
            let expanded = sized && is_expanded(cx.view(&body), inst, target);
            let request = if expanded || !sized { None } else { rules::request(cx.view(&body), inst, target) };
            let mut writer = Writer { cx: &mut cx, body: &mut body, insts: &mut insts, inst, needed };
            let written = match &request {
                Some(request) => Some(writer.write(request)),
                None if expanded => writer.expand(),
                None => None,
            };
            changed |= expanded && written.is_some();
            match written {
                Some(value) => {
                    if let (Some(result), Some(value)) = (body[inst].result.expand(), value) {
                        replacements.set(result, value);
                    }
                }
                None => insts.push(inst),
            }
            changed |= request.as_ref().is_some_and(|request| request.instance.is_none());
            needed.extend(request.and_then(|request| Some((request.function, request.instance?))));
        }
        body[block].insts = insts;
    }
    replacements.apply(&mut body);
    if let Some(function) = module.symbols[symbol].function_mut() {
        function.body = Some(body);
    }
    changed
}

/// The longest vectors that are written out lane by lane; selection says what is wrong with longer ones.
const MAX_LANES: u32 = 4096;

/// True for instructions on longer vectors.
fn is_too_long(view: View<'_>, inst: InstId) -> bool {
    let is_long = |ty| view.module.types.as_vector(ty).is_some_and(|(_, lanes)| lanes > MAX_LANES);
    let mut long = is_long(view.body[inst].ty);
    view.body[inst].op.for_each_value(|value| long |= is_long(view.ty(value)));
    long
}

/// Writes what stands for an instruction.
pub(super) struct Writer<'a, 'm> {
    pub(super) cx: &'a mut Context<'m>,
    pub(super) body: &'a mut Body,
    insts: &'a mut Vec<InstId>,
    /// What is replaced: its place in the source goes to what is written.
    pub(super) inst: InstId,
    /// What of the library is called, by name.
    pub(super) needed: &'a mut FxHashMap<String, Instance>,
}

impl Writer<'_, '_> {
    pub(super) fn push(&mut self, op: Op, ty: TypeId) -> Option<Value> {
        let inst = self.cx.make(self.body, op, ty, self.inst);
        self.insts.push(inst);
        self.body[inst].result.expand().map(Value::from)
    }

    /// The call; for vectors one for each element.
    fn write(&mut self, request: &Request) -> Option<Value> {
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

/// A conversion of an argument.
pub(super) type ArgCast = Option<(CastOp, TypeId)>;

/// The type that the library's function gives, and how the result comes from it.
pub(super) type ResultCast = Option<(TypeId, CastOp)>;
