//! `oriole tune`: a search for the options with which launches take the least time (`docs/tuning.md`).

mod bench;
mod clock;
mod device;
mod launches;
mod left;
mod options;
mod report;
mod search;
mod space;

use super::args::CodeArgs;
use super::failure::{Failure, usage};
use super::files::Outputs;
use super::run_args::Engine;
use super::side_by_side::{self, share};
use super::tune_args::TuneArgs;
use super::{compile, files, nvptx};
use bench::{Bench, Unit};
use clock::Clock;
use device::Device;
use fastrand::Rng;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use launches::{Launch, launches};
use report::{Outcome, gain};
use search::{Best, ROUND, Search, Tried};
use space::{Point, Space};
use std::io::IsTerminal;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

/// The time for a search where nothing is said.
const USUAL_TIME: Duration = Duration::from_secs(60);

/// Search, write the best code, and say what it is.
pub(crate) fn run(args: &TuneArgs) -> Result<(), Failure> {
    refuse_what_cannot_act(args)?;
    let bytes = files::read(&args.input)?;
    if !nvptx::is_llvm(&args.input, &bytes) {
        compile::refuse_on_ptx(&args.ir)?;
    }
    let (base, launches) = launches(args)?;
    keep_files_apart(args, &base, &launches)?;
    let limit = args.seconds.or(args.trials.is_none().then_some(USUAL_TIME));
    let clock = Clock::start(limit)?;
    let at_a_time = share(args.jobs, ROUND).at_a_time;
    let workers = side_by_side::pool(at_a_time)?;
    let device = (args.engine == Engine::Gpu).then(|| Device::open(&launches)).transpose()?;
    let (bench, code, measured) = Bench::new((&args.input, &bytes), &launches, &base, &clock, device)?;
    let (target, plain) = (code.target(), (measured.clone(), code.registers.clone()));
    let space = Space::around(plain.1.iter().copied().max().unwrap_or(0), code.sm());
    let bar = bar(args, limit);
    let search = Search {
        bench: &bench,
        space: &space,
        base: &base,
        clock: &clock,
        trials: args.trials.map(NonZeroU64::get),
        workers: &workers,
        watch: &|tried, best| {
            bar.set_position(args.trials.map_or(clock.elapsed().as_secs(), |_| tried.candidates));
            bar.set_message(state(tried, best, plain.0.cost(), bench.unit()));
        },
    };
    let start = Best { point: Point::default(), code, measured };
    let (best, tried) = search.run(start, &mut Rng::with_seed(args.seed));
    bar.finish_and_clear();
    let outcome = Outcome {
        input: args.input.display().to_string(),
        target,
        seed: args.seed,
        names: launches.iter().map(|launch| launch.name.as_str()).collect(),
        unit: bench.unit(),
        plain,
        best,
        tried,
        seconds: clock.elapsed(),
        is_interrupted: clock.is_interrupted(),
        options: &|point| options::words(&space.code(point, &base)),
    };
    publish(args, &outcome)
}

/// Options that would change nothing here, or are not there, are mistakes.
fn refuse_what_cannot_act(args: &TuneArgs) -> Result<(), Failure> {
    if args.engine == Engine::Ptx {
        return Err(usage("--engine ptx: candidates are measured by the cycle model of sim or by a gpu"));
    }
    if args.launch.is_empty() && args.manifest.is_none() {
        return Err(usage("a launch behind -- or --manifest MANIFEST.toml is missing"));
    }
    if args.filter.is_some() && args.manifest.is_none() {
        return Err(usage("--filter: chooses launches of a --manifest"));
    }
    if args.quiet && args.output.is_none() && args.report.is_none() {
        return Err(usage("-q: without -o and --report nothing would come of it"));
    }
    let to_stdout = [&args.output, &args.report].into_iter().flatten().filter(|path| *path == Path::new("-")).count();
    if to_stdout + usize::from(!args.quiet) > 1 && to_stdout > 0 {
        return Err(usage("-: standard output takes one of the cubin, the report and, without -q, the table"));
    }
    Ok(())
}

fn keep_files_apart(args: &TuneArgs, base: &CodeArgs, launches: &[Launch]) -> Result<(), Failure> {
    let read = nvptx::inputs(&args.input, &base.ir).chain(args.manifest.as_deref());
    let read = read.chain(launches.iter().flat_map(Launch::inputs));
    let written = || [&args.output, &args.report].into_iter().filter_map(|path| path.as_deref());
    files::have_folders(written())?;
    files::keep_apart(read, written())
}

/// Write the code and the report, and print the table.
fn publish(args: &TuneArgs, outcome: &Outcome<'_>) -> Result<(), Failure> {
    let mut outputs = Outputs::default();
    if let Some(path) = &args.output {
        outputs.add(path, &outcome.best.code.bytes)?;
    }
    if let Some(path) = &args.report {
        outputs.add(path, outcome.json()?.as_bytes())?;
    }
    if !args.quiet {
        outputs.print(&outcome.text());
    }
    outputs.finish()
}

/// A bar on standard error, where that is a terminal: of trials, where their number is given, or of seconds.
fn bar(args: &TuneArgs, limit: Option<Duration>) -> ProgressBar {
    let is_drawn = !args.quiet && std::io::stderr().is_terminal();
    let target = if is_drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let length = args.trials.map(NonZeroU64::get).or(limit.map(|limit| limit.as_secs().max(1)));
    let bar = ProgressBar::with_draw_target(length, target);
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    bar
}

/// What the bar says.
fn state(tried: &Tried, best: &Best, plain: u64, unit: Unit) -> String {
    let (Tried { candidates, codes, .. }, cost) = (tried, best.measured.cost());
    format!("{candidates} candidates, {codes} codes, {cost} {}, {:.2}% fewer", unit.name(), gain(plain, cost))
}
