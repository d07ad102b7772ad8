//! Atomic operations as loops: read, compute, compare and swap, again where another thread came between.

use crate::chapters::atomics::combine;
use crate::chapters::atomics::operation::{Atomic, atomic_inst, codes, is_native, result_register, value_of};
use crate::chapters::memory::address::Target;
use crate::chapters::memory::{address, manner};
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::operands::word;
use crate::function::ops::lut;
use crate::function::{FnLower, descriptor, ops};
use crate::handler::unknown;
use oriole_isa::Role::{Base, D, Data, Data2, Offset, PD};
use oriole_isa::{AtomOp, AtomType, Cmp, Field, MemSize, Opcode as Sass};
use oriole_ori::{Block, Inst, InstFlags, InstId, Operand, RegType, VReg};
use oriole_ptx::ast::{Instruction, Word};

/// Lowers an operation that no instruction does.
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction, atomic: &Atomic<'_>) -> Lowered {
    match atomic.ty.bits() {
        16 => narrow(cx, instruction, atomic),
        32 | 64 => full(cx, instruction, atomic),
        _ => Err(unknown(cx, instruction)),
    }
}

/// Values as wide as the compare-and-swap.
fn full(cx: &mut FnLower<'_, '_>, instruction: &Instruction, atomic: &Atomic<'_>) -> Lowered {
    let wide = atomic.ty.bits() == 64;
    let kind = if wide { RegType::Pair } else { RegType::R };
    let value = value_of(cx, atomic.ty, &atomic.values[0])?;
    let (old, seen) = (cx.temp_of(kind)?, cx.temp_of(kind)?);
    let done = cx.new_block()?;
    if atomic.addr.target == Target::Generic {
        global_first(cx, instruction, atomic, (seen, value), done)?;
    }
    load(cx, atomic, old, wide)?;
    let again = cx.new_block()?;
    cx.jump(again);
    cx.switch_to(again);
    let new = combine::combine(cx, instruction, atomic.op, atomic.ty, Operand::reg(old), value)?;
    swap(cx, atomic, seen, old, new, wide)?;
    let lost = cx.temp_pred()?;
    if wide {
        ops::isetp64(cx, lost, Cmp::NE, false, Wide::of_pair(seen), Wide::of_pair(old))?;
        ops::mov64(cx, old, Wide::of_pair(seen))?;
    } else {
        ops::isetp(cx, lost, Cmp::NE, false, Operand::reg(seen), Operand::reg(old))?;
        ops::mov(cx, Operand::reg(old), Operand::reg(seen))?;
    }
    cx.branch(lost, again, done)?;
    cx.switch_to(done);
    let Some(result) = atomic.result else { return Ok(()) };
    let to = result_register(cx, atomic.ty, result)?;
    if wide { ops::mov64(cx, to, Wide::of_pair(seen)) } else { ops::mov(cx, Operand::reg(to), Operand::reg(seen)) }
}

/// A generic address is global memory most times: one instruction does it there, says so, and control
/// goes to `done`. Shared memory is left to the code that follows.
fn global_first(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    atomic: &Atomic<'_>,
    (seen, value): (VReg, Operand),
    done: Block,
) -> Lowered {
    if !is_native(cx, atomic.op, atomic.ty, Target::Global) {
        return Ok(());
    }
    let (op, ty) = codes(cx, instruction, atomic)?;
    let mut inst = atomic_inst(cx, atomic, Sass::ATOM, op, ty);
    let finished = cx.temp_pred()?;
    inst.set_role(PD, finished);
    inst.set_role(D, Operand::reg(seen));
    inst.set_role(Data, value);
    cx.emit_inst(inst)?;
    let left = cx.new_block()?;
    cx.branch(finished, done, left)?;
    cx.switch_to(left);
    Ok(())
}

/// 16-bit values: the aligned word around them is swapped.
fn narrow(cx: &mut FnLower<'_, '_>, instruction: &Instruction, atomic: &Atomic<'_>) -> Lowered {
    let values = atomic.values.iter().map(|value| value_of(cx, atomic.ty, value)).collect::<Lowered<Vec<_>>>()?;
    let (atomic, upper) = word_around(cx, atomic)?;
    // PRMT selectors: the half taken out of the word, and the word with the half put in.
    let take = chosen(cx, upper, 0x4432, 0x4410)?;
    let put = chosen(cx, upper, 0x5410, 0x3254)?;
    let old = cx.temp_of(RegType::R)?;
    let read = load(cx, &atomic, old, false)?;
    note_word_around(cx, read);
    let again = cx.new_block()?;
    let done = cx.new_block()?;
    cx.jump(again);
    cx.switch_to(again);
    let half = cx.temp()?;
    select(cx, half, Operand::reg(old), take, Operand::rz())?;
    let mut finished = None;
    let new = match (atomic.op, values.as_slice()) {
        (Word::Cas, [compare, new]) => {
            finished = Some(differs(cx, half, *compare)?);
            *new
        }
        (_, [value, ..]) => combine::combine(cx, instruction, atomic.op, atomic.ty, half, *value)?,
        _ => return Err(unknown(cx, instruction)),
    };
    if let Some(differs) = finished {
        let swap_block = cx.new_block()?;
        cx.branch(differs, done, swap_block)?;
        cx.switch_to(swap_block);
    }
    let whole = cx.temp()?;
    select(cx, whole, Operand::reg(old), put, new)?;
    let seen = cx.temp_of(RegType::R)?;
    let swapped = swap(cx, &atomic, seen, old, whole, false)?;
    note_word_around(cx, swapped);
    let lost = cx.temp_pred()?;
    ops::isetp(cx, lost, Cmp::NE, false, Operand::reg(seen), Operand::reg(old))?;
    ops::mov(cx, Operand::reg(old), Operand::reg(seen))?;
    cx.branch(lost, again, done)?;
    cx.switch_to(done);
    let Some(result) = atomic.result else { return Ok(()) };
    let to = result_register(cx, atomic.ty, result)?;
    ops::mov(cx, Operand::reg(to), half)
}

