//! `oriole phases`.

use super::failure::Failure;
use super::files;
use oriole_codegen::optional_passes;
use oriole_opt::table::{PHASES, Phase, Work};
use std::path::Path;

/// Print the table of the pipeline, a slot a line: number, name, when it runs, and why it does not where it does not.
pub(crate) fn run() -> Result<(), Failure> {
    let header = format!("{:>3} {:40} {:9} why there is no work\n", "no", "phase", "runs");
    let table: String = std::iter::once(header).chain(PHASES.iter().map(line)).collect();
    files::write(Path::new("-"), table.as_bytes())
}

fn line(phase: &Phase) -> String {
    let (runs, why) = match phase.work {
        Work::Run { .. } if !phase.is_optional() => ("always", ""),
        Work::Run { .. } => ("optional", ""),
        // The scheduler fills a slot from outside of the table, and can be told not to reorder.
        Work::Absent(reason) if optional_passes().any(|name| name == phase.name) => ("optional", reason),
        Work::Absent(reason) => ("-", reason),
    };
    let line = format!("{:>3} {:40} {runs:9} {why}", phase.number, phase.name);
    format!("{}\n", line.trim_end())
}
