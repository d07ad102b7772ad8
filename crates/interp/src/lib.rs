//! The PTX interpreter: runs kernels from the syntax tree of `oriole_ptx`, one PTX instruction after
//! the other, and shares nothing with the compiler or the SASS simulator, but for the sampler of textures
//! that all engines have from `oriole_device`. Where the three agree, they agree for different reasons.
//!
//! [`Interpreter`] loads a module and launches its kernels.
//!
//! | part | what it does |
//! |---|---|
//! | `interpreter` | the public face; launches and faults |
//! | `layout`, `initial` | where variables and functions are, what they hold at first |
//! | `compile/` | statements to operations; places of labels, meeting points of branches |
//! | `builder/` | names to slots, places and numbers; operands to sources and destinations |
//! | `exec/` | instructions that are not arithmetic, family by family |
//! | `arith/` | instructions whose results are a function of their sources alone |
//! | `grid`, `cluster`, `block`, `warp/` | clusters, blocks, warps: who runs when; calls, barriers and exchanges |
//! | `code`, `operand`, `pc` | operations, sources and destinations |
//! | `barrier`, `cluster_barrier`, `collective`, `runtime` | barriers, exchanges, functions of the system |
//! | `threads` | groups of threads and where they meet |
//! | `env`, `state`, `lane` | what is outside of a warp, its registers, one of its threads with both |
//! | `space`, `local_memory`, `memory` | address spaces, local memory, loads and stores |
//! | `identity`, `special`, `lanes` | who the threads are, special registers, masks |
//!
//! Files import downwards only, in about this order: no family knows the table that it stands in (`exec/mod.rs`,
//! `arith/mod.rs`), and only `compile` uses the tables.
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
//! `env::BlockState`. An instruction that polls (`mbarrier.try_wait`) simply answers "not yet" and
//! costs `POLL` (`compile::cost`), so that those it waits for have their turn.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod arith;
mod barrier;
mod block;
mod builder;
mod cluster;
mod cluster_barrier;
mod code;
mod collective;
mod compile;
mod env;
mod exec;
mod grid;
mod identity;
mod initial;
mod interpreter;
mod lane;
mod lanes;
mod layout;
mod local_memory;
mod machine;
mod memory;
mod operand;
mod pc;
mod runtime;
mod space;
mod special;
mod state;
mod threads;
mod warp;

pub use arith::{Bound, approximation};
pub use interpreter::{Interpreter, LoadError, Options, RunError, RunReport};
