//! `oriole schedule`, and `oriole compile --schedule`.

mod explain;
mod svg;
mod text;

pub(super) use explain::What;

use super::failure::{Failure, rejected, usage};
use super::images::{self, Wish};
use super::schedule_args::ScheduleArgs;
use super::{compile, files};
use clap::ValueEnum;
use oriole_check::{BlockTimeline, Timeline, timeline};
use oriole_cubin::Cubin;
use std::path::Path;

/// How timelines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A line for each instruction.
    Text,
    /// All that is known.
    Json,
    /// A drawing.
    Svg,
}

impl Form {
    /// By a file's name.
    pub(super) fn of(path: &Path) -> Form {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => Form::Json,
            Some("svg") => Form::Svg,
            _ => Form::Text,
        }
    }

    fn write(self, timelines: &[Timeline]) -> Result<String, Failure> {
        match self {
            Form::Text => Ok(text::document(timelines)),
            Form::Json => serde_json::to_string_pretty(timelines).map(|text| text + "\n").map_err(rejected),
            Form::Svg => Ok(svg::document(timelines)),
        }
    }
}

/// Show the timelines of a cubin.
pub(crate) fn run(args: &ScheduleArgs) -> Result<(), Failure> {
    let wish = Wish::of_code(&args.input, args.arch.as_deref(), &args.image, &args.entry);
    let (path, cubin) = compile::cubin_of(images::one(&wish, files::read(&args.input)?)?)?;
    files::is_elf(&path, &cubin)?;
    let timelines = of(&cubin, &args.entry).map_err(|error| Failure::file(&path, error))?;
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let text = match (args.explain, &args.explain_schedule) {
        (None, Some(what)) => explain::explanation(&timelines, what, args.form.unwrap_or(Form::of(output)))?,
        (None, None) => args.form.unwrap_or(Form::of(output)).write(&timelines)?,
        (Some(_), _) if args.form.is_some_and(|form| form != Form::Text) => {
            return Err(usage("--explain answers in text: leave --form out"));
        }
        (Some(address), _) => text::explanation(&timelines, address)
            .ok_or_else(|| Failure::file(&args.input, format!("no instruction is at {address:#06x}")))?,
    };
    files::write(output, text.as_bytes())
}

/// The timelines of a cubin's functions.
fn of(bytes: &[u8], entries: &[String]) -> Result<Vec<Timeline>, String> {
    let cubin = Cubin::parse(bytes).map_err(|error| error.to_string())?;
    timeline(&cubin, entries).map_err(|error| error.to_string())
}

/// All blocks, each with the name of its function.
fn blocks(timelines: &[Timeline]) -> impl Iterator<Item = (&str, &BlockTimeline)> {
    timelines.iter().flat_map(|one| one.blocks.iter().map(|block| (one.function.as_str(), block)))
}

/// What `oriole compile --explain-schedule` prints of the cubin that it has made.
pub(super) fn explanation(what: &What, cubin: &[u8]) -> Result<String, Failure> {
    let timelines = of(cubin, &[]).map_err(rejected)?;
    explain::explanation(&timelines, what, Form::Text)
}

/// What `oriole compile --schedule` writes to `path` of the cubin that it has made.
pub(super) fn of_cubin(path: &Path, cubin: &[u8]) -> Result<String, Failure> {
    let timelines = of(cubin, &[]).map_err(rejected)?;
    Form::of(path).write(&timelines)
}
