//! Arithmetic on four floats of 8 bits and less: `add`, `sub`, `mul`, `fma` with `.e4m3x4` or `.e5m2x4` as the result.

use crate::chapters::integer::operands;
use crate::error::Lowered;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::{Field, Opcode, Quarter, Quarters};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, Opcode as Ptx, ScalarType, Word};

/// The result is one of the two formats that these instructions compute to.
pub(crate) fn is_quarter(inst: &Instruction) -> bool {
    matches!(inst.ty(0), Some(ScalarType::E4m3x4 | ScalarType::E5m2x4))
}

/// The format of a type, and where its elements stand in a register.
fn layout(ty: ScalarType) -> Option<(Quarter, Quarters)> {
    Some(match ty {
        ScalarType::E4m3x4 => (Quarter::E4M3, Quarters::B3210),
        ScalarType::E5m2x4 => (Quarter::E5M2, Quarters::B3210),
        ScalarType::E2m3x4 => (Quarter::E2M3, Quarters::B3210),
        ScalarType::E3m2x4 => (Quarter::E3M2, Quarters::B3210),
        ScalarType::Ue8m0x4 => (Quarter::E8, Quarters::B3210),
        ScalarType::E2m1x4 => (Quarter::E2M1, Quarters::N3210),
        ScalarType::E2m1p4x4 => (Quarter::E2M1, Quarters::N6420),
        _ => return None,
    })
}

/// `add`, `sub`, `mul`, `fma`.
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let layouts: Option<Vec<_>> = inst.types().map(layout).collect();
    let Some(layouts) = layouts.filter(|_| cx.has(Opcode::QFMA4)) else { return Err(unknown(cx, inst)) };
    let mut fields = vec![Field::SATFINITE.is(inst.has(Word::Satfinite))];
    let formats = [Field::QUARTER_D, Field::QUARTER_A, Field::QUARTER_B];
    let places = [Field::QUARTERS_A, Field::QUARTERS_B];
    fields.extend(formats.iter().zip(&layouts).map(|(field, (format, _))| field.is(*format)));
    fields.extend(places.iter().zip(&layouts[1..]).map(|(field, (_, place))| field.is(*place)));
    match inst.opcode {
        Ptx::Fma => {
            let [d, a, b, c] = operands(inst)?;
            let sources = [word(cx, a)?, word(cx, b)?, word(cx, c)?];
            let d = destinations::dst(cx, d)?;
            word_ops::op3(cx, Opcode::QFMA4, &fields, d, sources)
        }
        opcode => {
            let [d, a, b] = operands(inst)?;
            let (a, b) = (word(cx, a)?, word(cx, b)?);
            let b = if opcode == Ptx::Sub { b.neg() } else { b };
            let d = destinations::dst(cx, d)?;
            let opcode = if opcode == Ptx::Mul { Opcode::QMUL4 } else { Opcode::QADD4 };
            word_ops::op2(cx, opcode, &fields, d, a, b)
        }
    }
}

/// Four elements in a register.
fn word(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let word = sources::src(cx, operand)?;
    ops::in_reg(cx, word)
}
