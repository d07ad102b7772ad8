//! mbarriers since sm_90: 64 bits that SYNCS works on. Source: code of ptxas 13.0.88.
//!
//! Word 0 has, from bit 1 on, 2^20 − the arrivals that each phase expects; word 1, from bit 11 on, 2^20 − the
//! arrivals still pending, and in bit 31 the phase. Bit 0 of word 0 says `.layout::v1` (ptxas 13.5.37), which changes nothing else
//! before sm_107: no operation of these targets reports, so that the report of a phase is always zero and its conditional phase over
//! with it. On sm_107 the counts of that layout are 2^9 − arrivals, those of word 0 from bit 4 on.

use crate::chapters::asynchronous::mbarrier::{
    Addr, constant, multicast, needs_clusters, notes, parity, place, release, set_place, state_register,
};
use crate::chapters::memory::{address, fences};
use crate::error::Lowered;
use crate::function::ops::lut;
use crate::function::uniform::{one_by_one, uniform};
use crate::function::{FnLower, destinations, operands, ops, sources, special};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D, Lut, Offset, PD, PD2, UBase};
use oriole_isa::{Field, Opcode as Sass, PhaseType, ShiftDir, ShiftType, SyncsCctl, SyncsCount, SyncsOp, SyncsResult};
use oriole_ori::{Guard, Inst, InstFlags, Operand, RegType};
use oriole_ptx::ast::{self, Instruction, Scope, Semantics, Space, Word};

/// Counts are 2^20 − arrivals.
const COUNT: u32 = 1 << 20;
/// The same with reports.
const COUNT_WITH_REPORTS: u32 = 1 << 9;
/// First bit of the expected arrivals in word 0.
const EXPECTED_AT: u32 = 1;
/// The same with reports.
const EXPECTED_WITH_REPORTS_AT: u32 = 4;
/// First bit of the pending arrivals in word 1.
const PENDING_AT: u32 = 11;
/// Word 0 of an mbarrier of `.layout::v1` has this bit.
const LAYOUT_V1: u32 = 1;

/// SYNCS of one kind on the mbarrier at a place, without further operands.
fn syncs(op: SyncsOp, place: Addr) -> Inst {
    let mut inst = Inst::neutral(Sass::SYNCS, [Field::SYNCS_OP.is(op)].into_iter().collect());
    set_place(&mut inst, place);
    inst
}

/// An arrival without a result that counts as `count` says.
fn arrival(place: Addr, count: SyncsCount) -> Inst {
    let mut inst = syncs(SyncsOp::ARRIVE, place);
    inst.mods.set(Field::SYNCS_RESULT, SyncsResult::RED);
    inst.mods.set(Field::SYNCS_COUNT, count);
    inst
}

/// Whether mbarriers of the target keep reports: `.layout::v1` has other fields then, and waits have other results.
fn has_reports(cx: &FnLower<'_, '_>) -> bool {
    cx.has_with(Sass::SYNCS, Field::PHASE_TYPE.is(PhaseType::PRIMARY))
}

/// `mbarrier.init{.layout} [m], count;`
pub(crate) fn init(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let place = place(cx, instruction, 0)?;
    let count = sources::src(cx, operands::operand(instruction, 1)?)?;
    let layout = if instruction.has(Word::LayoutV1) { LAYOUT_V1 } else { 0 };
    let (most, expected_at) = match layout != 0 && has_reports(cx) {
        true => (COUNT_WITH_REPORTS, EXPECTED_WITH_REPORTS_AT),
        false => (COUNT, EXPECTED_AT),
    };
    let words = match crate::function::uniform::constant(count) {
        Some(bits) => {
            let pending = most.wrapping_sub(bits);
            [Operand::imm(pending << expected_at | layout), Operand::imm(pending << PENDING_AT)]
        }
        None => {
            let pending = cx.temp()?;
            ops::add(cx, pending, count.neg(), Operand::imm(most))?;
            let mut low = shift(cx, ShiftDir::L, pending, expected_at)?;
            if layout != 0 {
                let plain = std::mem::replace(&mut low, cx.temp()?);
                ops::lop3(cx, low, plain, Operand::imm(layout), Operand::rz(), lut::OR)?;
            }
            [low, shift(cx, ShiftDir::L, pending, PENDING_AT)?]
        }
    };
    let base = ops::in_reg(cx, place.base)?;
    one_by_one(cx, |cx| {
        let base = uniform(cx, &[base])?;
        let state = uniform(cx, &words)?;
        let exchange =
            cx.emit(Sass::SYNCSU, &[], &[(UBase, base), (Offset, Operand::imm_signed(place.offset)), (A, state)])?;
        cx.func.edit().update(exchange, |inst| inst.flags |= notes(instruction));
        Ok(())
    })
}

