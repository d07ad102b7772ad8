//! What code is made of, and how.

use crate::commands::args::{CodeArgs, IrArgs};
use std::path::PathBuf;

/// What code is made of, and how: cases that agree in it share the code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Build {
    /// The program.
    pub(super) path: PathBuf,
    /// What is executed.
    pub(super) kind: Kind,
    pub(super) link: Vec<PathBuf>,
    pub(super) maxrregcount: Option<u32>,
    pub(super) no_fma: bool,
    /// The target; without one, what the program says.
    pub(super) target: Option<String>,
    pub(super) level: u8,
}

/// What is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Code that is compiled.
    Compiled,
    /// A cubin, as it is.
    Cubin,
    /// PTX, which is interpreted.
    Interpreted,
}

impl Build {
    /// The options of `oriole compile` that say the same.
    pub(super) fn code(&self) -> CodeArgs {
        CodeArgs {
            arch: self.target.clone(),
            opt_level: Some(self.level),
            maxrregcount: self.maxrregcount,
            ir: IrArgs { link: self.link.clone(), no_fma: self.no_fma, ..IrArgs::default() },
            ..CodeArgs::default()
        }
    }
}

/// What stands behind the name of a launch: what of the matrix it is.
pub(super) fn label(build: &Build) -> String {
    let target = build.target.clone();
    let how = match build.kind {
        Kind::Compiled => Some(format!("-O{}", build.level)),
        Kind::Cubin => None,
        Kind::Interpreted => Some("ptx".to_owned()),
    };
    let parts: Vec<String> = target.into_iter().chain(how).collect();
    if parts.is_empty() { String::new() } else { format!(" [{}]", parts.join(" ")) }
}
