//! A warp that replays its trace: where it is, and what it waits for.

use crate::access::PhaseKind;
use crate::timing::barrier::BlockBarriers;
use crate::timing::code::{Cost, Effect};
use crate::timing::copies::Copies;
use crate::timing::phase::{PhaseStep, Phases};
use crate::timing::request::Request;
use crate::timing::stats::{StallReason, Stalls};
use crate::timing::trace::{EventKind, WarpTrace};

/// A scoreboard: operations that are not done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scoreboard {
    /// Operations of which it is not known when they will be done.
    open: u32,
    /// When the others are.
    time: u64,
    /// They are of global or local memory, or textures.
    long: bool,
}

impl Scoreboard {
    /// An operation that is done at `time`, if that is known.
    pub(crate) fn set(&mut self, time: Option<u64>, long: bool) {
        self.long = long;
        match time {
            Some(time) => self.time = self.time.max(time),
            None => self.open += 1,
        }
    }

    /// An operation whose time was not known is done at `time`.
    pub(crate) fn complete(&mut self, time: u64) {
        self.open = self.open.saturating_sub(1);
        self.time = self.time.max(time);
    }
}

/// When an instruction may issue as far as its own warp is concerned, and what it waited for until then.
struct Readiness {
    ready: u64,
    stalls: Stalls,
}

impl Readiness {
    fn until(&mut self, time: u64, reason: StallReason) {
        if time > self.ready {
            self.stalls[reason as usize] += time - self.ready;
            self.ready = time;
        }
    }
}

/// What is known of the constant operand of a warp's next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstantOperand {
    /// The first level has not been asked.
    Unknown,
    /// It is there, or will be when the warp can issue.
    There,
    /// The line comes from the second level; the warp waits since that cycle.
    Comes {
        /// The line.
        line: u64,
        /// The cycle.
        since: u64,
    },
}

/// One warp.
pub(crate) struct Replay {
    trace: WarpTrace,
    run: usize,
    within: u32,
    /// Instructions issued.
    ordinal: u64,
    event: usize,
    phase: usize,
    request: usize,
    line: usize,
    /// The resident block that it belongs to.
    pub(crate) block: usize,
    /// Tells warps apart that come to the same slot one after the other.
    pub(crate) epoch: u32,
    /// The quarter and its place there.
    pub(crate) quarter: usize,
    /// It waits for something whose time is not known.
    pub(crate) is_blocked: bool,
    /// Scoreboards.
    pub(crate) scoreboards: [Scoreboard; 6],
    /// Copies to shared memory.
    pub(crate) copies: Copies,
    /// When groups of asynchronous matrix products are done.
    products: Vec<u64>,
    /// When the last product is.
    open_product: u64,
    /// The line of code that the next instruction is in.
    pub(crate) code_line: u64,
    /// When that line is in the caches of the quarter; `None`: it comes from the second level.
    pub(crate) fetched: Option<u64>,
    /// How the constant operand of the next instruction comes.
    pub(crate) operand: ConstantOperand,
    issued_at: u64,
    stall: u64,
    jumped: u64,
    sleeps_until: u64,
    /// Cycles that the next instruction has waited.
    stalls: Stalls,
}

impl Replay {
    /// A warp that may issue its first instruction at `start`.
    pub(crate) fn new(trace: WarpTrace, block: usize, epoch: u32, quarter: usize, start: u64) -> Self {
        Replay {
            trace,
            run: 0,
            within: 0,
            ordinal: 0,
            event: 0,
            phase: 0,
            request: 0,
            line: 0,
            block,
            epoch,
            quarter,
            is_blocked: false,
            scoreboards: [Scoreboard::default(); 6],
            copies: Copies::default(),
            products: Vec::new(),
            open_product: 0,
            code_line: 0,
            fetched: Some(start),
            operand: ConstantOperand::Unknown,
            issued_at: start,
            stall: 0,
            jumped: 0,
            sleeps_until: 0,
            stalls: Stalls::default(),
        }
    }

