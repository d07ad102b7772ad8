//! `suq`: properties of surfaces. The hardware knows sizes; the rest is in a table that the driver keeps.

use super::access::{self, Number};
use crate::chapters::turns::by_value;
use crate::chapters::unknown;
use crate::error::Lowered;
use crate::function::FnLower;
use oriole_isa::Role::{A, B, Bank, D, D2, Slot, UHandle};
use oriole_isa::{Field, Opcode as Sass, tex_b, tex_mask};
use oriole_ori::{Inst, Operand, RegType};
use oriole_ptx::ast::{Instruction, Word};

/// Properties in the header of a surface: the component of its dimensions.
const DIMENSIONS: [(Word, u8); 3] =
    [(Word::Width, tex_mask::R), (Word::Height, tex_mask::G), (Word::Depth, tex_mask::B)];

/// `suq.property.b32 d, [a];`
pub(super) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let surface = cx.operand(instruction, 1)?.address().ok_or_else(|| unknown(cx, instruction))?;
    let number = access::number(cx, surface)?;
    let to = cx.dst(cx.operand(instruction, 0)?)?;
    match DIMENSIONS.iter().find(|(word, _)| instruction.has(*word)) {
        Some((_, component)) => dimension(cx, number, *component, to),
        None => Err(unknown(cx, instruction)),
    }
}

/// `to` = a dimension of the surface, by the instruction for textures.
fn dimension(cx: &mut FnLower<'_, '_>, number: Number, component: u8, to: Operand) -> Lowered {
    let mut inst = Inst::neutral(Sass::TXQ, [(Field::TexMask, component)].into_iter().collect());
    inst.set_role(D2, Operand::rz());
    inst.set_role(D, to);
    let level = cx.temp()?;
    cx.mov(level, Operand::rz())?;
    inst.set_role(A, level);
    match number {
        Number::Register(word) if !cx.reads_constants() => by_value(cx, &[word, Operand::rz()], |cx, words, guard| {
            inst.set_guard(guard);
            with_uniform(cx, inst, words)
        }),
        Number::Register(word) => {
            let words = cx.temp64()?;
            cx.mov(Operand::lo(words), word)?;
            cx.mov(Operand::hi(words), level)?;
            inst.mods.set(Field::TexB, tex_b::ON);
            inst.set_role(A, Operand::reg(words));
            cx.emit_inst(inst).map(drop)
        }
        Number::Constant(offset) if !cx.reads_constants() => {
            let words = cx.temp_of(RegType::UrPair)?;
            access::load_uniform(cx, Operand::lo(words), offset)?;
            cx.emit(Sass::UMOV, &[], &[(D, Operand::hi(words)), (B, Operand::imm(0))])?;
            with_uniform(cx, inst, Operand::reg(words))
        }
        Number::Constant(offset) => {
            inst.set_role(Bank, Operand::imm(0));
            inst.set_role(Slot, Operand::imm(offset / 4));
            cx.emit_inst(inst).map(drop)
        }
    }
}

/// Emits the query with the surface's number, and that of no sampler, in uniform registers.
fn with_uniform(cx: &mut FnLower<'_, '_>, mut inst: Inst, words: Operand) -> Lowered {
    inst.set_role(UHandle, words);
    inst.set_role(Slot, Operand::imm(0));
    cx.emit_inst(inst).map(drop)
}
