//! Virtual registers: types, allocator classes, flags, descriptors.

use oriole_isa::RegFile;
use std::fmt;

/// What a virtual register is. `number()` gives the register model's enumeration value; the
/// numbers from 12 on are Oriole's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegType {
    /// 1: a 32-bit general-purpose register.
    R,
    /// 2: a general-purpose register, alternate class.
    RAlt,
    /// 3: a 32-bit uniform register.
    Ur,
    /// 4: a uniform register, extended class.
    UrExt,
    /// 5: a predicate.
    P,
    /// 5: a uniform predicate; shares number and allocator class with [`RegType::P`], not the file.
    Up,
    /// 6: a register of a tensor operand or accumulator.
    Acc,
    /// 7: a predicate, alternate classification; not allocated by class.
    PAlt,
    /// 8: extended; not allocated by class.
    Ext,
    /// 9: a convergence barrier register.
    B,
    /// 10: a 64-bit pair of R registers, even aligned.
    Pair,
    /// 11: a 128-bit quad of R registers, aligned to four.
    Quad,
    /// 12: a 64-bit pair of uniform registers, even aligned.
    UrPair,
    /// 13: a 128-bit quad of uniform registers, aligned to four.
    UrQuad,
    /// 14: a group of consecutive R registers; the descriptor says how many and how aligned.
    Group,
    /// 15: a group of consecutive uniform registers, as [`RegType::Group`].
    UrGroup,
}

/// One row of the table that describes the register types.
struct TypeRow {
    reg_type: RegType,
    number: u8,
    prefix: &'static str,
    class: RegClass,
    file: RegFile,
    components: u8,
}

const fn row(
    reg_type: RegType,
    number: u8,
    prefix: &'static str,
    class: RegClass,
    file: RegFile,
    components: u8,
) -> TypeRow {
    TypeRow { reg_type, number, prefix, class, file, components }
}

/// Indexed by `RegType as usize`.
const TYPES: [TypeRow; 16] = [
    row(RegType::R, 1, "R", RegClass::R, RegFile::R, 1),
    row(RegType::RAlt, 2, "RA", RegClass::RAlt, RegFile::R, 1),
    row(RegType::Ur, 3, "UR", RegClass::Ur, RegFile::UR, 1),
    row(RegType::UrExt, 4, "UX", RegClass::UrExt, RegFile::UR, 1),
    row(RegType::P, 5, "P", RegClass::P, RegFile::P, 1),
    row(RegType::Up, 5, "UP", RegClass::P, RegFile::UP, 1),
    row(RegType::Acc, 6, "A", RegClass::Acc, RegFile::R, 1),
    row(RegType::PAlt, 7, "PA", RegClass::Unified, RegFile::P, 1),
    row(RegType::Ext, 8, "X", RegClass::Unified, RegFile::R, 1),
    row(RegType::B, 9, "B", RegClass::Unified, RegFile::B, 1),
    row(RegType::Pair, 10, "D", RegClass::R, RegFile::R, 2),
    row(RegType::Quad, 11, "Q", RegClass::R, RegFile::R, 4),
    row(RegType::UrPair, 12, "UD", RegClass::Ur, RegFile::UR, 2),
    row(RegType::UrQuad, 13, "UQ", RegClass::Ur, RegFile::UR, 4),
    row(RegType::Group, 14, "G", RegClass::R, RegFile::R, 1),
    row(RegType::UrGroup, 15, "UG", RegClass::Ur, RegFile::UR, 1),
];

impl RegType {
    /// Every type, in order of number.
    pub fn all() -> impl Iterator<Item = RegType> {
        TYPES.iter().map(|row| row.reg_type)
    }

