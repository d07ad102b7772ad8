//! `mbarrier`: barriers in shared memory with phases, counted by arrivals and (since sm_90) transactions.
//!
//! `words` has the targets before sm_90, whose only instruction for them is the arrival, `syncs` those since, `multicast` what goes to the
//! mbarriers of several blocks of a cluster.

pub(crate) mod multicast;
pub(crate) mod syncs;
pub(crate) mod words;

use crate::chapters::asynchronous::needs_clusters;
use crate::chapters::memory::address::Addr;
use crate::chapters::memory::{address, fences};
use crate::error::Lowered;
use crate::function::{FnLower, destinations, sources, uniform};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, Base, C, D, Offset, UBase};
use oriole_isa::{ArrivesCount, Field, Opcode as Sass, ShiftDir, ShiftType};
use oriole_ori::{Inst, InstFlags, Operand};
use oriole_ptx::ast::{self, Instruction, Scope, Semantics, Word};

/// What an instruction does, by the word that tells.
type Operation = fn(&mut FnLower<'_, '_>, &Instruction) -> Lowered;

/// The operations on targets before sm_90 and since. `arrive.expect_tx` is an arrival.
const OPERATIONS: [(Word, Operation, Operation); 10] = [
    (Word::Init, words::init, syncs::init),
    (Word::Inval, words::invalidate, syncs::invalidate),
    (Word::Arrive, words::arrive, syncs::arrive),
    (Word::ArriveDrop, words::arrive, syncs::arrive),
    (Word::ExpectTx, syncs::transaction, syncs::transaction),
    (Word::CompleteTx, syncs::transaction, syncs::transaction),
    (Word::TestWait, words::wait, syncs::wait),
    (Word::TryWait, syncs::wait, syncs::wait),
    (Word::CheckLayout, syncs::check_layout, syncs::check_layout),
    (Word::PendingCount, words::pending_count, syncs::pending_count),
];

/// `mbarrier.operation…`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if !cx.has(Sass::ARRIVES) {
        return Err(unknown(cx, instruction));
    }
    let operation = OPERATIONS.iter().find(|(word, ..)| instruction.has(*word));
    let (_, before, since) = operation.ok_or_else(|| unknown(cx, instruction))?;
    if cx.has(Sass::SYNCS) { since(cx, instruction) } else { before(cx, instruction) }
}

/// The mbarrier that operand `n` names.
fn place(cx: &mut FnLower<'_, '_>, instruction: &Instruction, n: usize) -> Lowered<Addr> {
    address::resolve_shared(cx, instruction.space(), crate::chapters::asynchronous::address_of(cx, instruction, n)?)
}

/// Sets the address of an instruction on an mbarrier.
fn set_place(inst: &mut Inst, place: Addr) {
    inst.set_role(Base, place.base);
    inst.set_role(UBase, Operand::urz());
    inst.set_role(Offset, Operand::imm_signed(place.offset));
}

/// What comes before an arrival: everything before it is visible to those who wait. Within the block the
/// arrivals of sm_90 see to that.
fn release(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let scope = instruction.scope().unwrap_or(Scope::Cta);
    let relaxed = instruction.semantics() == Some(Semantics::Relaxed);
    if relaxed || scope == Scope::Cta && cx.has(Sass::SYNCS) {
        return Ok(());
    }
    fences::release_fence(cx, scope)
}

/// The flags of an instruction that does what the PTX instruction says.
fn notes(instruction: &Instruction) -> InstFlags {
    let other = instruction.has(Word::ArriveDrop) || instruction.has(Word::Parity);
    if other { InstFlags::MBARRIER | InstFlags::OTHER_KIND } else { InstFlags::MBARRIER }
}

/// Where an arrival's state goes: a pair, or `RZ` for `_`.
fn state_register(cx: &mut FnLower<'_, '_>, result: &ast::Operand) -> Lowered<Operand> {
    match result {
        ast::Operand::Sink(_) => Ok(Operand::rz()),
        _ => Ok(destinations::dst64_direct(cx, result)?.whole()),
    }
}

/// The constant of operand `n`, if it is one.
fn constant(instruction: &Instruction, n: usize) -> Option<u64> {
    instruction.operands.get(n)?.imm()?.int_bits()
}

/// A phase's parity where the state has it: in bit 31.
fn parity(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let parity = sources::src(cx, operand)?;
    if let Some(bits) = uniform::constant(parity) {
        return Ok(Operand::imm(bits << 31));
    }
    let shifted = cx.temp()?;
    let mods = [Field::SHIFT_DIR.is(ShiftDir::L), Field::SHIFT_TYPE.is(ShiftType::U32)];
    cx.emit(Sass::SHF, &mods, &[(D, shifted), (A, parity), (B, Operand::imm(31)), (C, Operand::rz())])?;
    Ok(shifted)
}

/// `cp.async.mbarrier.arrive{.noinc} [m];`: an arrival when the thread's copies so far are done. Without
/// `.noinc` the phase expects one arrival more.
pub(crate) fn arrive_after_copies(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let place = place(cx, instruction, 0)?;
    let more = !instruction.has(Word::Noinc);
    let since_sm90 = cx.has(Sass::SYNCS);
    if more && since_sm90 {
        syncs::expect_one(cx, place)?;
    } else if more {
        words::expect_one(cx, place)?;
    }
    let count = match (since_sm90, more) {
        (false, _) => ArrivesCount::BOTH,
        (true, false) => ArrivesCount::ARVCNT,
        (true, true) => ArrivesCount::TRANSCNT,
    };
    let mut inst = Inst::neutral(Sass::ARRIVES, Default::default());
    inst.mods.set(Field::ARRIVES_COUNT, count);
    set_place(&mut inst, place);
    inst.flags |= notes(instruction);
    if !since_sm90 {
        return cx.emit_inst(inst).map(|_| ());
    }
    // From sm_90 on the address is uniform: with one in a general register, which nvdisasm prints, an H200 has an illegal instruction.
    uniform::by_value(cx, &[place.base], |cx, base, guard| {
        inst.set_role(Base, Operand::rz());
        inst.set_role(UBase, base);
        inst.set_guard(guard);
        cx.emit_inst(inst).map(|_| ())
    })
}
