//! Analyses, computed from a function when asked for.

mod cfg;
mod dominators;
mod liveness;
mod loops;
mod uniformity;

pub use cfg::Cfg;
pub use dominators::DomTree;
pub use liveness::{Component, LiveSet, Liveness};
pub use loops::{Loop, LoopData, LoopForest};
pub use uniformity::Uniformity;
