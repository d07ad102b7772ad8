//! Where each register is written and read.

use crate::entity::{Block, InstId, VReg};
use crate::function::Function;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

/// The instructions that write and read each register, in layout order, each once.
#[derive(Clone, Debug)]
pub struct DefUse {
    defs: SecondaryMap<VReg, SmallVec<[InstId; 1]>>,
    uses: SecondaryMap<VReg, SmallVec<[InstId; 2]>>,
    blocks: SecondaryMap<InstId, PackedOption<Block>>,
}

impl DefUse {
    /// Go through the function once.
    pub fn new(func: &Function) -> Self {
        let mut this = DefUse {
            defs: SecondaryMap::with_capacity(func.vregs.len()),
            uses: SecondaryMap::with_capacity(func.vregs.len()),
            blocks: SecondaryMap::with_capacity(func.insts.len()),
        };
        for (block, inst) in func.iter_insts() {
            this.blocks[inst] = block.into();
            func.for_each_use(inst, |r| {
                if this.uses[r.reg].last() != Some(&inst) {
                    this.uses[r.reg].push(inst);
                }
            });
            func.for_each_def(inst, |r| {
                if this.defs[r.reg].last() != Some(&inst) {
                    this.defs[r.reg].push(inst);
                }
            });
        }
        this
    }

    /// Instructions that write (a part of) the register.
    pub fn defs(&self, reg: VReg) -> &[InstId] {
        &self.defs[reg]
    }

    /// Instructions that read (a part of) the register, as operand, guard or argument.
    pub fn uses(&self, reg: VReg) -> &[InstId] {
        &self.uses[reg]
    }

    /// The only instruction that writes the register, if there is exactly one.
    pub fn single_def(&self, reg: VReg) -> Option<InstId> {
        match self.defs(reg) {
            [inst] => Some(*inst),
            _ => None,
        }
    }

    /// The block that an instruction stands in.
    pub fn block_of(&self, inst: InstId) -> Option<Block> {
        self.blocks[inst].expand()
    }
}
