//! Slot 73, ahead of it: what a loop hands on to its next round is computed behind the last read of what this round has.
//!
//! A counter and the counter of the next round share a register if they do not live at a time. Where the step stands ahead of a
//! read of the old counter they do, and the loop would copy: `add x2, x, 1; setp x, n; bra` goes round with a move. So a step that
//! nobody reads but the MovPhi goes behind the last read of the MovPhi's result, in the block that goes round.

use super::sink::take_out;
use crate::Context;
use oriole_isa::{Arch, latency};
use oriole_ori::analysis::{Cfg, Liveness, LoopForest};
use oriole_ori::terminator::is_terminator;
use oriole_ori::{Block, Function, InstId, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

/// Steps of a loop times instructions of the block that goes round, at most: each step that moves takes a look at all of them.
const MOST: usize = 1 << 20;

/// What moving has done.
#[derive(Default)]
pub(crate) struct Moved {
    /// Something has left its block: what is live at the blocks' ends is another.
    pub(crate) across_blocks: bool,
}

/// A step that goes elsewhere in the block that goes round.
struct Step {
    inst: InstId,
    from: Block,
    /// Ahead of the instruction at this place.
    place: usize,
}

/// Move the steps of all loops.
pub(crate) fn run(func: &mut Function, context: &Context, cfg: &Cfg, loops: &LoopForest, live: &Liveness) -> Moved {
    let mut moved = Moved::default();
    if loops.is_empty() {
        return moved;
    }
    func.edit().keep_def_use();
    for &(latch, header) in cfg.backedges() {
        let pairs = handed_on(func, latch, header);
        if pairs.len() * func.block_insts(latch).len() > MOST {
            continue;
        }
        let mut places = Places::of(func, latch);
        // A step may read what another computes (the carry of a wide sum): those go first that stand last.
        for (old, new) in pairs.into_iter().rev() {
            let steps = Steps { func, arch: context.arch, loops, live, latch, places: &places };
            let Some(step) = steps.step(old, new) else { continue };
            moved.across_blocks |= step.from != latch;
            place(func, latch, &step);
            places = Places::of(func, latch);
        }
    }
    moved
}

/// Where the instructions of a block stand.
struct Places {
    of: FxHashMap<InstId, usize>,
    /// The place of the first that leaves the block, or behind the last.
    end: usize,
}

impl Places {
    fn of(func: &Function, block: Block) -> Self {
        let insts = func.block_insts(block);
        let end = insts.iter().position(|inst| is_terminator(&func[*inst])).unwrap_or(insts.len());
        Places { of: insts.iter().copied().zip(0..).collect(), end }
    }
}

/// What the MovPhis of a header hold in a round, and what comes round to them, in the order in which that is computed.
fn handed_on(func: &Function, latch: Block, header: Block) -> Vec<(VReg, VReg)> {
    let Some(lists) = func.def_use() else { return Vec::new() };
    let pair = |phi: &InstId| {
        let old = func[*phi].operands[0].as_reg()?;
        let (source, _) = func.phi_inputs(*phi).find(|(_, pred)| *pred == latch)?;
        let new = source.as_reg()?;
        Some((lists.definition(new)?, old, new))
    };
    let pairs: Vec<(InstId, VReg, VReg)> = func.phis(header).iter().filter_map(pair).collect();
    let mut places: FxHashMap<InstId, (Block, usize)> = FxHashMap::default();
    let mut homes: Vec<Block> = pairs.iter().filter_map(|(inst, ..)| lists.home(*inst)).collect();
    homes.sort_unstable();
    homes.dedup();
    for block in homes {
        places.extend(func.block_insts(block).iter().zip(0..).map(|(inst, at)| (*inst, (block, at))));
    }
    let mut pairs: Vec<_> = pairs.into_iter().map(|(inst, old, new)| (places.get(&inst), old, new)).collect();
    pairs.sort_by_key(|(place, ..)| *place);
    pairs.into_iter().map(|(_, old, new)| (old, new)).collect()
}

/// What is known of a loop.
struct Steps<'a> {
    func: &'a Function,
    arch: Arch,
    loops: &'a LoopForest,
    live: &'a Liveness,
    latch: Block,
    /// In the latch.
    places: &'a Places,
}

impl Steps<'_> {
    /// Where the instruction that computes `new` has to stand so that `old` is not read behind it; `None` where it stands
    /// well, or has to stay.
    fn step(&self, old: VReg, new: VReg) -> Option<Step> {
        let lists = self.func.def_use()?;
        let inst = lists.definition(new)?;
        let from = lists.home(inst)?;
        if !self.is_movable(inst) || self.live.is_live_out(self.latch, old, 0) {
            return None;
        }
        let others = || lists.users(old).filter(|user| *user != inst && !self.func[*user].is_phi());
        let last = others().filter_map(|user| self.places.of.get(&user).copied()).max();
        let first = self.first_reader(inst)?;
        if last.is_some_and(|last| last >= first.min(self.places.end)) {
            return None;
        }
        if from == self.latch {
            let at = *self.places.of.get(&inst)?;
            return last.filter(|last| *last > at).map(|last| Step { inst, from, place: last + 1 });
        }
        let same_loop = self.loops.innermost(from) == self.loops.innermost(self.latch);
        let lives_on = self.live.is_live_out(from, old, 0) && same_loop && self.sources_live(inst, old);
        lives_on.then_some(Step { inst, from, place: first })
    }

    /// It only computes, of values that never change, and soon.
    fn is_movable(&self, inst: InstId) -> bool {
        let data = &self.func[inst];
        let mut values = !data.is_phi() && !data.writes_partly() && data.depends_on_operands_alone(self.arch);
        values &= !latency::is_variable_opcode(data.opcode, self.arch);
        self.func.for_each_reg(inst, |access| values &= self.func.is_value(access.reg));
        values
    }

    /// The place of the first of the latch's instructions that read a result, or of what ends it; `None` where others read one, but
    /// for MovPhis that get it from the latch.
    fn first_reader(&self, inst: InstId) -> Option<usize> {
        let (func, lists) = (self.func, self.func.def_use()?);
        let (mut first, mut alone) = (self.places.end, true);
        func.for_each_def(inst, |write| {
            for user in lists.users(write.reg) {
                if func[user].is_phi() {
                    let mut inputs = func.phi_inputs(user).filter(|(source, _)| source.as_reg() == Some(write.reg));
                    alone &= inputs.all(|(_, pred)| pred == self.latch);
                } else if let Some(place) = self.places.of.get(&user) {
                    first = first.min(*place);
                } else {
                    alone = false;
                }
            }
        });
        alone.then_some(first)
    }

    /// What else the instruction reads lives through the latch anyway.
    fn sources_live(&self, inst: InstId, old: VReg) -> bool {
        let mut live = true;
        self.func.for_each_use(inst, |read| {
            live &= read.reg == old || self.live.is_live_out(self.latch, read.reg, 0);
        });
        live
    }
}

/// Put a step into its place.
fn place(func: &mut Function, latch: Block, step: &Step) {
    if step.from == latch {
        let insts = func.block_insts(latch);
        let Some(at) = insts.iter().position(|inst| *inst == step.inst) else { return };
        let mut moved: Vec<InstId> = insts[at..step.place].to_vec();
        moved.rotate_left(1);
        func.edit().reorder(latch, at, &moved);
    } else {
        take_out(func, FxHashSet::from_iter([step.inst]), vec![step.from]);
        func.edit().place(latch, step.place, &[step.inst]);
    }
}
