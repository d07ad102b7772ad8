//! Facts of each opcode that loops ask for: one dense row each, without pointers. The data comes from `spec/*.isa`.

use crate::{Fcmp, FieldId, Opcode};

include!(concat!(env!("OUT_DIR"), "/facts.rs"));

/// What changes in an instruction when two of its [`Opcode::commuting`] operands change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Swap {
    /// No operands may.
    None,
    /// Nothing.
    Plain,
    /// Nothing, unless a predicate result says which operand was taken.
    MinMax,
    /// The sense of the predicate PA, which chooses.
    Choice,
    /// The inputs of the truth tables Lut and Lut2.
    Table,
    /// This comparison is turned round: [`FieldId::turned`].
    Compare(FieldId),
}

/// One row.
struct Facts {
    destinations: u32,
    sources: u32,
    predicates: u32,
    registers: u32,
    commuting: u32,
    swap: Swap,
    lanes: Lanes,
    exit: Exit,
    order: CodeOrder,
    fold: Fold,
    space: Space,
    estimate: u8,
}

impl Opcode {
    #[inline]
    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// How many operands the signature has.
    #[inline]
    pub fn operand_count(self) -> usize {
        let Facts { destinations, sources, .. } = self.facts();
        (u32::BITS - (destinations | sources).leading_zeros()) as usize
    }

    /// The operands of the signature that it writes: bit `i` for the one at `i`.
    #[inline]
    pub fn destinations(self) -> u32 {
        self.facts().destinations
    }

    /// The operands that it reads; one that it changes (the barrier of `BREAK`) is among the destinations too.
    #[inline]
    pub fn sources(self) -> u32 {
        self.facts().sources
    }

    /// The operands that may be predicates, uniform ones or others.
    #[inline]
    pub fn predicates(self) -> u32 {
        self.facts().predicates
    }

    /// The operands that may name a register of some file: as what they are, or as the handle of a bindless constant.
    #[inline]
    pub fn registers(self) -> u32 {
        self.facts().registers
    }

    /// The pairs of places whose operands may be exchanged, with what [`Opcode::swap`] says; the first is before the
    /// second.
    pub fn commuting(self) -> impl Iterator<Item = (usize, usize)> {
        let mask = self.facts().commuting;
        let places = (0..32).filter(move |place| mask >> place & 1 != 0);
        places.clone().flat_map(move |a| places.clone().filter(move |&b| b > a).map(move |b| (a, b)))
    }

    /// What changes when two [`Opcode::commuting`] operands change places.
    #[inline]
    pub fn swap(self) -> Swap {
        self.facts().swap
    }

    /// How its results differ between the lanes of a warp.
    #[inline]
    pub fn lanes(self) -> Lanes {
        self.facts().lanes
    }

    /// How it leaves its block.
    #[inline]
    pub fn exit(self) -> Exit {
        self.facts().exit
    }

    /// What may move across it.
    #[inline]
    pub fn order(self) -> CodeOrder {
        self.facts().order
    }

    /// Which evaluation constant folding has for it.
    #[inline]
    pub fn fold(self) -> Fold {
        self.facts().fold
    }

    /// The memory that it can reach.
    #[inline]
    pub fn space(self) -> Space {
        self.facts().space
    }

    /// So much longer than [`Opcode::estimate`] takes what the first-level cache does not have, in cycles; a guess, too.
    pub const MISS: u32 = 300;

    /// What a scheduler may assume its result to take where that varies, in cycles. Nothing depends on it being right.
    #[inline]
    pub fn estimate(self) -> u32 {
        self.facts().estimate.into()
    }
}

impl Space {
    /// An access to one may touch what an access to the other touches.
    pub fn meets(self, other: Space) -> bool {
        self == other || self == Space::Any || other == Space::Any
    }
}

impl Fcmp {
    /// The comparison that is true where this one is false. A code has a bit each for less, equal, greater and
    /// unordered.
    #[must_use]
    pub fn opposite(self) -> Fcmp {
        Fcmp::from_code(self.code() ^ Fcmp::T.code())
    }
}

impl FieldId {
    /// The comparison that holds for (B, A) where that of code `value` of this field does for (A, B), if there is one.
    pub fn turned(self, value: u8) -> Option<u8> {
        let (_, pairs) = TURNED.iter().find(|(field, _)| *field == self)?;
        pairs.iter().find(|(from, _)| *from == value).map(|(_, to)| *to)
    }
}
