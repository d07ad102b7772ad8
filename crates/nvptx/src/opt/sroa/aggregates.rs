//! Loads and stores of whole structures and arrays become one for each field.

use smallvec::SmallVec;

use super::slots::Slots;
use crate::ir::{Body, GepFlags, InstId, Op, Ordering, Type, TypeId, Value};
use crate::opt::{Context, Replacements};

/// More fields than this stay together.
const MAX_FIELDS: usize = 64;

/// Takes the accesses to slots apart. True if there were any.
pub(super) fn split(body: &mut Body, cx: &mut Context<'_>, slots: &Slots) -> bool {
    let mut loads = Replacements::default();
    let mut changed = false;
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let has_one = body[block].insts.iter().any(|&inst| aggregate(body, cx, slots, inst).is_some());
        if !has_one {
            continue;
        }
        changed = true;
        let old = std::mem::take(&mut body[block].insts);
        let mut new = Vec::with_capacity(old.len() + 16);
        for inst in old {
            match aggregate(body, cx, slots, inst) {
                Some((ty, ptr, align)) => {
                    let mut fields = Vec::new();
                    leaves(cx, ty, 0, &mut SmallVec::new(), &mut fields);
                    let mut splitter = Splitter { body, cx, out: &mut new, like: inst, ptr, align };
                    splitter.split(ty, &fields, &mut loads);
                }
                None => new.push(inst),
            }
        }
        body[block].insts = new;
    }
    loads.apply(body);
    changed
}

/// Type, address and alignment of a plain access of an aggregate in a slot.
fn aggregate(body: &Body, cx: &Context<'_>, slots: &Slots, inst: InstId) -> Option<(TypeId, Value, u32)> {
    let (ty, ptr, align) = match &body[inst].op {
        Op::Load { ptr, align, volatile: false, ordering: Ordering::NotAtomic, .. } => (body[inst].ty, *ptr, *align),
        Op::Store { value, ptr, align, volatile: false, ordering: Ordering::NotAtomic, .. } => {
            (cx.ty(body, *value), *ptr, *align)
        }
        _ => return None,
    };
    let (slot, _) = slots.address(ptr)?;
    let small = cx.module.types.is_aggregate(ty) && count(cx, ty) <= MAX_FIELDS;
    (small && slots.list[slot].fit).then_some((ty, ptr, align))
}

fn count(cx: &Context<'_>, ty: TypeId) -> usize {
    let types = &cx.module.types;
    match &types[ty] {
        Type::Array(element, len) => usize::try_from(*len).unwrap_or(usize::MAX).saturating_mul(count(cx, *element)),
        Type::Struct { fields, .. } => fields.iter().fold(0, |sum, &field| sum.saturating_add(count(cx, field))),
        _ => 1,
    }
}

type Leaf = (SmallVec<[u32; 2]>, TypeId, u64);

/// The fields that are no aggregates: path, type, offset in bytes.
fn leaves(cx: &Context<'_>, ty: TypeId, offset: u64, path: &mut SmallVec<[u32; 2]>, found: &mut Vec<Leaf>) {
    let types = &cx.module.types;
    if !types.is_aggregate(ty) {
        found.push((path.clone(), ty, offset));
        return;
    }
    for index in 0..types.element_count(ty) {
        let Some(element) = types.element(ty, index) else { continue };
        path.push(index as u32);
        leaves(cx, element, offset + cx.module.layout.element_offset(types, ty, index), path, found);
        path.pop();
    }
}

struct Splitter<'a, 'm> {
    body: &'a mut Body,
    cx: &'a mut Context<'m>,
    out: &'a mut Vec<InstId>,
    like: InstId,
    ptr: Value,
    align: u32,
}

impl Splitter<'_, '_> {
    fn push(&mut self, op: Op, ty: TypeId) -> Option<Value> {
        let inst = self.cx.make(self.body, op, ty, self.like);
        self.out.push(inst);
        self.body[inst].result.expand().map(Value::Local)
    }

    fn split(&mut self, ty: TypeId, fields: &[Leaf], loads: &mut Replacements) {
        let stored = match self.body[self.like].op {
            Op::Store { value, .. } => Some(value),
            _ => None,
        };
        let mut whole = self.cx.poison(ty);
        for (path, field, offset) in fields {
            let ptr = self.address(*offset);
            let align = (1u64 << (u64::from(self.align.max(1)) | offset).trailing_zeros()) as u32;
            match stored {
                Some(value) => {
                    let Some(value) = self.push(Op::ExtractValue(value, path.clone()), *field) else { continue };
                    self.push(Op::store(value, ptr, align), TypeId::VOID);
                }
                None => {
                    let load = self.push(Op::load(ptr, align), *field);
                    let next = load.and_then(|part| self.push(Op::InsertValue([whole, part], path.clone()), ty));
                    whole = next.unwrap_or(whole);
                }
            }
        }
        if stored.is_none() {
            loads.set(self.body.result(self.like), whole);
        }
    }

    fn address(&mut self, offset: u64) -> Value {
        if offset == 0 {
            return self.ptr;
        }
        let ty = self.cx.ty(self.body, self.ptr);
        let op = self.cx.bytes_behind(self.ptr, offset as i64, GepFlags::INBOUNDS);
        self.push(op, ty).unwrap_or(self.ptr)
    }
}
