//! One instruction: what it finds not done yet, and what it leaves to be done.

use crate::program::{Condition, Line, LineId, Program};
use crate::state::{Event, Events, LONGEST, OWN, Pending, State};
use oriole_isa::access::{Register, SCOREBOARDS, Touch};
use oriole_isa::latency::{self, Row, SET_TO_WAIT, Slot};
use oriole_isa::{Arch, Inst, RegFile};

/// Something that an instruction does too early.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lapse {
    /// It touches a register that an earlier one is not done with.
    Register {
        /// What the earlier one does to it.
        event: Event,
        /// What this one does.
        writes: bool,
        /// Cycles that have passed at least, cycles that are needed, and the row of the tables that says so; `None`
        /// where a wait is needed.
        cycles: Option<(u8, u8, Row)>,
    },
    /// It waits for a scoreboard before that has been set.
    Wait {
        /// The scoreboard.
        scoreboard: u8,
        /// Cycles that are missing.
        missing: u8,
    },
}

/// The state within a block.
pub(crate) struct Machine<'p> {
    program: &'p Program,
    events: Events,
    set: [Option<i32>; SCOREBOARDS],
    clock: i32,
    /// Events looked at so far: a measure of the work.
    pub(crate) work: u64,
}

impl<'p> Machine<'p> {
    /// One that knows nothing yet.
    pub(crate) fn new(program: &'p Program) -> Self {
        Machine { program, events: Events::new(), set: Default::default(), clock: 0, work: 0 }
    }

    /// Starts at a border.
    pub(crate) fn enter(&mut self, state: &State) {
        self.events.take(0);
        state.events.iter().for_each(|event| self.events.add(*event));
        (self.set, self.clock) = (state.set, 0);
        self.work += state.events.len() as u64;
    }

    /// The state at the end of the block.
    pub(crate) fn leave(&mut self) -> State {
        let clock = self.clock;
        // A scoreboard that was set long enough ago may be waited for.
        let recent = |set: Option<i32>| set.map(|set| set - clock).filter(|set| *set > -i32::from(SET_TO_WAIT));
        State::sorted(self.events.take(clock), self.set.map(recent))
    }

    /// The instruction issues. `report` is told what it does too early.
    pub(crate) fn issue(&mut self, at: LineId, mut report: impl FnMut(Lapse)) {
        let line = &self.program.lines[at as usize];
        self.wait(line, &mut report);
        if !line.never {
            self.judge(line, &mut report);
        }
        self.set_scoreboards(line);
        if !line.never {
            self.record(at, line);
        }
        self.clock = self.clock.saturating_add(i32::from(line.inst.control.cycles()));
    }

    fn wait(&mut self, line: &Line, report: &mut impl FnMut(Lapse)) {
        for wait in &line.touches.waits {
            let scoreboard = wait.scoreboard;
            if wait.left > 0 {
                self.work += self.events.retain(|event| !event.ends_with_but(scoreboard, wait.left)) as u64;
                continue;
            }
            if let Some(set) = self.set[usize::from(scoreboard)].take() {
                let missing = i32::from(SET_TO_WAIT) - (self.clock - set);
                if missing > 0 && wait.in_control {
                    report(Lapse::Wait { scoreboard, missing: missing as u8 });
                }
            }
        }
        let all = line.touches.waits.iter().filter(|wait| wait.left == 0);
        let mask = all.fold(0u8, |mask, wait| mask | 1 << wait.scoreboard);
        if mask != 0 {
            let ends = |event: &Event| event.pending.is_some_and(|pending| pending.scoreboards & mask != 0);
            self.work += self.events.retain(|event| !ends(event)) as u64;
        }
    }

    fn judge(&mut self, line: &Line, report: &mut impl FnMut(Lapse)) {
        let touches = line.touches.reads.iter().map(|touch| (touch, false));
        for (touch, writes) in touches.chain(line.touches.writes.iter().map(|touch| (touch, true))) {
            for event in self.events.of(touch.register.index()) {
                if (event.is_write || writes) && self.may_meet(event, line, touch) {
                    self.compare(event, line, touch, writes, report);
                }
            }
            self.work += self.events.of(touch.register.index()).len() as u64;
        }
    }

    /// There are threads that do both, and nothing else keeps the order.
    fn may_meet(&self, event: &Event, line: &Line, touch: &Touch) -> bool {
        let order = event.pending.and_then(|pending| pending.order);
        let is_behind = order.is_some_and(|order| touch.behind >> order & 1 != 0);
        let guard = if touch.slot == Slot::Guard { Condition::ALWAYS } else { line.guard };
        let excluded = event.condition.excludes(guard) && tells_threads(event.condition, touch.register);
        !is_behind && !excluded
    }

