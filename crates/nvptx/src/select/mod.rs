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
//! | `words` | the words of values: the forward walk |
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
mod float;
mod integer;
mod intrinsic;
mod legal;
mod lower;
mod memory;
mod truth;
mod vector;
mod wide;
mod words;

pub(crate) use atomic::{has_atomic, has_wide_atomics};
pub(crate) use intrinsic::MAX_INLINE as MAX_INLINE_COPY;
pub(crate) use legal::spread_size;

use crate::ir;
use crate::machine;
use crate::text;

/// What selection is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of the target: 90 for `sm_90a`.
    pub arch: u32,
    /// `sm_90a` rather than `sm_90`.
    pub arch_specific: bool,
    /// The PTX version that instructions may need.
    pub ptx_version: (u32, u32),
    /// `-O` level: at 0 nothing is fused.
    pub level: u8,
    /// Which products and sums are fused (`--fp-contract`).
    pub fp_contract: FpContract,
    /// Subnormals of `float` are flushed to zero (`--ftz`).
    pub ftz: bool,
    /// Division of `float` is correctly rounded (`--prec-div`).
    pub prec_div: bool,
    /// The square root of `float` is correctly rounded (`--prec-sqrt`).
    pub prec_sqrt: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            arch: 80,
            arch_specific: false,
            ptx_version: (9, 0),
            level: 2,
            fp_contract: FpContract::default(),
            ftz: false,
            prec_div: true,
            prec_sqrt: true,
        }
    }
}

/// Which products and sums of floats become one operation that rounds once. The IR decides with its `contract` flags, as in
/// LLVM; front ends such as rustc's and Julia's do not set them, and rely on two roundings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FpContract {
    /// None; `llvm.fmuladd` is a product and a sum.
    Off,
    /// Those whose product and sum both say `contract`, and `llvm.fmuladd`.
    #[default]
    On,
    /// All, whatever the IR says: as nvcc's `-fmad=true` and libNVVM's `-fma=1`.
    Fast,
}

/// Something that the back end does not take.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{what} are not supported{}", self.place(), self.text())]
pub struct Error {
    /// What it is, in the plural.
    pub what: String,
    /// The function in which it stands.
    pub function: Option<String>,
    /// The instruction.
    pub inst: Option<ir::InstId>,
    /// The instruction as text.
    pub text: Option<String>,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Error {
        Error { what: what.into(), function: None, inst: None, text: None }
    }

    fn place(&self) -> String {
        self.function.as_ref().map_or_else(String::new, |name| format!("in `@{name}`: "))
    }

    fn text(&self) -> String {
        self.text.as_ref().map_or_else(String::new, |text| format!(": `{text}`"))
    }
}

/// Selects all functions that have a body into `machine`, whose names are assigned.
///
/// # Errors
///
/// The first thing that the back end does not take, with its function.
pub fn module(ir: &ir::Module, machine: &mut machine::Module, options: &Options) -> Result<(), Error> {
    let annotations = ir.annotations();
    for (id, symbol, function, body) in ir.definitions() {
        if symbol.linkage == ir::Linkage::AvailableExternally {
            continue;
        }
        let selected = lower::function(ir, id, function, body, machine, &annotations, options).map_err(|error| {
            let text = error.inst.map(|inst| text::print_instruction(ir, body, inst));
            Error { function: Some(symbol.name.to_string()), text, ..error }
        })?;
        machine.functions.push((id, selected));
    }
    Ok(())
}
