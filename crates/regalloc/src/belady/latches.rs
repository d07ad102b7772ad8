//! Blocks that go back to two loops at once.

use crate::AllocError;
use oriole_ori::Function;
use oriole_ori::analysis::{Cfg, LoopForest};

/// Of a block that goes back to the starts of two loops give the edge to the outer one a block of its own: what one of them
/// begins with need not be in registers for the other. Whether there was such a block.
///
/// # Errors
/// Where the function has no room for another block.
pub(crate) fn split_latches(func: &mut Function, cfg: &Cfg, loops: &LoopForest) -> Result<bool, AllocError> {
    let mut edges = cfg.backedges().to_vec();
    edges.sort_by_key(|(from, to)| (*from, std::cmp::Reverse(loops.depth(*to))));
    edges.dedup();
    let mut changed = false;
    for group in edges.chunk_by(|a, b| a.0 == b.0) {
        // More than two ways out are those of a table.
        for (from, to) in
            group.iter().skip(1).filter(|(from, _)| func.succs(*from).len() == 2).copied().collect::<Vec<_>>()
        {
            func.edit().split_edge(from, to)?;
            changed = true;
        }
    }
    Ok(changed)
}
