//! Predecessors, reverse post-order, backedges.

use crate::entity::Block;
use crate::function::Function;
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;

/// The shape of a function's control flow at the time it was computed.
#[derive(Clone, Debug)]
pub struct Cfg {
    preds: SecondaryMap<Block, SmallVec<[Block; 2]>>,
    rpo: Vec<Block>,
    number: SecondaryMap<Block, Option<u32>>,
    backedges: Vec<(Block, Block)>,
}

/// Where the depth-first walk stands in one block.
struct Frame {
    block: Block,
    next: usize,
}

impl Cfg {
    /// Walk `func` from its entry.
    pub fn new(func: &Function) -> Self {
        let mut cfg = Cfg {
            preds: SecondaryMap::with_capacity(func.blocks.len()),
            rpo: Vec::with_capacity(func.layout.len()),
            number: SecondaryMap::with_capacity(func.blocks.len()),
            backedges: Vec::new(),
        };
        for &block in &func.layout {
            for &succ in func.succs(block) {
                if !cfg.preds[succ].contains(&block) {
                    cfg.preds[succ].push(block);
                }
            }
        }
        cfg.walk(func);
        cfg
    }

    /// Depth-first with an explicit stack, successors in order; an edge to a block whose walk is
    /// not finished goes back.
    fn walk(&mut self, func: &Function) {
        let Some(entry) = func.entry() else { return };
        let mut seen = EntitySet::with_capacity(func.blocks.len());
        let mut open = EntitySet::with_capacity(func.blocks.len());
        let mut stack = vec![Frame { block: entry, next: 0 }];
        seen.insert(entry);
        open.insert(entry);
        while let Some(frame) = stack.last_mut() {
            let block = frame.block;
            let Some(&succ) = func.succs(block).get(frame.next) else {
                open.remove(block);
                self.rpo.push(block);
                stack.pop();
                continue;
            };
            frame.next += 1;
            if open.contains(succ) && !self.backedges.contains(&(block, succ)) {
                self.backedges.push((block, succ));
            }
            if seen.insert(succ) {
                open.insert(succ);
                stack.push(Frame { block: succ, next: 0 });
            }
        }
        self.rpo.reverse();
        for (i, block) in self.rpo.iter().enumerate() {
            self.number[*block] = Some(i as u32);
        }
    }

    /// Predecessors, each once, in layout order; those in unreachable blocks too.
    pub fn preds(&self, block: Block) -> &[Block] {
        &self.preds[block]
    }

    /// Reachable blocks in reverse post-order.
    pub fn rpo(&self) -> &[Block] {
        &self.rpo
    }

    /// Position in the reverse post-order; `None` for unreachable blocks.
    pub fn rpo_number(&self, block: Block) -> Option<u32> {
        self.number[block]
    }

    /// Whether the entry reaches the block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.number[block].is_some()
    }

    /// Edges to a block that was still open in the depth-first walk, in the order found.
    pub fn backedges(&self) -> &[(Block, Block)] {
        &self.backedges
    }
}
