//! Dominators and post-dominators.
//!
//! Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm": iterate over the (reverse) graph in
//! reverse post-order until nothing changes; then number the tree so that questions take O(1).

use super::cfg::Cfg;
use crate::entity::Block;
use crate::function::Function;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// A dominator or post-dominator tree.
#[derive(Clone, Debug)]
pub struct DomTree {
    idom: SecondaryMap<Block, PackedOption<Block>>,
    /// Entry and exit time of a walk over the tree; (0, 0) for blocks outside.
    times: SecondaryMap<Block, (u32, u32)>,
    roots: Vec<Block>,
}

/// The root that stands above all others while a tree is computed.
const ROOT: u32 = 0;
const UNKNOWN: u32 = u32::MAX;

impl DomTree {
    /// Dominators of the reachable blocks.
    pub fn dominators(func: &Function, cfg: &Cfg) -> Self {
        let order = cfg.rpo();
        let entry = func.entry();
        DomTree::build(order, |block, push| {
            if Some(block) == entry {
                push(None);
            }
            for &pred in cfg.preds(block) {
                push(Some(pred));
            }
        })
    }

    /// Post-dominators. All ways out of the function meet in one virtual exit, which has no block;
    /// a loop without end is treated as if its last block in reverse post-order left the function.
    pub fn post_dominators(func: &Function, cfg: &Cfg) -> Self {
        let (order, exits) = reverse_order(func, cfg);
        DomTree::build(&order, |block, push| {
            if exits[block] {
                push(None);
            }
            for &succ in func.succs(block) {
                push(Some(succ));
            }
        })
    }

    /// `edges` names what may come before a block in the walk direction; `None` is the virtual root.
    fn build(order: &[Block], edges: impl Fn(Block, &mut dyn FnMut(Option<Block>))) -> Self {
        // Positions: 0 is the virtual root, block `order[i]` has i + 1.
        let mut position: SecondaryMap<Block, u32> = SecondaryMap::with_default(UNKNOWN);
        for (i, block) in order.iter().enumerate() {
            position[*block] = i as u32 + 1;
        }
        let mut idom = vec![UNKNOWN; order.len() + 1];
        idom[0] = ROOT;
        let mut changed = true;
        while changed {
            changed = false;
            for (i, block) in order.iter().enumerate() {
                let mut new = UNKNOWN;
                edges(*block, &mut |from| {
                    let at = from.map_or(ROOT, |b| position[b]);
                    if at != UNKNOWN && idom[at as usize] != UNKNOWN {
                        new = if new == UNKNOWN { at } else { intersect(&idom, new, at) };
                    }
                });
                if idom[i + 1] != new {
                    idom[i + 1] = new;
                    changed = true;
                }
            }
        }
        DomTree::number(order, &idom)
    }

    fn number(order: &[Block], idom: &[u32]) -> Self {
        let mut children = vec![Vec::new(); order.len() + 1];
        for (i, &up) in idom.iter().enumerate().skip(1) {
            if up != UNKNOWN {
                children[up as usize].push(i as u32);
            }
        }
        let mut tree = DomTree {
            idom: SecondaryMap::new(),
            times: SecondaryMap::new(),
            roots: children[0].iter().map(|c| order[*c as usize - 1]).collect(),
        };
        for (i, block) in order.iter().enumerate() {
            let up = idom[i + 1];
            tree.idom[*block] = if up == ROOT || up == UNKNOWN { None.into() } else { order[up as usize - 1].into() };
        }
        let mut clock = 0;
        let mut stack = vec![(ROOT, 0usize)];
        while let Some((node, next)) = stack.last_mut() {
            if let Some(&child) = children[*node as usize].get(*next) {
                *next += 1;
                clock += 1;
                tree.times[order[child as usize - 1]].0 = clock;
                stack.push((child, 0));
            } else {
                clock += 1;
                if *node != ROOT {
                    tree.times[order[*node as usize - 1]].1 = clock;
                }
                stack.pop();
            }
        }
        tree
    }

    /// The closest strict (post-)dominator; `None` for roots and blocks outside the tree.
    pub fn idom(&self, block: Block) -> Option<Block> {
        self.idom[block].expand()
    }

    /// Whether `a` (post-)dominates `b`; every block of the tree does itself.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let ((a_in, a_out), (b_in, b_out)) = (self.times[a], self.times[b]);
        a_in != 0 && b_in != 0 && a_in <= b_in && b_out <= a_out
    }

    /// Blocks without a dominator: the entry, or the ways out.
    pub fn roots(&self) -> &[Block] {
        &self.roots
    }
}

fn intersect(idom: &[u32], mut a: u32, mut b: u32) -> u32 {
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

/// Reachable blocks in reverse post-order of the reversed graph, and which of them the virtual
/// exit precedes.
fn reverse_order(func: &Function, cfg: &Cfg) -> (Vec<Block>, SecondaryMap<Block, bool>) {
    let mut exits: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut seen: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut post = Vec::with_capacity(cfg.rpo().len());
    for &block in cfg.rpo() {
        if func.succs(block).is_empty() || leaves(func, block) {
            exits[block] = true;
        }
    }
    // Real exits first; then, from the back, blocks that reach none.
    let real = cfg.rpo().iter().copied().filter(|b| exits[*b]).collect::<Vec<_>>();
    for block in real {
        walk_back(cfg, block, &mut seen, &mut post);
    }
    for &block in cfg.rpo().iter().rev() {
        if !seen[block] {
            exits[block] = true;
            walk_back(cfg, block, &mut seen, &mut post);
        }
    }
    post.reverse();
    (post, exits)
}

/// Whether a guarded instruction of the block leaves the function.
fn leaves(func: &Function, block: Block) -> bool {
    func.block_insts(block)
        .iter()
        .any(|id| crate::terminator::exit_of(&func.insts[*id]) == crate::terminator::Exit::Leave)
}

fn walk_back(cfg: &Cfg, start: Block, seen: &mut SecondaryMap<Block, bool>, post: &mut Vec<Block>) {
    if std::mem::replace(&mut seen[start], true) {
        return;
    }
    let mut stack = vec![(start, 0usize)];
    while let Some((block, next)) = stack.last_mut() {
        let Some(&pred) = cfg.preds(*block).get(*next) else {
            post.push(*block);
            stack.pop();
            continue;
        };
        *next += 1;
        if cfg.is_reachable(pred) && !std::mem::replace(&mut seen[pred], true) {
            stack.push((pred, 0));
        }
    }
}
