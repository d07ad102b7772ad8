//! Virtual registers and their 32-bit components as the allocator numbers them.

use oriole_ori::VReg;

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

/// By component: its node. The components of the nodes stand one behind the other, in the order of the nodes.
pub(crate) fn owners(nodes: &[NodeData]) -> Vec<Node> {
    nodes.iter().zip(0..).flat_map(|(node, number)| std::iter::repeat_n(number, node.width.into())).collect()
}
