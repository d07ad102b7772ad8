//! Instruction and constant caches of a multiprocessor.
//!
//! Each quarter has an L0 instruction cache with a stream buffer, which asks for the lines after one that missed, and
//! a first level for the constants that are operands; loads of constants have one of their own. Behind them all is one
//! level, and behind that the second-level cache (Huerta et al., figure 3 and section 5.2).

use crate::timing::cache::Cache;
use crate::timing::lines::{constant_line, constant_parts};
use crate::timing::memory::{Ask, Message};
use oriole_isa::chip::{self, CONSTANT_LINE, CONSTANT_WAYS, Chip, INSTRUCTION_WAYS, LINE};
use std::collections::VecDeque;

/// All sectors of a line.
const WHOLE: u8 = 15;

/// The level behind the first ones.
struct Shared {
    cache: Cache,
    /// When it can take the next request: one a cycle.
    free: u64,
    latency: u64,
    outbox: Vec<Message>,
}

impl Shared {
    /// Asks for a line at `time`; when it comes, `None` if the second level has to be asked.
    fn ask(&mut self, line: u64, time: u64) -> Option<u64> {
        let start = self.free.max(time);
        self.free = start + 1;
        let (state, _) = self.cache.find_or_allocate(line);
        if state.valid != 0 {
            return Some((start + self.latency).max(state.ready));
        }
        if state.marked == 0 {
            state.marked = WHOLE;
            self.outbox.push(Message { time: start, line, sectors: WHOLE, ask: Ask::Fetch });
        }
        None
    }

    fn filled(&mut self, line: u64, time: u64) {
        if let Some(state) = self.cache.find(line) {
            (state.valid, state.marked, state.ready) = (WHOLE, 0, time);
        }
    }
}

/// A first level.
struct First {
    cache: Cache,
    /// The line used last, if it is there, and since when: most uses are of the same as the one before.
    recent: Option<(u64, u64)>,
    /// Lines on their way; one that had to go before it came counts on.
    coming: u32,
}

impl First {
    fn new(bytes: u32, line: u64, ways: usize) -> Self {
        First { cache: Cache::of_neighbours((u64::from(bytes) / line) as usize, ways), recent: None, coming: 0 }
    }

    /// When the line of that number, which is there or on its way, can be used; `Some(None)`: not known yet.
    fn find(&mut self, number: u64) -> Option<Option<u64>> {
        if let Some((_, ready)) = self.recent.filter(|(recent, _)| *recent == number) {
            return Some(Some(ready));
        }
        let state = self.cache.find(number)?;
        let ready = (state.marked == 0).then_some(state.ready);
        self.recent = ready.map(|ready| (number, ready));
        Some(ready)
    }

    /// Takes in a line that comes at `arrival`.
    fn insert(&mut self, number: u64, arrival: Option<u64>) {
        let (state, _) = self.cache.find_or_allocate(number);
        state.marked = if arrival.is_some() { 0 } else { WHOLE };
        state.ready = arrival.unwrap_or(0);
        self.coming += u32::from(arrival.is_none());
        self.recent = arrival.map(|arrival| (number, arrival));
    }

    fn filled(&mut self, number: u64, time: u64) {
        if self.coming == 0 {
            return;
        }
        if let Some(state) = self.cache.find(number).filter(|state| state.marked != 0) {
            (state.marked, state.ready) = (0, time);
            self.coming -= 1;
            self.recent = Some((number, time));
        }
    }

    /// A part of a constant bank that is wanted at `time`.
    fn constant(&mut self, shared: &mut Shared, part: u64, time: u64) -> Option<u64> {
        let arrival = self.find(part).unwrap_or_else(|| {
            let arrival = shared.ask(constant_line(part), time);
            self.insert(part, arrival);
            arrival
        });
        arrival.map(|arrival| arrival.max(time))
    }
}

