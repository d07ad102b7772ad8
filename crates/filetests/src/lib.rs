//! Text tests of the back end: a case shows what goes into a stage and, behind `// expect`, what comes out.
//!
//! A file's first line says what runs: `// test lower on sm_80`, `// test pass GvnCse on sm_80`,
//! `// test regalloc on sm_80 registers=16`, `// test sched on sm_80`, `// test emit on sm_90a`. Cases are parted by empty
//! lines. `BLESS=1` writes what comes out into the files, to be read before it is committed. `docs/filetests.md`.

mod emit;
mod file;
mod folder;
mod header;
mod lower;
mod nvdisasm;
mod ori;
mod pass;
mod ptx;
mod regalloc;
mod sched;

pub use file::{Tested, Wrong};
pub use folder::{bless, run};
pub use header::{Header, RegisterLimits, Test};
