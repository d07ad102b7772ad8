//! Which parts a slot falls into, and what type each of them gets.

use super::slots::{Access, AccessKind, NONE, Slot, Slots};
use crate::ir::{Body, Type, TypeId};
use crate::opt::Context;

/// A slot that falls into more parts than this stays.
const MAX_PARTS: usize = 256;
/// A copy or fill that would become more accesses than this stays.
const MAX_PIECES: usize = 32;

/// Some bytes of a slot that get a slot of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// Where it starts in the old slot, in bytes.
    pub(super) offset: u64,
    /// Its length in bytes.
    pub(super) size: u64,
    /// The type of its value.
    pub(super) ty: TypeId,
}

/// The parts of each slot that is taken apart.
pub(super) fn plan(cx: &mut Context<'_>, body: &Body, slots: &mut Slots) -> Vec<Option<Vec<Part>>> {
    // Of two slots that are copied to each other, only one is taken apart at a time.
    let mut taken = vec![false; slots.list.len()];
    let mut plans = Vec::with_capacity(slots.list.len());
    for index in 0..slots.list.len() {
        let free = slots.list[index].fit && !partners(body, slots, index).iter().any(|&other| taken[other]);
        let plan = if free { parts(cx, &slots.list[index]) } else { None };
        taken[index] = plan.is_some();
        plans.push(plan);
    }
    plans
}

/// The other slots that copies of this one lead to.
fn partners(body: &Body, slots: &Slots, index: usize) -> Vec<usize> {
    let mut found = Vec::new();
    for access in &slots.list[index].accesses {
        if let (AccessKind::CopyIn | AccessKind::CopyOut, crate::ir::Op::Call(call)) =
            (access.kind, &body[access.inst].op)
        {
            for &arg in &call.args {
                if let Some((other, _)) = slots.address(arg) {
                    found.push(other);
                }
            }
        }
    }
    found.retain(|&other| other != index && other as u32 != NONE);
    found
}

fn parts(cx: &mut Context<'_>, slot: &Slot) -> Option<Vec<Part>> {
    // A copy within the slot would read parts that it has just written.
    let copies_itself = slot.accesses.iter().any(|access| {
        access.kind == AccessKind::CopyIn
            && slot.accesses.iter().any(|other| other.kind == AccessKind::CopyOut && other.inst == access.inst)
    });
    if copies_itself {
        return None;
    }
    let mut typed: Vec<&Access> =
        slot.accesses.iter().filter(|access| matches!(access.kind, AccessKind::Typed(_))).collect();
    typed.sort_by_key(|access| (access.offset, std::cmp::Reverse(access.size)));
    let mut parts = Vec::new();
    let mut at = 0;
    while at < typed.len() {
        let start = typed[at].offset;
        let mut end = start + typed[at].size;
        let mut next = at + 1;
        while next < typed.len() && typed[next].offset < end {
            end = end.max(typed[next].offset + typed[next].size);
            next += 1;
        }
        parts.push(Part { offset: start, size: end - start, ty: part_type(cx, start, end - start, &typed[at..next])? });
        at = next;
    }
    fill_gaps(slot, &mut parts);
    let whole = parts.len() == 1 && parts[0].size == slot.size && parts[0].ty == slot.element;
    let only_typed = slot.accesses.iter().all(|access| access.kind == AccessKind::Typed(slot.element));
    let pieces = |access: &Access| parts.iter().filter(|part| overlaps(part, access)).count();
    let fits = parts.len() <= MAX_PARTS
        && slot.accesses.iter().all(|access| {
            matches!(access.kind, AccessKind::Typed(_)) || pieces(access) <= MAX_PIECES && cuts_cleanly(&parts, access)
        });
    (fits && !(whole && only_typed)).then_some(parts)
}

fn overlaps(part: &Part, access: &Access) -> bool {
    part.offset < access.offset + access.size && access.offset < part.offset + part.size
}

