//! The table of forms that compile.

use crate::corpus::Form;
use oriole_codegen::CompileOptions;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The columns of the table.
const TARGETS: [&str; 8] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"];

/// Forms of one family for one target.
#[derive(Clone, Copy, Default)]
struct Cell {
    forms: usize,
    compiled: usize,
}

/// Compiles every form for each of its targets and prints the document.
pub(crate) fn print(forms: &[Form]) {
    let answers: Vec<[Option<bool>; TARGETS.len()]> =
        forms.par_iter().map(|form| TARGETS.map(|t| compiles(form, t))).collect();
    let mut table: BTreeMap<&str, [Cell; TARGETS.len()]> = BTreeMap::new();
    let mut missing: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for (form, answers) in forms.iter().zip(&answers) {
        let row = table.entry(&form.family).or_default();
        for ((cell, target), compiles) in row.iter_mut().zip(TARGETS).zip(answers) {
            let Some(compiles) = *compiles else { continue };
            cell.forms += 1;
            cell.compiled += usize::from(compiles);
            if !compiles {
                *missing.entry((target, form.instruction())).or_default() += 1;
            }
        }
    }
    print_table(&table);
    if missing.is_empty() {
        return;
    }
    println!("\n## What does not compile\n\n| target | instruction | forms |\n|---|---|---:|");
    for ((target, instruction), forms) in missing {
        println!("| {target} | `{instruction}` | {forms} |");
    }
}

/// Whether a form compiles for a target; `None` if it is not one of the target's forms.
fn compiles(form: &Form, target: &str) -> Option<bool> {
    form.ptx(target).map(|ptx| oriole_codegen::compile(&ptx, &CompileOptions::default()).is_ok())
}

fn print_table(table: &BTreeMap<&str, [Cell; TARGETS.len()]>) {
    println!("# Coverage of PTX\n");
    println!("Instruction forms that compile, of those that ptxas 13.0.88 accepts; one number where all do. Made by");
    println!(
        "`cargo run --release -p oriole-cli --features examples --example forms -- coverage ../shared/ptx_forms/forms > docs/ptx-coverage.md`."
    );
    println!("What the code computes is compared with ptxas's by `conform` of the same example: see the README.\n");
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
