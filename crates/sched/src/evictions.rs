//! How many values leave the registers and come back, if instructions stand in some order.
//!
//! Where there is no room, the value goes that is needed last (after Belady, 1966): what allocation does in the end.

use crate::lives::{Class, Lives};
use oriole_graph::Rows;
use std::collections::BinaryHeap;

/// Not read again in the stretch, but behind it.
const BEHIND: u32 = u32::MAX - 1;
/// Not read again.
const NEVER: u32 = u32::MAX;

/// How often values of a class leave and come back along an order of all instructions of a stretch where there are registers
/// for so many.
pub(crate) fn evictions(lives: &Lives, order: &[u32], class: Class, registers: i32) -> u32 {
    let reads = (0..).zip(order).flat_map(|(place, at)| lives.entries(*at).0.iter().map(move |value| (*value, place)));
    let mut file = File {
        lives,
        class,
        reads: Rows::new(lives.values(), reads),
        states: vec![State { next_read: 0, there: false, stored: false }; lives.values()],
        by_next_read: BinaryHeap::new(),
        room: registers.max(1),
        moves: 0,
    };
    file.begin(order);
    for (place, at) in (0..).zip(order) {
        file.pass(place, *at);
    }
    file.moves
}

#[derive(Clone, Copy)]
struct State {
    /// How many of its reads are done.
    next_read: u32,
    /// It is in a register.
    there: bool,
    /// It is in memory.
    stored: bool,
}

struct File<'a> {
    lives: &'a Lives,
    class: Class,
    /// By value: the places where it is read, in order.
    reads: Rows<u32>,
    states: Vec<State>,
    /// What is in registers, by when it is read next. Some entries are old.
    by_next_read: BinaryHeap<(u32, u32)>,
    /// Registers that are left.
    room: i32,
    moves: u32,
}

