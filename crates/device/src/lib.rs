//! Launches, device memory, faults and printf, shared by every engine.
//!
//! * [`Launch`]: grid, block and parameter bytes of one kernel launch;
//! * [`Unstarted`]: the clusters of a launch that have not started;
//! * [`argument`]: the command line's `ARG`s, from text to parameter bytes and buffers;
//! * [`mod@array`]: arrays, and NumPy's `.npy` files;
//! * [`Memory`]: global memory as separate allocations, safe to use from several host threads; [`Quota`]: how much of the host's
//!   memory a launch may take;
//! * [`Fault`]: how a kernel stops that cannot go on; [`Deadline`]: how long it may take;
//! * [`printf`]: the text of a device-side `printf`;
//! * [`texture`]: textures, surfaces and samplers;
//! * [`tensor_map`]: the tensor maps of tensor copies.
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

pub mod argument;
mod argument_error;
pub mod array;
mod buffer;
mod deadline;
mod fault;
mod heap;
mod input;
mod launch;
mod memory;
mod npy;
pub mod printf;
mod quota;
mod tensor_argument;
pub mod tensor_map;
pub mod texture;
mod unstarted;

pub use deadline::Deadline;
pub use fault::{Access, Fault, FaultKind, Hazard, Nearest, Place, SourceLine, Space, WaitingThreads};
pub use heap::Heap;
pub use input::{MOST_OF_A_STREAM, read_file, read_stream};
pub use launch::{Launch, LaunchError};
pub use memory::{AddressError, Allocation, Memory, VariableError};
pub use quota::{OutOfMemory, Quota, zeros};
pub use unstarted::Unstarted;
