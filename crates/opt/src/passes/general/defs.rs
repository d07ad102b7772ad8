//! What a walk over the blocks in reverse post-order knows of values: copies, constants, and what is near to a change.

use super::copies::{copy_source, may_copy};
use oriole_isa::{Opcode, RegFile};
use oriole_ori::analysis::{Analyses, DomTree, LoopForest};
use oriole_ori::{Block, Function, Inst, InstId, Operand, OperandKind, SecondaryMap, VReg, entry_for_each};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// What the walk knows, and where it is.
pub(super) struct Defs {
    dominators: Rc<DomTree>,
    loops: Rc<LoopForest>,
    /// The block at hand.
    block: Option<Block>,
    /// Constants that the walk has put into registers, and where.
    constants: FxHashMap<u32, (VReg, Block)>,
    /// Registers that are copies of words of constant banks, and where they are.
    words: FxHashMap<Operand, (VReg, Block)>,
    /// What a value is a copy of; absent where it is none.
    copies: SecondaryMap<VReg, Operand>,
    /// When a value was changed last, or one from which so many definitions lead to it as the place in the array says.
    /// Propagated from the second walk on.
    changes: SecondaryMap<VReg, Changes>,
    /// When an instruction was looked at last.
    seen: SecondaryMap<InstId, u32>,
    /// Counts instructions that were looked at.
    clock: u32,
    /// Every instruction is due, near to a change or not.
    first_walk: bool,
}

/// From a definition, rules look at those of its sources, and so on, at most so many times.
pub(super) const FARTHEST: usize = 4;
type Changes = [u32; FARTHEST + 1];

impl Defs {
    /// The copies of the whole function, whose definitions and uses are kept from here on. The first walk looks at everything, or
    /// where it goes on after others, at what is near to what has `changed` since.
    pub(super) fn new(func: &mut Function, analyses: &mut Analyses, changed: Option<&[VReg]>) -> Defs {
        func.edit().keep_def_use();
        let (dominators, loops) = (analyses.dominators(func), analyses.loops(func));
        let mut defs = Defs {
            dominators,
            loops,
            block: None,
            constants: FxHashMap::default(),
            words: FxHashMap::default(),
            copies: entry_for_each(func.regs().len()),
            changes: entry_for_each(func.regs().len()),
            seen: entry_for_each(func.insts().len()),
            clock: 1,
            first_walk: changed.is_none(),
        };
        defs.touch(changed.unwrap_or_default());
        for (_, inst) in func.iter_insts().filter(|(_, inst)| may_copy(func[*inst].opcode)) {
            defs.pass(func, inst);
        }
        defs
    }

    /// Another walk begins: it looks at what is near to the changes of the last one.
    pub(super) fn start_again(&mut self) {
        self.first_walk = false;
        self.constants.clear();
        self.words.clear();
    }

    /// Values have changed, or who reads them.
    pub(super) fn touch(&mut self, values: &[VReg]) {
        values.iter().for_each(|value| self.changes[*value][0] = self.clock);
    }

    /// What an instruction writes has changed.
    pub(super) fn touch_results(&mut self, func: &Function, inst: InstId) {
        func.for_each_def(inst, |mention| self.touch(&[mention.reg]));
    }

    /// Whether the walk has to look at an instruction: in the first one where it reads copies or there are rules for it, later
    /// where a source was changed that it has not seen, or if there are rules, a definition within their `reach` or a reader of its
    /// results.
    pub(super) fn is_due(&mut self, func: &Function, inst: InstId, reach: Option<usize>) -> bool {
        if self.first_walk {
            let mut due = reach.is_some();
            if !due {
                func.for_each_use(inst, |mention| due |= !self.copies[mention.reg].is_none());
            }
            return due;
        }
        let seen = self.seen[inst];
        let mut before: Changes = [0; FARTHEST + 1];
        func.for_each_use(inst, |mention| {
            before.iter_mut().zip(self.changes[mention.reg]).for_each(|(last, change)| *last = change.max(*last));
        });
        let mut due = before[..=reach.unwrap_or(0)].iter().any(|change| *change > seen);
        func.for_each_def(inst, |mention| {
            let changes = &mut self.changes[mention.reg];
            due |= reach.is_some() && changes[0] > seen;
            changes[1..].iter_mut().zip(before).for_each(|(last, change)| *last = change.max(*last));
        });
        due
    }

    /// The walk has looked at an instruction and leaves it in the block at hand: what changes from here on it has not seen.
    pub(super) fn see(&mut self, func: &Function, inst: InstId) {
        self.seen[inst] = self.clock;
        self.clock += 1;
        self.hold_word(func, inst);
    }

