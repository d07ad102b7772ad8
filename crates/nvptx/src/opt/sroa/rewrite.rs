//! Accesses to a slot become accesses to its parts.

use super::parts::Part;
use super::slots::{Access, AccessKind, Slots};
use crate::analysis::known_bits::alignment;
use crate::ir::{BinaryOp, Body, Call, CastOp, GepFlags, InstFlags, InstId, Op, Type, TypeId, Value};
use crate::opt::{Context, Replacements, frame};

/// Makes the slots of the parts and rewrites the accesses.
pub(super) fn apply(body: &mut Body, cx: &mut Context<'_>, slots: &Slots, plans: &[Option<Vec<Part>>]) {
    let mut made: Vec<Vec<InstId>> = Vec::with_capacity(plans.len());
    for (slot, plan) in slots.list.iter().zip(plans) {
        let count = cx.int(TypeId::I32, 1);
        let parts = plan.iter().flatten().map(|part| {
            let align = (1u64 << (u64::from(slot.align.max(1)) | part.offset).trailing_zeros()) as u32;
            cx.make(body, Op::Alloca { element: part.ty, count, align }, TypeId::PTR, slot.inst)
        });
        made.push(parts.collect());
    }
    let mut loads = Replacements::default();
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let old = std::mem::take(&mut body[block].insts);
        let mut new = Vec::with_capacity(old.len());
        for inst in old {
            let mut rewriter = Rewriter { body, cx, slots, plans, made: &made, out: &mut new, like: inst };
            if !rewriter.inst(&mut loads) {
                new.push(inst);
            }
        }
        body[block].insts = new;
    }
    loads.apply(body);
}

struct Rewriter<'a, 'm> {
    body: &'a mut Body,
    cx: &'a mut Context<'m>,
    slots: &'a Slots,
    plans: &'a [Option<Vec<Part>>],
    made: &'a [Vec<InstId>],
    out: &'a mut Vec<InstId>,
    like: InstId,
}

impl Rewriter<'_, '_> {
    /// Rewrites the instruction `like`; false when it stays.
    fn inst(&mut self, loads: &mut Replacements) -> bool {
        match self.body[self.like].op.clone() {
            Op::Alloca { .. } => {
                let slot = self.planned(self.body.result(self.like).into());
                if let Some((slot, _)) = slot {
                    self.out.extend(&self.made[slot]);
                }
                slot.is_some()
            }
            Op::Gep { base, .. } => self.planned(base).is_some(),
            Op::Cast(CastOp::AddrSpaceCast | CastOp::Bitcast, _, from) => self.planned(from).is_some(),
            Op::Load { ptr, .. } => {
                let Some((slot, offset)) = self.planned(ptr) else { return false };
                let value = self.load(slot, offset, self.body[self.like].ty);
                loads.set(self.body.result(self.like), value);
                true
            }
            Op::Store { value, ptr, .. } => {
                let Some((slot, offset)) = self.planned(ptr) else { return false };
                self.store(slot, offset, value);
                true
            }
            Op::Call(call) => {
                if frame::is_lifetime(self.cx.view(self.body), &call) {
                    return call.args.iter().any(|&arg| self.planned(arg).is_some());
                }
                let mine = |rewriter: &Self, index: usize| call.args.get(index).and_then(|&arg| rewriter.planned(arg));
                if let Some((slot, offset)) = mine(self, 0) {
                    let access = self.access(slot, offset);
                    match access.kind {
                        AccessKind::Set { .. } => self.set(slot, &access, call.args[1]),
                        _ => {
                            let align = self.align(&call, 1);
                            self.copy(slot, &access, call.args[1], align);
                        }
                    }
                    return true;
                }
                let Some((slot, offset)) = mine(self, 1) else { return false };
                let access = self.access(slot, offset);
                let align = self.align(&call, 0);
                self.copy(slot, &access, call.args[0], align);
                true
            }
            _ => false,
        }
    }

    /// The alignment of a pointer that is copied from or to: what the call says, or what is known.
    fn align(&self, call: &Call, index: usize) -> u32 {
        let own = call.arg_attributes.iter().find(|(arg, _)| *arg as usize == index);
        let known = alignment(self.cx.view(self.body), call.args[index]) as u32;
        own.map_or(1, |(_, attributes)| attributes.align).max(known)
    }

