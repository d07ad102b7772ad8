//! A sectored cache with least-recently-used replacement: which sectors are there, and in what state.

/// The state of one line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    /// Sectors that are there.
    pub(crate) valid: u8,
    /// First level: sectors on their way. Second level: sectors that memory does not have yet.
    pub(crate) marked: u8,
    /// Second level: cycle from which on the sectors are there.
    pub(crate) ready: u64,
    used: u64,
}

/// A line that had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evicted {
    /// Its marked sectors.
    pub(crate) marked: u8,
}

/// The cache.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    ways: usize,
    /// Sets are found by the mixed number of a line.
    is_hashed: bool,
    sets: u64,
    /// Line numbers plus one; 0: nothing.
    tags: Vec<u64>,
    lines: Vec<Line>,
    uses: u64,
}

/// Mixes the bits of a line number, so that strides do not meet in one set, slice or channel.
pub(crate) fn hash(line: u64) -> u64 {
    let mixed = line.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

impl Cache {
    /// An empty cache of `lines` lines in sets of `ways`, over which lines are spread at random.
    pub(crate) fn new(lines: usize, ways: usize) -> Self {
        Cache { is_hashed: true, ..Cache::of_neighbours(lines, ways) }
    }

    /// One in which neighbours are in different sets, as is usual where lines are asked for one after the other.
    pub(crate) fn of_neighbours(lines: usize, ways: usize) -> Self {
        let sets = (lines / ways).max(1);
        Cache {
            ways,
            is_hashed: false,
            sets: sets as u64,
            tags: vec![0; sets * ways],
            lines: vec![Line::default(); sets * ways],
            uses: 0,
        }
    }

    fn set(&self, number: u64) -> std::ops::Range<usize> {
        let number = if self.is_hashed { hash(number) } else { number };
        let set = if self.sets.is_power_of_two() { number & (self.sets - 1) } else { number % self.sets };
        let first = set as usize * self.ways;
        first..first + self.ways
    }

    /// Lines that it has room for.
    pub(crate) fn capacity(&self) -> usize {
        self.tags.len()
    }

    /// Whether the line of that number is there; does not count as a use.
    pub(crate) fn holds(&self, number: u64) -> bool {
        self.tags[self.set(number)].contains(&(number + 1))
    }

    /// The line of that number if it is there; counts as a use.
    pub(crate) fn find(&mut self, number: u64) -> Option<&mut Line> {
        let set = self.set(number);
        let way = self.tags[set.clone()].iter().position(|&tag| tag == number + 1)?;
        self.uses += 1;
        let line = &mut self.lines[set.start + way];
        line.used = self.uses;
        Some(line)
    }

    /// Takes in a line with these sectors if that needs no other to go.
    pub(crate) fn add(&mut self, number: u64, valid: u8) {
        let free = self.set(number).find(|&at| self.tags[at] == 0);
        if let Some(at) = free.filter(|_| !self.holds(number)) {
            self.tags[at] = number + 1;
            self.lines[at] = Line { valid, ..Line::default() };
        }
    }

    /// The line of that number, an empty one if it was not there, and what it took the place of.
    pub(crate) fn find_or_allocate(&mut self, number: u64) -> (&mut Line, Option<Evicted>) {
        let set = self.set(number);
        self.uses += 1;
        let tags = &self.tags[set.clone()];
        if let Some(way) = tags.iter().position(|&tag| tag == number + 1) {
            let line = &mut self.lines[set.start + way];
            line.used = self.uses;
            return (line, None);
        }
        let at = set.min_by_key(|&at| (self.tags[at] != 0, self.lines[at].used)).unwrap_or(0);
        let gone = (self.tags[at] != 0).then_some(Evicted { marked: self.lines[at].marked });
        self.tags[at] = number + 1;
        self.lines[at] = Line { used: self.uses, ..Line::default() };
        (&mut self.lines[at], gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_used_longest_ago_goes() {
        let mut cache = Cache::new(2, 2);
        cache.find_or_allocate(10).0.marked = 3;
        cache.find_or_allocate(20);
        assert!(cache.find(10).is_some());
        assert_eq!(cache.find_or_allocate(30).1, Some(Evicted { marked: 0 }), "20 goes");
        assert!(cache.find(20).is_none());
        assert_eq!(cache.find_or_allocate(40).1, Some(Evicted { marked: 3 }), "then 10");
        assert!(cache.find(30).is_some() && cache.find(40).is_some());
    }
}
