//! What intrinsic functions and inline assembly reach: a call with its operands, the memory, the thread.

use crate::fault::Fault;
use crate::memory::Memory;
use crate::settings::Settings;
use crate::value::Value;
use oriole_nvptx::ir::{Call, Module, TypeId};

/// The module, the memory and the thread of an evaluation.
pub(crate) struct Machine<'a> {
    pub(crate) module: &'a Module,
    pub(crate) memory: &'a mut Memory,
    pub(crate) settings: &'a Settings,
}

/// A call, with its operands evaluated.
pub(crate) struct Site<'a> {
    pub(crate) call: &'a Call,
    pub(crate) args: Vec<Value>,
    pub(crate) types: Vec<TypeId>,
    /// The type of the result.
    pub(crate) ret: TypeId,
}

/// An argument.
pub(crate) fn arg<'s>(site: &'s Site<'_>, index: usize) -> Result<&'s Value, Fault> {
    site.args.get(index).ok_or_else(|| Fault::invalid("too few arguments"))
}
