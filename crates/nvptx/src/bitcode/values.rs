//! The numbering of values.
//!
//! Bitcode numbers symbols, then the module's constants, then, anew in each
//! function, its parameters, its constants and the results of its instructions.

use crate::ir::{ConstId, InlineAsm, ValueId};

use super::type_table::TypeIndex;

/// What a value number stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A constant.
    Const(ConstId, Nesting),
    /// Inline assembly: index into [`Values::asms`].
    Asm(u32),
    /// A parameter or instruction.
    Local(ValueId),
    /// A constant that refers to ones that come later, until its block has been read.
    Pending,
}

/// How a constant is made up, counting parts where they stand: constants are walked recursively and without memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Nesting {
    pub(super) depth: u16,
    /// The number of constants, itself included.
    pub(super) weight: u32,
}

impl Nesting {
    /// That of a constant without operands.
    pub(super) const NONE: Nesting = Nesting { depth: 0, weight: 1 };

    /// That of a constant with one more operand.
    pub(super) fn with(self, operand: Nesting) -> Nesting {
        Nesting { depth: self.depth.max(operand.depth + 1), weight: self.weight.saturating_add(operand.weight) }
    }
}

/// A value with the entry of its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub(super) ty: TypeIndex,
    pub(super) what: What,
}

/// All values that can be referred to at the moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) list: Vec<Slot>,
    pub(super) asms: Vec<Asm>,
}

/// Inline assembly, which is a value only as what is called.
#[derive(Clone, Debug)]
pub(super) struct Asm {
    pub(super) asm: InlineAsm,
    /// The function type, where the constant's record gives it.
    pub(super) signature: Option<TypeIndex>,
}

impl Values {
    /// The number of values: the number of the next one.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds the next value.
    pub(super) fn push(&mut self, ty: TypeIndex, what: What) {
        self.list.push(Slot { ty, what });
    }

    /// The value of a number.
    pub(super) fn get(&self, number: u64) -> Option<Slot> {
        self.list.get(usize::try_from(number).ok()?).copied()
    }

    /// The constant of a number, with its type.
    pub(super) fn constant(&self, number: u64) -> Option<(ConstId, TypeIndex)> {
        match self.get(number)? {
            Slot { ty, what: What::Const(id, _) } => Some((id, ty)),
            _ => None,
        }
    }
}
