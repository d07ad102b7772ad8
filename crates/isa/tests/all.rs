//! All tests of the instruction set's data from outside, in one program: one is linked sooner than many, and takes less room.

mod chips;
mod code;
mod control_words;
mod facts;
mod latency;
mod machines;
mod mined;
mod nvdisasm;
mod opcodes;
mod properties;
mod special_registers;
mod vectors;
