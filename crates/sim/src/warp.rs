//! A warp: fetch, guard, execute.

use crate::barrier::{Arrival, BarrierResult, Barriers};
use crate::flow::{Condition, Count, Flow, MaskSrc};
use crate::machine::{Halt, Machine};
use crate::program::{Action, Env, Guard, INSTRUCTION, Op, Section};
use crate::space::{LocalMemory, Spaces};
use crate::state::{Mask, State, WARP};
use crate::strict::{Hazards, Issue};
use crate::syscall;
use crate::threads::Threads;
use oriole_device::FaultKind;

/// Instructions that one group of diverged threads executes before the next has its turn.
const GROUP_SLICE: u32 = 256;

/// Why a warp gives up the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// All threads have exited.
    Finished,
    /// All threads wait.
    Blocked,
    /// Its slice is over.
    Slice,
    /// The block needs the turn.
    NeedsTurn,
}

/// What the warps of a block share.
pub(crate) struct BlockState {
    /// Shared memory, in words.
    pub(crate) shared: Vec<u32>,
    /// Bytes of shared memory.
    pub(crate) shared_size: u64,
    /// The barriers.
    pub(crate) barriers: Barriers,
    /// What the block has printed.
    pub(crate) printed: Vec<u8>,
    /// Whether it may do what depends on the order of blocks.
    pub(crate) turn: bool,
    /// Instructions that the block had executed when it first did something of that kind, or since
    /// it last passed on the turn.
    pub(crate) ordered_since: Option<u64>,
    /// Warp instructions executed.
    pub(crate) instructions: u64,
}

impl BlockState {
    /// What an instruction of a warp with this local memory can reach.
    fn env<'e>(
        &'e mut self,
        machine: &'e Machine<'e>,
        local: &'e mut [LocalMemory; WARP],
        barrier_result: BarrierResult,
    ) -> Env<'e> {
        let spaces = Spaces { machine, shared: &mut self.shared, shared_size: self.shared_size, local };
        Env {
            spaces,
            printed: &mut self.printed,
            barrier_result,
            turn: self.turn,
            ordered_since: &mut self.ordered_since,
            instructions: self.instructions,
        }
    }
}

/// Where a warp stopped for good.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    /// Code address of the instruction.
    pub(crate) pc: u64,
    /// The lane concerned.
    pub(crate) lane: usize,
    /// Why.
    pub(crate) kind: FaultKind,
}

/// One warp.
pub(crate) struct Warp {
    /// Its registers.
    pub(crate) state: State,
    /// Its threads.
    pub(crate) threads: Threads,
    /// The result of the last `BAR.RED`.
    pub(crate) barrier_result: BarrierResult,
    local: Box<[LocalMemory; WARP]>,
    /// What strict simulation knows.
    hazards: Option<Box<Hazards>>,
    /// The instruction at hand has been issued, and is executed again because the block had to wait
    /// for its turn.
    issued: bool,
    /// Instructions that the current group has executed since the last rotation.
    group_slice: u32,
}

/// What happens after an instruction.
enum Next {
    /// The group goes on.
    Continue,
    /// Another group, or none, has to be chosen.
    Choose,
}

impl Warp {
    /// A fresh warp with `threads` at their entry.
    pub(crate) fn new(state: State, threads: Threads, strict: bool) -> Self {
        let hazards = strict.then(|| Box::new(Hazards::new(state.identity.arch)));
        Warp {
            hazards,
            issued: false,
            state,
            threads,
            barrier_result: BarrierResult::default(),
            local: Box::new(std::array::from_fn(|_| LocalMemory::default())),
            group_slice: 0,
        }
    }

    /// Runs for up to `left` instructions, and takes those executed from it.
    pub(crate) fn run(
        &mut self,
        machine: &Machine<'_>,
        block: &mut BlockState,
        left: &mut u32,
        counts: &mut crate::stats::Counts,
    ) -> Result<Pause, Stop> {
        loop {
            let runnable = self.threads.group().is_some_and(|group| group.wait == crate::threads::Wait::Nothing);
            if !runnable && !self.choose() {
                return Ok(if self.threads.alive == 0 { Pause::Finished } else { Pause::Blocked });
            }
            match self.run_group(machine, block, left, counts)? {
                Some(pause) => return Ok(pause),
                None if *left == 0 => return Ok(Pause::Slice),
                None => {}
            }
        }
    }

    fn choose(&mut self) -> bool {
        self.group_slice = 0;
        self.threads.rotate()
    }

