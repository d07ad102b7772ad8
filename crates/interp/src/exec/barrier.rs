//! Barriers of the block: `bar`, `barrier`; and of the cluster: `barrier.cluster`.

use super::control::form;
use crate::arith::Unsupported;
use crate::barrier::Verdict;
use crate::code::{Action, Destination, Source};
use crate::compile::Builder;
use crate::machine::{Env, Halt};
use crate::state::{State, lanes_of};
use crate::threads::{Threads, Wait};
use crate::warp::{Next, Warp};
use oriole_device::FaultKind;
use oriole_ptx::ast::{Instruction, Modifier, Opcode, ScalarType, Scope, Word};

/// A barrier instruction.
pub(crate) struct BarrierOp {
    /// Which barrier.
    id: Source,
    /// For how many threads; all without one.
    threads: Option<Source>,
    /// What it does besides arriving.
    kind: Kind,
}

/// What a barrier instruction does.
enum Kind {
    /// `.arrive`: does not wait.
    Arrive,
    /// `.sync`: waits.
    Sync,
    /// `.red`: waits, and judges the predicates.
    Reduce { predicate: Source, to: Destination, judge: fn(Verdict) -> u32 },
}

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    if !matches!(inst.opcode, Opcode::Bar | Opcode::Barrier) || inst.has(Word::Warp) {
        return Ok(None);
    }
    if inst.modifiers.contains(&Modifier::Scope(Scope::Cluster)) {
        return Ok(Some(if inst.has(Word::Arrive) { Action::ClusterArrive } else { Action::ClusterWait }));
    }
    let operands = &inst.operands[..];
    let word = |word| inst.has(word);
    let (kind, rest) = if word(Word::Red) {
        let [to, rest @ .., predicate] = operands else { return Err(form("barrier.red")) };
        let (judge, ty): (fn(Verdict) -> u32, ScalarType) = match () {
            () if word(Word::And) => (|v| u32::from(v.votes == v.threads), ScalarType::Pred),
            () if word(Word::Or) => (|v| u32::from(v.votes > 0), ScalarType::Pred),
            () if word(Word::Popc) => (|v| v.votes, ScalarType::U32),
            () => return Err(form("barrier.red")),
        };
        let (to, predicate) = (builder.destination(to, ty)?, builder.source(predicate, ScalarType::Pred)?);
        (Kind::Reduce { predicate, to, judge }, rest)
    } else {
        (if word(Word::Arrive) { Kind::Arrive } else { Kind::Sync }, operands)
    };
    let [id, threads @ ..] = rest else { return Err(form("barrier")) };
    let id = builder.source(id, ScalarType::U32)?;
    let threads = threads.first().map(|threads| builder.source(threads, ScalarType::U32)).transpose()?;
    Ok(Some(Action::Barrier(Box::new(BarrierOp { id, threads, kind }))))
}

impl BarrierOp {
    /// Writes the result for threads that have passed.
    pub(crate) fn deliver(&self, state: &mut State, mask: u32, verdict: Verdict) {
        if let Kind::Reduce { to, judge, .. } = &self.kind {
            let result = u128::from(judge(verdict));
            lanes_of(mask).for_each(|lane| state.set(to, lane, result));
        }
    }
}

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
            Kind::Reduce { predicate, .. } => {
                lanes_of(together).filter(|&lane| self.state.get(predicate, lane) & 1 != 0).fold(0, |m, l| m | 1 << l)
            }
            _ => 0,
        };
        let id = usize::try_from(id).unwrap_or(usize::MAX);
        let arrived = env.block.barriers.arrive(id, self.number, together, threads, votes);
        arrived.map_err(|rule| Halt { lane, kind: FaultKind::Misuse(rule) })?;
        let group = self.threads.group_mut(at);
        if matches!(op.kind, Kind::Arrive) {
            group.pc = pc + 1;
            return Ok(Next::Go(at));
        }
        // `arrive` has accepted the number, which is below 16.
        group.wait = Wait::Barrier(id as u8);
        Ok(Next::Leave)
    }
}
