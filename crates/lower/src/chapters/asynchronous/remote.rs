//! `st.async`, `red.async`: accesses to shared memory of a block of the cluster that an mbarrier counts. Those to
//! global memory, which nothing counts, are done at once: they are releasing accesses.

use crate::chapters::asynchronous::{address_of, needs_clusters, shared_word};
use crate::chapters::atomics::operation;
use crate::chapters::memory::access;
use crate::chapters::memory::access::Shape;
use crate::error::Lowered;
use crate::function::{FnLower, operands, ops};
use crate::handler::unknown;
use oriole_isa::Role::{Base, Data};
use oriole_isa::{Field, Opcode as Sass};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{Instruction, Space};

/// Address and mbarrier in the two words of a pair.
fn target(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Operand> {
    // Generic addresses have the address in the cluster in their lower word.
    let space = instruction.space().map(|_| Space::Shared);
    let address = shared_word(cx, space, address_of(cx, instruction, 0)?)?;
    let mbarrier = shared_word(cx, space, address_of(cx, instruction, 2)?)?;
    let pair = cx.temp64()?;
    ops::mov(cx, Operand::lo(pair), address)?;
    ops::mov(cx, Operand::hi(pair), mbarrier)?;
    Ok(Operand::reg(pair))
}

/// `st.async…mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar];`
pub(crate) fn store(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let base = target(cx, instruction)?;
    let data = access::gather(cx, &shape, operands::operand(instruction, 1)?)?;
    let mut inst = Inst::neutral(Sass::STAS, Default::default());
    inst.mods.set(Field::MEM_SIZE, shape.mem_size());
    inst.set_role(Base, base);
    inst.set_role(Data, data);
    cx.emit_inst(inst)?;
    Ok(())
}

/// `red.async…mbarrier::complete_tx::bytes.op.type [a], b, [mbar];`
pub(crate) fn reduce(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    let ty = instruction.last_type().ok_or_else(|| unknown(cx, instruction))?;
    let codes = operation::operation(instruction).and_then(|(word, op)| Some((op, operation::type_code(word, ty)?)));
    let (op, code) = codes.ok_or_else(|| unknown(cx, instruction))?;
    let base = target(cx, instruction)?;
    let data = operation::value_of(cx, ty, operands::operand(instruction, 1)?)?;
    let mods = [Field::ATOM_OP.is(op), Field::ATOM_TYPE.is(code)];
    let mut inst = Inst::neutral(Sass::REDAS, mods.into_iter().collect());
    inst.set_role(Base, base);
    inst.set_role(Data, data);
    cx.emit_inst(inst)?;
    Ok(())
}
