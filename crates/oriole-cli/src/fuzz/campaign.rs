//! Campaigns: many random programs on all sides.

use super::case::Case;
use super::generate::{self, Limits};
use super::sides::{self, Build, Outcome, Plan, Side, Tools};
use super::{masks, print, program, shrink, whole};
use oriole_codegen::{FastCompile, optional_passes};
use oriole_cubin::Target;
use rayon::prelude::*;

/// Programs of one target that ptxas gets as one module.
const BATCH: u64 = 16;

/// What kinds of programs there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kinds {
    /// Kernels of well-typed instructions in structured control flow.
    Kernels,
    /// Whole programs.
    Whole,
    /// Warp operations under member masks that differ between lanes.
    Masks,
    /// One after the other.
    #[default]
    All,
}

/// A campaign.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Programs of different seeds have nothing in common.
    pub seed: u64,
    /// Number of the first program.
    pub first: u64,
    /// How many programs.
    pub count: u64,
    /// The targets, in turn.
    pub targets: Vec<Target>,
    /// What kinds of programs.
    pub kinds: Kinds,
    /// Statements of the larger programs.
    pub statements: usize,
    /// The interpreter takes part.
    pub interpreter: bool,
    /// How our compiler is called for each program.
    pub builds: Vec<Build>,
    /// One of these in turn, besides.
    pub turns: Vec<Build>,
    /// And with a random register budget of these, the least and the most.
    pub budgets: Option<(u32, u32)>,
    /// `-O` levels of ptxas.
    pub ptxas_levels: Vec<u8>,
    /// Programs of others.
    pub tools: Tools,
}

/// A program on which the sides do not agree.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its number in the campaign.
    pub number: u64,
    /// The program, cut down; its kernel is called `k`.
    pub case: Case,
    /// Who failed, and where the outputs differ first.
    pub difference: String,
    /// All agree but optimised code of ptxas.
    pub is_ptxas: bool,
}

/// A random program.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Program {
    Kernel(program::Program),
    Whole(whole::Tree),
    Masks(masks::Tree),
}

type Outcomes = Vec<(Side, Outcome)>;

/// The argument of programs that the host works out to which they write.
const OUTPUT: usize = 1;

/// A bound that is raised to what the ABI needs.
const FEWEST_REGISTERS: u32 = 16;

/// The builds that every program is compiled with: none and all optimisation.
pub fn every_time() -> Vec<Build> {
    [0, 3].map(|opt_level| Build { opt_level, ..Build::default() }).to_vec()
}

/// The builds that programs are compiled with in turn: the other levels, what `--fast-compile` chooses, few registers, and each
/// phase that correct code does not need left out.
pub fn in_turn() -> Vec<Build> {
    let levels = [1, 2].map(|opt_level| Build { opt_level, ..Build::default() });
    let few = [3, 1].map(|opt_level| Build { opt_level, maxrregcount: Some(FEWEST_REGISTERS), ..Build::default() });
    let fast = [FastCompile::Min, FastCompile::Mid, FastCompile::Max];
    let fast = fast.map(|fast_compile| Build { opt_level: 3, fast_compile, ..Build::default() });
    levels.into_iter().chain(few).chain(fast).chain(without_phases(3)).collect()
}

/// Builds of a level, each without one phase that correct code does not need; none where there is no such phase.
pub fn without_phases(opt_level: u8) -> impl Iterator<Item = Build> {
    optional_passes(opt_level).map(move |phase| Build { opt_level, without: Some(phase), ..Build::default() })
}

impl Campaign {
    /// `count` programs of all kinds of a seed for some targets, without ptxas.
    pub fn new(seed: u64, count: u64, targets: Vec<Target>) -> Campaign {
        Campaign {
            seed,
            first: 0,
            count,
            targets,
            kinds: Kinds::All,
            statements: 40,
            interpreter: true,
            builds: every_time(),
            turns: in_turn(),
            budgets: None,
            ptxas_levels: Vec::new(),
            tools: Tools::default(),
        }
    }

    /// Programs that are worked on together, some of them as one module.
    pub fn batch(&self) -> u64 {
        BATCH * self.targets.len().max(1) as u64
    }

    /// Runs all programs, calling `progress` with the number done after each batch and what was found. The
    /// findings are in the order of the programs, whatever the number of host threads.
    pub fn run(&self, progress: impl Fn(u64, &[Finding]) + Sync) -> Vec<Finding> {
        let size = self.batch();
        let batch = |batch: u64| {
            let start = self.first + batch * size;
            let end = (start + size).min(self.first + self.count);
            let found = self.run_batch(start, end);
            progress(end - start, &found);
            found
        };
        (0..self.count.div_ceil(size)).into_par_iter().flat_map_iter(batch).collect()
    }

    /// Program `number` as a file.
    pub fn case(&self, number: u64) -> Case {
        as_case(&self.program(number, "k"), self.target(number))
    }

    fn target(&self, number: u64) -> Target {
        self.targets[(number % self.targets.len() as u64) as usize]
    }

