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
use super::merge::MergeArgs;
use super::run_args::Engine;
use super::shard::{Part, Work};
use super::side_by_side::{self, share};
use super::tune_args::TuneArgs;
use super::{compile, files, nvptx};
use bench::{Bench, Unit};
use clock::Clock;
use device::Device;
use fastrand::Rng;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use launches::{Launch, launches};
use report::{Report, Subject, gain};
use search::{Best, ROUND, Search, Tried};
use space::{Point, Space};
use std::cell::Cell;
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
    let space = Space::around(code.registers.iter().copied().max().unwrap_or(0), code.sm());
    let subject = Subject {
        input: args.input.display().to_string(),
        target: code.target(),
        names: launches.iter().map(|launch| launch.name.clone()).collect(),
        unit: bench.unit(),
        plain: (measured.clone(), code.registers.clone()),
        options: &|point| options::words(&space.code(point, &base)),
    };
    let (seeds, part) = seeds(args, &subject);
    let bar = bar(args, limit, seeds.len());
    let done = Cell::new(0);
    let plain = Best { point: Point::default(), code, measured };
    let search = Search {
        bench: &bench,
        space: &space,
        base: &base,
        clock: &clock,
        trials: args.trials.map(NonZeroU64::get),
        workers: &workers,
        watch: &|tried, best| {
            bar.set_position(args.trials.map_or(clock.elapsed().as_secs(), |_| done.get() + tried.candidates));
            bar.set_message(state(tried, best, plain.measured.cost(), bench.unit()));
        },
    };
    let mut report = subject.report(args.seed, clock.elapsed());
    let mut best_of_all = plain.clone();
    for seed in seeds {
        let start = clock.elapsed();
        let (best, tried) = search.run(plain.clone(), &mut Rng::with_seed(seed));
        done.set(done.get() + tried.candidates);
        let seconds = clock.elapsed().saturating_sub(start);
        report = report.and(subject.searched(seed, &best, &tried, seconds, clock.is_interrupted()));
        if best.measured.cost() < best_of_all.measured.cost() {
            best_of_all = best;
        }
    }
    bar.finish_and_clear();
    report.shard = part;
    publish(args, &report, &best_of_all.code.bytes)
}

/// The seeds of the searches, and what of all searches they are.
fn seeds(args: &TuneArgs, subject: &Subject<'_>) -> (Vec<u64>, Option<Part>) {
    let all = args.searches.get();
    let slice = args.shard.map_or(0..all, |shard| shard.slice(all));
    let run = (args.seed, args.trials, &subject.names, &subject.target);
    let part = args.shard.map(|shard| shard.part(Work::Tune, all, &run));
    (slice.map(|search| args.seed.wrapping_add(search)).collect(), part)
}

/// What the shards of a run say, in their order, as one run would.
pub(super) fn merge(shards: Vec<Report>, args: &MergeArgs) -> Result<(), Failure> {
    let Some(whole) = Report::whole(shards)? else { return Ok(()) };
    let mut outputs = Outputs::default();
    if let Some(path) = &args.json {
        outputs.add(path, whole.json()?.as_bytes())?;
    }
    if !args.quiet && args.json.as_deref() != Some(Path::new("-")) {
        outputs.print(&whole.text());
    }
    outputs.finish()
}

/// Options that would change nothing here, or are not there, are mistakes.
fn refuse_what_cannot_act(args: &TuneArgs) -> Result<(), Failure> {
    if args.engine == Engine::Ptx {
        return Err(usage("--engine ptx: candidates are measured by the cycle model of sim or by a gpu"));
    }
    if args.launch.is_empty() && args.manifest.is_none() {
        return Err(usage("a launch behind -- or --manifest MANIFEST.toml is missing"));
    }
    if args.engine == Engine::Gpu && args.shard.is_some() {
        return Err(usage("--shard: what the GPUs of different machines measure cannot be compared"));
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
fn publish(args: &TuneArgs, report: &Report, code: &[u8]) -> Result<(), Failure> {
    let mut outputs = Outputs::default();
    if let Some(path) = &args.output {
        outputs.add(path, code)?;
    }
    if let Some(path) = &args.report {
        outputs.add(path, report.json()?.as_bytes())?;
    }
    if !args.quiet {
        outputs.print(&report.text());
    }
    outputs.finish()
}

/// A bar on standard error, where that is a terminal: of trials, where their number is given, or of seconds.
fn bar(args: &TuneArgs, limit: Option<Duration>, searches: usize) -> ProgressBar {
    let is_drawn = !args.quiet && std::io::stderr().is_terminal();
    let target = if is_drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let trials = args.trials.map(|trials| trials.get().saturating_mul(searches as u64));
    let length = trials.or(limit.map(|limit| limit.as_secs().max(1)));
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
