//! Words of values, and where the bits of each come from.

use cranelift_entity::SecondaryMap;
use oriole_ptx::ast::Sym;
use smallvec::SmallVec;

use super::legal::Vt;
use crate::ir::{AddressSpace, InstId, ValueId};
use crate::machine::VReg;

/// Where the bits of a word, or of a lane, come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// A register.
    Reg(VReg),
    /// A constant: its bits.
    Bits(u64),
    /// The address of a variable or function plus bytes; with a space, made generic from there.
    Symbol(Sym, i64, Option<AddressSpace>),
    /// Anything.
    Undef,
}

/// One word of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word {
    pub(crate) vt: Vt,
    pub(crate) part: Part,
}

pub(crate) type Words = SmallVec<[Word; 4]>;

pub(crate) type Lanes = [Part; 4];

/// The words of all values of a function, and the lanes of packed registers.
#[derive(Debug, Default)]
pub(crate) struct WordTable {
    pub(super) words: Vec<Word>,
    pub(super) ranges: SecondaryMap<ValueId, (u32, u32)>,
    pub(super) lanes: SecondaryMap<VReg, Option<u32>>,
    pub(super) lane_pool: Vec<Lanes>,
    pub(super) owner: SecondaryMap<VReg, Option<VReg>>,
    /// The instruction whose words a register was made for; others with the same word only share it.
    pub(super) definer: SecondaryMap<VReg, Option<InstId>>,
    /// The register of which this one is a copy of the bits, to another class.
    pub(super) cast_of: SecondaryMap<VReg, Option<VReg>>,
    /// Packed registers that are put together from their lanes, not the other way round.
    pub(crate) from_lanes: SecondaryMap<VReg, bool>,
}

/// The word that a register is.
pub(crate) fn in_reg(vt: Vt, reg: VReg) -> Word {
    Word { vt, part: Part::Reg(reg) }
}

impl WordTable {
    /// The words of a local value.
    pub(crate) fn get(&self, value: ValueId) -> &[Word] {
        let (start, len) = self.ranges[value];
        &self.words[start as usize..(start + len) as usize]
    }

    /// True for a register that a packed one is taken apart to.
    pub(crate) fn is_lane(&self, reg: VReg) -> bool {
        self.owner[reg].is_some_and(|packed| !self.from_lanes[packed])
    }

    /// The register that holds the same bits, where this one is a copy from another class; else the register itself.
    pub(crate) fn bits_of(&self, reg: VReg) -> VReg {
        self.cast_of[reg].unwrap_or(reg)
    }

    /// The instruction that a register was made for.
    pub(crate) fn definer(&self, reg: VReg) -> Option<InstId> {
        self.definer[reg]
    }

    /// Gives a local value its words.
    pub(crate) fn set(&mut self, value: ValueId, words: &[Word]) {
        self.ranges[value] = (self.words.len() as u32, words.len() as u32);
        self.words.extend_from_slice(words);
    }

    /// The lanes of a packed register, if there are any.
    pub(crate) fn lanes(&self, reg: VReg) -> Option<Lanes> {
        self.lanes[reg].map(|at| self.lane_pool[at as usize])
    }

    /// Gives a packed register its lanes.
    pub(crate) fn set_lanes(&mut self, reg: VReg, lanes: Lanes) {
        self.lanes[reg] = Some(self.lane_pool.len() as u32);
        self.lane_pool.push(lanes);
    }
}
