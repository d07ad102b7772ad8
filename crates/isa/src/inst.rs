//! A decoded instruction.

use crate::{Control, Field, FieldId, FieldType, Mods, Opcode, Operand, Setting};
use smallvec::SmallVec;

/// The guard predicate `@P0`, `@!P0`, `@UP0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Predicate number; 7 is always true. A `UP` register on instructions of the uniform
    /// datapath, a `P` register on all others.
    pub predicate: u8,
    /// Execute where the predicate is false.
    pub negated: bool,
}

impl Guard {
    /// Execute always.
    pub const ALWAYS: Guard = Guard { predicate: 7, negated: false };
}

/// One SASS instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// The mnemonic.
    pub opcode: Opcode,
    /// The guard predicate.
    pub guard: Guard,
    /// Explicit modifier values.
    pub mods: Mods,
    /// Operands in the order of the opcode's signature; nearly all instructions have at most ten.
    pub operands: SmallVec<[Operand; 10]>,
    /// Scheduling bits.
    pub control: Control,
}

impl Inst {
    /// An instruction with default modifiers and the neutral operand wherever there is one
    /// ([`Operand::NONE`] elsewhere).
    pub fn new(opcode: Opcode) -> Inst {
        Inst {
            opcode,
            guard: Guard::ALWAYS,
            mods: Mods::new(),
            operands: opcode.signature().iter().map(|o| o.neutral.unwrap_or(Operand::NONE)).collect(),
            control: Control::NONE,
        }
    }

    /// An instruction with default modifiers and without any operand yet.
    pub fn bare(opcode: Opcode) -> Inst {
        let (guard, mods, operands) = (Guard::ALWAYS, Mods::new(), SmallVec::new());
        Inst { opcode, guard, mods, operands, control: Control::NONE }
    }

    /// Make another instruction of it: one with these modifiers, without any operand yet.
    pub fn become_bare(&mut self, opcode: Opcode, mods: &Mods) {
        self.operands.clear();
        self.mods.clone_from(mods);
        (self.opcode, self.guard, self.control) = (opcode, Guard::ALWAYS, Control::NONE);
    }

    /// The value of `field`, or the opcode's default where it is not given.
    #[inline]
    pub fn get<V: FieldType>(&self, field: Field<V>) -> V {
        V::from_code(self.raw(field.id()))
    }

    /// The code of the value of `field`, or of the opcode's default where it is not given.
    pub fn raw(&self, field: FieldId) -> u8 {
        self.mods.raw(field).unwrap_or_else(|| self.opcode.default_code(field))
    }

    /// The setting's field has its value.
    pub fn has(&self, setting: Setting) -> bool {
        self.raw(setting.field()) == setting.code()
    }

    /// Registers that operand `i` occupies, counted in registers of its file.
    #[inline]
    pub fn width(&self, i: usize) -> u8 {
        self.opcode.signature()[i].width.of(|field| self.raw(field))
    }

    /// Drop explicit modifiers that equal the opcode's default, so that equal instructions compare equal.
    pub fn normalise(&mut self) {
        let opcode = self.opcode;
        let kept: Mods = self.mods.iter().filter(|s| opcode.default_code(s.field()) != s.code()).collect();
        self.mods = kept;
    }
}
