//! Instructions whose results are a pure function of their sources: integer, floating-point, half,
//! conversion, comparison, logic, packing and video instructions.
//!
//! One file per chapter of the PTX manual. Everything that touches memory, other threads or the flow
//! of control is elsewhere; that side fetches the sources, calls [`Arithmetic::run`] for each thread
//! and writes the results.

use oriole_ptx::ast::{Instruction, ScalarType};
use smallvec::SmallVec;

/// Bits of one operand, zero-extended from its type's width.
pub(crate) type Bits = u128;

/// What an instruction computes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    /// The source operands in order; the elements of a `{…}` operand follow one another.
    pub(crate) values: &'a [Bits],
    /// The carry flag `CC.CF` before the instruction.
    pub(crate) carry: bool,
}

/// What an instruction computes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Results {
    /// The destinations in order: both of `p|q`, all elements of `{…}`.
    pub(crate) values: SmallVec<[Bits; 2]>,
    /// The carry flag afterwards, where the instruction writes it (`.cc`).
    pub(crate) carry: Option<bool>,
}

/// An instruction, made ready to run.
pub(crate) struct Arithmetic {
    /// For each source value: the type that a constant in its place is read as, and whose width a
    /// register's value is cut to.
    pub(crate) sources: SmallVec<[ScalarType; 4]>,
    /// For each destination value: the type whose width is written (zero-extended, or sign-extended
    /// for signed types, where the register is wider, as the PTX manual says for `cvt`).
    pub(crate) destinations: SmallVec<[ScalarType; 2]>,
    /// The function itself. Total: it answers for all bit patterns.
    pub(crate) run: Box<dyn Fn(&Sources<'_>) -> Results + Send + Sync>,
}

/// Why an instruction cannot be interpreted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not interpreted: {0}")]
pub(crate) struct Unsupported(
    /// What exactly: an opcode, a modifier, a form of an operand.
    pub(crate) String,
);

/// What `inst` computes, or `None` if it is no arithmetic instruction.
pub(crate) fn compile(inst: &Instruction) -> Result<Option<Arithmetic>, Unsupported> {
    const CHAPTERS: [fn(&Instruction) -> Result<Option<Arithmetic>, Unsupported>; 0] = [];
    for chapter in CHAPTERS {
        if let Some(arithmetic) = chapter(inst)? {
            return Ok(Some(arithmetic));
        }
    }
    Ok(None)
}
