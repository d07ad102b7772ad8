//! The answer in words.

use super::super::text::{name, said};
use super::Chosen;
use crate::commands::disasm_json::{scoreboard, waits};
use oriole_check::BlockTimeline;
use oriole_isa::Control;
use oriole_sched::{Cause, Dependence, Passed, Reasons};
use std::cmp::Ordering;
use std::fmt::Write;

/// So many of a kind are named; the others are counted.
const NAMED: usize = 8;

pub(super) fn document(chosen: &[Chosen]) -> String {
    let mut out = String::new();
    for one in chosen {
        if let Some(loops) = one.loops {
            let _ = writeln!(
                out,
                "{}: the hottest block is the one at {:#06x}, with {loops} loops around it. Its instructions take {} cycles to issue; \
                 its longest way takes {}, through {} of {} instructions.\n",
                one.timeline.function,
                one.block.address,
                one.order.length(),
                one.order.longest(),
                one.instructions.len(),
                one.order.len()
            );
        }
        for (at, reasons) in one.reasons() {
            explain(&mut out, one, at, &reasons);
        }
    }
    out
}

fn explain(out: &mut String, chosen: &Chosen, at: usize, reasons: &Reasons) {
    let (block, issue) = (chosen.block, &chosen.block.instructions[at]);
    let _ = writeln!(out, "{}:{:#06x}: {}", chosen.timeline.function, issue.address, issue.text);
    let _ = writeln!(
        out,
        " --> block at {:#06x}, instruction {} of {}, issues in cycle {} of {}",
        block.address,
        at + 1,
        chosen.order.len(),
        reasons.cycle,
        chosen.order.length()
    );
    let mut note = |label: &str, text: &str| {
        let _ = writeln!(out, "  = {label}: {text}");
    };
    note("control", &control(issue.inst.control));
    held_back(block, reasons, &mut note);
    position(block, at, reasons, &mut note);
    passed(block, reasons, &mut note);
    wanted(chosen, reasons, &mut note);
    fences(reasons, &mut note);
    out.push('\n');
}

/// `stall count 4, waits for SB0 and SB2, SB1 says when its results are there`.
fn control(control: Control) -> String {
    let waits: Vec<String> = waits(control).map(|at| format!("SB{at}")).collect();
    let mut said = format!("stall count {}", control.stall);
    if !waits.is_empty() {
        let _ = write!(said, ", waits for {}", waits.join(" and "));
    }
    let when =
        [(control.write_scoreboard, "its results are there"), (control.read_scoreboard, "its sources have been read")];
    for (scoreboard, what) in when.into_iter().filter_map(|(number, what)| Some((scoreboard(number)?, what))) {
        let _ = write!(said, ", SB{scoreboard} says when {what}");
    }
    said
}

fn held_back(block: &BlockTimeline, reasons: &Reasons, note: &mut impl FnMut(&str, &str)) {
    if reasons.follows.is_empty() {
        note("held back", "by nothing in its block");
    }
    // A fence follows all that is ahead of it: the last of them stands for all.
    let (order, data): (Vec<Dependence>, Vec<Dependence>) =
        reasons.follows.iter().partition(|dependence| dependence.cause == Cause::Ahead);
    let groups = grouped(&data);
    for (dependence, registers) in groups.iter().take(NAMED) {
        let binds = if dependence.from == reasons.earliest { ": this binds" } else { "" };
        let other = name(&block.instructions[dependence.other]);
        let why = why(dependence, registers, true);
        note("held back", &format!("until cycle {} by {other}: {why}{binds}", dependence.from));
    }
    if groups.len() > NAMED {
        note("held back", &format!("and by {} more, less long", groups.len() - NAMED));
    }
    if let Some(last) = order.first() {
        let binds = if last.from == reasons.earliest { ": this binds" } else { "" };
        let (from, count) = (last.from, order.len());
        note(
            "held back",
            &format!("until cycle {from} by the {count} ahead of it, none of which moves across it{binds}"),
        );
    }
}

/// Dependences on the same instruction for the same reason, with the registers that they are about.
fn grouped(dependences: &[Dependence]) -> Vec<(Dependence, Vec<String>)> {
    let mut groups: Vec<(Dependence, Vec<String>)> = Vec::new();
    for dependence in dependences {
        let kind = |of: &Dependence| (of.other, of.latency, of.cause.map(|_| ()));
        let register = super::json::register(dependence.cause);
        match groups.iter_mut().find(|(first, _)| kind(first) == kind(dependence)) {
            Some((_, registers)) => registers.extend(register.filter(|name| !registers.contains(name))),
            None => groups.push((*dependence, register.into_iter().collect())),
        }
    }
    groups
}

