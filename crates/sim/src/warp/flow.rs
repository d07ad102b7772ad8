//! Flow of control: jumps, barriers and what changes the set of threads that execute.

use super::{Next, Warp};
use crate::barrier::Arrival;
use crate::block_state::BlockState;
use crate::flow::{Condition, Count, Flow, MaskSrc};
use crate::halt::Halt;
use crate::helper_lanes::HelperLanes;
use crate::instruction::INSTRUCTION;
use crate::lanes::{Mask, WARP, lanes_of};
use crate::machine::Machine;
use crate::syscall;
use oriole_device::FaultKind;

impl Warp {
    /// Executes one instruction of the flow families.
    pub(super) fn flow(
        &mut self,
        flow: &Flow,
        next: u64,
        active: Mask,
        machine: &Machine<'_>,
        block: &mut BlockState,
    ) -> Result<Next, Halt> {
        let group = self.threads.group().map_or(0, |group| group.mask);
        match *flow {
            Flow::Branch { target, condition } => {
                let taken = self.taken(condition, active, group);
                self.threads.branch(taken, target, next);
                Ok(Next::Continue)
            }
            Flow::Nowhere { target, condition } => match self.taken(condition, active, group) {
                0 => self.go_on(next),
                lanes => Err(Halt::fault(lanes.trailing_zeros() as usize, FaultKind::BadJump(target))),
            },
            Flow::Jump { base, offset, condition } => {
                let lanes = active & condition.mask(&self.state);
                self.jump(base, offset.wide_bits(&self.state), next, lanes, machine, block)
            }
            Flow::Relative { offset, plus, condition } => {
                let base = next.wrapping_add(plus.wide_scalar(&self.state));
                let lanes = active & condition.mask(&self.state);
                self.jump(base, offset.wide_bits(&self.state), next, lanes, machine, block)
            }
            Flow::Address { to, address } => {
                to.set_wide(&mut self.state, &[address.unwrap_or(next - INSTRUCTION); WARP]);
                self.go_on(next)
            }
            Flow::Exit(condition) => {
                let lanes = active & condition.mask(&self.state);
                self.threads.exit(lanes, next);
                block.barriers.live[self.state.identity.warp as usize] &= !lanes;
                Ok(Next::Continue)
            }
            Flow::Converge(barrier, condition) => {
                self.threads.converge(barrier, active & condition.mask(&self.state), next);
                Ok(Next::Continue)
            }
            Flow::WarpSync { mask, exclusive } => {
                let masks = self.masks(mask);
                self.threads.warp_sync(active, &masks, exclusive, next);
                Ok(Next::Continue)
            }
            Flow::Collective { mask, target } => {
                let masks = self.masks(mask);
                self.threads.begin_collective(active, &masks, target, next);
                Ok(Next::Continue)
            }
            Flow::EndCollective => {
                self.threads.end_collective(active, next);
                Ok(Next::Continue)
            }
            Flow::Yield => {
                self.go_on(next)?;
                Ok(Next::Choose)
            }
            Flow::Barrier { .. } => self.barrier(flow, next, active, block),
            Flow::ClusterArrive | Flow::ClusterWait => self.cluster_barrier(flow, next, group, block),
            Flow::Trap => Err(Halt::fault(self.state.first_active(), FaultKind::Trap)),
            Flow::SetConvergence(_)
            | Flow::Break(..)
            | Flow::ReadConvergence { .. }
            | Flow::WriteConvergence(..)
            | Flow::MoveConvergence { .. }
            | Flow::SaveActive(_)
            | Flow::WholeQuads
            | Flow::OwnThreads => {
                self.change_sets(flow, active, group);
                self.go_on(next)
            }
        }
    }

    /// The mask of each lane.
    fn masks(&self, mask: MaskSrc) -> [Mask; WARP] {
        match mask {
            MaskSrc::All => [Mask::MAX; WARP],
            MaskSrc::Operand(source) => source.bits(&self.state),
        }
    }

    /// The group goes on with the instruction at `next`.
    fn go_on(&mut self, next: u64) -> Result<Next, Halt> {
        if let Some(group) = self.threads.group_mut() {
            group.pc = next;
        }
        Ok(Next::Continue)
    }

    /// What each lane has in a convergence barrier, which the `active` ones forget if it is cleared.
    fn take_convergence(&mut self, barrier: u8, clear: bool, active: Mask) -> [Mask; WARP] {
        let value = std::array::from_fn(|lane| self.threads.convergence(barrier, lane));
        if clear {
            self.threads.set_convergence(barrier, 0, active);
        }
        value
    }

    /// Gives each active lane its own threads to wait for.
    fn put_convergence(&mut self, barrier: u8, value: &[Mask; WARP]) {
        for lane in self.state.active_lanes() {
            self.threads.set_convergence(barrier, value[lane], 1 << lane);
        }
    }

