//! What decides on the next round of a loop is computed ahead of the ways through this one.
//!
//! Where a round may go several ways that meet at its end, the counter's step and its comparison stand behind them, and the branch waits for
//! both. Ahead of the branch into these ways they wait for nothing.

use crate::passes::general::may_be_shared;
use crate::passes::predicate::lone_branch;
use oriole_isa::Arch;
use oriole_ori::analysis::{DomTree, Loop, LoopForest, Speculation};
use oriole_ori::{Block, Function, InstId};
use rustc_hash::FxHashSet;

/// So many instructions go at most: their results live through the ways.
const MOST: usize = 3;

/// The instructions that decide on another round of the loop and the block at whose end they can, if that is another one than
/// the last of the round.
pub(super) fn early(
    func: &Function,
    arch: Arch,
    dominators: &DomTree,
    loops: &LoopForest,
    this: Loop,
) -> Option<(Vec<InstId>, Block)> {
    let &[latch] = &loops[this].latches[..] else { return None };
    let fork = dominators.idom(latch).filter(|fork| *fork != latch && loops.innermost(*fork) == Some(this))?;
    let (guard, _) = lone_branch(func, latch)?;
    if func.succs(fork).len() < 2 {
        return None;
    }
    let uses = func.def_use()?;
    let (mut chain, mut work) = (FxHashSet::default(), vec![guard.pred]);
    while let Some(value) = work.pop() {
        let inst = func.definition(value).filter(|_| func.is_value(value))?;
        // What is made elsewhere and read here dominates this block, and so the fork: on SSA form no single way makes it.
        if uses.home(inst)? != latch {
            continue;
        }
        if !chain.insert(inst) {
            continue;
        }
        let pure = may_be_shared(func[inst].opcode) && Speculation::is_harmless(func, inst, arch);
        if func[inst].is_phi() || !pure || chain.len() > MOST {
            return None;
        }
        func.for_each_use(inst, |read| work.push(read.reg));
    }
    let insts: Vec<InstId> = func.block_insts(latch).iter().copied().filter(|inst| chain.contains(inst)).collect();
    let apart = insts.iter().all(|inst| steps_apart(func, dominators, fork, *inst, &chain));
    (!insts.is_empty() && apart).then_some((insts, fork))
}

/// What the instruction steps on from is not read behind the fork: else both would live, and a round would copy one into the other.
fn steps_apart(func: &Function, dominators: &DomTree, fork: Block, inst: InstId, chain: &FxHashSet<InstId>) -> bool {
    let Some(uses) = func.def_use() else { return false };
    let mut apart = true;
    func.for_each_use(inst, |read| {
        let is_phi = func.definition(read.reg).is_some_and(|from| func[from].is_phi());
        let is_behind = |user: InstId| {
            let home = uses.home(user);
            !chain.contains(&user) && !home.is_some_and(|home| dominators.dominates(home, fork))
        };
        apart &= !is_phi || !uses.users(read.reg).any(is_behind);
    });
    apart
}
