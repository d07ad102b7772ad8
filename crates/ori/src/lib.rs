//! Ori, Oriole's SASS-level intermediate representation.
//!
//! An Ori instruction is a SASS opcode with modifiers, a guard and operands in the order of the
//! opcode's signature, on virtual registers. See `docs/ori.md` for a tour with examples.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

pub mod analysis;
mod builder;
mod call;
pub mod dump;
mod entity;
mod error;
mod function;
mod inst;
pub mod layout;
mod machine;
mod module;
mod operand;
pub mod published;
mod reg;
mod space;
pub mod ssa;
pub mod terminator;
pub mod text;
mod tuple;
pub mod verify;
mod visit;

pub use builder::FunctionBuilder;
pub use call::{CallSite, Callee, Clobbers};
pub use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap, packed_option::PackedOption};
pub use entity::{Block, CallId, FuncId, InstId, LocId, SymRef, Symbol, VReg, entry_for_each};
pub use error::BuildError;
pub use function::{
    Attributes, BlockData, DefUse, Editor, Epochs, Frame, Function, FunctionKind, JumpTable, Literals, Param,
    SourceLoc, SymbolPart, SymbolRef,
};
pub use inst::{Guard, Inst, InstFlags, InstKind};
pub use machine::{
    CodeTable, INST_BYTES, MachineBlock, MachineCode, MachineData, MachineError, MachineFunction, MachineId,
    MachineInst,
};
pub use module::{
    ADDRESS_BANK, DataReloc, DataRelocKind, Linkage, Module, OBJECT_PARAM, Object, ObjectKind, ObjectSlot, SymbolData,
    SymbolKind, UNIFIED_OFFSET, Variable,
};
pub use operand::{ImmKind, MAX_INDEX, Operand, OperandKind, Piece, TupleRef};
pub use reg::{RegMask, RegType, VRegData, VRegFlags};
pub use space::MemSpace;
pub use visit::{PhysRef, RegRef, Slot};
