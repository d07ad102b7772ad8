//! SSA form: every value has one definition, which dominates its uses.

use super::Verifier;
use crate::analysis::DomTree;
use crate::entity::{Block, InstId, VReg};
use cranelift_entity::SecondaryMap;

pub(super) fn check(v: &mut Verifier<'_>) {
    if v.func.first_value().is_none() {
        return;
    }
    let cfg = v.cfg();
    let dominators = DomTree::dominators(&cfg);
    // By value: where it is defined, and the instruction's place in the block.
    let mut places: SecondaryMap<VReg, Option<(Block, u32)>> = SecondaryMap::new();
    let func = v.func;
    let mut faults: Vec<(Block, InstId, String)> = Vec::new();
    for &block in func.layout() {
        for (place, &inst) in (0..).zip(func.block_insts(block)) {
            func.for_each_def(inst, |mention| {
                if func.is_value(mention.reg) && places[mention.reg].replace((block, place)).is_some() {
                    faults.push((block, inst, format!("value {} is defined twice", mention.reg)));
                }
            });
        }
    }
    for &block in cfg.rpo() {
        for (place, &inst) in (0..).zip(func.block_insts(block)) {
            let mut missing =
                |reg: VReg, at: Block, before: u32| {
                    let reaches = places[reg].is_some_and(|(home, defined)| {
                        if home == at { defined < before } else { dominators.dominates(home, at) }
                    });
                    if func.is_value(reg) && !reaches {
                        faults.push((block, inst, format!("the definition of value {reg} does not reach its use")));
                    }
                };
            if func[inst].is_phi() {
                for (source, pred) in func.phi_inputs(inst).filter(|(_, pred)| cfg.is_reachable(*pred)) {
                    func.named(source).into_iter().for_each(|reg| missing(reg, pred, u32::MAX));
                }
            } else {
                func.for_each_use(inst, |mention| missing(mention.reg, block, place));
            }
        }
    }
    for (block, inst, message) in faults {
        v.fail(Some(block), Some(inst), message);
    }
}
