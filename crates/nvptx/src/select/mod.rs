//! Selection: IR to machine instructions.
//!
//! A function is walked twice. The first walk, forwards, gives every value its
//! words (`words`): registers, constants, or parts of other values, so that
//! what only regroups (`extractvalue`, `insertelement`, `freeze`…) costs
//! nothing. The second, backwards, emits the instructions that somebody needs:
//! users come before what they use, which is how they fold it (addresses into
//! accesses, products into sums, extensions into loads).
//!
//! | file | what it selects |
//! |---|---|
//! | `legal` | what each type becomes in registers |
//! | `word_table`, `words` | the words of values, and the forward walk |
//! | `lower` | one function: the backward walk, blocks, `phi`s, terminators |
//! | `build` | making instructions and operands |
//! | `integer`, `wide`, `float`, `compare`, `cast`, `vector` | arithmetic by kind |
//! | `address`, `memory`, `atomic` | accesses |
//! | `bits` | integers and vectors of odd widths in memory, and bit casts of them |
//! | `control` | branches and switches |
//! | `abi`, `call`, `asm` | parameters, calls, inline assembly |
//! | `truth` | intrinsics on `i1` |
//! | `intrinsic` | `llvm.*` and `llvm.nvvm.*`, by tables |

mod abi;
mod address;
mod asm;
mod atomic;
mod bits;
mod build;
mod call;
mod cast;
mod compare;
mod control;
mod error;
mod float;
mod integer;
mod intrinsic;
mod legal;
mod lower;
mod memory;
mod options;
mod truth;
mod vector;
mod wide;
mod word_table;
mod words;

pub(crate) use atomic::{has_atomic, has_wide_atomics};
pub use error::Error;
pub(crate) use intrinsic::MAX_INLINE as MAX_INLINE_COPY;
pub(crate) use legal::spread_size;
pub use options::{FpContract, Options};

use crate::{ir, machine, text};

/// Selects all functions that have a body into `machine`, whose names are assigned.
///
/// # Errors
///
/// The first thing that the back end does not take, with its function.
pub fn module(ir: &ir::Module, machine: &mut machine::Module, options: &Options) -> Result<(), Error> {
    module_until(ir, machine, options, &|| false)
}

/// The same, but that no further function is selected when `is_stopped` gives true.
///
/// # Errors
///
/// Those of [`module`].
pub fn module_until(
    ir: &ir::Module,
    machine: &mut machine::Module,
    options: &Options,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let annotations = ir.annotations();
    for (id, symbol, function, body) in ir.definitions() {
        if symbol.linkage == ir::Linkage::AvailableExternally {
            continue;
        }
        if is_stopped() {
            break;
        }
        let selected = lower::function(ir, id, function, body, machine, &annotations, options).map_err(|error| {
            let text = error.inst.map(|inst| text::print_instruction(ir, body, inst));
            Error { function: Some(symbol.name.to_string()), text, ..error }
        })?;
        machine.functions.push((id, selected));
    }
    Ok(())
}
