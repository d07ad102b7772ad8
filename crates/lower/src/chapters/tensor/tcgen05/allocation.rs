//! `tcgen05.alloc`, `.dealloc`, `.relinquish_alloc_permit`: who holds which columns of tensor memory.
//!
//! Two maps of the columns, in units of 32, say so: that of the SM, which `UTCATOMSWS` changes, and that of the block,
//! its book in shared memory (`library/tensor_memory.ptx`). The thread that ELECT chooses acts for the warp.

use crate::chapters::asynchronous::{address_of, shared_word};
use crate::chapters::calls;
use crate::chapters::tensor::tcgen05::pair_of;
use crate::chapters::warp::converge_all;
use crate::error::{Lowered, unsupported};
use crate::function::ops::lut;
use crate::function::uniform::{constant, uniform};
use crate::function::{FnLower, operands, ops, shared, sources, special, word_ops};
use oriole_isa::Role::{A, Base, D, Data, Lut, Offset, PA, PB, PC, PD};
use oriole_isa::{Cmp, Field, MemSize, Opcode as Sass, SwsOp};
use oriole_ori::{Operand, RegType};
use oriole_ptx::ast::{Instruction, Word};

/// Columns of a unit, as a power of two.
const UNIT_SHIFT: u32 = 5;
/// Nanoseconds from a vain attempt to allocate to the next.
const PAUSE: u32 = 100;
/// Units of the SM's pool that a block with tensor memory holds until it gives up the right to allocate
/// (nv.info VRC_CTA_INIT_COUNT).
const POOL_UNITS: u32 = 0x80;
/// The byte of the book that says whether the block may allocate.
const RIGHT: i32 = 28;
/// There: the block has given up the right.
const CLOSED: u32 = 1;
/// There: the block has had all columns at once.
const EXCLUSIVE: u32 = 2;
/// The truth table of `A & B & C`.
const AND_OF_THREE: u32 = 0x80;

/// `tcgen05.alloc.cta_group{.exclusive}.sync.aligned{.shared::cta}.b32 [dst], columns;`
pub(crate) fn allocate(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let book = open_book(cx, instruction)?;
    let to = shared_word(cx, instruction.space(), address_of(cx, instruction, 0)?)?;
    let units = units(cx, instruction)?;
    by_one(cx, |cx| {
        calls::call_library(cx, "__oriole_tensor_may_allocate", &[book, to])?;
        if instruction.has(Word::CtaGroup2) {
            return allocate_in_pair(cx, instruction, [book, to, units]);
        }
        let first = find(cx, instruction, units)?;
        calls::call_library(cx, "__oriole_tensor_enter", &[book, to, first, units])?;
        note_exclusive(cx, instruction, book)
    })
}

/// After an exclusive allocation the book says so.
fn note_exclusive(cx: &mut FnLower<'_, '_>, instruction: &Instruction, book: Operand) -> Lowered {
    if instruction.has(Word::Exclusive) { set_right(cx, book, EXCLUSIVE) } else { Ok(()) }
}

/// The block of the pair with the even number allocates, and tells the other one what.
fn allocate_in_pair(cx: &mut FnLower<'_, '_>, instruction: &Instruction, [book, to, units]: [Operand; 3]) -> Lowered {
    let (even, odd, after) = (cx.new_block()?, cx.new_block()?, cx.new_block()?);
    let rank = special::hardware_register(cx, "SR_CgaCtaId")?;
    let (bit, other, is_odd) = (cx.temp()?, cx.temp()?, cx.temp_pred()?);
    ops::lop3(cx, bit, rank, Operand::imm(1), Operand::rz(), lut::AND)?;
    ops::lop3(cx, other, rank, Operand::imm(1), Operand::rz(), lut::XOR)?;
    ops::isetp(cx, is_odd, Cmp::NE, false, bit, Operand::rz())?;
    calls::call_library(cx, "__oriole_tensor_meet", &[book])?;
    cx.branch(is_odd, odd, even)?;
    cx.switch_to(even);
    let first = find(cx, instruction, units)?;
    calls::call_library(cx, "__oriole_tensor_tell", &[book, to, first, other])?;
    calls::call_library(cx, "__oriole_tensor_enter", &[book, to, first, units])?;
    note_exclusive(cx, instruction, book)?;
    cx.jump(after);
    cx.switch_to(odd);
    let told = cx.temp()?;
    cx.emit(Sass::LDS, &[Field::MEM_SIZE.is(MemSize::B32)], &[(D, told), (Base, to)])?;
    calls::call_library(cx, "__oriole_tensor_enter", &[book, to, told, units])?;
    calls::call_library(cx, "__oriole_tensor_answer", &[book, other])?;
    cx.jump(after);
    cx.switch_to(after);
    Ok(())
}

