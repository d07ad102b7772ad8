//! Why a value is not where it is read: what is there is followed back to definitions, through copies, spills, packed bits
//! and recipes, and compared with the definitions that the read had before. Only asked where something is wrong.

use super::names::{NOWHERE, Place, REGISTERS, lost};
use super::problem::Problem;
use super::script::Pair;
use super::step::{Access, Kind, Step};
use oriole_isa::Opcode;
use oriole_ori::{Block, Clobbers, InstFlags, InstId};
use rustc_hash::FxHashSet;

/// What is wrong with a read, and where.
pub(super) struct Verdict {
    pub(super) problem: Problem,
    pub(super) culprit: Option<InstId>,
    pub(super) slot: Option<Place>,
}

/// What a value came through, the most telling last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Via {
    Register,
    Recipe,
    Slot,
    Bit,
    Pack,
}

/// Where following ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Definition(InstId),
    /// Something unknown was written.
    Lost(InstId),
    /// The word of a bit was overwritten after it had been put there.
    Destroyed(InstId),
    /// The word of a bit was made by something else.
    Mismatch(InstId),
    /// The function begins.
    Entry,
}

#[derive(Clone, Copy, Debug)]
struct Outcome {
    end: End,
    via: Via,
    slot: Option<Place>,
    /// Where it was when following ended.
    place: Place,
}

/// A place to be followed back from before step `end` of a block.
#[derive(Clone, Copy)]
struct Search {
    block: Block,
    end: usize,
    place: Place,
    via: Via,
    slot: Option<Place>,
}

/// The definitions of a value that reach a read in the function before.
#[derive(Default)]
struct Definitions {
    insts: FxHashSet<InstId>,
    /// On some path there is none.
    none: bool,
}

pub(super) struct Trace<'a> {
    pair: &'a Pair<'a>,
}

impl<'a> Trace<'a> {
    pub(super) fn new(pair: &'a Pair<'a>) -> Self {
        Trace { pair }
    }

    /// What is wrong with a read of step `at`.
    pub(super) fn judge(&self, block: Block, at: usize, read: &Access) -> Verdict {
        if read.place == NOWHERE {
            return Verdict { problem: Problem::Uninitialized, culprit: None, slot: None };
        }
        let before = self.definitions(block, at, read.value);
        let search = Search { block, end: at, place: read.place, via: Via::Register, slot: None };
        let outcomes = self.outcomes(search, &before);
        let is_bad = |outcome: &&Outcome| match outcome.end {
            End::Definition(inst) => !before.insts.contains(&inst),
            End::Entry => !before.none,
            _ => true,
        };
        let bad = outcomes.iter().filter(is_bad).max_by_key(|outcome| (outcome.end != End::Entry, outcome.via));
        let telling = bad.or_else(|| outcomes.iter().max_by_key(|outcome| outcome.via));
        let Some(telling) = telling else {
            return Verdict { problem: Problem::Uninitialized, culprit: None, slot: None };
        };
        let culprit = match telling.end {
            End::Definition(inst) | End::Lost(inst) | End::Destroyed(inst) | End::Mismatch(inst) => Some(inst),
            End::Entry => None,
        };
        Verdict { problem: self.problem(telling, bad.is_some(), &outcomes), culprit, slot: telling.slot }
    }

    fn problem(&self, outcome: &Outcome, bad: bool, all: &[Outcome]) -> Problem {
        let others = || all.iter().filter(|other| other.end != End::Entry);
        let in_slot = self.slot_of(outcome.place).is_some();
        match (outcome.end, outcome.via) {
            (End::Destroyed(_), Via::Pack) => Problem::PackBaseDestroyed,
            (End::Destroyed(_), _) => Problem::BitBaseDestroyed,
            (End::Entry, _) if in_slot && others().next().is_some() => Problem::UninitializedMemory,
            (End::Entry, _) if in_slot => Problem::MissingSpill,
            (End::Entry, Via::Register) if others().next().is_none() => Problem::Uninitialized,
            (End::Entry, Via::Register) => Problem::DefinitionsDisappeared,
            (_, Via::Pack) => Problem::PackMismatch,
            (_, Via::Bit) => Problem::BitMismatch,
            (_, Via::Slot) => Problem::MissingSpill,
            (_, Via::Recipe) => Problem::Rematerialization,
            (_, Via::Register) if bad => Problem::ExtraDefinitions,
            // It has the definitions that it had, or some, but not the newest.
            (_, Via::Register) => Problem::DefinitionsDisappeared,
        }
    }

