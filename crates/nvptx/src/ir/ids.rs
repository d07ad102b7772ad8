//! Names of what a module and its bodies hold: typed indices.

use cranelift_entity::entity_impl;

/// A function, variable or alias of the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SymbolId(u32);
entity_impl!(SymbolId, "@");

/// Index of a metadata node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetaId(u32);
entity_impl!(MetaId, "!");

/// Index of an interned [`Constant`](super::Constant).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstId(u32);
entity_impl!(ConstId, "const");

/// A local value: a parameter or the result of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(u32);
entity_impl!(ValueId, "v");

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstId(u32);
entity_impl!(InstId, "inst");

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(u32);
entity_impl!(BlockId, "block");

/// What an instruction reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Value {
    /// A parameter or the result of an instruction.
    Local(ValueId),
    /// A constant of the module.
    Const(ConstId),
}

impl Value {
    /// The local value, unless it is a constant.
    #[must_use]
    pub const fn local(self) -> Option<ValueId> {
        match self {
            Value::Local(id) => Some(id),
            Value::Const(_) => None,
        }
    }

    /// The constant, unless it is a local value.
    #[must_use]
    pub const fn constant(self) -> Option<ConstId> {
        match self {
            Value::Const(id) => Some(id),
            Value::Local(_) => None,
        }
    }
}

impl From<ValueId> for Value {
    fn from(id: ValueId) -> Value {
        Value::Local(id)
    }
}

impl From<ConstId> for Value {
    fn from(id: ConstId) -> Value {
        Value::Const(id)
    }
}
