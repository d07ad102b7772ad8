//! What has become of each file, for people.

use super::outcome::{Done, Outcome};
use crate::product::Kernel;

const HEADS: [&str; 6] = ["file", "kernels", "registers", "spills", "bytes", "time"];

/// A row for each input, the columns as wide as their widest cell. `spills` are bytes stored and loaded, of all kernels.
pub(super) fn of(outcomes: &[Outcome]) -> String {
    let rows: Vec<[String; 6]> = std::iter::once(HEADS.map(str::to_owned)).chain(outcomes.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |row: &[String; 6]| {
        let name = format!("{:1$}", row[0], widths[0]);
        let rest = (1..row.len()).map(|column| format!("  {:>1$}", row[column], widths[column]));
        std::iter::once(name).chain(rest).collect::<String>() + "\n"
    };
    rows.iter().map(line).collect()
}

fn row(outcome: &Outcome) -> [String; 6] {
    let file = outcome.input.display().to_string();
    let Ok(Done { bytes, said, cached }) = &outcome.result else {
        return [file, "failed".to_owned(), "-".to_owned(), "-".to_owned(), "-".to_owned(), seconds(outcome)];
    };
    let sum = |bytes: fn(&Kernel) -> u32| said.kernels.iter().map(|kernel| u64::from(bytes(kernel))).sum::<u64>();
    let (stores, loads) = (sum(|kernel| kernel.spills.stores), sum(|kernel| kernel.spills.loads));
    let most = said.kernels.iter().map(|kernel| kernel.registers).max();
    let time = if *cached { "cached".to_owned() } else { seconds(outcome) };
    [
        file,
        said.kernels.len().to_string(),
        most.map_or_else(|| "-".to_owned(), |registers| registers.to_string()),
        if stores + loads == 0 { "0".to_owned() } else { format!("{stores}+{loads}") },
        bytes.to_string(),
        time,
    ]
}

fn seconds(outcome: &Outcome) -> String {
    format!("{:.3} s", outcome.time.as_secs_f64())
}