    /// What an instruction reads has changed, or goes.
    pub(super) fn touch_sources(&mut self, func: &Function, inst: InstId) {
        self.touch(&reads_of(func, inst));
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
        func.for_each_def(inst, |mention| {
            if func.is_value(mention.reg) {
                self.copies[mention.reg] = copied_by(func, inst, mention.reg).unwrap_or(Operand::NONE);
            }
        });
    }

    /// What a value is a copy of: a constant, a register, RZ, PT.
    pub(super) fn copied(&self, value: VReg) -> Option<Operand> {
        Some(self.copies[value]).filter(|copied| !copied.is_none())
    }

    /// Whether the instruction stands in the block at hand.
    pub(super) fn in_block(&self, func: &Function, inst: InstId) -> bool {
        self.block.is_some() && home(func, inst) == self.block
    }

    /// Whether a value's definition stands in a block that strictly dominates `block`.
    pub(super) fn is_defined_before(&self, func: &Function, value: VReg, block: Block) -> bool {
        let home = func.definition(value).and_then(|inst| home(func, inst));
        home.is_some_and(|home| home != block && self.dominators.dominates(home, block))
    }

    /// Whether an instruction's block dominates the one at hand, or is it.
    pub(super) fn reaches(&self, func: &Function, inst: InstId) -> bool {
        match (home(func, inst), self.block) {
            (Some(home), Some(here)) => self.dominators.dominates(home, here),
            _ => false,
        }
    }

    /// A register that already holds a constant here.
    pub(super) fn constant(&self, bits: u32) -> Option<VReg> {
        let (reg, block) = self.constants.get(&bits)?;
        self.block.is_some_and(|here| self.dominators.dominates(*block, here)).then_some(*reg)
    }

    /// A copy of a word of a constant bank is there from here on.
    fn hold_word(&mut self, func: &Function, inst: InstId) {
        let data = &func[inst];
        let copy = data.operands.first().and_then(|to| to.as_reg()).filter(|_| data.opcode == Opcode::MOV);
        let Some((value, block)) = copy.zip(self.block).filter(|(value, _)| func.is_value(*value)) else { return };
        let copied = self.copies[value];
        if matches!(copied.kind(), OperandKind::Const { .. }) {
            self.words.entry(copied).or_insert((value, block));
        }
    }

    /// A register that is a copy of a word of a constant bank here.
    pub(super) fn word(&self, constant: Operand) -> Option<VReg> {
        let (reg, block) = self.words.get(&constant)?;
        self.block.is_some_and(|here| self.dominators.dominates(*block, here)).then_some(*reg)
    }

    /// A register holds a constant from the end of `block` on, wherever that dominates.
    pub(super) fn set_constant(&mut self, bits: u32, reg: VReg, block: Block) {
        self.constants.insert(bits, (reg, block));
    }

    /// Whether a MovPhi gives the value, at the head of a loop that the block at hand is in.
    pub(super) fn changes_in_loop(&self, func: &Function, value: VReg) -> bool {
        let phi = func.definition(value).filter(|inst| func[*inst].is_phi());
        let this = phi
            .and_then(|phi| home(func, phi))
            .and_then(|home| self.loops.innermost(home).filter(|this| self.loops[*this].header == home));
        this.zip(self.block).is_some_and(|(this, block)| self.loops.contains(this, block))
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

/// The block that an instruction stands in.
fn home(func: &Function, inst: InstId) -> Option<Block> {
    func.def_use()?.home(inst)
}

/// The registers that an instruction reads, one for each mention.
pub(super) fn reads_of(func: &Function, inst: InstId) -> SmallVec<[VReg; 8]> {
    let mut values = SmallVec::new();
    func.for_each_use(inst, |mention| values.push(mention.reg));
    values
}

/// Whether the instruction is the machine's and gives what it writes in full.
pub(crate) fn is_full_definition(inst: &Inst) -> bool {
    inst.is_machine() && !inst.writes_partly() && inst.call.is_none()
}

/// What `value` is a copy of that the instruction writes.
fn copied_by(func: &Function, inst: InstId, value: VReg) -> Option<Operand> {
    let data = &func[inst];
    let source = is_full_definition(data).then(|| copy_source(func, data, Operand::reg(value))).flatten();
    source.filter(|source| is_stable(func, *source))
}

/// Whether an operand means the same wherever it may stand: values and constants do, registers with a fixed place do not.
pub(crate) fn is_stable(func: &Function, operand: Operand) -> bool {
    match operand.kind() {
        OperandKind::Reg(reg, _) => func.is_value(reg),
        OperandKind::ConstBindless { .. } | OperandKind::Symbol(_) | OperandKind::Block(_) => false,
        // The frame's base is the only physical register whose value is the same throughout a function.
        OperandKind::Phys { file: RegFile::R, number, .. } => number == func.frame().base(),
        OperandKind::Phys { .. } => false,
        _ => true,
    }
}
