//! A warp: fetch, guard, execute.

mod straight;

use crate::access::AccessLog;
use crate::barrier::{Arrival, BarrierResult, Barriers};
use crate::cluster::ClusterState;
use crate::exec::constant::outside;
use crate::flow::{Condition, Count, Flow, MaskSrc};
use crate::helpers::Helpers;
use crate::machine::{Halt, Machine};
use crate::program::{Action, Env, INSTRUCTION, Op, Section};
use crate::space::{LocalMemory, Spaces};
use crate::state::{Mask, State, WARP, lanes_of};
use crate::stats::Counts;
use crate::strict::{Hazards, Issue};
use crate::syscall;
use crate::threads::{Threads, Wait};
use oriole_device::FaultKind;
use straight::RowEnd;

/// Instructions that one group of diverged threads executes before the next has its turn, which it gets where the group
/// goes backwards: only loops can keep the others waiting, and elsewhere ptxas holds in uniform registers, which all
/// groups of a warp share, what one of them is about to read (sm_90 and later).
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
    /// Rank of the block in its cluster.
    pub(crate) rank: usize,
    /// What the blocks of its cluster share, while the block runs.
    pub(crate) cluster: ClusterState,
    /// Registers per thread that warps have given back, all together.
    pub(crate) register_pool: u32,
    /// Waits that try again have run out: those that look again now are told that what they wait for has not come.
    pub(crate) expired: bool,
    /// The instruction at hand is tried again.
    retries: bool,
    /// What memory the instruction at hand touches, for those who look at each.
    pub(crate) log: Option<Box<AccessLog>>,
}

impl BlockState {
    /// A block of this rank in its cluster whose warps have these living threads, at its start.
    pub(crate) fn new(shared_size: u64, rank: usize, live: Vec<Mask>) -> Self {
        BlockState {
            shared: vec![0; shared_size.div_ceil(4) as usize],
            shared_size,
            barriers: Barriers::new(live),
            printed: Vec::new(),
            turn: false,
            ordered_since: None,
            instructions: 0,
            rank,
            cluster: ClusterState::default(),
            register_pool: 0,
            expired: false,
            retries: false,
            log: None,
        }
    }

    /// What an instruction of a warp with this local memory can reach.
    fn env<'e>(
        &'e mut self,
        machine: &'e Machine<'e>,
        local: &'e mut [LocalMemory; WARP],
        barrier_result: BarrierResult,
    ) -> Env<'e> {
        let spaces = Spaces {
            machine,
            shared: &mut self.shared,
            shared_size: self.shared_size,
            rank: self.rank,
            peers: &mut self.cluster.peers,
            local,
        };
        Env {
            spaces,
            printed: &mut self.printed,
            barrier_result,
            turn: self.turn,
            ordered_since: &mut self.ordered_since,
            instructions: self.instructions,
            signals: &mut self.cluster.signals,
            register_pool: &mut self.register_pool,
            columns: &mut self.cluster.columns,
            is_last_try: self.expired && self.retries,
            log: self.log.as_deref_mut(),
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
    /// Instructions that the current group has executed since the last rotation.
    group_slice: u32,
    helpers: Helpers,
}

/// An instruction that a warp issues.
#[derive(Clone, Copy)]
pub(crate) struct Issued<'p> {
    /// Its code address.
    pub(crate) pc: u64,
    /// What it is; its touches are there under `--strict` only.
    pub(crate) op: &'p Op,
    /// The threads of the group that issues it.
    pub(crate) group: Mask,
    /// Those that the guard lets through.
    pub(crate) active: Mask,
}

