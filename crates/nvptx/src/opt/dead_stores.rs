//! Stores to frame slots that nobody reads go, and then the slots.

use super::{Context, frame};
use crate::analysis::alias::{Base, Private, location};
use crate::analysis::intrinsics::{Intrinsic, called};
use crate::ir::{Body, CastOp, InstId, Op, Value};

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let view = cx.view(body);
    if !body.insts_in_order().any(|(_, inst)| matches!(body[inst].op, Op::Alloca { .. })) {
        return false;
    }
    let private = Private::new(view);
    let slot_of = |pointer: Value| match location(view, pointer, None).base {
        Base::Frame(slot) if private.is_private(slot) => Some(slot),
        _ => None,
    };
    let mut read = vec![false; body.value_count()];
    let mut writes: Vec<(InstId, usize)> = Vec::new();
    for (_, inst) in body.insts_in_order() {
        match &body[inst].op {
            Op::Store { ptr, volatile: false, .. } => {
                if let Some(slot) = slot_of(*ptr) {
                    writes.push((inst, slot.as_u32() as usize));
                }
            }
            Op::Call(call) if frame::is_lifetime(view, call) => {
                if let Some(slot) = call.args.last().and_then(|&slot| slot_of(slot)) {
                    writes.push((inst, slot.as_u32() as usize));
                }
            }
            Op::Call(call) => match (called(view, call), call.args.as_slice()) {
                (Some(Intrinsic::MemSet | Intrinsic::MemSetInline), [to, ..]) => {
                    if let Some(slot) = slot_of(*to) {
                        writes.push((inst, slot.as_u32() as usize));
                    }
                }
                (Some(Intrinsic::MemCpy | Intrinsic::MemMove | Intrinsic::MemCpyInline), [to, from, ..]) => {
                    if let Some(slot) = slot_of(*from) {
                        read[slot.as_u32() as usize] = true;
                    }
                    if let Some(slot) = slot_of(*to) {
                        writes.push((inst, slot.as_u32() as usize));
                    }
                }
                _ => {}
            },
            // Making an address of the slot reads nothing.
            Op::Gep { .. } | Op::Cast(CastOp::AddrSpaceCast | CastOp::Bitcast, ..) => {}
            op => op.for_each_value(|value| {
                if matches!(view.module.types[view.ty(value)], crate::ir::Type::Pointer(_))
                    && let Some(slot) = slot_of(value)
                {
                    read[slot.as_u32() as usize] = true;
                }
            }),
        }
    }
    let mut dead = vec![false; body.inst_count()];
    for (inst, slot) in writes {
        dead[inst.as_u32() as usize] = !read[slot];
    }
    let mut changed = false;
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let before = body[block].insts.len();
        let mut insts = std::mem::take(&mut body[block].insts);
        insts.retain(|inst| !dead[inst.as_u32() as usize]);
        changed |= insts.len() != before;
        body[block].insts = insts;
    }
    changed
}
