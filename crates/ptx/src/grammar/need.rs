//! What a feature needs of the PTX version and the target.

use super::run::Run;
use super::target::{Target, Variant};

/// The PTX version and the targets that a feature needs.
#[derive(Debug)]
pub(crate) struct Need {
    /// Lowest `.version`.
    pub(crate) version: (u32, u32),
    /// Any of these will do; empty where every target will.
    pub(crate) targets: Run<Target>,
}

impl Need {
    /// True if nothing is needed.
    pub(crate) fn is_nothing(&self) -> bool {
        self.version == (0, 0) && self.targets.is_empty()
    }

    /// True if the target will do; an unknown target is reported elsewhere.
    pub(crate) fn allows(&self, target: Option<Target>) -> bool {
        self.targets.is_empty() || target.is_none_or(|target| self.targets.iter().any(|&needed| target.has(needed)))
    }

    /// The targets in words.
    pub(crate) fn target_words(&self) -> String {
        let words: Vec<String> = self
            .targets
            .iter()
            .map(|target| match target.variant {
                Variant::Plain => format!("`{target}` or later"),
                Variant::Family => format!("`{target}` or another of its family"),
                Variant::Specific => format!("`{target}`"),
            })
            .collect();
        match words.as_slice() {
            [] => "any target".to_owned(),
            [only] => only.clone(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        }
    }
}
