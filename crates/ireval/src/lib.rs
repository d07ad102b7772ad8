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
pub mod generate;
mod int;
mod intrinsic;
mod layout;
mod memory;
mod nvvm;
mod program;
mod scalar;
mod shrink;
mod value;

pub use fault::{Fault, FaultKind};
pub use memory::{Comparison, Memory};
pub use shrink::shrink;
pub use value::{Unknown, Value};

use oriole_nvptx::ir::{Module, SymbolId};

/// Limits of an evaluation, and which thread runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Instructions until [`FaultKind::Limit`].
    pub steps: u64,
    /// Calls that may be open at once.
    pub depth: u32,
    /// `%tid`: the thread in its block.
    pub thread: [u32; 3],
    /// `%ntid`: threads of a block.
    pub threads: [u32; 3],
    /// `%ctaid`: the block in the grid.
    pub block: [u32; 3],
    /// `%nctaid`: blocks of the grid.
    pub blocks: [u32; 3],
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { steps: 1_000_000, depth: 100, thread: [0; 3], threads: [1; 3], block: [0; 3], blocks: [1; 3] }
    }
}

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
