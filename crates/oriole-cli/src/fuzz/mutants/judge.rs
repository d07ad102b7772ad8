//! What our compiler makes of a mutant.

use super::{Mutant, seeds};
use crate::fuzz::buffers::Argument;
use crate::fuzz::sides::{self, Build, Outcome, Plan, Side, Tools};
use oriole_codegen::CompileError;
use oriole_cubin::Target;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A compilation that takes longer than this is a finding.
const SLOWEST: Duration = Duration::from_secs(10);
/// Instructions of a warp after which a mutant runs for ever; most run a few hundred.
const MAX_INSTRUCTIONS: u64 = 200_000;

/// What the strict simulator says of an access to shared memory that an asynchronous copy has not come to.
const BEFORE_A_COPY: &str = "before a copy of shared memory";

/// Who judges the mutants of a seed.
pub(super) struct Judge<'s> {
    pub(super) target: Target,
    pub(super) levels: &'s [u8],
    pub(super) plan: Option<&'s Plan>,
    /// Threads may write over each other: only what one thread alone shows counts.
    pub(super) races: bool,
    /// Says which level's code is run besides that of the first and the last.
    pub(super) number: u64,
    /// Bytes that a thread has of the last argument, if what odd threads write there does not count; else 0.
    pub(super) own: usize,
}

/// What is said of a mutant.
pub(super) struct Verdict {
    /// What is wrong with us.
    pub(super) fault: Option<String>,
    /// All levels took it.
    pub(super) taken: bool,
    /// The interpreter gave a result, which our code was compared with; or why not.
    pub(super) compared: Result<(), String>,
}

