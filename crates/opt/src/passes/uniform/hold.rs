//! Slot 86: what threads hold in uniform registers while others of the warp go another way is held until all are together
//! again, so that allocation gives its registers to nobody who writes meanwhile.

use super::places::Places;
use crate::uniform_calls::{changes_uniform, writes_uniform};
use oriole_ori::analysis::{Component, Liveness};
use oriole_ori::{Block, EntitySet, Function, Inst, Operand, Symbol, VReg};

/// A mark to be put into a block.
struct Mark {
    block: Block,
    /// Before its last instruction, not at its start.
    at_end: bool,
    held: Vec<Operand>,
}

/// Put the marks where they are needed. `live` is what was live before registers became uniform ones, and `twin` tells which did.
pub(super) fn hold(
    func: &mut Function,
    places: &Places,
    leaving: &EntitySet<Symbol>,
    live: &Liveness,
    twin: impl Fn(VReg) -> Option<VReg>,
) {
    let held = |func: &Function, region: &[Block]| held(func, live, &twin, region);
    let marks: Vec<Mark> =
        places.regions.iter().flat_map(|region| marks(func, held, places, leaving, region)).collect();
    for Mark { block, at_end, held } in marks {
        let inst = func.edit().add(Inst::hold(&held));
        let at = if at_end { func.block_insts(block).len().saturating_sub(1) } else { 0 };
        func.edit().place(block, at, &[inst]);
    }
}

/// The marks behind a region, and at the ends of those that end in it. Where nothing is written in it nothing has to be held. Across
/// calls nothing is held: what lives there has stayed in general registers ([`Places::may_write`]).
fn marks(
    func: &Function,
    held: impl Fn(&Function, &[Block]) -> Vec<Operand>,
    places: &Places,
    leaving: &EntitySet<Symbol>,
    region: &[Block],
) -> Vec<Mark> {
    let insts = || region.iter().flat_map(|block| func.block_insts(*block));
    if !insts().any(|inst| writes_uniform(func, *inst))
        || insts().any(|inst| changes_uniform(func, &func[*inst], leaving))
    {
        return Vec::new();
    }
    let held = held(func, region);
    if held.is_empty() {
        return Vec::new();
    }
    let (mut joins, mut marks) = (EntitySet::new(), Vec::new());
    for &block in region {
        let succs = func.succs(block);
        if succs.is_empty() {
            marks.push(Mark { block, at_end: true, held: held.clone() });
        }
        for &succ in succs.iter().filter(|succ| places.is_whole(**succ)) {
            if joins.insert(succ) {
                marks.push(Mark { block: succ, at_end: false, held: held.clone() });
            }
        }
    }
    marks
}

/// What lives in uniform registers where some block of the region begins.
fn held(func: &Function, live: &Liveness, twin: &impl Fn(VReg) -> Option<VReg>, region: &[Block]) -> Vec<Operand> {
    let uniform = |(reg, k): Component| {
        let reg = if func[reg].reg_type.is_uniform() { Some(reg) } else { twin(reg) };
        reg.map(|reg| (reg, k))
    };
    // What is written under a guard alone counts as live from the function's start on: nothing is in it there.
    let unwritten =
        |component: &Component| func.entry().is_some_and(|entry| live.is_live_in(entry, component.0, component.1));
    let living = region.iter().flat_map(|block| live.live_in(*block)).filter(|component| !unwritten(component));
    let mut held: Vec<_> = living.filter_map(uniform).collect();
    held.sort_unstable();
    held.dedup();
    let operand =
        |(reg, k): Component| if func[reg].components == 1 { Operand::reg(reg) } else { Operand::comp(reg, k) };
    held.into_iter().filter(|(reg, _)| !func[*reg].is_fixed()).map(operand).collect()
}
