//! The syntax tree.
//!
//! A [`Module`] owns its [`SymbolTable`]; every identifier in the tree is a
//! [`Name`] (a dense [`Sym`] and a [`Span`]). The tree keeps what was written,
//! in order; only constant expressions are folded and each variable of a
//! comma-separated declaration gets its own node. Two trees compare equal
//! when they mean the same, wherever their text stood.

mod declaration;
mod hash;
mod instr;
mod item;
mod modifier;
mod name;
mod opcode;
mod operand;
mod shape;
mod sparsity;
mod special;
mod stmt;
mod table;
mod type_class;
mod types;
mod vocabulary;

pub use declaration::{
    Attribute, FunctionDirective, Init, LANGUAGES, Linkage, Property, PropertyValue, PtrInfo, Variable,
};
pub use instr::{Call, Guard, Instruction};
pub use item::{
    CodeBlock, FileDirective, Function, IntermediateSource, Item, Module, Section, SectionEntry, SectionValue,
};
pub use name::{Name, Span, Sym, SymbolTable};
pub use operand::{Address, AddressBase, Imm, Operand};
pub use shape::Shape;
pub use sparsity::Sparsity;
pub use stmt::{Block, InlinedAt, Loc, Prototype, RegisterDecl, RegisterName, Statement, TargetList};
pub use type_class::TypeClass;
pub use types::{Lanes, Selector};
pub use vocabulary::{
    CmpOp, Modifier, Opcode, Rounding, ScalarType, Scope, Semantics, Space, SpecialReg, VectorLen, Word,
};