/// What a quarter has.
struct Quarter {
    instructions: First,
    /// Lines that were asked for ahead, in order, and when they come if that is known.
    stream: VecDeque<(u64, Option<u64>)>,
    constants: First,
}

/// The caches of a multiprocessor. Where they are told to have no bytes, all is always at hand.
pub(crate) struct FrontEnd {
    description: chip::FrontEnd,
    quarters: [Quarter; 4],
    loads: First,
    shared: Shared,
    /// The last line of code that anything executes.
    last: u64,
}

impl FrontEnd {
    /// Empty caches; the code ends with line `last`.
    pub(crate) fn new(chip: &Chip, last: u64) -> Self {
        let description = chip.front_end.clone();
        let (ways, shared_ways) = INSTRUCTION_WAYS;
        let constants = || First::new(description.constant_bytes, CONSTANT_LINE, CONSTANT_WAYS);
        let quarter = || Quarter {
            instructions: First::new(description.instruction_bytes, LINE, ways),
            stream: VecDeque::new(),
            constants: constants(),
        };
        FrontEnd {
            quarters: std::array::from_fn(|_| quarter()),
            loads: constants(),
            shared: Shared {
                cache: Cache::of_neighbours((u64::from(description.shared_bytes) / LINE) as usize, shared_ways),
                free: 0,
                latency: description.shared_latency.into(),
                outbox: Vec::new(),
            },
            description,
            last,
        }
    }

    /// When a warp of quarter `q` that wants a line of code at `time` has it; `None`: [`FrontEnd::filled`] will tell.
    pub(crate) fn fetch(&mut self, q: usize, line: u64, time: u64) -> Option<u64> {
        if self.description.instruction_bytes == 0 {
            return Some(time);
        }
        let Quarter { instructions, stream, .. } = &mut self.quarters[q];
        if let Some(arrival) = instructions.find(line) {
            return arrival.map(|arrival| arrival.max(time));
        }
        let arrival = match stream.iter().position(|(known, _)| *known == line) {
            Some(at) => stream.drain(..=at).next_back().and_then(|(_, arrival)| arrival),
            None => {
                stream.clear();
                self.shared.ask(line, time)
            }
        };
        instructions.insert(line, arrival);
        let first = stream.back().map_or(line, |(known, _)| *known) + 1;
        let last = self.last.min(line + u64::from(self.description.stream_lines));
        for ahead in (first..=last).filter(|&ahead| !instructions.cache.holds(ahead)) {
            stream.push_back((ahead, self.shared.ask(ahead, time)));
        }
        arrival.map(|arrival| arrival.max(time))
    }

    /// When an instruction of quarter `q` that is to issue at `time` has a constant operand; `None`: [`FrontEnd::filled`]
    /// will tell.
    pub(crate) fn operand(&mut self, q: usize, part: u64, time: u64) -> Option<u64> {
        if self.description.constant_bytes == 0 {
            return Some(time);
        }
        self.quarters[q].constants.constant(&mut self.shared, part, time)
    }

    /// The same of a load of constants.
    pub(crate) fn load(&mut self, part: u64, time: u64) -> Option<u64> {
        if self.description.constant_bytes == 0 {
            return Some(time);
        }
        self.loads.constant(&mut self.shared, part, time)
    }

    /// A line has come from the second level.
    pub(crate) fn filled(&mut self, line: u64, time: u64) {
        self.shared.filled(line, time);
        let parts = constant_parts(line);
        for quarter in &mut self.quarters {
            quarter.instructions.filled(line, time);
            let ahead = quarter.stream.iter_mut().filter(|(known, _)| *known == line);
            ahead.for_each(|(_, arrival)| *arrival = Some(time));
            parts.clone().for_each(|part| quarter.constants.filled(part, time));
        }
        parts.for_each(|part| self.loads.filled(part, time));
    }

    /// What is asked of the second level.
    pub(crate) fn requests(&mut self) -> impl Iterator<Item = Message> {
        self.shared.outbox.drain(..)
    }
}