    /// The slot and offset of an address in a slot that is taken apart.
    fn planned(&self, value: Value) -> Option<(usize, u64)> {
        self.slots.address(value).filter(|&(slot, _)| self.plans[slot].is_some())
    }

    /// The access that the present instruction makes.
    fn access(&self, slot: usize, offset: u64) -> Access {
        let found = self.slots.list[slot].accesses.iter().find(|access| access.inst == self.like);
        found.copied().unwrap_or(Access { inst: self.like, offset, size: 0, kind: AccessKind::Set { zero: true } })
    }

    fn push(&mut self, op: Op, ty: TypeId) -> Value {
        let inst = self.cx.make(self.body, op, ty, self.like);
        self.out.push(inst);
        self.body.result(inst).into()
    }

    fn cast(&mut self, op: CastOp, value: Value, ty: TypeId) -> Value {
        if self.cx.ty(self.body, value) == ty {
            return value;
        }
        self.push(Op::Cast(op, InstFlags::empty(), value), ty)
    }

    fn read(&mut self, ptr: Value, ty: TypeId, align: u32) -> Value {
        self.push(Op::load(ptr, align), ty)
    }

    fn write(&mut self, ptr: Value, value: Value, align: u32) {
        let inst = self.cx.make(self.body, Op::store(value, ptr, align), TypeId::VOID, self.like);
        self.out.push(inst);
    }

    /// The part that holds an offset, with the address and alignment of its slot.
    fn part(&self, slot: usize, offset: u64) -> (Part, Value, u32) {
        let parts = self.plans[slot].as_deref().unwrap_or_default();
        let index = parts.partition_point(|part| part.offset <= offset).saturating_sub(1);
        let inst = self.made[slot][index];
        let align = match self.body[inst].op {
            Op::Alloca { align, .. } => align,
            _ => 1,
        };
        (parts[index], self.body.result(inst).into(), align)
    }

    fn load(&mut self, slot: usize, offset: u64, ty: TypeId) -> Value {
        let (part, ptr, align) = self.part(slot, offset);
        let whole = self.read(ptr, part.ty, align);
        self.extract(whole, part.ty, offset - part.offset, ty)
    }

    fn store(&mut self, slot: usize, offset: u64, value: Value) {
        let (part, ptr, align) = self.part(slot, offset);
        let within = offset - part.offset;
        let ty = self.cx.ty(self.body, value);
        let whole = if ty == part.ty {
            value
        } else {
            let old = self.read(ptr, part.ty, align);
            self.insert(old, part.ty, within, value, ty)
        };
        self.write(ptr, whole, align);
    }

    fn bits(&self, ty: TypeId) -> u64 {
        self.cx.module.layout.bits(&self.cx.module.types, ty)
    }

    /// The value of type `ty` at an offset in bytes of `whole`.
    fn extract(&mut self, whole: Value, from: TypeId, offset: u64, ty: TypeId) -> Value {
        if from == ty {
            return whole;
        }
        if let Some((element, _)) = self.cx.module.types.as_vector(from).filter(|_| self.bits(ty) < self.bits(from)) {
            let index = self.cx.int(TypeId::I32, (offset * 8 / self.bits(element)).into());
            let item = self.push(Op::ExtractElement([whole, index]), element);
            let item = self.bits_of(item);
            return self.int_to(item, ty);
        }
        let mut int = self.bits_of(whole);
        let int_ty = self.cx.ty(self.body, int);
        if offset > 0 {
            let by = self.cx.int(int_ty, (offset * 8).into());
            int = self.push(Op::Binary(BinaryOp::LShr, InstFlags::empty(), [int, by]), int_ty);
        }
        self.int_to(int, ty)
    }

