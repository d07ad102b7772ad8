//! `oriole targets`.

use super::batch_args::TargetsArgs;
use super::failure::{Failure, rejected};
use super::files;
use oriole_cubin::{Suffix, Target};
use oriole_isa::Arch;
use serde::Serialize;

/// A target that code is made for.
#[derive(Serialize)]
struct Row {
    target: String,
    /// `9.0`.
    compute_capability: String,
    /// What the code may run on besides: empty, `f` (the family), `a` (nothing).
    suffix: &'static str,
    /// The generation whose instructions it has, by its first chip.
    generation: &'static str,
    compiles: bool,
    simulates: bool,
    /// There is a model of its time.
    times: bool,
    registers_per_thread: u32,
    registers_per_sm: u32,
    warps_per_sm: u32,
    shared_per_sm: u32,
    shared_per_block: u32,
}

/// Print the table.
pub(crate) fn run(args: &TargetsArgs) -> Result<(), Failure> {
    let rows: Vec<Row> = oriole_cubin::targets().filter_map(row).collect();
    let text = if args.json { serde_json::to_string_pretty(&rows).map_err(rejected)? + "\n" } else { table(&rows) };
    files::print(&text)
}

/// The row of a target that a cubin can be written for, if Oriole knows its instructions.
fn row(target: Target) -> Option<Row> {
    let arch = Arch::of_capability(target.sm)?;
    let sm = arch.sm();
    let is_modelled = Arch::MODELLED.contains(&arch);
    Some(Row {
        target: target.to_string(),
        compute_capability: format!("{}.{}", target.sm / 10, target.sm % 10),
        suffix: target.suffix.letter(),
        generation: arch.set().name(),
        compiles: oriole_codegen::target(&target.to_string()).is_ok(),
        simulates: is_modelled,
        times: is_modelled && arch.chip().is_some(),
        registers_per_thread: sm.max_registers_per_thread,
        registers_per_sm: sm.registers,
        warps_per_sm: sm.max_warps,
        shared_per_sm: sm.shared_memory,
        shared_per_block: sm.max_shared_per_cta,
    })
    .filter(|row| row.compiles || row.simulates)
}

fn table(rows: &[Row]) -> String {
    let header = format!(
        "{:9} {:>4} {:26} {:10} {:24} {:>11} {:>8} {:>8} {:>10} {:>12}\n",
        "target",
        "cc",
        "runs on",
        "generation",
        "oriole can",
        "regs/thread",
        "regs/SM",
        "warps/SM",
        "shared/SM",
        "shared/block"
    );
    let line = |row: &Row| {
        let can = [(row.compiles, "compile"), (row.simulates, "simulate"), (row.times, "time")];
        let can: Vec<&str> = can.into_iter().filter(|(can, _)| *can).map(|(_, what)| what).collect();
        format!(
            "{:9} {:>4} {:26} {:10} {:24} {:>11} {:>8} {:>8} {:>10} {:>12}\n",
            row.target,
            row.compute_capability,
            runs_on(row),
            row.generation,
            can.join(", "),
            row.registers_per_thread,
            row.registers_per_sm,
            row.warps_per_sm,
            row.shared_per_sm,
            row.shared_per_block
        )
    };
    let note = "Registers, warps and bytes of shared memory are those of the generation, by which Oriole goes.\n";
    std::iter::once(header).chain(rows.iter().map(line)).chain([note.to_owned()]).collect()
}

/// What the suffix says.
fn runs_on(row: &Row) -> &'static str {
    if row.suffix == Suffix::Arch.letter() {
        "this alone (a)"
    } else if row.suffix == Suffix::Family.letter() {
        "its family (f)"
    } else {
        "this, later minor versions"
    }
}
