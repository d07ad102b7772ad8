//! Which registers are live where blocks begin and end.
//!
//! Sets are sorted lists, made register by register: each register is followed backwards from its
//! uses, so that the time is in proportion to the size of the sets ("Computing Liveness Sets for
//! SSA-Form Programs", Brandner and others); bit-sets of all registers would be quadratic.

use cranelift_entity::SecondaryMap;

use super::cfg::Cfg;
use super::defs::ByReg;
use crate::machine::{BlockId, Function, Operand, VReg};

/// Where the operands of a `phi` are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PhiUses {
    /// On the edge: they are live where the predecessor ends.
    OnEdge,
    /// In the predecessor, before it ends: as the copies will that take the place of the `phi`.
    InPredecessor,
}

/// Live registers at both ends of each block. What a `phi` defines is not live where its block begins.
#[derive(Clone, Debug)]
pub struct Liveness {
    live_in: SecondaryMap<BlockId, Vec<VReg>>,
    live_out: SecondaryMap<BlockId, Vec<VReg>>,
}

/// Uses that a block's own definitions do not serve, and definitions, by register.
struct Exposed {
    uses: ByReg<BlockId>,
    /// What is read where a block ends.
    at_end: ByReg<BlockId>,
    /// Sorted by place in reverse post-order.
    defs: ByReg<u32>,
}

impl Exposed {
    fn new(function: &Function, cfg: &Cfg) -> Exposed {
        let (mut uses, mut at_end, mut defs) = (Vec::new(), Vec::new(), Vec::new());
        // One more than the place in reverse post-order of the last block that defined or read a register.
        let (mut defined, mut read) = (SecondaryMap::<VReg, u32>::new(), SecondaryMap::<VReg, u32>::new());
        defined.resize(function.regs.len());
        read.resize(function.regs.len());
        for (stamp, &block) in (1..).zip(cfg.rpo()) {
            let content = &function.blocks[block];
            for phi in &content.phis {
                defined[phi.dst] = stamp;
                defs.push((phi.dst, stamp - 1));
                for (from, value) in &phi.incoming {
                    for_each_vreg(value, |reg| at_end.push((reg, *from)));
                }
            }
            let mut use_reg = |reg: VReg, defined: &SecondaryMap<VReg, u32>| {
                if defined[reg] != stamp && read[reg] != stamp {
                    read[reg] = stamp;
                    uses.push((reg, block));
                }
            };
            for inst in &content.insts {
                inst.for_each_use(|reg| use_reg(reg, &defined));
                if inst.guard.is_none() {
                    inst.for_each_def(|reg| {
                        if defined[reg] != stamp {
                            defined[reg] = stamp;
                            defs.push((reg, stamp - 1));
                        }
                    });
                }
            }
            content.terminator.used().into_iter().for_each(|reg| use_reg(reg, &defined));
        }
        let regs = function.regs.len();
        Exposed { uses: ByReg::new(regs, &uses), at_end: ByReg::new(regs, &at_end), defs: ByReg::new(regs, &defs) }
    }
}

fn for_each_vreg(operand: &Operand, mut f: impl FnMut(VReg)) {
    operand.for_each_reg(&mut |reg| reg.vreg().into_iter().for_each(&mut f));
}

impl Liveness {
    /// Computes both sets of all reachable blocks.
    #[must_use]
    pub fn new(function: &Function, cfg: &Cfg, phi_uses: PhiUses) -> Liveness {
        let exposed = Exposed::new(function, cfg);
        let mut live = Liveness { live_in: SecondaryMap::new(), live_out: SecondaryMap::new() };
        live.live_in.resize(function.blocks.len());
        live.live_out.resize(function.blocks.len());
        let mut work = Vec::new();
        for reg in function.regs.keys() {
            let is_defined =
                |block| cfg.rpo_number(block).is_some_and(|number| exposed.defs.of(reg).binary_search(&number).is_ok());
            for &block in exposed.at_end.of(reg).iter().filter(|&&block| cfg.is_reachable(block)) {
                if phi_uses == PhiUses::OnEdge {
                    push_last(&mut live.live_out[block], reg);
                }
                if !is_defined(block) {
                    work.push(block);
                }
            }
            work.extend(exposed.uses.of(reg));
            while let Some(block) = work.pop() {
                if !push_last(&mut live.live_in[block], reg) {
                    continue;
                }
                for &pred in cfg.preds(block) {
                    if push_last(&mut live.live_out[pred], reg) && !is_defined(pred) {
                        work.push(pred);
                    }
                }
            }
        }
        live
    }

    /// The registers that are live where a block begins, in order of their numbers.
    #[must_use]
    pub fn live_in(&self, block: BlockId) -> &[VReg] {
        &self.live_in[block]
    }

    /// The registers that are live where a block ends, in order of their numbers.
    #[must_use]
    pub fn live_out(&self, block: BlockId) -> &[VReg] {
        &self.live_out[block]
    }

    /// True when a register is live where a block ends.
    #[must_use]
    pub fn is_live_out(&self, block: BlockId, reg: VReg) -> bool {
        self.live_out[block].binary_search(&reg).is_ok()
    }
}

/// Adds a register to a list, unless it is there: registers come in ascending order.
fn push_last(list: &mut Vec<VReg>, reg: VReg) -> bool {
    let is_new = list.last() != Some(&reg);
    if is_new {
        list.push(reg);
    }
    is_new
}