/// True when each part lies wholly in the access or wholly outside, and can be filled as a value.
fn cuts_cleanly(parts: &[Part], access: &Access) -> bool {
    parts.iter().filter(|part| overlaps(part, access)).all(|part| {
        access.offset <= part.offset
            && part.offset + part.size <= access.offset + access.size
            && (part.size <= 8 || access.kind != AccessKind::Set { zero: false })
    })
}

/// Bytes that are only copied get integer parts where they are copied out: nobody else can see them.
fn fill_gaps(slot: &Slot, parts: &mut Vec<Part>) {
    let typed = parts.clone();
    for access in slot.accesses.iter().filter(|access| access.kind == AccessKind::CopyOut) {
        let mut at = access.offset;
        let end = access.offset + access.size;
        while at < end {
            let inside = |part: &&Part| part.offset <= at && at < part.offset + part.size;
            if let Some(part) = typed.iter().find(inside) {
                at = part.offset + part.size;
                continue;
            }
            let limit =
                typed.iter().map(|part| part.offset).filter(|&offset| offset > at).min().unwrap_or(end).min(end);
            let natural = 1u64 << (at | 8).trailing_zeros();
            let size = natural.min(1 << (limit - at).ilog2());
            let ty = match size {
                1 => TypeId::I8,
                2 => TypeId::I16,
                4 => TypeId::I32,
                _ => TypeId::I64,
            };
            let part = Part { offset: at, size, ty };
            if !parts.contains(&part) {
                parts.push(part);
            }
            at += size;
        }
    }
    parts.sort_by_key(|part| part.offset);
}

/// The type of a part: that of the accesses, a vector that they are elements of, or an integer.
fn part_type(cx: &mut Context<'_>, start: u64, size: u64, accesses: &[&Access]) -> Option<TypeId> {
    let mut whole: Option<TypeId> = None;
    let mut same = true;
    let mut vector = None;
    for access in accesses {
        let AccessKind::Typed(ty) = access.kind else { continue };
        if access.size == size {
            same &= whole.is_none_or(|first| first == ty);
            whole = whole.or(Some(ty));
            if cx.module.types.as_vector(ty).is_some() {
                vector = vector.or(Some(ty));
            }
        }
    }
    let all_whole = accesses.iter().all(|access| access.size == size);
    if all_whole && same {
        return whole.filter(|&ty| !cx.module.types.is_aggregate(ty));
    }
    if let Some(vector) = vector.filter(|&ty| accesses.iter().all(|access| is_element(cx, ty, start, access))) {
        return Some(vector);
    }
    let plain = accesses.iter().all(|access| match access.kind {
        AccessKind::Typed(ty) => is_bits(cx, ty),
        _ => true,
    });
    (plain && size <= 8 && size.is_power_of_two()).then(|| cx.module.types.int(size as u32 * 8))
}

/// True when the access is the whole vector or one of its elements.
fn is_element(cx: &Context<'_>, vector: TypeId, start: u64, access: &Access) -> bool {
    let AccessKind::Typed(ty) = access.kind else { return false };
    if ty == vector {
        return true;
    }
    let Some((element, _)) = cx.module.types.as_vector(vector) else { return false };
    let bits = cx.module.layout.bits(&cx.module.types, element);
    let same_size = cx.module.layout.bits(&cx.module.types, ty) == bits && is_bits(cx, ty) && is_bits(cx, element);
    same_size && bits.is_multiple_of(8) && (access.offset - start).is_multiple_of(bits / 8)
}

/// True for what can be seen as an integer of its size: whole bytes, no aggregate.
fn is_bits(cx: &Context<'_>, ty: TypeId) -> bool {
    let types = &cx.module.types;
    let known = match &types[ty] {
        Type::Vector(element, _) => !matches!(types[*element], Type::Pointer(_) | Type::OtherFloat(_)),
        Type::Int(bits) => *bits <= 64,
        Type::Half | Type::BFloat | Type::Float | Type::Double | Type::Pointer(_) => true,
        _ => false,
    };
    known && (cx.module.layout.bits(types, ty).is_multiple_of(8) || matches!(types[ty], Type::Int(_)))
}