/// One of two constants.
fn chosen(cx: &mut FnLower<'_, '_>, pred: Operand, yes: u32, no: u32) -> Lowered<Operand> {
    let first = ops::in_reg(cx, Operand::imm(yes))?;
    let to = cx.temp()?;
    ops::sel(cx, to, pred, first, Operand::imm(no))?;
    Ok(to)
}

/// The 16 low bits of two registers differ.
fn differs(cx: &mut FnLower<'_, '_>, half: Operand, compare: Operand) -> Lowered<Operand> {
    let narrow = cx.temp()?;
    ops::prmt(cx, narrow, compare, 0x4410, Operand::rz())?;
    let pred = cx.temp_pred()?;
    ops::isetp(cx, pred, Cmp::NE, false, half, narrow)?;
    Ok(pred)
}

/// PRMT with the selector in a register.
fn select(cx: &mut FnLower<'_, '_>, to: Operand, a: Operand, selector: Operand, c: Operand) -> Lowered {
    use oriole_isa::Role::{A, B, C};
    cx.emit(Sass::PRMT, &[], &[(D, to), (A, a), (B, selector), (C, c)])?;
    Ok(())
}

/// The same operation on the aligned word that holds the value, and whether it is the upper half.
fn word_around<'i>(cx: &mut FnLower<'_, '_>, atomic: &Atomic<'i>) -> Lowered<(Atomic<'i>, Operand)> {
    let addr = atomic.addr;
    let is_wide = addr.target != Target::Shared;
    let low = cx.temp()?;
    let offset = Operand::imm(addr.offset as u32);
    let base = if is_wide {
        let pair = cx.temp64()?;
        let source = match addr.base.as_reg() {
            Some(reg) => Wide::of_pair(reg),
            None => Wide::of_halves(Operand::rz(), Operand::rz()),
        };
        ops::add64(cx, pair, source, Wide::of_bits(i64::from(addr.offset) as u64))?;
        ops::mov(cx, low, Operand::lo(pair))?;
        ops::lop3(cx, Operand::lo(pair), low, Operand::imm(!3), Operand::rz(), lut::AND)?;
        Operand::reg(pair)
    } else {
        ops::add(cx, low, addr.base, if addr.offset == 0 { Operand::rz() } else { offset })?;
        let aligned = cx.temp()?;
        ops::lop3(cx, aligned, low, Operand::imm(!3), Operand::rz(), lut::AND)?;
        aligned
    };
    let bit = cx.temp()?;
    ops::lop3(cx, bit, low, word(2), Operand::rz(), lut::AND)?;
    let upper = cx.temp_pred()?;
    ops::is_nonzero(cx, upper, bit)?;
    let addr = address::Addr { base, offset: 0, ..addr };
    Ok((Atomic { addr, ..*atomic }, upper))
}

/// Reads the value once, before the loop.
fn load(cx: &mut FnLower<'_, '_>, atomic: &Atomic<'_>, to: VReg, wide: bool) -> Lowered<InstId> {
    let opcode = match atomic.addr.target {
        Target::Shared => Sass::LDS,
        Target::Global => Sass::LDG,
        _ => Sass::LD,
    };
    let size = if wide { MemSize::B64 } else { MemSize::B32 };
    let mut inst = Inst::neutral(opcode, [Field::MEM_SIZE.is(size)].into_iter().collect());
    inst.set_role(D, Operand::reg(to));
    inst.set_role(Base, atomic.addr.base);
    inst.set_role(Offset, Operand::imm_signed(atomic.addr.offset));
    if atomic.addr.target != Target::Shared {
        descriptor::describe(cx, &mut inst);
        inst.mods.set(Field::MEM, manner::strength(cx, atomic.scope));
    }
    cx.emit_inst(inst)
}

/// `seen` = memory; memory = `new` where it was `old`.
fn swap(
    cx: &mut FnLower<'_, '_>,
    atomic: &Atomic<'_>,
    seen: VReg,
    old: VReg,
    new: Operand,
    wide: bool,
) -> Lowered<InstId> {
    let opcode = match atomic.addr.target {
        Target::Shared => Sass::ATOMS,
        Target::Global => Sass::ATOMG,
        _ => Sass::ATOM,
    };
    let ty = if wide { AtomType::U64 } else { AtomType::U32 };
    let mut inst = atomic_inst(cx, atomic, opcode, AtomOp::CAS, ty);
    inst.set_role(D, Operand::reg(seen));
    inst.set_role(Data, Operand::reg(old));
    inst.set_role(Data2, new);
    cx.emit_inst(inst)
}

/// The access is to the word around what the program means.
fn note_word_around(cx: &mut FnLower<'_, '_>, inst: InstId) {
    cx.func.edit().update(inst, |inst| inst.flags |= InstFlags::WORD_AROUND);
}
