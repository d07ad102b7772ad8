//! Slots 28 and 69, on SSA form: what is computed ahead of a loop for the code behind it is computed there.
//!
//! An instruction goes down the dominator tree to where all that read it are, but into no other loop, if its results live
//! through a loop on the way and no more registers are needed all through it than before: values that the instruction reads would have
//! to live as long, unless they do so anyway, are as easily moved themselves, or are constants.

use super::dead_code::SWEPT;
use crate::{Changed, Context, PhaseError};
use oriole_isa::RegFile;
use oriole_ori::analysis::{Analyses, DomTree, Liveness, LoopForest};
use oriole_ori::terminator::is_terminator;
use oriole_ori::{Block, Function, InstId, OperandKind, SecondaryMap, VReg};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::rc::Rc;

/// What is counted.
pub(crate) const RULES: &[&str] = &["instructions sunk"];

/// Steps up the dominator tree for one instruction; farther away nothing goes.
const FARTHEST: usize = 256;
/// How deep values that move along are looked for.
const DEPTH: u32 = 4;

/// Sink what can be.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let loops = analyses.loops(func);
    if loops.is_empty() {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let (cfg, dominators, live) = (analyses.cfg(func), analyses.dominators(func), analyses.live(func));
    let through = live_in_loops(&loops, &live);
    let (moved, extended) = (FxHashMap::default(), FxHashSet::default());
    let mut sink = Sink { func, context, loops, dominators, live, through, moved, extended };
    let ahead = ahead_of_loops(&sink.loops, &sink.dominators);
    let mut moves: Vec<(InstId, Block, Block)> = Vec::new();
    for block in cfg.rpo().iter().rev().filter(|block| ahead[**block]) {
        for inst in func.block_insts(*block).iter().rev() {
            if !context.tally.is_open() {
                break;
            }
            if let Some(to) = sink.destination(*inst, *block) {
                context.tally.count(0);
                sink.moved.insert(*inst, to);
                // What it reads lives now where its results did.
                let mut through: SmallVec<[Block; 2]> = SmallVec::new();
                func.for_each_def(*inst, |write| through.extend(sink.through[write.reg].iter().copied()));
                func.for_each_use(*inst, |read| {
                    sink.extended.insert((read.reg, to));
                    let there = &mut sink.through[read.reg];
                    let new = through.iter().filter(|header| !there.contains(header)).copied();
                    let new: SmallVec<[Block; 2]> = new.collect();
                    there.extend(new);
                });
                moves.push((*inst, *block, to));
            }
        }
    }
    let is_swept = analyses.is_settled(SWEPT, func);
    carry_out(func, &moves);
    if is_swept {
        // What is moved is as dead or alive as before.
        analyses.settle(SWEPT, func);
    }
    Ok(Changed::when(!moves.is_empty()))
}

/// The blocks that dominate a loop in which they are not.
fn ahead_of_loops(loops: &LoopForest, dominators: &DomTree) -> SecondaryMap<Block, bool> {
    let mut ahead = SecondaryMap::new();
    for (this, data) in loops.iter() {
        let mut at = dominators.idom(data.header);
        while let Some(block) = at.filter(|block| !std::mem::replace(&mut ahead[*block], true)) {
            debug_assert!(!loops.contains(this, block), "the header dominates its loop");
            at = dominators.idom(block);
        }
    }
    ahead
}

/// By value: the headers of the loops where it lives.
fn live_in_loops(loops: &LoopForest, live: &Liveness) -> SecondaryMap<VReg, SmallVec<[Block; 2]>> {
    let mut through: SecondaryMap<VReg, SmallVec<[Block; 2]>> = SecondaryMap::new();
    for (_, data) in loops.iter() {
        for (value, _) in live.live_in(data.header) {
            if through[value].last() != Some(&data.header) {
                through[value].push(data.header);
            }
        }
    }
    through
}

/// Take instructions out of the blocks where they stand, to be placed elsewhere.
pub(crate) fn take_out(func: &mut Function, gone: FxHashSet<InstId>, mut blocks: Vec<Block>) {
    blocks.sort_unstable();
    blocks.dedup();
    for block in blocks {
        let mut insts = func.edit().take_insts(block);
        insts.retain(|inst| !gone.contains(inst));
        func.edit().set_insts(block, insts);
    }
}

/// Put instructions at the end of a block, ahead of what leaves it.
pub(crate) fn place_at_end(func: &mut Function, block: Block, insts: &[InstId]) {
    let end = func.block_insts(block).iter().position(|inst| is_terminator(&func[*inst]));
    let end = end.unwrap_or(func.block_insts(block).len());
    func.edit().place(block, end, insts);
}

/// The last one that was decided on comes first in its new block: the others may read it.
fn carry_out(func: &mut Function, moves: &[(InstId, Block, Block)]) {
    let (gone, sources) = moves.iter().map(|(inst, from, _)| (*inst, *from)).unzip();
    take_out(func, gone, sources);
    let mut targets: Vec<(Block, InstId)> = moves.iter().rev().map(|(inst, _, to)| (*to, *inst)).collect();
    targets.sort_by_key(|(to, _)| *to);
    for group in targets.chunk_by(|a, b| a.0 == b.0) {
        let block = group[0].0;
        let insts: Vec<InstId> = group.iter().map(|(_, inst)| *inst).collect();
        let behind_phis = func.phis(block).len();
        func.edit().place(block, behind_phis, &insts);
    }
}

