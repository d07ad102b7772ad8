//! The tables of `spec/latency`, read once.

use crate::{Arch, RegFile};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The dependences that have a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// `raw.tsv`.
    ReadAfterWrite,
    /// `waw.tsv`.
    WriteAfterWrite,
    /// `war.tsv`.
    WriteAfterRead,
}

pub(super) const SOURCES: [(Kind, &str); 3] = [
    (Kind::ReadAfterWrite, include_str!("../../spec/latency/raw.tsv")),
    (Kind::WriteAfterWrite, include_str!("../../spec/latency/waw.tsv")),
    (Kind::WriteAfterRead, include_str!("../../spec/latency/war.tsv")),
];

/// First class, second class and file to cycles per target; 0: no row.
type Rows = FxHashMap<(&'static str, &'static str, RegFile), [u8; Arch::ALL.len()]>;

struct Tables([Rows; 3]);

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| Tables(SOURCES.map(|(_, text)| completed(rows(text)))))
}

fn rows(text: &'static str) -> Rows {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = lines.next().map_or_else(Vec::new, |line| line.split('\t').collect());
    let column = |arch: Arch| head.iter().position(|name| *name == arch.name());
    let columns = Arch::ALL.map(column);
    let row = |line: &'static str| {
        let cells: Vec<&'static str> = line.split('\t').collect();
        let file = file_named(cells.first()?)?;
        let cycles = columns.map(|c| c.and_then(|c| cells.get(c)?.parse().ok()).unwrap_or(0));
        Some(((*cells.get(1)?, *cells.get(2)?, file), cycles))
    };
    lines.filter_map(row).collect()
}

/// Classes that most targets do not tell from another: where a row has no number of its own, the
/// other's holds.
pub(super) const SAME_AS: [(&str, &str); 4] =
    [("ALU dual", "ALU"), ("ALU 64", "ALU"), ("ALU dual pred", "ALU pred"), ("ALU 64 pred", "ALU pred")];

/// With the rows of classes that are the same as another.
fn completed(mut rows: Rows) -> Rows {
    let names = |class: &'static str| {
        SAME_AS.iter().filter(move |(_, base)| *base == class).map(|(name, _)| *name).chain([class])
    };
    let based: Vec<_> = rows.iter().map(|(key, cycles)| (*key, *cycles)).collect();
    for ((first, second, file), cycles) in based {
        for (first, second) in names(first).flat_map(|first| names(second).map(move |second| (first, second))) {
            let row = rows.entry((first, second, file)).or_insert([0; Arch::ALL.len()]);
            for (own, other) in row.iter_mut().zip(cycles) {
                if *own == 0 {
                    *own = other;
                }
            }
        }
    }
    rows
}

/// The first classes of the rows of `raw.tsv`.
pub(crate) fn producers() -> impl Iterator<Item = &'static str> {
    tables().0[Kind::ReadAfterWrite as usize].keys().map(|(first, _, _)| *first)
}

fn file_named(name: &str) -> Option<RegFile> {
    Some(match name {
        "R" => RegFile::R,
        "UR" => RegFile::UR,
        "P" => RegFile::P,
        "UP" => RegFile::UP,
        "B" => RegFile::B,
        _ => return None,
    })
}

/// The cycles of a pair of classes, if the table has them for the target.
pub(crate) fn lookup(kind: Kind, file: RegFile, first: &str, second: &str, arch: Arch) -> Option<u8> {
    let rows = &tables().0[kind as usize];
    // The keys are static; the map only compares the texts.
    let row = rows.get(&(first, second, file) as &(&str, &str, RegFile))?;
    let at = Arch::ALL.iter().position(|a| *a == arch)?;
    Some(row[at]).filter(|cycles| *cycles != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known figures of the digest, by another route than the parser's.
    #[test]
    fn rows_are_found() {
        let raw = |first, second, arch| lookup(Kind::ReadAfterWrite, RegFile::R, first, second, arch);
        assert_eq!(raw("ALU", "ALU", Arch::Sm80), Some(4));
        assert_eq!(raw("ALU", "WIDE c hi", Arch::Sm90), Some(3));
        assert_eq!(raw("FP64", "ALU", Arch::Sm80), None);
        assert_eq!(lookup(Kind::ReadAfterWrite, RegFile::P, "ALU", "@branch", Arch::Sm90), Some(13));
    }

    #[test]
    fn nothing_takes_longer_than_the_longest() {
        let cells = SOURCES.iter().flat_map(|(_, text)| rows(text).into_values().flatten());
        assert_eq!(cells.max(), Some(crate::latency::LONGEST));
    }

    #[test]
    fn every_line_is_a_row() {
        for (_, text) in SOURCES {
            let lines = text.lines().filter(|l| !l.starts_with('#')).count() - 1;
            assert_eq!(rows(text).len(), lines);
        }
    }
}
