//! What becomes of pointers once their spaces are known.

use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

use super::space::{Space, space_of, strip_constant};
use crate::analysis::intrinsics::{Intrinsic, called};
use crate::analysis::{Cfg, View};
use crate::ir::{
    AddressSpace, Body, Call, Callee, CastOp, Constant, InstId, Op, Type, TypeId, Value, ValueDef, ValueId,
};
use crate::opt::edit::phi_count;
use crate::opt::{Context, Replacements};

/// Retypes the pointers whose space is known, and the accesses through them.
pub(super) fn apply(body: &mut Body, cx: &mut Context<'_>, cfg: &Cfg, spaces: &SecondaryMap<ValueId, Space>) -> bool {
    let mut rewriter = Rewriter::new(spaces);
    rewriter.retype(body, cx, cfg);
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        for index in 0..body[block].insts.len() {
            rewriter.operands(body, cx, body[block].insts[index]);
        }
    }
    rewriter.insert_casts(body);
    rewriter.same.apply(body);
    rewriter.changed
}

struct Rewriter<'a> {
    spaces: &'a SecondaryMap<ValueId, Space>,
    /// Instructions that were generic and have the type of their space now.
    retyped: SecondaryMap<ValueId, bool>,
    /// The cast of a pointer to its space, or of a retyped one back to generic.
    casts: FxHashMap<ValueId, InstId>,
    /// Casts to a space that a pointer has anyway.
    same: Replacements,
    changed: bool,
}

