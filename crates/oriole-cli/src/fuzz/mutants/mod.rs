//! Mutants: modules that are right, with changes.
//!
//! A program of a generator has what its author thought of. Real kernels, the forms of the corpus and the programs that once failed have
//! more, and a statement that is missing, doubled or wired otherwise asks of a compiler what nobody wrote: registers that are read before they
//! are written, constants at the edge of a field, guards where none was. Each mutant is compiled at every level, for a target in turn;
//! no panic, no fault of ours, no long wait. Where the module has a launch, a second form of the mutant is run, in which every register
//! has a value from the start: what the interpreter makes of it, our code must make too.

mod change;
mod edges;
mod guard;
mod judge;
mod places;
mod reduce;
mod seeds;

use super::campaign::Finding;
use super::case::Case;
use fastrand::Rng;
use oriole_cubin::Target;
use oriole_ptx::ast::Module;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub use seeds::Seed;

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Statements are deleted, doubled, exchanged, retyped, rewired at random.
    Random,
    /// One field of an instruction is put to an edge: every offset, immediate, and source in turn. A mutant is a seed with each field
    /// at some of the edges.
    Edges,
    /// An instruction gets a guard that is false in half of the lanes, or in all. A mutant is a seed with all its guards.
    Guards,
}

/// A campaign of mutants.
#[derive(Clone, Debug)]
pub struct Mutants {
    /// Mutants of different seeds have nothing in common.
    pub seed: u64,
    /// Number of the first mutant.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// What is changed.
    pub change: Change,
    /// Only for these targets, where there are any.
    pub targets: Vec<Target>,
    /// Of a field so many edges are tried, chosen at random, besides 0 and -1.
    pub edges: usize,
    /// Levels that each is compiled at.
    pub levels: Vec<u8>,
    /// What it is changed in.
    pub seeds: Vec<Seed>,
}

/// What a campaign has done.
#[derive(Debug, Default)]
pub struct Tally {
    /// Modules that were compiled.
    pub modules: AtomicU64,
    /// Of them, those that all levels took.
    pub taken: AtomicU64,
    /// Of them, those that ran: the interpreter gave a result, and our code was compared with it.
    pub compared: AtomicU64,
    /// With guards: seeds with a launch that were compared with the interpreter under a guard that is false in half of the lanes.
    pub halved: AtomicU64,
    /// With guards: seeds with a launch that were not, by the reason.
    pub not_halved: Mutex<BTreeMap<String, Vec<String>>>,
}

/// A mutant: the module, and what was done to it.
struct Mutant {
    module: Module,
    /// Every register of it has a value; or why its results are open.
    defined: Result<Module, &'static str>,
    note: String,
    /// An instruction is under a guard that is false in half of the lanes.
    halves: bool,
    /// It is for a launch with twice as many threads.
    doubled: bool,
    /// What odd threads write is each engine's own.
    open: bool,
}

impl Mutant {
    fn of(module: Module, note: String) -> Mutant {
        Mutant { defined: places::defined(&module), module, note, halves: false, doubled: false, open: false }
    }
}

impl Mutants {
    /// Makes and judges all mutants, calling `progress` with the number done and what was found.
    pub fn run(&self, tally: &Tally, progress: impl Fn(u64, &[Finding]) + Sync) -> Vec<Finding> {
        let one = |number: u64| {
            let found = self.findings(number, tally);
            progress(1, &found);
            found
        };
        (self.first..self.first + self.count).into_par_iter().flat_map_iter(one).collect()
    }

    /// The mutants of a number, as files.
    pub fn cases(&self, number: u64) -> Vec<Case> {
        let Some((seed, targets)) = self.subject(number) else { return Vec::new() };
        let mutants = self.mutants(seed, number);
        let cases = mutants.into_iter().zip(targets.iter().cycle());
        cases.map(|(mutant, target)| case(seed, &mutant, *target)).collect()
    }

