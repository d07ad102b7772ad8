//! What is known at a point of the code: the reads and writes that may not be done yet, on any path to it.

use crate::program::{Condition, LineId};
use oriole_isa::access::{Held, Register, SCOREBOARDS};
use oriole_isa::latency::Slot;
use smallvec::SmallVec;

/// No distance of the latency tables is longer than this many cycles.
pub(crate) const LONGEST: i32 = 64;
/// Events of one register and kind that are told apart; more are taken together.
const MOST: usize = 32;

/// A read or write whose register may still be busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// [`Register::index`].
    pub(crate) register: u16,
    /// A write, not a read.
    pub(crate) is_write: bool,
    /// The instruction.
    pub(crate) line: LineId,
    /// Where it names the register.
    pub(crate) slot: Slot,
    /// In a function that was called: the block of the call that it comes from; [`OWN`] for the function itself.
    pub(crate) site: u32,
    /// Clock at its issue, at the latest; 0 where `pending` says when it is done.
    pub(crate) issued: i32,
    /// It happened in threads for which this held, and holds still.
    pub(crate) condition: Condition,
    /// Scoreboards that tell when it is done; `None` if the latency tables do.
    pub(crate) pending: Option<Pending>,
}

/// The [`Event::site`] of what the function at hand does itself.
pub(crate) const OWN: u32 = u32::MAX;

/// What tells that an event is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    /// A wait for any of these scoreboards, a bit each.
    pub(crate) scoreboards: u8,
    /// The scoreboard whose settings are counted for `DEPBAR`.
    counted: Option<u8>,
    /// How often it has been set since, at least.
    passed: u8,
    /// The [`oriole_isa::access::Order`] that it is in, by index.
    pub(crate) order: Option<u8>,
    /// [`Held::ends_at_barrier`].
    pub(crate) ends_at_barrier: bool,
}

impl Pending {
    /// That of an instruction that issues now.
    pub(crate) fn new(held: &Held) -> Pending {
        let order = held.order.map(|order| order.index() as u8);
        Pending {
            scoreboards: held.scoreboards,
            counted: held.counted,
            passed: 0,
            order,
            ends_at_barrier: held.ends_at_barrier,
        }
    }

    /// What both paths promise.
    fn join(self, other: Pending) -> Pending {
        let same = self.counted == other.counted;
        Pending {
            scoreboards: self.scoreboards & other.scoreboards,
            counted: self.counted.filter(|_| same),
            passed: if same { self.passed.min(other.passed) } else { 0 },
            order: self.order.filter(|_| self.order == other.order),
            ends_at_barrier: self.ends_at_barrier && other.ends_at_barrier,
        }
    }
}

impl Event {
    fn key(&self) -> (u16, bool, LineId, u32, Slot) {
        (self.register, self.is_write, self.line, self.site, self.slot)
    }

    /// The weaker of two of one register and kind.
    fn join(self, other: Event) -> Event {
        let pending = match (self.pending, other.pending) {
            (Some(one), Some(two)) => Some(one.join(two)),
            (one, two) => one.or(two),
        };
        let condition = if self.condition == other.condition { self.condition } else { Condition::ALWAYS };
        Event { issued: self.issued.max(other.issued), condition, pending, ..self }
    }

    /// The same, seen from `clock`; `None` if it is over.
    pub(crate) fn seen_from(self, clock: i32) -> Option<Event> {
        let issued = self.issued - clock;
        match self.pending {
            Some(_) => Some(Event { issued: 0, ..self }),
            None => (issued > -LONGEST).then_some(Event { issued, ..self }),
        }
    }
}

/// What is known at the border of a block; clocks count from there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Sorted by [`Event::key`].
    pub(crate) events: Vec<Event>,
    /// Clock when each scoreboard was last set, if nobody has waited for it since; at the latest.
    pub(crate) set: [Option<i32>; SCOREBOARDS],
}

impl State {
    /// Adds what may come by another path. True if that changes anything.
    pub(crate) fn join(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.set.iter_mut().zip(other.set) {
            let latest = (*mine).max(theirs);
            changed |= latest != *mine;
            *mine = latest;
        }
        let mut merged = Vec::with_capacity(self.events.len().max(other.events.len()));
        let (mut mine, mut theirs) = (self.events.iter().peekable(), other.events.iter().peekable());
        loop {
            let next = match (mine.peek(), theirs.peek()) {
                (Some(one), Some(two)) if one.key() == two.key() => {
                    let joined = one.join(**two);
                    changed |= joined != **one;
                    mine.next();
                    theirs.next();
                    joined
                }
                (Some(one), two) if two.is_none_or(|two| one.key() < two.key()) => {
                    let one = **one;
                    mine.next();
                    one
                }
                (_, Some(two)) => {
                    let two = **two;
                    theirs.next();
                    changed = true;
                    two
                }
                _ => break,
            };
            merged.push(next);
        }
        let before = merged.len();
        merged = limited(merged);
        if merged.len() < before {
            changed = merged != self.events;
        }
        self.events = merged;
        changed
    }

