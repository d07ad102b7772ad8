//! `sured`: reductions in surfaces.

use crate::chapters::memory::access::{Shape, gather};
use crate::chapters::surface::access;
use crate::error::Lowered;
use crate::function::FnLower;
use crate::handler::unknown;
use oriole_isa::Role::Data;
use oriole_isa::{Field, Opcode as Sass, surf_op, surf_type};
use oriole_ptx::ast::{Instruction, ScalarType, Word};

/// The operations.
const OPERATIONS: [(Word, u8); 5] = [
    (Word::Add, surf_op::ADD),
    (Word::Min, surf_op::MIN),
    (Word::Max, surf_op::MAX),
    (Word::And, surf_op::AND),
    (Word::Or, surf_op::OR),
];

/// `sured.b.op.geom.type.clamp [a, b], c;` on a number of that type; `sured.p` on a texel, whose format says
/// whether it is signed.
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let surface = cx.operand(instruction, 0)?.address().ok_or_else(|| unknown(cx, instruction))?;
    let operation = OPERATIONS.iter().find(|(word, _)| instruction.has(*word));
    let &(_, op) = operation.ok_or_else(|| unknown(cx, instruction))?;
    let compares = matches!(op, surf_op::MIN | surf_op::MAX);
    let element = match shape.ty {
        ScalarType::U32 => surf_type::U32,
        ScalarType::S32 => surf_type::S32,
        ScalarType::U64 => surf_type::U64,
        ScalarType::S64 => surf_type::S64,
        ScalarType::B32 if compares => surf_type::SD32,
        ScalarType::B32 => surf_type::U32,
        ScalarType::B64 => surf_type::SD64,
        _ => return Err(unknown(cx, instruction)),
    };
    let mut inst = access::inst(cx, instruction, Sass::SURED, surface)?;
    inst.mods.set(Field::SurfOp, op);
    inst.mods.set(Field::SurfType, element);
    let data = gather(cx, &shape, cx.operand(instruction, 1)?)?;
    inst.set_role(Data, data);
    access::emit(cx, inst, surface)
}
