//! What floating-point instructions meant without saying it.

use crate::ast::{Instruction, Modifier, Opcode, Rounding, ScalarType, Word};
use crate::grammar::{Selection, Target};

/// From here on an approximation is called so.
const NAMES_APPROXIMATIONS: (u32, u32) = (1, 4);
/// From here on conversions from and to 64 bits flush too.
const FLUSHES_WIDE_CONVERSIONS: (u32, u32) = (1, 5);

/// Adds what an instruction of a module of this version leaves out; `flushes` where its target has no subnormals.
pub(super) fn restate(instruction: &mut Instruction, version: (u32, u32), flushes: bool) {
    if let Some(ty @ (ScalarType::F32 | ScalarType::F64)) = instruction.last_type() {
        say_how(instruction, ty, version);
    }
    if flushes && !keeps_subnormals(instruction, version) {
        flush(instruction);
    }
}

/// Adds how it is computed.
fn say_how(instruction: &mut Instruction, ty: ScalarType, version: (u32, u32)) {
    let says_how = instruction.rounding().is_some() || instruction.has(Word::Approx) || instruction.has(Word::Full);
    if !says_how && let Some(meant) = meant(instruction.opcode, ty, version) {
        instruction.modifiers.push(meant);
    }
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

/// Conversions that compute with subnormals on all targets.
fn keeps_subnormals(instruction: &Instruction, version: (u32, u32)) -> bool {
    let is_wide = instruction.types().any(|ty| ty.bits() == 64);
    instruction.opcode == Opcode::Cvt && is_wide && version < FLUSHES_WIDE_CONVERSIONS
}

/// `.ftz` wherever it can stand.
fn flush(instruction: &mut Instruction) {
    if !instruction.types().any(|ty| ty == ScalarType::F32) || instruction.has(Word::Ftz) {
        return;
    }
    instruction.modifiers.push(Modifier::Word(Word::Ftz));
    let target = Target::from_name("sm_20");
    if !matches!(Selection::of(instruction, super::VERSION, target), Selection::Fits(_)) {
        instruction.modifiers.pop();
    }
}
