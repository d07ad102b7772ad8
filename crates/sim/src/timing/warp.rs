//! A warp that replays its trace: where it is, and what it waits for.

use crate::access::PhaseKind;
use crate::timing::barrier::BlockBarriers;
use crate::timing::code::{Cost, Effect};
use crate::timing::copies::{Arrivals, Copies};
use crate::timing::phase::{PhaseName, PhaseStep, Phases};
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
    /// It sleeps no longer than until this phase is over.
    sleeps_at: Option<PhaseName>,
    /// The phase that it found not to be over, since it found one that was.
    open: Option<PhaseName>,
    /// Registers of a thread.
    registers: u32,
    shape: usize,
    /// The instruction just issued sleeps.
    slept: bool,
    /// Cycles that the next instruction has waited.
    stalls: Stalls,
}

impl Replay {
    /// A warp of a block, with the registers of a thread, that may issue its first instruction at `start`.
    pub(crate) fn new(
        trace: WarpTrace,
        (block, registers): (usize, u32),
        epoch: u32,
        quarter: usize,
        start: u64,
    ) -> Self {
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
            sleeps_at: None,
            open: None,
            registers,
            shape: 0,
            slept: false,
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
    pub(crate) fn readiness(
        &mut self,
        cost: &Cost,
        barriers: &BlockBarriers,
        phases: &Phases,
        pool: (u32, u64),
    ) -> Option<u64> {
        let mut found = Readiness { ready: self.issued_at + u64::from(self.stall > 0), stalls: Stalls::default() };
        found.until(self.issued_at + self.stall, StallReason::Wait);
        found.until(found.ready + self.jumped, StallReason::Branch);
        found.until(self.wakes(phases), StallReason::Sleeping);
        let is_clear = self.await_fetch(&mut found)
            && self.await_barriers(&mut found, barriers)
            && self.await_phases(&mut found, phases)
            && self.await_scoreboards(&mut found, cost.waits)
            && self.await_effect(&mut found, cost.effect, pool);
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
            let Some(over) = phases.over(step.phase.number) else { return false };
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

    fn await_effect(&self, found: &mut Readiness, effect: Effect, pool: (u32, u64)) -> bool {
        match effect {
            Effect::TakeRegisters(count) if self.wants(count) > 0 => {
                found.until(pool.1, StallReason::Barrier);
                self.wants(count) <= pool.0
            }
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
            match event.kind {
                EventKind::Arrive => arrive(event.barrier),
                EventKind::Sleep => self.slept = true,
                EventKind::Wait => {}
            }
            self.event += 1;
        }
        let steps = self.phase_steps();
        let (count, last) = (steps.len(), steps.last().copied());
        self.phase += count;
        self.open = match last {
            Some(PhaseStep { kind: PhaseKind::Open, phase, .. }) => Some(phase),
            Some(PhaseStep { kind: PhaseKind::Over, .. }) => None,
            _ => self.open,
        };
        self.sleeps_at = None;
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

    /// The copy to shared memory of that number is done; the arrivals that waited for it last.
    pub(crate) fn complete_copy(&mut self, number: u32, time: u64) -> Arrivals {
        let scoreboards = &mut self.scoreboards;
        self.copies.complete(number, time, |sb, time| scoreboards[usize::from(sb)].complete(time))
    }

    /// A matrix product that will be done at `time`; it ends a group or not.
    pub(crate) fn add_product(&mut self, time: u64, commits: bool) {
        self.open_product = self.open_product.max(time);
        if commits {
            self.products.push(self.open_product);
        }
    }

    /// The instruction just issued lets the warp sleep for `cycles`, if any thread executed it; at an mbarrier no longer
    /// than until the phase is over that it looked at.
    pub(crate) fn sleep(&mut self, now: u64, cycles: u64, at_mbarrier: bool) {
        if std::mem::take(&mut self.slept) {
            self.sleeps_until = now + cycles;
            self.sleeps_at = self.open.filter(|_| at_mbarrier);
        }
    }

    /// When it wakes, as far as is known.
    fn wakes(&self, phases: &Phases) -> u64 {
        let over = self.sleeps_at.and_then(|phase| phases.over(phase.number));
        over.map_or(self.sleeps_until, |over| self.sleeps_until.min(over))
    }

    /// It waits for something whose time is not known, or sleeps until something happens.
    pub(crate) fn looks_again(&self) -> bool {
        self.is_blocked || self.sleeps_at.is_some()
    }

    /// Registers of a thread that it has still to get to have `count`.
    pub(crate) fn wants(&self, count: u16) -> u32 {
        u32::from(count).saturating_sub(self.registers)
    }

    /// Gives registers to the pool of its block, or takes some, if that is what an instruction does at `now`; whether it gave some.
    pub(crate) fn change_registers(&mut self, effect: Effect, pool: &mut (u32, u64), now: u64) -> bool {
        let (Effect::GiveRegisters(count) | Effect::TakeRegisters(count)) = effect else { return false };
        let count = u32::from(count);
        let gives = count < self.registers;
        pool.0 = (pool.0 + self.registers).saturating_sub(count);
        if gives {
            pool.1 = pool.1.max(now);
        }
        self.registers = count;
        gives
    }

    /// The description of the shape of the product just issued.
    pub(crate) fn next_shape(&mut self) -> u32 {
        self.shape += 1;
        self.trace.shapes.get(self.shape - 1).copied().unwrap_or(0)
    }
}

fn reason(scoreboard: &Scoreboard) -> StallReason {
    if scoreboard.long { StallReason::LongScoreboard } else { StallReason::ShortScoreboard }
}
