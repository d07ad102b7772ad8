//! `oriole test`: launches of a manifest on the simulator, and whether they leave what is expected (`docs/testing.md`).

mod build;
mod contents;
mod execution;
mod junit;
mod manifest;
mod outcome;
mod parameter;
mod plan;
mod report;
mod value;

use super::args::CodeArgs;
use super::failure::{Failure, usage};
use super::files::Outputs;
use super::launch::Given;
use super::merge::MergeArgs;
use super::progress::Progress;
use super::run_args::RunArgs;
use super::shard::{Part, Work};
use super::side_by_side::{self, share};
use super::test_args::TestArgs;
use super::{compile, files, memcheck};
use crate::console;
use execution::Programs;
use oriole_ptx::diag::SourceMap;
use outcome::{Outcome, Status};
use plan::Case;
use report::OfShard;
use std::path::Path;
use std::time::Instant;

/// Run all launches.
pub(crate) fn run(args: &TestArgs) -> Result<(), Failure> {
    args.targets.iter().try_for_each(|target| compile::compile_target(target).map(drop)).map_err(|e| usage_of(&e))?;
    args.check.as_deref().map(memcheck::parse).transpose()?;
    let outputs = || [&args.junit, &args.json].into_iter().filter_map(|path| path.as_deref());
    files::have_folders(outputs())?;
    files::keep_apart(args.manifests.iter().map(|path| path.as_path()), outputs())?;
    let mut planned = planned(args)?;
    let part = args.shard.map(|shard| {
        let names: Vec<(&Path, &str)> =
            planned.iter().map(|Planned { case, .. }| (case.manifest.as_path(), case.name.as_str())).collect();
        let (items, slice) = (names.len() as u64, shard.slice(names.len() as u64));
        let part = shard.part(Work::Test, items, &names);
        planned = planned.drain(slice.start as usize..slice.end as usize).collect();
        part
    });
    if args.list {
        let names: String = planned.iter().map(|planned| format!("{}\n", planned.case.name)).collect();
        return files::print(&names);
    }
    let start = Instant::now();
    let outcomes = outcomes(args, &planned);
    let reports = Reports { junit: args.junit.as_deref(), json: args.json.as_deref(), quiet: args.quiet, part };
    finish(&reports, &outcomes, start.elapsed().as_secs_f64())
}

/// What the shards of a run say, in their order, as one run would.
pub(super) fn merge(shards: Vec<OfShard>, args: &MergeArgs) -> Result<(), Failure> {
    let seconds = shards.iter().map(|shard| shard.seconds).sum();
    let outcomes: Vec<Outcome> = shards.into_iter().flat_map(|shard| shard.launches).collect();
    outcomes.iter().map(report::block).filter(|block| !block.is_empty()).for_each(|block| console::say_text(&block));
    let reports = Reports { junit: args.junit.as_deref(), json: args.json.as_deref(), quiet: args.quiet, part: None };
    finish(&reports, &outcomes, seconds)
}

/// A launch of a manifest, for who measures it.
pub(super) struct Measured {
    pub(super) name: String,
    /// As `oriole run` takes it.
    pub(super) run: RunArgs,
    pub(super) given: Given,
}

/// The launches of a program in a manifest that compile it and are to come to their ends, with what it is made of and how: they pass.
pub(super) fn passing(args: &TestArgs, program: &Path) -> Result<(CodeArgs, Vec<Measured>), Failure> {
    let is_program = |path: &Path| path == program || path.canonicalize().ok() == program.canonicalize().ok();
    let mut planned = planned(args)?;
    planned.retain(|Planned { case, .. }| {
        case.program.kind == build::Kind::Compiled && case.fault.is_none() && is_program(&case.program.path)
    });
    let Some(first) = planned.first().map(|planned| planned.case.program.clone()) else {
        return Err(usage(format!("no launch compiles {} and comes to its end", program.display())));
    };
    if let Some(other) = planned.iter().find(|planned| planned.case.program != first) {
        let [one, other] = [&planned[0].case.name, &other.case.name];
        return Err(usage(format!("'{one}' and '{other}' are not of the same code: --arch or --filter chooses")));
    }
    let programs = Programs::new(planned.iter().map(|planned| &planned.case));
    let mut outcomes = Vec::new();
    for Planned { case, line } in &planned {
        outcomes.push(execution::run(case, *line, &programs, 0));
    }
    if outcomes.iter().any(|outcome| outcome.status != Status::Passed) {
        outcomes.iter().for_each(|outcome| console::say_text(&report::block(outcome)));
        finish(&Reports::default(), &outcomes, outcomes.iter().map(|outcome| outcome.seconds).sum())?;
    }
    let measured = |Planned { case, .. }: Planned| Measured { name: case.name, run: case.run, given: case.given };
    Ok((first.code(), planned.into_iter().map(measured).collect()))
}

