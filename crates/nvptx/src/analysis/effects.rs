//! What an instruction does besides making its result.

use super::intrinsics::{Intrinsic, called, is_pure_name};
use super::{View, known_bits};
use crate::ir::{BinaryOp, Call, Callee, FnFlags, InstId, MemoryEffects, Op, Ordering, Type, Value};

bitflags::bitflags! {
    /// What an instruction does besides making its result.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Effects: u8 {
        /// Reads memory that may change.
        const READS = 1;
        /// Writes memory, or does something else that others see.
        const WRITES = 1 << 1;
        /// Speaks with other threads: must not move into or out of conditions, nor be copied.
        const CONVERGENT = 1 << 2;
        /// May not come back: must not be removed, nor be run earlier than before.
        const MAY_NOT_RETURN = 1 << 3;
        /// Undefined for some operands: must not run where it did not run before.
        const UNSAFE = 1 << 4;
        /// Orders other accesses to memory: volatile, atomic, fences, barriers.
        const ORDERED = 1 << 5;
    }
}

impl Effects {
    /// True when the instruction may go if its result is not used.
    #[must_use]
    pub fn is_removable(self) -> bool {
        !self.intersects(Effects::WRITES | Effects::MAY_NOT_RETURN | Effects::ORDERED)
    }

    /// True when the instruction may run where it would not have, and depends on nothing but its operands.
    #[must_use]
    pub fn is_speculatable(self) -> bool {
        self.is_empty()
    }
}

/// The effects of an instruction. Terminators have those of a write.
#[must_use]
pub fn effects(view: View<'_>, inst: InstId) -> Effects {
    match &view.body[inst].op {
        Op::Binary(op, _, [_, divisor]) if op.is_int_division() => {
            if is_safe_divisor(view, *op, *divisor) {
                Effects::empty()
            } else {
                Effects::UNSAFE
            }
        }
        Op::Binary(..)
        | Op::FNeg(..)
        | Op::Cast(..)
        | Op::ICmp(..)
        | Op::FCmp(..)
        | Op::Select(..)
        | Op::Freeze(_)
        | Op::Gep { .. }
        | Op::ExtractValue(..)
        | Op::InsertValue(..)
        | Op::ExtractElement(..)
        | Op::InsertElement(..)
        | Op::Shuffle(..)
        | Op::Phi(_) => Effects::empty(),
        // A frame slot: two are never the same, so that none may be merged or moved, but an unused one may go.
        Op::Alloca { .. } => Effects::READS,
        Op::Load { volatile, ordering, .. } if *volatile || *ordering > Ordering::Unordered => {
            Effects::READS | Effects::WRITES | Effects::ORDERED | Effects::UNSAFE
        }
        Op::Load { .. } => Effects::READS | Effects::UNSAFE,
        Op::Store { volatile, ordering, .. } if *volatile || *ordering > Ordering::Unordered => {
            Effects::WRITES | Effects::ORDERED | Effects::UNSAFE
        }
        Op::Store { .. } => Effects::WRITES | Effects::UNSAFE,
        Op::CmpXchg { .. } | Op::AtomicRmw { .. } | Op::Fence(..) | Op::VaArg(_) => {
            Effects::READS | Effects::WRITES | Effects::ORDERED | Effects::UNSAFE
        }
        Op::Call(call) => of_call(view, call),
        Op::Ret(_) | Op::Br(_) | Op::CondBr(..) | Op::Switch { .. } | Op::IndirectBr(..) | Op::Unreachable => {
            Effects::WRITES
        }
    }
}

/// True when a division by `divisor` is defined for every dividend.
fn is_safe_divisor(view: View<'_>, op: BinaryOp, divisor: Value) -> bool {
    let signed = matches!(op, BinaryOp::SDiv | BinaryOp::SRem);
    if let Some(value) = view.splat_int(divisor) {
        let bits = view.scalar_bits(view.ty(divisor)).unwrap_or(128);
        return value != 0 && !(signed && value == u128::MAX >> (128 - bits.min(128)));
    }
    // -1 is all ones: a known 0 anywhere excludes it.
    let known = known_bits::known_bits(view, divisor);
    known.one != 0 && (!signed || known.zero != 0)
}

