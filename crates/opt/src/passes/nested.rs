//! Slot 38, on SSA form and behind slot 49, which makes equal conditions one value: conditions under conditions.
//!
//! A branch on a constant, or on a predicate that a branch on the way to it has tested, is decided, and goes. A branch one of whose ways
//! leads to another branch, and both of whose other ways lead to one block, is one branch on both conditions, if what stands between may be
//! executed for nothing. The general bundle behind predication (slot 65) lets a comparison combine the two.

use super::general::{known_predicate, may_be_shared};
use super::predicate::{combined, lone_branch};
use crate::{Changed, Context, PhaseError};
use oriole_isa::Arch;
use oriole_ori::analysis::{Analyses, Cfg, DomTree, Speculation};
use oriole_ori::layout::{address_taken, remove_phi_inputs, remove_unreachable};
use oriole_ori::{Block, BuildError, EntitySet, Function, Guard, Inst, InstId, VReg};
use rustc_hash::FxHashMap;

/// What is counted.
pub(crate) const RULES: &[&str] = &["decided branches", "nested conditions"];
const DECIDED: usize = 0;
const NESTED: usize = 1;

/// So many branches on one predicate are looked at for another one on it.
const MOST_TESTS: usize = 16;
/// Truth table of the first or the second input of PLOP3.
const EITHER: u32 = 0xfc;

/// Decide what is decided, then join what is left.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let (cfg, dominators) = (analyses.cfg(func), analyses.dominators(func));
    func.edit().keep_def_use();
    let mut changed = false;
    for (block, stay) in decided(func, &cfg, &dominators) {
        if context.tally.is_open() {
            context.tally.count(DECIDED);
            decide(func, block, stay);
            changed = true;
        }
    }
    if changed {
        remove_unreachable(func, &Cfg::new(func));
    }
    changed |= join_nested(func, context)?;
    Ok(Changed::when(changed))
}

/// Blocks whose branch is decided, each with where it goes.
fn decided(func: &Function, cfg: &Cfg, dominators: &DomTree) -> Vec<(Block, Block)> {
    let mut tests: FxHashMap<VReg, Vec<(Block, Guard)>> = FxHashMap::default();
    let mut found = Vec::new();
    for &block in cfg.rpo() {
        let (Some((guard, _)), &[taken, next]) = (lone_branch(func, block), func.succs(block)) else { continue };
        let way = |holds: bool| if holds != guard.negated { taken } else { next };
        if taken == next {
            continue;
        }
        let earlier = tests.entry(guard.pred).or_default();
        let known = known_predicate(func, guard.pred).or_else(|| {
            earlier.iter().find_map(|(test, of_test)| value_behind(func, cfg, dominators, (*test, *of_test), block))
        });
        match known {
            Some(holds) => found.push((block, way(holds))),
            None if earlier.len() < MOST_TESTS => earlier.push((block, guard)),
            None => {}
        }
    }
    found
}

/// What the predicate of a test is where `block` begins, if only one of the test's ways leads there.
fn value_behind(
    func: &Function,
    cfg: &Cfg,
    dominators: &DomTree,
    (test, guard): (Block, Guard),
    block: Block,
) -> Option<bool> {
    let &[taken, next] = func.succs(test) else { return None };
    let leads = |way: Block| cfg.single_pred(way) == Some(test) && dominators.dominates(way, block);
    match (leads(taken), leads(next)) {
        (true, false) => Some(!guard.negated),
        (false, true) => Some(guard.negated),
        _ => None,
    }
}

/// The block goes on to `stay` alone.
pub(super) fn decide(func: &mut Function, block: Block, stay: Block) {
    for succ in func.succs(block).to_vec() {
        if succ != stay {
            remove_phi_inputs(func, succ, block);
        }
    }
    func.edit().pop(block);
    func.edit().set_succs(block, &[stay]);
}

