//! Differential testing: random well-typed PTX programs, executed by sides that share no code.
//!
//! A campaign is a seed and a number of programs; program `n` of a seed is always the same. Each runs on
//! the PTX interpreter, as our code on the strict simulator and, with ptxas at hand, as ptxas's code on
//! the simulator. What they write must be equal bit for bit. A program on which they differ is cut down
//! and given back as a [`Finding`].

mod buffers;
mod case;
mod generate;
mod print;
mod program;
mod shrink;
mod sides;
mod templates;

pub use buffers::{Argument, Buffer, Element, Fill};
pub use case::Case;
use generate::Limits;
use oriole_cubin::Target;
use program::Program;
use rayon::prelude::*;
pub use sides::{Build, Outcome, Plan, Side, Tools};
use std::path::PathBuf;

/// Programs that are compiled as one module.
const BATCH: u64 = 16;

/// A campaign.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Programs of different seeds have nothing in common.
    pub seed: u64,
    /// Number of the first program.
    pub first: u64,
    /// How many programs.
    pub count: u64,
    /// The target.
    pub target: Target,
    /// `-O` level of our code.
    pub opt_level: u8,
    /// Statements of the larger programs.
    pub statements: usize,
    /// ptxas, to compare with.
    pub ptxas: Option<PathBuf>,
    /// The interpreter takes part.
    pub interpreter: bool,
    /// Our compiler takes part.
    pub compiler: bool,
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
}

/// The sides of a campaign.
struct Bench {
    target: Target,
    tools: Tools,
    sides: Vec<Side>,
}

impl Campaign {
    /// Runs all programs, calling `progress` with the number done after each batch. The findings are in
    /// the order of the programs, whatever the number of host threads.
    pub fn run(&self, progress: impl Fn(u64) + Sync) -> Vec<Finding> {
        let bench = self.bench();
        let batches = self.count.div_ceil(BATCH);
        let batch = |batch: u64| {
            let start = self.first + batch * BATCH;
            let end = (start + BATCH).min(self.first + self.count);
            let found = self.run_batch(&bench, start, end);
            progress(end - start);
            found
        };
        (0..batches).into_par_iter().flat_map_iter(batch).collect()
    }

    fn bench(&self) -> Bench {
        let chosen = [
            (self.interpreter, Side::Interpreter),
            (self.compiler, Side::level(self.opt_level)),
            (self.ptxas.is_some(), Side::Ptxas(3)),
        ];
        let sides = chosen.into_iter().filter_map(|(runs, side)| runs.then_some(side)).collect();
        Bench { target: self.target, tools: Tools { ptxas: self.ptxas.clone() }, sides }
    }

    /// The PTX of program `number`.
    pub fn ptx(&self, number: u64) -> String {
        case(&self.program(number, "k"), self.target).to_string()
    }

    fn program(&self, number: u64, name: &str) -> Program {
        let limits = Limits { target: self.target.sm, statements: self.statements };
        // Neighbouring numbers must not give neighbouring streams.
        let mixed = (number ^ self.seed.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        generate::program(name, mixed ^ mixed >> 29, limits)
    }

    fn run_batch(&self, bench: &Bench, start: u64, end: u64) -> Vec<Finding> {
        let programs: Vec<Program> = (start..end).map(|number| self.program(number, &format!("k{number}"))).collect();
        let outcomes = bench.run(&programs);
        let differing = programs.iter().zip(outcomes).zip(start..).filter(|((_, outcomes), _)| disagree(outcomes));
        differing.map(|((program, outcomes), number)| finding(bench, program, &outcomes, number)).collect()
    }
}

impl Bench {
    /// What each side makes of each program; the programs are compiled as one module.
    fn run(&self, programs: &[Program]) -> Vec<Vec<(Side, Outcome)>> {
        let mut outcomes = vec![Vec::new(); programs.len()];
        for &side in &self.sides {
            let of_side = self.run_side(side, programs);
            outcomes.iter_mut().zip(of_side).for_each(|(all, outcome)| all.push((side, outcome)));
        }
        outcomes
    }

    fn run_side(&self, side: Side, programs: &[Program]) -> Vec<Outcome> {
        let ptx = print::module(programs, &self.target.to_string());
        let plans: Vec<Plan> = programs.iter().map(Program::plan).collect();
        let outcomes = sides::run(side, &ptx, self.target, &plans, &self.tools);
        let spoiled = outcomes.iter().all(|outcome| !matches!(outcome, Outcome::Output(_)));
        match programs {
            // One program may have spoiled the module for all: each by itself tells which.
            [_, _, ..] if spoiled => {
                programs.iter().flat_map(|program| self.run_side(side, std::slice::from_ref(program))).collect()
            }
            _ => outcomes,
        }
    }
}

/// The program as a file.
fn case(program: &Program, target: Target) -> Case {
    Case {
        notes: Vec::new(),
        targets: vec![target],
        plan: program.plan(),
        expected: Vec::new(),
        except: Vec::new(),
        ptx: print::module(std::slice::from_ref(program), &target.to_string()),
    }
}

/// The sides have not all written the same.
fn disagree(outcomes: &[(Side, Outcome)]) -> bool {
    let all_output = outcomes.iter().all(|(_, outcome)| matches!(outcome, Outcome::Output(_)));
    !all_output || outcomes.windows(2).any(|pair| pair[0].1 != pair[1].1)
}

/// What is the matter, coarsely: programs are cut down only to programs with the same matter.
fn signature(outcomes: &[(Side, Outcome)]) -> Vec<String> {
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

fn finding(bench: &Bench, program: &Program, outcomes: &[(Side, Outcome)], number: u64) -> Finding {
    let matter = signature(outcomes);
    let run = |program: &Program| bench.run(std::slice::from_ref(program)).remove(0);
    let renamed = Program { name: "k".to_owned(), ..program.clone() };
    let shows = |candidate: &Program| {
        let outcomes = run(candidate);
        disagree(&outcomes) && signature(&outcomes) == matter
    };
    let small = shrink::shrink(&renamed, shows);
    let mut case = case(&small, bench.target);
    let difference = case.faults(&run(&small)).join("; ");
    case.notes = difference.lines().map(str::to_owned).collect();
    Finding { number, case, difference }
}
