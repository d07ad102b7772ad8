//! `sured`: reductions in surfaces.

use crate::chapters::memory::access::{Shape, gather};
use crate::chapters::surface::access;
use crate::error::Lowered;
use crate::function::{FnLower, operands};
use crate::handler::unknown;
use oriole_isa::Role::Data;
use oriole_isa::{Field, Opcode as Sass, SurfOp, SurfType};
use oriole_ptx::ast::{Instruction, ScalarType, Word};

/// The operations.
const OPERATIONS: [(Word, SurfOp); 5] = [
    (Word::Add, SurfOp::ADD),
    (Word::Min, SurfOp::MIN),
    (Word::Max, SurfOp::MAX),
    (Word::And, SurfOp::AND),
    (Word::Or, SurfOp::OR),
];

/// `sured.b.op.geom.type.clamp [a, b], c;` on a number of that type; `sured.p` on a texel, whose format says
/// whether it is signed.
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let surface = operands::operand(instruction, 0)?.address().ok_or_else(|| unknown(cx, instruction))?;
    let operation = OPERATIONS.iter().find(|(word, _)| instruction.has(*word));
    let &(_, op) = operation.ok_or_else(|| unknown(cx, instruction))?;
    let compares = matches!(op, SurfOp::MIN | SurfOp::MAX);
    let element = match shape.ty {
        ScalarType::U32 => SurfType::U32,
        ScalarType::S32 => SurfType::S32,
        ScalarType::U64 => SurfType::U64,
        ScalarType::S64 => SurfType::S64,
        ScalarType::B32 if compares => SurfType::SD32,
        ScalarType::B32 => SurfType::U32,
        ScalarType::B64 => SurfType::SD64,
        _ => return Err(unknown(cx, instruction)),
    };
    let mut inst = access::inst(cx, instruction, Sass::SURED, surface)?;
    inst.mods.set(Field::SURF_OP, op);
    inst.mods.set(Field::SURF_TYPE, element);
    let data = gather(cx, &shape, operands::operand(instruction, 1)?)?;
    inst.set_role(Data, data);
    access::emit(cx, inst, surface)
}
