//! `oriole run --check`: what to check, and what has been found.

use super::failure::{Failure, usage};
use super::files;
use super::launch::Lines;
use super::run_args::RunArgs;
use crate::console;
use oriole_sim::{CheckReport, Checks, Finding, Site};
use serde_json::{Value, json};

/// The kinds of checks in the argument of `--check`.
pub(crate) fn parse(kinds: &str) -> Result<Checks, Failure> {
    let mut checks = Checks::default();
    for kind in kinds.split(',') {
        match kind {
            "all" => checks = Checks { race: true, init: true, bounds: true, sync: true, ..checks },
            "race" => checks.race = true,
            "init" => checks.init = true,
            "global-init" => checks.global_init = true,
            "bounds" => checks.bounds = true,
            "sync" => checks.sync = true,
            _ => {
                let known = "race, init, global-init, bounds, sync, all";
                return Err(usage(format!("--check: no check '{kind}'; there are {known}")));
            }
        }
    }
    Ok(checks)
}

/// Name the lines in what has been found.
pub(crate) fn add_lines(found: &mut CheckReport, lines: &Lines<'_>) {
    for finding in &mut found.findings {
        for site in finding.earlier.iter_mut().chain([&mut finding.later]) {
            site.source = lines.at(&site.function, site.pc);
        }
    }
}

/// Prints what has been found to standard error, and writes it as JSON if asked for.
pub(crate) fn publish(found: &CheckReport, args: &RunArgs) -> Result<(), Failure> {
    found.findings.iter().for_each(|finding| console::say_text(&finding.to_string()));
    console::say(format_args!("check: {} errors, {} notes", found.errors(), found.findings.len() - found.errors()));
    let write = |path: &std::path::PathBuf| files::write(path, format!("{:#}\n", json_of(found)).as_bytes());
    args.check_report.as_ref().map_or(Ok(()), write)
}

/// Exit status 3 if anything was found that is an error.
pub(crate) fn verdict(found: &CheckReport) -> Result<(), Failure> {
    match found.errors() {
        0 => Ok(()),
        errors => Err(Failure::Fault(format!("fault: the checks of memory have found {errors} errors"))),
    }
}

/// What has been found, for programs.
pub(crate) fn json_of(found: &CheckReport) -> Value {
    let findings: Vec<Value> = found.findings.iter().map(finding).collect();
    json!({ "errors": found.errors(), "findings": findings })
}

fn finding(finding: &Finding) -> Value {
    json!({
        "kind": finding.kind.name(),
        "is_error": finding.kind.is_error(),
        "place": finding.place,
        "times": finding.times,
        "mended_by": finding.kind.remedy(),
        "later": site(&finding.later),
        "earlier": finding.earlier.as_ref().map(site),
    })
}

fn site(site: &Site) -> Value {
    json!({
        "access": site.access,
        "block": site.block,
        "thread": site.thread,
        "function": site.function,
        "pc": site.pc,
        "instruction": site.instruction,
        "line": site.source.as_ref().map(|source| source.line),
    })
}
