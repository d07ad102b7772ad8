//! All tests of cubins from outside, in one program: one is linked sooner than many, and takes less room.

mod against_ptxas;
mod common;
mod hostile;
mod oracle;
mod relocations;
mod roundtrip;
