//! All tests of the scheduler from outside, in one program: one is linked sooner than many, and takes less room.

mod before;
mod constants;
mod explain;
mod length;
mod order;
mod pace;
mod paths;
mod pipes;
mod schedule;
mod silicon;
