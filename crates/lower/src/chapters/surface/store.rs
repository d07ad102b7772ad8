//! `sust`: stores to surfaces.

use crate::chapters::memory::access::{Shape, gather};
use crate::chapters::surface::access;
use crate::error::Lowered;
use crate::function::{FnLower, operands};
use crate::handler::unknown;
use oriole_isa::Role::Data;
use oriole_isa::{Field, Opcode as Sass, SurfAccess, SurfMask};
use oriole_ptx::ast::{Instruction, Word};

/// `sust.b.geom{.cop}{.vec}.type.clamp [a, b], c;` stores bytes as they are; `sust.p` gives the components of a
/// texel, which the surface's format turns into bytes.
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let surface = operands::operand(instruction, 0)?.address().ok_or_else(|| unknown(cx, instruction))?;
    let mut inst = access::inst(cx, instruction, Sass::SUST, surface)?;
    if instruction.has(Word::P) {
        let mask = match shape.count {
            1 => SurfMask::R,
            2 => SurfMask::RG,
            _ => SurfMask::RGBA,
        };
        inst.mods.set(Field::SURF_ACCESS, SurfAccess::P);
        inst.mods.set(Field::SURF_MASK, mask);
    } else {
        inst.mods.set(Field::SURF_SIZE, access::size(shape.bytes()));
    }
    let data = gather(cx, &shape, operands::operand(instruction, 1)?)?;
    inst.set_role(Data, data);
    access::emit(cx, inst, surface)
}
