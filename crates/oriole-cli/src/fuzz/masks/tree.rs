//! The programs: every statement may go and the rest is right, since each mask is made from the lanes that are there.

use super::super::buffers::{Argument, Buffer, Element, Fill};
use super::super::sides::Plan;
use std::collections::BTreeSet;

/// Words of a thread.
pub(super) const WORDS: usize = 6;
/// Lanes of a warp.
pub(super) const LANES: usize = 32;
/// A loop goes round as often as the low bits of a word say.
pub(super) const COUNT_MASK: u32 = 3;
/// A mix multiplies by this odd number (FNV's prime), so that all earlier results show at the end.
pub(super) const MIX: u32 = 0x0100_0193;

/// A bit of a word, or of the lane's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Word { word: usize, bit: u32 },
    Lane { bit: u32 },
}

/// How an instruction finds its member mask. Each is made of the lanes that come to the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    /// All that are here, in a register.
    Here,
    /// The same as a constant, where it is one.
    Constant,
    /// Those of a tile of so many lanes.
    Tile(u32),
    /// Those with the same low bits of a word.
    Label { word: usize, bits: u32 },
    /// Those for which a condition is as it is for the lane.
    Half(Condition),
    /// A word of memory: random parts. Every such mask has a number of its own.
    Memory { site: u32 },
    /// The lane by itself.
    Alone,
}

/// What the members exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Ballot,
    /// `all`, `any`, `uni`.
    Vote(&'static str),
    MatchAny {
        wide: bool,
    },
    /// The mask, or with `pred` the predicate.
    MatchAll {
        wide: bool,
        pred: bool,
    },
    /// `redux.sync` of an operation and a type.
    Reduce(&'static str),
    /// The leader's number, or with `pred` whether the lane is it.
    Elect {
        pred: bool,
    },
    /// `shfl.idx` of the first or of the last member.
    Index {
        last: bool,
    },
    /// `shfl.up` or `shfl.down` by so many lanes.
    Shift {
        up: bool,
        by: u32,
    },
    /// `shfl.bfly`.
    Butterfly(u32),
    /// Through shared memory, from the first member, between two `bar.warp.sync`.
    Memory,
}

/// An exchange: `to = to * MIX + what comes of (from & narrow)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    pub(super) op: Op,
    pub(super) mask: Mask,
    pub(super) to: usize,
    pub(super) from: usize,
    /// The bits of the source that count, so that values repeat.
    pub(super) narrow: u32,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// `to = to * MIX + (from ^ constant)`
    Mix {
        to: usize,
        from: usize,
        constant: u32,
    },
    /// An exchange, perhaps under a guard, perhaps in a function.
    Exchange {
        exchange: Exchange,
        guard: Option<Condition>,
        call: bool,
    },
    /// One exchange of lanes that stand in two arms: where the condition holds they bring another word.
    Across {
        exchange: Exchange,
        condition: Condition,
        other: usize,
    },
    If {
        condition: Condition,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Loop {
        count: usize,
        body: Vec<Statement>,
    },
    /// Lanes for which the condition holds end.
    Exit(Condition),
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fuzz) struct Tree {
    /// The kernel's name.
    pub(super) name: String,
    /// Threads of the block: the last warp may have fewer than 32.
    pub(super) threads: usize,
    /// The first words of each thread, one thread after the other.
    pub(super) input: Vec<u32>,
    /// Seed of the masks in memory.
    pub(super) seed: u64,
    pub(super) body: Vec<Statement>,
}

impl Tree {
    /// The same with another name.
    pub(in crate::fuzz) fn renamed(&self, name: &str) -> Tree {
        Tree { name: name.to_owned(), ..self.clone() }
    }

    /// The sites of masks in memory, in order; each has a row of the table.
    pub(super) fn sites(&self) -> BTreeSet<u32> {
        let mut sites = BTreeSet::new();
        visit(&self.body, &mut |statement| {
            if let Some(Exchange { mask: Mask::Memory { site }, .. }) = statement.exchange() {
                sites.insert(*site);
            }
        });
        sites
    }

    /// How it is launched.
    pub(in crate::fuzz) fn plan(&self) -> Plan {
        let masks = self.evaluate().masks;
        let words: Vec<u64> = self.input.iter().chain(masks.iter().flatten()).map(|word| u64::from(*word)).collect();
        let input = Buffer { element: Element::U32, count: words.len(), fill: Fill::Values(words), zeros: 0 };
        let arguments = vec![Argument::In(input), Argument::Out(self.threads * WORDS * 4)];
        Plan { kernel: self.name.clone(), block: [self.threads as u32, 1, 1], arguments, ..Plan::default() }
    }

    /// The words of the output, by arithmetic on the host.
    pub(in crate::fuzz) fn expected(&self) -> Vec<u32> {
        self.evaluate().output
    }
}

impl Statement {
    /// The exchange of a statement that is one.
    pub(super) fn exchange(&self) -> Option<&Exchange> {
        match self {
            Statement::Exchange { exchange, .. } | Statement::Across { exchange, .. } => Some(exchange),
            _ => None,
        }
    }

    /// The bodies inside of it.
    pub(super) fn bodies(&self) -> Vec<&Vec<Statement>> {
        match self {
            Statement::If { then, otherwise, .. } => vec![then, otherwise],
            Statement::Loop { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }
}

/// Calls `see` with every statement, those inside of others after these.
pub(super) fn visit<'t>(body: &'t [Statement], see: &mut dyn FnMut(&'t Statement)) {
    for statement in body {
        see(statement);
        statement.bodies().into_iter().for_each(|inner| visit(inner, see));
    }
}

impl Condition {
    /// The lanes of a warp with that bit of their number, if it is one.
    pub(super) fn lanes(self) -> Option<u32> {
        let Condition::Lane { bit } = self else { return None };
        Some((0..LANES as u32).filter(|lane| lane >> bit & 1 == 1).fold(0, |mask, lane| mask | 1 << lane))
    }
}
