//! What mbarriers hand on: who finds a phase over learns what was before the arrivals and copies of that phase and of earlier
//! ones, and nothing of later ones.

use super::clock::Clock;
use std::collections::HashMap;
use std::sync::Arc;

/// The mbarriers of a cluster: rank of the block, offset in its shared memory.
pub(super) type Place = (usize, u64);

/// What is known of all mbarriers of a cluster.
#[derive(Default)]
pub(super) struct Phases {
    known: HashMap<Place, Phase>,
}

/// What is known of one.
#[derive(Clone, Default)]
struct Phase {
    /// The lowest bit of the last phase that something was done in.
    current: bool,
    /// What was before arrivals and copies of the last phases with this lowest bit.
    gathered: [Clock; 2],
    /// What was before those of all earlier phases.
    past: Clock,
    /// All of that, as it was asked for last.
    all: Option<Arc<Clock>>,
}

impl Phases {
    /// An mbarrier is made, in a phase with this lowest bit.
    pub(super) fn start(&mut self, place: Place, phase: bool) {
        self.known.insert(place, Phase { current: phase, ..Phase::default() });
    }

    /// Something that is behind `clock` counts for a phase.
    pub(super) fn gather(&mut self, place: Place, phase: bool, clock: &Clock) {
        let known = self.known.entry(place).or_default();
        if known.current != phase {
            known.current = phase;
            let [before, now] = [!phase, phase].map(usize::from);
            known.past.join(&known.gathered[before]);
            known.past.join(&known.gathered[now]);
            known.gathered[now] = Clock::default();
        }
        known.gathered[usize::from(phase)].join(clock);
        known.all = None;
    }

    /// Whether there is an mbarrier.
    pub(super) fn has(&self, place: Place) -> bool {
        self.known.contains_key(&place)
    }

    /// What is before all arrivals so far, for those who read the bits themselves (before sm_90).
    pub(super) fn all(&mut self, place: Place) -> Option<Arc<Clock>> {
        let Phase { all, past, gathered, .. } = self.known.get_mut(&place)?;
        let clock = all.get_or_insert_with(|| {
            let mut clock = past.clone();
            gathered.iter().for_each(|gathered| clock.join(gathered));
            Arc::new(clock)
        });
        Some(clock.clone())
    }

    /// What is before the end of the last phase with this lowest bit.
    pub(super) fn over(&self, place: Place, phase: bool) -> Option<Arc<Clock>> {
        let known = self.known.get(&place)?;
        let mut clock = known.past.clone();
        clock.join(&known.gathered[usize::from(phase)]);
        Some(Arc::new(clock))
    }
}