    /// What only changes whom convergence barriers wait for, or which lanes of quads execute.
    fn change_sets(&mut self, flow: &Flow, active: Mask, group: Mask) {
        match *flow {
            Flow::SetConvergence(barrier) => self.threads.set_convergence(barrier, active, active),
            Flow::Break(barrier, condition) => {
                let lanes = active & condition.mask(&self.state);
                self.threads.break_out(barrier, lanes);
            }
            Flow::ReadConvergence { to, barrier, clear } => {
                let value = self.take_convergence(barrier, clear, active);
                to.set(&mut self.state, &value);
            }
            Flow::WriteConvergence(barrier, from) => {
                let value = from.bits(&self.state);
                self.put_convergence(barrier, &value);
            }
            Flow::MoveConvergence { to, from, clear } => {
                let value = self.take_convergence(from, clear, active);
                self.put_convergence(to, &value);
            }
            Flow::SaveActive(barrier) => self.threads.set_convergence(barrier, group, active),
            Flow::WholeQuads => self.helpers = HelperLanes::of_quads(group, &self.state),
            Flow::OwnThreads => self.helpers.dismiss(&mut self.state),
            _ => {}
        }
    }

    /// The barrier of the cluster.
    fn cluster_barrier(&mut self, flow: &Flow, next: u64, group: Mask, block: &mut BlockState) -> Result<Next, Halt> {
        let (lane, warp) = (self.state.first_active(), self.state.identity.warp as usize);
        let misuse = |rule| Halt::fault(lane, FaultKind::Misuse(rule));
        if matches!(flow, Flow::ClusterWait) {
            let waiting = block.cluster.barrier.wait(block.rank, warp, group).map_err(misuse)?;
            self.threads.wait_for_cluster(waiting, next);
            return Ok(Next::Continue);
        }
        block.cluster.barrier.arrive(block.rank, warp, group).map_err(misuse)?;
        self.go_on(next)?;
        // Others may wait for it: let the cluster look.
        Ok(Next::Choose)
    }

    /// The lanes that take a branch.
    fn taken(&self, condition: Condition, active: Mask, group: Mask) -> Mask {
        let missing = |mask: MaskSrc| {
            let named = match mask {
                MaskSrc::All => Mask::MAX,
                MaskSrc::Operand(source) => source.int_scalar(&self.state),
            };
            named & self.threads.alive & !active != 0
        };
        let all_if = |take: bool| if take { group } else { 0 };
        match condition {
            Condition::Lanes(predicate) => active & predicate.mask(&self.state),
            Condition::Any => group,
            Condition::All(predicate) => all_if(active & predicate.mask(&self.state) == group),
            Condition::Divergent(mask) => all_if(missing(mask)),
            Condition::Convergent(mask) => all_if(!missing(mask)),
        }
    }

    /// Jumps through a register pair, or calls what the address names outside of the module.
    fn jump(
        &mut self,
        base: u64,
        offsets: [u64; WARP],
        next: u64,
        active: Mask,
        machine: &Machine<'_>,
        block: &mut BlockState,
    ) -> Result<Next, Halt> {
        let mut targets = offsets.map(|offset| base.wrapping_add(offset));
        let target = targets[self.state.first_active()];
        if let Some(function) = syscall::at(target) {
            let mut env = block.env(&machine.resources, &mut self.local, self.barrier_result);
            syscall::call(function, &mut self.state, &mut env)?;
            // The return address, as the ABI of CUDA passes it.
            targets = self.state.r_wide(20);
        }
        let mut known = None;
        for lane in lanes_of(active).filter(|&lane| known.replace(targets[lane]) != Some(targets[lane])) {
            if !machine.program.has_code(targets[lane]) {
                return Err(Halt::fault(lane, FaultKind::BadJump(targets[lane])));
            }
        }
        self.threads.scatter(active, &targets, next);
        Ok(Next::Continue)
    }

    /// `BAR`.
    fn barrier(&mut self, flow: &Flow, next: u64, active: Mask, block: &mut BlockState) -> Result<Next, Halt> {
        let Flow::Barrier { id, count, wait, reduction } = *flow else { return Ok(Next::Continue) };
        let id = id.scalar(&self.state);
        let expected = match count {
            Count::Operand(count) => count.scalar(&self.state),
            Count::WithId => id >> 16 & 0xfff,
        };
        let expected = (expected != 0).then_some(expected);
        // Four bits name a barrier.
        let id = id as u8 & 15;
        let reduction = reduction.map(|(reduction, predicate)| (reduction, predicate.mask(&self.state)));
        let warp = self.state.identity.warp as usize;
        let arrival = Arrival { warp, lanes: active, expected, reduction };
        let misuse = |rule| Halt::fault(self.state.first_active(), FaultKind::Misuse(rule));
        block.barriers.arrive(id, arrival).map_err(misuse)?;
        if wait {
            self.threads.wait_at_barrier(id, active, next);
            return Ok(Next::Continue);
        }
        self.go_on(next)?;
        // A barrier that others wait for may now be complete: let the block look.
        Ok(Next::Choose)
    }
}
