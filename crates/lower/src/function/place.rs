//! Where what a name stands for lies; the spaces of parameters.

use oriole_ori::{Operand, Symbol};
use oriole_ptx::ast::Space;

/// The address of something that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In constant bank 0: a kernel parameter, at this offset from the start of the bank.
    KernelParam(u32),
    /// Byte offset above the frame's base.
    Frame(u32),
    /// Byte offset in the shared segment.
    Shared(u32),
    /// Byte offset in constant bank 3.
    Const(u32),
    /// A shared variable whose offset in the shared segment the linker knows.
    LinkedShared(Symbol),
    /// A variable whose offset in constant bank 3 the linker knows.
    LinkedConst(Symbol),
    /// A global variable or function, whose address is in bank 4.
    Symbol(Symbol),
    /// A texture, sampler or surface, whose number is in constant bank 0.
    Object(Symbol),
    /// A parameter in registers: it has no address.
    Param,
    /// A parameter in the caller's argument area, at this byte offset.
    Incoming(u32),
}

/// A 32-bit constant; zero is RZ.
pub(crate) fn word(bits: u32) -> Operand {
    if bits == 0 { Operand::rz() } else { Operand::imm(bits) }
}

/// True for the spaces of parameters.
pub(crate) fn is_parameter(space: Option<Space>) -> bool {
    matches!(space, Some(Space::Param | Space::ParamEntry | Space::ParamFunc))
}
