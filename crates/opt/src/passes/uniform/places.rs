//! Where uniform registers may be written.
//!
//! A uniform register is one for the warp: a thread that writes it writes it for all. So what threads hold there that have
//! gone another way must not be touched, and they must not touch it. A block through which all threads go together is safe.
//! In another one a value may live that is written and read in the block, with nothing in between at which the
//! warp may turn to other threads of its own.

use crate::passes::synchronise::together;
use crate::uniform_calls::changes_uniform;
use oriole_isa::Opcode;
use oriole_ori::analysis::{Cfg, Liveness, Uniformity};
use oriole_ori::{Block, EntitySet, Function, InstId, Symbol, VReg};
use std::rc::Rc;

/// The blocks and registers of one function.
pub(super) struct Places {
    whole: EntitySet<Block>,
    /// The other blocks, those together from which threads get to each other without all being together.
    pub(super) regions: Vec<Vec<Block>>,
    /// Registers that hold something while a function is called which may use the same uniform registers.
    across_calls: EntitySet<VReg>,
    /// Registers that are named in one block only, in full before they are read.
    local: EntitySet<VReg>,
    /// Blocks with nothing in them at which the warp may turn to other threads.
    quiet: EntitySet<Block>,
}

impl Places {
    /// `leaving` are the functions that leave uniform registers alone. `live` is asked for where threads go apart or another is called.
    pub(super) fn new(
        func: &Function,
        uniformity: &Uniformity,
        cfg: &Cfg,
        leaving: &EntitySet<Symbol>,
        live: impl FnOnce() -> Rc<Liveness>,
    ) -> Self {
        let whole = together::whole_blocks(func, cfg, |block| uniformity.is_divergent(block));
        let (mut local, mut quiet) = (EntitySet::new(), EntitySet::new());
        let regions = regions(func, cfg, &whole);
        let calls = func.iter_insts().any(|(_, inst)| changes_uniform(func, &func[inst], leaving));
        if regions.is_empty() && !calls {
            return Places { whole, regions, across_calls: EntitySet::new(), local, quiet };
        }
        let live = live();
        for reg in func.regs().keys().filter(|reg| !live.crosses_blocks(func, *reg)) {
            local.insert(reg);
        }
        let is_quiet = |block: &Block| func.block_insts(*block).iter().all(|inst| !turns(func, *inst));
        for block in func.layout().iter().copied().filter(is_quiet) {
            quiet.insert(block);
        }
        let across_calls = across_calls(func, &live, &regions, leaving);
        Places { whole, regions, across_calls, local, quiet }
    }

    /// All threads go through the block together.
    pub(super) fn is_whole(&self, block: Block) -> bool {
        self.whole.contains(block)
    }

    /// Whether a uniform register in the place of `reg` may be written in the block.
    pub(super) fn may_write(&self, block: Block, reg: VReg) -> bool {
        let is_apart = self.quiet.contains(block) && self.local.contains(reg);
        (self.whole.contains(block) || is_apart) && !self.across_calls.contains(reg)
    }
}

/// The blocks through which threads go apart, by what is connected: where they may go one way or another from a block through which all
/// go, both ways are, even if they do not meet again.
fn regions(func: &Function, cfg: &Cfg, whole: &EntitySet<Block>) -> Vec<Vec<Block>> {
    let (mut seen, mut regions) = (EntitySet::new(), Vec::new());
    for &first in cfg.rpo() {
        if whole.contains(first) || !seen.insert(first) {
            continue;
        }
        let (mut region, mut at) = (vec![first], 0);
        while let Some(&block) = region.get(at) {
            at += 1;
            let forks = cfg.preds(block).iter().filter(|fork| whole.contains(**fork));
            let ways = forks.flat_map(|fork| func.succs(*fork));
            for &next in func.succs(block).iter().chain(cfg.preds(block)).chain(ways) {
                if cfg.is_reachable(next) && !whole.contains(next) && seen.insert(next) {
                    region.push(next);
                }
            }
        }
        regions.push(region);
    }
    regions
}

/// What is live where a function returns, and what is live anywhere where some threads may call one while others do not.
fn across_calls(
    func: &Function,
    live: &Liveness,
    regions: &[Vec<Block>],
    leaving: &EntitySet<Symbol>,
) -> EntitySet<VReg> {
    let mut across = EntitySet::new();
    let changes = |inst: InstId| changes_uniform(func, &func[inst], leaving);
    let calls = |block: Block| func.block_insts(block).iter().any(|inst| changes(*inst));
    if !func.layout().iter().any(|block| calls(*block)) {
        return across;
    }
    let mut set = live.empty_set();
    for &block in func.layout().iter().filter(|block| calls(**block)) {
        live.walk_back(func, block, &mut set, |inst, behind| {
            if changes(inst) {
                behind.iter().for_each(|(reg, _)| {
                    across.insert(reg);
                });
            }
        });
    }
    for region in regions.iter().filter(|region| region.iter().any(|block| calls(*block))) {
        for (reg, _) in region.iter().flat_map(|block| live.live_in(*block)) {
            across.insert(reg);
        }
    }
    across
}

/// At these the warp waits for other threads, for a time or for copies, or may turn to other threads of its own.
const TURNS: [Opcode; 12] = [
    Opcode::BAR,
    Opcode::BAR_SYNCALL,
    Opcode::BSYNC,
    Opcode::CALL,
    Opcode::DEPBAR,
    Opcode::NANOSLEEP,
    Opcode::SYNCS,
    Opcode::UCGABAR_WAIT,
    Opcode::USETMAXREG,
    Opcode::WARPGROUP,
    Opcode::WARPSYNC,
    Opcode::YIELD,
];

/// The warp may turn to other threads of its own at the instruction, and then come back.
pub(super) fn turns(func: &Function, inst: InstId) -> bool {
    let inst = &func[inst];
    inst.call.is_some() || TURNS.contains(&inst.opcode)
}
