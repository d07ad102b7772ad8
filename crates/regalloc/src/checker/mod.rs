//! An independent check of an allocation, after the verifier of the register model and regalloc2's symbolic checker.
//!
//! It compares the function before allocation with the function after it and knows nothing of liveness and interference as
//! the allocator sees them. A forward dataflow keeps at which places (registers, words of spill slots, bits of packed
//! predicates, recipes of what can be computed again) each value stands on every path; at each read of an instruction of
//! the function before, the value that it named must stand where the instruction looks for it now. What is wrong is
//! followed back to definitions, spills and packed bits, and named by one of ten problems.

mod inserted;
mod names;
mod problem;
mod reach;
mod recipe;
mod script;
mod solve;
mod state;
mod step;
mod trace;

pub use problem::{CheckError, Problem};

use names::{NOWHERE, Place, Value};
use oriole_isa::Arch;
use oriole_ori::{Block, EntitySet, Function, InstFlags};
use script::Pair;
use solve::Solution;
use state::State;
use step::{Access, Kind, Step};
use trace::Trace;

/// Check that `after`, with registers given, means what `before` meant; instructions that both have are known by their
/// numbers. Values that no path has written may be anything.
///
/// # Errors
/// The first finding in the order of the flow.
pub fn check(before: &Function, after: &Function, arch: Arch) -> Result<(), Box<CheckError>> {
    let pair = Pair::new(before, after, arch)?;
    let solution = Solution::new(&pair);
    Judge { pair: &pair, solution: &solution }.all()
}

struct Judge<'a> {
    pair: &'a Pair<'a>,
    solution: &'a Solution,
}