    fn compare(&self, event: &Event, line: &Line, touch: &Touch, writes: bool, report: &mut impl FnMut(Lapse)) {
        if event.pending.is_some() {
            report(Lapse::Register { event: *event, writes, cycles: None });
            return;
        }
        let passed = self.clock - event.issued;
        if passed >= LONGEST {
            return;
        }
        let (needed, row) = self.distance(event, &line.inst, touch, writes);
        if passed < i32::from(needed) {
            let cycles = Some((passed.max(0) as u8, needed, row()));
            report(Lapse::Register { event: *event, writes, cycles });
        }
    }

    /// Cycles from the event to the touch of a later instruction, and which row of the tables says so.
    fn distance<'e>(
        &'e self,
        event: &'e Event,
        later: &'e Inst,
        touch: &'e Touch,
        writes: bool,
    ) -> (u8, impl Fn() -> Row + 'e) {
        let (earlier, arch) = (&self.program.lines[event.line as usize].inst, self.program.arch);
        let cycles = cycles_between((earlier, event.slot, event.is_write), (later, touch.slot, writes), arch);
        let row = move || match (event.is_write, writes) {
            (true, false) => latency::raw_row(earlier, event.slot, later, touch.slot, arch),
            (true, true) => latency::waw_row(earlier, event.slot, later, arch),
            (false, _) => latency::war_row(earlier, event.slot, later, arch),
        };
        (cycles, row)
    }

    /// The scoreboards of the instruction cover what comes before it in its orders.
    fn set_scoreboards(&mut self, line: &Line) {
        let bit = |order: Option<oriole_isa::access::Order>| order.map_or(0, |order| 1u32 << order.index());
        let (results, sources) = (bit(line.touches.results), bit(line.touches.sources));
        for (scoreboard, orders) in line.touches.sets.into_iter().zip([results | sources, sources]) {
            let Some(scoreboard) = scoreboard else { continue };
            self.set[usize::from(scoreboard)] = Some(self.clock);
            self.work += self.events.retain(|event| {
                event.is_followed_on(scoreboard, orders);
                true
            }) as u64;
        }
    }

    /// Remembers what the instruction reads and writes.
    fn record(&mut self, at: LineId, line: &Line) {
        if line.touches.is_barrier {
            self.work +=
                self.events.retain(|event| event.pending.is_none_or(|pending| !pending.ends_at_barrier)) as u64;
        }
        let event = |touch: &Touch, is_write: bool, issued: i32| Event {
            register: touch.register.index() as u16,
            is_write,
            line: at,
            slot: touch.slot,
            site: OWN,
            issued,
            condition: if touch.slot == Slot::Guard && !is_write { Condition::ALWAYS } else { line.guard },
            pending: touch.held.as_ref().map(Pending::new),
        };
        for touch in &line.touches.reads {
            self.events.add(event(touch, false, self.clock));
        }
        for touch in &line.touches.writes {
            self.overwrite(touch.register, line.guard);
            self.events.add(event(touch, true, self.clock));
        }
        for touch in &line.touches.writes {
            self.forget_conditions(touch.register);
        }
    }

    /// Who comes after this write comes after all that it comes after.
    fn overwrite(&mut self, register: Register, guard: Condition) {
        let same = |event: &Event| !guard.is_known() || event.condition == guard;
        self.events.retain_of(register.index(), |event| !same(event));
    }

    /// A predicate changes: what happened under it happened under something else.
    fn forget_conditions(&mut self, register: Register) {
        let uniform = match register.file() {
            RegFile::P => false,
            RegFile::UP => true,
            _ => return,
        };
        self.work += self.events.retain(|event| {
            if event.condition.is_about(uniform, register.number()) {
                event.condition = Condition::ALWAYS;
            }
            true
        }) as u64;
    }
}

/// Cycles of the tables from one instruction to a later one that names the same register: each with where it names it and whether
/// it writes it.
pub(crate) fn cycles_between(
    (earlier, place, is_write): (&Inst, Slot, bool),
    (later, slot, writes): (&Inst, Slot, bool),
    arch: Arch,
) -> u8 {
    match (is_write, writes) {
        (true, false) => latency::raw_at_least(earlier, place, later, slot, arch),
        (true, true) => latency::waw_at_least(earlier, place, later, arch),
        (false, _) => latency::war_at_least(earlier, place, later, arch),
    }
}

/// A condition of single threads says nothing of registers that the warp shares.
pub(crate) fn tells_threads(condition: Condition, register: Register) -> bool {
    condition.is_uniform() || matches!(register.file(), RegFile::R | RegFile::P)
}