    #[inline]
    fn row(self) -> &'static TypeRow {
        &TYPES[self as usize]
    }

    /// The enumeration value of the register model (P and UP are both 5).
    pub fn number(self) -> u8 {
        self.row().number
    }

    /// The prefix of a virtual register's name in the text form: `D` in `%D7`.
    pub fn prefix(self) -> &'static str {
        self.row().prefix
    }

    /// Who allocates registers of this type.
    pub fn class(self) -> RegClass {
        self.row().class
    }

    /// The hardware register file.
    #[inline]
    pub fn file(self) -> RegFile {
        self.row().file
    }

    /// How many registers of the file one value takes; 1 for the groups, whose descriptor knows.
    pub fn components(self) -> u8 {
        self.row().components
    }

    /// Whether it lives in the uniform datapath (`UR`, `UP`).
    #[inline]
    pub fn is_uniform(self) -> bool {
        matches!(self.file(), RegFile::UR | RegFile::UP)
    }

    /// Whether it is a group of registers, whose descriptor knows how many.
    pub fn is_group(self) -> bool {
        matches!(self, RegType::Group | RegType::UrGroup)
    }

    /// Whether it is a predicate of either file.
    pub fn is_predicate(self) -> bool {
        matches!(self.file(), RegFile::P | RegFile::UP)
    }

    /// The type of general or uniform registers with `components` components.
    pub fn of_width(file: RegFile, components: u8) -> Option<RegType> {
        Some(match (file, components) {
            (RegFile::R, 1) => RegType::R,
            (RegFile::R, 2) => RegType::Pair,
            (RegFile::R, 4) => RegType::Quad,
            (RegFile::R, _) => RegType::Group,
            (RegFile::UR, 1) => RegType::Ur,
            (RegFile::UR, 2) => RegType::UrPair,
            (RegFile::UR, 4) => RegType::UrQuad,
            (RegFile::UR, _) => RegType::UrGroup,
            (RegFile::P, 1) => RegType::P,
            (RegFile::UP, 1) => RegType::Up,
            (RegFile::B, 1) => RegType::B,
            _ => return None,
        })
    }

    /// The type whose text prefix is `prefix`.
    pub fn from_prefix(prefix: &str) -> Option<RegType> {
        TYPES.iter().find(|row| row.prefix == prefix).map(|row| row.reg_type)
    }
}

/// The seven classes that the allocator goes through, with the register model's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RegClass {
    /// 0: the channel for constraints between classes; nothing is allocated here.
    Unified = 0,
    /// 1: general-purpose registers.
    R = 1,
    /// 2: general-purpose registers, alternate.
    RAlt = 2,
    /// 3: uniform registers.
    Ur = 3,
    /// 4: uniform registers, extended.
    UrExt = 4,
    /// 5: predicates, uniform or not.
    P = 5,
    /// 6: tensor operands and accumulators.
    Acc = 6,
}

impl RegClass {
    /// The classes that allocation goes through, in order.
    pub const ALLOCATED: [RegClass; 6] =
        [RegClass::R, RegClass::RAlt, RegClass::Ur, RegClass::UrExt, RegClass::P, RegClass::Acc];
}

bitflags::bitflags! {
    /// Flags of a virtual register, at the register model's bit positions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct VRegFlags: u32 {
        /// Bit 9: has its physical register from the start (ABI, reserved).
        const FIXED = 1 << 9;
        /// Bit 10: merged into another register by coalescing.
        const COALESCED_SOURCE = 1 << 10;
        /// Bit 11: other registers were merged into this one.
        const COALESCED_TARGET = 1 << 11;
        /// Bit 12: set for every register.
        const BASE = 1 << 12;
        /// Bit 14: already spilled.
        const SPILLED = 1 << 14;
        /// Bit 18: the allocator wants to spill it.
        const NEEDS_SPILL = 1 << 18;
        /// Bit 20, low bit of the pair mode: the low half of a pair, or double width.
        const PAIR_LOW = 1 << 20;
        /// Bit 21, high bit of the pair mode; with bit 20: double width.
        const PAIR_DOUBLE = 1 << 21;
        /// Bit 22: held at the architecture's limit.
        const AT_LIMIT = 1 << 22;
        /// Bit 23: the high half of a pair (predicate half-width packing).
        const HIGH_HALF = 1 << 23;
        /// Bit 27: handled specially.
        const SPECIAL = 1 << 27;
    }
}

/// The pair mode, bits 20–21 of the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PairMode {
    /// 0: one register.
    Single = 0,
    /// 1: the low half of a pair.
    LowHalf = 1,
    /// 3: two consecutive registers.
    Double = 3,
}

/// Descriptor of a virtual register. Definitions and uses are computed on demand, never kept here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VRegData {
    /// What it is.
    pub reg_type: RegType,
    /// Number of consecutive registers of the file; 1, 2, 4, or any number for a group.
    pub components: u8,
    /// Physical numbers of its first register are multiples of this.
    pub align: u8,
    /// State bits.
    pub flags: VRegFlags,
    /// First physical register, when assigned; wide values take `components` from there.
    pub physical: Option<u16>,
    /// Byte offset of its slot in the frame's spill area, when spilled.
    pub spill_slot: Option<u32>,
    /// Of a value: the number of the 32-bit variable of which it is a version, from 1 on; neighbours in a wide variable
    /// have neighbouring numbers. 0: of none.
    pub home: u32,
}

impl VRegData {
    /// A fresh register of `reg_type` (one component for a group).
    pub fn new(reg_type: RegType) -> Self {
        VRegData::with_components(reg_type, reg_type.components())
    }

