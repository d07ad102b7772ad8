//! Slot 68, on SSA form: regions with side exits. In a loop, what stands behind a branch goes ahead of it, into the cycles in which the warp waits
//! for the predicate.
//!
//! A branch issues a dozen cycles behind the test that decides it. Where the block behind it is led to from there alone, what that begins
//! with may be executed before, if nothing but its results tells (slot 27, `ori::analysis::Speculation`): those are new values, which
//! nobody reads where the branch leads elsewhere. The order ahead of allocation and that behind it then see the instructions of both
//! blocks as one.

use super::dead_code::SWEPT;
use super::hoist::{go_up, is_there_before};
use super::predicate::lone_branch;
use crate::{Changed, Context, PhaseError};
use oriole_isa::latency;
use oriole_ori::analysis::{Analyses, Cfg, LoopForest, Passed, Speculation, is_load};
use oriole_ori::layout::address_taken;
use oriole_ori::{Block, EntitySet, Function, InstId, VReg};

/// What is counted.
pub(crate) const RULES: &[&str] = &["computations ahead of side exits", "loads ahead of side exits"];
const COMPUTATIONS: usize = 0;
const LOADS: usize = 1;

/// So many instructions on either side of a branch are looked at.
const WINDOW: usize = 32;

/// Of the limit this part holds where the branch goes around the second block: that may be entered seldom, and what has moved is
/// executed each time.
const AROUND: usize = 4;

/// Two blocks of a loop that follow each other, with a side exit between them.
struct Region {
    first: Block,
    second: Block,
    /// Whether the branch leaves the loop, which it does once; else it goes around the second block, and nobody knows how often.
    leaves: bool,
}

/// Move what can be.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let (cfg, loops) = (analyses.cfg(func), analyses.loops(func));
    let limit = usize::try_from(context.knobs.int("speculation-limit")).unwrap_or(0);
    if loops.is_empty() || limit == 0 {
        return Ok(Changed::No);
    }
    let taken = address_taken(func);
    let region = |block: &Block| Region::of(func, &cfg, &loops, &taken, *block);
    let regions: Vec<Region> = cfg.rpo().iter().filter_map(region).collect();
    if regions.is_empty() {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let speculation = Speculation::new(func, context.arch, analyses.dominators(func));
    let is_swept = analyses.is_settled(SWEPT, func);
    let mut changed = false;
    for region in regions {
        let limit = if region.leaves { limit } else { limit / AROUND };
        let moved = region.candidates(func, context, &speculation, limit);
        if !moved.is_empty() {
            go_up(func, &moved, region.second, region.first);
            changed = true;
        }
    }
    if is_swept {
        // What has moved is read by those who read it before.
        analyses.settle(SWEPT, func);
    }
    Ok(Changed::when(changed))
}

impl Region {
    /// The block and the one behind it, if that is led to from there alone and both are in one innermost loop: elsewhere it does not pay.
    fn of(func: &Function, cfg: &Cfg, loops: &LoopForest, taken: &EntitySet<Block>, first: Block) -> Option<Region> {
        let inner = loops.innermost(first).filter(|inner| loops.is_innermost(*inner))?;
        let (guard, _) = lone_branch(func, first)?;
        let alone = |second: &Block| {
            cfg.single_pred(*second) == Some(first)
                && !taken.contains(*second)
                && func.phis(*second).is_empty()
                && loops.innermost(*second) == Some(inner)
        };
        // Of two such blocks the one that stands behind the branch.
        let second = func.succs(first).iter().rev().copied().find(alone)?;
        let leaves = func.succs(first).iter().any(|other| loops.innermost(*other) != Some(inner));
        is_decided_in(func, first, guard.pred).then_some(Region { first, second, leaves })
    }

    /// What may go ahead of the branch, in order.
    fn candidates(&self, func: &Function, context: &Context, speculation: &Speculation, limit: usize) -> Vec<InstId> {
        let mut passed = Passed::default();
        let mut moved: Vec<InstId> = Vec::new();
        for &inst in func.block_insts(self.second).iter().take(WINDOW) {
            if moved.len() == limit || !context.tally.is_open() {
                break;
            }
            let data = &func[inst];
            let is_soon = !latency::is_variable_opcode(data.opcode, context.arch);
            let computes = is_soon && Speculation::is_harmless(func, inst, context.arch);
            let loads =
                is_load(func, inst) && passed.lets_pass(data) && speculation.may_execute(func, inst, self.first);
            let is_free = self.leaves || !self.meets_another(func, inst);
            if is_free
                && (computes || loads)
                && is_there_before(func, inst, self.second, |other| moved.contains(&other))
            {
                context.tally.count(if computes { COMPUTATIONS } else { LOADS });
                moved.push(inst);
            }
            passed.add(data);
        }
        moved
    }

    /// Whether what an instruction gives meets another value where the branch leads past the second block. Both are there then, and a
    /// copy chooses.
    fn meets_another(&self, func: &Function, inst: InstId) -> bool {
        let Some(lists) = func.def_use() else { return false };
        let past = |phi: InstId| {
            lists.home(phi).is_some_and(|home| home != self.second && func.succs(self.first).contains(&home))
        };
        let mut meets = false;
        func.for_each_def(inst, |write| meets |= lists.users(write.reg).any(|user| func[user].is_phi() && past(user)));
        meets
    }
}

/// Whether the end of the block computes the predicate: else nobody waits for it.
fn is_decided_in(func: &Function, block: Block, pred: VReg) -> bool {
    let writes = |inst: &InstId| {
        let mut writes = false;
        func.for_each_def(*inst, |write| writes |= write.reg == pred);
        writes
    };
    func.is_value(pred) && func.block_insts(block).iter().rev().take(WINDOW).any(writes)
}
