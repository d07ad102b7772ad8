//! The interference graph, by 32-bit component.
//!
//! A node is a virtual register; its components are numbered densely. Two components interfere
//! when one is written while the other is live (and the write is not a copy of it). Working by
//! component lets half of a pair share a register with a value that only the other half meets.

use oriole_ori::VReg;

/// A set of physical registers of one file, one bit each.
pub(crate) type PhysicalSet = [u64; 4];

/// Index of a node.
pub(crate) type Node = u32;
/// Index of a component.
pub(crate) type Component = u32;

/// What the allocator knows of one virtual register.
#[derive(Clone, Debug)]
pub(crate) struct NodeData {
    pub(crate) vreg: VReg,
    /// First component; the register has `width` of them.
    pub(crate) base: Component,
    pub(crate) width: u8,
    pub(crate) align: u8,
    /// First physical register, once chosen or from the start.
    pub(crate) physical: Option<u16>,
    /// Given from the start: never moved, never spilled.
    pub(crate) fixed: bool,
    /// Estimated executions of the code that spilling would add; infinite for spill temporaries.
    pub(crate) spill_cost: f32,
}

/// A preference that a copy expresses: both components in one register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affinity {
    pub(crate) component: Component,
    /// Estimated executions of the copy.
    pub(crate) weight: f32,
}

/// Interference and affinity between the components of one register file.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<NodeData>,
    /// The node of each component.
    pub(crate) owner: Vec<Node>,
    neighbours: Vec<Vec<Component>>,
    affinities: Vec<Vec<Affinity>>,
    forbidden: Vec<PhysicalSet>,
}

impl Graph {
    /// Add a register; its components follow those already there.
    pub(crate) fn add_node(&mut self, vreg: VReg, width: u8, align: u8, fixed: Option<u16>) -> Node {
        let node = self.nodes.len() as Node;
        let base = self.owner.len() as Component;
        let data = NodeData { vreg, base, width, align, physical: fixed, fixed: fixed.is_some(), spill_cost: 0.0 };
        self.nodes.push(data);
        let components = self.owner.len() + usize::from(width);
        self.owner.resize(components, node);
        self.neighbours.resize(components, Vec::new());
        self.affinities.resize(components, Vec::new());
        self.forbidden.resize(components, [0; 4]);
        node
    }

    /// The components of a node.
    pub(crate) fn components(&self, node: Node) -> std::ops::Range<Component> {
        let data = &self.nodes[node as usize];
        data.base..data.base + Component::from(data.width)
    }

    /// Record that `a` and `b` are live together. Repeated edges are harmless but cost time, so
    /// the caller skips those it can see.
    pub(crate) fn interfere(&mut self, a: Component, b: Component) {
        if self.owner[a as usize] != self.owner[b as usize] {
            self.neighbours[a as usize].push(b);
            self.neighbours[b as usize].push(a);
        }
    }

    /// Remove repeated edges.
    pub(crate) fn seal(&mut self) {
        for list in &mut self.neighbours {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// Record a copy between `a` and `b`.
    pub(crate) fn prefer(&mut self, a: Component, b: Component, weight: f32) {
        if self.owner[a as usize] != self.owner[b as usize] {
            self.affinities[a as usize].push(Affinity { component: b, weight });
            self.affinities[b as usize].push(Affinity { component: a, weight });
        }
    }

    /// Keep a component out of a set of physical registers.
    pub(crate) fn forbid(&mut self, component: Component, set: &PhysicalSet) {
        for (word, bits) in self.forbidden[component as usize].iter_mut().zip(set) {
            *word |= bits;
        }
    }

    /// The components that interfere with `component`.
    pub(crate) fn neighbours(&self, component: Component) -> &[Component] {
        &self.neighbours[component as usize]
    }

    /// The copies that `component` takes part in.
    pub(crate) fn affinities(&self, component: Component) -> &[Affinity] {
        &self.affinities[component as usize]
    }

    /// The physical registers that `component` must not use.
    pub(crate) fn forbidden(&self, component: Component) -> &PhysicalSet {
        &self.forbidden[component as usize]
    }

    /// The physical register of a component whose node has one.
    pub(crate) fn physical(&self, component: Component) -> Option<u16> {
        let data = &self.nodes[self.owner[component as usize] as usize];
        data.physical.map(|first| first + (component - data.base) as u16)
    }
}
