//! `USYNCS` of sm_107: what `SYNCS` does for each thread, once for the warp. The mbarrier's address and the operand are in a pair of
//! uniform registers. `SYNCSU` is for each thread again, at an mbarrier that a uniform register has the address of.

use super::super::address::{Address, AddressWidth};
use super::syncs::{addresses, change, counts, load, misuse, phase_of, store};
use crate::access::PhaseKind;
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::{Mask, WARP, lanes_of};
use crate::mbarrier::Mbarrier;
use crate::operand::{Dst, Src};
use crate::space::Place;
use crate::state::State;
use crate::threads::Wait;
use oriole_device::Access;
use oriole_isa::{Field, Inst, Opcode, PhaseType, Role, SyncsCctl, SyncsCount, SyncsOp, SyncsResult};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match (inst.opcode, inst.get(Field::SYNCS_OP)) {
        (Opcode::SYNCSU_WARP, SyncsOp::ARRIVE) => arrive(inst)?,
        (Opcode::SYNCSU_WARP, SyncsOp::PHASECHK) => check_phase(inst)?,
        (Opcode::SYNCSU_WARP, SyncsOp::CCTL) => invalidate(inst)?,
        (Opcode::SYNCSU_THREADS, _) => arrive_by_thread(inst)?,
        _ => return Ok(None),
    }))
}

/// The operand: the register after that of the address.
fn operand(pair: &Src, state: &State) -> u32 {
    (pair.wide_scalar(state) >> 32) as u32
}

/// `USYNCS.ARRIVE`: one arrival, or one for each active thread (`ACT0`); the same at the mbarriers at that place of several blocks.
fn arrive(inst: &Inst) -> Result<Effect, Unsupported> {
    let (address, pair) = (Address::of(inst, AddressWidth::Narrow)?, Src::of(inst, Role::UBase));
    let (to, leave) = (Dst::of(inst, Role::D), inst.get(Field::OPTOUT));
    let by_thread = inst.get(Field::SYNCS_COUNT) == SyncsCount::ACT0;
    let counts = if by_thread { |_| (0, 0) } else { counts(inst)? };
    let blocks = inst.get(Field::MULTICAST).then(|| Src::of(inst, Role::A));
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let lane = state.first_active();
        let place = addresses(&address, state, env, Access::Atomic)[lane];
        let (bytes, count) = match by_thread {
            true => (0, state.active.count_ones()),
            false => counts(operand(&pair, state)),
        };
        let Some(blocks) = blocks else {
            let before = change(env, lane, place, (bytes, count, leave), PhaseKind::Arrive)?;
            to.set_wide(state, &[before.0; WARP]);
            return Ok(());
        };
        for rank in lanes_of(blocks.scalar(state)) {
            change(env, lane, in_block(place, rank), (bytes, count, leave), PhaseKind::Arrive)?;
        }
        Ok(())
    }))
}

/// The place of the mbarrier in another block.
fn in_block(place: u32, rank: usize) -> u32 {
    place & 0xff_ffff | (rank as u32) << 24
}

/// `SYNCSU.ARRIVE`: one arrival for each thread that the guard lets through. The state, which is one for the warp, is that before the
/// first of them.
fn arrive_by_thread(inst: &Inst) -> Result<Effect, Unsupported> {
    if inst.get(Field::SYNCS_RESULT) == SyncsResult::TMASK {
        return Err(Unsupported("the mask of a transaction in uniform registers".to_owned()));
    }
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let (to, leave) = (Dst::of(inst, Role::D), inst.get(Field::OPTOUT));
    let blocks = inst.get(Field::MULTICAST).then(|| Src::of(inst, Role::A));
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let places = addresses(&address, state, env, Access::Atomic);
        let mut first = None;
        for lane in state.active_lanes() {
            let targets: Vec<u32> = match &blocks {
                Some(blocks) => lanes_of(blocks.scalar(state)).map(|rank| in_block(places[lane], rank)).collect(),
                None => vec![places[lane]],
            };
            for place in targets {
                let before = change(env, lane, place, (0, 1, leave), PhaseKind::Arrive)?;
                first.get_or_insert(before.0);
            }
        }
        if let Some(first) = first {
            to.set_wide(state, &[first; WARP]);
        }
        Ok(())
    }))
}

/// `USYNCS.PHASECHK`: whether the phase is over whose bit is the operand's highest.
fn check_phase(inst: &Inst) -> Result<Effect, Unsupported> {
    let (address, pair) = (Address::of(inst, AddressWidth::Narrow)?, Src::of(inst, Role::UBase));
    let (to, report, value) = (Dst::of(inst, Role::PD), Dst::of(inst, Role::PD2), Dst::of(inst, Role::D));
    let is_over = phase_of(inst);
    let is_reported = inst.get(Field::PHASE_TYPE) == PhaseType::PRIMARY;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let lane = state.first_active();
        let place = addresses(&address, state, env, Access::Read)[lane];
        let phase = operand(&pair, state) >> 31 != 0;
        let barrier = load(env, place, lane)?;
        let is_over = is_over(barrier, phase).map_err(misuse(place, lane))?;
        if !is_over && !env.is_last_try {
            return Err(Halt::NotYet(Wait::Phase(place)));
        }
        env.report_phase(Place::cluster(place), phase, if is_over { PhaseKind::Over } else { PhaseKind::Open });
        to.set_mask(state, if is_over { Mask::MAX } else { 0 });
        if is_reported {
            report.set_mask(state, if barrier.was_reported() { Mask::MAX } else { 0 });
            value.set(state, &[0; WARP]);
        }
        Ok(())
    }))
}

/// `USYNCS.CCTL.IV`: an mbarrier that is invalidated is none afterwards; `WB` is cache control.
fn invalidate(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let is_end = inst.get(Field::SYNCS_CCTL) == SyncsCctl::IV;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        if is_end {
            let lane = state.first_active();
            let place = addresses(&address, state, env, Access::Write)[lane];
            store(env, place, lane, Mbarrier(0))?;
        }
        Ok(())
    }))
}
