//! mbarriers before sm_90: two words of shared memory.
//!
//! | word | bits 0–29 | bit 30 | bit 31 |
//! |---|---|---|---|
//! | 0 | 2^30 − arrivals that each phase expects | | |
//! | 1 | 2^31 − arrivals still pending, counting up | | the phase |
//!
//! `ATOMS.ARRIVE.64` counts word 1 up and, when it is through, starts the next phase from word 0. Source: code
//! of ptxas 13.0.88.

use crate::chapters::asynchronous::mbarrier::{
    Addr, constant, notes, parity, place, release, set_place, state_register,
};
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::{FnLower, destinations, operands, ops, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, Base, C, D, Data, Lut, Offset, PD};
use oriole_isa::{AtomOp, AtomType, Field, MemSize, Opcode as Sass};
use oriole_ori::{Inst, InstFlags, InstId, Operand};
use oriole_ptx::ast::{Instruction, Word};

/// Word 0 of a barrier without arrivals.
const EXPECTED: u32 = 1 << 30;
/// Word 1 of a barrier without arrivals; the phase bit.
const PENDING: u32 = 1 << 31;
/// `(A ^ C) & B`
const DIFFERS: u8 = 0x48;

/// `mbarrier.init [m], count;`
pub(crate) fn init(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let place = place(cx, instruction, 0)?;
    let count = sources::src(cx, operands::operand(instruction, 1)?)?;
    let value = match crate::function::uniform::constant(count) {
        Some(bits) => {
            Wide::of_halves(Operand::imm(EXPECTED.wrapping_sub(bits)), Operand::imm(PENDING.wrapping_sub(bits)))
        }
        None => {
            let pair = Wide::of_pair(cx.temp64()?);
            ops::add(cx, pair.lo, count.neg(), Operand::imm(EXPECTED))?;
            ops::add(cx, pair.hi, count.neg(), Operand::imm(PENDING))?;
            pair
        }
    };
    let data = ops::in_pair(cx, value)?;
    let mods = [Field::MEM_SIZE.is(MemSize::B64)];
    let operands = [(Base, place.base), (Offset, Operand::imm_signed(place.offset)), (Data, data)];
    let store = cx.emit(Sass::STS, &mods, &operands)?;
    cx.func.edit().update(store, |inst| inst.flags |= notes(instruction));
    Ok(())
}

/// `mbarrier.inval [m];`: the words are free again.
pub(crate) fn invalidate(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    place(cx, instruction, 0).map(|_| ())
}

/// `mbarrier.arrive{_drop}{.noComplete} state, [m]{, count};`
pub(crate) fn arrive(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let place = place(cx, instruction, 1)?;
    let drops = instruction.has(Word::ArriveDrop);
    if instruction.has(Word::NoComplete) {
        return arrive_early(cx, instruction, place, drops);
    }
    let other_count = instruction.operands.len() > 2 && constant(instruction, 2) != Some(1);
    if other_count || instruction.has(Word::ExpectTx) {
        return Err(unknown(cx, instruction));
    }
    release(cx, instruction)?;
    if drops {
        add(cx, place, Operand::rz(), Operand::imm(1))?;
    }
    let state = state_register(cx, operands::operand(instruction, 0)?)?;
    let mods = [Field::ATOM_OP.is(AtomOp::ARRIVE), Field::ATOM_TYPE.is(AtomType::U64)];
    let mut inst = Inst::neutral(Sass::ATOMS, mods.into_iter().collect());
    inst.set_role(D, state);
    set_place(&mut inst, place);
    inst.flags |= notes(instruction);
    cx.emit_inst(inst)?;
    Ok(())
}

/// Arrivals that do not end the phase: plain additions. Both words of the state are the old word 1, as in
/// ptxas's code.
fn arrive_early(cx: &mut FnLower<'_, '_>, instruction: &Instruction, place: Addr, drops: bool) -> Lowered {
    let count = sources::src(cx, operands::operand(instruction, 2)?)?;
    release(cx, instruction)?;
    if drops {
        add(cx, place, Operand::rz(), count)?;
    }
    let old = cx.temp()?;
    let arrival = add(cx, second(place), old, count)?;
    cx.func.edit().update(arrival, |inst| inst.flags |= notes(instruction));
    let state = destinations::dst64_direct(cx, operands::operand(instruction, 0)?)?;
    ops::mov(cx, state.lo, old)?;
    ops::mov(cx, state.hi, old)
}

/// The phase expects one arrival more.
pub(crate) fn expect_one(cx: &mut FnLower<'_, '_>, place: Addr) -> Lowered {
    add(cx, second(place), Operand::rz(), Operand::imm(u32::MAX))?;
    Ok(())
}

/// `mbarrier.test_wait{.parity} p, [m], state;`: whether the phase bit has changed.
pub(crate) fn wait(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let place = second(place(cx, instruction, 1)?);
    let before = operands::operand(instruction, 2)?;
    let before = if instruction.has(Word::Parity) { parity(cx, before)? } else { sources::src64(cx, before)?.hi };
    let before = ops::in_reg(cx, before)?;
    let now = cx.temp()?;
    let mut load = Inst::neutral(Sass::LDS, Default::default());
    load.flags |= InstFlags::VOLATILE | notes(instruction);
    load.mods.set(Field::MEM_SIZE, MemSize::B32);
    load.set_role(D, now);
    load.set_role(Base, place.base);
    load.set_role(Offset, Operand::imm_signed(place.offset));
    cx.emit_inst(load)?;
    let over = destinations::dst_pred(cx, operands::operand(instruction, 0)?)?;
    let table = Operand::imm(u32::from(DIFFERS));
    let operands = [(PD, over), (D, Operand::rz()), (A, now), (B, Operand::imm(PENDING)), (C, before), (Lut, table)];
    cx.emit(Sass::LOP3, &[], &operands)?;
    Ok(())
}

/// `mbarrier.pending_count n, state;`
pub(crate) fn pending_count(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let state = sources::src64(cx, operands::operand(instruction, 1)?)?;
    let arrived = cx.temp()?;
    ops::lop3(cx, arrived, state.hi, Operand::imm(PENDING - 1), Operand::rz(), lut::AND)?;
    let to = destinations::dst(cx, operands::operand(instruction, 0)?)?;
    ops::add(cx, to, arrived.neg(), Operand::imm(PENDING))
}

/// The place of word 1.
fn second(place: Addr) -> Addr {
    Addr { offset: place.offset + 4, ..place }
}

/// `old` = the word at `place`, which becomes the sum.
fn add(cx: &mut FnLower<'_, '_>, place: Addr, old: Operand, value: Operand) -> Lowered<InstId> {
    let value = ops::in_reg(cx, value)?;
    let mods = [Field::ATOM_OP.is(AtomOp::ADD), Field::ATOM_TYPE.is(AtomType::U32)];
    let operands = [(D, old), (Base, place.base), (Offset, Operand::imm_signed(place.offset)), (Data, value)];
    cx.emit(Sass::ATOMS, &mods, &operands)
}
