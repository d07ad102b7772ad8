//! What floating-point instructions meant without saying it.

use crate::ast::{Instruction, Modifier, Opcode, Rounding, ScalarType, Word};
use crate::grammar::{Selection, Target};

/// From here on an approximation is called so.
const NAMES_APPROXIMATIONS: (u32, u32) = (1, 4);

/// Adds what an instruction of a module of this version leaves out; `flushes` where its target has no subnormals.
pub(super) fn restate(instruction: &mut Instruction, version: (u32, u32), flushes: bool) {
    let Some(ty @ (ScalarType::F32 | ScalarType::F64)) = instruction.last_type() else {
        return flush(instruction, flushes);
    };
    let says_how = instruction.rounding().is_some() || instruction.has(Word::Approx) || instruction.has(Word::Full);
    if !says_how && let Some(meant) = meant(instruction.opcode, ty, version) {
        instruction.modifiers.push(meant);
    }
    flush(instruction, flushes);
}

/// How an instruction of this type is computed that does not say it.
fn meant(opcode: Opcode, ty: ScalarType, version: (u32, u32)) -> Option<Modifier> {
    use Opcode::{Cos, Div, Ex2, Lg2, Mad, Rcp, Rsqrt, Sin, Sqrt};
    match (opcode, ty) {
        (Mad, _) => Some(Modifier::Rounding(Rounding::Rn)),
        _ if version >= NAMES_APPROXIMATIONS => None,
        (Div | Sqrt, ScalarType::F64) => Some(Modifier::Rounding(Rounding::Rn)),
        (Div | Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2, _) => Some(Modifier::Word(Word::Approx)),
        _ => None,
    }
}

/// `.ftz` wherever it can stand. Conversions between singles and doubles keep subnormals.
fn flush(instruction: &mut Instruction, flushes: bool) {
    let has = |ty| instruction.types().any(|found| found == ty);
    let keeps = instruction.opcode == Opcode::Cvt && has(ScalarType::F64);
    if !flushes || !has(ScalarType::F32) || keeps || instruction.has(Word::Ftz) {
        return;
    }
    instruction.modifiers.push(Modifier::Word(Word::Ftz));
    let target = Target::from_name("sm_20");
    if !matches!(Selection::of(instruction, super::VERSION, target), Selection::Fits(_)) {
        instruction.modifiers.pop();
    }
}
