//! SASS simulator.

mod constant;
mod exec;
mod operand;
mod special;
mod state;
