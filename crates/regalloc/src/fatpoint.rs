//! The fat-point choice: for one virtual register, how many live values each physical register
//! would collide with, and what each would cost.

use crate::graph::{Graph, Node, PhysicalSet};

/// Entries of both arrays; the register model gives 512 to every file.
pub(crate) const SLOTS: usize = 512;

/// The two arrays of one choice.
#[derive(Debug)]
pub(crate) struct FatPoint {
    /// Per physical register: how many interfering components a value that starts there would meet.
    primary: [u32; SLOTS],
    /// Per physical register: a cost that decides between free ones; copies that disappear lower it.
    secondary: [f32; SLOTS],
    /// Registers of the file that may be used: below this number.
    limit: u16,
    /// Registers that nothing is given.
    reserved: PhysicalSet,
}

impl FatPoint {
    /// Choices among the registers below `limit` that are not `reserved`.
    pub(crate) fn new(limit: u16, reserved: PhysicalSet) -> Self {
        FatPoint { primary: [0; SLOTS], secondary: [0.0; SLOTS], limit: limit.min(256), reserved }
    }

    /// The best first register for `node`, or `None` where every one collides.
    pub(crate) fn choose(&mut self, graph: &Graph, node: Node) -> Option<u16> {
        self.fill(graph, node);
        let data = &graph.nodes[node as usize];
        let last = self.limit.checked_sub(u16::from(data.width))?;
        (0..=last)
            .step_by(usize::from(data.align.max(1)))
            .filter(|first| self.primary[usize::from(*first)] == 0)
            .min_by(|a, b| self.secondary[usize::from(*a)].total_cmp(&self.secondary[usize::from(*b)]))
    }

    fn fill(&mut self, graph: &Graph, node: Node) {
        self.primary.fill(0);
        self.secondary.fill(0.0);
        for (k, component) in graph.components(node).enumerate() {
            for neighbour in graph.neighbours(component) {
                if let Some(physical) = graph.physical(*neighbour) {
                    self.count(usize::from(physical), k);
                }
            }
            let forbidden = graph.forbidden(component);
            let reserved = self.reserved;
            for (word, (reserved, forbidden)) in reserved.iter().zip(forbidden).enumerate() {
                let mut bits = reserved | forbidden;
                while bits != 0 {
                    self.count(word * 64 + bits.trailing_zeros() as usize, k);
                    bits &= bits - 1;
                }
            }
            for affinity in graph.affinities(component) {
                if let Some(first) = graph.physical(affinity.component).and_then(|p| usize::from(p).checked_sub(k)) {
                    self.secondary[first] -= affinity.weight;
                }
            }
        }
    }

    /// Component `k` cannot be in `physical`.
    fn count(&mut self, physical: usize, k: usize) {
        if let Some(first) = physical.checked_sub(k) {
            self.primary[first] += 1;
        }
    }
}
