//! The PTX interpreter: runs kernels from the syntax tree of `oriole_ptx`, one PTX instruction after
//! the other, and shares nothing with the compiler or the SASS simulator. Where the three agree, they
//! agree for different reasons.
//!
//! [`Interpreter`] loads a module and launches its kernels.
//!
//! | part | what it does |
//! |---|---|
//! | `interpreter` | the public face; launches and faults |
//! | `layout`, `initial` | where variables and functions are, what they hold at first |
//! | `compile/` | statements to operations: names to slots, labels to places, meeting points of branches |
//! | `code` | operations, sources and destinations |
//! | `arith/` | instructions whose results are a function of their sources alone |
//! | `exec/` | all other instructions |
//! | `grid`, `cluster`, `block`, `warp`, `threads` | clusters, blocks, warps, groups of threads: who runs when |
//! | `barrier`, `call`, `runtime` | barriers of a block, calls, functions of the system |
//! | `state`, `space`, `special` | registers and local memory, address spaces, special registers |
//!
//! # Adding a family of instructions
//!
//! A family is a file of `exec/` with a function
//! `compile(inst, builder) -> Result<Option<Action>, Unsupported>` that is listed in `exec::FAMILIES`:
//! `None` for instructions of others, `Unsupported` with the form that it does not know.
//!
//! The builder turns operands into what can be read and written: `source`, `sources` (all elements of
//! `{…}`), `destination`, `destinations`, `location` (`[a+8]` in a space). The action is one of
//!
//! * `Action::Lanes(closure)`: once for each thread that executes the instruction. `Lane` reads sources,
//!   writes destinations, and loads, stores and updates memory of any space (`ld`, `atom`).
//! * `Action::Warp(closure)`: once for the whole warp, when all its living threads stand there; the
//!   closure gets the warp's `State`, the block and launch (`Env`) and the mask of the threads. For what
//!   is `.aligned`: `mma`, `ldmatrix`. Read and write through `State::get` and `State::set` by lane,
//!   memory through a `Lane` made of the three.
//! * `Action::Collective`: an exchange of values under a member mask (see `exec/collective.rs`).
//!
//! State that belongs to a block (such as `mbarrier`s beyond the bytes that they occupy) is a field of
//! `machine::BlockState`. An instruction that polls (`mbarrier.try_wait`) simply answers "not yet" and
//! costs `POLL` (`compile::cost`), so that those it waits for have their turn.

mod arith;
mod barrier;
mod block;
mod call;
mod cluster;
mod code;
mod compile;
mod exec;
mod grid;
mod initial;
mod interpreter;
mod layout;
mod machine;
mod runtime;
mod space;
mod special;
mod state;
mod threads;
mod warp;

pub use arith::{Bound, approximation};
pub use interpreter::{Interpreter, LoadError, Options, RunError, RunReport};
