//! The pass manager: a pipeline is a list of [`Pass`]es that fits one screen, a [`Plan`] says which of them the
//! [`Settings`] let run, and runs them on one [`Unit`] after the other: a function of Ori, of LLVM IR or of machine code.
//! [`Record`]s keep what came of it: times, changes, rewrites by rule, dumps.

mod list;
mod numbering;
mod plan;
mod record;
mod settings;
mod tally;
mod workers;

pub use list::{Changed, FastCompile, Pass, PassInfo, Repetition};
pub use numbering::{LastRun, Numbering, PassCount};
pub use plan::{Plan, Unit};
pub use record::{Dump, Record, Timing};
pub use settings::{Limit, Settings, SettingsError};
pub use tally::{MOST_RULES, Tally};
pub use workers::{MOST_WORKERS, Workers};
