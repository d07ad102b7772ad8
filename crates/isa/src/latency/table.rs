//! The tables of `spec/latency`, as the build script makes them from the text.

use crate::{Arch, RegFile};

include!(concat!(env!("OUT_DIR"), "/latency_tables.rs"));

/// The dependences that have a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// `raw.tsv`.
    ReadAfterWrite,
    /// `waw.tsv`.
    WriteAfterWrite,
    /// `war.tsv`.
    WriteAfterRead,
    /// `raw.tsv` as judges hold code to it.
    JudgedReadAfterWrite,
    /// `waw.tsv` as judges hold code to it.
    JudgedWriteAfterWrite,
    /// `war.tsv` as judges hold code to it.
    JudgedWriteAfterRead,
}

/// A row of a table for one target: the cycles to each class of a later instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row(u16);

impl Row {
    /// 0 cycles to all: something else says when.
    pub(super) const NONE: Row = Row(0);
    /// 1 cycle to all: later instructions only have to be later.
    pub(super) const NEXT: Row = Row(1);

    /// The row of a class for a register of the file.
    #[inline]
    pub(super) fn of(table: Table, file: RegFile, first: Earlier, arch: Arch) -> Row {
        Row(ROWS[table as usize][arch as usize][file as usize][first as usize])
    }

    /// Cycles to an instruction of class `second`.
    #[inline]
    pub(super) fn to(self, second: Later) -> u8 {
        CELLS[usize::from(self.0)][second as usize]
    }

    /// The most cycles to any class.
    #[inline]
    pub(super) fn most(self) -> u8 {
        MOST[usize::from(self.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures from ptxas's code (docs/sources.md, Latencies).
    #[test]
    fn rows_are_found() {
        let raw = |file, first, second, arch| Row::of(Table::ReadAfterWrite, file, first, arch).to(second);
        assert_eq!(raw(RegFile::R, Earlier::Alu, Later::Alu, Arch::Sm80), 4);
        assert_eq!(raw(RegFile::R, Earlier::Alu, Later::WideCHi, Arch::Sm90), 3);
        assert_eq!(raw(RegFile::P, Earlier::Alu, Later::GuardBranch, Arch::Sm90), 13);
    }

    /// What `rules.tsv` and `same_as.tsv` say: no row of sm_50, halves of the ALU, shapes of matrices, writers of
    /// variable latency.
    #[test]
    fn pairs_without_a_row_go_by_a_rule() {
        let cycles = |table, first, second, arch| Row::of(table, RegFile::R, first, arch).to(second);
        for second in Later::ALL {
            assert_eq!(cycles(Table::ReadAfterWrite, Earlier::Alu, second, Arch::Sm50), 14, "{}", second.name());
            assert_eq!(cycles(Table::WriteAfterWrite, Earlier::Alu, second, Arch::Sm61), 14, "{}", second.name());
            assert_eq!(cycles(Table::WriteAfterRead, Earlier::Alu, second, Arch::Sm50), 4, "{}", second.name());
            assert_eq!(cycles(Table::WriteAfterRead, Earlier::Hmma16816, second, Arch::Sm61), 8, "{}", second.name());
        }
        for table in [Table::ReadAfterWrite, Table::WriteAfterWrite] {
            let both = |arch| [Earlier::Alu, Earlier::AluDual].map(|first| cycles(table, first, Later::Fma, arch));
            let [proper, dual] = both(Arch::Sm80);
            assert_eq!(proper, dual);
        }
        let longest = cycles(Table::ReadAfterWrite, Earlier::Cs2r32, Later::Any, Arch::Sm90);
        assert_eq!(cycles(Table::WriteAfterWrite, Earlier::Cs2r32, Later::Elect, Arch::Sm90), longest);
    }

    #[test]
    fn no_class_is_farther_than_the_most() {
        for row in (0..MOST.len()).map(|row| Row(row as u16)) {
            assert_eq!(Later::ALL.iter().map(|second| row.to(*second)).max(), Some(row.most()));
        }
    }

    #[test]
    fn first_rows_are_of_one_number() {
        assert!(Later::ALL.iter().all(|second| Row::NONE.to(*second) == 0 && Row::NEXT.to(*second) == 1));
    }

    /// The order of the files and targets in the tables is that of the enums.
    #[test]
    fn files_and_targets_are_in_order() {
        let raw = |file, first, arch| Row::of(Table::ReadAfterWrite, file, first, arch).to(Later::Any);
        assert_eq!(raw(RegFile::B, Earlier::Branch, Arch::Sm120), 9);
        assert_eq!([Arch::Sm75, Arch::Sm90, Arch::Sm120].map(|arch| raw(RegFile::P, Earlier::Alu, arch)), [12, 13, 14]);
    }
}