/// Why of two instructions, one of which is explained, the later follows the earlier.
fn why(dependence: &Dependence, registers: &[String], explains_later: bool) -> String {
    let (later, there) = if explains_later { ("it", "there") } else { ("that one", "here") };
    let (registers, cycles) = (registers.join(", "), cycles(dependence.latency));
    match dependence.cause {
        Cause::ReadAfterWrite(_) => format!("{later} reads {registers}, written {there} (read after write, {cycles})"),
        Cause::WriteAfterWrite(_) => {
            format!("{later} writes {registers}, written {there} (write after write, {cycles})")
        }
        Cause::WriteAfterRead(_) => format!("{later} writes {registers}, read {there} (write after read, {cycles})"),
        Cause::Memory => "both access memory and may meet there".to_owned(),
        Cause::Effect => "one of them has an effect on threads or the outside, and keeps its side".to_owned(),
        // The fence is the earlier of the two, or the later.
        Cause::Behind if explains_later => "nothing moves across that one".to_owned(),
        Cause::Ahead if !explains_later => "nothing moves across that one".to_owned(),
        Cause::Behind | Cause::Ahead => "nothing moves across this one".to_owned(),
    }
}

fn cycles(count: u32) -> String {
    if count == 1 { "1 cycle".to_owned() } else { format!("{count} cycles") }
}

fn position(block: &BlockTimeline, at: usize, reasons: &Reasons, note: &mut impl FnMut(&str, &str)) {
    let Reasons { cycle, earliest, .. } = *reasons;
    let stalled = block.instructions[at].reason.map(|reason| said(block, reason));
    let late = format!("could issue from cycle {earliest} on, issues in {cycle}");
    let text = match (cycle.cmp(&earliest), reasons.passed.len(), stalled) {
        (Ordering::Less, ..) => format!("in cycle {cycle}: earlier than the tables let it, from cycle {earliest} on"),
        (Ordering::Equal, ..) => format!("in cycle {cycle}: as early as what holds it back lets it"),
        (Ordering::Greater, 0, stalled) => {
            format!("{late}: {}", stalled.unwrap_or_else(|| "right behind the one before".to_owned()))
        }
        (Ordering::Greater, count, None) => format!("{late}: of what could issue, {count} went first"),
        (Ordering::Greater, count, Some(reason)) => {
            format!("{late}: of what could issue, {count} went first; and {reason}")
        }
    };
    note("place", &text);
}

fn passed(block: &BlockTimeline, reasons: &Reasons, note: &mut impl FnMut(&str, &str)) {
    for (other, why) in reasons.passed.iter().take(NAMED) {
        let issue = &block.instructions[*other];
        note("ahead of it", &format!("{} in cycle {}: {}", name(issue), issue.cycle, first(block, *why)));
    }
    if reasons.passed.len() > NAMED {
        note("ahead of it", &format!("and {} more", reasons.passed.len() - NAMED));
    }
}

/// Why another one was taken first.
fn first(block: &BlockTimeline, why: Passed) -> String {
    let named = |at: usize| name(&block.instructions[at]);
    match why {
        Passed::Filler => "put in for its control word when the order was made".to_owned(),
        Passed::MayMiss { of } => {
            format!(
                "what {} loads may not be in the caches, and is not asked for while there is something else to do",
                named(of)
            )
        }
        Passed::NotReady { of } => format!("by the scheduler's clock the result of {} was not there yet", named(of)),
        Passed::AsksForLine => "it asks for a line of constants, and stops nobody".to_owned(),
        Passed::Busy { unit, cycles } => {
            format!("the unit of this one ({}) was taken for {} more", unit.name(), self::cycles(cycles))
        }
        Passed::Paced { cycles } => {
            format!("the pace of a slow unit held this one back for {} more", self::cycles(cycles))
        }
        Passed::LongerWay { theirs, ours } => format!("its way to the end is longer, {theirs} cycles against {ours}"),
        Passed::Tie => "both ways to the end are equally long, so the order before decided".to_owned(),
        Passed::OtherOrder => "the list scheduler would not have taken it: the order is another's".to_owned(),
    }
}

fn wanted(chosen: &Chosen, reasons: &Reasons, note: &mut impl FnMut(&str, &str)) {
    let critical = if reasons.is_critical { "on" } else { "not on" };
    let spare = match reasons.slack {
        0 => "no cycle to spare".to_owned(),
        slack => format!("{} to spare by dependences alone", cycles(slack)),
    };
    note(
        "to the end",
        &format!(
            "{} at least; {spare}; {critical} the longest way ({} cycles)",
            cycles(reasons.height),
            chosen.order.longest()
        ),
    );
    let groups = grouped(&reasons.followed_by);
    let reads = |cause: Cause<_>| matches!(cause, Cause::ReadAfterWrite(_));
    let first = groups.iter().find(|(dependence, _)| reads(dependence.cause)).or(groups.first());
    let Some((dependence, registers)) = first else { return note("waits for it", "nothing in its block") };
    let issue = &chosen.block.instructions[dependence.other];
    let mut others: Vec<usize> = groups.iter().map(|(dependence, _)| dependence.other).collect();
    others.sort_unstable();
    others.dedup();
    let more = match others.len() - 1 {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    note(
        "waits for it",
        &format!(
            "{}, from cycle {} on, in cycle {}: {}{more}",
            name(issue),
            dependence.from,
            issue.cycle,
            why(dependence, registers, false)
        ),
    );
}

fn fences(reasons: &Reasons, note: &mut impl FnMut(&str, &str)) {
    if reasons.is_fence {
        let what = if reasons.is_terminator { "it ends the block, or may" } else { "it orders all that is around it" };
        note("fence", &format!("nothing moves across it: {what}"));
    }
}
