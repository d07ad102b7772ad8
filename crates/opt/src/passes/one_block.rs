//! Loops of one block, on SSA form: whole rounds of them are copied and moved.

use super::predicate::lone_branch;
use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, Function, Guard, InstId, Operand, VReg};

/// A loop of one block, entered from one other.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneBlock {
    pub(super) block: Block,
    /// From where it is entered.
    pub(super) entrance: Block,
    /// Where it goes on when it ends.
    pub(super) exit: Block,
    /// The guarded branch at its end.
    pub(super) branch: InstId,
    /// There is another round where this holds.
    pub(super) goes_on: Guard,
}

impl OneBlock {
    /// The loop that this block is, if it is one.
    pub(super) fn of(func: &Function, cfg: &Cfg, block: Block) -> Option<OneBlock> {
        if cfg.preds(block).len() != 2 {
            return None;
        }
        let (&[taken, next], Some((guard, branch))) = (func.succs(block), lone_branch(func, block)) else {
            return None;
        };
        let (exit, goes_on) = match (taken == block, next == block) {
            (true, false) => (next, guard),
            (false, true) => (taken, guard.opposite()),
            _ => return None,
        };
        let entrance = cfg.preds(block).iter().copied().find(|pred| *pred != block)?;
        Some(OneBlock { block, entrance, exit, branch, goes_on })
    }

    /// Its instructions but MovPhis, in order.
    pub(super) fn insts<'a>(&self, func: &'a Function) -> &'a [InstId] {
        &func.block_insts(self.block)[func.phis(self.block).len()..]
    }
}

/// The value that a MovPhi of a block gives, and what it takes from a predecessor.
pub(super) fn phi_values(func: &Function, block: Block, pred: Block) -> Vec<(VReg, Operand)> {
    let of = |phi: &InstId| {
        let input = func.phi_inputs(*phi).find(|(_, from)| *from == pred)?.0;
        Some((func[*phi].operands[0].as_reg()?, input))
    };
    func.phis(block).iter().filter_map(of).collect()
}
