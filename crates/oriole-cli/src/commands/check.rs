//! `oriole check`.

use super::args::CheckArgs;
use super::failure::Failure;
use super::images::{self, Taken, Wish};
use super::{compile, files};
use oriole_check::{Finding, Missing, Place, Report, check};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Check cubins, and print what is found. Findings are a failure, and so is a file that cannot be read; the others are checked all
/// the same.
pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let (mut findings, mut unread, mut out) = (0, Vec::new(), String::new());
    for input in &args.inputs {
        let images = match taken(input, args) {
            Ok(images) => images,
            Err(Failure::Usage(message)) => return Err(Failure::Usage(message)),
            Err(failure) => {
                unread.push(failure.message().to_owned());
                continue;
            }
        };
        for image in images {
            match checked(image, args) {
                Ok((name, report)) => {
                    findings += report.findings.len();
                    out += &match args.json {
                        true => format!("{}\n", as_json(&name, &report)),
                        false => as_text(&name, &report),
                    };
                }
                Err(failure) => unread.push(failure.message().to_owned()),
            }
        }
    }
    files::print(&out)?;
    if findings > 0 {
        let plural = if findings == 1 { "" } else { "s" };
        unread.push(format!("{findings} finding{plural}"));
    }
    if unread.is_empty() { Ok(()) } else { Err(Failure::Rejected(unread.join("\n"))) }
}

/// The cubins of a file.
fn taken(input: &Path, args: &CheckArgs) -> Result<Vec<Taken>, Failure> {
    let wish = Wish::of_code(input, args.arch.as_deref(), &args.image, &args.entry);
    images::taken(&wish, files::read(input)?)
}

fn checked(image: Taken, args: &CheckArgs) -> Result<(PathBuf, Report), Failure> {
    let (path, bytes) = compile::cubin_of(image)?;
    let cubin = files::cubin(&path, &bytes)?;
    let report = check(&cubin, &args.entry).map_err(|error| Failure::file(&path, error))?;
    Ok((path, report))
}

fn as_text(input: &Path, report: &Report) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let _ = writeln!(out, "{finding}");
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let found = match report.findings.len() {
        0 => "nothing found".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let Report { arch, functions, instructions, .. } = report;
    let _ = writeln!(out, "{}: {arch}, functions: {functions}, instructions: {instructions}: {found}", input.display());
    out
}

fn as_json(input: &Path, report: &Report) -> Value {
    json!({
        "file": input.display().to_string(),
        "arch": report.arch.to_string(),
        "functions": report.functions,
        "instructions": report.instructions,
        "findings": report.findings.iter().map(finding_as_json).collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

fn finding_as_json(finding: &Finding) -> Value {
    let place = |place: &Place| json!({"function": place.function, "address": place.address, "text": place.text});
    let missing = match &finding.missing {
        Missing::Cycles { passed, needed, row } => {
            let row = row.map(|row| json!([format!("{:?}", row.file), row.first.name(), row.second.name()]));
            json!({"cycles": needed - passed.min(needed), "passed": passed, "needed": needed, "row": row})
        }
        Missing::Wait { scoreboards } => {
            json!({"wait": (0..7).filter(|at| scoreboards >> at & 1 != 0).collect::<Vec<u8>>()})
        }
        Missing::Other(reason) => json!({"reason": reason}),
    };
    json!({
        "kind": finding.kind.name(),
        "registers": finding.registers,
        "earlier": finding.earlier.as_ref().map(place),
        "later": place(&finding.later),
        "missing": missing,
        "path": finding.path,
        "text": finding.missing.to_string(),
    })
}
