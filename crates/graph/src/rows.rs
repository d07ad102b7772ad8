//! Lists of values, one for each small number, in one array.

use std::ops::Range;

/// A list of values for each number below a bound. All stand in one array, so that building takes two allocations
/// however many lists there are.
#[derive(Clone, Debug)]
pub struct Rows<T> {
    /// Where each list begins; one more at the end.
    starts: Vec<u32>,
    values: Vec<T>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Rows { starts: Vec::new(), values: Vec::new() }
    }
}

impl<T: Copy> Rows<T> {
    /// Sort `entries` (number below `bound`, value) into lists; each list keeps the order of its entries. The entries
    /// are gone through twice.
    pub fn new(bound: usize, entries: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut starts = vec![0u32; bound + 2];
        let mut first = None;
        for (row, value) in entries.clone() {
            // Two places further on: filling moves each start to the next list's.
            starts[row as usize + 2] += 1;
            first.get_or_insert(value);
        }
        for row in 2..bound + 2 {
            starts[row] += starts[row - 1];
        }
        // All of it is overwritten: any value will do.
        let mut values = first.map_or(Vec::new(), |value| vec![value; starts[bound + 1] as usize]);
        for (row, value) in entries {
            let next = &mut starts[row as usize + 1];
            values[*next as usize] = value;
            *next += 1;
        }
        starts.pop();
        Rows { starts, values }
    }

    fn range(&self, row: usize) -> Range<usize> {
        match self.starts.get(row..row + 2) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }

    /// The list of a number; empty for numbers that are not below the bound.
    pub fn row(&self, row: usize) -> &[T] {
        &self.values[self.range(row)]
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn each_list_has_its_entries_in_order() {
        let entries = [(3u32, 'a'), (0, 'b'), (3, 'c'), (1, 'd'), (3, 'e')];
        let rows = Rows::new(5, entries.iter().copied());
        for number in 0..7 {
            let expected: Vec<char> = entries.iter().filter(|e| e.0 == number).map(|e| e.1).collect();
            assert_eq!(rows.row(number as usize), expected);
        }
        assert!(Rows::<u8>::new(0, std::iter::empty()).row(0).is_empty());
        assert!(Rows::<u8>::default().row(0).is_empty());
    }
}