    /// The place of the next instruction; `None` at the end.
    #[inline]
    pub(crate) fn place(&self) -> Option<u32> {
        self.trace.runs.get(self.run).map(|run| run.start + self.within)
    }

    /// When the next instruction, which costs `cost`, may issue as far as the warp is concerned; `None`: it waits
    /// for something that has no time yet.
    pub(crate) fn readiness(&mut self, cost: &Cost, barriers: &BlockBarriers, phases: &Phases) -> Option<u64> {
        let mut found = Readiness { ready: self.issued_at + u64::from(self.stall > 0), stalls: Stalls::default() };
        found.until(self.issued_at + self.stall, StallReason::Wait);
        found.until(found.ready + self.jumped, StallReason::Branch);
        found.until(self.sleeps_until, StallReason::Sleeping);
        let is_clear = self.await_fetch(&mut found)
            && self.await_barriers(&mut found, barriers)
            && self.await_phases(&mut found, phases)
            && self.await_scoreboards(&mut found, cost.waits)
            && self.await_effect(&mut found, cost.effect);
        self.is_blocked = !is_clear;
        self.stalls = found.stalls;
        is_clear.then_some(found.ready)
    }

    fn await_fetch(&self, found: &mut Readiness) -> bool {
        let Some(time) = self.fetched else { return false };
        found.until(time, StallReason::NoInstruction);
        true
    }

    fn await_barriers(&self, found: &mut Readiness, barriers: &BlockBarriers) -> bool {
        let here = self.trace.events[self.event..].iter().take_while(|event| event.at == self.ordinal);
        for event in here.filter(|event| event.kind == EventKind::Wait) {
            let Some(released) = barriers.released(event.barrier, event.generation) else { return false };
            found.until(released, StallReason::Barrier);
        }
        true
    }

    fn await_phases(&self, found: &mut Readiness, phases: &Phases) -> bool {
        for step in self.phase_steps().iter().filter(|step| step.kind == PhaseKind::Over) {
            let Some(over) = phases.over(step.phase) else { return false };
            found.until(over, StallReason::Barrier);
        }
        true
    }

    /// What the next instruction does to phases of mbarriers.
    pub(crate) fn phase_steps(&self) -> &[PhaseStep] {
        let rest = self.trace.phases.get(self.phase..).unwrap_or_default();
        &rest[..rest.iter().take_while(|step| step.at == self.ordinal).count()]
    }

    fn await_scoreboards(&self, found: &mut Readiness, mask: u8) -> bool {
        let mut rest = mask & 63;
        while rest != 0 {
            let scoreboard = &self.scoreboards[rest.trailing_zeros() as usize];
            rest &= rest - 1;
            if scoreboard.open > 0 {
                return false;
            }
            found.until(scoreboard.time, reason(scoreboard));
        }
        true
    }

    fn await_effect(&self, found: &mut Readiness, effect: Effect) -> bool {
        match effect {
            Effect::WaitCount { scoreboard, left } if self.copies.uses(scoreboard) => {
                let Some(time) = self.copies.done_but(usize::from(left)) else { return false };
                found.until(time, StallReason::LongScoreboard);
                true
            }
            Effect::WaitCount { scoreboard, .. } => self.await_scoreboards(found, 1 << scoreboard),
            Effect::WaitProducts(left) => {
                if let Some(last) = self.products.len().checked_sub(usize::from(left) + 1) {
                    found.until(self.products[last], StallReason::Gmma);
                }
                true
            }
            _ => true,
        }
    }

    /// When the warp asks for the line of its next instruction if that is another than the one before: after a jump when
    /// the target could issue, and else while the instruction before issues, as its buffer runs ahead.
    pub(crate) fn fetch_time(&self) -> u64 {
        if self.jumped > 0 { self.issued_at + self.stall + self.jumped } else { self.issued_at }
    }

    /// The instruction could not issue at `now` for a reason that ends at `until`.
    pub(crate) fn hold(&mut self, now: u64, until: u64, reason: StallReason) {
        self.stalls[reason as usize] += until - now;
    }

