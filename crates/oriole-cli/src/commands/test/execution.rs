//! Running one case.

use super::build::{Build, Kind};
use super::outcome::{Outcome, Problem};
use super::plan::Case;
use crate::commands::comparison::compare;
use crate::commands::failure::Failure;
use crate::commands::interpret::Source;
use crate::commands::launch::{Launched, check_types};
use crate::commands::run_args::RunArgs;
use crate::commands::{compile, files, interpret, memcheck, simulate};
use oriole_codegen::{LineTable, ParameterType};
use oriole_cubin::Cubin;
use oriole_device::Fault;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::OnceLock;
use std::time::Instant;

/// Most characters of a kernel's text that reports keep.
const MOST_PRINTED: usize = 16 << 10;

/// What cases share: code that is compiled by the first that needs it.
pub(super) struct Programs(BTreeMap<Build, OnceLock<Result<Code, Failure>>>);

/// A program, ready to run.
enum Code {
    Machine { cubin: Cubin, lines: BTreeMap<String, LineTable>, parameters: BTreeMap<String, Vec<ParameterType>> },
    Source(Source),
}

impl Programs {
    /// Of these cases.
    pub(super) fn new<'a>(cases: impl Iterator<Item = &'a Case>) -> Programs {
        Programs(cases.map(|case| (case.program.clone(), OnceLock::new())).collect())
    }

    fn code(&self, case: &Case) -> Option<&Result<Code, Failure>> {
        self.0.get(&case.program).map(|code| code.get_or_init(|| load(case)))
    }
}

/// Read, and compile what has to be.
fn load(case: &Case) -> Result<Code, Failure> {
    let build = &case.program;
    let bytes = files::read(&build.path)?;
    let parse = |bytes: &[u8]| Cubin::parse(bytes).map_err(|error| Failure::file(&build.path, error));
    match build.kind {
        Kind::Interpreted => Source::new(&case.run, bytes).map(Code::Source),
        Kind::Cubin => Ok(Code::Machine { cubin: parse(&bytes)?, lines: BTreeMap::new(), parameters: BTreeMap::new() }),
        Kind::Compiled => {
            let compiled = compile::compile_bytes(&build.path, &bytes, &build.code())?;
            Ok(Code::Machine { cubin: parse(&compiled.cubin)?, lines: compiled.lines, parameters: compiled.parameters })
        }
    }
}

/// Run a case that stands in that line of its manifest, on so many threads.
pub(super) fn run(case: &Case, line: usize, programs: &Programs, threads: usize) -> Outcome {
    let mut outcome = Outcome::of(case, line);
    let start = Instant::now();
    match programs.code(case).map(|code| code.as_ref().map(|code| launch(case, code, threads))) {
        Some(Ok(Ok(launched))) => judge(case, launched, &mut outcome),
        Some(Ok(Err(failure))) => outcome.add(refused(&failure)),
        Some(Err(failure)) => outcome.add(refused(failure)),
        None => outcome.add(Problem::Refused { message: "error: a program that nobody has planned".to_owned() }),
    }
    outcome.seconds = start.elapsed().as_secs_f64();
    outcome
}

fn refused(failure: &Failure) -> Problem {
    Problem::Refused { message: failure.message().to_owned() }
}

fn launch(case: &Case, code: &Code, threads: usize) -> Result<Launched, Failure> {
    match code {
        Code::Source(source) => interpret::run(&case.run, source, &case.given),
        Code::Machine { cubin, lines, parameters } => {
            check_types(&case.run, parameters)?;
            let run = RunArgs { threads: Some(threads), ..case.run.clone() };
            let none = LineTable::new();
            simulate::run(&run, cubin, &case.given, lines.get(&run.entry).unwrap_or(&none))
        }
    }
}

/// Compare what a launch has left with what is expected.
fn judge(case: &Case, launched: Launched, outcome: &mut Outcome) {
    outcome.target = Some(launched.target.clone());
    if launched.found.errors() > 0 {
        let mut message = String::new();
        for finding in &launched.found.findings {
            // Writing to a `String` cannot fail.
            let _ = write!(message, "{finding}");
        }
        let _ = write!(message, "the checks of memory have found {} errors", launched.found.errors());
        outcome.add(Problem::Findings { message, report: memcheck::json_of(&launched.found) });
    }
    let printed = match &launched.end {
        Ok(ended) => {
            outcome.instructions = Some(ended.warp_instructions);
            if let Some(expected) = case.fault {
                outcome.add(Problem::NoFault { expected: expected.to_owned() });
            }
            compare_buffers(case, &launched, outcome);
            &ended.printed
        }
        Err(fault) => {
            judge_fault(case, fault, outcome);
            &fault.printed
        }
    };
    let printed = String::from_utf8_lossy(printed);
    if let Some(expected) = case.prints.as_ref().filter(|expected| **expected != printed) {
        outcome.add(Problem::Printed { expected: expected.clone(), got: printed.to_string() });
    }
    outcome.printed = printed.chars().take(MOST_PRINTED).collect();
}

fn judge_fault(case: &Case, fault: &Fault, outcome: &mut Outcome) {
    let kind = fault.kind.name();
    if case.fault != Some(kind) {
        let expected = case.fault.map(str::to_owned);
        outcome.add(Problem::Fault { fault: kind.to_owned(), expected, message: fault.to_string() });
    }
}

fn compare_buffers(case: &Case, launched: &Launched, outcome: &mut Outcome) {
    for (argument, expected) in &case.expected {
        let Some((_, got)) = launched.bound.contents(*argument, &launched.memory) else { continue };
        if let Some(difference) = compare(&expected.array, &got, &expected.contents, expected.tolerance) {
            outcome.add(Problem::Differs { argument: *argument, difference });
        }
    }
}