/// `tcgen05.dealloc.cta_group{.exclusive}.sync.aligned.b32 taddr, columns;`
///
/// The columns leave the book before others can get them. ptxas does it the other way round.
pub(crate) fn give_back(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let book = open_book(cx, instruction)?;
    let address = sources::src(cx, operands::operand(instruction, 0)?)?;
    let units = units(cx, instruction)?;
    by_one(cx, |cx| {
        let kept = calls::call_library(cx, "__oriole_tensor_take_out", &[book, address, units])?;
        let kept = uniform(cx, &kept)?;
        cx.emit(Sass::UTCATOMSWS, &[Field::SWS_OP.is(SwsOp::AND)], &[(D, Operand::urz()), (A, kept)])?;
        Ok(())
    })
}

/// `tcgen05.relinquish_alloc_permit.cta_group.sync.aligned;`
pub(crate) fn relinquish(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let book = open_book(cx, instruction)?;
    by_one(cx, |cx| {
        cx.emit(Sass::UVIRTCOUNT, &[], &[(A, Operand::imm(POOL_UNITS))])?;
        set_right(cx, book, CLOSED)
    })
}

/// Stores a value in the book's byte for the right to allocate.
fn set_right(cx: &mut FnLower<'_, '_>, book: Operand, value: u32) -> Lowered {
    let value = ops::in_reg(cx, Operand::imm(value))?;
    let place = [(Base, book), (Offset, Operand::imm_signed(RIGHT)), (Data, value)];
    cx.emit(Sass::STS, &[Field::MEM_SIZE.is(MemSize::U8)], &place)?;
    Ok(())
}

/// The warp meets; the address of the block's book, which the driver is asked to open.
fn open_book(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Operand> {
    if cx.module.relocatable {
        let name = "the allocation of tensor memory in an object file (-c)";
        return Err(unsupported(instruction.opcode_span, name.to_owned()));
    }
    cx.func.attributes_mut().tensor_book = true;
    cx.guard_by_branch()?;
    converge_all(cx)?;
    let place = cx.sm().reserved_shared_begin;
    shared::shared_address(cx, place)
}

/// The second operand, a number of columns, in units; exclusively all that there are, whatever it says.
fn units(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Operand> {
    if instruction.has(Word::Exclusive) {
        return Ok(Operand::imm(cx.sm().tensor_columns >> UNIT_SHIFT));
    }
    let columns = sources::src(cx, operands::operand(instruction, 1)?)?;
    if let Some(columns) = constant(columns) {
        return Ok(Operand::imm(columns >> UNIT_SHIFT));
    }
    let units = cx.temp()?;
    word_ops::shift_right(cx, false, units, columns, Operand::imm(UNIT_SHIFT))?;
    Ok(units)
}

/// Emits what `act` emits for one of the active threads; then the warp meets.
fn by_one(cx: &mut FnLower<'_, '_>, act: impl FnOnce(&mut FnLower<'_, '_>) -> Lowered) -> Lowered {
    let (inside, after) = (cx.new_block()?, cx.new_block()?);
    let elected = cx.temp_pred()?;
    cx.emit(Sass::ELECT, &[], &[(PD, elected)])?;
    cx.branch(elected.not(), after, inside)?;
    cx.switch_to(inside);
    act(cx)?;
    cx.jump(after);
    cx.switch_to(after);
    converge_all(cx)
}

/// The first of so many free units of the SM, which then are not free; waits until there are some.
fn find(cx: &mut FnLower<'_, '_>, instruction: &Instruction, units: Operand) -> Lowered<Operand> {
    let (attempt, pause, done) = (cx.new_block()?, cx.new_block()?, cx.new_block()?);
    let first = cx.variable(RegType::R)?;
    cx.jump(attempt);
    cx.switch_to(attempt);
    let units = uniform(cx, &[units])?;
    let found = Operand::reg(cx.temp_of(RegType::Up)?);
    let place = Operand::reg(cx.temp_of(RegType::Ur)?);
    let mods = [
        Field::SWS_OP.is(SwsOp::FIND_AND_SET),
        Field::SWS_ALIGN.is(!instruction.has(Word::Exclusive)),
        pair_of(instruction),
    ];
    cx.emit(Sass::UTCATOMSWS, &mods, &[(PD, found), (D, place), (A, units)])?;
    ops::mov(cx, first, place)?;
    let success = cx.temp_pred()?;
    let all = [(PD, success), (PA, Operand::pt()), (PB, Operand::pt()), (PC, found), (Lut, Operand::imm(AND_OF_THREE))];
    cx.emit(Sass::PLOP3, &[], &all)?;
    cx.branch(success, done, pause)?;
    cx.switch_to(pause);
    cx.emit(Sass::NANOSLEEP, &[], &[(A, Operand::imm(PAUSE))])?;
    cx.jump(attempt);
    cx.switch_to(done);
    Ok(first)
}
