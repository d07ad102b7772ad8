//! Call sites: what CALL and RET touch beyond their operands.

use crate::entity::Symbol;
use crate::operand::Operand;
use crate::reg::RegMask;

/// Where a CALL or RET goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function of this module, or one that the linker finds.
    Direct(Symbol),
    /// An address in a register; any function with the standard interface.
    Indirect,
    /// Back to the caller: the instruction is a RET (or the last jump of a function).
    Return,
}

/// Which physical registers a call may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clobbers {
    /// Those of the set, and no other.
    Mask(RegMask),
    /// What the callee's body changes, once it has been allocated; until then
    /// everything that the standard interface allows.
    ByCallee,
}

/// The side entry of a CALL or RET instruction (`Inst::call`).
///
/// `args` are read and `results` are written by the instruction, after its own operands; they name
/// fixed registers ([`crate::Function::fixed_vreg`]). A RET has `args` (the values returned) and no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// Where it goes.
    pub callee: Callee,
    /// Registers that it reads: the arguments, or the values returned.
    pub args: Vec<Operand>,
    /// Registers that it writes: the results.
    pub results: Vec<Operand>,
    /// Registers whose value is lost.
    pub clobbers: Clobbers,
}

impl CallSite {
    /// The return address, which is the last argument of a call, is a result as well: the callee returns to the caller's caller,
    /// and nothing behind the call is executed.
    pub fn is_tail_call(&self) -> bool {
        self.callee != Callee::Return && self.args.last().is_some_and(|address| self.results.contains(address))
    }
}
