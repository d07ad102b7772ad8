//! Checks of memory while a kernel runs: races, reads of what was never written, accesses outside of variables, frames and heap
//! blocks, synchronisation that is used wrongly. The rules are in docs/memcheck.md.
//!
//! [`Checker`] is shown every instruction that goes to memory or moves threads, after it has been executed.
//! Blocks run on one host thread then, so that what is found does not depend on the host.

mod clock;
mod cluster;
mod findings;
mod global;
mod global_race;
mod heap;
mod kinds;
mod phases;
mod places;
mod race;
mod report;
mod shadow;
mod streams;
mod subject;
mod sync;

pub(crate) use places::Variables;
pub use report::{CheckReport, Finding, FindingKind, Site};
pub(crate) use streams::{PastLaunch, Unordered};
pub use streams::{StreamEvent, StreamPlace, Streams};
pub use subject::Checks;
pub(crate) use subject::Subject;

use crate::instruction::Action;
use crate::look::Found;
use crate::observer::{Moment, Observer, Waiting};
use cluster::ClusterShadow;
use findings::Findings;
use global::GlobalShadow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The checks of one launch.
pub(crate) struct Checker<'a> {
    subject: Subject<'a>,
    state: Mutex<Known>,
}

/// What is known so far.
struct Known {
    clusters: HashMap<u64, ClusterShadow>,
    global: GlobalShadow,
    findings: Findings,
}

impl<'a> Checker<'a> {
    /// Nothing has run but launches that may run at the same time.
    pub(crate) fn new(subject: Subject<'a>, unordered: Unordered) -> Self {
        let undefined = if subject.checks.global_init { subject.undefined } else { &[] };
        let global = GlobalShadow::new(undefined, unordered);
        let known = Known { clusters: HashMap::new(), global, findings: Findings::default() };
        Checker { subject, state: Mutex::new(known) }
    }

    /// What has been found; and what the launch leaves for others to race with, if its kernel has a place among them.
    pub(crate) fn finish(self, place: Option<(&str, StreamPlace)>) -> Found {
        let Known { global, mut findings, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if self.subject.checks.bounds {
            global.leaks(&mut findings);
        }
        let past = place.map(|(kernel, place)| PastLaunch::new(kernel, place, global.races, &self.subject));
        Found { report: findings.finish(), past }
    }
}

impl Observer for Checker<'_> {
    fn executed(&self, moment: &Moment<'_>) {
        if matches!(moment.issued.op.action, Action::Compute(_)) {
            return;
        }
        let mut known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { clusters, global, findings } = &mut *known;
        global.heap_events(moment.log.heap_events(), moment, &self.subject);
        let number = cluster::number_of(self.subject.launch, moment.state.identity.ctaid);
        let cluster = clusters.entry(number).or_insert_with(|| ClusterShadow::new(number, &self.subject));
        cluster.executed(moment, &self.subject, global, findings);
        if cluster.is_finished() {
            clusters.remove(&number);
        }
    }

    fn stuck(&self, waiting: &[Waiting]) {
        if self.subject.checks.sync {
            let mut known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            sync::stuck(waiting, &self.subject, &mut known.findings);
        }
    }
}
