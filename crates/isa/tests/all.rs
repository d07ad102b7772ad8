//! All tests of the instruction set's data from outside, in one program: one is linked sooner than many, and takes less room.

mod control_words;
mod facts;
mod latency;
mod nvdisasm;
mod properties;
mod vectors;
