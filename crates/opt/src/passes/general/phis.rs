//! MovPhis: inputs become what they are copies of; one that always passes the same value on is a copy of it.

use super::Cx;
use oriole_ori::{Block, Inst, InstId, Operand, OperandKind, VReg};

impl Cx<'_> {
    /// Simplify the MovPhis of a block.
    pub(super) fn phis(&mut self, block: Block) -> bool {
        let count = self.func.phis(block).len();
        let mut changed = false;
        let (mut phis, mut copies) = (Vec::with_capacity(count), Vec::new());
        for at in 0..count {
            let id = self.func.block_insts(block)[at];
            changed |= self.propagate_inputs(id);
            match self.only_input(id, block) {
                Some(copy) => {
                    self.defs.touch_sources(self.func, id);
                    self.func.edit().replace(id, copy);
                    self.defs.touch_results(self.func, id);
                    self.defs.pass(self.func, id);
                    copies.push(id);
                }
                None => phis.push(id),
            }
        }
        if !copies.is_empty() {
            changed = true;
            phis.extend(copies);
            self.func.edit().reorder(block, 0, &phis);
        }
        changed
    }

    fn propagate_inputs(&mut self, id: InstId) -> bool {
        let mut changed = false;
        for at in (1..self.func[id].operands.len()).step_by(2) {
            let Some(value) = self.func[id].operands[at].as_reg() else { continue };
            let Some(copied) = self.copied_value(value) else { continue };
            self.defs.touch_sources(self.func, id);
            self.func.edit().set_operand(id, at, Operand::reg(copied));
            changed = true;
        }
        changed
    }

    /// The copy that a MovPhi is whose inputs are all one value, or its own.
    fn only_input(&self, id: InstId, block: Block) -> Option<Inst> {
        let result = self.func[id].operands[0];
        let mut only: Option<VReg> = None;
        let mut undefined = false;
        for (source, _) in self.func.phi_inputs(id) {
            match source.kind() {
                OperandKind::Undef => undefined = true,
                OperandKind::Reg(value, _) if Some(value) == result.as_reg() || Some(value) == only => {}
                OperandKind::Reg(value, _) if only.is_none() => only = Some(value),
                _ => return None,
            }
        }
        let Some(value) = only else { return Some(Inst::undef(result)) };
        // Where an input is undefined, nothing says that the value is there.
        let there = !undefined || self.defs.is_defined_before(self.func, value, block);
        let file = self.func[value].file();
        there.then(|| Inst::copy(file, result, Operand::reg(value)))
    }
}
