//! The tables that the build script makes from `spec/*.grammar`.

use super::run::{At, Pooled, Run, Text};
use super::{
    AddressSpace, AddressSpec, Bounds, Choice, ComboRule, Condition, Constants, Count, Effect, Form, Handle,
    InstructionSpec, Kind, Need, OperandSpec, Parts, Slot, SpecialSpec, Step, Target, Ty, Variant,
};
use crate::ast::{CmpOp, Modifier, Opcode, Rounding, ScalarType, Scope, Semantics, Shape, Space, VectorLen, Word};

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

impl Text {
    /// The name.
    pub(crate) fn as_str(self) -> &'static str {
        let start = usize::from(self.start);
        &TEXT[start..start + usize::from(self.len)]
    }
}
