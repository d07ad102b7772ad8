//! `UGETNEXTWORKID`: a block takes over the work of a cluster that has not started.

use super::bulk::{in_block, report, uniform_register};
use super::syncs;
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::space::Place;
use crate::state::State;
use oriole_device::Access;
use oriole_isa::{Field, Inst, Opcode, Role, WorkCast};

/// Bytes of an answer.
const ANSWER: u32 = 16;

/// The effect of `inst` if it is of this family: the answer goes to the block, or to the same place in all blocks of the
/// cluster, and an mbarrier there counts its bytes.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    if inst.opcode != Opcode::UGETNEXTWORKID {
        return Ok(None);
    }
    let base = uniform_register(inst, Role::UBase)?;
    let to_all = inst.get(Field::WORK_CAST) == WorkCast::BROADCAST;
    Ok(Some(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let lane = state.first_active();
        let (to, mbarrier) = (state.ur(base), state.ur(base + 1));
        let answer = env.spaces.resources.unstarted.cancel();
        let own = to >> 24;
        let ranks = if to_all { 0..env.spaces.peers.len().max(1) as u32 } else { own..own + 1 };
        for rank in ranks {
            let to = in_block(Place::cluster(to), rank as usize);
            report(env, Access::Write, lane, to, ANSWER);
            env.spaces.store(to, ANSWER, lane, answer).map_err(|kind| Halt::fault(lane, kind))?;
            syncs::complete(env, lane, mbarrier & 0xff_ffff | rank << 24, ANSWER.into())?;
        }
        Ok(())
    })))
}
