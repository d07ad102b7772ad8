//! What is known at a point of a walk over the blocks in reverse post-order.
//!
//! Registers may be written many times, in parts and under guards. Two kinds of fact hold all the
//! same: a component with one unguarded write has that value wherever the write dominates; and within a
//! block, any component has its last value until it is written again.

use oriole_isa::RegFile;
use oriole_ori::analysis::{Cfg, DomTree, LoopForest};
use oriole_ori::{Block, Function, InstId, Operand, OperandKind, VReg};
use rustc_hash::FxHashMap;

/// A 32-bit component of a register.
pub(super) type Comp = (VReg, u8);

/// Facts at the current place of the walk.
pub(super) struct Facts {
    dominators: DomTree,
    loops: LoopForest,
    /// Index of each register's first component.
    first: Vec<u32>,
    /// Writes of each component in the whole function, at most 2 counted; values on entry count.
    writes: Vec<u8>,
    /// Reads of each component.
    reads: Vec<u32>,
    /// The last write of each component that the walk has seen, and when.
    writer: Vec<(Option<InstId>, u32)>,
    /// When the walk came to each instruction, and in which block.
    seen: Vec<Option<(u32, Block)>>,
    now: u32,
    block_start: u32,
    block: Option<Block>,
    /// Constants that the walk has put into registers, and where.
    constants: FxHashMap<u32, (VReg, Block)>,
}

impl Facts {
    /// Counts over the whole function; the walk has seen nothing yet.
    pub(super) fn new(func: &Function, cfg: &Cfg) -> Facts {
        let dominators = DomTree::dominators(cfg);
        let loops = LoopForest::new(cfg, &dominators);
        let mut facts = Facts {
            dominators,
            loops,
            first: Vec::with_capacity(func.vregs.len()),
            writes: Vec::new(),
            reads: Vec::new(),
            writer: Vec::new(),
            seen: vec![None; func.insts.len()],
            now: 1,
            block_start: 1,
            block: None,
            constants: FxHashMap::default(),
        };
        facts.grow(func);
        for reg in &func.live_in {
            for k in 0..func.vregs[*reg].components {
                let at = facts.index((*reg, k));
                facts.writes[at] += 1;
            }
        }
        for (_, inst) in func.iter_insts() {
            facts.count(func, inst, true);
            func.for_each_def(inst, |mention| {
                for k in mention.range.clone() {
                    let at = facts.index((mention.reg, k));
                    facts.writes[at] = (facts.writes[at] + 1).min(2);
                }
            });
        }
        facts
    }

    /// Make room for registers that were made since.
    fn grow(&mut self, func: &Function) {
        for number in self.first.len()..func.vregs.len() {
            self.first.push(self.writes.len() as u32);
            let components = usize::from(func.vregs[VReg::from_u32(number as u32)].components);
            let end = self.writes.len() + components;
            self.writes.resize(end, 0);
            self.reads.resize(end, 0);
            self.writer.resize(end, (None, 0));
        }
    }

    fn index(&self, (reg, k): Comp) -> usize {
        self.first[reg.as_u32() as usize] as usize + usize::from(k)
    }

    /// A register that was made during the walk and will be written once.
    pub(super) fn add_register(&mut self, func: &Function, reg: VReg) {
        self.grow(func);
        for k in 0..func.vregs[reg].components {
            let at = self.index((reg, k));
            self.writes[at] = 1;
        }
    }

    /// Count the reads of an instruction that is put into the function, or taken out.
    pub(super) fn count(&mut self, func: &Function, inst: InstId, added: bool) {
        func.for_each_use(inst, |mention| {
            for k in mention.range.clone() {
                let at = self.index((mention.reg, k));
                self.reads[at] = if added { self.reads[at] + 1 } else { self.reads[at].saturating_sub(1) };
            }
        });
    }

    /// How often the component is read in the function.
    pub(super) fn reads(&self, comp: Comp) -> u32 {
        self.reads[self.index(comp)]
    }

    /// The walk comes to a block.
    pub(super) fn enter(&mut self, block: Block) {
        self.block = Some(block);
        self.block_start = self.now;
    }

    /// The block at hand.
    pub(super) fn block(&self) -> Option<Block> {
        self.block
    }

    /// The walk goes past an instruction.
    pub(super) fn pass(&mut self, func: &Function, inst: InstId) {
        if let Some(block) = self.block {
            self.pass_in(func, inst, block);
        }
    }