impl Judge<'_> {
    /// Compiles a mutant at all levels and, where it has a launch, runs it.
    pub(super) fn verdict(&self, mutant: &Mutant) -> Verdict {
        let text = seeds::text(&mutant.module, self.target);
        let mut verdict = Verdict { fault: None, taken: true, compared: Err("it has no launch".to_owned()) };
        for &level in self.levels {
            match self.compiled(&text, level) {
                Ok(taken) => verdict.taken &= taken,
                Err(fault) => return Verdict { fault: Some(format!("-O{level}: {fault}")), ..verdict },
            }
        }
        (verdict.compared, verdict.fault) = match (verdict.taken, self.plan, &mutant.defined) {
            (false, ..) => (Err("a level refuses it".to_owned()), None),
            (_, None, _) => (verdict.compared, None),
            (_, _, Err(reason)) => (Err((*reason).to_owned()), None),
            (_, Some(plan), Ok(defined)) => self.compared(&seeds::text(defined, self.target), plan),
        };
        verdict
    }

    fn level_in_turn(&self) -> u8 {
        self.levels[self.number as usize % self.levels.len()]
    }

    /// Whether our compiler takes it; what is wrong with us if it does neither, or takes too long.
    fn compiled(&self, text: &str, level: u8) -> Result<bool, String> {
        // Looking after each phase takes longer than all phases.
        let verify = level == self.level_in_turn();
        let build = Build { opt_level: level, ..Build::default() };
        let compile = || sides::compiled(text, self.target, build, verify);
        let begun = Instant::now();
        let taken = match catch_unwind(AssertUnwindSafe(compile)) {
            Ok(Ok(_)) => true,
            Ok(Err(error @ CompileError::Source(_))) => {
                let message = error.to_string();
                if message.contains("internal") {
                    return Err(message);
                }
                false
            }
            Ok(Err(error)) => return Err(error.to_string()),
            Err(panic) => return Err(format!("panicked: {}", sides::panic_message(&*panic))),
        };
        if begun.elapsed() <= SLOWEST {
            return Ok(taken);
        }
        // Others may have had the core: what is slow is slow twice.
        let begun = Instant::now();
        let _ = catch_unwind(AssertUnwindSafe(compile));
        let took = begun.elapsed();
        if took > SLOWEST { Err(format!("took {} s", took.as_secs())) } else { Ok(taken) }
    }

    /// Whether the interpreter gives a result; how our code differs from it.
    fn compared(&self, text: &str, plan: &Plan) -> (Result<(), String>, Option<String>) {
        let (compared, fault) = self.compared_as(text, plan);
        match fault {
            Some(fault) if self.races && !fault.contains("panicked") => {
                let one = Plan { grid: [1; 3], block: [1; 3], cluster: [1; 3], ..plan.clone() };
                (compared, self.compared_as(text, &one).1.map(|alone| format!("{fault}; one thread: {alone}")))
            }
            fault => (compared, fault),
        }
    }

    fn compared_as(&self, text: &str, plan: &Plan) -> (Result<(), String>, Option<String>) {
        let run = |side: Side| {
            let tools = Tools::default();
            sides::run_within(side, text, self.target, std::slice::from_ref(plan), &tools, MAX_INSTRUCTIONS).pop()
        };
        let right = match run(Side::Interpreter) {
            Some(Outcome::Output(bytes)) => bytes,
            Some(Outcome::Panicked(reason)) => {
                return (
                    Err("the interpreter panicked".to_owned()),
                    Some(format!("the interpreter panicked: {reason}")),
                );
            }
            Some(Outcome::Failed(reason)) => return (Err(format!("the interpreter: {}", kind(&reason))), None),
            None => return (Err("it has no launch".to_owned()), None),
        };
        let mut levels: Vec<u8> = self.levels.first().into_iter().chain(self.levels.last()).copied().collect();
        levels.push(self.level_in_turn());
        levels.dedup();
        let differs = |level: u8| match run(Side::level(level))? {
            Outcome::Output(bytes) => {
                let at = difference(&bytes, &right, |at| self.counts(at, &bytes, plan))?;
                Some(format!("run -O{level}: differs from the interpreter at byte {at}"))
            }
            // The interpreter copies at once. Without its wait a program reads what is not there yet.
            Outcome::Failed(reason) if reason.contains(BEFORE_A_COPY) => None,
            Outcome::Failed(reason) => Some(format!("run -O{level}: {reason}")),
            Outcome::Panicked(reason) => Some(format!("run -O{level}: panicked: {reason}")),
        };
        (Ok(()), levels.into_iter().find_map(differs))
    }

    /// Whether the byte `at` of the output is compared.
    fn counts(&self, at: usize, output: &[u8], plan: &Plan) -> bool {
        let last = plan.arguments.last().map_or(0, Argument::compared);
        let within = at.checked_sub(output.len() - last.min(output.len()));
        within.and_then(|within| within.checked_div(self.own)).is_none_or(|thread| thread % 2 == 0)
    }

    /// The mutant without the statements that the fault does not need.
    pub(super) fn reduced(&self, mutant: &Mutant, fault: &str) -> Mutant {
        let kind = kind(fault);
        let is_same =
            |candidate: &Mutant| self.verdict(candidate).fault.is_some_and(|fault| self::kind(&fault) == kind);
        super::reduce::reduced(mutant, &is_same)
    }
}

/// The first word that `counts` in which outputs differ. Which NaN an operation gives PTX leaves open, and nothing says what is in a word: two are the
/// same where both are NaNs of one format.
fn difference(ours: &[u8], right: &[u8], counts: impl Fn(usize) -> bool) -> Option<usize> {
    let word =
        |bytes: &[u8], at: usize| bytes[at..].iter().take(4).rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
    let differs = |at: &usize| !is_same(word(ours, *at), word(right, *at));
    (0..ours.len()).step_by(4).filter(|at| counts(*at)).filter(differs).find(|at| {
        let high = at | 4;
        let doubles = high + 4 <= ours.len() && is_double_nan(word(ours, high)) && is_double_nan(word(right, high));
        !doubles
    })
}

/// Whether words are equal, or NaNs both of them, or in each half.
fn is_same(a: u32, b: u32) -> bool {
    let singles = f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan();
    let half_nan = |half: u32| half & 0x7fff > 0x7c00;
    let halves = [0, 16].iter().all(|shift| {
        let (a, b) = (a >> shift & 0xffff, b >> shift & 0xffff);
        a == b || half_nan(a) && half_nan(b)
    });
    a == b || singles || halves
}

/// Whether the upper word of a double makes it a NaN, or may do so.
fn is_double_nan(high: u32) -> bool {
    high & 0x7fff_ffff >= 0x7ff0_0000
}

/// The words of a fault without the numbers in it.
pub(super) fn kind(fault: &str) -> String {
    let words = fault.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 2);
    words.take(8).collect::<Vec<_>>().join(" ")
}
