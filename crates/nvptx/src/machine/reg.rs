//! Registers and their encoding.

use std::fmt;

use cranelift_entity::entity_impl;
use oriole_ptx::ast::SpecialReg;

use super::class::RegClass;

/// A virtual register: an index into the registers of its function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VReg(u32);
entity_impl!(VReg, "%v");

/// A register that is there without allocation. PTX has no register file, so there are few.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PhysReg {
    /// `%SP`: the frame as a generic address.
    Sp,
    /// `%SPL`: the frame as an address in local memory.
    Spl,
    /// `%envreg0` to `%envreg31` and all other special registers: the internal class, with their
    /// own path to the text.
    Special(SpecialReg),
}

/// A register operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reg {
    /// A virtual register.
    Virtual(VReg),
    /// A physical register.
    Physical(PhysReg),
}

impl Reg {
    /// The virtual register, unless it is physical.
    #[must_use]
    pub const fn vreg(self) -> Option<VReg> {
        match self {
            Reg::Virtual(reg) => Some(reg),
            Reg::Physical(_) => None,
        }
    }
}

impl From<VReg> for Reg {
    fn from(reg: VReg) -> Reg {
        Reg::Virtual(reg)
    }
}

impl PhysReg {
    /// The raw number of the register.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            PhysReg::Sp => 1,
            PhysReg::Spl => 2,
            PhysReg::Special(reg) => 3 + reg as u32,
        }
    }
}

/// The bits of an encoded register below the tag.
pub const INDEX_MASK: u32 = 0x0FFF_FFFF;

/// A register of a class that has no tag was to be encoded, or an index of more than 28 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("Bad register class")]
pub struct BadRegisterClass;

/// A register as 32 bits: for virtual ones the tag of the class in bits 31:28 and the index within
/// the class in bits 27:0, for physical ones the raw number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EncodedReg(u32);

impl EncodedReg {
    /// Encodes register `index` of `class`.
    ///
    /// # Errors
    ///
    /// [`BadRegisterClass`], which ends the compilation: it means that a value got into a class
    /// that cannot be declared.
    pub const fn virtual_reg(class: RegClass, index: u32) -> Result<EncodedReg, BadRegisterClass> {
        match class.info().tag {
            Some(tag) if index <= INDEX_MASK => Ok(EncodedReg(tag << 28 | index)),
            _ => Err(BadRegisterClass),
        }
    }

    /// Encodes a physical register: its raw number.
    #[must_use]
    pub const fn physical(reg: PhysReg) -> EncodedReg {
        EncodedReg(reg.number() & INDEX_MASK)
    }

    /// The 32 bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The class, unless the register is physical.
    #[must_use]
    pub fn class(self) -> Option<RegClass> {
        let tag = self.0 >> 28;
        RegClass::ALL.into_iter().find(|class| class.info().tag == Some(tag))
    }

    /// The index within the class, or the number of the physical register.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0 & INDEX_MASK
    }
}

impl fmt::Debug for EncodedReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

impl fmt::Display for EncodedReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class() {
            Some(class) => write!(f, "{}{}", class.info().prefix, self.index()),
            None => write!(f, "phys{}", self.index()),
        }
    }
}
