//! Where uniform registers may be written.
//!
//! A uniform register is one for the warp: a thread that writes it writes it for all. So what threads hold there that have
//! gone another way must not be touched, and they must not touch it. A block through which all threads go together is safe.
//! In another one a value may live that is written and read in the block, with nothing in between at which the
//! warp may turn to other threads of its own.

use crate::passes::synchronise::together;
use oriole_isa::Opcode;
use oriole_ori::analysis::{Liveness, Uniformity};
use oriole_ori::{Block, EntitySet, Function, InstId, VReg};

/// The blocks and registers of one function.
pub(super) struct Places {
    whole: EntitySet<Block>,
    /// Registers that are named in one block only, in full before they are read.
    local: EntitySet<VReg>,
    /// Blocks with nothing in them at which the warp may turn to other threads.
    quiet: EntitySet<Block>,
}

impl Places {
    pub(super) fn new(func: &Function, uniformity: &Uniformity, live: &Liveness) -> Self {
        let whole = together::whole_blocks(func, |block| uniformity.is_divergent(block));
        let (mut local, mut quiet) = (EntitySet::new(), EntitySet::new());
        for reg in func.regs().keys().filter(|reg| !live.crosses_blocks(func, *reg)) {
            local.insert(reg);
        }
        let is_quiet = |block: &Block| func.block_insts(*block).iter().all(|inst| !turns(func, *inst));
        for block in func.layout().iter().copied().filter(is_quiet) {
            quiet.insert(block);
        }
        Places { whole, local, quiet }
    }

    /// All threads go through the block together.
    pub(super) fn is_whole(&self, block: Block) -> bool {
        self.whole.contains(block)
    }

    /// Whether a uniform register in the place of `reg` may be written in the block.
    pub(super) fn may_write(&self, block: Block, reg: VReg) -> bool {
        self.whole.contains(block) || self.quiet.contains(block) && self.local.contains(reg)
    }
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
fn turns(func: &Function, inst: InstId) -> bool {
    let inst = &func[inst];
    inst.call.is_some() || TURNS.contains(&inst.opcode)
}
