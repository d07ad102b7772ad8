//! `oriole compile IN… --out-dir DIR`: many files at a time.
//!
//! A file's bytes do not depend on the others, nor on how many are compiled at a time; what is said comes in the order of
//! the inputs, whichever was ready first.

mod outcome;
mod table;

use super::args::CompileArgs;
use super::batch_args::DiagnosticsForm;
use super::cache::Cache;
use super::compile::{self, Made};
use super::diagnostics::{self, Record, Severity};
use super::failure::{Failure, usage};
use super::progress::Progress;
use super::side_by_side::{self, Share, share};
use super::{files, nvptx};
use crate::console;
use crate::product::Said;
use oriole_codegen::Report;
use outcome::{Done, Outcome};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Compile all inputs.
pub(super) fn run(args: &CompileArgs) -> Result<(), Failure> {
    let Some(folder) = &args.batch.out_dir else { return Err(usage("a batch needs --out-dir DIR")) };
    let jobs = plan(&args.input, folder)?;
    check(args, &jobs)?;
    files::make_folder(folder)?;
    let cache = Cache::open(&args.cache)?;
    let batch = Batch { args, cache: cache.as_ref(), share: share(args.code.jobs, jobs.len()) };
    let progress = Progress::new(
        jobs.len(),
        "files",
        !args.batch.quiet,
        |outcome| outcome::said(args, outcome),
        |outcome: &Outcome| outcome.result.is_err(),
    );
    batch.compile(&jobs, &progress);
    let outcomes = progress.finish();
    finish(args, cache.as_ref(), &outcomes)
}

/// A file to compile.
struct Job {
    input: PathBuf,
    output: PathBuf,
}

/// Which file each input becomes.
fn plan(inputs: &[PathBuf], folder: &Path) -> Result<Vec<Job>, Failure> {
    let mut taken: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    let mut jobs = Vec::with_capacity(inputs.len());
    for input in inputs {
        if input == Path::new("-") {
            return Err(usage("--out-dir: standard input has no name to call a cubin by; give -o instead"));
        }
        let Some(stem) = input.file_stem() else {
            return Err(usage(format!("{}: the name of no file", input.display())));
        };
        let mut name = stem.to_owned();
        name.push(".cubin");
        let output = folder.join(name);
        if let Some(other) = taken.insert(output.clone(), input) {
            let (other, input, output) = (other.display(), input.display(), output.display());
            return Err(usage(format!("{other} and {input}: both would be {output}")));
        }
        jobs.push(Job { input: input.clone(), output });
    }
    Ok(jobs)
}

/// What is wrong with the command line is said before the first file is compiled.
fn check(args: &CompileArgs, jobs: &[Job]) -> Result<(), Failure> {
    let linked = args.code.ir.link.iter().map(PathBuf::as_path);
    files::keep_apart(
        jobs.iter().map(|job| job.input.as_path()).chain(linked),
        jobs.iter().map(|job| job.output.as_path()),
    )?;
    let Some(first) = jobs.first() else { return Ok(()) };
    let options = compile::options_of(args, &first.input)?;
    options.check().map_err(usage)?;
    // An option for LLVM IR acts where one of the files is that.
    let is_llvm = |job: &Job| files::read(&job.input).is_ok_and(|bytes| nvptx::is_llvm(&job.input, &bytes));
    compile::refuse_what_cannot_act(args, None, false)
        .or_else(|_| compile::refuse_what_cannot_act(args, None, jobs.iter().any(is_llvm)))
}

/// What the compilations have in common.
struct Batch<'a> {
    args: &'a CompileArgs,
    cache: Option<&'a Cache>,
    share: Share,
}

impl Batch<'_> {
    /// Compile all files.
    fn compile(&self, jobs: &[Job], progress: &Progress<'_, Outcome>) {
        side_by_side::each(jobs, self.share.at_a_time, |number, job| progress.ready(number, self.outcome(job)));
    }

    fn outcome(&self, job: &Job) -> Outcome {
        let start = Instant::now();
        let result = self.one(job);
        Outcome { input: job.input.clone(), output: job.output.clone(), result, time: start.elapsed() }
    }

    fn one(&self, job: &Job) -> Result<Done, Failure> {
        let (taken, mut options) = compile::source(self.args, &job.input)?;
        options.jobs = self.share.each;
        let (product, cached) = match compile::made(self.args, &taken.path, &taken.bytes, &options, self.cache)? {
            Made::Found(product) => (product, true),
            Made::Compiled(product, _) => (product, false),
        };
        files::write(&job.output, &product.cubin)?;
        // An outcome is kept to the end: not what nobody will read of it.
        let verbose = if self.args.verbose { product.said.verbose } else { Report::default() };
        Ok(Done { bytes: product.cubin.len(), said: Said { verbose, ..product.said }, cached })
    }
}

/// Say what has become of all of it.
fn finish(args: &CompileArgs, cache: Option<&Cache>, outcomes: &[Outcome]) -> Result<(), Failure> {
    if let Some(problem) = cache.and_then(Cache::problem).filter(|_| !args.batch.quiet) {
        match args.batch.diagnostics {
            DiagnosticsForm::Text => console::say(format_args!("warning: {problem}")),
            DiagnosticsForm::Json => {
                console::say_text(&diagnostics::lines(&[Record::new(None, Severity::Warning, problem)]));
            }
        }
    }
    if !args.batch.quiet && args.batch.diagnostics == DiagnosticsForm::Text {
        console::say_text(&table::of(outcomes));
    }
    if let Some(cache) = cache.filter(|_| args.verbose) {
        console::say(cache.counts());
    }
    if args.batch.json {
        files::print(&outcome::json(outcomes)?)?;
    }
    match outcomes.iter().filter(|outcome| outcome.result.is_err()).count() {
        0 => Ok(()),
        failed => Err(Failure::Rejected(format!("error: {failed} of {} files could not be compiled", outcomes.len()))),
    }
}
