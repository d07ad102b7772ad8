//! A warp: fetch, guard, execute.

mod flow;
mod row;

use crate::barrier::BarrierResult;
use crate::block_state::BlockState;
use crate::exec::constant::outside;
use crate::halt::Halt;
use crate::helper_lanes::HelperLanes;
use crate::instruction::{Action, INSTRUCTION, Issued, Op};
use crate::lanes::{Mask, WARP};
use crate::machine::Machine;
use crate::observer::Moment;
use crate::old_values::OldValues;
use crate::program::{Program, Section};
use crate::space::LocalMemory;
use crate::state::State;
use crate::stats::Counts;
use crate::strict::{Hazards, Issue};
use crate::threads::{Threads, Wait};
use crate::warp_values::WarpValues;
use oriole_device::{Access, Deadline, FaultKind, Hazard};
use oriole_isa::{FenceSpace, Field, Inst, Opcode, latency};

/// Instructions that one group of diverged threads executes before the next has its turn, which it gets where the group
/// goes backwards: only loops can keep the others waiting, and elsewhere ptxas holds in uniform registers, which all
/// groups of a warp share, what one of them is about to read (sm_90 and later).
const GROUP_SLICE: u32 = 256;

/// Instructions with effects outside of registers after which the deadline is looked at: products of matrices take
/// milliseconds each.
const EFFECTS_BETWEEN_CHECKS: u32 = 16;

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
    /// Where what is read too early has its old value: these.
    old_values: Option<Box<OldValues>>,
    /// The same of uniform registers.
    warp_values: Option<Box<WarpValues>>,
    /// Instructions that the current group has executed since the last rotation.
    group_slice: u32,
    /// Effects until the deadline is looked at.
    effects_left: u32,
    helpers: HelperLanes,
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
    /// Bytes of the host that a warp takes, without its local memory and what strict simulation knows.
    pub(crate) const BYTES: usize = size_of::<Warp>() + State::REGISTER_BYTES + WARP * size_of::<LocalMemory>();

    /// A fresh warp with `threads` at their entry.
    pub(crate) fn new(state: State, threads: Threads, program: &Program) -> Self {
        let Program { strict, old_values, .. } = *program;
        let hazards = strict.then(|| Box::new(Hazards::new(state.identity.arch, old_values)));
        Warp {
            hazards,
            old_values: (strict && old_values).then(|| Box::new(OldValues::new())),
            warp_values: strict.then(|| Box::new(WarpValues::new())),
            state,
            threads,
            barrier_result: BarrierResult::default(),
            local: Box::new(std::array::from_fn(|_| LocalMemory::default())),
            group_slice: 0,
            effects_left: EFFECTS_BETWEEN_CHECKS,
            helpers: HelperLanes::default(),
        }
    }

    /// Bytes that its threads' local memory takes.
    pub(crate) fn local_bytes(&self) -> u64 {
        self.local.iter().map(LocalMemory::bytes).sum()
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
            let mut issued = match self.upcoming(machine)? {
                Ok(issued) => issued,
                Err(pause) => return Ok(Step::Paused(pause)),
            };
            let pc = issued.pc;
            let stop = |lane, kind| Stop { pc, lane, kind };
            if block.instructions >= machine.max_instructions {
                return Err(stop(self.first_lane(), FaultKind::InstructionLimit(machine.max_instructions)));
            }
            if let Some(log) = &mut block.log {
                log.clear();
            }
            block.retries = self.threads.group_mut().is_some_and(|group| std::mem::take(&mut group.retries));
            if !block.retries {
                self.judge(&issued, machine, block).map_err(|kind| stop(self.first_lane(), kind))?;
                self.take_old_values(&mut issued);
            }
            let result = self.execute(issued.op, issued.pc, issued.active, machine, block);
            if let Some(old) = &mut self.old_values {
                old.end(&mut self.state);
            }
            match result {
                Ok(next) => {
                    self.note_copies(&issued, block).map_err(|kind| stop(self.first_lane(), kind))?;
                    self.note_stores(&issued, block);
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
        if let (Some(values), Some(watch)) = (&mut self.warp_values, issued.op.watch.as_deref()) {
            // Threads whose guard does not hold are there all the same: one that was elected writes for them, as ptxas has it
            // (`@P0 R2UR.BROADCAST UR4, R6`).
            if issued.active != 0 {
                values.note(&self.state, watch, issued.group, issued.pc);
            }
        }
        if let (Some(observer), Some(log)) = (machine.observer, block.log.as_deref()) {
            let (shared, barriers) = (&block.shared, &block.barriers);
            observer.executed(&Moment { issued, state: &self.state, threads: &self.threads, shared, barriers, log });
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
    fn judge(&mut self, issued: &Issued<'_>, machine: &Machine<'_>, block: &mut BlockState) -> Result<(), FaultKind> {
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
        let inst_at = |pc| machine.program.inst(pc);
        let following = (1..).map_while(|place| inst_at(pc + place * INSTRUCTION));
        if let Some(slip) = watch.slip(inst, following, machine.program.arch) {
            return Err(FaultKind::Hazard(slip));
        }
        if let Some(early) = watch.early() {
            return Err(FaultKind::Hazard(early.clone()));
        }
        hazards.issue(&issue, inst_at).map_err(FaultKind::Hazard)?;
        running.cycle += u64::from(latency::cycles_to_next(inst, active != 0));
        block.cluster.tensor.issue(self.state.identity.warp, pc);
        if let Some(copies) = &mut block.copies {
            copies.issue(self.state.identity.warp, pc);
            if !copies.is_empty() {
                copies.come(&mut block.shared, |group| group.is_some_and(|group| hazards.is_done(group)));
            }
            if inst.opcode == Opcode::LDGSTS && !machine.program.old_values {
                block.log.get_or_insert_default();
            }
        }
        self.warp_values
            .as_ref()
            .map_or(Ok(()), |values| values.judge(&self.state, watch, active))
            .map_err(FaultKind::Hazard)
    }

    /// Gives registers that the instruction reads too early their old values, where that is no fault; so a guard may let other
    /// threads through.
    fn take_old_values(&mut self, issued: &mut Issued<'_>) {
        let (Some(old), Some(hazards), Some(watch)) = (&mut self.old_values, &self.hazards, &issued.op.watch) else {
            return;
        };
        old.begin(&mut self.state, watch, hazards.early(), issued.active);
        issued.active = issued.op.guard.active(&self.state, issued.group);
    }

    /// Strict simulation: a wait for what the warp has stored to tensor memory (`FENCE.VIEW.ASYNC.T`).
    fn note_stores(&self, issued: &Issued<'_>, block: &mut BlockState) {
        let is_wait = |inst: &Inst| inst.opcode == Opcode::FENCE && inst.get(Field::FENCE_SPACE) == FenceSpace::T;
        if self.hazards.is_some() && issued.op.inst.as_deref().is_some_and(is_wait) {
            block.cluster.tensor.stored(block.rank, self.state.identity.warp);
        }
    }

    /// Strict simulation: copies to shared memory that the instruction started, ended or touched.
    fn note_copies(&mut self, issued: &Issued<'_>, block: &mut BlockState) -> Result<(), FaultKind> {
        let (Some(hazards), Some(copies), Some(inst)) = (&self.hazards, &mut block.copies, &issued.op.inst) else {
            return Ok(());
        };
        match inst.opcode {
            _ if copies.is_empty() => {}
            Opcode::LDGSTS => {}
            Opcode::LDGDEPBAR => copies.end_group(hazards.setting(inst.control.write_scoreboard)),
            Opcode::ARRIVES => copies.come(&mut block.shared, |_| true),
            _ => {
                let touched = block.log.as_deref().and_then(|log| copies.touched(log, block.rank));
                if let Some((pc, access)) = touched.filter(|_| self.old_values.is_none()) {
                    return Err(FaultKind::Hazard(Hazard {
                        kind: if access == Access::Read { "read before a copy" } else { "write before a copy" },
                        register: "shared memory".to_owned(),
                        earlier: format!("LDGSTS at code address {pc:#x}"),
                        missing_cycles: 0,
                        remedy: "it needs a wait by DEPBAR for the group of the copy".to_owned(),
                    }));
                }
            }
        }
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
                    self.check_deadline(machine)?;
                    let mut env = block.env(&machine.resources, &mut self.local, self.barrier_result);
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

    /// Looks at the deadline now and then.
    fn check_deadline(&mut self, machine: &Machine<'_>) -> Result<(), Halt> {
        self.effects_left -= 1;
        if self.effects_left > 0 {
            return Ok(());
        }
        self.effects_left = EFFECTS_BETWEEN_CHECKS;
        let deadline = machine.deadline.as_ref().map_or(Ok(()), Deadline::check);
        deadline.map_err(|kind| Halt::fault(self.state.first_active(), kind))
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