    /// The walk goes past an instruction of this block, or of one that dominates it.
    pub(super) fn pass_in(&mut self, func: &Function, inst: InstId, block: Block) {
        let at = inst.as_u32() as usize;
        self.seen.resize(self.seen.len().max(at + 1), None);
        self.seen[at] = Some((self.now, block));
        func.for_each_def(inst, |mention| {
            for k in mention.range.clone() {
                let at = self.index((mention.reg, k));
                self.writer[at] = (Some(inst), self.now);
            }
        });
        self.now += 1;
    }

    /// The instruction whose unguarded write gave the component its present value.
    pub(super) fn def(&self, func: &Function, comp: Comp) -> Option<InstId> {
        let at = self.index(comp);
        let (Some(inst), when) = self.writer[at] else { return None };
        let data = &func.insts[inst];
        let usable = data.guard().is_none() && data.call.is_none() && !func.vregs[comp.0].is_fixed();
        let reaches = when >= self.block_start || (self.writes[at] == 1 && self.dominates_here(inst));
        (usable && reaches && data.is_machine()).then_some(inst)
    }

    /// The instruction that gave an operand of one component its present value.
    pub(super) fn def_of(&self, func: &Function, operand: Operand) -> Option<InstId> {
        self.def(func, component(func, operand)?)
    }

    fn dominates_here(&self, inst: InstId) -> bool {
        let Some((_, block)) = self.seen(inst) else { return false };
        self.block.is_some_and(|here| self.dominators.dominates(block, here))
    }

    /// Whether the walk has passed the instruction in the block that it is in.
    pub(super) fn in_block(&self, inst: InstId) -> bool {
        self.seen(inst).is_some_and(|(when, _)| when >= self.block_start)
    }

    fn seen(&self, inst: InstId) -> Option<(u32, Block)> {
        self.seen.get(inst.as_u32() as usize).copied().flatten()
    }

    /// A register that already holds a constant here.
    pub(super) fn constant(&self, bits: u32) -> Option<VReg> {
        let (reg, block) = self.constants.get(&bits)?;
        self.block.is_some_and(|here| self.dominators.dominates(*block, here)).then_some(*reg)
    }

    /// A register holds a constant from the end of `block` on, wherever that dominates.
    pub(super) fn set_constant(&mut self, bits: u32, reg: VReg, block: Block) {
        self.constants.insert(bits, (reg, block));
    }

    /// The closest block that dominates the one at hand, or is it, and lies in no loop.
    pub(super) fn outside_of_loops(&self) -> Option<Block> {
        let mut block = self.block?;
        while let Some(around) = self.loops.innermost(block) {
            block = self.dominators.idom(self.loops[around].header)?;
        }
        Some(block)
    }

    /// Whether an operand that `inst` (whose write reaches this place) read has the same value here.
    pub(super) fn holds(&self, func: &Function, operand: Operand, inst: InstId) -> bool {
        match operand.kind() {
            OperandKind::Reg(reg, piece) => {
                !func.vregs[reg].is_fixed()
                    && piece.range(func.vregs[reg].components).all(|k| self.comp_holds(func, (reg, k), inst))
            }
            OperandKind::ConstBindless { .. } | OperandKind::Symbol(_) | OperandKind::Block(_) => false,
            // The frame's base is the only physical register whose value is the same throughout a function.
            OperandKind::Phys { file: RegFile::R, number, .. } => number == func.frame.base(),
            OperandKind::Phys { .. } => false,
            _ => true,
        }
    }

    fn comp_holds(&self, func: &Function, comp: Comp, inst: InstId) -> bool {
        let Some((when, _)) = self.seen(inst) else { return false };
        let at = self.index(comp);
        let (writer, written) = self.writer[at];
        if when >= self.block_start && written < when {
            return true;
        }
        let Some(writer) = writer else { return false };
        self.writes[at] == 1 && written < when && func.insts[writer].guard().is_none() && self.dominates_here(writer)
    }
}

/// The component that an operand names, if it is just one.
pub(super) fn component(func: &Function, operand: Operand) -> Option<Comp> {
    let OperandKind::Reg(reg, piece) = operand.kind() else { return None };
    let range = piece.range(func.vregs[reg].components);
    (range.len() == 1).then_some((reg, range.start))
}
