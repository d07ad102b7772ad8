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
    /// What it has ended with: no module of this `.version` or a later one has it, if it is for this target or a later one.
    pub(crate) end: Option<((u32, u32), Target)>,
}

impl Need {
    /// True if nothing is needed.
    pub(crate) fn is_nothing(&self) -> bool {
        self.version == (0, 0) && self.targets.is_empty() && self.end.is_none()
    }

    /// True if a module of this version is too late for the target's sake.
    pub(crate) fn has_ended(&self, version: (u32, u32), target: Option<Target>) -> bool {
        self.end.is_some_and(|(first, from)| version >= first && target.is_none_or(|target| target.has(from)))
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
