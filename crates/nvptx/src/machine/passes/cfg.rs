//! Control flow: the reachable blocks in reverse post-order, predecessors, dominators, loop depths.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use crate::machine::{BlockId, Function};

const UNREACHED: u32 = u32::MAX;

/// Reverse post-order and predecessors. Blocks that the entry does not reach are not in it.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// The reachable blocks, the entry first, each before its successors but for loops.
    pub rpo: Vec<BlockId>,
    number: SecondaryMap<BlockId, u32>,
    preds: SecondaryMap<BlockId, SmallVec<[BlockId; 2]>>,
}

impl Cfg {
    /// Walks the function once.
    #[must_use]
    pub fn new(function: &Function) -> Cfg {
        Cfg::in_order(function, |_, successors| successors)
    }

    /// Walks the function once, the successors of each block in the order that `order` gives them:
    /// the last of them comes closest behind the block in [`Cfg::rpo`].
    #[must_use]
    pub fn in_order(function: &Function, order: impl Fn(BlockId, Successors) -> Successors) -> Cfg {
        let mut number = SecondaryMap::with_default(UNREACHED);
        let mut preds: SecondaryMap<BlockId, SmallVec<[BlockId; 2]>> = SecondaryMap::new();
        number.resize(function.blocks.len());
        preds.resize(function.blocks.len());
        let mut rpo = Vec::with_capacity(function.layout.len());
        let mut stack = Vec::new();
        let follow = |block: BlockId| order(block, successors(function, block)).into_iter();
        if let Some(&entry) = function.layout.first() {
            number[entry] = 0;
            stack.push((entry, follow(entry)));
        }
        while let Some((block, rest)) = stack.last_mut() {
            let block = *block;
            let Some(to) = rest.next() else {
                rpo.push(block);
                stack.pop();
                continue;
            };
            preds[to].push(block);
            if number[to] == UNREACHED {
                number[to] = 0;
                stack.push((to, follow(to)));
            }
        }
        rpo.reverse();
        for (index, &block) in (0..).zip(&rpo) {
            number[block] = index;
        }
        Cfg { rpo, number, preds }
    }

    /// True when the entry reaches the block.
    #[must_use]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.number[block] != UNREACHED
    }

    /// The place of a reachable block in [`Cfg::rpo`].
    #[must_use]
    pub fn number(&self, block: BlockId) -> usize {
        self.number[block] as usize
    }

    /// The reachable blocks that may go to `block`, each once.
    #[must_use]
    pub fn preds(&self, block: BlockId) -> &[BlockId] {
        &self.preds[block]
    }
}

/// The blocks that may follow a block.
pub type Successors = SmallVec<[BlockId; 4]>;

/// The blocks that may follow `block`, each once.
#[must_use]
pub fn successors(function: &Function, block: BlockId) -> Successors {
    let mut found = Successors::new();
    function.blocks[block].terminator.for_each_successor(|to| found.push(to));
    if found.len() > 1 {
        found.sort_unstable();
        found.dedup();
    }
    found
}

/// Which block dominates which, by Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm").
#[derive(Clone, Debug)]
pub struct Dominators {
    idom: SecondaryMap<BlockId, PackedOption<BlockId>>,
    /// Numbers of the walk over the tree: when a block is entered, and the last one below it.
    span: SecondaryMap<BlockId, (u32, u32)>,
    /// The blocks, each after its dominators: a walk over the tree.
    pub preorder: Vec<BlockId>,
}

impl Dominators {
    /// Computes the tree.
    #[must_use]
    pub fn new(cfg: &Cfg) -> Dominators {
        let up = immediate(cfg);
        let mut below = vec![1u32; cfg.rpo.len()];
        for index in (1..cfg.rpo.len()).rev() {
            below[up[index] as usize] += below[index];
        }
        // A block's number is behind those of its dominator and of the siblings that came before it.
        let mut next = vec![0u32; cfg.rpo.len()];
        let mut tree = Dominators {
            idom: SecondaryMap::new(),
            span: SecondaryMap::with_default((UNREACHED, 0)),
            preorder: cfg.rpo.clone(),
        };
        for (index, &block) in cfg.rpo.iter().enumerate() {
            let above = up[index] as usize;
            let first = if index == 0 { 0 } else { next[above] };
            if index > 0 {
                next[above] += below[index];
                tree.idom[block] = cfg.rpo[above].into();
            }
            next[index] = first + 1;
            tree.span[block] = (first, first + below[index] - 1);
            tree.preorder[first as usize] = block;
        }
        tree
    }

