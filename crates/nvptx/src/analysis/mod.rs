//! What passes ask of a function.
//!
//! | question | where |
//! |---|---|
//! | reachable blocks in reverse post-order, predecessors | [`Cfg`] |
//! | which block dominates which | [`DomTree`] |
//! | natural loops | [`Loops`] |
//! | bits, signs and multiples of integers | [`known_bits`] |
//! | may an instruction be removed, moved, run early | [`effects`] |
//! | may two accesses touch the same bytes | [`alias`] |
//!
//! Analyses are computed from the function when a pass needs them; nothing is cached behind its back.

pub mod alias;
mod cfg;
pub mod effects;
pub mod intrinsics;
pub mod known_bits;
mod view;

pub use cfg::{Cfg, DomTree, LoopData, Loops};
pub use effects::Effects;
pub use intrinsics::Intrinsic;
pub use known_bits::KnownBits;
pub use oriole_graph::Loop;
pub use view::View;
