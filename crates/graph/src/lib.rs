//! Control-flow graphs in general: what Ori's functions, LLVM IR's and their machine code all need.
//!
//! A [`Graph`] says what its nodes and edges are. A [`Flow`] is a copy of it in dense arrays, with predecessors and orders;
//! [`DomTree`] and [`LoopForest`] are made from that, [`components`] from anything that names successors. All of it takes
//! time that is linear in nodes and edges, or nearly so, and no recursion.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

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
