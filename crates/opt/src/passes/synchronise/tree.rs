//! A tree that grows at its leaves, with ancestors in logarithmic time.
//!
//! Each node keeps its parent and one ancestor further up, chosen so that any ancestor is a few of these jumps
//! away (Myers, "An applicative random-access stack"). Ladders of thousands of branches make trees that deep.

/// Rooted tree over the numbers below a bound.
pub(super) struct Tree {
    parent: Vec<u32>,
    jump: Vec<u32>,
    depth: Vec<u32>,
}

impl Tree {
    /// A tree of `root` alone, with room for nodes below `bound`.
    pub(super) fn new(bound: usize, root: u32) -> Self {
        Tree { parent: vec![root; bound], jump: vec![root; bound], depth: vec![0; bound] }
    }

    /// Hang `node` below `parent`, which is in the tree.
    pub(super) fn hang(&mut self, node: u32, parent: u32) {
        let up = self.jump[parent as usize];
        let gap = |from: u32, to: u32| self.depth[from as usize] - self.depth[to as usize];
        let further = self.jump[up as usize];
        let jump = if gap(parent, up) == gap(up, further) { further } else { parent };
        self.depth[node as usize] = self.depth[parent as usize] + 1;
        self.parent[node as usize] = parent;
        self.jump[node as usize] = jump;
    }

    /// The node above; the root's is itself.
    pub(super) fn parent(&self, node: u32) -> u32 {
        self.parent[node as usize]
    }

    /// Steps from the root.
    pub(super) fn depth(&self, node: u32) -> u32 {
        self.depth[node as usize]
    }

    /// Whether `above` is `node` or an ancestor of it.
    pub(super) fn is_above(&self, above: u32, node: u32) -> bool {
        let depth = self.depth(above);
        self.climb(node, |at| self.depth(at) >= depth) == above
    }

    /// The highest ancestor of `node` up to which `holds` does; it holds for `node`, and for no node above one where it
    /// does not.
    pub(super) fn climb(&self, mut node: u32, holds: impl Fn(u32) -> bool) -> u32 {
        while self.parent(node) != node && holds(self.parent(node)) {
            let jump = self.jump[node as usize];
            node = if holds(jump) { jump } else { self.parent(node) };
        }
        node
    }

    /// The lowest node above both.
    pub(super) fn common(&self, a: u32, b: u32) -> u32 {
        let depth = self.depth(a).min(self.depth(b));
        let level = |node| self.climb(node, |at| self.depth(at) >= depth);
        let (mut a, mut b) = (level(a), level(b));
        while a != b {
            let (up_a, up_b) = (self.jump[a as usize], self.jump[b as usize]);
            (a, b) = if up_a == up_b { (self.parent(a), self.parent(b)) } else { (up_a, up_b) };
        }
        a
    }
}
