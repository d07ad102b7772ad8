//! The dominator tree, by Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm").

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::cfg::Cfg;
use crate::ir::BlockId;

/// Which block dominates which, among those that the entry reaches.
#[derive(Clone, Debug)]
pub struct Dominators {
    idom: SecondaryMap<BlockId, PackedOption<BlockId>>,
    /// Numbers of the walk over the tree: when a block is entered and left.
    span: SecondaryMap<BlockId, (u32, u32)>,
    /// The blocks, each after its dominators: a walk over the tree.
    pub preorder: Vec<BlockId>,
}

impl Dominators {
    /// Computes the tree.
    #[must_use]
    pub fn new(cfg: &Cfg) -> Dominators {
        let idom = immediate(cfg);
        let mut children = vec![SmallVec::<[u32; 4]>::new(); cfg.rpo.len()];
        for (index, &up) in idom.iter().enumerate().skip(1) {
            children[up as usize].push(index as u32);
        }
        let mut tree = Dominators {
            idom: SecondaryMap::new(),
            span: SecondaryMap::with_default((0, 0)),
            preorder: Vec::with_capacity(cfg.rpo.len()),
        };
        for (index, &block) in cfg.rpo.iter().enumerate().skip(1) {
            tree.idom[block] = cfg.rpo[idom[index] as usize].into();
        }
        let mut clock = 0;
        let mut stack: Vec<(u32, usize)> = Vec::new();
        if let Some(&entry) = cfg.rpo.first() {
            stack.push((0, 0));
            tree.enter(entry, &mut clock);
        }
        while let Some((index, next)) = stack.last_mut() {
            let Some(&child) = children[*index as usize].get(*next) else {
                clock += 1;
                tree.span[cfg.rpo[*index as usize]].1 = clock;
                stack.pop();
                continue;
            };
            *next += 1;
            tree.enter(cfg.rpo[child as usize], &mut clock);
            stack.push((child, 0));
        }
        tree
    }

    fn enter(&mut self, block: BlockId, clock: &mut u32) {
        *clock += 1;
        self.span[block].0 = *clock;
        self.preorder.push(block);
    }

    /// The closest block that dominates `block` and is another.
    #[must_use]
    pub fn idom(&self, block: BlockId) -> Option<BlockId> {
        self.idom[block].expand()
    }

    /// True when every way from the entry to `below` leads through `above`; a block dominates itself.
    /// False when one of them is not reachable.
    #[must_use]
    pub fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        let (up, down) = (self.span[above], self.span[below]);
        up.0 != 0 && up.0 <= down.0 && down.1 <= up.1
    }

    /// For each block, where its dominance ends: the blocks that it does not strictly dominate, but one of
    /// whose predecessors it dominates.
    #[must_use]
    pub fn frontiers(&self, cfg: &Cfg) -> SecondaryMap<BlockId, SmallVec<[BlockId; 2]>> {
        let mut frontiers: SecondaryMap<BlockId, SmallVec<[BlockId; 2]>> = SecondaryMap::new();
        for &join in cfg.rpo.iter().filter(|&&block| cfg.preds(block).len() > 1) {
            for &pred in cfg.preds(join) {
                let mut runner = Some(pred);
                while let Some(block) = runner.filter(|&block| Some(block) != self.idom(join)) {
                    // The same join arrives from all its predecessors in turn: it can only be the last one.
                    if frontiers[block].last() != Some(&join) {
                        frontiers[block].push(join);
                    }
                    runner = self.idom(block);
                }
            }
        }
        frontiers
    }
}

/// Immediate dominators by number in reverse post-order; the entry is its own.
fn immediate(cfg: &Cfg) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut idom = vec![NONE; cfg.rpo.len()];
    if let Some(first) = idom.first_mut() {
        *first = 0;
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (index, &block) in cfg.rpo.iter().enumerate().skip(1) {
            let mut best = NONE;
            for pred in cfg.preds(block).iter().map(|&pred| cfg.number(pred) as u32) {
                if idom[pred as usize] != NONE {
                    best = if best == NONE { pred } else { meet(&idom, best, pred) };
                }
            }
            if idom[index] != best {
                idom[index] = best;
                changed = true;
            }
        }
    }
    idom
}

fn meet(idom: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while a > b {
            a = idom[a as usize];
        }
        while b > a {
            b = idom[b as usize];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Body, Op, TypeId};

    /// A body of `n` blocks with the edges of `edges`, by way of `indirectbr`; used by graph analyses only.
    fn graph(n: usize, edges: &[(usize, usize)]) -> (Body, Vec<BlockId>) {
        let mut body = Body::default();
        let address = body.add_param(TypeId::PTR);
        let blocks: Vec<_> = (0..n).map(|_| body.add_block()).collect();
        for (from, &block) in blocks.iter().enumerate() {
            let targets = edges.iter().filter(|edge| edge.0 == from).map(|edge| blocks[edge.1]).collect();
            body.push(block, Op::IndirectBr(address.into(), targets), TypeId::VOID);
        }
        (body, blocks)
    }

    /// Dominance by definition: `below` cannot be reached when `above` is taken away.
    fn dominates_by_definition(edges: &[(usize, usize)], above: usize, below: usize) -> bool {
        let reach = |without: Option<usize>| {
            let mut seen = vec![];
            let mut work = vec![0];
            while let Some(at) = work.pop() {
                if Some(at) == without || seen.contains(&at) {
                    continue;
                }
                seen.push(at);
                work.extend(edges.iter().filter(|edge| edge.0 == at).map(|edge| edge.1));
            }
            seen
        };
        let all = reach(None);
        all.contains(&above) && all.contains(&below) && !reach(Some(above)).contains(&below)
    }

    #[test]
    fn random_graphs_by_definition() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let n = rng.usize(1..12);
            // Nothing goes back to the entry in LLVM IR.
            let edges = (0..rng.usize(0..2 * n)).map(|_| (rng.usize(0..n), rng.usize(0..n)));
            let edges: Vec<_> = edges.filter(|&(_, to)| to != 0).collect();
            let (body, blocks) = graph(n, &edges);
            let cfg = Cfg::new(&body);
            let tree = Dominators::new(&cfg);
            for above in 0..n {
                for below in 0..n {
                    let expected = dominates_by_definition(&edges, above, below);
                    assert_eq!(tree.dominates(blocks[above], blocks[below]), expected, "{edges:?} {above} {below}");
                }
            }
            let frontiers = tree.frontiers(&cfg);
            for (a, &block) in blocks.iter().enumerate().filter(|(_, block)| cfg.is_reachable(**block)) {
                for (b, &join) in blocks.iter().enumerate() {
                    let strict = a != b && dominates_by_definition(&edges, a, b);
                    let enters =
                        (0..n).any(|pred| edges.contains(&(pred, b)) && dominates_by_definition(&edges, a, pred));
                    assert_eq!(frontiers[block].contains(&join), enters && !strict, "{edges:?} {a} {b}");
                }
            }
        }
    }
}
