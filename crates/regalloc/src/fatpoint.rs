//! The fat-point choice: for one virtual register, which physical registers would collide with a live value, and what
//! each of the others would cost.

use crate::graph::{Graph, PhysicalSet};
use crate::node::{Node, NodeData};
use smallvec::SmallVec;

/// The registers of a file that may be chosen, and the two arrays of one choice. Both are sparse: of the collisions it
/// matters only whether there is one (a bit), and only copies that would disappear have a cost, a negative one.
#[derive(Debug)]
pub(crate) struct FatPoint {
    /// Registers of the file that may be used: below this number.
    limit: u16,
    /// Registers that nothing is given.
    reserved: PhysicalSet,
    /// Registers that are chosen where there is no other.
    last: PhysicalSet,
    /// The alignment that was asked for last, and its multiples.
    aligned: (u8, PhysicalSet),
    /// Neighbours that were looked at for all choices so far.
    pub(crate) looked_at: u32,
}

/// First registers with their costs.
type Costs = SmallVec<[(u16, f32); 8]>;

impl FatPoint {
    /// Choices among the registers below `limit` that are not `reserved`.
    pub(crate) fn new(limit: u16, reserved: PhysicalSet) -> Self {
        FatPoint { limit: limit.min(256), reserved, last: [0; 4], aligned: (1, [u64::MAX; 4]), looked_at: 0 }
    }

    /// The same with the registers in `last` behind all others.
    pub(crate) fn with_last(self, last: PhysicalSet) -> Self {
        FatPoint { last, ..self }
    }

    /// The best first register for `node`, or `None` where every one collides: of those that cost least one that leaves the others
    /// free for wide nodes.
    pub(crate) fn choose(&mut self, graph: &Graph, node: Node) -> Option<u16> {
        let data = &graph.nodes[node as usize];
        let (free, collisions) = self.free(graph, node);
        let free = self.without_last(free, data.width);
        cheapest(graph, node, &free).or_else(|| {
            // A register that is free alone leaves the pairs to those that need two.
            let avoided = avoided(graph, node);
            let good: PhysicalSet = std::array::from_fn(|word| free[word] & !avoided[word]);
            let alone = |free: &PhysicalSet| lowest(&with_taken_neighbour(free, &collisions, data.width));
            alone(&good).or_else(|| lowest(&good)).or_else(|| alone(&free)).or_else(|| lowest(&free))
        })
    }

    /// The same, but of those that cost least one of least `age`.
    pub(crate) fn choose_by<A: Ord>(&mut self, graph: &Graph, node: Node, age: impl Fn(u16) -> A) -> Option<u16> {
        let (free, _) = self.free(graph, node);
        let width = usize::from(graph.nodes[node as usize].width);
        let age = |first: &u16| (*first..).take(width).map(&age).max();
        cheapest(graph, node, &free).or_else(|| members(free).min_by_key(age))
    }

    /// The first registers that `node` may have, and those with which it would collide.
    fn free(&mut self, graph: &Graph, node: Node) -> (PhysicalSet, PhysicalSet) {
        let collisions = self.collisions(graph, node);
        let starts = self.starts(&graph.nodes[node as usize]);
        (std::array::from_fn(|word| starts[word] & !collisions[word]), collisions)
    }

    /// What of `free` has no component in a register that is chosen last, if there is something.
    fn without_last(&self, free: PhysicalSet, width: u8) -> PhysicalSet {
        if self.last == [0; 4] {
            return free;
        }
        let meets_last = (0..usize::from(width)).fold([0; 4], |met: PhysicalSet, k| {
            let shifted = shifted_down(&self.last, k);
            std::array::from_fn(|word| met[word] | shifted[word])
        });
        let rest: PhysicalSet = std::array::from_fn(|word| free[word] & !meets_last[word]);
        if rest == [0; 4] { free } else { rest }
    }

    /// The first registers that `node` may have if nobody else is there, in order.
    pub(crate) fn allowed(&mut self, graph: &Graph, node: Node) -> impl Iterator<Item = u16> + use<> {
        let mut set = self.starts(&graph.nodes[node as usize]);
        for (k, component) in graph.components(node).enumerate() {
            let forbidden = graph.forbidden(component);
            let taken: PhysicalSet = std::array::from_fn(|word| self.reserved[word] | forbidden[word]);
            set.iter_mut().zip(shifted_down(&taken, k)).for_each(|(word, bits)| *word &= !bits);
        }
        members(set)
    }

    /// The first registers with which some component of `node` would be in a register that it must not have.
    fn collisions(&mut self, graph: &Graph, node: Node) -> PhysicalSet {
        let mut first_registers = [0; 4];
        let mut looked_at = 0;
        for (k, component) in graph.components(node).enumerate() {
            let forbidden = graph.forbidden(component);
            let mut taken: PhysicalSet = std::array::from_fn(|word| self.reserved[word] | forbidden[word]);
            graph.for_each_placed_neighbour(component, |_, number| {
                looked_at += 1;
                // Numbers above are beyond every limit.
                if let Some(word) = taken.get_mut(usize::from(number / 64)) {
                    *word |= 1 << (number % 64);
                }
            });
            let shifted = shifted_down(&taken, k);
            first_registers.iter_mut().zip(shifted).for_each(|(word, bits)| *word |= bits);
        }
        self.looked_at = self.looked_at.saturating_add(looked_at);
        first_registers
    }

