//! Barriers of blocks and clusters.

use super::{Next, Warp};
use crate::barrier::{BarrierKind, BarrierOp};
use crate::env::{Env, Halt};
use crate::lanes::lanes_of;
use crate::state::State;
use crate::threads::{Threads, Wait};
use oriole_device::FaultKind;

impl Warp {
    /// A barrier instruction of the threads `active` of group `at`.
    pub(crate) fn barrier(&mut self, env: &mut Env<'_>, at: usize, op: &BarrierOp, active: u32) -> Result<Next, Halt> {
        self.part_inactive(at, active);
        let pc = self.threads.groups()[at].pc;
        let lane = Threads::first_lane(active);
        let which = |state: &State, lane| {
            (state.get(&op.id, lane) as u64, op.threads.as_ref().map(|threads| state.get(threads, lane) as u32))
        };
        let (id, threads) = which(&self.state, lane);
        let same = |&lane: &usize| which(&self.state, lane) == (id, threads);
        let together = lanes_of(active).filter(same).fold(0, |mask, lane| mask | 1 << lane);
        if together != active {
            // Threads at another barrier execute the instruction by themselves.
            self.threads.split(at, active & !together, pc, pc + 1);
        }
        let votes = match &op.kind {
            BarrierKind::Reduce { predicate, .. } => {
                lanes_of(together).filter(|&lane| self.state.get(predicate, lane) & 1 != 0).fold(0, |m, l| m | 1 << l)
            }
            _ => 0,
        };
        let id = usize::try_from(id).unwrap_or(usize::MAX);
        let arrived = env.block.barriers.arrive(id, self.number, together, threads, votes);
        arrived.map_err(|rule| Halt { lane, kind: FaultKind::Misuse(rule) })?;
        let group = self.threads.group_mut(at);
        if matches!(op.kind, BarrierKind::Arrive) {
            group.pc = pc + 1;
            return Ok(Next::Go(at));
        }
        // `arrive` has accepted the number, which is below 16.
        group.wait = Wait::Barrier(id as u8);
        Ok(Next::Leave)
    }

    /// `barrier.cluster.arrive` by the threads `active` of group `at`.
    pub(crate) fn arrive_at_cluster(&mut self, env: &mut Env<'_>, at: usize, active: u32) -> Result<Next, Halt> {
        let arrived = env.cluster.barrier.arrive(env.block.rank, self.number, active);
        arrived.map_err(|rule| misuse(active, rule))?;
        self.threads.group_mut(at).pc += 1;
        Ok(Next::Go(at))
    }

    /// `barrier.cluster.wait` by the threads `active` of group `at`.
    pub(crate) fn wait_for_cluster(&mut self, env: &mut Env<'_>, at: usize, active: u32) -> Result<Next, Halt> {
        let waiting = env.cluster.barrier.wait(env.block.rank, self.number, active);
        let waiting = waiting.map_err(|rule| misuse(active, rule))?;
        if waiting == 0 {
            self.threads.group_mut(at).pc += 1;
            return Ok(Next::Go(at));
        }
        // The others, whom the guard held back or whose phase is over, go on behind the instruction.
        self.part_inactive(at, waiting);
        self.threads.group_mut(at).wait = Wait::Cluster;
        Ok(Next::Leave)
    }
}

fn misuse(mask: u32, rule: String) -> Halt {
    Halt { lane: Threads::first_lane(mask), kind: FaultKind::Misuse(rule) }
}
