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
    let mut places = vec![0; order.len()];
    (0..).zip(order).for_each(|(place, at)| places[*at as usize] = place);
    let reads = order.iter().flat_map(|at| {
        let place = places[*at as usize];
        lives.entries(*at).0.iter().map(move |value| (*value, place))
    });
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
        let general = |value: &&u32| lives.class(**value) == class;
        for &value in reads.iter().filter(general) {
            if !self.states[value as usize].there {
                self.moves += 1;
                self.make_room(place);
                self.enter(value);
            }
        }
        for &value in reads.iter().filter(general) {
            self.states[value as usize].next_read += 1;
            match self.next(value) {
                NEVER => self.leave(value),
                next => self.by_next_read.push((next, value)),
            }
        }
        for &value in writes.iter().filter(general) {
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
