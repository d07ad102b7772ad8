//! Instructions of the uniform datapath that have no vector twin with the same operands.

use super::host;
use crate::effect::{Compute, Unsupported};
use crate::operand::{Dst, Src};
use crate::state::{PT, State};
use oriole_isa::{FhFmt, Field, HalfB, Inst, Opcode, Role, Setting, Udenormal, UhalfFmt, UvaddType, VaddType, Vtype};
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
/// the setting, and that of the vector twin.
type Translation = (&'static [Opcode], Setting, Setting);

const TRANSLATIONS: [Translation; 12] = [
    (&[Opcode::UFFMA, Opcode::UFMUL], Field::UDENORMAL.is(Udenormal::FMZ), Field::FMZ.is(true)),
    (&[Opcode::UFFMA, Opcode::UFMUL], Field::UDENORMAL.is(Udenormal::FTZ), Field::FTZ.is(true)),
    (&[Opcode::UFHADD, Opcode::UFHFMA], Field::UHALF_FMT.is(UhalfFmt::BF16), Field::FH_FMT.is(FhFmt::BF16)),
    (&[Opcode::UFHADD, Opcode::UFHFMA], Field::UHALF_A.is(HalfB::H1), Field::HALF_A.is(HalfB::H1)),
    (&[Opcode::UFHFMA], Field::UHALF_B.is(HalfB::H1), Field::HALF_B.is(HalfB::H1)),
    (&[Opcode::UVIADD], Field::UVADD_TYPE.is(UvaddType::X16X2), Field::VADD_TYPE.is(VaddType::X16X2)),
    (&[Opcode::UVIADD], Field::UVADD_TYPE.is(UvaddType::S32), Field::VADD_TYPE.is(VaddType::SIGNED32)),
    (&[Opcode::UVIADD], Field::UVADD_TYPE.is(UvaddType::S16X2), Field::VADD_TYPE.is(VaddType::S16X2)),
    (&[Opcode::UVIADD], Field::UVADD_TYPE.is(UvaddType::U8X4), Field::VADD_TYPE.is(VaddType::U8X4)),
    (&[Opcode::UVIADD], Field::UVADD_TYPE.is(UvaddType::S8X4), Field::VADD_TYPE.is(VaddType::S8X4)),
    (&[Opcode::UVIADD], Field::UVADD_SAT.is(true), Field::ISAT.is(true)),
    (&[Opcode::UFMNMX], Field::UFMNMX_IS_A.is(true), Field::IS_A.is(true)),
];

/// An instruction of the uniform datapath with the modifiers that its vector twin would have.
pub(super) fn in_vector_terms(inst: &Inst) -> Cow<'_, Inst> {
    let mut inst = Cow::Borrowed(inst);
    for (opcodes, setting, twin) in TRANSLATIONS {
        if opcodes.contains(&inst.opcode) && inst.has(setting) {
            inst.to_mut().mods.apply(twin);
        }
    }
    if inst.opcode == Opcode::UVIMNMX {
        // The two fields number the same types alike.
        let elements = Vtype::from_code(inst.get(Field::UVMNMX_TYPE).code());
        inst.to_mut().mods.set(Field::VTYPE, elements);
    }
    inst
}

/// `UP2UR`, as `P2R`.
fn to_register(inst: &Inst) -> Compute {
    let (d, a, b) = (Dst::of(inst, Role::D), Src::of(inst, Role::A), Src::of(inst, Role::B));
    let at = 8 * u32::from(inst.get(Field::P2R_BYTE).code());
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
    let at = 8 * u32::from(inst.get(Field::P2R_BYTE).code());
    host::compute(move |state: &mut State| {
        let (bits, names) = (a.scalar(state) >> at, b.scalar(state));
        for n in (0..PT).filter(|n| names >> n & 1 != 0) {
            state.set_up(n, bits >> n & 1 != 0);
        }
    })
}
