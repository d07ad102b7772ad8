//! `oriole bisect`: which run of which pass, and which of its rewrites, first makes a program wrong.
//!
//! A search over `--pass-limit`: what comes before the limit does not depend on it, so that between a limit that is right and one
//! that is wrong there is a run (and in it a rewrite) of which the result depends.

use super::args::{BisectArgs, CodeArgs, FastCompileArg};
use super::failure::{Failure, rejected, usage};
use super::launch::{Given, behind_dashes, check_types};
use super::run_args::RunArgs;
use super::{compile, files, simulate};
use crate::console;
use crate::difference::changed_lines;
use crate::temporary;
use oriole_codegen::{Compiled, LastRun, Limit};
use oriole_cubin::Cubin;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Search, and print what was found.
pub(crate) fn run(args: &BisectArgs) -> Result<(), Failure> {
    if args.code.pass_limit.is_some() {
        return Err(usage("--pass-limit is what bisect searches over"));
    }
    if args.code.opt_level == Some(0) {
        return Err(usage("-O0: no optional pass runs there"));
    }
    let bytes = files::read(&args.input)?;
    let judge = Judge::new(args)?;
    let mut code = args.code.clone();
    if let Judge::Launch(launch) = &judge {
        code.entry = vec![launch.args.entry.clone()];
    }
    let mut search = Search { input: &args.input, bytes: &bytes, code, expected: judge.expected(args, &bytes)?, judge };
    let text = search.report()?;
    files::print(&text)
}

/// What says whether code is right.
enum Judge {
    /// A shell command that ends with status 0 for a cubin that is right, which `CUBIN` in its environment names.
    Command(String),
    /// A launch on the simulator that leaves what the code of `-O0` leaves.
    Launch(Box<Launch>),
}

/// A launch.
struct Launch {
    args: RunArgs,
    given: Given,
}

/// What a launch leaves: what it prints, the files it would write; or the fault that stops it.
#[derive(PartialEq, Eq)]
enum Outcome {
    Done(Vec<u8>, Vec<(PathBuf, Vec<u8>)>),
    Stopped(String),
}

impl Judge {
    fn new(args: &BisectArgs) -> Result<Judge, Failure> {
        if let Some(command) = &args.judge {
            return Ok(Judge::Command(command.clone()));
        }
        let (launch, given) = behind_dashes(&args.input, &args.launch, false)?;
        Ok(Judge::Launch(Box::new(Launch { args: launch, given })))
    }

    /// What the launch of the code of `-O0` leaves, where a launch decides.
    fn expected(&self, args: &BisectArgs, bytes: &[u8]) -> Result<Option<Outcome>, Failure> {
        let Judge::Launch(launch) = self else { return Ok(None) };
        // Without what acts on optional passes alone.
        let entry = vec![launch.args.entry.clone()];
        let plain = CodeArgs {
            opt_level: Some(0),
            fast_compile: FastCompileArg::Off,
            entry,
            disable_pass: Vec::new(),
            knob: Vec::new(),
            ..args.code.clone()
        };
        let compiled = compile::compile_bytes(&args.input, bytes, &plain)?;
        check_types(&launch.args, &compiled.parameters)?;
        match launch.outcome(&compiled.cubin)? {
            Outcome::Stopped(fault) => Err(Failure::Rejected(format!("error: the code of -O0 is no measure: {fault}"))),
            done => Ok(Some(done)),
        }
    }
}

impl Launch {
    fn outcome(&self, cubin: &[u8]) -> Result<Outcome, Failure> {
        let parsed = Cubin::parse(cubin).map_err(|error| Failure::file(&self.args.input, error))?;
        let launched = simulate::launch(&self.args, &parsed, &self.given)?;
        let report = match launched.result {
            Ok(report) if launched.found.errors() == 0 => report,
            Ok(_) => return Ok(Outcome::Stopped("the checks of memory have found errors".to_owned())),
            Err(error) => return Ok(Outcome::Stopped(error.to_string())),
        };
        let outputs = launched.bound.outputs(&launched.memory).map_err(rejected)?;
        Ok(Outcome::Done(report.printed, outputs))
    }
}

/// A search over limits.
struct Search<'a> {
    input: &'a Path,
    bytes: &'a [u8],
    code: CodeArgs,
    judge: Judge,
    expected: Option<Outcome>,
}

/// The first limit that is wrong, by what was counted there.
struct Found {
    last: Option<LastRun>,
    /// Its number.
    run: u64,
    all: u64,
    /// The number of the rewrite in it, where one was found.
    rewrite: Option<u64>,
    why: String,
}

