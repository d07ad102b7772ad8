//! Accesses of 256 bits (`.v8.b32`, `.v4.b64`): one instruction with two quads of registers.

use crate::chapters::memory::access::Shape;
use crate::chapters::memory::address::Target;
use crate::chapters::memory::fences::{acquire_fence, release_fence};
use crate::chapters::memory::manner::Manner;
use crate::chapters::memory::{access, address};
use crate::error::Lowered;
use crate::function::{FnLower, descriptor, operands};
use crate::handler::unknown;
use oriole_isa::Opcode as Sass;
use oriole_isa::Role::{Base, D, D2, Data, Data2, Offset};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Instruction};

/// Bytes of an access, and what offsets are multiples of.
const BYTES: u32 = 32;

/// What one quad holds, if the instruction moves 256 bits and the target can.
pub(crate) fn half_of(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Option<Shape> {
    let shape = Shape { ty: instruction.last_type()?, count: instruction.vector()?.len() as u32 };
    let fits = shape.bytes() == BYTES && shape.ty.bytes() >= 4 && cx.has(Sass::LDG_256);
    fits.then_some(Shape { count: shape.count / 2, ..shape })
}

/// `ld.v8.b32 {…}, [a];`
pub(crate) fn load(cx: &mut FnLower<'_, '_>, instruction: &Instruction, half: Shape) -> Lowered {
    let [low, high] = halves(cx, instruction, operands::operand(instruction, 0)?, half)?;
    let mut inst = access(cx, instruction, Sass::LDG_256, operands::operand(instruction, 1)?)?;
    let (mut first, mut second) = (access::landing(cx, &half, &low)?, access::landing(cx, &half, &high)?);
    // The quad that is named first takes the upper half.
    inst.set_role(D, second.register());
    inst.set_role(D2, first.register());
    cx.emit_inst(inst)?;
    first.distribute(cx, &half)?;
    second.distribute(cx, &half)?;
    match Manner::of(cx, instruction).fence {
        Some(scope) => acquire_fence(cx, scope),
        None => Ok(()),
    }
}

/// `st.v8.b32 [a], {…};`
pub(crate) fn store(cx: &mut FnLower<'_, '_>, instruction: &Instruction, half: Shape) -> Lowered {
    let [low, high] = halves(cx, instruction, operands::operand(instruction, 1)?, half)?;
    let mut inst = access(cx, instruction, Sass::STG_256, operands::operand(instruction, 0)?)?;
    let (first, second) = (access::gather(cx, &half, &low)?, access::gather(cx, &half, &high)?);
    inst.set_role(Data, first);
    inst.set_role(Data2, second);
    if let Some(scope) = Manner::of(cx, instruction).fence {
        release_fence(cx, scope)?;
    }
    cx.emit_inst(inst)?;
    Ok(())
}

/// The elements of either quad.
fn halves(
    cx: &FnLower<'_, '_>,
    instruction: &Instruction,
    whole: &ast::Operand,
    half: Shape,
) -> Lowered<[ast::Operand; 2]> {
    let elements = whole.elements();
    if elements.len() != 2 * half.count as usize {
        return Err(unknown(cx, instruction));
    }
    let (low, high) = elements.split_at(half.count as usize);
    Ok([low, high].map(|elements| ast::Operand::Vector(elements.into(), whole.span())))
}

/// The access without its data. A generic address is one of global memory here: no other is 256 bits wide.
fn access(cx: &mut FnLower<'_, '_>, instruction: &Instruction, opcode: Sass, at: &ast::Operand) -> Lowered<Inst> {
    let place = at.address().ok_or_else(|| unknown(cx, instruction))?;
    let addr = address::resolve(cx, instruction.space(), place)?;
    let manner = Manner::of(cx, instruction);
    if !matches!(addr.target, Target::Global | Target::Generic) {
        return Err(unknown(cx, instruction));
    }
    let addr = addr.with_offset(cx, |offset| offset % BYTES as i32 == 0)?;
    let mut inst = Inst::neutral(opcode, Default::default());
    inst.set_role(Base, addr.base);
    inst.set_role(Offset, Operand::imm_signed(addr.offset));
    descriptor::describe(cx, &mut inst);
    manner.apply(&mut inst);
    Ok(inst)
}
