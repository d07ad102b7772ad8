//! Across blocks: a predicate no longer lives from one to the other, each block that reads it tests again.

use super::{MOST, Test, Writes, is_predicate, most_live, repeat};
use crate::AllocError;
use crate::weights::BlockWeights;
use oriole_ori::analysis::{DomTree, Flow, LoopForest};
use oriole_ori::{Block, Function, InstId, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a register costs that has to live on for the sake of tests, in tests.
const LIVES_ON: f32 = 2.0;

/// A predicate that could be tested again wherever it is read.
struct Candidate {
    reg: VReg,
    test: InstId,
    /// The blocks that read it, but for the one in which the test stands.
    readers: Vec<Block>,
    cost: f32,
}

/// Whether some are tested again: the cheapest of those that live in blocks where too many do.
pub(super) fn retest(func: &mut Function, flow: &Flow, writes: &Writes) -> Result<bool, AllocError> {
    let candidates = candidates(func, flow, writes);
    let mut leaving: FxHashSet<VReg> = FxHashSet::default();
    for &block in func.layout() {
        let beyond = |candidate: &&Candidate| flow.live.is_live_out(block, candidate.reg, 0);
        let mut here: Vec<&Candidate> = candidates.iter().filter(beyond).collect();
        here.retain(|candidate| !leaving.contains(&candidate.reg));
        here.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let mut here = here.into_iter();
        while most_live(func, flow, block, &leaving) > MOST {
            let Some(next) = here.next() else { break };
            leaving.insert(next.reg);
        }
    }
    let chosen: Vec<&Candidate> = candidates.iter().filter(|candidate| leaving.contains(&candidate.reg)).collect();
    for candidate in &chosen {
        for &block in &candidate.readers {
            test_in(func, candidate, block)?;
        }
    }
    Ok(!chosen.is_empty())
}

/// The predicates that other blocks read than the one that tests, and whose tests read what is written once, outside of loops.
fn candidates(func: &Function, flow: &Flow, writes: &Writes) -> Vec<Candidate> {
    let loops = LoopForest::new(&flow.cfg, &DomTree::dominators(&flow.cfg));
    let weights = BlockWeights::new(func, &loops);
    let mut homes: FxHashMap<VReg, Block> = FxHashMap::default();
    let mut readers: FxHashMap<VReg, Vec<Block>> = FxHashMap::default();
    let mut found = Vec::new();
    for (block, inst) in func.iter_insts() {
        func.for_each_def(inst, |write| {
            homes.insert(write.reg, block);
        });
        func.for_each_use(inst, |read| {
            let blocks = is_predicate(func, read.reg).then(|| readers.entry(read.reg).or_default());
            blocks.into_iter().filter(|blocks| blocks.last() != Some(&block)).for_each(|blocks| blocks.push(block));
        });
        found.extend(writes.repeatable(func, inst).map(|test| (test, inst, block)));
    }
    let in_no_loop = |reg: &VReg| homes.get(reg).is_some_and(|home| loops.innermost(*home).is_none());
    let candidate = |(test, inst, home): (Test, InstId, Block)| {
        let mut readers = readers.remove(&test.gives).filter(|_| test.reads.iter().all(in_no_loop))?;
        readers.retain(|block| *block != home);
        let lives_on = test.reads.iter().any(|reg| readers.iter().any(|block| !flow.live.is_live_in(*block, *reg, 0)));
        let cost = readers.iter().map(|block| weights.of(*block)).sum::<f32>() + if lives_on { LIVES_ON } else { 0.0 };
        (!readers.is_empty()).then_some(Candidate { reg: test.gives, test: inst, readers, cost })
    };
    found.into_iter().filter_map(candidate).collect()
}

/// Test in a block ahead of its first reader, and let all in it read that.
fn test_in(func: &mut Function, candidate: &Candidate, block: Block) -> Result<(), AllocError> {
    let reads = |func: &Function, inst: InstId| {
        let mut reads = false;
        func.for_each_use(inst, |read| reads |= read.reg == candidate.reg);
        reads
    };
    let Some(first) = func.block_insts(block).iter().position(|inst| reads(func, *inst)) else { return Ok(()) };
    let (again, now) = repeat(func, candidate.test, candidate.reg)?;
    let behind: Vec<InstId> = func.block_insts(block).iter().skip(first).copied().collect();
    for inst in behind {
        func.edit().rename_regs(inst, |reg, is_def| if reg == candidate.reg && !is_def { now } else { reg });
    }
    func.edit().place(block, first, &[again]);
    Ok(())
}