    /// Sorts events that came in another order, and takes equal ones together.
    pub(crate) fn sorted(mut events: Vec<Event>, set: [Option<i32>; SCOREBOARDS]) -> State {
        events.sort_unstable_by_key(Event::key);
        events.dedup_by(|later, earlier| {
            let same = later.key() == earlier.key();
            if same {
                *earlier = earlier.join(*later);
            }
            same
        });
        State { events: limited(events), set }
    }
}

/// At most [`MOST`] events of each register and kind, or twice as many: what is beyond that is joined to the last one that the same
/// scoreboards tell of, so that a wait for them is a wait for it, and only where there is none to the last one of its sort.
fn limited(events: Vec<Event>) -> Vec<Event> {
    let mut kept: Vec<Event> = Vec::with_capacity(events.len());
    let mut first_of_group = 0;
    for event in events {
        let group = (event.register, event.is_write);
        if kept.get(first_of_group).is_none_or(|first| (first.register, first.is_write) != group) {
            first_of_group = kept.len();
        }
        let same_sort = |other: &Event| other.pending.is_some() == event.pending.is_some() && other.site == event.site;
        let scoreboards = |event: &Event| event.pending.map(|pending| pending.scoreboards);
        let alike = |other: &Event| same_sort(other) && scoreboards(other) == scoreboards(&event);
        let group = &mut kept[first_of_group..];
        let last = |least: usize, sort: &dyn Fn(&Event) -> bool| match group.len() < least {
            true => None,
            false => group.iter().rposition(sort),
        };
        match last(MOST, &alike).or_else(|| last(2 * MOST, &same_sort)) {
            Some(at) => group[at] = group[at].join(event),
            None => kept.push(event),
        }
    }
    kept
}

/// The events within a block, by register.
#[derive(Debug)]
pub(crate) struct Events {
    by_register: Vec<SmallVec<[Event; 2]>>,
    /// Registers that have any, a bit each.
    present: [u64; Register::COUNT.div_ceil(64)],
}

impl Events {
    /// None.
    pub(crate) fn new() -> Self {
        Events { by_register: vec![SmallVec::new(); Register::COUNT], present: Default::default() }
    }

    /// Those of a register.
    pub(crate) fn of(&self, register: usize) -> &[Event] {
        &self.by_register[register]
    }

    /// Adds one; an earlier one of the same place gives way.
    pub(crate) fn add(&mut self, event: Event) {
        let register = usize::from(event.register);
        let list = &mut self.by_register[register];
        list.retain(|other| other.key() != event.key());
        list.push(event);
        self.present[register / 64] |= 1 << (register % 64);
    }

    /// Keeps those of a register that `keep` accepts.
    pub(crate) fn retain_of(&mut self, register: usize, keep: impl FnMut(&mut Event) -> bool) {
        self.by_register[register].retain(keep);
    }

    /// Keeps those that `keep` accepts. Returns how many there were.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&mut Event) -> bool) -> usize {
        let mut count = 0;
        for (at, present) in self.present.iter_mut().enumerate() {
            let mut bits = *present;
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let list = &mut self.by_register[64 * at + bit as usize];
                count += list.len();
                list.retain(&mut keep);
                if list.is_empty() {
                    *present &= !(1 << bit);
                }
            }
        }
        count
    }

    /// Takes all out, as a state seen from `clock`.
    pub(crate) fn take(&mut self, clock: i32) -> Vec<Event> {
        let mut all = Vec::new();
        self.retain(|event| {
            all.extend(event.seen_from(clock));
            false
        });
        all
    }
}

impl Event {
    /// A wait for all but the last `left` that a scoreboard counts ends it.
    pub(crate) fn ends_with_but(&self, scoreboard: u8, left: u8) -> bool {
        self.pending.is_some_and(|pending| pending.counted == Some(scoreboard) && pending.passed >= left)
    }

    /// `scoreboard` is set by an instruction that comes later in these orders (a bit each). Others say nothing: they may be done before, and
    /// `DEPBAR` counts how many are not.
    pub(crate) fn is_followed_on(&mut self, scoreboard: u8, orders: u32) {
        let Some(pending) = &mut self.pending else { return };
        if pending.order.is_none_or(|order| orders >> order & 1 == 0) {
            return;
        }
        pending.scoreboards |= 1 << scoreboard;
        match pending.counted {
            Some(counted) if counted == scoreboard => pending.passed = pending.passed.saturating_add(1),
            Some(_) => {}
            None => (pending.counted, pending.passed) = (Some(scoreboard), 0),
        }
    }
}