impl<'a> Rewriter<'a> {
    fn new(spaces: &'a SecondaryMap<ValueId, Space>) -> Rewriter<'a> {
        Rewriter {
            spaces,
            retyped: SecondaryMap::new(),
            casts: FxHashMap::default(),
            same: Replacements::default(),
            changed: false,
        }
    }

    /// Gives the instructions that hand pointers on the types of their spaces.
    fn retype(&mut self, body: &mut Body, cx: &mut Context<'_>, cfg: &Cfg) {
        for &block in cfg.rpo() {
            for index in 0..body[block].insts.len() {
                let inst = body[block].insts[index];
                let Some(result) = body[inst].result.expand().filter(|_| body[inst].ty == TypeId::PTR) else {
                    continue;
                };
                let Space::Known(space) = self.spaces[result] else { continue };
                let hands_on = matches!(
                    body[inst].op,
                    Op::Gep { .. } | Op::Select(..) | Op::Phi(_) | Op::Freeze(_) | Op::Cast(CastOp::Bitcast, ..)
                );
                if hands_on {
                    let ty = cx.pointer(space);
                    body.retype(inst, ty);
                    self.retyped[result] = true;
                    self.changed = true;
                }
            }
        }
    }

    /// The space of a pointer that is, or was, generic; none for null, which every space may have.
    fn space(&self, body: &Body, cx: &Context<'_>, value: Value) -> Option<AddressSpace> {
        match value {
            Value::Local(id) if self.retyped[id] => cx.module.types.address_space(body.local_type(id)),
            Value::Const(id) if cx.module.constants.is_zero(id) || cx.module.constants.is_undef(id) => None,
            _ if cx.ty(body, value) != TypeId::PTR => None,
            _ => match space_of(cx.view(body), self.spaces, value) {
                Space::Known(space) => Some(space),
                _ => None,
            },
        }
    }

    /// `value`, which points into `space`, as a pointer of that space.
    fn own(&mut self, body: &mut Body, cx: &mut Context<'_>, value: Value, space: AddressSpace) -> Value {
        let id = match value {
            Value::Const(id) if cx.ty(body, value) == TypeId::PTR => {
                return strip_constant(cx, id, space).map_or(value, Value::Const);
            }
            Value::Local(id) if !self.retyped[id] && body.local_type(id) == TypeId::PTR => id,
            _ => return value,
        };
        if let Some(Op::Cast(CastOp::AddrSpaceCast, _, from)) = body.def_op(value) {
            return *from;
        }
        let Some(like) = place_of(body, id) else { return value };
        let cast = *self.casts.entry(id).or_insert_with(|| {
            let ty = cx.pointer(space);
            cx.cast(body, CastOp::AddrSpaceCast, value, ty, like)
        });
        body.result(cast).into()
    }

    /// `value` as a generic pointer, if it was one.
    fn generic(&mut self, body: &mut Body, cx: &Context<'_>, value: Value) -> Value {
        let Some(id) = value.local().filter(|&id| self.retyped[id]) else { return value };
        let Some(like) = place_of(body, id) else { return value };
        let cast =
            *self.casts.entry(id).or_insert_with(|| cx.cast(body, CastOp::AddrSpaceCast, value, TypeId::PTR, like));
        body.result(cast).into()
    }

    /// Gives each operand of an instruction the form that it wants.
    fn operands(&mut self, body: &mut Body, cx: &mut Context<'_>, inst: InstId) {
        let mut op = body[inst].op.clone();
        let retyped = body[inst].result.expand().filter(|&result| self.retyped[result]);
        if let Some(space) = retyped.and_then(|result| cx.module.types.address_space(body.local_type(result))) {
            self.handed_on(body, cx, &mut op, space);
        } else {
            match &mut op {
                Op::Load { ptr, volatile, .. } => *ptr = self.address(body, cx, *ptr, |_| !*volatile),
                Op::Store { value, ptr, volatile, .. } => {
                    *ptr = self.address(body, cx, *ptr, |_| !*volatile);
                    *value = self.generic(body, cx, *value);
                }
                // There are no atomic operations on local memory, where none are needed; the run-time library knows it by
                // the space.
                Op::AtomicRmw { ptr, value, .. } => {
                    *ptr = self.address(body, cx, *ptr, |space| space == AddressSpace::LOCAL);
                    *value = self.generic(body, cx, *value);
                }
                Op::CmpXchg { ptr, expected, new, .. } => {
                    *ptr = self.address(body, cx, *ptr, |space| space == AddressSpace::LOCAL);
                    *expected = self.generic(body, cx, *expected);
                    *new = self.generic(body, cx, *new);
                }
                Op::Cast(CastOp::AddrSpaceCast, _, from) => *from = self.cast(body, cx, inst, *from),
                // The generic address of global memory is the address itself.
                Op::Cast(CastOp::PtrToInt, _, from)
                    if self.space(body, cx, *from) == Some(AddressSpace::GLOBAL) && self.is_retyped(*from) => {}
                Op::ICmp(_, _, pair) => self.comparison(body, cx, pair),
                Op::Call(call) => self.call(body, cx, call),
                other => other.for_each_value_mut(|value| *value = self.generic(body, cx, *value)),
            }
        }
        if body[inst].op != op {
            body[inst].op = op;
            self.changed = true;
        }
    }

    fn is_retyped(&self, value: Value) -> bool {
        value.local().is_some_and(|id| self.retyped[id])
    }

    /// The pointers that a retyped instruction hands on.
    fn handed_on(&mut self, body: &mut Body, cx: &mut Context<'_>, op: &mut Op, space: AddressSpace) {
        match op {
            Op::Gep { base: value, .. } | Op::Freeze(value) | Op::Cast(_, _, value) => {
                *value = self.own(body, cx, *value, space);
            }
            Op::Select(_, [_, a, b]) => {
                *a = self.own(body, cx, *a, space);
                *b = self.own(body, cx, *b, space);
            }
            Op::Phi(incoming) => {
                for (_, value) in incoming {
                    *value = self.own(body, cx, *value, space);
                }
            }
            _ => {}
        }
    }

    /// The address of an access: of its space, where that is shared by threads or `may_be` says that the access may be one
    /// of that space.
    fn address(
        &mut self,
        body: &mut Body,
        cx: &mut Context<'_>,
        ptr: Value,
        may_be: impl Fn(AddressSpace) -> bool,
    ) -> Value {
        match self.space(body, cx, ptr) {
            Some(space @ (AddressSpace::GLOBAL | AddressSpace::SHARED | AddressSpace::SHARED_CLUSTER)) => {
                self.own(body, cx, ptr, space)
            }
            Some(space) if may_be(space) => self.own(body, cx, ptr, space),
            _ => self.generic(body, cx, ptr),
        }
    }

    /// A cast between spaces: into the space that the pointer has, it is the pointer itself.
    fn cast(&mut self, body: &mut Body, cx: &mut Context<'_>, inst: InstId, from: Value) -> Value {
        let to = cx.module.types.address_space(body[inst].ty);
        let Some(space) = self.space(body, cx, from).filter(|&space| to == Some(space)) else {
            return self.generic(body, cx, from);
        };
        // The first cast of a source is the one that others would be made like.
        let is_source = matches!(from, Value::Local(id) if !self.retyped[id])
            && !matches!(body.def_op(from), Some(Op::Cast(CastOp::AddrSpaceCast, ..)));
        if is_source {
            return from;
        }
        let own = self.own(body, cx, from, space);
        self.same.set(body.result(inst), own);
        from
    }

    /// Pointers into the same space are compared there. In global memory, null is the same number as the generic one.
    fn comparison(&mut self, body: &mut Body, cx: &mut Context<'_>, pair: &mut [Value; 2]) {
        let spaces = [self.space(body, cx, pair[0]), self.space(body, cx, pair[1])];
        let is_null = |value: Value| matches!(cx.view(body).constant(value), Some(Constant::Null(_)));
        let common = match spaces {
            [Some(a), Some(b)] if a == b => Some(a),
            [Some(AddressSpace::GLOBAL), None] if is_null(pair[1]) => Some(AddressSpace::GLOBAL),
            [None, Some(AddressSpace::GLOBAL)] if is_null(pair[0]) => Some(AddressSpace::GLOBAL),
            _ => None,
        };
        for value in pair {
            *value = match common {
                Some(space) => self.own(body, cx, *value, space),
                None => self.generic(body, cx, *value),
            };
        }
    }

    /// Intrinsics that are overloaded by their pointers take those of the space; other calls take generic ones.
    fn call(&mut self, body: &mut Body, cx: &mut Context<'_>, call: &mut Call) {
        let overloaded = overloaded_args(cx.view(body), call);
        let copies = overloaded.len() == 2;
        let mut renamed = false;
        for (index, arg) in call.args.iter_mut().enumerate() {
            let space = self.space(body, cx, *arg).filter(|&space| {
                overloaded.contains(&index)
                    && (copies || !matches!(space, AddressSpace::LOCAL | AddressSpace::PARAM | AddressSpace::CONSTANT))
            });
            *arg = match space {
                Some(space) => {
                    renamed = true;
                    self.own(body, cx, *arg, space)
                }
                None => self.generic(body, cx, *arg),
            };
        }
        if let Callee::Value(callee) = &mut call.callee {
            *callee = self.generic(body, cx, *callee);
        }
        if renamed {
            retarget(body, cx, call);
        }
    }

    /// Puts the casts behind the definitions of what they cast; those of parameters at the start.
    fn insert_casts(&mut self, body: &mut Body) {
        if self.casts.is_empty() {
            return;
        }
        self.changed = true;
        for at in 0..body.layout.len() {
            let block = body.layout[at];
            let phis = phi_count(body, block);
            let old = std::mem::take(&mut body[block].insts);
            let mut new = Vec::with_capacity(old.len() + 2);
            let mut late = Vec::new();
            if at == 0 {
                late.extend(body.params.iter().filter_map(|param| self.casts.get(param)));
            }
            for (index, &inst) in old.iter().enumerate() {
                if index == phis {
                    new.append(&mut late);
                }
                new.push(inst);
                if let Some(&cast) = body[inst].result.expand().and_then(|result| self.casts.get(&result)) {
                    if index < phis { late.push(cast) } else { new.push(cast) }
                }
            }
            body[block].insts = new;
        }
    }
}

/// The instruction that defines a value, or the first of the function for a parameter.
fn place_of(body: &Body, value: ValueId) -> Option<InstId> {
    match body.def(value) {
        ValueDef::Inst(inst) => Some(inst),
        ValueDef::Param(_) => body.layout.first().and_then(|&entry| body[entry].insts.first().copied()),
    }
}

/// The arguments of an intrinsic whose address spaces are part of its name.
fn overloaded_args(view: View<'_>, call: &Call) -> &'static [usize] {
    match called(view, call) {
        Some(Intrinsic::MemCpy | Intrinsic::MemMove | Intrinsic::MemCpyInline) => &[0, 1],
        Some(Intrinsic::MemSet | Intrinsic::MemSetInline) => &[0],
        _ => match view.callee(call) {
            Some(symbol) if symbol.name.starts_with("llvm.nvvm.atomic.") => &[0],
            _ => &[],
        },
    }
}

/// Calls the overload of an intrinsic that has the types of the arguments.
fn retarget(body: &Body, cx: &mut Context<'_>, call: &mut Call) {
    let Some(symbol) = cx.view(body).callee_id(call) else { return };
    let params: Vec<TypeId> = call.args.iter().map(|&arg| cx.ty(body, arg)).collect();
    let mut spaces = params.iter().filter_map(|&ty| cx.module.types.address_space(ty));
    let is_pointer = |part: &str| {
        part.strip_prefix('p').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let name = cx.module.symbols[symbol].name.to_string();
    let parts: Vec<String> = name
        .split('.')
        .map(|part| match is_pointer(part).then(|| spaces.next()).flatten() {
            Some(space) => format!("p{}", space.0),
            None => part.to_owned(),
        })
        .collect();
    let Type::Function { ret, varargs, .. } = cx.module.types[call.signature] else { return };
    let signature = cx.module.types.intern(Type::Function { ret, params: params.into(), varargs });
    let target = cx.declare_like(&parts.join("."), symbol, signature);
    call.signature = signature;
    call.callee = Callee::Value(cx.module.constants.intern(Constant::Symbol(TypeId::PTR, target)).into());
}
