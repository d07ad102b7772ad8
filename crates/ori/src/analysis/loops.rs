//! The loop forest: natural loops, nested.

use super::cfg::Cfg;
use super::dominators::DomTree;
use crate::entity::Block;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};

/// A loop of the forest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loop(u32);
entity_impl!(Loop, "loop");

/// One natural loop.
#[derive(Clone, Debug)]
pub struct LoopData {
    /// The only block through which it is entered.
    pub header: Block,
    /// Sources of the edges back to the header.
    pub latches: Vec<Block>,
    /// The loop around it.
    pub parent: Option<Loop>,
    /// 1 for outermost loops.
    pub depth: u32,
    /// All blocks, those of inner loops too, in reverse post-order (the header first).
    pub blocks: Vec<Block>,
}

/// The loops of a function.
#[derive(Clone, Debug)]
pub struct LoopForest {
    loops: PrimaryMap<Loop, LoopData>,
    innermost: SecondaryMap<Block, PackedOption<Loop>>,
    irreducible: Vec<(Block, Block)>,
}

impl LoopForest {
    /// Find the loops. A backedge whose target does not dominate its source makes no loop here; it is
    /// listed as irreducible.
    pub fn new(cfg: &Cfg, dom: &DomTree) -> Self {
        let mut forest =
            LoopForest { loops: PrimaryMap::new(), innermost: SecondaryMap::new(), irreducible: Vec::new() };
        let mut latches: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
        for &(from, to) in cfg.backedges() {
            if dom.dominates(to, from) {
                latches[to].push(from);
            } else {
                forest.irreducible.push((from, to));
            }
        }
        // Outer headers come before inner ones in reverse post-order; take inner loops first.
        for &header in cfg.rpo().iter().rev() {
            if !latches[header].is_empty() {
                forest.add(cfg, header, std::mem::take(&mut latches[header]));
            }
        }
        forest.finish(cfg);
        forest
    }

    fn outermost(&self, block: Block) -> Option<Loop> {
        let mut found = self.innermost[block].expand()?;
        while let Some(parent) = self.loops[found].parent {
            found = parent;
        }
        Some(found)
    }

    /// Walk back from the latches to the header; whole inner loops are stepped over.
    fn add(&mut self, cfg: &Cfg, header: Block, latches: Vec<Block>) {
        let mut work = latches.clone();
        let this = self.loops.push(LoopData { header, latches, parent: None, depth: 0, blocks: Vec::new() });
        while let Some(block) = work.pop() {
            if block == header || !cfg.is_reachable(block) {
                continue;
            }
            let from = match self.outermost(block) {
                Some(inner) if inner == this => continue,
                Some(inner) => {
                    self.loops[inner].parent = Some(this);
                    self.loops[inner].header
                }
                None => {
                    self.innermost[block] = this.into();
                    block
                }
            };
            work.extend_from_slice(cfg.preds(from));
        }
        // A header belongs to its own loop; an outer loop meets it through this one.
        self.innermost[header] = this.into();
    }

    fn finish(&mut self, cfg: &Cfg) {
        // Parents were made after their children, so going backwards sees parents first.
        for this in self.loops.keys().rev() {
            let parent_depth = self.loops[this].parent.map_or(0, |p| self.loops[p].depth);
            self.loops[this].depth = parent_depth + 1;
        }
        for &block in cfg.rpo() {
            let mut at = self.innermost[block].expand();
            while let Some(this) = at {
                self.loops[this].blocks.push(block);
                at = self.loops[this].parent;
            }
        }
    }

    /// Every loop, inner ones before the loops around them.
    pub fn iter(&self) -> impl Iterator<Item = (Loop, &LoopData)> {
        self.loops.iter()
    }

    /// What is known of a loop.
    pub fn data(&self, this: Loop) -> &LoopData {
        &self.loops[this]
    }

    /// The innermost loop that a block is in.
    pub fn innermost(&self, block: Block) -> Option<Loop> {
        self.innermost[block].expand()
    }

    /// How many loops a block is in.
    pub fn depth(&self, block: Block) -> u32 {
        self.innermost(block).map_or(0, |l| self.loops[l].depth)
    }

    /// Whether `block` is in `this` or a loop inside it.
    pub fn contains(&self, this: Loop, block: Block) -> bool {
        let mut at = self.innermost(block);
        while let Some(inner) = at {
            if inner == this {
                return true;
            }
            at = self.loops[inner].parent;
        }
        false
    }

    /// Backedges that belong to no natural loop.
    pub fn irreducible(&self) -> &[(Block, Block)] {
        &self.irreducible
    }
}
