//! What options say about passes.

use crate::{FastCompile, Pass, PassInfo};
use std::fmt;
use std::str::FromStr;

/// How far the optional passes go: `--pass-limit RUNS[:REWRITES]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Only the first so many runs of optional passes happen, counted over all units.
    pub runs: u64,
    /// In the last of these only the first so many rewrites happen, where the pass counts them.
    pub rewrites: Option<u64>,
}

impl Limit {
    /// So many runs, each in full.
    pub fn runs(runs: u64) -> Limit {
        Limit { runs, rewrites: None }
    }

    /// The limit behind `runs` runs of pipelines that came before.
    pub fn behind(self, runs: u64) -> Limit {
        let left = self.runs.saturating_sub(runs);
        Limit { runs: left, rewrites: self.rewrites.filter(|_| left > 0) }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rewrites {
            Some(rewrites) => write!(f, "{}:{rewrites}", self.runs),
            None => write!(f, "{}", self.runs),
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let (runs, rewrites) = text.split_once(':').map_or((text, None), |(runs, rewrites)| (runs, Some(rewrites)));
        let number = |text: &str| text.parse().map_err(|_| format!("'{text}' is no number of RUNS[:REWRITES]"));
        Ok(Limit { runs: number(runs)?, rewrites: rewrites.map(number).transpose()? })
    }
}

/// What a caller wants of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `-O` level.
    pub level: u8,
    /// How much is left out for the sake of time.
    pub fast: FastCompile,
    /// Names of optional passes that do not run.
    pub disabled: Vec<String>,
    /// How far the others go; no limit where absent.
    pub limit: Option<Limit>,
    /// Names of the passes after which units are kept as text.
    pub dump_after: Vec<String>,
    /// Units are kept after each pass that changed them.
    pub dump_all: bool,
    /// Units are verified after each pass that changed them.
    pub verify: bool,
}

/// A setting that could have no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// An option names no pass that it could act on.
    #[error("no phase '{name}' {what}; there are: {known}")]
    NoPass {
        /// The name.
        name: String,
        /// What the option does, as in "to show".
        what: &'static str,
        /// Every pass that it can act on.
        known: String,
    },
    /// A limit of optional passes where there are none.
    #[error("--pass-limit: no optional phase runs at -O0")]
    NothingToLimit,
    /// Less time for optional passes where there are none.
    #[error("--fast-compile: no optional phase runs at -O0")]
    NothingToLeaveOut,
}

impl Settings {
    /// Whether the names are those of passes on which they act, of pipelines that together have these passes.
    ///
    /// # Errors
    /// The first setting that would change nothing.
    pub fn check(&self, passes: &[PassInfo]) -> Result<(), SettingsError> {
        let names = |optional: bool| {
            let is_due = move |pass: &&PassInfo| pass.level <= self.level && self.fast <= pass.fast;
            let due = passes.iter().filter(is_due).filter(move |pass| !(optional && pass.needed));
            let mut names: Vec<&str> = Vec::new();
            due.for_each(|pass| names.extend((!names.contains(&pass.name)).then_some(pass.name)));
            names
        };
        let find = |what: &'static str, wanted: &[String], known: &[&str]| {
            let unknown = wanted.iter().find(|name| !known.contains(&name.as_str()));
            unknown
                .map_or(Ok(()), |name| Err(SettingsError::NoPass { name: name.clone(), what, known: known.join(" ") }))
        };
        find("to show at this level", &self.dump_after, &names(false))?;
        find("to leave out at this level", &self.disabled, &names(true))?;
        if self.limit.is_some() && names(true).is_empty() {
            return Err(SettingsError::NothingToLimit);
        }
        if self.fast > FastCompile::Off && names(true).is_empty() {
            return Err(SettingsError::NothingToLeaveOut);
        }
        Ok(())
    }

    /// Whether the pass is not among those left out.
    pub fn enables<R>(&self, pass: &Pass<R>) -> bool {
        self.fast <= pass.fast && !self.disabled.iter().any(|disabled| disabled == pass.name)
    }

    /// Whether a unit is kept as text after that pass.
    pub fn shows(&self, name: &str, changed: crate::Changed) -> bool {
        self.dump_all && changed == crate::Changed::Yes || self.dump_after.iter().any(|wanted| wanted == name)
    }
}