    /// A fresh group of `components` R registers aligned to `align`.
    pub fn group(components: u8, align: u8) -> Self {
        VRegData::group_of(RegType::Group, components, align)
    }

    /// A fresh group of a group type.
    pub fn group_of(reg_type: RegType, components: u8, align: u8) -> Self {
        VRegData { align, ..VRegData::with_components(reg_type, components) }
    }

    fn with_components(reg_type: RegType, components: u8) -> Self {
        let mut flags = VRegFlags::BASE;
        if components == 2 {
            flags |= VRegFlags::PAIR_LOW | VRegFlags::PAIR_DOUBLE;
        }
        // The alternate predicate classification starts with register 0 assigned.
        let physical = (reg_type == RegType::PAlt).then_some(0);
        VRegData { reg_type, components, align: components, flags, physical, spill_slot: None, home: 0 }
    }

    /// The pair mode that the flags hold.
    pub fn pair_mode(&self) -> PairMode {
        match (self.flags.contains(VRegFlags::PAIR_LOW), self.flags.contains(VRegFlags::PAIR_DOUBLE)) {
            (true, true) => PairMode::Double,
            (true, false) => PairMode::LowHalf,
            (false, _) => PairMode::Single,
        }
    }

    /// Who allocates it.
    pub fn class(&self) -> RegClass {
        self.reg_type.class()
    }

    /// The hardware register file.
    #[inline]
    pub fn file(&self) -> RegFile {
        self.reg_type.file()
    }

    /// Whether its physical register was given from the start.
    #[inline]
    pub fn is_fixed(&self) -> bool {
        self.flags.contains(VRegFlags::FIXED)
    }
}

/// Most uniform registers of a target (`SmDescription::uniform_registers`).
const UNIFORM: u16 = 80;

/// Sets of physical registers, one bit per register and file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegMask {
    /// General registers R0–R254.
    pub r: [u64; 4],
    /// Uniform registers UR0–UR62, from sm_100 on UR0–UR79.
    pub ur: u128,
    /// Predicates P0–P6.
    pub p: u8,
    /// Uniform predicates UP0–UP6.
    pub up: u8,
    /// Convergence barriers B0–B15.
    pub b: u16,
}

impl RegMask {
    /// The empty set.
    pub const EMPTY: RegMask = RegMask { r: [0; 4], ur: 0, p: 0, up: 0, b: 0 };
    /// Every register that exists.
    pub const ALL: RegMask = RegMask {
        r: [u64::MAX, u64::MAX, u64::MAX, u64::MAX >> 1],
        ur: (1 << UNIFORM) - 1,
        p: 0x7f,
        up: 0x7f,
        b: 0xffff,
    };

    /// Add register `number` of `file`; numbers outside the file are ignored.
    pub fn insert(&mut self, file: RegFile, number: u16) {
        match file {
            RegFile::R if number < 255 => self.r[usize::from(number / 64)] |= 1 << (number % 64),
            RegFile::UR if number < UNIFORM => self.ur |= 1 << number,
            RegFile::P if number < 7 => self.p |= 1 << number,
            RegFile::UP if number < 7 => self.up |= 1 << number,
            RegFile::B if number < 16 => self.b |= 1 << number,
            _ => {}
        }
    }

    /// Take register `number` of `file` out.
    pub fn remove(&mut self, file: RegFile, number: u16) {
        let mut one = RegMask::EMPTY;
        one.insert(file, number);
        for (word, bit) in self.r.iter_mut().zip(one.r) {
            *word &= !bit;
        }
        self.ur &= !one.ur;
        self.p &= !one.p;
        self.up &= !one.up;
        self.b &= !one.b;
    }

    /// Whether register `number` of `file` is in the set.
    pub fn contains(&self, file: RegFile, number: u16) -> bool {
        match file {
            RegFile::R if number < 255 => self.r[usize::from(number / 64)] >> (number % 64) & 1 != 0,
            RegFile::UR if number < UNIFORM => self.ur >> number & 1 != 0,
            RegFile::P if number < 7 => self.p >> number & 1 != 0,
            RegFile::UP if number < 7 => self.up >> number & 1 != 0,
            RegFile::B if number < 16 => self.b >> number & 1 != 0,
            _ => false,
        }
    }

    /// Union.
    pub fn union(&mut self, other: &RegMask) {
        for (word, bits) in self.r.iter_mut().zip(other.r) {
            *word |= bits;
        }
        self.ur |= other.ur;
        self.p |= other.p;
        self.up |= other.up;
        self.b |= other.b;
    }
}

impl fmt::Display for RegType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prefix())
    }
}
