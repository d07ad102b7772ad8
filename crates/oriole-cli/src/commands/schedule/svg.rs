//! Timelines as a drawing: for each block a row for each instruction, with the time that it is waited for, its issue, and until when
//! its results come.

use super::blocks;
use super::text::said;
use crate::svg::escaped;
use oriole_check::{BlockTimeline, Issue, Timeline};
use std::fmt::Write;

/// Of the whole drawing, of the part with the instructions' texts, of a row, and of a block's title.
const WIDTH: usize = 1200;
const TEXTS: usize = 420;
const ROW: usize = 14;
const TITLE: usize = 34;
/// Waiting, issue, results on the way: apart in brightness, too.
const STALLED: &str = "#f4cccc";
const ISSUED: &str = "#0b5394";
const ON_THE_WAY: &str = "#cfe2f3";
const CRITICAL: &str = "#990000";

pub(super) fn document(timelines: &[Timeline]) -> String {
    let height: usize = blocks(timelines).map(|(_, block)| of(block)).sum::<usize>().max(1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"monospace\" \
         font-size=\"10\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    let mut top = 0;
    for (function, block) in blocks(timelines) {
        let _ = writeln!(out, "<g transform=\"translate(0,{top})\">");
        draw(&mut out, function, block);
        out.push_str("</g>\n");
        top += of(block);
    }
    out + "</svg>\n"
}

/// The height of a block.
fn of(block: &BlockTimeline) -> usize {
    TITLE + ROW * (block.instructions.len() + 1)
}

fn draw(out: &mut String, function: &str, block: &BlockTimeline) {
    let title = format!("{function}, block at {:#06x}: {} cycles", block.address, block.cycles);
    let _ = writeln!(out, "<text x=\"8\" y=\"22\" font-size=\"12\" font-weight=\"bold\">{}</text>", escaped(&title));
    let end = block.instructions.iter().map(|issue| issue.done.unwrap_or(issue.cycle + 1).min(block.cycles));
    let scale = (WIDTH - TEXTS - 10) as f64 / f64::from(end.max().unwrap_or(1).max(block.cycles).max(1));
    for (at, issue) in block.instructions.iter().enumerate() {
        let colour = if block.critical.binary_search(&at).is_ok() { CRITICAL } else { "black" };
        let reason = issue.reason.map_or_else(String::new, |reason| format!("\n{}", said(block, reason)));
        row(out, TITLE + ROW * at, issue, (colour, &reason), scale);
    }
}

fn row(out: &mut String, top: usize, issue: &Issue, (colour, reason): (&str, &str), scale: f64) {
    let text = format!("{:#06x} {}", issue.address, issue.text);
    let shown: String = text.chars().take(66).collect();
    let title = format!("{text}\ncycle {}, {} cycles stalled{reason}", issue.cycle, issue.stalled);
    let _ = writeln!(
        out,
        "<g><title>{}</title><text x=\"8\" y=\"{}\" fill=\"{colour}\">{}</text>",
        escaped(&title),
        top + 10,
        escaped(&shown)
    );
    let mut bar = |from: u32, to: u32, colour: &str| {
        let (x, width) = (TEXTS as f64 + scale * f64::from(from), scale * f64::from(to.saturating_sub(from)));
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>",
            top + 2,
            ROW - 4
        );
    };
    bar(issue.cycle - issue.stalled.min(issue.cycle), issue.cycle, STALLED);
    if let Some(done) = issue.done {
        bar(issue.cycle + 1, done, ON_THE_WAY);
    }
    bar(issue.cycle, issue.cycle + 1, ISSUED);
    out.push_str("</g>\n");
}
