//! How many registers it takes to keep what lives across calls.

use crate::constants::is_constant;
use crate::fatpoint::has;
use crate::graph::PhysicalSet;
use crate::module::ModuleAllocator;
use oriole_isa::RegFile;
use oriole_ori::analysis::Flow;
use oriole_ori::{Function, InstId, SecondaryMap, VReg};
use rustc_hash::FxHashSet;

impl ModuleAllocator<'_> {
    /// With fewer registers something that lives across a call at the end of a block finds no place that the callee leaves
    /// alone, in whichever order the blocks are; what can be computed again behind the call is not counted.
    pub fn least_across_calls(&self, func: &Function, flow: &Flow) -> u16 {
        let mut constants = None;
        let mut least = 0;
        for block in func.layout() {
            let Some(inst) = func.block_insts(*block).last().copied() else { continue };
            let Some(call) = func[inst].call.expand() else { continue };
            let changed = self.changed_by(&func[call]);
            if changed == PhysicalSet::default() {
                continue;
            }
            let constants = constants.get_or_insert_with(|| self.constants(func));
            let written = written(func, inst);
            let stays = |(reg, k): &(VReg, u8)| {
                let data = &func[*reg];
                data.file() == RegFile::R && !data.is_fixed() && !constants[*reg] && !written.contains(&(*reg, *k))
            };
            let count = flow.live.main_live_out(*block).filter(stays).count();
            let mut kept = (0..=u16::from(u8::MAX)).filter(|number| !has(&changed, *number));
            if count > 0 {
                least = least.max(kept.nth(count - 1).map_or(u16::MAX, |last| last + 1));
            }
        }
        least
    }

    /// By register: it is written by one instruction alone, which gives the same wherever it stands.
    fn constants(&self, func: &Function) -> SecondaryMap<VReg, bool> {
        let mut constants: SecondaryMap<VReg, bool> = SecondaryMap::new();
        let mut known: SecondaryMap<VReg, bool> = SecondaryMap::new();
        for (_, inst) in func.iter_insts() {
            let constant = is_constant(func, inst, self.arch());
            func.for_each_def(inst, |write| {
                constants[write.reg] = constant && !std::mem::replace(&mut known[write.reg], true);
            });
        }
        constants
    }
}

/// Components that an instruction writes.
fn written(func: &Function, inst: InstId) -> FxHashSet<(VReg, u8)> {
    let mut written = FxHashSet::default();
    func.for_each_def(inst, |write| written.extend(write.components()));
    written
}
