//! Loads and stores of all spaces: `ld`, `ldu`, `st`.

pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod fences;
pub(crate) mod manner;
pub(crate) mod parameter;
pub(crate) mod quads;
pub(crate) mod transfer;

use crate::chapters::memory::access::Shape;
use crate::chapters::memory::address::{Addr, Target};
use crate::chapters::memory::fences::{acquire_fence, release_fence};
use crate::chapters::memory::manner::Manner;
use crate::chapters::memory::transfer::{load_inst, store_inst};
use crate::error::Lowered;
use crate::function::{FnLower, operands, ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{Bank, Base, D};
use oriole_isa::{Field, MemSize, Opcode as Sass};
use oriole_ori::{Operand, VReg};
use oriole_ptx::ast::{Instruction, Opcode, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Ld, load), (Opcode::Ldu, load), (Opcode::St, store)];

/// `ld`, `ldu`
fn load(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if let Some(half) = quads::half_of(cx, instruction) {
        return quads::load(cx, instruction, half);
    }
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let results = operands::operand(instruction, 0)?;
    let Some(source) = operands::operand(instruction, 1)?.address() else { return Err(unknown(cx, instruction)) };
    if let Some(words) = parameter::words_at(cx, instruction, source)? {
        return parameter::load(cx, &shape, results, &words, source);
    }
    let addr = address::resolve(cx, instruction.space(), source)?;
    let manner = Manner::of(cx, instruction);
    let mut landing = access::landing(cx, &shape, results)?;
    match (addr.target, landing.register().as_reg()) {
        (Target::Constant(bank), Some(to)) if shape.mem_size() == MemSize::B128 => constant_quad(cx, to, bank, &addr)?,
        _ => {
            let inst = load_inst(cx, &shape, &addr, landing.register(), &manner);
            cx.emit_inst(inst)?;
        }
    }
    landing.distribute(cx, &shape)?;
    if let (Some(scope), true) = (manner.fence, addr.target.is_coherent()) {
        acquire_fence(cx, scope)?;
    }
    Ok(())
}

/// 128 bits of a constant bank, which is read by 64 bits at most.
fn constant_quad(cx: &mut FnLower<'_, '_>, to: VReg, bank: u8, addr: &Addr) -> Lowered {
    for half in 0..2 {
        let pair = cx.temp64()?;
        let at = Operand::cbank(bank, (addr.offset as u32).wrapping_add(8 * u32::from(half)));
        let mods = [Field::MEM_SIZE.is(MemSize::B64)];
        cx.emit(Sass::LDC, &mods, &[(D, Operand::reg(pair)), (Base, addr.base), (Bank, at)])?;
        ops::mov(cx, Operand::comp(to, 2 * half), Operand::lo(pair))?;
        ops::mov(cx, Operand::comp(to, 2 * half + 1), Operand::hi(pair))?;
    }
    Ok(())
}

/// `st`
pub(crate) fn store(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::MbarrierCompleteTxBytes) {
        return crate::chapters::asynchronous::remote::store(cx, instruction);
    }
    if instruction.has(Word::Bulk) {
        return crate::chapters::asynchronous::bulk::clear(cx, instruction);
    }
    if let Some(half) = quads::half_of(cx, instruction) {
        return quads::store(cx, instruction, half);
    }
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let Some(target) = operands::operand(instruction, 0)?.address() else { return Err(unknown(cx, instruction)) };
    let values = operands::operand(instruction, 1)?;
    if let Some(words) = parameter::words_at(cx, instruction, target)? {
        return parameter::store(cx, &shape, values, &words, target);
    }
    let addr = address::resolve(cx, instruction.space(), target)?;
    if let Target::Constant(_) = addr.target {
        // `st.param` to a computed address in a kernel: no instruction writes a constant bank. ptxas 13.0 makes a load to
        // RZ of it up to sm_89, and crashes from sm_90 on.
        return Ok(());
    }
    let manner = Manner::of(cx, instruction);
    let data = access::gather(cx, &shape, values)?;
    if let Some(scope) = manner.fence {
        release_fence(cx, scope)?;
    }
    let inst = store_inst(cx, &shape, &addr, data, &manner)?;
    cx.emit_inst(inst)?;
    Ok(())
}
