//! Instructions of the uniform datapath that have no vector twin with the same operands.

use super::{Compute, Unsupported};
use crate::operand::{Dst, Src};
use crate::state::{PT, State};
use oriole_isa::{Field, Inst, Opcode, Role};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, _: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::UP2UR => to_register(inst),
        Opcode::UR2UP => from_register(inst),
        _ => return Ok(None),
    }))
}

/// `UP2UR`, as `P2R`.
fn to_register(inst: &Inst) -> Compute {
    let (d, a, b) = (Dst::of(inst, Role::D), Src::of(inst, Role::A), Src::of(inst, Role::B));
    let at = 8 * u32::from(inst.get(Field::P2rByte));
    Box::new(move |state: &mut State| {
        let packed = (0..PT).fold(0, |bits, n| bits | u32::from(state.up(n)) << n);
        let names = b.scalar(state) & 0x7f;
        let value = a.scalar(state) & !(names << at) | (packed & names) << at;
        d.set_scalar(state, value);
    })
}

/// `UR2UP`, as `R2P`.
fn from_register(inst: &Inst) -> Compute {
    let (a, b) = (Src::of(inst, Role::A), Src::of(inst, Role::B));
    let at = 8 * u32::from(inst.get(Field::P2rByte));
    Box::new(move |state: &mut State| {
        let (bits, names) = (a.scalar(state) >> at, b.scalar(state));
        for n in (0..PT).filter(|n| names >> n & 1 != 0) {
            state.set_up(n, bits >> n & 1 != 0);
        }
    })
}
