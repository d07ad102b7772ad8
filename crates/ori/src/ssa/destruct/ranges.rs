//! Live ranges of values as stretches of positions in the order of the layout.
//!
//! Every block begins at a position at which its MovPhis take what their predecessors left, goes on with the slot of
//! the copies into their results, then has a slot for each instruction, with one for copies just before it, and before
//! the first branch the slot of the copies for the successors' MovPhis. A slot reads at its position and writes at the
//! next: a value that is read last where another is written does not meet it.

use crate::analysis::{Cfg, Liveness};
use crate::entity::{Block, InstId, VReg, entry_for_each};
use crate::function::Function;
use crate::inst::Inst;
use crate::operand::Operand;
use crate::terminator::is_terminator;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// A stretch: first position, and the one after the last.
pub(super) type Range = (u32, u32);

/// Where things stand.
pub(super) struct Positions {
    pub(super) start: SecondaryMap<Block, u32>,
    pub(super) end: SecondaryMap<Block, u32>,
    /// The slot of the copies for the successors.
    pub(super) exit: SecondaryMap<Block, u32>,
    /// The slot of the copies before an instruction.
    base: SecondaryMap<InstId, u32>,
}

/// From a block's start to the slot of its first instruction; between instructions.
const STEP: u32 = 4;
/// From a block's start to the slot of the copies into the results of its MovPhis.
const ENTRY: u32 = 2;
/// From the copies before an instruction to itself.
const OWN: u32 = 2;

impl Positions {
    pub(super) fn new(func: &Function) -> Self {
        let mut positions = Positions {
            start: entry_for_each(func.blocks().len()),
            end: entry_for_each(func.blocks().len()),
            exit: entry_for_each(func.blocks().len()),
            base: entry_for_each(func.insts().len()),
        };
        let mut now = 0;
        for &block in func.layout() {
            positions.start[block] = now;
            now += STEP;
            let mut exit = None;
            for &inst in func.block_insts(block) {
                if is_terminator(&func[inst]) && exit.is_none() {
                    exit = Some(now);
                    now += STEP;
                }
                positions.base[inst] = now;
                now += STEP;
            }
            positions.exit[block] = exit.unwrap_or(now);
            now += if exit.is_none() { STEP } else { 0 };
            positions.end[block] = now;
        }
        positions
    }

    /// Where what a MovPhi takes at the start of the block is there.
    pub(super) fn arrival(&self, block: Block) -> Range {
        (self.start[block], self.start[block] + ENTRY + 1)
    }

    /// What a predecessor leaves for a MovPhi.
    pub(super) fn departure(&self, block: Block) -> Range {
        (self.exit[block] + 1, self.end[block])
    }

    /// What a predecessor leaves, and what decides where it goes.
    pub(super) fn leaving(&self, block: Block) -> Range {
        (self.exit[block], self.end[block])
    }
}

/// The live ranges of all values, by number from [`Function::first_value`] on; each list in order of position.
pub(super) fn live_ranges(func: &Function, cfg: &Cfg, live: &Liveness, positions: &Positions) -> Vec<Ranges> {
    let first = func.first_value().map_or(func.regs().len(), |value| value.as_u32() as usize);
    let count = func.regs().len() - first;
    let mut scan =
        Scan { func, positions, first, ranges: vec![Ranges::new(); count], open: vec![0; count], touched: Vec::new() };
    for &block in func.layout().iter().rev() {
        scan.block(cfg, live, block);
    }
    scan.ranges.iter_mut().for_each(|ranges| ranges.reverse());
    scan.ranges
}

/// The stretches of a value.
pub(super) type Ranges = SmallVec<[Range; 1]>;

/// Backward over the blocks and their instructions.
struct Scan<'f> {
    func: &'f Function,
    positions: &'f Positions,
    first: usize,
    /// By value, latest first.
    ranges: Vec<Ranges>,
    /// By value: where the stretch ends that the walk is in; 0 where it is in none.
    open: Vec<u32>,
    /// Values that may be open.
    touched: Vec<u32>,
}

impl Scan<'_> {
    fn block(&mut self, cfg: &Cfg, live: &Liveness, block: Block) {
        let end = self.positions.end[block];
        for (reg, _) in live.live_out(block) {
            // What only the successors' MovPhis read ends with the copies for them.
            let beyond = cfg.succs(block).iter().any(|succ| live.is_live_in(*succ, reg, 0));
            self.read(reg, if beyond { end } else { self.positions.exit[block] + 1 });
        }
        for &inst in self.func.block_insts(block).iter().rev() {
            self.inst(block, inst);
        }
        let start = self.positions.start[block];
        for value in std::mem::take(&mut self.touched) {
            let last = std::mem::take(&mut self.open[value as usize]);
            if last != 0 {
                self.add(value as usize, start, last);
            }
        }
    }

    fn inst(&mut self, block: Block, inst: InstId) {
        let func = self.func;
        let data = &func[inst];
        if data.is_phi() {
            if let Some(value) = data.operands[0].as_reg() {
                self.write(value, self.positions.start[block] + ENTRY + 1);
            }
            return;
        }
        let base = self.positions.base[inst];
        let olds: SmallVec<[Operand; 4]> = SmallVec::from_slice(data.olds());
        for (n, (_, operand)) in data.defs().enumerate() {
            let kept = olds.get(n).is_some_and(|old| func.first_named(*old).is_some());
            let at = if kept { base + 1 } else { base + OWN + 1 };
            func.for_each_named(operand, |value| self.write(value, at));
        }
        if let Some(guard) = data.guard() {
            self.read(guard.pred, base + OWN + 1);
        }
        for (at, operand) in data.uses() {
            let early = at >= data.opcode.operand_count() && data.is_machine() || is_old(func, data, operand);
            let at = if early { base + 1 } else { base + OWN + 1 };
            func.for_each_named(operand, |value| self.read(value, at));
        }
        if let Some(call) = data.call.expand() {
            for operand in &func[call].args {
                func.for_each_named(*operand, |value| self.read(value, base + OWN + 1));
            }
            for operand in &func[call].results {
                func.for_each_named(*operand, |value| self.write(value, base + OWN + 1));
            }
        }
    }

    fn number(&self, reg: VReg) -> Option<usize> {
        self.func.is_value(reg).then(|| reg.as_u32() as usize - self.first)
    }

    fn read(&mut self, reg: VReg, end: u32) {
        let Some(value) = self.number(reg) else { return };
        if self.open[value] == 0 {
            self.open[value] = end;
            self.touched.push(value as u32);
        }
    }

    fn write(&mut self, reg: VReg, at: u32) {
        let Some(value) = self.number(reg) else { return };
        let end = std::mem::take(&mut self.open[value]);
        self.add(value, at, end.max(at + 1));
    }

    /// Put a stretch before those that there are; one that touches the next is part of it.
    fn add(&mut self, value: usize, start: u32, end: u32) {
        match self.ranges[value].last_mut() {
            Some(next) if next.0 == end => next.0 = start,
            _ => self.ranges[value].push((start, end)),
        }
    }
}

/// Whether a source is one of the values that a partial write may leave in place: then it is read where that is.
pub(super) fn is_old(func: &Function, data: &Inst, operand: Operand) -> bool {
    let same = |old: &Operand| {
        let values = func.named(*old);
        !values.is_empty() && values == func.named(operand)
    };
    data.olds().iter().any(same)
}
