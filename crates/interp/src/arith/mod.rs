//! Instructions whose results are a pure function of their sources: integer, floating-point, half,
//! conversion, comparison, logic, packing and video instructions.
//!
//! One file per chapter of the PTX manual. Everything that touches memory, other threads or the flow
//! of control is elsewhere; that side fetches the sources, calls [`Arithmetic::run`] for each thread
//! and writes the results.
//!
//! How operands become values: the first operand is the destination, all others are sources in order,
//! and the elements of `{…}` and `a|b` follow one another. The fetching side complements `!p`. The
//! selectors of video instructions (`%r1.b2`) and the minus of `-%r1` belong to the function itself:
//! the whole register goes in, and the whole register comes out.

mod approximate;
mod bits;
mod compare;
mod convert;
mod convert_packed;
mod extended;
mod float;
mod format;
mod function;
mod integer;
mod logic;
mod moves;
mod quarter;
mod video;
mod video_simd;

#[cfg(test)]
mod tests;

pub use approximate::{Bound, approximation};

pub(crate) use function::{Arithmetic, Bits, Sources, Unsupported};

use function::Compiled;
use oriole_ptx::ast::{Instruction, Operand};

/// What `inst` computes, or `None` if it is no arithmetic instruction.
///
/// # Errors
///
/// Modifiers, types or numbers of operands that no form of the instruction has.
pub(crate) fn compile(inst: &Instruction) -> Compiled {
    const CHAPTERS: [fn(&Instruction) -> Compiled; 12] = [
        extended::compile,
        integer::compile,
        bits::compile,
        logic::compile,
        moves::compile,
        float::compile,
        quarter::compile,
        approximate::compile,
        compare::compile,
        convert::compile,
        video::compile,
        video_simd::compile,
    ];
    for chapter in CHAPTERS {
        if let Some(arithmetic) = chapter(inst)? {
            check_operands(inst, &arithmetic)?;
            return Ok(Some(arithmetic));
        }
    }
    Ok(None)
}

/// Compares the number of operands with what the function takes and gives.
fn check_operands(inst: &Instruction, arithmetic: &Arithmetic) -> Result<(), Unsupported> {
    let count = |operands: &[Operand]| operands.iter().map(width_of).sum::<usize>();
    let (destinations, sources) = inst.operands.split_at(inst.operands.len().min(1));
    // A special register without a component stands for all four.
    let whole = matches!(sources, [Operand::Special { part: None, .. }]) && inst.vector().is_some();
    let sources_given = if whole { arithmetic.sources.len() } else { count(sources) };
    if (count(destinations), sources_given) == (arithmetic.destinations.len(), arithmetic.sources.len()) {
        return Ok(());
    }
    Err(Unsupported(format!(
        "`{}` with {} destinations and {} sources",
        inst.opcode,
        count(destinations),
        count(sources)
    )))
}

/// How many values an operand stands for.
fn width_of(operand: &Operand) -> usize {
    match operand {
        Operand::Pair(_) => 2,
        other => other.elements().len(),
    }
}