    /// The seed of a number, and the targets that its mutants are compiled for.
    fn subject(&self, number: u64) -> Option<(&Seed, Vec<Target>)> {
        let at = match self.change {
            Change::Random => Rng::with_seed(self.stream(number)).usize(..self.seeds.len().max(1)),
            Change::Edges | Change::Guards => number as usize,
        };
        let seed = self.seeds.get(at)?;
        let wanted = |target: &Target| self.targets.is_empty() || self.targets.contains(target);
        let mut targets: Vec<Target> = seed.targets.iter().copied().filter(wanted).collect();
        if targets.is_empty() {
            return None;
        }
        let turn = number as usize % targets.len();
        targets.rotate_left(turn);
        Some((seed, targets))
    }

    /// The stream of a number: neighbours must not give neighbouring streams.
    fn stream(&self, number: u64) -> u64 {
        let mixed = (number ^ self.seed.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    }

    fn mutants(&self, seed: &Seed, number: u64) -> Vec<Mutant> {
        let mut rng = Rng::with_seed(self.stream(number) ^ 1);
        match self.change {
            Change::Random => change::mutant(&mut rng, &seed.module).into_iter().collect(),
            Change::Edges => edges::mutants(&mut rng, &seed.module, &seed.focus, self.edges),
            Change::Guards => guard::mutants(seed),
        }
    }

    fn findings(&self, number: u64, tally: &Tally) -> Vec<Finding> {
        let Some((seed, targets)) = self.subject(number) else { return Vec::new() };
        let mutants = self.mutants(seed, number);
        let mut found = Vec::new();
        let mut halved = Err("nothing in it takes a guard".to_owned());
        for (mutant, &target) in mutants.iter().zip(targets.iter().cycle()) {
            let (plan, races) = (seed.plan_of(mutant.doubled), self.change != Change::Guards);
            let own = if mutant.open { seed.own_bytes } else { 0 };
            let judge = judge::Judge { target, levels: &self.levels, plan, races, number, own };
            let verdict = judge.verdict(mutant);
            tally.modules.fetch_add(1, Ordering::Relaxed);
            tally.taken.fetch_add(u64::from(verdict.taken), Ordering::Relaxed);
            tally.compared.fetch_add(u64::from(verdict.compared.is_ok()), Ordering::Relaxed);
            if mutant.halves && halved.is_err() {
                halved = verdict.compared.clone();
            }
            if let Some(difference) = verdict.fault {
                // Of the others nothing but the form is left.
                let small = (self.change == Change::Random).then(|| judge.reduced(mutant, &difference));
                let mut case = case(seed, small.as_ref().unwrap_or(mutant), target);
                case.notes.insert(0, difference.clone());
                found.push(Finding { number, case, difference, is_ptxas: false });
            }
        }
        if self.change == Change::Guards && seed.plan.is_some() {
            tally.note_halved(seed, halved);
        }
        found
    }
}

impl Tally {
    fn note_halved(&self, seed: &Seed, halved: Result<(), String>) {
        match halved {
            Ok(()) => drop(self.halved.fetch_add(1, Ordering::Relaxed)),
            Err(reason) => {
                let mut reasons = self.not_halved.lock().unwrap_or_else(PoisonError::into_inner);
                reasons.entry(reason).or_default().push(seed.name.clone());
            }
        }
    }
}

/// A mutant as a file: the module in which every register has a value, where it has a launch.
fn case(seed: &Seed, mutant: &Mutant, target: Target) -> Case {
    let module = mutant.defined.as_ref().ok().filter(|_| seed.plan.is_some()).unwrap_or(&mutant.module);
    Case {
        notes: vec![format!("{}: {}", seed.name, mutant.note)],
        targets: vec![target],
        plan: seed.plan_of(mutant.doubled).cloned().unwrap_or_default(),
        expected: Vec::new(),
        except: Vec::new(),
        ptx: seeds::text(module, target),
    }
}
