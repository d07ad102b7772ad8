//! A warp: its groups of threads in turn, operation by operation.

mod barrier;
mod call;
mod collective;

use crate::code::{Action, Function, Op};
use crate::env::{Env, Halt};
use crate::lane::Lane;
use crate::lanes::lanes_of;
use crate::pc::Pc;
use crate::state::State;
use crate::threads::Threads;
use oriole_device::FaultKind;

/// Cost that a group may spend before another group of the warp has its turn.
const GROUP_SLICE: u64 = 256;

/// A warp.
pub(crate) struct Warp {
    /// Where its threads are.
    pub(crate) threads: Threads,
    /// Their registers and local memory.
    pub(crate) state: State,
    /// Its number in the block.
    pub(crate) number: usize,
    /// The group that has the next turn.
    turn: usize,
}

/// A fault and its place.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    /// The function.
    pub(crate) function: u32,
    /// The operation.
    pub(crate) pc: Pc,
    /// Linear number of the thread in its block.
    pub(crate) thread: u32,
    /// What.
    pub(crate) kind: FaultKind,
}

/// What becomes of a group after an operation that is not straight on.
pub(crate) enum Next {
    /// The group of this number goes on.
    Go(usize),
    /// The group waits or is no more.
    Leave,
}

impl Warp {
    /// A warp whose threads of `mask` are at the start of the kernel.
    pub(crate) fn new(number: usize, mask: u32, kernel: u32, state: State) -> Warp {
        Warp { threads: Threads::new(mask, kernel), state, number, turn: 0 }
    }

