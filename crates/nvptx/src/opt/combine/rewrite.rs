//! What a rule makes of an instruction.

use crate::ir::{Op, Value};

/// What a rule makes of an instruction.
pub(in crate::opt) enum Rewrite {
    /// Another value stands for it.
    Value(Value),
    /// It does something else.
    Op(Op),
    /// It goes without a trace.
    Gone,
}
