//! What the forms of an opcode offer on a target, for those who choose between instructions.

use super::table::{Form, NO_CODE, forms_of};
use crate::{Arch, Opcode, Role, Setting};

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
}

fn forms_on(opcode: Opcode, arch: Arch) -> impl Iterator<Item = &'static Form> {
    forms_of(opcode).iter().filter(move |form| arch.is_in(form.targets))
}
