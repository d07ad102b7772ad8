//! What each instruction does.
//!
//! An instruction is compiled once, when its function is loaded, into an [`Action`]. Arithmetic
//! becomes a closure over the resolved operands and modifiers ([`Compute`]); everything that
//! touches memory, other threads or the flow of control becomes a description that the warp
//! executes.
//!
//! # A family of arithmetic instructions
//!
//! One file per family with one function, called for every instruction in turn:
//!
//! ```text
//! pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported>
//! ```
//!
//! `opcode` is `inst.opcode`, or its vector twin for an instruction of the uniform datapath.
//!
//! * `Ok(None)`: the opcode belongs to another family.
//! * `Err(Unsupported)`: the opcode is this family's, the modifier combination is not done yet. The
//!   kernel still loads; reaching the instruction is a fault that quotes the text.
//! * `Ok(Some(closure))`: match on modifiers *outside* of the closure, so that the closure is one
//!   straight loop over lanes:
//!
//! ```text
//! Opcode::IADD => {
//!     let (d, a, b) = (Dst::of(inst, Role::D), Src::of(inst, Role::A), Src::of(inst, Role::B));
//!     host::compute(move |state: &mut State| d.set(state, &map2(&a.int(state), &b.int(state), u32::wrapping_add)))
//! }
//! ```
//!
//! The closure runs only if at least one lane is active (`state.active`, guard applied); setters
//! write active lanes only, so the arithmetic itself may compute all 32. Uniform instructions use
//! the `*_scalar` accessors. Nothing here may panic on any input: shifts by register, division and
//! float conversions have to be total.

mod address;
pub(crate) mod asynchronous;
mod atomic;
mod collective;
mod columns;
pub(crate) mod constant;
mod convert;
mod double;
mod elements;
mod float;
mod flow;
mod half;
mod host;
mod integer;
mod lanewise;
mod logic;
mod memory;
mod memory_extended;
mod mufu;
mod pack;
mod pairs;
mod predicate;
mod quarters;
mod rounding;
mod sixteen;
mod sparsity;
mod system;
mod tensor;
#[cfg(test)]
pub(crate) mod tests;
mod texture;
mod uniform;
mod wide;

use crate::effect::{Compute, Effect, Found, Unsupported};
use crate::instruction::Action;
use oriole_isa::{Inst, Opcode};

/// What `inst` does in a section that starts at `base`, by whichever family knows it.
pub(crate) fn action(inst: &Inst, base: u64) -> Result<Action, Unsupported> {
    if let Some(compute) = arithmetic(inst)? {
        return Ok(Action::Compute(compute));
    }
    if let Some(effect) = effect(inst)? {
        return Ok(Action::Effect(effect));
    }
    if let Some(action) = flow::compile(inst, base)? {
        return Ok(action);
    }
    Err(Unsupported(format!("{} has no meaning here yet", inst.opcode.name())))
}

/// The arithmetic of `inst`, or `None` if it is no arithmetic instruction.
pub(crate) fn arithmetic(inst: &Inst) -> Result<Option<Compute>, Unsupported> {
    const FAMILIES: [fn(&Inst, Opcode) -> Found<Compute>; 16] = [
        wide::compile,
        pairs::compile,
        quarters::compile,
        elements::compile,
        integer::compile,
        logic::compile,
        float::compile,
        mufu::compile,
        double::compile,
        half::compile,
        convert::compile,
        pack::compile,
        predicate::compile,
        sparsity::compile,
        uniform::compile,
        tensor::compute,
    ];
    let (opcode, inst) = (vector_twin(inst.opcode), &uniform::in_vector_terms(inst));
    for family in FAMILIES {
        if let Some(compute) = family(inst, opcode)? {
            return Ok(Some(compute));
        }
    }
    Ok(None)
}

/// The vector instruction that does the same as an instruction of the uniform datapath; any other
/// opcode itself. The operands of twins have the same roles, and [`crate::operand`] reads and writes
/// uniform registers as it does vector ones, so that one definition serves both.
fn vector_twin(opcode: Opcode) -> Opcode {
    let is_twin = |vector: &&Opcode| vector.info().uniform == Some(opcode);
    Opcode::ALL.iter().find(is_twin).copied().unwrap_or(opcode)
}

/// The effect of `inst` on memory or other lanes, or `None` if it has none.
pub(crate) fn effect(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    const FAMILIES: [fn(&Inst) -> Found<Effect>; 10] = [
        asynchronous::compile,
        memory::compile,
        atomic::compile,
        collective::compile,
        system::compile,
        constant::compile,
        memory_extended::compile,
        tensor::effect,
        texture::compile,
        columns::compile,
    ];
    for family in FAMILIES {
        if let Some(effect) = family(inst)? {
            return Ok(Some(effect));
        }
    }
    Ok(None)
}
