//! Instructions of the uniform datapath that have no vector twin with the same operands.

use super::host;
use crate::effect::{Compute, Unsupported};
use crate::operand::{Dst, Src};
use crate::state::{PT, State};
use oriole_isa::{Field, Inst, Opcode, Role, fh_fmt, half_b, udenormal, uhalf_fmt, uvadd_type, vadd_type};
use std::borrow::Cow;

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, _: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::UP2UR => to_register(inst),
        Opcode::UR2UP => from_register(inst),
        _ => return Ok(None),
    }))
}

/// A modifier that the uniform datapath writes in another field than the vector instruction: the opcodes,
/// the field and its value, and the field and value of the vector twin.
type Translation = (&'static [Opcode], (Field, u8), (Field, u8));

const TRANSLATIONS: [Translation; 12] = [
    (&[Opcode::UFFMA, Opcode::UFMUL], (Field::Udenormal, udenormal::FMZ), (Field::Fmz, 1)),
    (&[Opcode::UFFMA, Opcode::UFMUL], (Field::Udenormal, udenormal::FTZ), (Field::Ftz, 1)),
    (&[Opcode::UFHADD, Opcode::UFHFMA], (Field::UhalfFmt, uhalf_fmt::BF16), (Field::FhFmt, fh_fmt::BF16)),
    (&[Opcode::UFHADD, Opcode::UFHFMA], (Field::UhalfA, half_b::H1), (Field::HalfA, half_b::H1)),
    (&[Opcode::UFHFMA], (Field::UhalfB, half_b::H1), (Field::HalfB, half_b::H1)),
    (&[Opcode::UVIADD], (Field::UvaddType, uvadd_type::X16X2), (Field::VaddType, vadd_type::X16X2)),
    (&[Opcode::UVIADD], (Field::UvaddType, uvadd_type::S32), (Field::VaddType, vadd_type::SIGNED32)),
    (&[Opcode::UVIADD], (Field::UvaddType, uvadd_type::S16X2), (Field::VaddType, vadd_type::S16X2)),
    (&[Opcode::UVIADD], (Field::UvaddType, uvadd_type::U8X4), (Field::VaddType, vadd_type::U8X4)),
    (&[Opcode::UVIADD], (Field::UvaddType, uvadd_type::S8X4), (Field::VaddType, vadd_type::S8X4)),
    (&[Opcode::UVIADD], (Field::UvaddSat, 1), (Field::Isat, 1)),
    (&[Opcode::UFMNMX], (Field::UfmnmxIsA, 1), (Field::IsA, 1)),
];

/// An instruction of the uniform datapath with the modifiers that its vector twin would have.
pub(super) fn in_vector_terms(inst: &Inst) -> Cow<'_, Inst> {
    let mut inst = Cow::Borrowed(inst);
    for (opcodes, (field, value), (twin, means)) in TRANSLATIONS {
        if opcodes.contains(&inst.opcode) && inst.get(field) == value {
            inst.to_mut().mods.set(twin, means);
        }
    }
    if inst.opcode == Opcode::UVIMNMX {
        // The two fields number the same types alike.
        let elements = inst.get(Field::UvmnmxType);
        inst.to_mut().mods.set(Field::Vtype, elements);
    }
    inst
}

/// `UP2UR`, as `P2R`.
fn to_register(inst: &Inst) -> Compute {
    let (d, a, b) = (Dst::of(inst, Role::D), Src::of(inst, Role::A), Src::of(inst, Role::B));
    let at = 8 * u32::from(inst.get(Field::P2rByte));
    host::compute(move |state: &mut State| {
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
    host::compute(move |state: &mut State| {
        let (bits, names) = (a.scalar(state) >> at, b.scalar(state));
        for n in (0..PT).filter(|n| names >> n & 1 != 0) {
            state.set_up(n, bits >> n & 1 != 0);
        }
    })
}
