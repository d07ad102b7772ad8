//! Control-flow graphs in general: what Ori's functions, LLVM IR's and their machine code all need.
//!
//! A [`Graph`] says what its nodes and edges are. A [`Flow`] is a copy of it in dense arrays, with predecessors and orders;
//! [`DomTree`] and [`LoopForest`] are made from that, [`components`] from anything that names successors. All of it takes
//! time that is linear in nodes and edges, or nearly so, and no recursion.

mod components;
mod dominators;
mod flow;
mod loops;
#[cfg(test)]
mod random;
mod rows;

pub use components::components;
pub use dominators::DomTree;
pub use flow::Flow;
pub use loops::{Loop, LoopData, LoopForest};
pub use rows::Rows;

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
