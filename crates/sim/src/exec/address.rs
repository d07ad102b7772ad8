//! Addresses of memory operands: base register, uniform base, offset.

use crate::effect::Unsupported;
use crate::lanes::{WideLanes, map};
use crate::operand::{Buffer, Src, operand};
use crate::state::State;
use oriole_isa::{BaseScale, BaseSize, Field, Inst, Role, Value};

/// How wide the addresses of an instruction are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressWidth {
    /// 32 bits: shared and local memory.
    Narrow,
    /// 64 bits: global memory and generic addresses.
    Wide,
}

/// The address operands of one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    base: Src,
    base_is_pair: bool,
    shift: u32,
    uniform: Src,
    offset: u64,
    width: AddressWidth,
}

impl Address {
    /// The operands `Base`, `UBase` and `Offset` of `inst`.
    pub(super) fn of(inst: &Inst, width: AddressWidth) -> Result<Address, Unsupported> {
        Address::of_roles(inst, width, [Role::Base, Role::UBase, Role::Offset])
    }

    /// The operands with these roles: base, uniform base, offset.
    pub(super) fn of_roles(inst: &Inst, width: AddressWidth, roles: [Role; 3]) -> Result<Address, Unsupported> {
        let [base, uniform, offset] = roles;
        let offset = match operand(inst, offset).value {
            // Offsets of 32 bits are signed in addresses of 64 bits too.
            Value::Imm(bits) => i64::from(bits as u32 as i32) as u64,
            Value::None => 0,
            other => return Err(Unsupported(format!("an address offset of {other:?}"))),
        };
        let shift = match inst.get(Field::BASE_SCALE) {
            BaseScale::X1 => 0,
            BaseScale::X4 => 2,
            BaseScale::X8 => 3,
            _ => 4,
        };
        Ok(Address {
            base: Src::of(inst, base),
            base_is_pair: width == AddressWidth::Wide && inst.get(Field::BASE_SIZE) == BaseSize::X64,
            shift,
            uniform: Src::of(inst, uniform),
            offset,
            width,
        })
    }

    /// The address of each lane.
    #[inline]
    pub(super) fn lanes(&self, state: &State) -> WideLanes {
        if self.base_is_pair {
            let rest = self.uniform.wide_scalar(state).wrapping_add(self.offset);
            return map(&self.base.wide_bits(state), |base| base.wrapping_add(rest));
        }
        let mut buffer = Buffer::uninit();
        let base = self.base.lanes(state, &mut buffer);
        match self.width {
            AddressWidth::Wide => {
                let rest = self.uniform.wide_scalar(state).wrapping_add(self.offset);
                map(base, |base| (u64::from(base) << self.shift).wrapping_add(rest))
            }
            // The sum wraps at 32 bits, so the upper halves do not matter.
            AddressWidth::Narrow => {
                let rest = self.uniform.scalar(state).wrapping_add(self.offset as u32);
                map(base, |base| u64::from((base << self.shift).wrapping_add(rest)))
            }
        }
    }
}