    fn slot_of(&self, place: Place) -> Option<Place> {
        let word = self.pair.places.word_of_bit(place).map_or(place, |(word, _)| word);
        self.pair.places.slot_number(word).map(|_| word)
    }

    /// What gave the value that the function before reads, with what that was a copy of.
    fn definitions(&self, block: Block, at: usize, value: u32) -> Definitions {
        let mut found = Definitions::default();
        let mut work = vec![(block, at, value)];
        let mut seen = FxHashSet::default();
        while let Some((block, end, value)) = work.pop() {
            let steps = self.pair.script.steps(block)[..end].iter().enumerate().rev();
            let mut open = true;
            for (at, step) in steps.filter(|(_, step)| step.kind != Kind::Moves) {
                let Some(write) = self.pair.script.writes(step).iter().find(|write| write.value == value) else {
                    continue;
                };
                let source = match step.kind {
                    Kind::GoneCopy => Some(write.from),
                    Kind::Copy => self.pair.script.reads(step).first().map(|read| read.value),
                    _ => None,
                };
                found.insts.insert(step.inst);
                work.extend(source.map(|source| (block, at, source)));
                open = write.conditional;
                if !open {
                    break;
                }
            }
            if open {
                found.none |= self.pair.after.entry() == Some(block);
                let preds = self.pair.cfg.preds(block).iter().filter(|pred| seen.insert((**pred, value)));
                work.extend(preds.map(|pred| (*pred, self.pair.script.steps(*pred).len(), value)));
            }
        }
        found
    }

    fn outcomes(&self, search: Search, before: &Definitions) -> Vec<Outcome> {
        let mut found = Vec::new();
        let mut work = vec![search];
        let mut seen = FxHashSet::default();
        while let Some(search) = work.pop() {
            if self.scan(search, before, &mut found, &mut work) {
                continue;
            }
            if self.pair.after.entry() == Some(search.block) {
                found.push(outcome(End::Entry, &search));
            }
            let preds = self.pair.cfg.preds(search.block).iter();
            let new = preds.filter(|pred| seen.insert((**pred, search.place, search.via)));
            work.extend(new.map(|pred| Search { block: *pred, end: self.pair.script.steps(*pred).len(), ..search }));
        }
        found
    }

    /// Back to what writes the place in the block; whether that ends the search.
    fn scan(&self, search: Search, before: &Definitions, found: &mut Vec<Outcome>, work: &mut Vec<Search>) -> bool {
        for (at, step) in self.pair.script.steps(search.block)[..search.end].iter().enumerate().rev() {
            match self.effect(step, search.place, before) {
                Effect::None => {}
                Effect::Maybe(inst) => found.push(outcome(End::Definition(inst), &search)),
                Effect::From(from) => {
                    let slot = self.slot_of(from).or(search.slot);
                    work.push(Search { end: at, place: from, via: search.via.max(self.via(step)), slot, ..search });
                    return true;
                }
                Effect::Overwritten => {
                    let packed = self.any_before(search.block, at, |write| self.brings(write, search.place));
                    let end = if packed { End::Destroyed(step.inst) } else { End::Mismatch(step.inst) };
                    found.push(outcome(end, &search));
                    return true;
                }
                Effect::End(end) => {
                    let via = search.via.max(self.via(step));
                    found.push(outcome(end, &Search { via, ..search }));
                    return true;
                }
            }
        }
        false
    }

    /// Whether predicates are packed, copied or loaded with their word into the bit `place`.
    fn brings(&self, write: &Access, place: Place) -> bool {
        let word = self.pair.places.word_of_bit(place).map(|(word, _)| word);
        write.place == place || (Some(write.place) == word && write.from < self.pair.places.words())
    }

    fn via(&self, step: &Step) -> Via {
        if step.kind != Kind::Moves {
            return Via::Register;
        }
        let data = &self.pair.after[step.inst];
        let rows = [
            (data.opcode == Opcode::R2P, Via::Pack),
            (data.flags.contains(InstFlags::BIT_REFILL), Via::Bit),
            (data.flags.contains(InstFlags::REFILL), Via::Slot),
            (data.flags.contains(InstFlags::REMAT), Via::Recipe),
        ];
        rows.iter().find(|(holds, _)| *holds).map_or(Via::Register, |(_, via)| *via)
    }

