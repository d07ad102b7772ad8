//! The syntax tree.
//!
//! A [`Module`] owns its [`SymbolTable`]; every identifier in the tree is a
//! [`Name`] (a dense [`Sym`] and a [`Span`]). The tree keeps what was written,
//! in order; only constant expressions are folded and each variable of a
//! comma-separated declaration gets its own node. Two trees compare equal
//! when they mean the same, wherever their text stood.

mod instr;
mod item;
mod modifier;
mod name;
mod opcode;
mod operand;
mod special;
mod stmt;
pub(crate) mod table;
mod types;

pub use instr::{Call, Guard, Instruction};
pub use item::{
    Attribute, FileDirective, Function, FunctionDirective, Init, Item, Linkage, Module, Property, PropertyValue,
    PtrInfo, Section, SectionEntry, SectionValue, Variable,
};
pub use modifier::{Modifier, Shape, Word};
pub use name::{Name, Span, Sym, SymbolTable};
pub use opcode::Opcode;
pub use operand::{Address, AddressBase, Imm, Operand};
pub use special::SpecialReg;
pub use stmt::{Block, InlinedAt, Loc, Prototype, RegisterDecl, RegisterName, Statement, TargetList};
pub use types::{CmpOp, Lanes, Rounding, ScalarType, Scope, Selector, Semantics, Space, TypeClass, VectorLen};