impl File<'_> {
    /// Values from before the stretch are in registers, those first that are read first.
    fn begin(&mut self, order: &[u32]) {
        let lives = self.lives;
        let mut written = vec![false; lives.values()];
        order.iter().flat_map(|at| lives.entries(*at).1).for_each(|value| written[*value as usize] = true);
        let before = |value: &u32| !written[*value as usize] && lives.class(*value) == self.class;
        let mut before: Vec<u32> = (0..lives.values() as u32).filter(before).collect();
        before.sort_by_key(|value| self.next(*value));
        for value in before {
            if self.room > 0 {
                self.enter(value);
            } else {
                self.states[value as usize].stored = true;
            }
        }
    }

    /// When a value is read next.
    fn next(&self, value: u32) -> u32 {
        let left = self.reads.row(value as usize).get(self.states[value as usize].next_read as usize);
        left.copied().unwrap_or(if self.lives.lives_on(value) { BEHIND } else { NEVER })
    }

    fn pass(&mut self, place: u32, at: u32) {
        let (lives, class) = (self.lives, self.class);
        let (reads, writes) = lives.entries(at);
        let in_file = |value: &&u32| lives.class(**value) == class;
        for &value in reads.iter().filter(in_file) {
            if !self.states[value as usize].there {
                self.moves += 1;
                self.make_room(place);
                self.enter(value);
            }
        }
        for &value in reads.iter().filter(in_file) {
            self.states[value as usize].next_read += 1;
            match self.next(value) {
                NEVER => self.leave(value),
                next => self.by_next_read.push((next, value)),
            }
        }
        for &value in writes.iter().filter(in_file) {
            if self.next(value) != NEVER {
                self.make_room(place);
                self.enter(value);
            }
        }
    }

    fn enter(&mut self, value: u32) {
        self.states[value as usize].there = true;
        self.room -= 1;
        self.by_next_read.push((self.next(value), value));
    }

    fn leave(&mut self, value: u32) {
        if std::mem::replace(&mut self.states[value as usize].there, false) {
            self.room += 1;
        }
    }

    /// A register becomes free, but for those of what is read at `place`.
    fn make_room(&mut self, place: u32) {
        while self.room <= 0
            && let Some((next, value)) = self.by_next_read.pop()
        {
            let state = self.states[value as usize];
            if !state.there || self.next(value) != next {
                continue;
            }
            if next <= place {
                self.by_next_read.push((next, value));
                return;
            }
            self.moves += u32::from(!state.stored);
            self.states[value as usize].stored = true;
            self.leave(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::evictions;
    use crate::lives::{Class, Lives};
    use crate::sample::Sample;
    use fastrand::Rng;
    use std::collections::HashMap;

    /// Values of one class along an order.
    struct Course {
        /// Those from before, as bits.
        before: u64,
        /// By place: what is read, what is written and needed later, and what is needed later of all there is.
        steps: Vec<(Vec<u32>, Vec<u32>, u64)>,
    }

    fn bits<'a>(values: impl IntoIterator<Item = &'a u32>) -> u64 {
        values.into_iter().fold(0, |bits, value| bits | 1 << value)
    }

    impl Course {
        fn new(sample: &Sample, order: &[u32], class: Class) -> Course {
            let lives = &sample.lives;
            let of_class =
                |values: &[u32]| values.iter().copied().filter(|v| lives.class(*v) == class).collect::<Vec<_>>();
            let all: Vec<u32> = (0..lives.values() as u32).collect();
            let mut needed = bits(of_class(&all).iter().filter(|value| lives.lives_on(**value)));
            let mut steps = Vec::new();
            for at in order.iter().rev() {
                let (reads, mut writes) = (of_class(lives.entries(*at).0), of_class(lives.entries(*at).1));
                writes.retain(|value| needed >> value & 1 == 1);
                steps.push((reads.clone(), writes.clone(), needed));
                needed = needed & !bits(&writes) | bits(&reads);
            }
            steps.reverse();
            Course { before: needed, steps }
        }

        /// Most values that are needed at a time.
        fn peak(&self) -> u32 {
            self.steps.iter().map(|(_, _, needed)| *needed).chain([self.before]).map(u64::count_ones).max().unwrap_or(0)
        }

        /// Fewest moves of all ways to go. At the start registers are full where there are values for them.
        fn fewest_moves(&self, registers: u32) -> u32 {
            let mut ways = Ways { registers, fewest: HashMap::new() };
            let full = registers.min(self.before.count_ones());
            let subsets = (0..=self.before).filter(|kept| kept & !self.before == 0 && kept.count_ones() == full);
            subsets.for_each(|there| ways.reach(there, self.before & !there, 0));
            for (reads, writes, needed) in &self.steps {
                // What is read here is not needed behind it in any case, but must not leave before.
                let at_read = bits(reads) | *needed & !bits(writes);
                reads.iter().for_each(|value| ways.enter(*value, 1, bits(reads), at_read));
                ways.forget(*needed);
                writes.iter().for_each(|value| ways.enter(*value, 0, bits([value]), *needed));
            }
            ways.fewest.values().copied().min().unwrap_or(0)
        }
    }

    /// By what is in registers and what is in memory: the fewest moves that lead there.
    struct Ways {
        registers: u32,
        fewest: HashMap<(u64, u64), u32>,
    }

    impl Ways {
        fn reach(&mut self, there: u64, stored: u64, moves: u32) {
            let fewest = self.fewest.entry((there, stored)).or_insert(moves);
            *fewest = moves.min(*fewest);
        }

        /// A value comes to a register for so many moves, if it is not there. Another leaves for it where there is no room.
        fn enter(&mut self, value: u32, moves: u32, stay: u64, needed: u64) {
            for ((there, stored), so_far) in std::mem::take(&mut self.fewest) {
                let with = there | 1 << value;
                if with.count_ones() <= self.registers {
                    self.reach(with, stored, so_far + if with == there { 0 } else { moves });
                    continue;
                }
                for leaves in (0..u64::BITS).map(|leaves| 1 << leaves).filter(|leaves| there & !stay & leaves != 0) {
                    let store = u32::from(needed & leaves != 0 && stored & leaves == 0);
                    self.reach(with & !leaves, stored | leaves, so_far + moves + store);
                }
            }
        }

        /// Only what is needed is kept.
        fn forget(&mut self, needed: u64) {
            for ((there, stored), so_far) in std::mem::take(&mut self.fewest) {
                self.reach(there & needed, stored & needed, so_far);
            }
        }
    }

    /// Against all ways that there are, of which there is one without a move if and only if all fits.
    #[test]
    fn hardly_more_leaves_than_must() {
        let (mut moved, mut fitted) = (0, 0);
        for seed in 0..3_000 {
            let mut rng = Rng::with_seed(seed);
            let registers = rng.u32(1..5);
            let count = rng.u32(1..11);
            let sample = Sample::new(&mut rng, count, registers as usize);
            let order = sample.any_order(&mut rng);
            for class in [Class::General, Class::Predicate] {
                let course = Course::new(&sample, &order, class);
                let fewest = course.fewest_moves(registers);
                let found = evictions(&sample.lives, &order, class, registers as i32);
                assert!((fewest..=2 * fewest).contains(&found), "seed {seed}: {found} moves where {fewest} suffice");
                assert_eq!(found == 0, course.peak() <= registers, "seed {seed}: {found} moves");
                *if found == 0 { &mut fitted } else { &mut moved } += 1;
            }
        }
        assert!(moved > 1_000 && fitted > 1_000, "{fitted} fit, {moved} do not");
    }

    /// Moves of values from before, by what each instruction reads.
    fn moves(reads: &[&[u32]], registers: i32) -> u32 {
        let insts: Vec<_> = reads.iter().map(|reads| (reads.to_vec(), Vec::new())).collect();
        let values = reads.iter().copied().flatten().max().map_or(0, |last| *last as usize + 1);
        let lives = Lives::of(&vec![(Class::General, false); values], &insts);
        evictions(&lives, &(0..reads.len() as u32).collect::<Vec<u32>>(), Class::General, registers)
    }

    /// The other comes back four times; the first one goes to memory once.
    #[test]
    fn what_is_in_memory_leaves_for_nothing() {
        assert_eq!(moves(&[&[0], &[1], &[0], &[1], &[0]], 1), 4 + 1);
    }

    /// The other comes, but the first one, which is read too, does not leave for it.
    #[test]
    fn what_an_instruction_reads_is_there_at_a_time() {
        assert_eq!(moves(&[&[0, 1]], 1), 1);
    }
}
