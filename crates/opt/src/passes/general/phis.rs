//! MovPhis: inputs become what they are copies of; one that always passes the same value on is a copy of it.

use super::Cx;
use oriole_ori::{Block, Inst, InstId, Operand, OperandKind, VReg};

impl Cx<'_> {
    /// Simplify the MovPhis of a block.
    pub(super) fn phis(&mut self, block: Block) -> bool {
        let count = self.func.block_insts(block).iter().take_while(|inst| self.func.insts[**inst].is_phi()).count();
        let mut changed = false;
        let (mut phis, mut copies) = (Vec::with_capacity(count), Vec::new());
        for at in 0..count {
            let id = self.func.block_insts(block)[at];
            changed |= self.propagate_inputs(id);
            match self.only_input(id, block) {
                Some(copy) => {
                    self.defs.take_out(self.func, id);
                    self.func.insts[id] = copy;
                    self.defs.count(self.func, id);
                    self.defs.touch_results(self.func, id);
                    copies.push(id);
                }
                None => phis.push(id),
            }
        }
        if !copies.is_empty() {
            changed = true;
            phis.extend(copies);
            self.func.blocks[block].insts[..count].copy_from_slice(&phis);
        }
        changed
    }

    fn propagate_inputs(&mut self, id: InstId) -> bool {
        let mut changed = false;
        for at in (1..self.func.insts[id].operands.len()).step_by(2) {
            let Some(value) = self.func.insts[id].operands[at].as_reg() else { continue };
            let Some(copied) = self.copied_value(value) else { continue };
            self.defs.take_out(self.func, id);
            self.func.insts[id].operands[at] = Operand::reg(copied);
            self.defs.count(self.func, id);
            changed = true;
        }
        changed
    }

    /// The copy that a MovPhi is whose inputs are all one value, or its own.
    fn only_input(&self, id: InstId, block: Block) -> Option<Inst> {
        let result = self.func.insts[id].operands[0];
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
        let there = !undefined || self.defs.is_defined_before(value, block);
        let file = self.func.vregs[value].file();
        there.then(|| Inst::copy(file, result, Operand::reg(value)))
    }
}
