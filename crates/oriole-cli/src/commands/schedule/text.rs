//! Timelines as text, and what is said of one instruction.

use super::blocks;
use oriole_check::{BlockTimeline, Bound, Issue, Reason, Timeline};
use std::fmt::Write;

/// A table for each block. Instructions of the critical chain have a star.
pub(super) fn document(timelines: &[Timeline]) -> String {
    let mut out = String::new();
    for (function, block) in blocks(timelines) {
        let count = block.instructions.len();
        let _ =
            writeln!(out, "{function}, block at {:#06x}: {count} instructions, {} cycles", block.address, block.cycles);
        let _ = writeln!(out, "  {:>6} {:>6}  {:6}  {:<52} waits for", "cycle", "stall", "at", "instruction");
        for (at, issue) in block.instructions.iter().enumerate() {
            let star = if block.critical.binary_search(&at).is_ok() { '*' } else { ' ' };
            let line = format!(
                "{star} {:>6} {:>6}  {:#06x}  {:<52} {}",
                issue.cycle,
                issue.stalled,
                issue.address,
                issue.text,
                issue.reason.map_or_else(String::new, |reason| said(block, reason))
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out.push('\n');
    }
    out
}

/// A reason in words.
pub(super) fn said(block: &BlockTimeline, reason: Reason) -> String {
    let named = |of: usize| block.instructions.get(of).map_or_else(String::new, name);
    match reason {
        Reason::Latency { of } => format!("latency of {}", named(of)),
        Reason::StallCount => "stall count of the one before".to_owned(),
        Reason::Scoreboard { scoreboard, of, sources } => {
            format!("scoreboard {scoreboard}: {} of {}", if sources { "sources" } else { "result" }, named(of))
        }
    }
}

/// `LDG.E at 0x00c0`.
pub(super) fn name(issue: &Issue) -> String {
    format!("{} at {:#06x}", opcode(&issue.text), issue.address)
}

/// The first word that is no guard.
fn opcode(text: &str) -> &str {
    text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or(text)
}

/// What the instruction at an address waits for and who waits for it; `None` if there is none.
pub(super) fn explanation(timelines: &[Timeline], address: u64) -> Option<String> {
    let mut out = String::new();
    for (function, block) in blocks(timelines) {
        let Some(at) = block.instructions.iter().position(|issue| issue.address == address) else { continue };
        let issue = &block.instructions[at];
        let _ = writeln!(out, "{function}, {address:#06x}: {}", issue.text);
        let reason =
            issue.reason.map_or_else(|| "right behind the one before".to_owned(), |reason| said(block, reason));
        let _ = writeln!(
            out,
            "  issues in cycle {} of its block ({:#06x}), {} cycles after the one before let go: {reason}",
            issue.cycle, block.address, issue.stalled
        );
        let critical = if block.critical.binary_search(&at).is_ok() { "on" } else { "not on" };
        let _ = writeln!(out, "  {critical} the chain that makes the block's last instruction as late as it is");
        for bound in &issue.bounds {
            let _ = writeln!(out, "  needs {}", needs(block, bound, issue.cycle));
        }
        for later in &block.instructions[at + 1..] {
            for bound in later.bounds.iter().filter(|bound| bound.on == at) {
                let slack = later.cycle.saturating_sub(bound.from);
                let _ = writeln!(
                    out,
                    "  is needed by {} ({} of {}): from cycle {}, it issues in {}, {slack} to spare",
                    name(later),
                    bound.kind.name(),
                    bound.register,
                    bound.from,
                    later.cycle
                );
            }
        }
    }
    (!out.is_empty()).then_some(out)
}

fn needs(block: &BlockTimeline, bound: &Bound, cycle: u32) -> String {
    let on = block.instructions.get(bound.on).map_or_else(String::new, name);
    let slack = cycle.saturating_sub(bound.from);
    format!("{on} ({} of {}): from cycle {}, {slack} to spare", bound.kind.name(), bound.register, bound.from)
}