/// What a warp did when it was asked for one instruction.
pub(crate) enum Step<'p> {
    /// It executed this one.
    #[allow(dead_code, reason = "for the timing model and the memory checks")]
    Issued(Issued<'p>),
    /// Nothing, because it cannot.
    Paused(Pause),
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
            state,
            threads,
            barrier_result: BarrierResult::default(),
            local: Box::new(std::array::from_fn(|_| LocalMemory::default())),
            group_slice: 0,
            helpers: Helpers::default(),
        }
    }

    /// Runs for up to `left` instructions, and takes those executed from it.
    pub(crate) fn run(
        &mut self,
        machine: &Machine<'_>,
        block: &mut BlockState,
        left: &mut u32,
        counts: &mut Counts,
    ) -> Result<Pause, Stop> {
        let is_watched = self.hazards.is_some() || block.log.is_some();
        while *left > 0 {
            if !is_watched {
                if self.run_row(machine, block, left, counts)? == RowEnd::NeedsTurn {
                    return Ok(Pause::NeedsTurn);
                }
                if *left == 0 {
                    break;
                }
            }
            match self.step_one(machine, block, counts)? {
                Step::Issued(_) => *left -= 1,
                Step::Paused(pause) => return Ok(pause),
            }
        }
        Ok(Pause::Slice)
    }

    /// The instruction that the warp would issue now; `Err` with the reason if it has none.
    ///
    /// Makes a group that can run the current one, and changes nothing else.
    pub(crate) fn upcoming<'p>(&mut self, machine: &Machine<'p>) -> Result<Result<Issued<'p>, Pause>, Stop> {
        let is_runnable = self.threads.group().is_some_and(|group| group.wait == Wait::Nothing);
        if !is_runnable && !self.choose() {
            return Ok(Err(if self.threads.alive == 0 { Pause::Finished } else { Pause::Blocked }));
        }
        let Some((pc, group)) = self.threads.group().map(|group| (group.pc, group.mask)) else {
            return Ok(Err(Pause::Finished));
        };
        let group = group | self.helpers.lanes();
        let bad_jump = || Stop { pc, lane: self.first_lane(), kind: FaultKind::BadJump(pc) };
        let section = machine.program.section(pc).filter(|_| pc % INSTRUCTION == 0).ok_or_else(bad_jump)?;
        let op = op_at(section, machine.program.ops(section), pc).ok_or_else(bad_jump)?;
        Ok(Ok(Issued { pc, op, group, active: op.guard.active(&self.state, group) }))
    }

    /// Executes one instruction of one group, for those who look at each: the timing model and the
    /// checks of memory. What it touches is in `block.log` afterwards, if there is a log. Groups that find that they
    /// have to wait make way for the next; when all do, the warp is blocked.
    pub(crate) fn step_one<'p>(
        &mut self,
        machine: &Machine<'p>,
        block: &mut BlockState,
        counts: &mut Counts,
    ) -> Result<Step<'p>, Stop> {
        loop {
            let issued = match self.upcoming(machine)? {
                Ok(issued) => issued,
                Err(pause) => return Ok(Step::Paused(pause)),
            };
            let stop = |lane, kind| Stop { pc: issued.pc, lane, kind };
            if block.instructions >= machine.max_instructions {
                return Err(stop(self.first_lane(), FaultKind::InstructionLimit(machine.max_instructions)));
            }
            if let Some(log) = &mut block.log {
                log.clear();
            }
            block.retries = self.threads.group_mut().is_some_and(|group| std::mem::take(&mut group.retries));
            if !block.retries {
                self.judge(&issued, machine).map_err(|kind| stop(self.first_lane(), kind))?;
            }
            match self.execute(issued.op, issued.pc, issued.active, machine, block) {
                Ok(next) => {
                    self.executed(&issued, next, machine, block, counts);
                    return Ok(Step::Issued(issued));
                }
                Err(Halt::NeedsTurn) => {
                    self.threads.retry();
                    return Ok(Step::Paused(Pause::NeedsTurn));
                }
                Err(Halt::NotYet(wait)) => {
                    self.threads.wait_and_retry(wait);
                    self.choose();
                }
                Err(Halt::Fault { lane, kind }) => return Err(stop(lane, kind)),
            }
        }
    }

    /// Counts an instruction that has been executed, and lets another group have its turn where that is due.
    fn executed(
        &mut self,
        issued: &Issued<'_>,
        next: Next,
        machine: &Machine<'_>,
        block: &mut BlockState,
        counts: &mut Counts,
    ) {
        block.instructions += 1;
        self.state.clock += 1;
        self.group_slice += 1;
        counts.record(issued.op, issued.group, issued.active);
        if let Some(checker) = &machine.checker {
            checker.executed(issued, self, block);
        }
        let goes_back = self.threads.group().is_some_and(|group| group.pc <= issued.pc);
        if goes_back && self.is_slice_over() || matches!(next, Next::Choose) {
            self.choose();
        }
    }

    /// Whether other groups may have their turn after this one's slice.
    fn may_rotate(&self) -> bool {
        self.threads.groups().len() > 1 && self.helpers.lanes() == 0
    }

    fn is_slice_over(&self) -> bool {
        self.group_slice >= GROUP_SLICE && self.may_rotate()
    }

    fn choose(&mut self) -> bool {
        self.group_slice = 0;
        self.threads.rotate()
    }

    /// Strict simulation: judges the instruction that issues now, and moves the group's clock.
    fn judge(&mut self, issued: &Issued<'_>, machine: &Machine<'_>) -> Result<(), FaultKind> {
        let Issued { pc, op, group, active } = *issued;
        let Some(hazards) = self.hazards.as_mut() else { return Ok(()) };
        let (Some(inst), Some(watch), Some(running)) =
            (op.inst.as_deref(), op.watch.as_deref(), self.threads.group_mut())
        else {
            return Ok(());
        };
        let declared = self.state.identity.registers;
        if let Some(register) = watch.undeclared(declared) {
            return Err(FaultKind::UndeclaredRegister { register, declared });
        }
        let issue = Issue { inst, watch, pc, cycle: running.cycle, group, active };
        hazards.issue(&issue, |pc| machine.program.inst(pc)).map_err(FaultKind::Hazard)?;
        running.cycle += u64::from(inst.control.cycles());
        Ok(())
    }

    /// Executes one instruction for the `active` lanes of the current group.
    fn execute(
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
                Action::PastBank(offset, bytes) => {
                    return Err(Halt::fault(self.state.first_active(), outside(*offset, *bytes)));
                }
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
            Flow::Nowhere { target, condition } => match self.taken(condition, active, group) {
                0 => go_on(self),
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
            Flow::WholeQuads => {
                self.helpers = Helpers::of_quads(group, &self.state);
                go_on(self)
            }
            Flow::OwnThreads => {
                self.helpers.dismiss(&mut self.state);
                go_on(self)
            }
            Flow::WarpSync { mask, exclusive } => {
                let masks = match mask {
                    MaskSrc::All => [Mask::MAX; WARP],
                    MaskSrc::Operand(source) => source.bits(&self.state),
                };
                self.threads.warp_sync(active, &masks, exclusive, next);
                Ok(Next::Continue)
            }
            Flow::Yield => {
                go_on(self)?;
                Ok(Next::Choose)
            }
            Flow::Barrier { .. } => self.barrier(flow, next, active, block),
            Flow::ClusterArrive => {
                let (lane, warp) = (self.state.first_active(), self.state.identity.warp as usize);
                let arrived = block.cluster.barrier.arrive(block.rank, warp, group);
                arrived.map_err(|rule| Halt::fault(lane, FaultKind::Misuse(rule)))?;
                go_on(self)?;
                // Others may wait for it: let the cluster look.
                Ok(Next::Choose)
            }
            Flow::ClusterWait => {
                let (lane, warp) = (self.state.first_active(), self.state.identity.warp as usize);
                let waiting = block.cluster.barrier.wait(block.rank, warp, group);
                let waiting = waiting.map_err(|rule| Halt::fault(lane, FaultKind::Misuse(rule)))?;
                self.threads.wait_for_cluster(waiting, next);
                Ok(Next::Continue)
            }
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
            let mut env = block.env(machine, &mut self.local, self.barrier_result);
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
