//! All tests of the simulator from outside, in one program: one is linked sooner than many, and takes less room.

mod asynchronous;
mod control;
mod hostile;
mod matrix_move;
mod memcheck_cluster;
mod ptxas;
mod ptxas_folds;
mod wgmma;
mod without_abi;
