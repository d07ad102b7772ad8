//! Cubin (ELF) reader and writer.
//!
//! [`Cubin::parse`] reads any cubin, ours or another compiler's; [`write()`] makes one from a
//! [`spec::ModuleSpec`]. [`image::Image`] lays a cubin out in memory and applies its relocations,
//! as a loader does.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod compat;
mod error;
pub mod image;
mod lines;
mod maker;
mod model;
mod notes;
pub mod nvinfo;
mod read;
mod refusal;
pub mod reloc;
pub mod spec;
mod target;
mod unwind;
mod write;

pub use error::{CubinError, WriteError};
pub use lines::{LineKind, LineTable, SourceLine};
pub use model::*;
pub use read::takes_no_space;
pub use refusal::Refusal;
pub use spec::{
    AddressSlot, DebugSection, DebugSpec, Demands, Exchange, ExternVariable, FunctionLines, FunctionSpec, HalfWord,
    InnerFunctionSpec, LineRow, MaskRegister, MbarrierAccess, MbarrierKind, Mbarriers, Memory, ModuleSpec, ObjectKind,
    ObjectSlot, ObjectSpec, ParamSpec, Prototype, RelocSpec, SourcePlace, SymbolSpec, TensorMemory, VariableSpec,
};
pub use target::{Suffix, Target};
pub use unwind::{Place, ReturnAddress, Unwind, UnwindRow, UnwindRule};
pub use write::{param_base, reserved_shared, targets, write};
