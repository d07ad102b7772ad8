//! Where values of an operation come from and go to.

use crate::arith::Bits;
use oriole_ptx::ast::SpecialReg;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A register and the bits that count.
    Register {
        /// Its slot.
        slot: u32,
        /// Bits that are read.
        mask: u64,
    },
    /// A 128-bit register: two slots.
    Wide(u32),
    /// A register, multiplied and added to; the bits of the register and of the result that count.
    Affine {
        /// Its slot.
        slot: u32,
        /// Bits that are read, and of the sum that are kept.
        mask: u64,
        /// Added to the register.
        add: u64,
        /// What the sum is multiplied by, modulo 2^64.
        scale: u64,
    },
    /// The complement of a predicate.
    Not(u32),
    /// A constant or a fixed address.
    Constant(Bits),
    /// A special register, its component and the bits that count.
    Special(SpecialReg, u8, u64),
    /// The handle of a texture, surface or sampler that a variable stands for, by the number of the variable.
    Object(u32),
    /// The address of a place in the frame: the local address, or the generic one.
    Frame {
        /// Place in the frame.
        offset: u32,
        /// The generic address.
        generic: bool,
    },
    /// An address in the shared memory of the block, which the rank of the block in its cluster is a part of; in its
    /// space or generic.
    Shared {
        /// Bytes added.
        offset: u64,
        /// Counted from the start of dynamic shared memory.
        dynamic: bool,
        /// The generic address.
        generic: bool,
    },
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Nowhere.
    Sink,
    /// A register.
    Register {
        /// Its slot.
        slot: u32,
        /// Bits of the result.
        bits: u8,
        /// The result is sign-extended to the register.
        signed: bool,
        /// Bits of the register.
        mask: u64,
    },
    /// A 128-bit register: two slots.
    Wide {
        /// The first slot.
        slot: u32,
        /// Bits of the result, 1 to 128.
        bits: u8,
        /// The result is sign-extended to the register.
        signed: bool,
    },
}

impl Destination {
    /// Bytes of the result.
    pub(crate) fn bytes(&self) -> u32 {
        match self {
            Destination::Sink => 0,
            Destination::Register { bits, .. } => u32::from(*bits).div_ceil(8),
            Destination::Wide { .. } => 16,
        }
    }
}
