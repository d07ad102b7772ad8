//! What a walk over the blocks in reverse post-order knows of values: their definitions, and how often they are read.

use oriole_isa::RegFile;
use oriole_ori::analysis::{Analyses, DomTree, LoopForest};
use oriole_ori::{Block, Function, InstId, Operand, OperandKind, PackedOption, SecondaryMap, VReg};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Definitions and reads of values, and where the walk is.
pub(super) struct Defs {
    dominators: Rc<DomTree>,
    loops: Rc<LoopForest>,
    def: SecondaryMap<VReg, PackedOption<InstId>>,
    reads: SecondaryMap<VReg, u32>,
    /// The block of each instruction.
    home: SecondaryMap<InstId, PackedOption<Block>>,
    /// The block at hand.
    block: Option<Block>,
    /// Constants that the walk has put into registers, and where.
    constants: FxHashMap<u32, (VReg, Block)>,
}

impl Defs {
    /// Definitions and reads of the whole function.
    pub(super) fn new(func: &Function, analyses: &mut Analyses) -> Defs {
        let (dominators, loops) = (analyses.dominators(func), analyses.loops(func));
        let mut defs = Defs {
            dominators,
            loops,
            def: SecondaryMap::with_capacity(func.vregs.len()),
            reads: SecondaryMap::with_capacity(func.vregs.len()),
            home: SecondaryMap::with_capacity(func.insts.len()),
            block: None,
            constants: FxHashMap::default(),
        };
        for (block, inst) in func.iter_insts() {
            defs.pass_in(func, inst, block);
            defs.count(func, inst, true);
        }
        defs
    }

    /// Count the reads of an instruction that is put into the function, or taken out.
    pub(super) fn count(&mut self, func: &Function, inst: InstId, added: bool) {
        func.for_each_use(inst, |mention| {
            let reads = &mut self.reads[mention.reg];
            *reads = if added { *reads + 1 } else { reads.saturating_sub(1) };
        });
    }

    /// How often the register is read in the function.
    pub(super) fn reads(&self, reg: VReg) -> u32 {
        self.reads[reg]
    }

    /// The walk comes to a block.
    pub(super) fn enter(&mut self, block: Block) {
        self.block = Some(block);
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

    /// An instruction stands in a block.
    pub(super) fn pass_in(&mut self, func: &Function, inst: InstId, block: Block) {
        self.home[inst] = block.into();
        func.for_each_def(inst, |mention| {
            if func.is_value(mention.reg) {
                self.def[mention.reg] = inst.into();
            }
        });
    }

    /// The machine instruction that gives a value in full.
    pub(super) fn def(&self, func: &Function, reg: VReg) -> Option<InstId> {
        let inst = self.def[reg].expand()?;
        let data = &func.insts[inst];
        (data.is_machine() && !data.writes_partly() && data.call.is_none()).then_some(inst)
    }

    /// The same for an operand that is one value.
    pub(super) fn def_of(&self, func: &Function, operand: Operand) -> Option<InstId> {
        self.def(func, operand.as_reg()?)
    }

    /// Whether the instruction stands in the block at hand.
    pub(super) fn in_block(&self, inst: InstId) -> bool {
        self.block.is_some() && self.home[inst].expand() == self.block
    }

    /// Whether a value's definition stands in a block that strictly dominates `block`.
    pub(super) fn is_defined_before(&self, value: VReg, block: Block) -> bool {
        let home = self.def[value].expand().and_then(|inst| self.home[inst].expand());
        home.is_some_and(|home| home != block && self.dominators.dominates(home, block))
    }

    /// Whether an instruction's block dominates the one at hand, or is it.
    pub(super) fn reaches(&self, inst: InstId) -> bool {
        match (self.home[inst].expand(), self.block) {
            (Some(home), Some(here)) => self.dominators.dominates(home, here),
            _ => false,
        }
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
}

/// Whether an operand means the same wherever it may stand: values and constants do, registers with a fixed place do not.
pub(super) fn is_stable(func: &Function, operand: Operand) -> bool {
    match operand.kind() {
        OperandKind::Reg(reg, _) => func.is_value(reg),
        OperandKind::ConstBindless { .. } | OperandKind::Symbol(_) | OperandKind::Block(_) => false,
        // The frame's base is the only physical register whose value is the same throughout a function.
        OperandKind::Phys { file: RegFile::R, number, .. } => number == func.frame.base(),
        OperandKind::Phys { .. } => false,
        _ => true,
    }
}
