//! Analyses, computed from a function when asked for.

mod accesses;
mod cache;
mod call_graph;
mod cfg;
mod flow;
mod liveness;
mod speculation;
mod tail_call;
mod uniformity;

pub use accesses::{Base, Impact, Passed, address, is_free, is_load};
pub use cache::{Analyses, Kept};
pub use call_graph::{CallNode, address_taken, call_groups, call_order};
pub use cfg::{Cfg, DomTree, LoopForest, post_dominators};
pub use flow::Flow;
pub use liveness::{Component, LiveSet, Liveness, Numbering};
pub use oriole_graph::{Loop, LoopData};
pub use speculation::Speculation;
pub use tail_call::TailCall;
pub use uniformity::{Cause, Reason, Sameness, Uniformity, UniformityLevels};