/// From the innermost conditions outward, so that what is computed for nothing stays within the limit.
fn join_nested(func: &mut Function, context: &Context) -> Result<bool, BuildError> {
    let limit = usize::try_from(context.knobs.int("nested-limit")).unwrap_or(0);
    let cfg = Cfg::new(func);
    let taken = address_taken(func);
    let mut removed: EntitySet<Block> = EntitySet::new();
    for &block in cfg.rpo().iter().rev() {
        if removed.contains(block) {
            continue;
        }
        while let Some(nest) = Nest::of(func, (&cfg, &taken), block, limit, context.arch) {
            if !context.tally.is_open() {
                break;
            }
            context.tally.count(NESTED);
            nest.join(func, block)?;
            removed.insert(nest.inner);
        }
    }
    func.edit().retain_blocks(|block| !removed.contains(block));
    Ok(!removed.is_empty())
}

/// A branch under a branch.
struct Nest {
    /// The block with the second branch, to which the first alone leads.
    inner: Block,
    /// Where both lead.
    shared: Block,
    /// Where neither leads if it goes there.
    rest: Block,
    /// When each goes to the shared block.
    leaves: [Guard; 2],
    /// The first branch leads to the inner block, and the shared one comes without it.
    shared_is_next: bool,
}

impl Nest {
    fn of(
        func: &Function,
        (cfg, taken): (&Cfg, &EntitySet<Block>),
        block: Block,
        limit: usize,
        arch: Arch,
    ) -> Option<Nest> {
        let (&[first, second], (guard, _)) = (func.succs(block), lone_branch(func, block)?) else { return None };
        [(second, first, guard, false), (first, second, guard.opposite(), true)].into_iter().find_map(
            |(inner, shared, leaves, shared_is_next)| {
                let (&[a, b], (inner_guard, branch)) = (func.succs(inner), lone_branch(func, inner)?) else {
                    return None;
                };
                let (rest, inner_leaves) = match shared {
                    _ if a == b => return None,
                    _ if shared == a => (b, inner_guard),
                    _ if shared == b => (a, inner_guard.opposite()),
                    _ => return None,
                };
                // A block that another one has swallowed hands its successors on: these still have one predecessor.
                let alone = cfg.preds(inner).len() == 1 && ![block, shared, rest].contains(&inner);
                let own = alone && !taken.contains(inner) && func.phis(inner).is_empty() && func.entry() != Some(inner);
                let free = |inst: InstId| {
                    inst == branch || may_be_shared(func[inst].opcode) && Speculation::is_harmless(func, inst, arch)
                };
                let insts = func.block_insts(inner);
                let free = insts.len() <= limit + 1 && insts.iter().all(|inst| free(*inst));
                let nest = Nest { inner, shared, rest, leaves: [leaves, inner_leaves], shared_is_next };
                (own && free && nest.ways_agree(func, block)).then_some(nest)
            },
        )
    }

    /// Whether MovPhis of the shared block take the same from both.
    fn ways_agree(&self, func: &Function, block: Block) -> bool {
        func.phis(self.shared).iter().all(|phi| {
            let from = |pred: Block| func.phi_inputs(*phi).find(|(_, from)| *from == pred).map(|(source, _)| source);
            from(block) == from(self.inner)
        })
    }

    /// The block takes in the inner one and branches on both conditions.
    fn join(&self, func: &mut Function, block: Block) -> Result<(), BuildError> {
        let Nest { inner, shared, rest, leaves: [first, second], shared_is_next } = *self;
        let loc = func.block_insts(block).last().map(|branch| func[*branch].loc);
        func.edit().pop(block);
        func.edit().pop(inner);
        let insts = func.edit().take_insts(inner);
        for inst in insts {
            func.edit().place_last(block, inst);
        }
        let either = func.new_vreg_like(first.pred)?;
        let logic = combined(either, [first, second], EITHER);
        let target = if shared_is_next { rest } else { shared };
        let guard = Guard { pred: either, negated: shared_is_next };
        for mut inst in [logic, Inst::bra(target).guarded(Some(guard))] {
            inst.loc = loc.unwrap_or_default();
            func.edit().append(block, inst);
        }
        remove_phi_inputs(func, shared, inner);
        func.edit().rename_phi_pred(rest, inner, block);
        func.edit().clear_block(inner);
        func.edit().set_succs(block, &if shared_is_next { [rest, shared] } else { [shared, rest] });
        Ok(())
    }
}