/// `mbarrier.inval [m];`
pub(crate) fn invalidate(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let place = place(cx, instruction, 0)?;
    let mut inst = syncs(SyncsOp::CCTL, place);
    inst.mods.set(Field::SYNCS_CCTL, SyncsCctl::IV);
    inst.flags |= notes(instruction);
    cx.emit_inst(inst)?;
    Ok(())
}

/// `mbarrier.arrive{_drop}{.expect_tx}{.noComplete} state, [m]{, count};`
pub(crate) fn arrive(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::MulticastCluster32b) {
        return multicast::arrive(cx, instruction);
    }
    let expects = instruction.has(Word::ExpectTx);
    if instruction.has(Word::NoComplete) {
        cx.guard_by_branch()?;
    }
    let place = place(cx, instruction, 1)?;
    let (how, count) = match constant(instruction, 2) {
        _ if expects => (SyncsCount::A0T0, sources::src(cx, operands::operand(instruction, 2)?)?),
        None if instruction.operands.len() > 2 => {
            (SyncsCount::ART0, sources::src(cx, operands::operand(instruction, 2)?)?)
        }
        None | Some(1) if !instruction.has(Word::NoComplete) => (SyncsCount::A1T0, Operand::rz()),
        Some(count) => (SyncsCount::ART0, Operand::imm(count as u32)),
        None => return Err(unknown(cx, instruction)),
    };
    let count = ops::in_reg(cx, count)?;
    release(cx, instruction)?;
    let mut inst = syncs(SyncsOp::ARRIVE, place);
    inst.mods.set(Field::SYNCS_COUNT, how);
    inst.mods.set(Field::OPTOUT, instruction.has(Word::ArriveDrop));
    inst.flags |= notes(instruction);
    inst.set_role(A, count);
    let result = operands::operand(instruction, 0)?;
    if instruction.has(Word::NoComplete) {
        return arrive_as_transaction(cx, inst, count, result);
    }
    // An mbarrier of another block of the cluster gives no state.
    if instruction.space() == Some(Space::SharedCluster) {
        inst.mods.set(Field::SYNCS_RESULT, SyncsResult::RED);
    }
    inst.set_role(D, state_register(cx, result)?);
    cx.emit_inst(inst)?;
    Ok(())
}

/// Arrivals that do not end the phase: those of equal count are one transaction of the warp. Each thread's
/// state is that of the mbarrier after the transaction's threads before it.
///
/// ```text
/// header: UR = count of the first thread; p = count == UR; @!p BRA latch
///         SYNCS.ARRIVE.TMASK mask:old
///         state = mask : old + (popc(mask & lanemask_lt) << 11) * count
/// latch:  @!p BRA header
/// ```
fn arrive_as_transaction(cx: &mut FnLower<'_, '_>, mut inst: Inst, count: Operand, result: &ast::Operand) -> Lowered {
    let (header, body) = (cx.new_block()?, cx.new_block()?);
    let (latch, after) = (cx.new_block()?, cx.new_block()?);
    let same = cx.variable(RegType::P)?;
    let answer = cx.temp64()?;
    let state = destinations::dst64_direct(cx, result)?;
    cx.jump(header);
    cx.switch_to(header);
    let first = Operand::reg(cx.temp_of(RegType::Ur)?);
    cx.emit(Sass::R2UR, &[], &[(D, first), (A, count)])?;
    let first_count = cx.temp()?;
    ops::mov(cx, first_count, first)?;
    ops::isetp(cx, same, oriole_isa::Cmp::EQ, false, count, first_count)?;
    cx.branch(same.not(), latch, body)?;
    cx.switch_to(body);
    inst.mods.set(Field::SYNCS_RESULT, SyncsResult::TMASK);
    inst.set_role(D, Operand::reg(answer));
    cx.emit_inst(inst)?;
    let below = special::hardware_register(cx, "SR_LTMASK")?;
    let earlier = cx.temp()?;
    ops::lop3(cx, earlier, Operand::lo(answer), below, Operand::rz(), lut::AND)?;
    let number = cx.temp()?;
    cx.emit(Sass::POPC, &[], &[(D, number), (B, earlier)])?;
    let counted = shift(cx, ShiftDir::L, number, PENDING_AT)?;
    ops::multiply_add(cx, state.hi, counted, count, Operand::hi(answer))?;
    ops::mov(cx, state.lo, Operand::lo(answer))?;
    cx.jump(latch);
    cx.switch_to(latch);
    cx.branch(same.not(), header, after)?;
    cx.switch_to(after);
    Ok(())
}

