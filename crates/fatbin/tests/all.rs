//! All tests of fatbinaries from outside, in one program: one is linked sooner than many, and takes less room.

mod against_cuobjdump;
mod bundled;
mod hostile;
mod listing;
mod maker;
mod recorded;
mod writing;
