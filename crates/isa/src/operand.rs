//! Atomic operands of an instruction.

/// A hardware register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RegFile {
    /// `R0`–`R254`, `RZ` = 255; 32 bits per thread.
    R,
    /// `UR0`–`UR62` (before sm_100; up to `UR254` from there on), `URZ` = 255; 32 bits per warp.
    UR,
    /// `P0`–`P6`, `PT` = 7; 1 bit per thread.
    P,
    /// `UP0`–`UP6`, `UPT` = 7; 1 bit per warp.
    UP,
    /// `B0`–`B15`, convergence barriers.
    B,
    /// `SB0`–`SB5`, scoreboards, as `DEPBAR` names them.
    SB,
}

impl RegFile {
    /// Hardware number of the register that reads as zero (or true), if the file has one.
    pub fn zero(self) -> Option<u16> {
        match self {
            RegFile::R | RegFile::UR => Some(255),
            RegFile::P | RegFile::UP => Some(7),
            RegFile::B | RegFile::SB => None,
        }
    }
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// The form of the instruction at hand does not have this operand of the signature.
    None,
    /// A register by its hardware number. For wide operands: the first of the group.
    Reg(RegFile, u16),
    /// An immediate. Integers and raw bit patterns are kept zero-extended from the width of their
    /// field; address offsets and other signed fields sign-extended to 64 bits; a 64-bit float
    /// immediate has its low word zero.
    Imm(u64),
    /// `c[bank][offset]`; `offset` in bytes.
    Const {
        /// Bank number, 0–31.
        bank: u8,
        /// Byte offset.
        offset: u16,
    },
    /// `cx[URn][offset]`, a bindless constant bank; `offset` in bytes.
    ConstBindless {
        /// Uniform register (pair) that holds the bank's handle.
        ureg: u16,
        /// Byte offset.
        offset: u16,
    },
    /// A special register, `SR_…`, by number.
    Special(u8),
    /// A code address, in bytes from the start of the function's section (already resolved from
    /// the relative field: target = address of the next instruction + field).
    Label(i64),
}

/// Per-operand flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OperandFlags(u8);

impl OperandFlags {
    /// Arithmetic negation, printed `-`.
    pub const NEG: OperandFlags = OperandFlags(1);
    /// Absolute value, printed `|x|`.
    pub const ABS: OperandFlags = OperandFlags(2);
    /// Logical or bitwise inversion, printed `!` on predicates and `~` on registers.
    pub const NOT: OperandFlags = OperandFlags(4);
    /// Operand-cache hint, printed `.reuse`.
    pub const REUSE: OperandFlags = OperandFlags(8);

    /// No flag set.
    pub const fn empty() -> Self {
        OperandFlags(0)
    }

    /// The raw bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// From raw bits; unknown bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        OperandFlags(bits & 15)
    }

    /// All flags of `other` are set.
    pub const fn contains(self, other: OperandFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Union.
    pub const fn with(self, other: OperandFlags) -> Self {
        OperandFlags(self.0 | other.0)
    }

    /// Difference.
    pub const fn without(self, other: OperandFlags) -> Self {
        OperandFlags(self.0 & !other.0)
    }
}

/// One operand: a value and its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// What it is.
    pub value: Value,
    /// Negation, absolute value, inversion, reuse.
    pub flags: OperandFlags,
}

impl Operand {
    /// The operand that a form lacks.
    pub const NONE: Operand = Operand { value: Value::None, flags: OperandFlags::empty() };

    /// A register without flags.
    pub const fn reg(file: RegFile, number: u16) -> Self {
        Operand { value: Value::Reg(file, number), flags: OperandFlags::empty() }
    }

    /// An immediate.
    pub const fn imm(bits: u64) -> Self {
        Operand { value: Value::Imm(bits), flags: OperandFlags::empty() }
    }

    /// The same operand with `flags` added.
    pub const fn with(self, flags: OperandFlags) -> Self {
        Operand { value: self.value, flags: self.flags.with(flags) }
    }
}