/// The phase expects one arrival more, which comes as a transaction.
pub(crate) fn expect_one(cx: &mut FnLower<'_, '_>, place: Addr) -> Lowered {
    cx.emit_inst(arrival(place, SyncsCount::A0T1))?;
    Ok(())
}

/// What an mbarrier counts has come, `count` in a register; operand `n` names it.
pub(crate) fn complete(cx: &mut FnLower<'_, '_>, instruction: &Instruction, n: usize, count: Operand) -> Lowered {
    let address = crate::chapters::asynchronous::address_of(cx, instruction, n)?;
    let place = address::resolve_shared(cx, Some(Space::Shared), address)?;
    let mut inst = arrival(place, SyncsCount::A0TX);
    inst.set_role(A, count);
    cx.emit_inst(inst)?;
    Ok(())
}

/// `mbarrier.expect_tx [m], bytes;` and `mbarrier.complete_tx`
pub(crate) fn transaction(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    if instruction.has(Word::MulticastCluster32b) {
        return multicast::transaction(cx, instruction);
    }
    let place = place(cx, instruction, 0)?;
    let bytes = sources::src(cx, operands::operand(instruction, 1)?)?;
    let bytes = ops::in_reg(cx, bytes)?;
    let count = if instruction.has(Word::ExpectTx) { SyncsCount::A0TR } else { SyncsCount::A0TX };
    let mut inst = arrival(place, count);
    inst.set_role(A, bytes);
    inst.flags |= notes(instruction);
    cx.emit_inst(inst)?;
    Ok(())
}

/// `mbarrier.check_layout.layout p, [m];`
pub(crate) fn check_layout(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    let place = place(cx, instruction, 1)?;
    let bits = cx.temp64()?;
    let mut load = syncs(SyncsOp::LD, place);
    load.set_role(D, Operand::reg(bits));
    load.flags |= InstFlags::VOLATILE;
    cx.emit_inst(load)?;
    let result = destinations::dst_pred(cx, operands::operand(instruction, 0)?)?;
    let table = if instruction.has(Word::LayoutV1) { lut::AND } else { lut::NOT_AND };
    let (bit, table) = (Operand::imm(LAYOUT_V1), Operand::imm(u32::from(table)));
    let operands =
        [(PD, result), (D, Operand::rz()), (A, Operand::lo(bits)), (B, bit), (C, Operand::rz()), (Lut, table)];
    cx.emit(Sass::LOP3, &[], &operands)?;
    Ok(())
}

/// The report of a phase, which is zero: `p|report{, value}`. Gives the operand that says whether the phase is over.
fn report_nothing<'i>(
    cx: &mut FnLower<'_, '_>,
    instruction: &'i Instruction,
    value: Option<&ast::Operand>,
) -> Lowered<&'i ast::Operand> {
    if let Some(value) = value {
        let value = destinations::dst(cx, value)?;
        ops::mov(cx, value, Operand::rz())?;
    }
    let first = operands::operand(instruction, 0)?;
    let ast::Operand::Pair(pair) = first else { return Ok(first) };
    let report = destinations::dst_pred(cx, &pair[1])?;
    ops::mov_pred(cx, report, Operand::pt().not())?;
    Ok(&pair[0])
}

