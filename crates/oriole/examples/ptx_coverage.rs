//! Writes `docs/ptx-coverage.md`: how many instruction forms of a corpus compile, by family and target.
//!
//!     cargo run --release -p oriole --example ptx_coverage -- ../shared/ptx_forms/forms > docs/ptx-coverage.md
//!
//! The corpus is a folder of `FAMILY.jsonl` files with a module per line: `id`, `family`, `ptx` (where `@TARGET@`
//! stands for the target) and the `targets` that accept it.

use oriole::CompileOptions;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

/// The columns of the table.
const TARGETS: [&str; 8] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"];

/// A module with one instruction of interest.
struct Form {
    id: String,
    family: String,
    ptx: String,
    targets: Vec<String>,
}

/// Forms of one family for one target.
#[derive(Clone, Copy, Default)]
struct Cell {
    forms: usize,
    compiled: usize,
}

type Table = BTreeMap<String, [Cell; TARGETS.len()]>;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder of forms?")?;
    let forms = read(Path::new(&folder))?;
    let answers: Vec<[Option<bool>; TARGETS.len()]> =
        forms.par_iter().map(|form| TARGETS.map(|t| compiles(form, t))).collect();
    let mut table = Table::new();
    let mut missing: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (form, answers) in forms.iter().zip(&answers) {
        let row = table.entry(form.family.clone()).or_default();
        for ((cell, target), compiles) in row.iter_mut().zip(TARGETS).zip(answers) {
            let Some(compiles) = *compiles else { continue };
            cell.forms += 1;
            cell.compiled += usize::from(compiles);
            if !compiles {
                *missing.entry((target, instruction(form))).or_default() += 1;
            }
        }
    }
    print(&table, &missing);
    Ok(())
}

fn read(folder: &Path) -> Result<Vec<Form>, Box<dyn Error>> {
    let files: BTreeSet<_> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    let mut forms = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "jsonl")) {
        for line in std::fs::read_to_string(file)?.lines() {
            forms.push(form(&serde_json::from_str(line)?).ok_or("a form without its fields")?);
        }
    }
    Ok(forms)
}

fn form(line: &Value) -> Option<Form> {
    let text = |field: &str| Some(line.get(field)?.as_str()?.to_owned());
    let targets = line.get("targets")?.as_array()?.iter().filter_map(|t| Some(t.as_str()?.to_owned()));
    Some(Form { id: text("id")?, family: text("family")?, ptx: text("ptx")?, targets: targets.collect() })
}

/// Whether a form compiles for a target; `None` if it is not one of the target's forms.
fn compiles(form: &Form, target: &str) -> Option<bool> {
    form.targets
        .iter()
        .any(|t| t == target)
        .then(|| oriole::compile(&form.ptx.replace("@TARGET@", target), &CompileOptions::default()).is_ok())
}

/// The first two words of a form's instruction: `tcgen05.mma`.
fn instruction(form: &Form) -> String {
    let opcode = form.id.split([' ', '+', '#']).next().unwrap_or_default();
    opcode.split('.').take(2).collect::<Vec<_>>().join(".")
}

fn print(table: &Table, missing: &BTreeMap<(&str, String), usize>) {
    println!("# Coverage of PTX\n");
    println!("Instruction forms that compile, of those that ptxas 13.0.88 accepts; one number where all do. Made by");
    println!(
        "`cargo run --release -p oriole --example ptx_coverage -- ../shared/ptx_forms/forms > docs/ptx-coverage.md`."
    );
    println!("What compiled code computes is measured by `conformance.py`: see the README.\n");
    println!("| family | {} |", TARGETS.join(" | "));
    println!("|---|{}", "---:|".repeat(TARGETS.len()));
    let mut total = [Cell::default(); TARGETS.len()];
    for (family, row) in table {
        println!("| {family} | {} |", row.map(shown).join(" | "));
        for (sum, cell) in total.iter_mut().zip(row) {
            sum.forms += cell.forms;
            sum.compiled += cell.compiled;
        }
    }
    println!("| **all** | {} |", total.map(shown).join(" | "));
    println!("| **percent** | {} |", total.map(percent).join(" | "));
    if missing.is_empty() {
        return;
    }
    println!("\n## What does not compile\n\n| target | instruction | forms |\n|---|---|---:|");
    for ((target, instruction), forms) in missing {
        println!("| {target} | `{instruction}` | {forms} |");
    }
}

fn shown(cell: Cell) -> String {
    match cell {
        Cell { forms: 0, .. } => "–".to_owned(),
        Cell { forms, compiled } if forms == compiled => forms.to_string(),
        Cell { forms, compiled } => format!("{compiled} of {forms}"),
    }
}

fn percent(cell: Cell) -> String {
    format!("{:.2}", 100.0 * cell.compiled as f64 / cell.forms.max(1) as f64)
}
