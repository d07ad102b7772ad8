//! Control-flow graphs in general: what Ori's functions, LLVM IR's and their machine code all need.
//!
//! A [`Graph`] says what its nodes and edges are. A [`Flow`] is a copy of it in dense arrays, with predecessors and orders;
//! [`DomTree`] and [`LoopForest`] are made from that, [`components`] from anything that names successors. All of it takes
//! time that is linear in nodes and edges, or nearly so, and no recursion.

mod components;
mod dominators;
mod flow;
mod graph;
mod loops;
#[cfg(test)]
mod random;
mod rows;

pub use components::components;
pub use dominators::DomTree;
pub use flow::Flow;
pub use graph::{Graph, Node};
pub use loops::{Loop, LoopData, LoopForest};
pub use rows::Rows;
