//! Part of slot 71: exchanges whose lanes meet no others.
//!
//! Lowering takes an exchange for one of two that lanes may be at together where no path goes from one to the other: in both arms of a branch,
//! whatever the branch. Lanes without some of their members then go to a function where all meet; a ballot of those that are here,
//! with [`InstFlags::MEETING`], tells. Where all lanes of a warp take the same arm, nobody is missing.

use super::general::source;
use super::nested::decide;
use super::predicate::lone_branch;
use crate::Context;
use oriole_isa::{Opcode, Role};
use oriole_ori::analysis::{Analyses, Cfg, DomTree, Uniformity};
use oriole_ori::layout::remove_unreachable;
use oriole_ori::{Block, Callee, EntitySet, Function, Inst, InstFlags, InstId, Symbol};
use std::collections::BTreeMap;

/// An exchange with a test for missing members.
#[derive(Clone, Copy)]
struct Place {
    /// The block of the test.
    block: Block,
    /// The ballot that the test begins with.
    vote: InstId,
    /// Where the exchange is, for members that are all here.
    here: Block,
    /// What is called for others.
    elsewhere: Symbol,
}

/// Whether an instruction is the ballot of such a test.
pub(super) fn is_test(inst: &Inst) -> bool {
    inst.is_machine() && inst.opcode == Opcode::VOTE && inst.flags.contains(InstFlags::MEETING)
}

/// Takes out the tests that find nobody missing, each a rewrite by `rule`; whether there were any.
pub(super) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses, rule: usize) -> bool {
    let places: Vec<Place> = func.layout().iter().filter_map(|block| place(func, *block)).collect();
    if places.is_empty() {
        return false;
    }
    let uniformity = analyses.uniformity(func, context.arch);
    let joins = analyses.post_dominators(func);
    let apart = apart(func, &uniformity, &joins, &places);
    let mut changed = false;
    for place in places.iter().filter(|place| !apart.contains(place.block)) {
        if context.tally.is_open() && take_out(func, *place) {
            context.tally.count(rule);
            changed = true;
        }
    }
    if changed {
        remove_unreachable(func, &Cfg::new(func));
    }
    changed
}

/// The test in a block.
fn place(func: &Function, block: Block) -> Option<Place> {
    let vote = *func.block_insts(block).iter().find(|inst| is_test(&func[**inst]))?;
    let &[aside, here] = func.succs(block) else { return None };
    let called = func.block_insts(aside).iter().find_map(|inst| func[*inst].call.expand())?;
    match func[called].callee {
        Callee::Direct(elsewhere) => Some(Place { block, vote, here, elsewhere }),
        Callee::Indirect | Callee::Return => None,
    }
}

/// The blocks of the places that lanes of a warp may be at while others are at another place of the same kind: these went another
/// way at a divergent branch, and have not come to where its ways meet.
fn apart(func: &Function, uniformity: &Uniformity, joins: &DomTree, places: &[Place]) -> EntitySet<Block> {
    let mut kinds: BTreeMap<Symbol, Vec<Block>> = BTreeMap::new();
    for place in places {
        kinds.entry(place.elsewhere).or_default().push(place.block);
    }
    let mut apart = EntitySet::new();
    for &fork in func.layout().iter().filter(|block| uniformity.is_divergent(**block)) {
        let ways: Vec<EntitySet<Block>> =
            func.succs(fork).iter().map(|succ| way(func, *succ, fork, joins.idom(fork))).collect();
        for blocks in kinds.values() {
            let found: Vec<Vec<Block>> =
                ways.iter().map(|way| blocks.iter().copied().filter(|block| way.contains(*block)).collect()).collect();
            for (at, one) in found.iter().enumerate() {
                let others = || found[..at].iter().chain(&found[at + 1..]).flatten();
                for block in one.iter().filter(|block| others().any(|other| other != *block)) {
                    apart.insert(*block);
                }
            }
        }
    }
    apart
}

/// The blocks from one on, up to where the ways of `fork` meet or it is come to again.
fn way(func: &Function, from: Block, fork: Block, join: Option<Block>) -> EntitySet<Block> {
    let (mut seen, mut next) = (EntitySet::new(), vec![from]);
    while let Some(block) = next.pop() {
        if block != fork && Some(block) != join && seen.insert(block) {
            next.extend(func.succs(block));
        }
    }
    seen
}

/// All members are here: the test goes.
fn take_out(func: &mut Function, place: Place) -> bool {
    let Some((guard, _)) = lone_branch(func, place.block) else { return false };
    decide(func, place.block, place.here);
    // The comparison, what it compares, the ballot: each reads the one before.
    let mut value = Some(guard.pred);
    while let Some(made) = value.and_then(|value| func.definition(value)) {
        value = source(&func[made], Role::A).filter(|_| made != place.vote).and_then(|from| from.as_reg());
        func.edit().retain_insts(place.block, |_, inst| inst != made);
    }
    true
}