impl Judge<'_> {
    fn all(&self) -> Result<(), Box<CheckError>> {
        let mut state = State::new(self.pair, &self.solution.exposed);
        for block in self.pair.cfg.rpo() {
            let Some(facts) = &self.solution.entries[*block] else { continue };
            state.load(facts);
            for (at, step) in self.pair.script.steps(*block).iter().enumerate() {
                self.step(*block, at, step, &state)?;
                state.step(step);
            }
        }
        Ok(())
    }

    fn step(&self, block: Block, at: usize, step: &Step, state: &State<'_>) -> Result<(), Box<CheckError>> {
        let wrong = |read: &&Access| !state.stands(read.value, read.place);
        if let Some(read) = self.pair.script.reads(step).iter().find(wrong) {
            return Err(Box::new(self.misread(block, at, step, read, state)));
        }
        if step.kind != Kind::Moves || !self.pair.after[step.inst].flags.contains(InstFlags::REFILL) {
            return Ok(());
        }
        let slots =
            self.pair.script.writes(step).iter().filter(|load| self.pair.places.slot_number(load.from).is_some());
        let mut unstored = slots.filter(|load| !state.is_stored(load.from));
        match unstored.find(|load| !self.is_excused(block, at, load, state)) {
            Some(load) => {
                let spilled = Trace::new(self.pair).is_ever_stored(block, at, load.from);
                Err(Box::new(self.unstored(block, step, load, spilled)))
            }
            None => Ok(()),
        }
    }

    /// Whether what is loaded may well be undefined: what was stored there elsewhere may, or a value is read later that is
    /// undefined here, or nobody reads it.
    fn is_excused(&self, block: Block, at: usize, load: &Access, state: &State<'_>) -> bool {
        let undefined = |value: &Value| {
            self.is_read_behind(block, at, *value)
                && (state.is_undefined(*value) || self.is_undefined_on_a_path(block, at, *value))
        };
        self.solution.excused[load.from as usize]
            || self.is_for_nobody(block, at, load.place)
            || self.solution.exposed.values().iter().any(undefined)
    }

    /// Whether some path to step `at` has not written the value in any case.
    fn is_undefined_on_a_path(&self, block: Block, at: usize, value: Value) -> bool {
        let writes = |steps: &[Step]| {
            let sure = |write: &Access| write.value == value && !write.conditional;
            let mut steps = steps.iter().filter(|step| step.kind != Kind::Moves);
            steps.any(|step| self.pair.script.writes(step).iter().any(sure))
        };
        if writes(&self.pair.script.steps(block)[..at]) {
            return false;
        }
        let mut seen = EntitySet::new();
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            if Some(block) == self.pair.after.entry() {
                return true;
            }
            let preds = self.pair.cfg.preds(block).iter().copied();
            work.extend(preds.filter(|pred| seen.insert(*pred) && !writes(self.pair.script.steps(*pred))));
        }
        false
    }

    /// Whether what step `at` loads into a place is nothing but the old value of a guarded write whose result nobody reads. A
    /// predicate's is loaded as a word first.
    fn is_for_nobody(&self, block: Block, at: usize, mut place: Place) -> bool {
        let (script, places) = (&self.pair.script, &self.pair.places);
        let steps = script.steps(block);
        for (at, step) in (at + 1..).zip(&steps[at + 1..]) {
            let of_place =
                |from: Place| from == place || places.word_of_bit(from).is_some_and(|(word, _)| word == place);
            let reads = script.reads(step).iter().any(|read| read.place == place);
            let moved = script.writes(step).iter().find(|write| step.kind == Kind::Moves && of_place(write.from));
            if let Some(write) =
                script.writes(step).iter().find(|write| write.place == place && !reads && moved.is_none())
            {
                return write.conditional && !self.is_read_behind(block, at, write.value);
            }
            match moved.filter(|_| !reads && self.pair.after[step.inst].flags.contains(InstFlags::BIT_REFILL)) {
                Some(write) => place = write.place,
                None if reads || moved.is_some() => return false,
                None => {}
            }
        }
        false
    }

    /// Whether the function before reads, behind step `at`, the value as it is there.
    fn is_read_behind(&self, block: Block, at: usize, value: Value) -> bool {
        let script = &self.pair.script;
        for step in script.steps(block)[at + 1..].iter().filter(|step| step.kind != Kind::Moves) {
            let source = |write: &Access| step.kind == Kind::GoneCopy && write.from == value;
            if script.reads(step).iter().any(|read| read.value == value) || script.writes(step).iter().any(source) {
                return true;
            }
            if script.writes(step).iter().any(|write| write.value == value && !write.conditional) {
                return false;
            }
        }
        let wanted = |succ: &Block| self.solution.reach.wanted(*succ).binary_search(&value).is_ok();
        self.pair.cfg.succs(block).iter().any(wanted)
    }

    /// A value is not where it is read from.
    fn misread(&self, block: Block, at: usize, step: &Step, read: &Access, state: &State<'_>) -> CheckError {
        let pair = self.pair;
        let verdict = Trace::new(pair).judge(block, at, read);
        let held: Vec<String> =
            state.held(read.place).iter().map(|value| pair.values.name(pair.before, *value)).collect();
        let holds = match &held[..] {
            _ if read.place == NOWHERE => "it was given no register".to_owned(),
            [] => "nothing known stands there on all paths".to_owned(),
            held => format!("{} stands there", held.join(", ")),
        };
        let culprit = verdict.culprit.map(|inst| format!("; see {inst} ({})", pair.text(inst)));
        CheckError {
            value: Some(pair.values.name(pair.before, read.value)),
            register: Some(pair.places.name(read.place)),
            slot: verdict.slot.map(|slot| pair.places.name(slot)),
            ..pair.finding(verdict.problem, block, step.inst, holds + &culprit.unwrap_or_default())
        }
    }

    /// A refill reads what not all paths have stored.
    fn unstored(&self, block: Block, step: &Step, load: &Access, spilled: bool) -> CheckError {
        let (problem, found) = match spilled {
            true => (Problem::UninitializedMemory, "some path has stored nothing there"),
            false => (Problem::MissingSpill, "no path has stored anything there"),
        };
        let slot: Place = load.from;
        CheckError {
            register: Some(self.pair.places.name(load.place)),
            slot: Some(self.pair.places.name(slot)),
            ..self.pair.finding(problem, block, step.inst, found.to_owned())
        }
    }
}
