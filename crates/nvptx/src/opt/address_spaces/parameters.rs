//! Parameters of kernels: pointers are global memory; what is passed by value lies in parameter space.

use crate::analysis::intrinsics::{Intrinsic, called};
use crate::analysis::{Cfg, View};
use crate::ir::{AddressSpace, Body, CastOp, InstId, Op, TypeId, Value, ValueId};
use crate::opt::{Context, Replacements, intrinsic};

/// The space that a parameter of a kernel points into.
pub(super) fn space(cx: &Context<'_>, body: &Body, index: usize) -> Option<AddressSpace> {
    cx.kernel?;
    if body.local_type(body.params[index]) != TypeId::PTR {
        return None;
    }
    let param = cx.view(body).function()?.params.get(index)?;
    Some(if param.attributes.by_val.is_some() { AddressSpace::PARAM } else { AddressSpace::GLOBAL })
}

/// Gives the parameters that are passed by value a copy in the frame, unless they are only read or may be addressed
/// where they are (`__grid_constant__`).
pub(super) fn copy_written(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let mut changed = false;
    for index in 0..body.params.len() {
        let param = body.params[index];
        let Some(info) = cx.kernel.filter(|_| space(cx, body, index) == Some(AddressSpace::PARAM)) else { continue };
        if !info.grid_constant.contains(&(index as u32)) && !is_only_read(cx.view(body), param) {
            copy(body, cx, index);
            changed = true;
        }
    }
    changed
}

/// Replaces a parameter by a copy in the frame.
fn copy(body: &mut Body, cx: &mut Context<'_>, index: usize) {
    let param = body.params[index];
    let attributes = cx.view(body).function().and_then(|function| Some(&function.params.get(index)?.attributes));
    let Some((ty, align)) = attributes.and_then(|attributes| Some((attributes.by_val?, attributes.align))) else {
        return;
    };
    let Some(&entry) = body.layout.first() else { return };
    let Some(&like) = body[entry].insts.first() else { return };
    let (size, own) = (cx.module.layout.size(&cx.module.types, ty), cx.module.layout.align(&cx.module.types, ty));
    let count = cx.int(TypeId::I32, 1);
    let slot = cx.make(body, Op::Alloca { element: ty, count, align: align.max(own) }, TypeId::PTR, like);
    let to: Value = body.result(slot).into();
    let mut uses = Replacements::default();
    uses.set(param, to);
    uses.apply(body);

    let space = cx.pointer(AddressSpace::PARAM);
    let from = cx.cast(body, CastOp::AddrSpaceCast, param.into(), space, like);
    let args = [to, body.result(from).into(), cx.int(TypeId::I64, size.into()), cx.int(TypeId::I1, 0)];
    let memcpy = intrinsic::call(cx, "llvm.memcpy.p0.p101.i64", TypeId::VOID, body, &args);
    let memcpy = cx.make(body, memcpy, TypeId::VOID, like);
    body[entry].insts.splice(0..0, [slot, from, memcpy]);
}

/// True when a parameter, and addresses in it, are only loaded from and copied out of.
fn is_only_read(view: View<'_>, param: ValueId) -> bool {
    let mut derived = vec![false; view.body.value_count()];
    derived[param.as_u32() as usize] = true;
    let cfg = Cfg::of_reachable(view.body);
    for &inst in cfg.rpo().iter().flat_map(|&block| &view.body[block].insts) {
        let is_derived = |value: Value| value.local().is_some_and(|id| derived[id.as_u32() as usize]);
        match &view.body[inst].op {
            Op::Gep { base: from, .. } | Op::Cast(CastOp::AddrSpaceCast, _, from) if is_derived(*from) => {
                derived[view.body.result(inst).as_u32() as usize] = true;
            }
            Op::Load { volatile: false, .. } => {}
            op => {
                let mut used = false;
                op.for_each_value(|value| used |= is_derived(value));
                if used && !is_source_of_copy(view, inst, is_derived) {
                    return false;
                }
            }
        }
    }
    true
}

/// True for a copy whose target does not fulfil `is_derived`.
fn is_source_of_copy(view: View<'_>, inst: InstId, is_derived: impl Fn(Value) -> bool) -> bool {
    let Some(call) = view.call(inst) else { return false };
    matches!(called(view, call), Some(Intrinsic::MemCpy | Intrinsic::MemMove | Intrinsic::MemCpyInline))
        && call.args.first().is_some_and(|&to| !is_derived(to))
}
