//! Address-space inference: accesses through generic pointers whose space is known become accesses to that space.
//!
//! Known from the start are the parameters of kernels (global memory, by the driver's interface), frame slots (local
//! memory), what has been cast from a space, and pointers loaded from `byval` parameters of kernels. The spaces are
//! carried through `getelementptr`, `phi`, `select` and casts by an optimistic data-flow analysis, and the pointers
//! are then retyped; where a generic pointer is still needed one is cast back.

mod parameters;
mod rewrite;
mod space;

use cranelift_entity::SecondaryMap;
use space::{Space, space_of};

use super::Context;
use crate::analysis::Cfg;
use crate::ir::{AddressSpace, Body, CastOp, InstFlags, Op, TypeId, Value, ValueId};

/// Runs the inference on one function.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let mut changed = casts_from_intrinsics(body, cx);
    changed |= parameters::copy_written(body, cx);
    let cfg = Cfg::of_reachable(body);
    let spaces = infer(cx, body, &cfg);
    changed |= rewrite::apply(body, cx, &cfg, &spaces);
    changed
}

/// `llvm.nvvm.ptr.gen.to.global` and its like, of older IR, are address-space casts.
fn casts_from_intrinsics(body: &mut Body, cx: &Context<'_>) -> bool {
    let mut changed = false;
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        for index in 0..body[block].insts.len() {
            let inst = body[block].insts[index];
            let Op::Call(call) = &body[inst].op else { continue };
            let Some(symbol) = cx.view(body).callee(call) else { continue };
            let types = &cx.module.types;
            let is_pointer = |ty| types.address_space(ty).is_some();
            // The reader takes any declaration; selection refuses those of other types.
            let is_cast = symbol.name.strip_prefix("llvm.nvvm.ptr.").is_some_and(|name| name.contains(".to."))
                && is_pointer(body[inst].ty)
                && call.args.iter().all(|&arg| is_pointer(cx.ty(body, arg)));
            if let ([pointer], true) = (call.args.as_slice(), is_cast) {
                let pointer = *pointer;
                let op = if cx.ty(body, pointer) == body[inst].ty { CastOp::Bitcast } else { CastOp::AddrSpaceCast };
                body[inst].op = Op::Cast(op, InstFlags::empty(), pointer);
                changed = true;
            }
        }
    }
    changed
}

/// The greatest solution of the data-flow equations.
fn infer(cx: &Context<'_>, body: &Body, cfg: &Cfg) -> SecondaryMap<ValueId, Space> {
    let view = cx.view(body);
    let mut spaces = SecondaryMap::with_default(Space::Unseen);
    spaces.resize(body.value_count());
    for (index, &param) in body.params.iter().enumerate() {
        spaces[param] = parameters::space(cx, body, index).map_or(Space::Generic, Space::Known);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &inst in cfg.rpo().iter().flat_map(|&block| &body[block].insts) {
            let Some(result) = body[inst].result.expand() else { continue };
            if body[inst].ty != TypeId::PTR {
                continue;
            }
            let of = |value: Value| space_of(view, &spaces, value);
            let new = match &body[inst].op {
                Op::Alloca { .. } => Space::Known(AddressSpace::LOCAL),
                // The driver hands kernels no pointers but to global memory.
                Op::Load { ptr, .. } if of(*ptr) == Space::Known(AddressSpace::PARAM) => {
                    Space::Known(AddressSpace::GLOBAL)
                }
                Op::Gep { base, .. } => of(*base),
                Op::Cast(CastOp::Bitcast | CastOp::AddrSpaceCast, _, from) | Op::Freeze(from) => of(*from),
                Op::Select(_, [_, a, b]) => of(*a).join(of(*b)),
                Op::Phi(incoming) => incoming.iter().fold(Space::Unseen, |space, (_, value)| space.join(of(*value))),
                _ => Space::Generic,
            };
            let joined = spaces[result].join(new);
            changed |= spaces[result] != joined;
            spaces[result] = joined;
        }
    }
    spaces
}
