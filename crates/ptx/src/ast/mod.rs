//! The syntax tree.
//!
//! A [`Module`] owns its [`SymbolTable`]; every identifier in the tree is a
//! [`Name`] (a dense [`Sym`] and a [`Span`]). The tree keeps what was written,
//! in order; only constant expressions are folded and each variable of a
//! comma-separated declaration gets its own node. Two trees compare equal
//! when they mean the same, wherever their text stood.

mod hash;
mod instr;
mod item;
mod modifier;
mod name;
mod opcode;
mod operand;
mod shape;
mod special;
mod stmt;
mod table;
mod types;
mod vocabulary;

pub use instr::{Call, Guard, Instruction};
pub use item::{
    Attribute, FileDirective, Function, FunctionDirective, Init, Item, Linkage, Module, Property, PropertyValue,
    PtrInfo, Section, SectionEntry, SectionValue, Variable,
};
pub use modifier::Modifier;
pub use name::{Name, Span, Sym, SymbolTable};
pub use operand::{Address, AddressBase, Imm, Operand};
pub use shape::Shape;
pub use stmt::{Block, InlinedAt, Loc, Prototype, RegisterDecl, RegisterName, Statement, TargetList};
pub use types::{Lanes, Selector, TypeClass};
pub use vocabulary::{CmpOp, Opcode, Rounding, ScalarType, Scope, Semantics, Space, SpecialReg, VectorLen, Word};
