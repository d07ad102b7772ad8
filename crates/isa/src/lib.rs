//! The SASS instruction set as data: encoder, decoder, printer, parser, special
//! registers and latencies, all made from the text files in `spec/`.
//!
//! The model is flat. An instruction ([`Inst`]) is an opcode (the mnemonic), a
//! guard predicate, modifier values ([`Mods`]) and a list of atomic operands whose
//! number, order and roles are fixed per opcode (its *signature*). An address such
//! as `[R2.64+UR4+0x10]` is three operands (base, uniform base, offset) that the
//! syntax template prints together. The Ori IR and the simulator use the same
//! opcodes, signatures and modifier fields.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

pub mod access;
mod arch;
pub mod chip;
pub mod code;
mod control;
mod engine;
mod facts;
mod field;
mod inst;
pub mod latency;
pub mod manual;
mod mods;
mod opcode;
mod operand;
mod slip;
mod sm;
pub mod special_registers;

pub use arch::{Arch, UnknownArch, WordFormat, meant_or_all};
pub use control::Control;
pub use engine::{
    Carries, ControlFault, DecodeError, Display, EncodeError, Encoder, Illegal, ParseError, Unscheduled, control_fault,
    decode, encode, legal, number_widths, parse,
};
pub use facts::{CodeOrder, Exit, Fold, Lanes, Space, Swap};
pub use field::values::*;
pub use field::{Field, FieldId, FieldType, FieldValue, Setting};
pub use inst::{Guard, Inst};
pub use mods::Mods;
pub use opcode::{
    Effects, Family, ImmFormat, Kinds, Opcode, OpcodeInfo, OperandSpec, Pipe, Role, TensorCopy, Width, WidthRule,
    WidthStep,
};
pub use operand::{Operand, OperandFlags, RegFile, Value};
pub use slip::{COPIES, Slip};
pub use sm::{Bank0, ClusterBank0, KEPT_REGISTERS, SmDescription};
