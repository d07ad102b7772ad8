//! `suld`: loads from surfaces.

use crate::chapters::memory::access::{Shape, landing};
use crate::chapters::surface::access;
use crate::error::Lowered;
use crate::function::{FnLower, operands};
use crate::handler::unknown;
use oriole_isa::Role::D;
use oriole_isa::{Field, Opcode as Sass};
use oriole_ptx::ast::Instruction;

/// `suld.b.geom{.cop}{.vec}.type.clamp d, [a, b];`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let surface = operands::operand(instruction, 1)?.address().ok_or_else(|| unknown(cx, instruction))?;
    let mut inst = access::inst(cx, instruction, Sass::SULD, surface)?;
    inst.mods.set(Field::SURF_SIZE, access::size(shape.bytes()));
    let mut landing = landing(cx, &shape, operands::operand(instruction, 0)?)?;
    inst.set_role(D, landing.register());
    access::emit(cx, inst, surface)?;
    landing.distribute(cx, &shape)
}