    /// Runs until nothing in the warp can run, or for about `slice` instructions; whether something
    /// ran.
    pub(crate) fn run(&mut self, env: &mut Env<'_>, functions: &[Function<'_>], slice: u64) -> Result<bool, Stop> {
        let start = env.block.instructions;
        while env.block.instructions - start < slice {
            match self.threads.next_runnable(self.turn) {
                Some(at) => {
                    self.turn = at + 1;
                    self.run_group(env, functions, at)?;
                }
                None if self.gather_again(functions) => {}
                // Threads that wait for members of the warp may wait for those at meeting points.
                None if self.threads.waits_for_members() && self.threads.release_all() => {}
                None => break,
            }
        }
        Ok(env.block.instructions != start)
    }

    fn run_group(&mut self, env: &mut Env<'_>, functions: &[Function<'_>], mut at: usize) -> Result<(), Stop> {
        let mut spent = 0;
        loop {
            let group = &self.threads.groups()[at];
            let (function, mask, stop, mut pc) = (group.function, group.mask, group.stop, group.pc);
            self.state.base = group.base;
            let ops = &functions[function as usize].ops[..];
            let outcome = loop {
                if spent >= GROUP_SLICE || pc == stop {
                    break Ok(None);
                }
                let op = &ops[pc as usize];
                spent += u64::from(op.cost);
                self.state.clock += 1;
                env.block.instructions += 1;
                let active = op.guard.map_or(mask, |(slot, wanted)| self.state.guard(slot, wanted, mask));
                env.block.thread_instructions += u64::from(active.count_ones());
                if active != 0 {
                    match self.straight(env, op, active) {
                        Ok(true) => {}
                        Ok(false) => break Ok(Some((op, active))),
                        Err(halt) => break Err(halt),
                    }
                }
                pc += 1;
            };
            self.threads.group_mut(at).pc = pc;
            let next = match outcome {
                Ok(Some((op, active))) => self.branch_off(env, functions, at, op, active),
                Ok(None) if pc == stop => Ok(self.threads.arrive(at).map_or(Next::Leave, Next::Go)),
                Ok(None) => Ok(Next::Leave),
                Err(halt) => Err(halt),
            };
            match next {
                Ok(Next::Go(same_or_other)) => at = same_or_other,
                Ok(Next::Leave) => break,
                Err(Halt { lane, kind }) => {
                    return Err(Stop { function, pc, thread: self.thread(lane), kind });
                }
            }
        }
        env.block.spent += spent;
        self.threads.lose_patience(at, spent);
        Ok(())
    }

    /// Linear number of a lane's thread in its block.
    pub(crate) fn thread(&self, lane: usize) -> u32 {
        (self.number * crate::lanes::WARP + lane) as u32
    }

    /// Executes an operation that goes straight on; `false`, and nothing done, for others.
    #[inline]
    fn straight(&mut self, env: &mut Env<'_>, op: &Op<'_>, active: u32) -> Result<bool, Halt> {
        match &op.action {
            Action::Nothing => {}
            Action::Copy(source, destination) => {
                for lane in lanes_of(active) {
                    let value = self.state.get(source, lane);
                    self.state.set(destination, lane, value);
                }
            }
            Action::Arithmetic(arithmetic) => arithmetic.run(&mut self.state, active),
            Action::Lanes(run) => {
                for lane in lanes_of(active) {
                    let mut thread = Lane { lane, state: &mut self.state, env: &mut *env };
                    run(&mut thread).map_err(|kind| Halt { lane, kind })?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Executes an operation that changes which threads run, or where. The group stands at it.
    fn branch_off(
        &mut self,
        env: &mut Env<'_>,
        functions: &[Function<'_>],
        at: usize,
        op: &Op<'_>,
        active: u32,
    ) -> Result<Next, Halt> {
        let group = &self.threads.groups()[at];
        let (mask, next) = (group.mask, group.pc + 1);
        let lane = Threads::first_lane(active);
        let fault = |kind| Err(Halt { lane, kind });
        match &op.action {
            Action::Branch { target, meet } => {
                if active == mask {
                    self.threads.group_mut(at).pc = *target;
                } else {
                    self.threads.split(at, active, *target, *meet);
                    self.threads.group_mut(at).pc = next;
                }
                Ok(Next::Go(at))
            }
            Action::BranchTable { index, targets, meet } => {
                let mut parts = vec![(mask & !active, next)];
                for lane in lanes_of(active) {
                    let index = self.state.get(index, lane);
                    let target = usize::try_from(index).ok().and_then(|index| targets.get(index));
                    let Some(&target) = target else {
                        let rule = format!("branch {index} of a table of {}", targets.len());
                        return Err(Halt { lane, kind: FaultKind::Misuse(rule) });
                    };
                    add_part(&mut parts, target, lane);
                }
                Ok(Next::Go(self.scatter(at, &parts, *meet)))
            }
            Action::Call(call) => self.call(env, functions, at, call, active),
            Action::Return if self.threads.groups()[at].calls.is_empty() => Ok(self.exit(at, active)),
            Action::Return => self.return_from(functions, at, active),
            Action::Exit => Ok(self.exit(at, active)),
            Action::Collective(collective) => self.collective(functions, at, collective, active),
            Action::Warp(run) => self.together(env, functions, at, run, active),
            Action::Barrier(barrier) => self.barrier(env, at, barrier, active),
            Action::ClusterArrive => self.arrive_at_cluster(env, at, active),
            Action::ClusterWait => self.wait_for_cluster(env, at, active),
            Action::Yield => {
                self.threads.group_mut(at).pc = next;
                Ok(Next::Leave)
            }
            Action::Trap => fault(FaultKind::Trap),
            Action::Unsupported(reason) => fault(FaultKind::Unsupported(reason.clone())),
            // Executed by `straight`.
            Action::Nothing | Action::Copy(..) | Action::Arithmetic(_) | Action::Lanes(_) => Ok(Next::Go(at)),
        }
    }

    /// Sends the threads of group `at` to several places; gives a group that goes on.
    pub(crate) fn scatter(&mut self, at: usize, parts: &[(u32, Pc)], meet: Pc) -> usize {
        let mut parts = parts.iter().filter(|(mask, _)| *mask != 0);
        let Some(&(_, first)) = parts.next() else { return at };
        for &(mask, pc) in parts {
            self.threads.split(at, mask, pc, meet);
        }
        self.threads.group_mut(at).pc = first;
        at
    }

    /// Parts the threads of group `at` that the guard does not let through: they go on behind the
    /// operation, where the others meet them.
    pub(crate) fn part_inactive(&mut self, at: usize, active: u32) {
        let group = &self.threads.groups()[at];
        let (rest, next) = (group.mask & !active, group.pc + 1);
        if rest != 0 {
            self.threads.split(at, rest, next, next);
        }
    }

    fn exit(&mut self, at: usize, active: u32) -> Next {
        let group = self.threads.group_mut(at);
        group.pc += 1;
        let rest = group.mask & !active;
        self.threads.exit(at, active);
        match rest {
            0 => Next::Leave,
            _ => self.threads.group_of(Threads::first_lane(rest)).map_or(Next::Leave, Next::Go),
        }
    }
}

/// Adds a thread to the part that goes to `pc`.
fn add_part(parts: &mut Vec<(u32, Pc)>, pc: Pc, lane: usize) {
    match parts.iter_mut().find(|part| part.1 == pc) {
        Some(part) => part.0 |= 1 << lane,
        None => parts.push((1 << lane, pc)),
    }
}
