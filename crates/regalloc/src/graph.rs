//! The interference graph, by 32-bit component.
//!
//! A node is a virtual register; its components are numbered densely. Two components interfere
//! when one is written while the other is live (and the write is not a copy of it). Working by
//! component lets half of a pair share a register with a value that only the other half meets.

use crate::component_set::ComponentSet;
use crate::meetings::{Meetings, Neighbours};
use crate::node::{Component, Node, NodeData, owners};
use oriole_graph::Rows;

/// A set of physical registers of one file, one bit each.
pub(crate) type PhysicalSet = [u64; 4];

/// A preference that a copy expresses: both components in one register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affinity {
    pub(crate) component: Component,
    /// Estimated executions of the copy.
    pub(crate) weight: f32,
}

/// Interference and affinity between the components of one register file.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<NodeData>,
    /// The node of each component.
    pub(crate) owner: Vec<Node>,
    neighbours: Neighbours,
    /// Copies in the order found, each once for either side: component and what it prefers.
    copies: Vec<(Component, Affinity)>,
    affinities: Rows<Affinity>,
    forbidden: Vec<PhysicalSet>,
    /// By component: its physical register, or `UNPLACED`.
    physical: Vec<u16>,
    /// The components that have one.
    placed: ComponentSet,
    /// Most components that are live at a time; those that hold the same value may share a register.
    pub(crate) peak: usize,
}

const UNPLACED: u16 = u16::MAX;

impl Graph {
    /// Nodes without edges; they have `components` components.
    pub(crate) fn new(nodes: Vec<NodeData>, components: usize) -> Self {
        let mut physical = vec![UNPLACED; components];
        let mut placed = ComponentSet::new(components);
        for node in &nodes {
            let range = node.base as usize..node.base as usize + usize::from(node.width);
            if let Some(first) = node.physical {
                range.clone().for_each(|component| placed.insert(component as Component));
                physical[range].iter_mut().zip(first..).for_each(|(place, number)| *place = number);
            }
        }
        Graph {
            owner: owners(&nodes),
            nodes,
            neighbours: Neighbours::default(),
            copies: Vec::new(),
            affinities: Rows::default(),
            forbidden: vec![[0; 4]; components],
            physical,
            placed,
            peak: 0,
        }
    }

    /// The nodes as they were before any was placed.
    pub(crate) fn nodes_as_read(&self) -> Vec<NodeData> {
        let mut nodes = self.nodes.clone();
        nodes.iter_mut().filter(|node| !node.fixed).for_each(|node| node.physical = None);
        nodes
    }

    /// The components of a node.
    pub(crate) fn components(&self, node: Node) -> std::ops::Range<Component> {
        let data = &self.nodes[node as usize];
        data.base..data.base + Component::from(data.width)
    }

    /// Make the lists of neighbours and affinities.
    pub(crate) fn connect(&mut self, meetings: Meetings) {
        self.neighbours = meetings.neighbours(&self.owner);
        self.affinities = Rows::new(self.owner.len(), self.copies.iter().copied());
    }

    /// Record a copy between `a` and `b`.
    pub(crate) fn prefer(&mut self, a: Component, b: Component, weight: f32) {
        if self.owner[a as usize] != self.owner[b as usize] {
            self.copies.push((a, Affinity { component: b, weight }));
            self.copies.push((b, Affinity { component: a, weight }));
        }
    }

    /// Keep a component out of a set of physical registers.
    pub(crate) fn forbid(&mut self, component: Component, set: &PhysicalSet) {
        for (word, bits) in self.forbidden[component as usize].iter_mut().zip(set) {
            *word |= bits;
        }
    }

    /// Call `visit` for each component that interferes with `component`, in order.
    pub(crate) fn for_each_neighbour(&self, component: Component, visit: impl FnMut(Component)) {
        self.neighbours.for_each(component, visit);
    }

    /// How many components interfere with `component`.
    pub(crate) fn neighbour_count(&self, component: Component) -> u32 {
        self.neighbours.count(component)
    }

    /// Call `visit` for each component of a set that interferes with `component`, in order.
    pub(crate) fn for_each_neighbour_within(
        &self,
        component: Component,
        set: &ComponentSet,
        visit: impl FnMut(Component),
    ) {
        self.neighbours.for_each_within(component, set, visit);
    }

    /// Call `visit` for each component that interferes with `component` and has a register, in order, with its number.
    pub(crate) fn for_each_placed_neighbour(&self, component: Component, mut visit: impl FnMut(Component, u16)) {
        let visit = |neighbour: Component| visit(neighbour, self.physical[neighbour as usize]);
        self.neighbours.for_each_within(component, &self.placed, visit);
    }

    /// The copies that `component` takes part in.
    pub(crate) fn affinities(&self, component: Component) -> &[Affinity] {
        self.affinities.row(component as usize)
    }

    /// The physical registers that `component` must not use.
    pub(crate) fn forbidden(&self, component: Component) -> &PhysicalSet {
        &self.forbidden[component as usize]
    }

    /// Put a node into the registers from `first` on.
    pub(crate) fn place(&mut self, node: Node, first: u16) {
        let range = self.components(node);
        self.nodes[node as usize].physical = Some(first);
        range.clone().for_each(|component| self.placed.insert(component));
        let places = &mut self.physical[range.start as usize..range.end as usize];
        places.iter_mut().zip(first..).for_each(|(place, number)| *place = number);
    }

    /// Take a node's registers away.
    pub(crate) fn unplace(&mut self, node: Node) {
        let range = self.components(node);
        self.nodes[node as usize].physical = None;
        range.clone().for_each(|component| self.placed.remove(component));
        self.physical[range.start as usize..range.end as usize].fill(UNPLACED);
    }

    /// One more than the highest register that a node has.
    pub(crate) fn registers(&self) -> u16 {
        self.physical.iter().filter(|number| **number != UNPLACED).max().map_or(0, |highest| highest + 1)
    }

    /// The physical register of a component whose node has one.
    pub(crate) fn physical(&self, component: Component) -> Option<u16> {
        Some(self.physical[component as usize]).filter(|number| *number != UNPLACED)
    }
}