    /// What a step does to a place.
    fn effect(&self, step: &Step, place: Place, before: &Definitions) -> Effect {
        let bit = self.pair.places.word_of_bit(place);
        let writes = self.pair.script.writes(step);
        let direct = writes.iter().find(|write| write.place == place);
        if step.kind == Kind::Moves {
            let word = bit.and_then(|(word, bit)| Some((writes.iter().find(|write| write.place == word)?, bit)));
            return match (direct, word) {
                (Some(write), _) if write.from == NOWHERE && bit.is_some() => Effect::End(End::Mismatch(step.inst)),
                (Some(write), _) if write.from == NOWHERE => Effect::End(End::Lost(step.inst)),
                (Some(write), _) => Effect::From(write.from),
                (None, Some((write, bit))) if write.from < self.pair.places.words() => {
                    Effect::From(self.pair.places.bit(write.from, bit))
                }
                // Another spill of predicates has nothing for this bit.
                (None, Some(_)) if self.pair.after[step.inst].flags.contains(InstFlags::BIT_SPILL) => {
                    Effect::End(End::Mismatch(step.inst))
                }
                (None, Some(_)) => Effect::Overwritten,
                (None, None) => self.moved(step, place),
            };
        }
        if let Some((word, _)) = bit {
            let overwritten = writes.iter().any(|write| write.place == word) || self.clobbers(step, word);
            return if overwritten { Effect::Overwritten } else { self.moved(step, place) };
        }
        match direct.or_else(|| {
            writes
                .iter()
                .find(|write| write.from == place && step.kind != Kind::Copy && place >= self.pair.places.words())
        }) {
            Some(write) if write.conditional => Effect::Maybe(step.inst),
            Some(write) if step.kind == Kind::Copy && !before.insts.contains(&step.inst) => Effect::From(write.from),
            Some(_) => Effect::End(End::Definition(step.inst)),
            None if self.clobbers(step, place) => Effect::End(End::Lost(step.inst)),
            None => self.moved(step, place),
        }
    }

    /// A slot is elsewhere when the register that it is addressed from changes.
    fn moved(&self, step: &Step, place: Place) -> Effect {
        let Some(number) = self.slot_of(place).and_then(|word| self.pair.places.slot_number(word)) else {
            return Effect::None;
        };
        let base = self.pair.places.slots().nth(number).and_then(|(word, _)| word.base_place());
        let written =
            |base| self.pair.script.writes(step).iter().any(|write| write.place == base) || self.clobbers(step, base);
        if base.is_some_and(written) { Effect::End(End::Lost(step.inst)) } else { Effect::None }
    }

    fn clobbers(&self, step: &Step, place: Place) -> bool {
        let Some(Clobbers::Mask(mask)) = step.call.map(|call| &self.pair.after[call].clobbers) else { return false };
        place < REGISTERS && lost(mask).any(|other| other == place)
    }

    /// Whether something on some path to step `at` stores to the word of a slot.
    pub(super) fn is_ever_stored(&self, block: Block, at: usize, slot: Place) -> bool {
        self.any_before(block, at, |write| write.place == slot)
    }

    /// Whether something that allocation put in on some path to step `at` is as `wanted`.
    fn any_before(&self, block: Block, at: usize, wanted: impl Fn(&Access) -> bool) -> bool {
        let mut work = vec![(block, at)];
        let mut seen = FxHashSet::default();
        while let Some((block, end)) = work.pop() {
            let moves = self.pair.script.steps(block)[..end].iter().filter(|step| step.kind == Kind::Moves);
            if moves.flat_map(|step| self.pair.script.writes(step)).any(&wanted) {
                return true;
            }
            let preds = self.pair.cfg.preds(block).iter().filter(|pred| seen.insert(**pred));
            work.extend(preds.map(|pred| (*pred, self.pair.script.steps(*pred).len())));
        }
        false
    }
}

fn outcome(end: End, search: &Search) -> Outcome {
    Outcome { end, via: search.via, slot: search.slot, place: search.place }
}

/// What a step does to a place.
enum Effect {
    None,
    /// A definition that may leave the old value there.
    Maybe(InstId),
    /// What stands elsewhere.
    From(Place),
    /// The word of a bit is another.
    Overwritten,
    End(End),
}
