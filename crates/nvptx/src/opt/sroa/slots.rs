//! The slots of a function all of whose uses are understood.

use cranelift_entity::SecondaryMap;

use crate::analysis::alias::constant_offset;
use crate::analysis::intrinsics::{Intrinsic, called};
use crate::analysis::{Cfg, View};
use crate::ir::{CastOp, InstId, Op, Ordering, TypeId, Value, ValueId};
use crate::opt::frame;

/// The largest slot that is looked at, in bytes.
pub(super) const MAX_SIZE: u64 = 4096;

pub(super) const NONE: u32 = u32::MAX;

/// One use of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) inst: InstId,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) kind: AccessKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessKind {
    /// A load or store of a value of this type.
    Typed(TypeId),
    /// A fill, with zeros or something else.
    Set { zero: bool },
    /// A copy out of the slot.
    CopyOut,
    /// A copy into the slot.
    CopyIn,
}

/// A slot all of whose uses are understood.
pub(super) struct Slot {
    pub(super) inst: InstId,
    pub(super) size: u64,
    pub(super) align: u32,
    pub(super) element: TypeId,
    pub(super) accesses: Vec<Access>,
    pub(super) fit: bool,
}

/// The slots of a function, and which values are addresses in them.
pub(super) struct Slots {
    pub(super) list: Vec<Slot>,
    /// Slot and offset in bytes of each address.
    pub(super) derived: SecondaryMap<ValueId, (u32, u64)>,
}

impl Slots {
    /// Finds them.
    pub(super) fn find(view: View<'_>) -> Slots {
        let mut slots = Slots { list: Vec::new(), derived: SecondaryMap::with_default((NONE, 0)) };
        let body = view.body;
        for &inst in body.layout.first().map_or(&[][..], |&entry| &body[entry].insts) {
            let (Some(element), Op::Alloca { align, .. }) = (frame::single_slot(view, inst), &body[inst].op) else {
                continue;
            };
            let size = view.module.layout.size(&view.module.types, element);
            if (1..=MAX_SIZE).contains(&size) {
                slots.derived[body.result(inst)] = (slots.list.len() as u32, 0);
                slots.list.push(Slot { inst, size, align: *align, element, accesses: Vec::new(), fit: true });
            }
        }
        if !slots.list.is_empty() {
            for &block in Cfg::of_reachable(body).rpo() {
                for &inst in &body[block].insts {
                    slots.visit(view, inst);
                }
            }
        }
        slots
    }

    /// The slot and offset that an address leads to.
    pub(super) fn address(&self, value: Value) -> Option<(usize, u64)> {
        let (slot, offset) = self.derived[value.local()?];
        (slot != NONE).then_some((slot as usize, offset))
    }

    fn refuse(&mut self, value: Value) {
        if let Some((slot, _)) = self.address(value) {
            self.list[slot].fit = false;
        }
    }

    fn visit(&mut self, view: View<'_>, inst: InstId) {
        let size = |ty| view.module.layout.store_size(&view.module.types, ty);
        match &view.body[inst].op {
            Op::Gep { source, base, indices, .. } => {
                indices.iter().for_each(|&index| self.refuse(index));
                let Some((slot, offset)) = self.address(*base) else { return };
                let step = constant_offset(view, *source, indices.iter().map(|&index| view.signed(index)));
                let at = step.and_then(|step| offset.checked_add_signed(step));
                match at.filter(|&at| at <= self.list[slot].size) {
                    Some(at) => self.derived[view.body.result(inst)] = (slot as u32, at),
                    None => self.list[slot].fit = false,
                }
            }
            Op::Cast(CastOp::AddrSpaceCast | CastOp::Bitcast, _, from) => {
                if let Some((slot, offset)) = self.address(*from) {
                    self.derived[view.body.result(inst)] = (slot as u32, offset);
                }
            }
            Op::Load { ptr, volatile, ordering, .. } => {
                let plain = !*volatile && *ordering == Ordering::NotAtomic;
                self.typed(inst, *ptr, view.body[inst].ty, size(view.body[inst].ty), plain);
            }
            Op::Store { value, ptr, volatile, ordering, .. } => {
                self.refuse(*value);
                let plain = !*volatile && *ordering == Ordering::NotAtomic;
                self.typed(inst, *ptr, view.ty(*value), size(view.ty(*value)), plain);
            }
            Op::Call(call) if frame::is_lifetime(view, call) => {}
            Op::Call(call) => match called(view, call) {
                Some(
                    kind @ (Intrinsic::MemCpy
                    | Intrinsic::MemMove
                    | Intrinsic::MemCpyInline
                    | Intrinsic::MemSet
                    | Intrinsic::MemSetInline),
                ) => {
                    let length = call.args.get(2).and_then(|&length| view.int(length)).filter(|&length| length > 0);
                    let volatile = call.args.get(3).and_then(|&flag| view.int(flag)) != Some(0);
                    let (Some(length), false) = (length.and_then(|n| u64::try_from(n).ok()), volatile) else {
                        call.args.iter().for_each(|&arg| self.refuse(arg));
                        return;
                    };
                    if matches!(kind, Intrinsic::MemSet | Intrinsic::MemSetInline) {
                        let zero = view.int(call.args[1]) == Some(0);
                        self.range(inst, call.args[0], length, AccessKind::Set { zero });
                    } else {
                        self.range(inst, call.args[0], length, AccessKind::CopyIn);
                        self.range(inst, call.args[1], length, AccessKind::CopyOut);
                    }
                }
                _ => call.args.iter().for_each(|&arg| self.refuse(arg)),
            },
            op => op.for_each_value(|value| self.refuse(value)),
        }
    }

    fn typed(&mut self, inst: InstId, ptr: Value, ty: TypeId, size: u64, plain: bool) {
        if plain && size > 0 {
            self.range(inst, ptr, size, AccessKind::Typed(ty));
        } else {
            self.refuse(ptr);
        }
    }

    fn range(&mut self, inst: InstId, ptr: Value, size: u64, kind: AccessKind) {
        let Some((slot, offset)) = self.address(ptr) else { return };
        let slot = &mut self.list[slot];
        if offset.checked_add(size).is_some_and(|end| end <= slot.size) {
            slot.accesses.push(Access { inst, offset, size, kind });
        } else {
            slot.fit = false;
        }
    }
}
