//! The order of the blocks, and the tidying up of control flow that goes with it.
//!
//! * ways through empty blocks lead straight to where they end;
//! * a block with one successor takes it in when nothing else leads there;
//! * a block is followed by one of its successors where possible, the blocks of a loop stay together,
//!   and what ends in `trap` or `exit` comes last;
//! * a branch falls through when its predicate is false ([`Terminator::Branch`]'s `otherwise` is the
//!   next block) wherever one of its targets is next.
//!
//! Runs behind the way out of SSA only: it knows no `phi`s.

use std::cmp::Reverse;

use cranelift_entity::{EntitySet, SecondaryMap};
use oriole_graph::Loop;

use super::cfg::{Cfg, DomTree, Loops, Ordered, Successors, successors};
use super::context::Context;
use super::dead_code::remove_unreachable;
use crate::machine::{BlockId, Function, Terminator};

/// Runs the pass; true when something changed.
pub fn run(cx: &mut Context<'_>) -> bool {
    let function = &mut *cx.function;
    let mut changed = thread_jumps(function);
    changed |= remove_unreachable(function);
    changed |= merge_chains(function);
    changed |= order_blocks(function);
    changed | fall_through(function)
}

/// Leads ways through empty blocks straight to their end, and makes branches with one target jumps.
fn thread_jumps(function: &mut Function) -> bool {
    let ends = jump_ends(function);
    let mut changed = false;
    for &block in &function.layout {
        let terminator = &mut function.blocks[block].terminator;
        terminator.for_each_successor_mut(|to| {
            let end = ends[*to].unwrap_or(*to);
            changed |= end != *to;
            *to = end;
        });
        if let Terminator::Branch { then, otherwise, .. } = *terminator
            && then == otherwise
        {
            *terminator = Terminator::Goto(then);
            changed = true;
        }
    }
    changed
}

/// Where each block leads through nothing but jumps. A circle of jumps leads to one of its blocks.
///
/// An empty header of a loop stays before the header of an inner loop: with one header for both, threads that go on
/// with the inner loop cannot be told from those that begin another round of the outer one, and never meet.
fn jump_ends(function: &Function) -> SecondaryMap<BlockId, Option<BlockId>> {
    let cfg = Cfg::of_reachable(function);
    let loops = Loops::new(&cfg, &DomTree::dominators(&cfg));
    let keeps_apart = |at: BlockId, to: BlockId| {
        let (Some(outer), Some(inner)) = (loops.innermost(at), loops.innermost(to)) else { return false };
        loops[outer].header == at && loops[inner].header == to && loops[inner].parent == Some(outer)
    };
    let mut ends: SecondaryMap<BlockId, Option<BlockId>> = SecondaryMap::new();
    let mut path = Vec::new();
    for &start in &function.layout {
        let mut at = start;
        while ends[at].is_none() {
            ends[at] = Some(at);
            let block = &function.blocks[at];
            match block.terminator {
                Terminator::Goto(to) if block.insts.is_empty() && !keeps_apart(at, to) => {
                    path.push(at);
                    at = to;
                }
                _ => break,
            }
        }
        let end = ends[at];
        path.drain(..).for_each(|block| ends[block] = end);
    }
    ends
}

/// Appends to each block the one that only it leads to, when it leads nowhere else.
fn merge_chains(function: &mut Function) -> bool {
    let cfg = Cfg::of_reachable(function);
    let entry = function.layout.first().copied();
    let mut gone = EntitySet::new();
    for &block in cfg.rpo() {
        while let Terminator::Goto(next) = function.blocks[block].terminator
            && next != block
            && Some(next) != entry
            && cfg.preds(next).len() == 1
        {
            gone.insert(next);
            let taken = std::mem::take(&mut function.blocks[next].insts);
            let end = std::mem::replace(&mut function.blocks[next].terminator, Terminator::Ret);
            function.blocks[block].insts.extend(taken);
            function.blocks[block].terminator = end;
        }
    }
    let before = function.layout.len();
    function.layout.retain(|&block| !gone.contains(block));
    function.layout.len() != before
}

/// What the order is made of: a block, or a whole loop.
#[derive(Clone, Copy)]
enum Item {
    Block(BlockId),
    Loop(Loop),
}

fn order_blocks(function: &mut Function) -> bool {
    let cfg = Cfg::of_reachable(function);
    let loops = Loops::new(&cfg, &DomTree::dominators(&cfg));
    let cold = cold_blocks(function, &cfg);
    let mut old_place: SecondaryMap<BlockId, usize> = SecondaryMap::new();
    function.layout.iter().enumerate().for_each(|(at, &block)| old_place[block] = at);
    // The last of the successors comes closest: one that stays in the loops, and the first of the old order.
    let closest_last = |mut next: Successors| {
        next.sort_by_key(|&to| (!cold.contains(to), loops.depth(to), Reverse(old_place[to])));
        next
    };
    let ordered = Cfg::of_reachable(&Ordered { function, order: closest_last });
    let order = ordered.rpo();
    let mut layout = keep_loops_together(order, &loops);
    layout.sort_by_key(|&block| cold.contains(block) && Some(&block) != order.first());
    let changed = layout != function.layout;
    function.layout = layout;
    changed
}

/// The blocks that lead nowhere but to `trap` and `exit`.
fn cold_blocks(function: &Function, cfg: &Cfg) -> EntitySet<BlockId> {
    let mut cold = EntitySet::new();
    for &block in cfg.rpo().iter().rev() {
        let next = successors(function, block);
        let is_cold = match function.blocks[block].terminator {
            Terminator::Trap | Terminator::Exit => true,
            _ => !next.is_empty() && next.iter().all(|&to| cold.contains(to)),
        };
        if is_cold {
            cold.insert(block);
        }
    }
    cold
}

/// The blocks in an order in which each loop is in one piece, beginning where its header is.
fn keep_loops_together(order: &[BlockId], loops: &Loops) -> Vec<BlockId> {
    let mut outermost = Vec::new();
    let mut inside: SecondaryMap<Loop, Vec<Item>> = SecondaryMap::new();
    for &block in order {
        let around = loops.innermost(block);
        let mut put = |around: Option<Loop>, item| match around {
            Some(around) => inside[around].push(item),
            None => outermost.push(item),
        };
        if let Some(own) = around.filter(|own| loops[*own].header == block) {
            put(loops[own].parent, Item::Loop(own));
        }
        put(around, Item::Block(block));
    }
    let mut layout = Vec::with_capacity(order.len());
    let mut stack = vec![outermost.into_iter()];
    while let Some(items) = stack.last_mut() {
        match items.next() {
            Some(Item::Block(block)) => layout.push(block),
            Some(Item::Loop(inner)) => stack.push(std::mem::take(&mut inside[inner]).into_iter()),
            None => {
                stack.pop();
            }
        }
    }
    layout
}

/// Makes the next block the one that a branch falls through to, if it is one of its targets.
fn fall_through(function: &mut Function) -> bool {
    let mut changed = false;
    for at in 1..function.layout.len() {
        let next = function.layout[at];
        let block = &mut function.blocks[function.layout[at - 1]];
        if let Terminator::Branch { negated, then, otherwise, .. } = &mut block.terminator
            && *then == next
        {
            std::mem::swap(then, otherwise);
            *negated = !*negated;
            changed = true;
        }
    }
    changed
}