struct Sink<'a> {
    func: &'a Function,
    context: &'a Context,
    loops: Rc<LoopForest>,
    dominators: Rc<DomTree>,
    live: Rc<Liveness>,
    /// By value: the headers of the loops where it lives.
    through: SecondaryMap<VReg, SmallVec<[Block; 2]>>,
    /// Where the instructions go that have left their blocks.
    moved: FxHashMap<InstId, Block>,
    /// Values that have come to live up to these blocks.
    extended: FxHashSet<(VReg, Block)>,
}

impl Sink<'_> {
    /// Where the instruction of `block` should go.
    fn destination(&self, inst: InstId, block: Block) -> Option<Block> {
        if !self.is_movable(inst) {
            return None;
        }
        let target = self.below(self.readers(inst, block)?, block)?;
        let (mut gained, mut through) = (0, false);
        self.func.for_each_def(inst, |write| {
            gained += write.range.len() as u32;
            through |= self.leaves_a_loop(write.reg, block, target);
        });
        if !through {
            return None;
        }
        (self.cost(inst, target, DEPTH) < gained).then_some(target)
    }

    /// Nothing that lives is read.
    fn is_free(&self, inst: InstId) -> bool {
        let mut free = true;
        self.func.for_each_use(inst, |_| free = false);
        free
    }

    /// The nearest block that dominates all that read the results; none if one of them is in `block` itself.
    fn readers(&self, inst: InstId, block: Block) -> Option<Block> {
        let mut common: Option<Block> = None;
        let mut steps = 0;
        let mut found = true;
        self.func.for_each_def(inst, |write| {
            for reader in self.blocks_that_read(write.reg) {
                match (reader, common) {
                    (Some(reader), _) if reader == block => found = false,
                    (Some(reader), None) => common = Some(reader),
                    (Some(reader), Some(other)) if found => {
                        let meet = self.meet(reader, other, &mut steps);
                        found &= meet.is_some_and(|meet| meet != block);
                        common = meet;
                    }
                    _ => found = false,
                }
            }
        });
        common.filter(|_| found)
    }

    fn blocks_that_read(&self, value: VReg) -> Vec<Option<Block>> {
        let Some(lists) = self.func.def_use() else { return vec![None] };
        let mut blocks = Vec::new();
        for user in lists.users(value) {
            if self.func[user].is_phi() {
                let inputs = self.func.phi_inputs(user).filter(|(source, _)| source.as_reg() == Some(value));
                blocks.extend(inputs.map(|(_, pred)| Some(pred)));
            } else {
                blocks.push(self.moved.get(&user).copied().or_else(|| lists.home(user)));
            }
        }
        blocks
    }

    fn meet(&self, a: Block, b: Block, steps: &mut usize) -> Option<Block> {
        let mut at = a;
        while !self.dominators.dominates(at, b) {
            *steps += 1;
            at = self.dominators.idom(at).filter(|_| *steps < FARTHEST)?;
        }
        Some(at)
    }

    /// Whether there is a loop in which the value of `block` does not live any more if it is computed in `target`.
    fn leaves_a_loop(&self, value: VReg, block: Block, target: Block) -> bool {
        let holds = |header: Block| self.loops.innermost(header).is_some_and(|inner| self.loops.contains(inner, block));
        self.through[value].iter().any(|header| !holds(*header) && !self.dominators.dominates(target, *header))
    }

    /// The lowest block from `target` up to below `block` that is in no loop around which `block` is not.
    fn below(&self, target: Block, block: Block) -> Option<Block> {
        let around = |at: Block| self.loops.innermost(at).is_none_or(|inner| self.loops.contains(inner, block));
        let mut at = target;
        for _ in 0..FARTHEST {
            if at == block {
                return None;
            }
            if around(at) {
                return Some(at);
            }
            at = self.dominators.idom(at)?;
        }
        None
    }

    /// How many values more live through the code up to `target` if the instruction stands there.
    fn cost(&self, inst: InstId, target: Block, depth: u32) -> u32 {
        let mut read: Vec<VReg> = Vec::new();
        self.func.for_each_use(inst, |mention| {
            if !read.contains(&mention.reg) {
                read.push(mention.reg);
            }
        });
        read.into_iter().map(|value| self.cost_of(value, inst, target, depth)).sum()
    }

    fn cost_of(&self, value: VReg, reader: InstId, target: Block, depth: u32) -> u32 {
        let lives = (0..self.func[value].components).any(|k| self.live.is_live_in(target, value, k));
        if lives || self.extended.contains(&(value, target)) {
            return 0;
        }
        let width = u32::from(self.func[value].components);
        let alone = self.func.def_use().is_some_and(|lists| lists.users(value).all(|user| user == reader));
        match self.func.definition(value).filter(|inst| self.is_movable(*inst)) {
            Some(inst) if self.is_free(inst) || alone && depth > 0 => {
                width.min(self.cost(inst, target, depth.saturating_sub(1)))
            }
            _ => width,
        }
    }

    /// Whether the instruction does nothing but compute from values that never change.
    fn is_movable(&self, inst: InstId) -> bool {
        let (func, data) = (self.func, &self.func[inst]);
        let plain = !data.is_phi() && !is_terminator(data) && !data.writes_partly();
        if !plain || !data.depends_on_operands_alone(self.context.arch) {
            return false;
        }
        let own = |kind| !matches!(kind, OperandKind::Phys { .. } | OperandKind::Undef | OperandKind::Block(_));
        let mut values = data.operands.iter().all(|operand| own(operand.kind()));
        let mut written = false;
        func.for_each_use(inst, |read| values &= func.is_value(read.reg));
        func.for_each_def(inst, |write| {
            written = true;
            values &= func.is_value(write.reg) && matches!(func[write.reg].file(), RegFile::R | RegFile::P);
        });
        values && written
    }
}
