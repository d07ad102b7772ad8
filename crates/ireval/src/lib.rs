//! A direct evaluator of LLVM IR.
//!
//! It judges what the crate `nvptx` makes of a program, so of that crate it uses the IR in memory and nothing else. It
//! is written from the LLVM language reference for clarity, not for speed: one thread, one instruction after another.
//!
//! What LLVM leaves open is tracked as values ([`Value::Unknown`], [`Value::Nan`]) through registers and memory. A program
//! whose way depends on such a value, or that has undefined behaviour, ends with a [`Fault`] that says so: it can tell
//! nothing about a compiler. See docs/ireval.md for the choices.

mod asm;
mod atomic;
mod cast;
mod constant;
mod eval;
mod fault;
mod float;
mod format;
pub mod generate;
mod int;
mod int_bits;
mod intrinsic;
mod layout;
mod machine;
mod memory;
mod nvvm;
mod program;
mod scalar;
mod settings;
mod shrink;
mod value;

pub use fault::{Fault, FaultKind};
pub use memory::{Comparison, Memory};
pub use settings::Settings;
pub use shrink::shrink;
pub use value::{Unknown, Value};

use oriole_nvptx::ir::{Module, SymbolId};

/// Runs a function of the module as one thread and answers what it returns.
///
/// `memory` is made by [`Memory::for_module`] from the same module; buffers are added by [`Memory::add`]. An argument
/// passed `byval` is the address of what is copied.
///
/// # Errors
///
/// See [`FaultKind`]; the memory is then as far as the program came.
pub fn run(
    module: &Module,
    symbol: SymbolId,
    args: &[Value],
    memory: &mut Memory,
    settings: &Settings,
) -> Result<Option<Value>, Fault> {
    eval::Evaluator::new(module, memory, settings).call_function(symbol, args.to_vec())
}