/// Flags that a call or its function carries.
#[must_use]
pub fn call_flags(view: View<'_>, call: &Call) -> FnFlags {
    let declared = view.callee(call).and_then(|symbol| symbol.function());
    call.attributes.function | declared.map_or(FnFlags::empty(), |function| function.attributes.function)
}

/// What a call may do to memory: the tighter of what the call and the function say.
#[must_use]
pub fn call_memory(view: View<'_>, call: &Call) -> MemoryEffects {
    let declared = view.callee(call).and_then(|symbol| symbol.function());
    match (call.attributes.memory, declared.map_or(MemoryEffects::Any, |function| function.attributes.memory)) {
        (MemoryEffects::Any, declared) => declared,
        (own, MemoryEffects::Any) => own,
        (MemoryEffects::None, _) | (_, MemoryEffects::None) => MemoryEffects::None,
        (own, _) => own,
    }
}

fn of_call(view: View<'_>, call: &Call) -> Effects {
    if let Callee::Asm(asm) = &call.callee {
        return of_asm(view, call, asm.side_effects, &asm.constraints);
    }
    let Some(symbol) = view.callee(call) else { return Effects::all() };
    let flags = call_flags(view, call);
    if is_pure_name(&symbol.name) && !flags.contains(FnFlags::CONVERGENT) {
        return Effects::empty();
    }
    match called(view, call) {
        Some(Intrinsic::Ldg | Intrinsic::LdgF | Intrinsic::LdgP) => return Effects::UNSAFE,
        Some(Intrinsic::MemCpy | Intrinsic::MemMove | Intrinsic::MemCpyInline) => {
            return Effects::READS | Effects::WRITES | Effects::UNSAFE | volatile_flag(view, call);
        }
        Some(Intrinsic::MemSet | Intrinsic::MemSetInline) => {
            return Effects::WRITES | Effects::UNSAFE | volatile_flag(view, call);
        }
        Some(Intrinsic::PtrAnnotation | Intrinsic::LaunderInvariant | Intrinsic::StripInvariant) => {
            return Effects::empty();
        }
        // They stay where they are, but touch nothing.
        Some(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) => return Effects::WRITES | Effects::UNSAFE,
        Some(remark) if remark.is_remark() => return Effects::WRITES | Effects::UNSAFE,
        _ => {}
    }
    let mut effects = match call_memory(view, call) {
        MemoryEffects::None => Effects::empty(),
        MemoryEffects::Read | MemoryEffects::ReadArgs => Effects::READS,
        MemoryEffects::Inaccessible | MemoryEffects::Args => Effects::READS | Effects::WRITES,
        MemoryEffects::Any => Effects::READS | Effects::WRITES | Effects::ORDERED,
    };
    if flags.contains(FnFlags::CONVERGENT) {
        effects |= Effects::CONVERGENT;
    }
    if !flags.contains(FnFlags::WILL_RETURN) {
        effects |= Effects::MAY_NOT_RETURN;
    }
    if !flags.contains(FnFlags::SPECULATABLE) {
        effects |= Effects::UNSAFE;
    }
    effects
}

/// Inline assembly without `sideeffect` and without a memory clobber is a function of its operands.
fn of_asm(view: View<'_>, call: &Call, side_effects: bool, constraints: &str) -> Effects {
    let mut effects = Effects::UNSAFE;
    if call.attributes.function.contains(FnFlags::CONVERGENT) {
        effects |= Effects::CONVERGENT;
    }
    let memory = constraints.contains("{memory}") || constraints.contains('*');
    let none = call.attributes.memory == MemoryEffects::None;
    if side_effects || (memory && !none) || matches!(view.module.types[view.result_type(call)], Type::Void) {
        effects |= Effects::READS | Effects::WRITES | Effects::ORDERED;
    }
    effects
}

fn volatile_flag(view: View<'_>, call: &Call) -> Effects {
    match call.args.last().and_then(|&flag| view.int(flag)) {
        Some(0) => Effects::empty(),
        _ => Effects::ORDERED,
    }
}
