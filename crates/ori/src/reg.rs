//! Virtual registers: types, flags, descriptors.

use oriole_isa::RegFile;
use std::fmt;

/// What a virtual register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegType {
    /// A 32-bit general-purpose register.
    R,
    /// A 32-bit uniform register.
    Ur,
    /// A predicate.
    P,
    /// A uniform predicate.
    Up,
    /// A convergence barrier register.
    B,
    /// A 64-bit pair of R registers, even aligned.
    Pair,
    /// A 128-bit quad of R registers, aligned to four.
    Quad,
    /// A 64-bit pair of uniform registers, even aligned.
    UrPair,
    /// A 128-bit quad of uniform registers, aligned to four.
    UrQuad,
    /// A group of consecutive R registers; the descriptor says how many and how aligned.
    Group,
    /// A group of consecutive uniform registers, as [`RegType::Group`].
    UrGroup,
}

/// One row of the table that describes the register types.
struct TypeRow {
    reg_type: RegType,
    prefix: &'static str,
    file: RegFile,
    components: u8,
}

const fn row(reg_type: RegType, prefix: &'static str, file: RegFile, components: u8) -> TypeRow {
    TypeRow { reg_type, prefix, file, components }
}

/// Indexed by `RegType as usize`.
const TYPES: [TypeRow; 11] = [
    row(RegType::R, "R", RegFile::R, 1),
    row(RegType::Ur, "UR", RegFile::UR, 1),
    row(RegType::P, "P", RegFile::P, 1),
    row(RegType::Up, "UP", RegFile::UP, 1),
    row(RegType::B, "B", RegFile::B, 1),
    row(RegType::Pair, "D", RegFile::R, 2),
    row(RegType::Quad, "Q", RegFile::R, 4),
    row(RegType::UrPair, "UD", RegFile::UR, 2),
    row(RegType::UrQuad, "UQ", RegFile::UR, 4),
    row(RegType::Group, "G", RegFile::R, 1),
    row(RegType::UrGroup, "UG", RegFile::UR, 1),
];

impl RegType {
    #[inline]
    fn row(self) -> &'static TypeRow {
        &TYPES[self as usize]
    }

    /// The prefix of a virtual register's name in the text form: `D` in `%D7`.
    pub fn prefix(self) -> &'static str {
        self.row().prefix
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

bitflags::bitflags! {
    /// Flags of a virtual register.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct VRegFlags: u8 {
        /// Has its physical register from the start (ABI, reserved).
        const FIXED = 1 << 0;
        /// Spilled, or the short life of a spilled value around one use: not to be spilled (again).
        const SPILLED = 1 << 1;
    }
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
    /// Facts that its type does not say.
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
        let flags = VRegFlags::empty();
        VRegData { reg_type, components, align: components, flags, physical: None, spill_slot: None, home: 0 }
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
    /// The convergence barriers that a function gives back as they were, a bit for each: B6 and up, as ptxas's code has it.
    pub const KEPT_BARRIERS: u16 = 0xffc0;
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
        self.subtract(&one);
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

    /// How many registers of `file` are in the set; of files without a mask none.
    pub fn count(&self, file: RegFile) -> u32 {
        match file {
            RegFile::R => self.r.iter().map(|word| word.count_ones()).sum(),
            RegFile::UR => self.ur.count_ones(),
            RegFile::P => self.p.count_ones(),
            RegFile::UP => self.up.count_ones(),
            RegFile::B => self.b.count_ones(),
            RegFile::SB => 0,
        }
    }

    /// Take every register of `other` out.
    pub fn subtract(&mut self, other: &RegMask) {
        for (word, bits) in self.r.iter_mut().zip(other.r) {
            *word &= !bits;
        }
        self.ur &= !other.ur;
        self.p &= !other.p;
        self.up &= !other.up;
        self.b &= !other.b;
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
