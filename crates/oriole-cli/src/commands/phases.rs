//! `oriole phases`.

use super::args::PhasesArgs;
use super::failure::Failure;
use super::files;
use oriole_codegen::{FastCompile, PassInfo, passes};
use oriole_opt::slots::{Content, SLOTS, Slot};
use oriole_passes::Repetition;
use std::fmt::Write;

/// Print the published table, or the pipeline.
pub(crate) fn run(args: &PhasesArgs) -> Result<(), Failure> {
    let text = match (args.pipeline, args.markdown) {
        (true, _) => pipeline(),
        (false, true) => markdown(),
        (false, false) => table(),
    };
    files::print(&text)
}

/// A slot a line: number, name, whether it can be left out, what fills it or why nothing does.
fn table() -> String {
    let header = format!("{:>3} {:40} {:9} what fills it, or why nothing does\n", "no", "phase", "runs");
    std::iter::once(header).chain(SLOTS.iter().map(line)).collect()
}

fn line(slot: &Slot) -> String {
    let runs = match (slot.content, pass_of(slot)) {
        (Content::Pass(_), Some(pass)) if !pass.needed => "optional",
        (Content::Pass(_), _) => "always",
        (Content::Elsewhere(_), _) => "elsewhere",
        (Content::Nothing(_), _) => "-",
    };
    format!("{:>3} {:40} {runs:9} {}\n", slot.number, slot.name, slot.content.words())
}

/// The pass that fills a slot.
fn pass_of(slot: &Slot) -> Option<PassInfo> {
    passes().find(|pass| pass.slots.contains(&slot.number))
}

/// The three kinds of slots, a table for each.
fn markdown() -> String {
    let mut out = String::new();
    let mut part = |title: &str, heads: &str, is_in: fn(Content) -> bool, cells: fn(&Slot) -> String| {
        let slots: Vec<&Slot> = SLOTS.iter().filter(|slot| is_in(slot.content)).collect();
        let rules = "|---".repeat(heads.matches('|').count() - 1);
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "## {title}: {}\n\n{heads}\n{rules}|", slots.len());
        for slot in slots {
            let _ = writeln!(out, "| {} | {} | {}{} |", slot.number, slot.name, cells(slot), slot.content.words());
        }
        out.push('\n');
    };
    let filled = "| slot | phase | from | `--fast-compile` | what it does |";
    part(
        "Slots that a pass fills",
        filled,
        |content| matches!(content, Content::Pass(_)),
        |slot| pass_of(slot).map_or_else(String::new, |pass| format!("{} | {} | ", level(&pass), fast(&pass))),
    );
    let elsewhere = "| slot | phase | who does its work |";
    part(
        "Slots whose work is done elsewhere",
        elsewhere,
        |content| matches!(content, Content::Elsewhere(_)),
        |_| String::new(),
    );
    let nothing = "| slot | phase | why nothing does its work |";
    part("Slots that are left out", nothing, |content| matches!(content, Content::Nothing(_)), |_| String::new());
    out
}

/// The level from which on a pass runs, and whether it can be left out there.
fn level(pass: &PassInfo) -> String {
    let needed = if pass.needed { ", always" } else { "" };
    format!("-O{}{needed}", pass.level)
}

/// With how much of `--fast-compile` a pass still runs.
fn fast(pass: &PassInfo) -> &'static str {
    match pass.fast {
        FastCompile::Off => "left out",
        FastCompile::Min => "min",
        FastCompile::Mid => "min, mid",
        FastCompile::Max => "all",
    }
}

/// A pass a line, in the order in which they run.
fn pipeline() -> String {
    let header = format!("{:34} {:5} {:8} {:8} {:12} slots\n", "pass", "level", "needed", "fast", "repetition");
    let line = |pass: PassInfo| {
        let needed = if pass.needed { "always" } else { "optional" };
        let repetition = match pass.repetition {
            Repetition::Once => "once".to_owned(),
            Repetition::Settle => "until stable".to_owned(),
            Repetition::After(name) => format!("after {name}"),
        };
        let slots: Vec<String> = pass.slots.iter().map(u16::to_string).collect();
        let fast = fast(&pass);
        format!("{:34} -O{:<3} {needed:8} {fast:8} {repetition:12} {}\n", pass.name, pass.level, slots.join(" "))
    };
    std::iter::once(header).chain(passes().map(line)).collect()
}
