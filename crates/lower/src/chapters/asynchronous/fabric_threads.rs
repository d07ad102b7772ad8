//! `fabric.try_atom`, `fabric.try_pullred`: what no copy engine does. The threads read and write shared memory themselves, and an
//! mbarrier counts it when it is done. Source: code of ptxas 13.5.37.

use crate::chapters::asynchronous::{address_of, fabric, mbarrier, shared_word};
use crate::chapters::atomics::operation::{Atomic, atomic_inst, operation, type_code};
use crate::chapters::memory::address::{Addr, Target};
use crate::chapters::memory::{fences, manner};
use crate::chapters::{multimem, warp};
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::{FnLower, finish, operands, ops, sources, special};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, Base, D, Data, Data2, Offset, PA, PD};
use oriole_isa::{Cmp, FenceSpace, Field, MemSize, MembarSem, Opcode as Sass, Vote};
use oriole_ori::{Inst, Operand, RegType, VReg};
use oriole_ptx::ast::{Instruction, ScalarType, Scope, Space, Word};

/// Operands of an atomic operation lie in blocks of this many bytes, each as far behind its start as the value behind that of its own.
const BLOCK: u32 = 16;
/// Threads of a warp.
const WARP: u32 = 32;

/// `fabric.try_atom.async… [endpoint, offset], [old], [values], [mbar]{, policy};`: of `cas` there are two blocks of values.
///
/// ptxas 13.5.37 adds the place in the block to the handle's offset, which has it already; here it stands where the handle says.
pub(super) fn atom(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let (Some((op, _)), Some(ty)) = (operation(instruction), instruction.last_type()) else {
        return Err(unknown(cx, instruction));
    };
    let handle = fabric::handle(cx, instruction, 0)?;
    let [low, high, ..] = handle[..] else { return Err(unknown(cx, instruction)) };
    let (misplaced, wrong) = (cx.temp()?, cx.temp_pred()?);
    let low = ops::in_reg(cx, low)?;
    ops::lop3(cx, misplaced, low, Operand::imm(ty.bytes() - 1), Operand::rz(), lut::AND)?;
    ops::is_nonzero(cx, wrong, misplaced)?;
    trap_if(cx, wrong)?;
    let slot = cx.temp()?;
    ops::lop3(cx, slot, low, Operand::imm(BLOCK - 1), Operand::rz(), lut::AND)?;
    let [old, values] = [1, 2].map(|n| -> Lowered<Operand> {
        let block = shared_word(cx, Some(Space::Shared), address_of(cx, instruction, n)?)?;
        let place = cx.temp()?;
        ops::add(cx, place, slot, block)?;
        Ok(place)
    });
    let (old, values) = (old?, values?);
    let pair = ops::in_pair(cx, Wide::of_halves(low, high))?;
    let addr = Addr { target: Target::Global, base: pair, offset: 0 };
    let mem = manner::strength(cx, Scope::Sys);
    let atomic = Atomic { op, ty, addr, scope: Scope::Sys, mem, result: None, values: &[] };
    let (Some((_, code)), Some(kind)) = (operation(instruction), type_code(op, ty)) else {
        return Err(unknown(cx, instruction));
    };
    if !cx.has_with(Sass::ATOMG, Field::ATOM_TYPE.is(kind)) {
        return Err(unknown(cx, instruction));
    }
    let mut inst = atomic_inst(cx, &atomic, Sass::ATOMG, code, kind);
    inst.set_role(Data, load(cx, ty.bytes(), values, 0)?);
    if op == Word::Cas {
        inst.set_role(Data2, load(cx, ty.bytes(), values, BLOCK)?);
    }
    let found = Operand::reg(value(cx, ty.bytes())?);
    inst.set_role(D, found);
    cx.emit_inst(inst)?;
    store(cx, ty.bytes(), old, found)?;
    fence(cx)?;
    let one = ops::in_reg(cx, Operand::imm(1))?;
    mbarrier::syncs::complete(cx, instruction, 3, one)
}