    /// The closest block that dominates `block` and is another.
    #[must_use]
    pub fn idom(&self, block: BlockId) -> Option<BlockId> {
        self.idom[block].expand()
    }

    /// The place of a reachable block in [`Dominators::preorder`].
    #[must_use]
    pub fn number(&self, block: BlockId) -> u32 {
        self.span[block].0
    }

    /// True when every way from the entry to `below` leads through `above`; a block dominates itself.
    /// False when one of them is not reachable.
    #[must_use]
    pub fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        let (up, down) = (self.span[above], self.span[below]);
        up.0 <= down.0 && down.1 <= up.1
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
            for pred in cfg.preds(block).iter().map(|&pred| cfg.number[pred]) {
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

/// The natural loops of a function, as far as passes on machine code need them.
#[derive(Clone, Debug)]
pub struct Loops {
    /// The header of the innermost loop around each block.
    innermost: SecondaryMap<BlockId, PackedOption<BlockId>>,
    /// For each header, the header of the loop around its own.
    parent: SecondaryMap<BlockId, PackedOption<BlockId>>,
    depth: SecondaryMap<BlockId, u32>,
    /// The headers, inner loops before those around them.
    pub headers: Vec<BlockId>,
}

impl Loops {
    /// Finds the loops. Circles with several entries are no natural loops and are not found.
    #[must_use]
    pub fn new(cfg: &Cfg, dominators: &Dominators) -> Loops {
        let mut loops = Loops {
            innermost: SecondaryMap::new(),
            parent: SecondaryMap::new(),
            depth: SecondaryMap::new(),
            headers: Vec::new(),
        };
        // A header comes after those of the loops around it, so that backwards inner loops are found first.
        for &header in cfg.rpo.iter().rev() {
            let is_latch = |pred: &BlockId| dominators.dominates(header, *pred);
            let latches: Vec<BlockId> = cfg.preds(header).iter().copied().filter(is_latch).collect();
            if !latches.is_empty() {
                loops.headers.push(header);
                loops.discover(header, latches, cfg);
            }
        }
        for &block in &cfg.rpo {
            let around = loops.innermost(block);
            loops.depth[block] = match around {
                Some(header) if header == block => loops.parent(header).map_or(0, |outer| loops.depth[outer]) + 1,
                Some(header) => loops.depth[header],
                None => 0,
            };
        }
        loops
    }

    /// Collects a loop backwards from its latches; an inner loop that is met is taken as a whole.
    fn discover(&mut self, header: BlockId, mut work: Vec<BlockId>, cfg: &Cfg) {
        while let Some(block) = work.pop() {
            let Some(inner) = self.innermost(block) else {
                self.innermost[block] = header.into();
                if block != header {
                    work.extend(cfg.preds(block));
                }
                continue;
            };
            let mut outermost = inner;
            while let Some(parent) = self.parent(outermost) {
                outermost = parent;
            }
            if outermost != header {
                self.parent[outermost] = header.into();
                work.extend(cfg.preds(outermost));
            }
        }
        self.innermost[header] = header.into();
    }

    /// The header of the innermost loop that a block is in.
    #[must_use]
    pub fn innermost(&self, block: BlockId) -> Option<BlockId> {
        self.innermost[block].expand()
    }

    /// The header of the loop around that of `header`.
    #[must_use]
    pub fn parent(&self, header: BlockId) -> Option<BlockId> {
        self.parent[header].expand()
    }

    /// How many loops a block is in.
    #[must_use]
    pub fn depth(&self, block: BlockId) -> u32 {
        self.depth[block]
    }

    /// True when the block is in the loop of `header` or in one inside it.
    #[must_use]
    pub fn contains(&self, header: BlockId, block: BlockId) -> bool {
        let mut around = self.innermost(block);
        while let Some(inner) = around.filter(|&inner| inner != header) {
            around = self.parent(inner);
        }
        around.is_some()
    }
}
