//! The pass manager: a pipeline is a list of [`Pass`]es that fits one screen.

mod list;

pub use list::{Changed, Pass, PassInfo, Repetition};
