//! Analyses, computed from a function when asked for.

mod call_graph;
mod cfg;
mod def_use;
mod dominators;
mod liveness;
mod loops;
mod uniformity;

pub use call_graph::{CallNode, address_taken, call_order};
pub use cfg::Cfg;
pub use def_use::DefUse;
pub use dominators::DomTree;
pub use liveness::{Component, LiveSet, Liveness};
pub use loops::{Loop, LoopData, LoopForest};
pub use uniformity::Uniformity;