/// `fabric.try_pullred.async.multimem….sync [dst], [endpoint, offset], size, [mbar], 0xffffffff;`: the warp's threads load one element
/// after the other, 16 bytes of several small ones at once.
///
/// ```text
/// header: p = offset < size; @!p BRA after
///         LDGMC value; STS value; to, from, offset += 32 elements; BRA header
/// after:  WARPSYNC; the first thread tells the mbarrier
/// ```
pub(super) fn pull(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let ty = instruction.last_type().ok_or_else(|| unknown(cx, instruction))?;
    let is_packed = ty.bits() < 32 || ty == ScalarType::F32;
    let bytes = if is_packed { BLOCK } else { ty.bytes() };
    let (op, kind) = multimem::combining(cx, instruction, ty, bytes)?;
    all_threads(cx)?;
    let to = shared_word(cx, Some(Space::Shared), address_of(cx, instruction, 0)?)?;
    let handle = fabric::handle(cx, instruction, 1)?;
    let [low, high, ..] = handle[..] else { return Err(unknown(cx, instruction)) };
    let size = sources::src(cx, operands::operand(instruction, 2)?)?;
    let size = ops::in_reg(cx, size)?;
    let lane = special::hardware_register(cx, "SR_LANEID")?;
    let offset = cx.variable(RegType::R)?;
    ops::multiply_add(cx, offset, lane, Operand::imm(bytes), Operand::rz())?;
    let place = cx.variable(RegType::R)?;
    ops::add(cx, place, offset, to)?;
    let from = cx.temp64()?;
    ops::add64(cx, from, Wide::of_halves(low, high), Wide::of_halves(offset, Operand::rz()))?;

    let (header, body, after) = (cx.new_block()?, cx.new_block()?, cx.new_block()?);
    cx.jump(header);
    cx.switch_to(header);
    let is_inside = cx.temp_pred()?;
    ops::isetp(cx, is_inside, Cmp::LT, false, offset, size)?;
    cx.branch(is_inside, body, after)?;
    cx.switch_to(body);
    let mut inst = Inst::neutral(Sass::LDGMC, [Field::ATOM_OP.is(op), Field::ATOM_TYPE.is(kind)].into_iter().collect());
    let found = Operand::reg(value(cx, bytes)?);
    inst.set_role(Base, Operand::reg(from));
    inst.set_role(D, found);
    cx.emit_inst(inst)?;
    store(cx, bytes, place, found)?;
    let step = Operand::imm(WARP * bytes);
    ops::add(cx, offset, offset, step)?;
    ops::add(cx, place, place, step)?;
    ops::add64(cx, from, Wide::of_pair(from), Wide::of_bits(u64::from(WARP * bytes)))?;
    cx.jump(header);

    cx.switch_to(after);
    let together = warp::wait_for_all(cx);
    cx.emit_inst(together)?;
    fence(cx)?;
    let (first, done) = (cx.new_block()?, cx.new_block()?);
    let elected = cx.temp_pred()?;
    cx.emit(Sass::ELECT, &[], &[(PD, elected)])?;
    cx.branch(elected, first, done)?;
    cx.switch_to(first);
    mbarrier::syncs::complete(cx, instruction, 3, size)?;
    cx.jump(done);
    cx.switch_to(done);
    Ok(())
}

/// The warp has to be there with all of its threads.
fn all_threads(cx: &mut FnLower<'_, '_>) -> Lowered {
    let (active, count, missing) = (cx.temp()?, cx.temp()?, cx.temp_pred()?);
    cx.emit(Sass::VOTE, &[Field::VOTE.is(Vote::ANY)], &[(D, active), (PA, Operand::pt())])?;
    cx.emit(Sass::POPC, &[], &[(D, count), (B, active)])?;
    ops::isetp(cx, missing, Cmp::NE, false, count, Operand::imm(WARP))?;
    trap_if(cx, missing)
}

fn trap_if(cx: &mut FnLower<'_, '_>, pred: Operand) -> Lowered {
    let (fault, rest) = (cx.new_block()?, cx.new_block()?);
    cx.branch(pred, fault, rest)?;
    cx.switch_to(fault);
    cx.emit(Sass::BPT, &[], &[(A, Operand::imm(1))])?;
    finish::emit_exit(cx)?;
    cx.switch_to(rest);
    Ok(())
}

/// What was stored is there for the asynchronous proxy before the mbarrier is told.
fn fence(cx: &mut FnLower<'_, '_>) -> Lowered {
    fences::fence(cx, MembarSem::ALL, Scope::Cta)?;
    cx.emit(Sass::FENCE, &[Field::FENCE_SPACE.is(FenceSpace::S)], &[])?;
    Ok(())
}

/// A register for a value of so many bytes.
fn value(cx: &mut FnLower<'_, '_>, bytes: u32) -> Lowered<VReg> {
    cx.temp_of(match bytes {
        16 => RegType::Quad,
        8 => RegType::Pair,
        _ => RegType::R,
    })
}

fn mem_size(bytes: u32) -> MemSize {
    match bytes {
        16 => MemSize::B128,
        8 => MemSize::B64,
        _ => MemSize::B32,
    }
}

/// A value of shared memory.
fn load(cx: &mut FnLower<'_, '_>, bytes: u32, base: Operand, offset: u32) -> Lowered<Operand> {
    let to = Operand::reg(value(cx, bytes)?);
    let operands = [(D, to), (Base, base), (Offset, Operand::imm(offset))];
    cx.emit(Sass::LDS, &[Field::MEM_SIZE.is(mem_size(bytes))], &operands)?;
    Ok(to)
}

fn store(cx: &mut FnLower<'_, '_>, bytes: u32, base: Operand, value: Operand) -> Lowered {
    cx.emit(Sass::STS, &[Field::MEM_SIZE.is(mem_size(bytes))], &[(Base, base), (Data, value)])?;
    Ok(())
}