    fn program(&self, number: u64, name: &str) -> Program {
        let seed = self.stream(number);
        let target = self.target(number).sm;
        // Not by the number itself, so that each target gets all.
        let turn = [Kinds::Whole, Kinds::Kernels, Kinds::Whole, Kinds::Kernels, Kinds::Masks];
        let kind = match self.kinds {
            Kinds::All => turn[(number / self.targets.len() as u64 % turn.len() as u64) as usize],
            one => one,
        };
        if kind == Kinds::Masks {
            return Program::Masks(masks::tree(name, seed, self.target(number)));
        }
        if kind == Kinds::Whole {
            let judged = match self.ptxas_levels.iter().max() {
                None => whole::Judged::Alone,
                Some(0) => whole::Judged::ByPlain,
                Some(_) => whole::Judged::ByOptimised,
            };
            return Program::Whole(whole::tree(name, seed, target, self.statements, judged));
        }
        Program::Kernel(generate::program(name, seed, Limits { target, statements: self.statements }))
    }

    /// The seed of a program: neighbouring numbers must not give neighbouring streams.
    fn stream(&self, number: u64) -> u64 {
        let mixed = (number ^ self.seed.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    }

    /// The sides of program `number`, without ptxas.
    fn sides(&self, number: u64) -> Vec<Side> {
        let turn = (!self.turns.is_empty()).then(|| {
            // Two programs, one of each kind, for each target.
            let round = number / (2 * self.targets.len() as u64);
            self.turns[(round % self.turns.len() as u64) as usize]
        });
        let tight = self.budgets.map(|(least, most)| Build {
            opt_level: 3,
            maxrregcount: Some(fastrand::Rng::with_seed(self.stream(number)).u32(least..=most)),
            ..Build::default()
        });
        let builds = self.builds.iter().copied().chain(turn).chain(tight).map(Side::Oriole);
        self.interpreter.then_some(Side::Interpreter).into_iter().chain(builds).collect()
    }

    /// The sides that get several programs as one module, since starting their tools takes long.
    fn sides_together(&self) -> Vec<Side> {
        let ours = self.builds.last().filter(|_| self.tools.nvdisasm.is_some()).map(|build| Side::Oriole(*build));
        ours.into_iter().chain(self.ptxas_levels.iter().map(|level| Side::Ptxas(*level))).collect()
    }

    fn run_batch(&self, start: u64, end: u64) -> Vec<Finding> {
        let programs: Vec<Program> = (start..end).map(|number| self.program(number, &format!("k{number}"))).collect();
        let quick = Tools { nvdisasm: None, ..self.tools.clone() };
        let mut outcomes: Vec<Outcomes> = (start..end)
            .zip(&programs)
            .map(|(number, program)| run_one(program, self.target(number), &self.sides(number), &quick))
            .collect();
        for side in self.sides_together() {
            for &target in &self.targets {
                let mine = (0..programs.len()).filter(|at| self.target(start + *at as u64) == target);
                let mine: Vec<usize> = mine.collect();
                let together: Vec<&Program> = mine.iter().map(|at| &programs[*at]).collect();
                let of_side = self.run_together(side, &together, target);
                for (at, outcome) in mine.into_iter().zip(of_side) {
                    outcomes[at].push((side, outcome));
                }
            }
        }
        let all = programs.iter().zip(outcomes).zip(start..);
        let differing = all.filter(|((_, outcomes), _)| disagree(outcomes));
        differing.map(|((program, outcomes), number)| self.finding(program, &outcomes, number)).collect()
    }

    /// A side on several programs that are one module.
    fn run_together(&self, side: Side, programs: &[&Program], target: Target) -> Vec<Outcome> {
        let plans: Vec<Plan> = programs.iter().map(|program| program.plan()).collect();
        let outcomes = sides::run(side, &module(programs, target), target, &plans, &self.tools);
        let spoiled = outcomes.iter().all(|outcome| !matches!(outcome, Outcome::Output(_)));
        match programs {
            // One program may have spoiled the module for all: each by itself tells which.
            [_, _, ..] if spoiled => programs.iter().flat_map(|one| self.run_together(side, &[*one], target)).collect(),
            _ => outcomes,
        }
    }

    fn finding(&self, program: &Program, outcomes: &Outcomes, number: u64) -> Finding {
        let target = self.target(number);
        let matter = signature(outcomes);
        // Only the sides that tell the matter: one that is right, and those that are not.
        let right = outcomes.iter().find(|(_, outcome)| matches!(outcome, Outcome::Output(_))).map(|(side, _)| *side);
        let sides: Vec<Side> = outcomes
            .iter()
            .zip(&matter)
            .filter(|((side, _), kind)| *side != Side::Host && (Some(*side) == right || !kind.ends_with(" runs")))
            .map(|((side, _), _)| *side)
            .collect();
        let is_refused =
            |outcome: &Outcome| matches!(outcome, Outcome::Failed(reason) if reason.starts_with("nvdisasm"));
        let refused = outcomes.iter().any(|(_, outcome)| is_refused(outcome));
        let tools = Tools { nvdisasm: self.tools.nvdisasm.clone().filter(|_| refused), ..self.tools.clone() };
        let run_one = |program: &Program| run_one(program, target, &sides, &tools);
        let matter = signature(&run_one(program));
        let shows = |candidate: &Program| {
            let outcomes = run_one(candidate);
            disagree(&outcomes) && signature(&outcomes) == matter
        };
        let small = program.reduced(&shows);
        let mut case = as_case(&small, target);
        let faults = case.faults(&run_one(&small));
        case.notes = faults.iter().filter_map(|fault| fault.lines().next()).map(str::to_owned).collect();
        let difference = case.notes.join("; ");
        case.notes.push(format!("oriole fuzz --seed {} --first {number} --count 1", self.seed));
        let is_ptxas = sides.iter().all(|side| Some(*side) == right || matches!(side, Side::Ptxas(1..)));
        Finding { number, case, difference, is_ptxas }
    }
}

/// What sides make of one program.
fn run_one(program: &Program, target: Target, sides: &[Side], tools: &Tools) -> Outcomes {
    let ptx = module(&[program], target);
    let plan = program.plan();
    let run = |side: &Side| {
        let outcome = sides::run(*side, &ptx, target, std::slice::from_ref(&plan), tools).pop();
        (*side, outcome.unwrap_or_else(|| Outcome::Failed("it was not run".to_owned())))
    };
    let host = program
        .expected()
        .map(|words| (Side::Host, Outcome::Output(words.into_iter().flat_map(u32::to_le_bytes).collect())));
    host.into_iter().chain(sides.iter().map(run)).collect()
}

impl Program {
    /// The words that it writes, where the host has worked them out.
    fn expected(&self) -> Option<Vec<u32>> {
        match self {
            Program::Masks(tree) => Some(tree.expected()),
            Program::Kernel(_) | Program::Whole(_) => None,
        }
    }

