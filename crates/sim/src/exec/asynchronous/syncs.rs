//! Instructions on mbarriers since sm_90: `SYNCS`, and arrivals of `LDGSTS`.

use super::super::address::{Address, AddressWidth};
use crate::access::PhaseKind;
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::{Mask, WARP, lanes_of};
use crate::mbarrier::Mbarrier;
use crate::operand::{Dst, Src};
use crate::space::Place;
use crate::state::State;
use crate::threads::Wait;
use oriole_device::{Access, FaultKind};
use oriole_isa::{ArrivesCount, Field, Inst, Opcode, PhaseType, Role, SyncsCount, SyncsOp, SyncsResult};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::SYNCS => match inst.get(Field::SYNCS_OP) {
            SyncsOp::ARRIVE => arrive(inst)?,
            SyncsOp::PHASECHK => check_phase(inst)?,
            SyncsOp::CCTL => invalidate(inst)?,
            SyncsOp::LD => read(inst)?,
            _ => Box::new(|_: &mut State, _: &mut Env<'_>| Ok(())),
        },
        Opcode::SYNCSU => exchange(inst)?,
        Opcode::SYNCSU_LD => read(inst)?,
        Opcode::ARRIVES if inst.get(Field::ARRIVES_COUNT) != ArrivesCount::BOTH => arrive_for_copies(inst)?,
        _ => return Ok(None),
    }))
}

/// The mbarrier at a shared address; byte 3 names the block in the cluster.
pub(super) fn load(env: &Env<'_>, address: u32, lane: usize) -> Result<Mbarrier, Halt> {
    let [low, high, ..] = env.spaces.load(Place::cluster(address), 8, lane).map_err(|kind| Halt::fault(lane, kind))?;
    Ok(Mbarrier(u64::from(low) | u64::from(high) << 32))
}

pub(super) fn store(env: &mut Env<'_>, address: u32, lane: usize, barrier: Mbarrier) -> Result<(), Halt> {
    let words = [barrier.0 as u32, (barrier.0 >> 32) as u32, 0, 0];
    *env.signals += 1;
    env.spaces.store(Place::cluster(address), 8, lane, words).map_err(|kind| Halt::fault(lane, kind))
}

pub(super) fn misuse(address: u32, lane: usize) -> impl Fn(String) -> Halt {
    move |what| Halt::fault(lane, FaultKind::Misuse(format!("the mbarrier at shared address {address:#x} {what}")))
}

/// Changes the mbarrier at a shared address for one lane as [`Mbarrier::change`] does; its bits before.
pub(super) fn change(
    env: &mut Env<'_>,
    lane: usize,
    address: u32,
    (bytes, count, leave): (i64, u32, bool),
    kind: PhaseKind,
) -> Result<Mbarrier, Halt> {
    let before = load(env, address, lane)?;
    env.report_phase(Place::cluster(address), before.phase(), kind);
    let after = before.change(bytes, count, leave).map_err(misuse(address, lane))?;
    store(env, address, lane, after)?;
    Ok(before)
}

/// Reports to the mbarrier at a shared address what it is to tell of a copy, before the bytes of the copy come.
pub(super) fn report(env: &mut Env<'_>, lane: usize, address: u32) -> Result<(), Halt> {
    let reported = load(env, address, lane)?.report().map_err(misuse(address, lane))?;
    store(env, address, lane, reported)
}

/// `bytes` bytes of a copy have come, which the mbarrier at a shared address counts.
pub(super) fn complete(env: &mut Env<'_>, lane: usize, address: u32, bytes: u64) -> Result<(), Halt> {
    change(env, lane, address, (-(bytes as i64), 0, false), PhaseKind::Copy).map(drop)
}

/// The addresses of the mbarriers, and the report that the `lanes` access them.
pub(super) fn addresses(address: &Address, state: &State, env: &mut Env<'_>, kind: Access) -> [u32; WARP] {
    let addresses = address.lanes(state).map(|address| address as u32);
    env.report(kind, 8, state.active, &addresses.map(Place::cluster));
    addresses
}

/// `SYNCS.ARRIVE`.
fn arrive(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let (to, operand) = (Dst::of(inst, Role::D), Src::of(inst, Role::A));
    let leave = inst.get(Field::OPTOUT);
    let result = inst.get(Field::SYNCS_RESULT);
    let counts = counts(inst)?;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let addresses = addresses(&address, state, env, Access::Atomic);
        let operands = operand.bits(state);
        let mut before = [0; WARP];
        for lane in state.active_lanes() {
            let (bytes, count) = counts(operands[lane]);
            before[lane] = change(env, lane, addresses[lane], (bytes, count, leave), PhaseKind::Arrive)?.0;
        }
        if result == SyncsResult::TMASK {
            let own = before;
            for lane in state.active_lanes() {
                before[lane] = transaction(state.active, &addresses, &own, lane);
            }
        }
        to.set_wide(state, &before);
        Ok(())
    }))
}

/// Bytes to expect and arrivals, from the operand.
pub(super) type Counts = fn(u32) -> (i64, u32);