impl Search<'_> {
    fn report(&mut self) -> Result<String, Failure> {
        let found = self.search()?;
        let mut out = String::new();
        let Found { last, run, all, rewrite, why } = &found;
        // Writing to a `String` cannot fail.
        let _ = match last {
            Some(last) => writeln!(out, "pass {run} of {all}: {} on function '{}'", last.pass, last.unit),
            None => writeln!(out, "pass {run} of {all}"),
        };
        let (before, after) = match rewrite {
            Some(rewrite) => {
                (Limit { runs: *run, rewrites: Some(rewrite - 1) }, Limit { runs: *run, rewrites: Some(*rewrite) })
            }
            None => (Limit::runs(run - 1), Limit::runs(*run)),
        };
        if let (Some(rewrite), Some(rule)) = (rewrite, last.as_ref().and_then(|last| last.rule)) {
            let _ = writeln!(out, "rewrite {rewrite} of it: {rule}");
        }
        let _ = writeln!(out, "right with --pass-limit {before}, wrong with --pass-limit {after}: {why}");
        if let Some(last) = last {
            let mut text = |limit: Limit| self.text_after(limit, last);
            if let (Some(before), Some(after)) = (text(before)?, text(after)?) {
                out.push_str(&changed_lines(&before, &after));
            }
        }
        Ok(out)
    }

    fn search(&mut self) -> Result<Found, Failure> {
        let none = self.compile(Limit::runs(0))?;
        if let Some(why) = self.fault_of(&none)? {
            return Err(Failure::Rejected(format!("error: wrong without any optional pass too: {why}")));
        }
        let full = self.try_limit(Limit::runs(u64::MAX))?;
        let all = full.compiled.as_ref().map_or(none.passes.all, |compiled| compiled.passes.all);
        if full.why.is_none() {
            return Err(Failure::Rejected("error: right with all passes: there is nothing to find".to_owned()));
        }
        let run = self.first_wrong(0, all, Limit::runs)?;
        let wrong = self.try_limit(Limit::runs(run))?;
        let why = wrong.why.unwrap_or_default();
        let last = wrong.compiled.and_then(|compiled| compiled.passes.last);
        let within = |rewrites| Limit { runs: run, rewrites: Some(rewrites) };
        let rewrites = last.as_ref().map_or(0, |last| last.rewrites);
        if rewrites == 0 || self.try_limit(within(0))?.why.is_some() {
            return Ok(Found { last, run, all, rewrite: None, why });
        }
        let rewrite = self.first_wrong(0, rewrites, within)?;
        let wrong = self.try_limit(within(rewrite))?;
        let last = wrong.compiled.and_then(|compiled| compiled.passes.last).or(last);
        Ok(Found { last, run, all, rewrite: Some(rewrite), why: wrong.why.unwrap_or(why) })
    }

    /// A number that is wrong while the one before is right, between one that is right and one that is wrong.
    fn first_wrong(&mut self, right: u64, wrong: u64, limit: impl Fn(u64) -> Limit) -> Result<u64, Failure> {
        let (mut right, mut wrong) = (right, wrong);
        while right + 1 < wrong {
            let middle = right + (wrong - right) / 2;
            let is_wrong = self.try_limit(limit(middle))?.why.is_some();
            if is_wrong { wrong = middle } else { right = middle }
        }
        Ok(wrong)
    }

    fn try_limit(&mut self, limit: Limit) -> Result<Trial, Failure> {
        let trial = match self.compile(limit) {
            Ok(compiled) => Trial { why: self.fault_of(&compiled)?, compiled: Some(compiled) },
            // What cannot be compiled with a pass, and can without, is a fault of the pass.
            Err(failure) => Trial { why: Some(failure.message().to_owned()), compiled: None },
        };
        if limit.runs < u64::MAX {
            console::say(format_args!("--pass-limit {limit}: {}", if trial.why.is_some() { "wrong" } else { "right" }));
        }
        Ok(trial)
    }

    fn compile(&mut self, limit: Limit) -> Result<Compiled, Failure> {
        self.code.pass_limit = Some(limit);
        compile::compile_bytes(self.input, self.bytes, &self.code)
    }

    /// What is wrong with the code, if anything is.
    fn fault_of(&self, compiled: &Compiled) -> Result<Option<String>, Failure> {
        match &self.judge {
            Judge::Command(command) => fault_by(command, &compiled.cubin),
            Judge::Launch(launch) => Ok(match launch.outcome(&compiled.cubin)? {
                outcome if Some(&outcome) == self.expected.as_ref() => None,
                Outcome::Stopped(fault) => Some(fault),
                Outcome::Done(..) => Some("the launch leaves something else than with -O0".to_owned()),
            }),
        }
    }

    /// The function of the last run behind that run.
    fn text_after(&mut self, limit: Limit, last: &LastRun) -> Result<Option<String>, Failure> {
        self.code.pass_limit = Some(limit);
        let shown = [last.pass.to_owned()];
        let Ok(compiled) = compile::compile_showing(self.input, self.bytes, &self.code, &shown) else {
            return Ok(None);
        };
        let mut dumps = compiled.dumps.into_iter().filter(|dump| dump.unit == last.unit);
        Ok(dumps.next_back().map(|dump| dump.text))
    }
}

/// One limit tried.
struct Trial {
    compiled: Option<Compiled>,
    /// What is wrong, if anything is.
    why: Option<String>,
}

/// What a command that judges says of a cubin.
fn fault_by(command: &str, cubin: &[u8]) -> Result<Option<String>, Failure> {
    let folder = temporary::folder().map_err(rejected)?;
    let path = folder.path().join("bisect.cubin");
    std::fs::write(&path, cubin).map_err(|error| rejected(format!("the cubin for the judge: {error}")))?;
    let mut shell = std::process::Command::new("sh");
    let shell = shell.args(["-c", command]).env("CUBIN", &path).stdin(Stdio::null()).stdout(Stdio::null());
    let status = shell.status().map_err(|error| rejected(format!("sh: {error}")))?;
    Ok((!status.success()).then(|| format!("the judge ends with {status}")))
}