    /// Runs the current group until it stops, is over its slice or leaves its section.
    fn run_group(
        &mut self,
        machine: &Machine<'_>,
        block: &mut BlockState,
        left: &mut u32,
        counts: &mut crate::stats::Counts,
    ) -> Result<Option<Pause>, Stop> {
        let Some(pc) = self.threads.group().map(|group| group.pc) else { return Ok(None) };
        let lane = self.first_lane();
        let bad_jump = || Stop { pc, lane, kind: FaultKind::BadJump(pc) };
        let section = machine.program.section(pc).filter(|_| pc % INSTRUCTION == 0).ok_or_else(bad_jump)?;
        let ops = machine.program.ops(section);
        while *left > 0 {
            // A group that has been released or exited is looked up again by the caller.
            let Some(group) = self.threads.group() else { return Ok(None) };
            if group.wait != crate::threads::Wait::Nothing {
                return Ok(None);
            }
            let (pc, mask) = (group.pc, group.mask);
            let Some(op) = op_at(section, ops, pc) else { return Ok(None) };
            if block.instructions >= machine.max_instructions {
                let kind = FaultKind::InstructionLimit(machine.max_instructions);
                return Err(Stop { pc, lane: self.first_lane(), kind });
            }
            let active = self.active(op.guard, mask);
            self.issue(op, pc, mask, active, machine).map_err(|kind| Stop { pc, lane: self.first_lane(), kind })?;
            match self.step(op, pc, active, machine, block) {
                Ok(next) => {
                    self.issued = false;
                    block.instructions += 1;
                    self.state.clock += 1;
                    self.group_slice += 1;
                    *left -= 1;
                    counts.record(op, mask, active);
                    let over = self.group_slice >= GROUP_SLICE && self.threads.groups().len() > 1;
                    if over || matches!(next, Next::Choose) {
                        self.choose();
                        return Ok(None);
                    }
                }
                Err(Halt::NeedsTurn) => return Ok(Some(Pause::NeedsTurn)),
                Err(Halt::Fault { lane, kind }) => return Err(Stop { pc, lane, kind }),
            }
        }
        Ok(None)
    }

    /// Strict simulation: judges the instruction that issues now, and moves the group's clock.
    fn issue(&mut self, op: &Op, pc: u64, group: Mask, active: Mask, machine: &Machine<'_>) -> Result<(), FaultKind> {
        let Some(hazards) = self.hazards.as_mut().filter(|_| !self.issued) else { return Ok(()) };
        let (Some(inst), Some(touches), Some(running)) = (&op.inst, &op.touches, self.threads.group_mut()) else {
            return Ok(());
        };
        let declared = self.state.identity.registers;
        if let Some(highest) = touches.highest.filter(|&highest| u32::from(highest) >= declared) {
            return Err(FaultKind::UndeclaredRegister { register: format!("R{highest}"), declared });
        }
        let issue = Issue { inst, touches, pc, cycle: running.cycle, group, active };
        hazards.issue(&issue, |pc| machine.program.inst(pc)).map_err(FaultKind::Hazard)?;
        running.cycle += u64::from(inst.control.stall.max(1));
        self.issued = true;
        Ok(())
    }

    /// The lanes of `mask` that the guard lets through.
    fn active(&self, guard: Guard, mask: Mask) -> Mask {
        match guard {
            Guard::Always => mask,
            Guard::Predicate { number, negated } => {
                let value = self.state.p(number);
                mask & if negated { !value } else { value }
            }
            Guard::Uniform { number, negated } => {
                if self.state.up(number) != negated {
                    mask
                } else {
                    0
                }
            }
        }
    }

    /// Executes one instruction for the `active` lanes of the current group.
    fn step(
        &mut self,
        op: &Op,
        pc: u64,
        active: Mask,
        machine: &Machine<'_>,
        block: &mut BlockState,
    ) -> Result<Next, Halt> {
        let next = pc + INSTRUCTION;
        self.state.active = active;
        if active != 0 {
            match &op.action {
                Action::Nothing => {}
                Action::Compute(compute) => compute(&mut self.state),
                Action::Effect(effect) => {
                    let mut env = block.env(machine, &mut self.local, self.barrier_result);
                    effect(&mut self.state, &mut env)?;
                }
                Action::Flow(flow) => return self.flow(flow, next, active, machine, block),
                Action::Impossible(reason) => {
                    return Err(Halt::fault(self.state.first_active(), FaultKind::Unsupported(reason.to_string())));
                }
            }
        }
        if let Some(group) = self.threads.group_mut() {
            group.pc = next;
        }
        Ok(Next::Continue)
    }

