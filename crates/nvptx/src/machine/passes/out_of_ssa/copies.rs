//! The copies that cut off `phi`s.

use cranelift_entity::SecondaryMap;
use smallvec::{SmallVec, smallvec};

use crate::machine::{BlockId, Forms, Inst, Opcode, Operand, RegClass, VReg};

/// Copies that happen at once.
pub(super) type Moves = Vec<(VReg, Operand)>;

/// The copies that cut off the `phi`s of a function, by block.
#[derive(Default)]
pub(super) struct Isolation {
    /// Behind the `phi`s.
    pub(super) entry: SecondaryMap<BlockId, Moves>,
    /// Before the terminator.
    pub(super) exit: SecondaryMap<BlockId, Moves>,
}

/// The instruction that puts a register or constant into a register of `class`.
pub(super) fn move_to(to: VReg, from: &Operand, class: RegClass, forms: &mut Forms) -> Inst {
    let opcode = match from.vreg() {
        Some(_) => Opcode::Copy,
        // PTX has no `mov` for the internal class only, which emission refuses.
        None => forms.intern(&format!("mov{}", class.info().ptx_type)).map_or(Opcode::Copy, Opcode::Form),
    };
    let operands: SmallVec<[Operand; 4]> = smallvec![to.into(), from.clone()];
    Inst { opcode, defs: 1, guard: None, operands, loc: None.into(), source: None.into() }
}
