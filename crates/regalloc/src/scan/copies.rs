//! Moves that happen at once, as copies one after the other.

use crate::fatpoint::has;
use crate::graph::PhysicalSet;
use crate::node::Node;

/// A component of a node goes from where that began to where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) node: Node,
    /// Which of its components.
    pub(super) part: u8,
    pub(super) from: u16,
    pub(super) to: u16,
}

/// What a copy reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// A component of a node that begins in a register.
    Part { node: Node, base: u16, part: u8 },
    /// A register that holds nothing otherwise.
    Between(u16),
}

impl Spot {
    fn register(self) -> u16 {
        match self {
            Spot::Part { base, part, .. } => base + u16::from(part),
            Spot::Between(register) => register,
        }
    }
}

/// One copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) to: Spot,
    pub(super) from: Spot,
}

/// The moves in turn: none writes what another has yet to read. Where they go round, one of them waits in a register of
/// `usable` that is free before and behind them; `None` where there is none.
pub(super) fn in_turn(moves: Vec<Move>, usable: PhysicalSet, is_free: impl Fn(u16) -> bool) -> Option<Vec<Copy>> {
    let copy = |m: Move| {
        let at = |base| Spot::Part { node: m.node, base, part: m.part };
        Copy { to: at(m.to), from: at(m.from) }
    };
    let mut pending: Vec<Copy> = moves.into_iter().filter(|m| m.from != m.to).map(copy).collect();
    let mut done = Vec::with_capacity(pending.len());
    while !pending.is_empty() {
        let blocked = |copy: &Copy| pending.iter().any(|other| other.from.register() == copy.to.register());
        match pending.iter().position(|copy| !blocked(copy)) {
            Some(at) => done.push(pending.remove(at)),
            None => {
                let reads = |register| pending.iter().any(|copy: &Copy| copy.from.register() == register);
                let is_target =
                    |copy: &Copy, register| matches!(copy.to, Spot::Part { .. }) && copy.to.register() == register;
                let touched =
                    |register| reads(register) || pending.iter().chain(&done).any(|copy| is_target(copy, register));
                let may_wait = |register: &u16| has(&usable, *register) && is_free(*register) && !touched(*register);
                let free = (0..256).find(may_wait)?;
                let between = Spot::Between(free);
                done.push(Copy { to: between, from: pending[0].from });
                pending[0].from = between;
            }
        }
    }
    Some(done)
}

#[cfg(test)]
mod tests {
    use super::{Copy, Move, in_turn};
    use fastrand::Rng;
    use std::collections::HashMap;

    /// What is in each register afterwards, where each held its own number before.
    fn run(copies: &[Copy]) -> HashMap<u16, u16> {
        let mut held = HashMap::new();
        for copy in copies {
            let from = copy.from.register();
            let value = *held.get(&from).unwrap_or(&from);
            held.insert(copy.to.register(), value);
        }
        held
    }

    /// Values that stand in some of ten registers and shall stand in others of them; each is a node of its own.
    #[test]
    fn every_value_arrives_and_none_that_stays_is_lost() {
        let usable = [(1 << 10) - 1, 0, 0, 0];
        let (mut round, mut without_room) = (0, 0);
        for seed in 0..5_000 {
            let mut rng = Rng::with_seed(seed);
            let count = rng.usize(1..=10);
            let (mut from, mut to): (Vec<u16>, Vec<u16>) = ((0..10).collect(), (0..10).collect());
            rng.shuffle(&mut from);
            rng.shuffle(&mut to);
            let pairs: Vec<(u16, u16)> = from.into_iter().zip(to).take(count).collect();
            let moves =
                (0..).zip(&pairs).map(|(node, (from, to))| Move { node, part: 0, from: *from, to: *to }).collect();
            let is_free = |register| !pairs.iter().any(|(_, to)| *to == register);
            match in_turn(moves, usable, is_free) {
                Some(copies) => {
                    let held = run(&copies);
                    for (from, to) in &pairs {
                        assert_eq!(held.get(to).unwrap_or(to), from, "seed {seed}: {copies:?}");
                    }
                    round += u32::from(copies.len() > pairs.iter().filter(|(from, to)| from != to).count());
                }
                None => {
                    assert_eq!(count, 10, "seed {seed}: there was room");
                    without_room += 1;
                }
            }
        }
        assert!(round > 1_000 && without_room > 100, "{round} go round, {without_room} find no room");
    }
}
