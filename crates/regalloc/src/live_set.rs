//! What is live while a block is walked from its end.

use crate::component_set::ComponentSet;
use crate::node::Component;

/// A set of components with constant-time insertion and removal and iteration over the members.
pub(crate) struct LiveSet {
    pub(crate) members: Vec<Component>,
    /// The same members.
    pub(crate) set: ComponentSet,
    /// By place in `members`: since when the component has been in the set.
    since: Vec<u32>,
    places: Vec<Place>,
}

/// Of one component.
#[derive(Clone, Copy)]
struct Place {
    /// Where it is in `members`, or `ABSENT`.
    at: u32,
    /// When it was taken out last, and since when it had been in then.
    removed: u32,
    since: u32,
}

const ABSENT: u32 = u32::MAX;

impl LiveSet {
    pub(crate) fn new(components: usize) -> Self {
        let places = vec![Place { at: ABSENT, removed: 0, since: 0 }; components];
        LiveSet { members: Vec::new(), set: ComponentSet::new(components), since: Vec::new(), places }
    }

    pub(crate) fn clear(&mut self) {
        self.since.clear();
        for member in self.members.drain(..) {
            self.places[member as usize].at = ABSENT;
            self.set.remove(member);
        }
    }

    pub(crate) fn insert(&mut self, component: Component, now: u32) {
        let place = &mut self.places[component as usize];
        if place.at == ABSENT {
            place.at = self.members.len() as u32;
            // What one line writes and reads has been there at every moment at which others met the set.
            self.since.push(if place.removed == now { place.since } else { now });
            self.members.push(component);
            self.set.insert(component);
        }
    }

    pub(crate) fn remove(&mut self, component: Component, now: u32) {
        let place = &mut self.places[component as usize];
        let at = std::mem::replace(&mut place.at, ABSENT);
        if at == ABSENT {
            return;
        }
        self.set.remove(component);
        place.removed = now;
        place.since = self.since.swap_remove(at as usize);
        self.members.swap_remove(at as usize);
        if let Some(moved) = self.members.get(at as usize) {
            self.places[*moved as usize].at = at;
        }
    }

    pub(crate) fn contains(&self, component: Component) -> bool {
        self.places[component as usize].at != ABSENT
    }

    /// The members that came at the time `start` or later.
    pub(crate) fn since(&self, start: u32) -> impl Iterator<Item = Component> + '_ {
        let late = self.members.iter().zip(&self.since).filter(move |(_, since)| **since >= start);
        late.map(|(member, _)| *member)
    }
}