    /// Executes one instruction of the flow families.
    fn flow(
        &mut self,
        flow: &Flow,
        next: u64,
        active: Mask,
        machine: &Machine<'_>,
        block: &mut BlockState,
    ) -> Result<Next, Halt> {
        let group = self.threads.group().map_or(0, |group| group.mask);
        let go_on = |warp: &mut Warp| {
            if let Some(group) = warp.threads.group_mut() {
                group.pc = next;
            }
            Ok(Next::Continue)
        };
        match *flow {
            Flow::Branch { target, condition } => {
                let taken = self.taken(condition, active, group);
                self.threads.branch(taken, target, next);
                Ok(Next::Continue)
            }
            Flow::Jump { base, offset } => self.jump(base, offset.wide_bits(&self.state), next, active, machine, block),
            Flow::Relative { offset, plus } => {
                let base = next.wrapping_add(plus.wide_scalar(&self.state));
                self.jump(base, offset.wide_bits(&self.state), next, active, machine, block)
            }
            Flow::Address { to, address } => {
                to.set_wide(&mut self.state, &[address.unwrap_or(next - INSTRUCTION); WARP]);
                go_on(self)
            }
            Flow::Exit(condition) => {
                let lanes = active & condition.mask(&self.state);
                self.threads.exit(lanes, next);
                block.barriers.live[self.state.identity.warp as usize] &= !lanes;
                Ok(Next::Continue)
            }
            Flow::SetConvergence(barrier) => {
                self.threads.set_convergence(barrier, active, active);
                go_on(self)
            }
            Flow::Converge(barrier, condition) => {
                self.threads.converge(barrier, active & condition.mask(&self.state), next);
                Ok(Next::Continue)
            }
            Flow::Break(barrier, condition) => {
                let lanes = active & condition.mask(&self.state);
                self.threads.break_out(barrier, lanes);
                go_on(self)
            }
            Flow::ReadConvergence { to, barrier, clear } => {
                let value = std::array::from_fn(|lane| self.threads.convergence(barrier, lane));
                to.set(&mut self.state, &value);
                if clear {
                    self.threads.set_convergence(barrier, 0, active);
                }
                go_on(self)
            }
            Flow::WriteConvergence(barrier, from) => {
                let value = from.bits(&self.state);
                for lane in self.state.active_lanes() {
                    self.threads.set_convergence(barrier, value[lane], 1 << lane);
                }
                go_on(self)
            }
            Flow::SaveActive(barrier) => {
                self.threads.set_convergence(barrier, group, active);
                go_on(self)
            }
            Flow::WarpSync(mask) => {
                let masks = match mask {
                    MaskSrc::All => [Mask::MAX; WARP],
                    MaskSrc::Operand(source) => source.bits(&self.state),
                };
                self.threads.warp_sync(active, &masks, next);
                Ok(Next::Continue)
            }
            Flow::Yield => {
                go_on(self)?;
                Ok(Next::Choose)
            }
            Flow::Barrier { .. } => self.barrier(flow, next, active, block),
            Flow::Trap => Err(Halt::fault(self.state.first_active(), FaultKind::Trap)),
        }
    }

    /// The lanes that take a branch.
    fn taken(&self, condition: Condition, active: Mask, group: Mask) -> Mask {
        let missing = |mask: crate::operand::Src| mask.int_scalar(&self.state) & self.threads.alive & !group != 0;
        let all_if = |take: bool| if take { active } else { 0 };
        match condition {
            Condition::Lanes(predicate) => active & predicate.mask(&self.state),
            Condition::Any => group,
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
            let mut env = block.env(machine, &mut self.local, self.barrier_result);
            syscall::call(function, &mut self.state, &mut env)?;
            // The return address, as the ABI of CUDA passes it.
            targets = self.state.r_wide(20);
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
        if let Some(group) = self.threads.group_mut() {
            group.pc = next;
        }
        // A barrier that others wait for may now be complete: let the block look.
        Ok(Next::Choose)
    }

    fn first_lane(&self) -> usize {
        let mask = self.threads.group().map_or(0, |group| group.mask);
        (mask.trailing_zeros() as usize).min(WARP - 1)
    }
}

/// The instruction at code address `pc`, if it lies in the section.
fn op_at<'p>(section: &Section, ops: &'p [Op], pc: u64) -> Option<&'p Op> {
    ops.get((pc.checked_sub(section.base)? / INSTRUCTION) as usize)
}
