//! All tests of the checker of control words from outside, in one program: one is linked sooner than many, and takes less room.

mod assembled;
mod convergence;
mod paths;
mod ptxas_code;
mod timeline;