/// How an instruction counts arrivals.
pub(super) fn counts(inst: &Inst) -> Result<Counts, Unsupported> {
    Ok(match inst.get(Field::SYNCS_COUNT) {
        SyncsCount::A0T0 => |bytes| (i64::from(bytes), 1),
        SyncsCount::A1T0 => |_| (0, 1),
        SyncsCount::ART0 => |count| (0, count),
        SyncsCount::A0T1 => |_| (1, 0),
        SyncsCount::A0TR => |bytes| (i64::from(bytes), 0),
        SyncsCount::A0TX => |bytes| (-i64::from(bytes), 0),
        other => return Err(Unsupported(format!("way {other} of counting arrivals"))),
    })
}

/// What `SYNCS.ARRIVE.TMASK` gives: the lanes that arrive at the same mbarrier in the low word, and the
/// high word that the first of them found.
fn transaction(active: Mask, addresses: &[u32; WARP], before: &[u64; WARP], lane: usize) -> u64 {
    let together = lanes_of(active).filter(|&other| addresses[other] == addresses[lane]);
    let mask = together.fold(0, |mask: Mask, other| mask | 1 << other);
    let first = (mask.trailing_zeros() as usize).min(WARP - 1);
    before[first] >> 32 << 32 | u64::from(mask)
}

/// Whether an mbarrier's phase with this bit is over.
pub(super) type IsOver = fn(Mbarrier, bool) -> Result<bool, String>;

/// Which phase an instruction asks for.
pub(super) fn phase_of(inst: &Inst) -> IsOver {
    match inst.get(Field::PHASE_TYPE) {
        PhaseType::CONDITIONAL => Mbarrier::is_conditionally_over,
        _ => Mbarrier::is_over,
    }
}

/// `SYNCS.PHASECHK`: whether the phase is over whose bit is the operand's highest. Where it is not, the
/// threads wait; they are told so when nothing else can run. Reports have no value.
fn check_phase(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let (to, operand) = (Dst::of(inst, Role::PD), Src::of(inst, Role::A));
    let (report, value) = (Dst::of(inst, Role::PD2), Dst::of(inst, Role::D));
    let is_over = phase_of(inst);
    let is_reported = inst.get(Field::PHASE_TYPE) == PhaseType::PRIMARY;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let addresses = addresses(&address, state, env, Access::Read);
        let phases = operand.bits(state);
        let (mut over, mut reported): (Mask, Mask) = (0, 0);
        for lane in state.active_lanes() {
            let barrier = load(env, addresses[lane], lane)?;
            let phase = phases[lane] >> 31 != 0;
            let is_over = is_over(barrier, phase).map_err(misuse(addresses[lane], lane))?;
            over |= Mask::from(is_over) << lane;
            reported |= Mask::from(barrier.was_reported()) << lane;
            if is_over || env.is_last_try {
                let kind = if is_over { PhaseKind::Over } else { PhaseKind::Open };
                env.report_phase(Place::cluster(addresses[lane]), phase, kind);
            }
        }
        let missing = state.active & !over;
        if missing != 0 && !env.is_last_try {
            return Err(Halt::NotYet(Wait::Phase(addresses[missing.trailing_zeros() as usize % WARP])));
        }
        to.set_mask(state, over);
        if is_reported {
            report.set_mask(state, reported);
            value.set(state, &[0; WARP]);
        }
        Ok(())
    }))
}

/// `SYNCS.CCTL`: an mbarrier that is invalidated is none afterwards; the rest is cache control.
fn invalidate(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let is_one = inst.get(Field::SYNCS_CCTL) == oriole_isa::SyncsCctl::IV;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        if is_one {
            let addresses = addresses(&address, state, env, Access::Write);
            for lane in state.active_lanes() {
                store(env, addresses[lane], lane, Mbarrier(0))?;
            }
        }
        Ok(())
    }))
}

/// `SYNCS.LD`: the bits of an mbarrier.
fn read(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let to = Dst::of(inst, Role::D);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let addresses = addresses(&address, state, env, Access::Read);
        let mut bits = [0; WARP];
        for lane in state.active_lanes() {
            bits[lane] = load(env, addresses[lane], lane)?.0;
        }
        to.set_wide(state, &bits);
        Ok(())
    }))
}

/// `SYNCS.EXCH`: the bits of the mbarrier that the warp makes, for those that were there.
fn exchange(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let (to, from) = (Dst::of(inst, Role::D), Src::of(inst, Role::A));
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let lane = state.first_active();
        let place = addresses(&address, state, env, Access::Atomic)[lane];
        let before = load(env, place, lane)?;
        let made = Mbarrier(from.wide_scalar(state));
        store(env, place, lane, made)?;
        env.report_phase(Place::cluster(place), made.phase(), PhaseKind::Start);
        to.set_wide(state, &[before.0; WARP]);
        Ok(())
    }))
}

/// `ARRIVES`: each thread's copies to shared memory have come, and count as an arrival or end the
/// transaction of one byte that stands for them.
fn arrive_for_copies(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let counts = match inst.get(Field::ARRIVES_COUNT) {
        ArrivesCount::ARVCNT => (0, 1, false),
        _ => (-1, 0, false),
    };
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let addresses = addresses(&address, state, env, Access::Atomic);
        for lane in state.active_lanes() {
            change(env, lane, addresses[lane], counts, PhaseKind::Arrive)?;
        }
        Ok(())
    }))
}