    /// Where a node may begin by its width and alignment.
    fn starts(&mut self, data: &NodeData) -> PhysicalSet {
        let aligned = self.multiples_of(data.align.max(1));
        let below = below((self.limit + 1).saturating_sub(u16::from(data.width)));
        std::array::from_fn(|word| aligned[word] & below[word])
    }

    fn multiples_of(&mut self, align: u8) -> PhysicalSet {
        if self.aligned.0 != align {
            let mut multiples = [0; 4];
            (0..256).step_by(usize::from(align)).for_each(|number| multiples[number / 64] |= 1 << (number % 64));
            self.aligned = (align, multiples);
        }
        self.aligned.1
    }
}

/// The first register of those that are free that saves most by copies that disappear.
fn cheapest(graph: &Graph, node: Node, free: &PhysicalSet) -> Option<u16> {
    let preferred = costs(graph, node).into_iter().filter(|(first, _)| has(free, *first));
    preferred.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0))).map(|(first, _)| first)
}

/// What each first register costs; those that are not named cost nothing. Copies that disappear lower the cost.
fn costs(graph: &Graph, node: Node) -> Costs {
    let mut costs = Costs::new();
    for (k, component) in graph.components(node).enumerate() {
        for affinity in graph.affinities(component) {
            let Some(first) = graph.physical(affinity.component).and_then(|p| p.checked_sub(k as u16)) else {
                continue;
            };
            match costs.iter_mut().find(|(register, _)| *register == first) {
                Some((_, cost)) => *cost -= affinity.weight,
                None => costs.push((first, -affinity.weight)),
            }
        }
    }
    costs
}

/// First registers that some copy of the node cannot have.
fn avoided(graph: &Graph, node: Node) -> PhysicalSet {
    let mut avoided = [0; 4];
    for (k, component) in graph.components(node).enumerate() {
        for affinity in graph.affinities(component) {
            let set = shifted_down(graph.forbidden(affinity.component), k);
            avoided.iter_mut().zip(set).for_each(|(word, bits)| *word |= bits);
        }
    }
    avoided
}

/// The registers whose number is smaller.
pub(crate) fn below(number: u16) -> PhysicalSet {
    std::array::from_fn(|word| match usize::from(number).saturating_sub(64 * word) {
        0 => 0,
        bits @ 1..64 => (1 << bits) - 1,
        _ => u64::MAX,
    })
}

/// The registers below `limit` that are not `reserved`.
pub(crate) fn usable(limit: u16, reserved: &PhysicalSet) -> PhysicalSet {
    let below = below(limit);
    std::array::from_fn(|word| below[word] & !reserved[word])
}

/// Whether a register is in a set.
pub(crate) fn has(set: &PhysicalSet, number: u16) -> bool {
    set.get(usize::from(number / 64)).is_some_and(|word| word >> (number % 64) & 1 == 1)
}

/// How many there are.
pub(crate) fn count(set: &PhysicalSet) -> u32 {
    set.iter().map(|word| word.count_ones()).sum()
}

/// The registers whose number is not smaller.
pub(crate) fn from(number: u16) -> PhysicalSet {
    below(number).map(|word| !word)
}

/// The set with `by` taken from each number; what would be below zero is lost.
fn shifted_down(set: &PhysicalSet, by: usize) -> PhysicalSet {
    let (words, bits) = (by / 64, by % 64);
    let word = |at: usize| set.get(at).copied().unwrap_or(0);
    std::array::from_fn(|at| {
        // A shift in two steps: none by all 64 bits.
        word(at + words) >> bits | word(at + words + 1) << (63 - bits) << 1
    })
}

/// The members of `free` whose other half of a pair collides.
fn with_taken_neighbour(free: &PhysicalSet, collisions: &PhysicalSet, width: u8) -> PhysicalSet {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    std::array::from_fn(|word| {
        let taken = collisions[word];
        if width == 1 { free[word] & ((taken & EVEN) << 1 | taken >> 1 & EVEN) } else { 0 }
    })
}

/// The numbers in a set, in order.
fn members(set: PhysicalSet) -> impl Iterator<Item = u16> {
    (0..).zip(set).flat_map(|(word, mut bits): (u16, u64)| {
        std::iter::from_fn(move || {
            let bit = bits.checked_ilog2().map(|_| bits.trailing_zeros() as u16)?;
            bits &= bits - 1;
            Some(64 * word + bit)
        })
    })
}

fn lowest(set: &PhysicalSet) -> Option<u16> {
    let (word, bits) = set.iter().enumerate().find(|(_, bits)| **bits != 0)?;
    Some(64 * word as u16 + bits.trailing_zeros() as u16)
}