    /// `old` with the bytes of `value` at an offset.
    fn insert(&mut self, old: Value, whole: TypeId, offset: u64, value: Value, ty: TypeId) -> Value {
        if let Some((element, _)) = self.cx.module.types.as_vector(whole).filter(|_| self.bits(ty) < self.bits(whole)) {
            let index = self.cx.int(TypeId::I32, (offset * 8 / self.bits(element)).into());
            let item = self.bits_of(value);
            let item = self.int_to(item, element);
            return self.push(Op::InsertElement([old, item, index]), whole);
        }
        let bits = self.bits(whole) as u32;
        let int_ty = self.cx.module.types.int(bits);
        let item = self.bits_of(value);
        let item_bits = self.bits(ty).next_multiple_of(8) as u32;
        let mut item = self.cast(CastOp::ZExt, item, int_ty);
        if item_bits < bits {
            let shift = (offset * 8) as u32;
            let mask = ((1u128 << item_bits) - 1) << shift;
            if shift > 0 {
                let by = self.cx.int(int_ty, shift.into());
                item = self.push(Op::Binary(BinaryOp::Shl, InstFlags::empty(), [item, by]), int_ty);
            }
            let old = self.bits_of(old);
            let keep = self.cx.int(int_ty, !mask);
            let kept = self.push(Op::Binary(BinaryOp::And, InstFlags::empty(), [old, keep]), int_ty);
            item = self.push(Op::Binary(BinaryOp::Or, InstFlags::DISJOINT, [kept, item]), int_ty);
        }
        self.int_to(item, whole)
    }

    /// The bits of a value as an integer.
    fn bits_of(&mut self, value: Value) -> Value {
        let ty = self.cx.ty(self.body, value);
        let op = match self.cx.module.types[ty] {
            Type::Int(_) => return value,
            Type::Pointer(_) => CastOp::PtrToInt,
            _ => CastOp::Bitcast,
        };
        let int = self.cx.module.types.int(self.bits(ty) as u32);
        self.cast(op, value, int)
    }

    /// A value of type `ty` from the low bits of an integer.
    fn int_to(&mut self, int: Value, ty: TypeId) -> Value {
        let have = self.bits(self.cx.ty(self.body, int)) as u32;
        let want = self.bits(ty) as u32;
        let int_ty = self.cx.module.types.int(want);
        let op = if want < have { CastOp::Trunc } else { CastOp::ZExt };
        let int = self.cast(op, int, int_ty);
        let pointer = matches!(self.cx.module.types[ty], Type::Pointer(_));
        self.cast(if pointer { CastOp::IntToPtr } else { CastOp::Bitcast }, int, ty)
    }

    /// A fill, part by part.
    fn set(&mut self, slot: usize, access: &Access, byte: Value) {
        for part in self.covered(slot, access) {
            let (_, ptr, align) = self.part(slot, part.offset);
            let int_ty = self.cx.module.types.int((part.size * 8) as u32);
            let value = match self.cx.view(self.body).int(byte) {
                Some(0) => self.cx.zero(part.ty),
                Some(byte) => {
                    let pattern = self.cx.int(int_ty, u128::from_ne_bytes([byte as u8; 16]));
                    self.int_to(pattern, part.ty)
                }
                None => {
                    let wide = self.cast(CastOp::ZExt, byte, int_ty);
                    let ones = self.cx.int(int_ty, u128::from_ne_bytes([1; 16]));
                    let all = self.push(Op::Binary(BinaryOp::Mul, InstFlags::empty(), [wide, ones]), int_ty);
                    self.int_to(all, part.ty)
                }
            };
            self.write(ptr, value, align);
        }
    }

    /// A copy from or to other memory, part by part.
    fn copy(&mut self, slot: usize, access: &Access, other: Value, align: u32) {
        for part in self.covered(slot, access) {
            let (_, ptr, own_align) = self.part(slot, part.offset);
            let distance = part.offset - access.offset;
            let outside = self.offset(other, distance);
            let align = (1u64 << (u64::from(align) | distance).trailing_zeros()) as u32;
            if access.kind == AccessKind::CopyIn {
                let value = self.read(outside, part.ty, align);
                self.write(ptr, value, own_align);
            } else {
                let value = self.read(ptr, part.ty, own_align);
                self.write(outside, value, align);
            }
        }
    }

    fn covered(&self, slot: usize, access: &Access) -> Vec<Part> {
        let inside =
            |part: &&Part| access.offset <= part.offset && part.offset + part.size <= access.offset + access.size;
        self.plans[slot].iter().flatten().filter(inside).copied().collect()
    }

    fn offset(&mut self, base: Value, bytes: u64) -> Value {
        if bytes == 0 {
            return base;
        }
        let ty = self.cx.ty(self.body, base);
        let op = self.cx.bytes_behind(base, bytes as i64, GepFlags::INBOUNDS);
        self.push(op, ty)
    }
}