/// What a wait asks a mbarrier that keeps reports, and where the report goes. Its value is zero, as in ptxas's code: what copies report
/// has none. Gives the operand that says whether the phase is over too.
fn ask_for_report<'i>(
    cx: &mut FnLower<'_, '_>,
    instruction: &'i Instruction,
    value: Option<&ast::Operand>,
    check: &mut Inst,
) -> Lowered<&'i ast::Operand> {
    if let Some(value) = value {
        let value = destinations::dst(cx, value)?;
        ops::mov(cx, value, Operand::rz())?;
    }
    let first = operands::operand(instruction, 0)?;
    let ast::Operand::Pair(pair) = first else {
        if instruction.has(Word::PhaseTypeConditional) {
            check.mods.set(Field::PHASE_TYPE, PhaseType::CONDITIONAL);
        }
        return Ok(first);
    };
    check.mods.set(Field::PHASE_TYPE, PhaseType::PRIMARY);
    check.set_role(PD2, destinations::dst_pred(cx, &pair[1])?);
    Ok(&pair[0])
}

/// `mbarrier.test_wait|try_wait{.parity} p{|report}{, value}, [m], state{, hint};`: whether the phase is over. `try_wait` may
/// wait for it, with a hint at least that long.
pub(crate) fn wait(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    let tries = instruction.has(Word::TryWait);
    let value = instruction.operands.get(1).filter(|operand| operand.address().is_none());
    let at = 1 + usize::from(value.is_some());
    let hint = instruction.operands.get(at + 2);
    let acquires = instruction.semantics() != Some(Semantics::Relaxed) && instruction.scope() == Some(Scope::Cluster);
    if hint.is_some() || acquires {
        cx.guard_by_branch()?;
    }
    let place = place(cx, instruction, at)?;
    let phase = operands::operand(instruction, at + 1)?;
    let phase = if instruction.has(Word::Parity) { parity(cx, phase)? } else { sources::src64(cx, phase)?.hi };
    let phase = ops::in_reg(cx, phase)?;
    let hint = hint.map(|hint| sources::src(cx, hint)).transpose()?;
    let mut check = syncs(SyncsOp::PHASECHK, place);
    let is_over = match has_reports(cx) {
        true => ask_for_report(cx, instruction, value, &mut check)?,
        false => report_nothing(cx, instruction, value)?,
    };
    let result = destinations::dst_pred(cx, is_over)?;
    let over = if result.as_reg().is_some() { result } else { cx.temp_pred()? };
    check.set_role(A, phase);
    check.set_role(PD, over);
    check.flags |= notes(instruction);
    let mut first = check.clone();
    first.mods.set(Field::TRYWAIT, tries);
    cx.emit_inst(first)?;
    let when = |negated| over.as_reg().map(|pred| Guard { pred, negated });
    if let Some(hint) = hint {
        let mut sleep = Inst::neutral(Sass::NANOSLEEP, [Field::SLEEP_SYNCS.is(true)].into_iter().collect());
        sleep.set_role(A, hint);
        for inst in [&mut sleep, &mut check] {
            inst.set_guard(when(true));
        }
        cx.emit_inst(sleep)?;
        cx.emit_inst(check)?;
    }
    if acquires {
        cx.emit_inst(fences::invalidation().guarded(when(false)))?;
    }
    Ok(())
}

/// `mbarrier.pending_count n, state;`
pub(crate) fn pending_count(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let state = sources::src64(cx, operands::operand(instruction, 1)?)?;
    let arrived = shift(cx, ShiftDir::R, state.hi, PENDING_AT)?;
    let counted = cx.temp()?;
    ops::lop3(cx, counted, arrived, Operand::imm(COUNT - 1), Operand::rz(), lut::AND)?;
    let to = destinations::dst(cx, operands::operand(instruction, 0)?)?;
    ops::add(cx, to, counted.neg(), Operand::imm(COUNT))
}

/// The word shifted by a constant.
fn shift(cx: &mut FnLower<'_, '_>, direction: ShiftDir, value: Operand, by: u32) -> Lowered<Operand> {
    let to = cx.temp()?;
    // To the right the value is the upper word of the funnel.
    let (low, high, takes_high) =
        if direction == ShiftDir::L { (value, Operand::rz(), false) } else { (Operand::rz(), value, true) };
    let mods = [Field::SHIFT_DIR.is(direction), Field::SHIFT_TYPE.is(ShiftType::U32), Field::HI.is(takes_high)];
    cx.emit(Sass::SHF, &mods, &[(D, to), (A, low), (B, Operand::imm(by)), (C, high)])?;
    Ok(to)
}
