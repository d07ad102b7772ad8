//! `oriole phases`.

use super::args::PhasesArgs;
use super::failure::Failure;
use super::files;
use oriole_codegen::{PassInfo, passes};
use oriole_opt::slots::{Content, SLOTS, Slot};
use oriole_passes::Repetition;
use std::path::Path;

/// Print the published table, or the pipeline.
pub(crate) fn run(args: &PhasesArgs) -> Result<(), Failure> {
    let text = if args.pipeline { pipeline() } else { table() };
    files::write(Path::new("-"), text.as_bytes())
}

/// A slot a line: number, name, whether it can be left out, what fills it or why nothing does.
fn table() -> String {
    let header = format!("{:>3} {:40} {:9} what fills it, or why nothing does\n", "no", "phase", "runs");
    std::iter::once(header).chain(SLOTS.iter().map(line)).collect()
}

fn line(slot: &Slot) -> String {
    let pass = || passes().find(|pass| pass.slots.contains(&slot.number));
    let runs = match slot.content {
        Content::Pass(_) if pass().is_some_and(|pass| !pass.needed) => "optional",
        Content::Pass(_) => "always",
        Content::Elsewhere(_) => "elsewhere",
        Content::Nothing(_) => "-",
    };
    format!("{:>3} {:40} {runs:9} {}\n", slot.number, slot.name, slot.content.words())
}

/// A pass a line, in the order in which they run.
fn pipeline() -> String {
    let header = format!("{:26} {:5} {:8} {:24} slots\n", "pass", "level", "needed", "repetition");
    let line = |pass: PassInfo| {
        let needed = if pass.needed { "always" } else { "optional" };
        let repetition = match pass.repetition {
            Repetition::Once => "once".to_owned(),
            Repetition::Settle => "until nothing changes".to_owned(),
            Repetition::After(name) => format!("after {name}"),
        };
        let slots: Vec<String> = pass.slots.iter().map(u16::to_string).collect();
        format!("{:26} -O{:<3} {needed:8} {repetition:24} {}\n", pass.name, pass.level, slots.join(" "))
    };
    std::iter::once(header).chain(passes().map(line)).collect()
}
