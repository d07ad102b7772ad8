//! The forest of natural loops.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use smallvec::SmallVec;

use super::cfg::Cfg;
use super::dominators::Dominators;
use crate::ir::{BlockId, Body};

/// A natural loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(u32);
entity_impl!(LoopId, "loop");

/// One natural loop: a header that dominates the blocks that go back to it.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Where the loop is entered.
    pub header: BlockId,
    /// The blocks in the loop that go to the header.
    pub latches: SmallVec<[BlockId; 1]>,
    /// All blocks, inner loops' too, in reverse post-order: the header first.
    pub blocks: Vec<BlockId>,
    /// Edges out of the loop.
    pub exits: Vec<(BlockId, BlockId)>,
    /// The loop around this one.
    pub parent: Option<LoopId>,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// The one block outside that goes to the header, if it goes nowhere else.
    pub preheader: Option<BlockId>,
}

/// The loops of a function.
#[derive(Clone, Debug)]
pub struct Loops {
    list: PrimaryMap<LoopId, Loop>,
    innermost: SecondaryMap<BlockId, PackedOption<LoopId>>,
}

impl std::ops::Index<LoopId> for Loops {
    type Output = Loop;

    fn index(&self, id: LoopId) -> &Loop {
        &self.list[id]
    }
}

impl Loops {
    /// Finds the loops. Circles with several entries are no natural loops and are not found.
    #[must_use]
    pub fn new(body: &Body, cfg: &Cfg, dominators: &Dominators) -> Loops {
        let mut loops = Loops { list: PrimaryMap::new(), innermost: SecondaryMap::new() };
        // A header comes after those of the loops around it, so that backwards inner loops are found first.
        for &header in cfg.rpo.iter().rev() {
            let latches: SmallVec<[BlockId; 1]> =
                cfg.preds(header).iter().copied().filter(|&pred| dominators.dominates(header, pred)).collect();
            if !latches.is_empty() {
                loops.discover(header, latches, cfg);
            }
        }
        loops.fill(body, cfg);
        loops
    }

    /// Collects a loop backwards from its latches; an inner loop that is met is taken as a whole.
    fn discover(&mut self, header: BlockId, latches: SmallVec<[BlockId; 1]>, cfg: &Cfg) {
        let mut work: Vec<BlockId> = latches.to_vec();
        let id = self.list.push(Loop {
            header,
            latches,
            blocks: Vec::new(),
            exits: Vec::new(),
            parent: None,
            depth: 0,
            preheader: None,
        });
        while let Some(block) = work.pop() {
            match self.innermost[block].expand() {
                None => {
                    self.innermost[block] = id.into();
                    if block != header {
                        work.extend(cfg.preds(block));
                    }
                }
                Some(mut inner) => {
                    while let Some(parent) = self.list[inner].parent {
                        inner = parent;
                    }
                    if inner != id {
                        self.list[inner].parent = Some(id);
                        let inner_header = self.list[inner].header;
                        work.extend(cfg.preds(inner_header));
                    }
                }
            }
        }
    }

    fn fill(&mut self, body: &Body, cfg: &Cfg) {
        // Outer loops were found after inner ones.
        let ids: Vec<LoopId> = self.list.keys().rev().collect();
        for &id in &ids {
            self.list[id].depth = self.list[id].parent.map_or(1, |parent| self.list[parent].depth + 1);
        }
        for &block in &cfg.rpo {
            let mut around = self.innermost[block].expand();
            while let Some(id) = around {
                self.list[id].blocks.push(block);
                around = self.list[id].parent;
            }
        }
        for &id in &ids {
            let mut exits = Vec::new();
            for &block in &self.list[id].blocks {
                let out = body.successors(block).into_iter().filter(|&to| !self.contains(id, to));
                exits.extend(out.map(|to| (block, to)));
            }
            let header = self.list[id].header;
            let mut outside = cfg.preds(header).iter().copied().filter(|&pred| !self.contains(id, pred));
            let single = outside.next().filter(|_| outside.next().is_none());
            self.list[id].preheader = single.filter(|&block| body.successors(block).len() == 1);
            self.list[id].exits = exits;
        }
    }

    /// The innermost loop that a block is in.
    #[must_use]
    pub fn innermost(&self, block: BlockId) -> Option<LoopId> {
        self.innermost[block].expand()
    }

    /// How many loops a block is in.
    #[must_use]
    pub fn depth(&self, block: BlockId) -> u32 {
        self.innermost(block).map_or(0, |id| self.list[id].depth)
    }

    /// True when the block is in the loop or in one inside it.
    #[must_use]
    pub fn contains(&self, id: LoopId, block: BlockId) -> bool {
        let mut around = self.innermost(block);
        while let Some(inner) = around.filter(|&inner| inner != id) {
            around = self.list[inner].parent;
        }
        around.is_some()
    }

    /// True when no other loop lies in it.
    #[must_use]
    pub fn is_innermost(&self, id: LoopId) -> bool {
        self.list[id].blocks.iter().all(|&block| self.innermost(block) == Some(id))
    }

    /// The loops, inner ones before those around them.
    #[must_use]
    pub fn inner_first(&self) -> Vec<LoopId> {
        self.list.keys().collect()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Op, TypeId};

    #[test]
    fn nested_loops() {
        // 0 -> 1 { 2 { 3 } 4 } 5; 3 is a loop of its own, 2-3-4 lie inside 1..4.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 3), (3, 2), (2, 4), (4, 1), (4, 5), (1, 5)];
        let mut body = Body::default();
        let address = body.add_param(TypeId::PTR);
        let blocks: Vec<_> = (0..6).map(|_| body.add_block()).collect();
        for (from, &block) in blocks.iter().enumerate() {
            let targets = edges.iter().filter(|edge| edge.0 == from).map(|edge| blocks[edge.1]).collect();
            body.push(block, Op::IndirectBr(address.into(), targets), TypeId::VOID);
        }
        let cfg = Cfg::new(&body);
        let loops = Loops::new(&body, &cfg, &Dominators::new(&cfg));
        let depths: Vec<_> = blocks.iter().map(|&block| loops.depth(block)).collect();
        assert_eq!(depths, [0, 1, 2, 3, 1, 0]);
        let outer = loops.innermost(blocks[1]).unwrap();
        assert_eq!(loops[outer].blocks, blocks[1..5]);
        assert_eq!(loops[outer].exits.len(), 2);
        assert_eq!(loops[outer].preheader, Some(blocks[0]));
        let middle = loops.innermost(blocks[2]).unwrap();
        assert_eq!((loops[middle].parent, loops[middle].preheader), (Some(outer), None));
        assert_eq!(loops[middle].latches.as_slice(), [blocks[3]]);
        assert_eq!(loops.inner_first().last(), Some(&outer));
    }
}
