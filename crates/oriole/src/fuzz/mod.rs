//! Differential testing: random well-typed PTX kernels, executed by sides that share no code.
//!
//! A campaign is a seed and a number of programs; program `n` of a seed is always the same. Each runs on
//! the PTX interpreter, as our code on the strict simulator and, with ptxas at hand, as ptxas's code on
//! the simulator. What they write must be equal bit for bit. A program on which they differ is cut down
//! and given back as a [`Finding`].

mod generate;
mod print;
mod program;
mod shrink;
mod sides;
mod templates;

use generate::Limits;
use oriole_cubin::Target;
use program::{CELLS, Program, record_bytes};
use rayon::prelude::*;
use sides::Bench;
pub use sides::{Outcome, Side};
use std::path::PathBuf;
use templates::Class;

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
    /// The program as PTX, cut down; its kernel is called `k`.
    pub ptx: String,
    /// Blocks and threads of the launch.
    pub launch: (u32, u32),
    /// Bytes of the input buffer.
    pub input: Vec<u8>,
    /// The third parameter.
    pub uniform: u64,
    /// Size of the output buffer in bytes.
    pub output_bytes: usize,
    /// What each side makes of it.
    pub outcomes: Vec<(Side, Outcome)>,
    /// Where the outputs differ first, in words.
    pub difference: String,
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
        let chosen =
            [(self.interpreter, Side::Interpreter), (self.compiler, Side::Oriole), (self.ptxas.is_some(), Side::Ptxas)];
        let sides = chosen.into_iter().filter_map(|(runs, side)| runs.then_some(side)).collect();
        Bench { target: self.target, opt_level: self.opt_level, ptxas: self.ptxas.clone(), sides }
    }

    /// The PTX of program `number`.
    pub fn ptx(&self, number: u64) -> String {
        print::module(&[self.program(number, "k")], &self.target.to_string())
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
        Outcome::Output(bytes) if Some(bytes) == first => format!("{} runs", side.name()),
        Outcome::Output(_) => format!("{} differs", side.name()),
        // Names and numbers vary from program to program; the first words do not.
        Outcome::Failed(reason) | Outcome::Panicked(reason) => {
            let words: Vec<&str> = reason.split(|c: char| !c.is_alphabetic()).filter(|w| w.len() > 2).take(4).collect();
            format!("{} {}", side.name(), words.join(" "))
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
    let outcomes = run(&small);
    Finding {
        number,
        ptx: print::module(std::slice::from_ref(&small), &bench.target.to_string()),
        launch: (small.blocks, small.threads),
        input: small.input.iter().flat_map(|word| word.to_le_bytes()).collect(),
        uniform: small.uniform,
        output_bytes: small.output_bytes(),
        difference: difference(&outcomes),
        outcomes,
    }
}

/// Where the outputs differ first, or who failed and why.
fn difference(outcomes: &[(Side, Outcome)]) -> String {
    let failed = outcomes.iter().find_map(|(side, outcome)| match outcome {
        Outcome::Output(_) => None,
        Outcome::Failed(reason) => Some(format!("{}: {reason}", side.name())),
        Outcome::Panicked(reason) => Some(format!("{} panicked: {reason}", side.name())),
    });
    let outputs: Vec<(Side, &[u8])> = outcomes
        .iter()
        .filter_map(|(side, outcome)| match outcome {
            Outcome::Output(bytes) => Some((*side, bytes.as_slice())),
            _ => None,
        })
        .collect();
    let differing = outputs.windows(2).find_map(|pair| {
        let at = pair[0].1.iter().zip(pair[1].1).position(|(a, b)| a != b)?;
        Some(at)
    });
    let place = differing.map(|at| {
        let values = outputs.iter().map(|(side, bytes)| format!("{} {}", side.name(), value_at(bytes, at)));
        format!("{}: {}", place(at), values.collect::<Vec<_>>().join(", "))
    });
    failed.into_iter().chain(place).collect::<Vec<_>>().join("; ")
}

/// The register, or the cell, that byte `at` of the output belongs to.
fn place(at: usize) -> String {
    let Some(at) = at.checked_sub(8 * CELLS) else { return format!("cell {}", at / 8) };
    let (thread, mut offset) = (at / record_bytes(), at % record_bytes());
    if offset < 8 {
        return format!("thread {thread}, its own cell");
    }
    offset -= 8;
    for class in [Class::Double, Class::Word, Class::Predicate, Class::Half] {
        if offset < class.count() * class.bytes() {
            return format!("thread {thread}, {}{}", class.prefix(), offset / class.bytes());
        }
        offset -= class.count() * class.bytes();
    }
    format!("thread {thread}, the end of its record")
}

fn value_at(bytes: &[u8], at: usize) -> String {
    let start = at & !7;
    bytes[start..bytes.len().min(start + 8)].iter().rev().map(|byte| format!("{byte:02x}")).collect()
}