/// A case, and its line in the manifest.
struct Planned {
    case: Case,
    line: usize,
}

/// The cases of all manifests that the filter lets through.
fn planned(args: &TestArgs) -> Result<Vec<Planned>, Failure> {
    let mut planned = Vec::new();
    for path in &args.manifests {
        planned.extend(of_manifest(args, path)?);
    }
    let count = planned.len();
    if let Some(text) = &args.filter {
        planned.retain(|planned| planned.case.name.contains(text.as_str()));
        if planned.is_empty() && count > 0 {
            return Err(usage(format!("--filter {text}: none of {count} launches has this in its name")));
        }
    }
    let is_compiled = |planned: &Planned| planned.case.program.kind == build::Kind::Compiled;
    let is_given = !args.targets.is_empty() || !args.levels.is_empty();
    if is_given && !planned.iter().any(is_compiled) {
        return Err(usage("--targets and --levels: nothing that is run is compiled"));
    }
    Ok(planned)
}

fn of_manifest(args: &TestArgs, path: &Path) -> Result<Vec<Planned>, Failure> {
    let bytes = files::read(path).map_err(|failure| usage_of(&failure))?;
    let text = String::from_utf8(bytes).map_err(|_| usage(format!("{}: a manifest is UTF-8 text", path.display())))?;
    let wrong = |errors: &[_]| Failure::Usage(manifest::render(path, &text, errors));
    let manifest = manifest::read(&text).map_err(|error| wrong(&[error]))?;
    let cases = plan::cases(args, path, manifest).map_err(|errors| wrong(&errors))?;
    let name = path.display().to_string();
    let map = SourceMap::new(&name, &text);
    let line = |case: &Case| map.line_column(u32::try_from(case.place.start).unwrap_or(u32::MAX)).0;
    Ok(cases.into_iter().map(|case| Planned { line: line(&case), case }).collect())
}

/// What cannot be read before anything has run is wrong usage.
fn usage_of(failure: &Failure) -> Failure {
    Failure::Usage(failure.message().to_owned())
}

fn outcomes(args: &TestArgs, planned: &[Planned]) -> Vec<Outcome> {
    let programs = Programs::new(planned.iter().map(|planned| &planned.case));
    let share = share(args.jobs, planned.len());
    let has_failed = |outcome: &Outcome| outcome.status != Status::Passed;
    let progress = Progress::new(planned.len(), "launches", !args.quiet, report::block, has_failed);
    side_by_side::each(planned, share.at_a_time, |number, Planned { case, line }| {
        progress.ready(number, execution::run(case, *line, &programs, share.each));
    });
    progress.finish()
}

/// Where it is said how it went.
#[derive(Default)]
struct Reports<'a> {
    junit: Option<&'a Path>,
    json: Option<&'a Path>,
    quiet: bool,
    part: Option<Part>,
}

/// Write the reports, and say how it went.
fn finish(reports: &Reports<'_>, outcomes: &[Outcome], seconds: f64) -> Result<(), Failure> {
    let mut outputs = Outputs::default();
    if let Some(path) = reports.junit {
        outputs.add(path, junit::document(outcomes)?.as_bytes())?;
    }
    if let Some(path) = reports.json {
        outputs.add(path, report::json(reports.part.as_ref(), outcomes, seconds)?.as_bytes())?;
    }
    outputs.finish()?;
    let summary = report::summary(outcomes, seconds);
    let any = |status| outcomes.iter().any(|outcome| outcome.status == status);
    if any(Status::Faulted) {
        return Err(Failure::Fault(summary));
    }
    if any(Status::Failed) || any(Status::Error) {
        return Err(Failure::Rejected(summary));
    }
    if !reports.quiet {
        console::say(summary);
    }
    Ok(())
}
