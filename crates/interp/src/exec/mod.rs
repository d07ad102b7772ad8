//! What instructions do that are no arithmetic: one file per family.
//!
//! A family is a function from an instruction and a [`Builder`] to an [`Action`], or `None` for the
//! instructions of others; [`FAMILIES`] lists them. The builder resolves operands to sources and
//! destinations; what runs later is one of
//!
//! * [`Action::Lanes`]: a closure for one thread, with its registers and all of memory;
//! * [`Action::Collective`]: an exchange between the threads that a member mask names, which may stand
//!   at different instructions of the same kind;
//! * [`Action::Warp`]: a closure for all living threads of a warp, once they stand at the instruction
//!   together (`mma`, `ldmatrix` and whatever else is `.aligned`).

mod address;
mod asynchronous;
mod atomic;
pub(crate) mod barrier;
pub(crate) mod collective;
mod control;
mod launch_control;
mod matrix;
mod mbarrier;
mod memory;
mod sparsity;
mod stack;
mod surface;
mod texture;

use crate::arith::Unsupported;
use crate::builder::Builder;
use crate::code::Action;
use oriole_ptx::ast::Instruction;

/// One family of instructions.
type Family = fn(&Instruction, &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported>;

const FAMILIES: [Family; 14] = [
    control::compile,
    memory::compile,
    atomic::compile,
    address::compile,
    sparsity::compile,
    stack::compile,
    barrier::compile,
    collective::compile,
    matrix::compile,
    mbarrier::compile,
    asynchronous::compile,
    launch_control::compile,
    texture::compile,
    surface::compile,
];

/// What `inst` does, unless it is arithmetic or unknown.
pub(crate) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    for family in FAMILIES {
        if let Some(action) = family(inst, builder)? {
            return Ok(Some(action));
        }
    }
    Ok(None)
}