    /// The request of the next instruction, which has one, with its lines.
    pub(crate) fn next_request(&mut self) -> (Request, std::ops::Range<usize>) {
        let request = self.trace.requests.get(self.request).copied().unwrap_or_default();
        let lines = self.line..self.line + request.lines as usize;
        self.request += 1;
        self.line = lines.end;
        (request, lines)
    }

    /// Lines of the trace.
    pub(crate) fn lines(&self, range: std::ops::Range<usize>) -> &[u64] {
        self.trace.lines.get(range).unwrap_or(&[])
    }

    /// The transfer of the next instruction's request, without taking it.
    pub(crate) fn peek_request(&self) -> Request {
        self.trace.requests.get(self.request).copied().unwrap_or_default()
    }

    /// Issues the next instruction at `now`: adds the cycles that it has waited to `stalls`, calls `arrive` for each
    /// barrier that it arrives at, and goes on to the one after it.
    pub(crate) fn issue(
        &mut self,
        now: u64,
        cost: &Cost,
        branch: u16,
        stalls: &mut Stalls,
        mut arrive: impl FnMut(u8),
    ) {
        let waited = (now - self.issued_at).saturating_sub(u64::from(self.stall > 0));
        let explained: u64 = self.stalls.iter().sum();
        self.stalls[StallReason::NotSelected as usize] += waited.saturating_sub(explained);
        for (sum, cycles) in stalls.iter_mut().zip(self.stalls) {
            *sum += cycles;
        }
        while let Some(event) = self.trace.events.get(self.event).filter(|event| event.at == self.ordinal) {
            if event.kind == EventKind::Arrive {
                arrive(event.barrier);
            }
            self.event += 1;
        }
        self.phase += self.phase_steps().len();
        self.operand = ConstantOperand::Unknown;
        self.issued_at = now;
        self.stall = u64::from(cost.stall);
        self.jumped = 0;
        self.ordinal += 1;
        self.within += 1;
        if self.trace.runs.get(self.run).is_some_and(|run| self.within >= run.length) {
            self.run += 1;
            self.within = 0;
            self.jumped = u64::from(branch);
        }
    }

    /// An instruction sets its scoreboards: results at `done`, if that is known, sources read at `read`.
    pub(crate) fn set_scoreboards(&mut self, cost: &Cost, done: Option<u64>, read: u64, is_long: bool) {
        if let Some(scoreboard) = cost.write_scoreboard {
            self.scoreboards[usize::from(scoreboard)].set(done, is_long);
        }
        if let Some(scoreboard) = cost.read_scoreboard {
            self.scoreboards[usize::from(scoreboard)].set(Some(read), false);
        }
    }

    /// `LDGDEPBAR` at `now`.
    pub(crate) fn end_copies(&mut self, scoreboard: Option<u8>, now: u64) {
        let scoreboards = &mut self.scoreboards;
        if let Some(scoreboard) = scoreboard {
            scoreboards[usize::from(scoreboard)].set(None, true);
        }
        self.copies.end(scoreboard, now, |sb, time| scoreboards[usize::from(sb)].complete(time));
    }

    /// A copy to shared memory of that group is done.
    pub(crate) fn complete_copy(&mut self, group: u32, time: u64) {
        let scoreboards = &mut self.scoreboards;
        self.copies.complete(group, time, |sb, time| scoreboards[usize::from(sb)].complete(time));
    }

    /// A matrix product that will be done at `time`; it ends a group or not.
    pub(crate) fn add_product(&mut self, time: u64, commits: bool) {
        self.open_product = self.open_product.max(time);
        if commits {
            self.products.push(self.open_product);
        }
    }

    /// The warp sleeps for so many cycles.
    pub(crate) fn sleep(&mut self, now: u64, cycles: u64) {
        self.sleeps_until = now + cycles;
    }
}

fn reason(scoreboard: &Scoreboard) -> StallReason {
    if scoreboard.long { StallReason::LongScoreboard } else { StallReason::ShortScoreboard }
}
