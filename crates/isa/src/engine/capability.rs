//! What the forms of an opcode offer on a target, for those who choose between instructions.

use super::table::{FORMS, Form, NO_CODE, Place, forms_of};
use crate::{Arch, Opcode, RegFile, Role, Setting, Value};
use std::ops::RangeInclusive;

impl Opcode {
    /// Some form of the instruction on the target has the field with this value.
    pub fn takes(self, setting: Setting, arch: Arch) -> bool {
        let (field, value) = (setting.field(), setting.code());
        forms_on(self, arch).any(|form| {
            let coded = form.fields.iter().any(|slot| slot.field == field && slot.raw(value) != NO_CODE);
            coded || form.fixed.iter().any(|(fixed, only, _)| (*fixed, *only) == (field, value))
        })
    }

    /// Some form of the instruction on the target has a place for the operand of that role.
    pub fn places(self, role: Role, arch: Arch) -> bool {
        let Some(at) = self.position(role) else { return false };
        forms_on(self, arch).any(|form| form.placed.iter().any(|placed| usize::from(*placed) == at))
    }

    /// The numbers that all forms of the instruction on the target hold as the operand of that role, of those that have a number
    /// there; of a constant bank its offsets. Some forms may hold more. `None` where no form has one.
    pub fn numbers(self, role: Role, arch: Arch) -> Option<RangeInclusive<i64>> {
        let at = self.position(role)?;
        let of_forms = forms_on(self, arch).filter_map(|form| numbers_of(form.slots[at].place));
        of_forms.reduce(|all, one| *all.start().max(one.start())..=*all.end().min(one.end()))
    }

    /// All forms of the instruction on the target that take a general register as operand number `at` take the zero register too.
    pub fn takes_zero_register(self, at: usize, arch: Arch) -> bool {
        let zero = Value::Reg(RegFile::R, 255);
        let slots = forms_on(self, arch).filter_map(|form| form.slots.get(at));
        let mut registers = slots.filter(|slot| matches!(slot.place, Place::Reg(RegFile::R, _)));
        registers.all(|slot| slot.may_be(zero))
    }
}

/// The bits that numbers have in instruction words of any form, each count once: where their ends are is where compilers go wrong.
pub fn number_widths() -> impl Iterator<Item = u32> {
    let bits = |form: &'static Form| form.slots.iter().filter_map(|slot| bits_of(slot.place));
    let all: std::collections::BTreeSet<u32> = FORMS.iter().flat_map(bits).collect();
    all.into_iter()
}

fn bits_of(place: Place) -> Option<u32> {
    match place {
        Place::Imm { ranges, shift, .. } => Some(ranges.len() + u32::from(shift)),
        Place::Const { ranges, shift } => Some(ranges.part(1).len() + u32::from(shift)),
        _ => None,
    }
}

fn numbers_of(place: Place) -> Option<RangeInclusive<i64>> {
    let signed = matches!(place, Place::Imm { signed: true, .. });
    let end = 1i64.checked_shl(bits_of(place)?).filter(|end| *end > 0).unwrap_or(i64::MAX);
    Some(if signed { -(end / 2)..=end / 2 - 1 } else { 0..=end - 1 })
}

fn forms_on(opcode: Opcode, arch: Arch) -> impl Iterator<Item = &'static Form> {
    forms_of(opcode).iter().filter(move |form| arch.is_in(form.targets))
}
