//! Loads of what a kernel cannot change while it runs are marked `!invariant.load`: they go through the read-only cache.
//!
//! That is memory behind a parameter that is `noalias` and `readonly`, and memory behind a `noalias` parameter that the
//! function only loads from.

use smallvec::smallvec;

use super::Context;
use crate::analysis::alias::{Base, location};
use crate::ir::{Attachment, Body, Meta, Op, Ordering, ParamFlags, Type, Value, ValueId};

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    if cx.kernel.is_none() {
        return false;
    }
    let fit = read_only(body, cx);
    if fit.is_empty() {
        return false;
    }
    let view = cx.view(body);
    let loads: Vec<_> = body
        .insts_in_order()
        .filter_map(|(_, inst)| match &body[inst].op {
            Op::Load { ptr, volatile: false, ordering: Ordering::NotAtomic, .. } => Some((inst, *ptr)),
            _ => None,
        })
        .filter(|&(inst, ptr)| {
            let base = location(view, ptr, None).base;
            body.attachment(inst, Attachment::InvariantLoad).is_none()
                && matches!(base, Base::Param(param) if fit.contains(&param))
        })
        .collect();
    if loads.is_empty() {
        return false;
    }
    let empty = cx.module.metadata.nodes.push(Meta::Node(Vec::new()));
    for (inst, _) in loads {
        body.attachments.entry(inst).or_insert_with(|| smallvec![]).push((Attachment::InvariantLoad, empty));
    }
    true
}

/// The pointer parameters whose memory is not written while the kernel runs.
fn read_only(body: &Body, cx: &Context<'_>) -> Vec<ValueId> {
    let view = cx.view(body);
    let Some(function) = view.function() else { return Vec::new() };
    let mut fit: Vec<ValueId> = Vec::new();
    for (&value, param) in body.params.iter().zip(&function.params) {
        let flags = param.attributes.param;
        if flags.contains(ParamFlags::NO_ALIAS) && param.attributes.by_val.is_none() {
            let declared = flags.intersects(ParamFlags::READ_ONLY | ParamFlags::READ_NONE);
            if declared || only_loaded(body, cx, value) {
                fit.push(value);
            }
        }
    }
    fit
}

/// True when no address made from a parameter is stored to, stored, passed on or mixed with others.
fn only_loaded(body: &Body, cx: &Context<'_>, param: ValueId) -> bool {
    let view = cx.view(body);
    let leads_to = |value: Value| {
        matches!(view.module.types[view.ty(value)], Type::Pointer(_))
            && location(view, value, None).base == Base::Param(param)
    };
    body.insts_in_order().all(|(_, inst)| match &body[inst].op {
        Op::Load { .. } | Op::Gep { .. } | Op::ICmp(..) | Op::Cast(crate::ir::CastOp::AddrSpaceCast, ..) => true,
        op => {
            let mut other = false;
            op.for_each_value(|value| other |= leads_to(value));
            !other
        }
    })
}