    fn plan(&self) -> Plan {
        match self {
            Program::Masks(tree) => tree.plan(),
            Program::Kernel(program) => program.plan(),
            Program::Whole(tree) => tree.plan(),
        }
    }

    /// The smallest program found that still shows the same; its kernel is called `k`.
    fn reduced(&self, shows: &dyn Fn(&Program) -> bool) -> Program {
        match self {
            Program::Kernel(program) => {
                let renamed = program::Program { name: "k".to_owned(), ..program.clone() };
                Program::Kernel(shrink::shrink(&renamed, |small| shows(&Program::Kernel(small.clone()))))
            }
            Program::Whole(tree) => {
                let renamed = whole::Tree { name: "k".to_owned(), ..tree.clone() };
                Program::Whole(whole::reduce(&renamed, |small| shows(&Program::Whole(small.clone()))))
            }
            Program::Masks(tree) => {
                Program::Masks(masks::reduce(&tree.renamed("k"), |small| shows(&Program::Masks(small.clone()))))
            }
        }
    }
}

/// A module with these programs.
fn module(programs: &[&Program], target: Target) -> String {
    let text = |program: &&Program| match program {
        Program::Kernel(program) => print::kernel(program),
        Program::Whole(tree) => tree.module(),
        Program::Masks(tree) => tree.module(),
    };
    let texts: String = programs.iter().map(text).collect();
    format!(".version 9.0\n.target {target}\n.address_size 64\n{texts}")
}

/// The program as a file.
fn as_case(program: &Program, target: Target) -> Case {
    Case {
        notes: Vec::new(),
        targets: vec![target],
        plan: program.plan(),
        expected: program.expected().map(|words| (OUTPUT, words)).into_iter().collect(),
        except: Vec::new(),
        ptx: module(&[program], target),
    }
}

/// The sides have not all written the same.
fn disagree(outcomes: &Outcomes) -> bool {
    let all_output = outcomes.iter().all(|(_, outcome)| matches!(outcome, Outcome::Output(_)));
    !all_output || outcomes.windows(2).any(|pair| pair[0].1 != pair[1].1)
}

/// What is the matter, coarsely: programs are cut down only to programs with the same matter.
fn signature(outcomes: &Outcomes) -> Vec<String> {
    let first = outcomes.iter().find_map(|(_, outcome)| match outcome {
        Outcome::Output(bytes) => Some(bytes),
        _ => None,
    });
    let kind = |(side, outcome): &(Side, Outcome)| match outcome {
        Outcome::Output(bytes) if Some(bytes) == first => format!("{side} runs"),
        Outcome::Output(_) => format!("{side} differs"),
        // Names and numbers vary from program to program; the first words do not.
        Outcome::Failed(reason) | Outcome::Panicked(reason) => {
            let words: Vec<&str> = reason.split(|c: char| !c.is_alphabetic()).filter(|w| w.len() > 2).take(4).collect();
            format!("{side} {}", words.join(" "))
        }
    };
    outcomes.iter().map(kind).collect()
}
