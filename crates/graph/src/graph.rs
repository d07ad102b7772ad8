//! What a graph is: names of nodes, and edges between them.

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::ReservedValue;

/// A number that names a node.
pub trait Node: EntityRef + ReservedValue {}

impl<N: EntityRef + ReservedValue> Node for N {}

/// Nodes with edges between them, and one from which all begins.
pub trait Graph {
    /// Names of nodes: small numbers.
    type Node: Node;

    /// The numbers of all nodes are below this.
    fn bound(&self) -> usize;

    /// Where control enters; `None` in an empty graph.
    fn entry(&self) -> Option<Self::Node>;

    /// The nodes, in the order in which predecessors are listed. Edges of others do not count.
    fn nodes(&self) -> impl Iterator<Item = Self::Node>;

    /// Names the successors of a node in the order in which they are walked; one may be named again.
    fn successors(&self, node: Self::Node, found: impl FnMut(Self::Node));
}
