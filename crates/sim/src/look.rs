//! Who looks on during a launch, and what they found.

use crate::memcheck::{CheckReport, Checks, PastLaunch, StreamPlace, Unordered};
use crate::observer::Spectator;

/// Who looks on during a launch.
#[derive(Clone, Copy)]
pub(crate) enum Look<'a> {
    /// No one.
    Nobody,
    /// Checks of memory.
    Checks(Checking<'a>),
    /// Someone who is shown what instructions leave.
    Spectator(&'a dyn Spectator),
}

/// Checks of memory.
#[derive(Clone, Copy)]
pub(crate) struct Checking<'a> {
    /// Which.
    pub(crate) checks: Checks,
    /// Parts of memory, address and size, that count as never written.
    pub(crate) undefined: &'a [(u64, u64)],
    /// The launch's place among others, and those of them that it may race with.
    pub(crate) among: Option<(StreamPlace, &'a Unordered)>,
}

impl<'a> Look<'a> {
    /// The checks, if it is these.
    pub(crate) fn checks(self) -> Option<Checking<'a>> {
        match self {
            Look::Checks(checking) => Some(checking),
            Look::Nobody | Look::Spectator(_) => None,
        }
    }

    /// The spectator, if it is one.
    pub(crate) fn spectator(self) -> Option<&'a dyn Spectator> {
        match self {
            Look::Spectator(spectator) => Some(spectator),
            Look::Nobody | Look::Checks(_) => None,
        }
    }
}

/// What the checks found of a launch.
#[derive(Default)]
pub(crate) struct Found {
    /// The findings.
    pub(crate) report: CheckReport,
    /// What later launches may race with, where the launch has a place among others.
    pub(crate) past: Option<PastLaunch>,
}
