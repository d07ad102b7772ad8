//! Who meets whom: pairs of components while they are found, and the neighbours of each afterwards.
//!
//! Those whose numbers are near have bits ([`Band`]). In a long function there are besides values that live through much of
//! it: of very many meetings each has a bit too ([`Heavy`]), the few others stand in lists.

use crate::band::Band;
use crate::component_set::ComponentSet;
use crate::heavy::{Heavy, Merge};
use crate::live_set::LiveSet;
use crate::node::{Component, Node};
use oriole_checkpoint::checkpoint;
use std::ops::Range;

/// What it takes to go through the neighbours of one component, in the steps of [`checkpoint`].
const NEIGHBOURHOOD: u32 = 16;

/// Pairs as a walk over the code finds them; some are repeated.
#[derive(Debug)]
pub(crate) struct Meetings {
    near: Band,
    /// In a function in which not all are near.
    far: Option<FarMeetings>,
}

/// Meetings of components that are not near each other.
#[derive(Debug)]
struct FarMeetings {
    heavy: Heavy,
    /// Whom a component meets, one meeting after the other.
    members: Vec<Component>,
    /// The component that meets, and where its stretch of `members` ends.
    ends: Vec<(Component, u32)>,
}

impl Meetings {
    /// No pairs yet of so many components.
    pub(crate) fn new(components: usize) -> Self {
        let near = Band::new(components);
        let far = || FarMeetings { heavy: Heavy::new(components), members: Vec::new(), ends: Vec::new() };
        let far = (!near.is_complete()).then(far);
        Meetings { near, far }
    }

    /// `component` meets all that is live, but not itself and not `source`; those who have been live since before `start` it
    /// has met.
    pub(crate) fn meet(&mut self, component: Component, source: Option<Component>, live: &LiveSet, start: u32) {
        self.near.meet(component, source, live.set.words());
        if let Some(far) = &mut self.far {
            let near = self.near.near(component);
            let others = live.since(start).filter(|other| !near.contains(other) && Some(*other) != source);
            far.meet(component, others);
        }
    }

    /// Each component's neighbours, but for those of its own node.
    pub(crate) fn neighbours(mut self, owner: &[Node]) -> Neighbours {
        self.near.finish(owner);
        Neighbours { near: self.near, far: self.far.map(|far| far.pairs(owner.len())) }
    }
}

impl FarMeetings {
    fn meet(&mut self, component: Component, others: impl Iterator<Item = Component>) {
        let (heavy, before) = (&mut self.heavy, self.members.len());
        self.members.extend(others.filter(|other| !heavy.takes(component, *other)));
        if self.members.len() > before {
            self.ends.push((component, self.members.len() as u32));
        }
    }

    /// The pairs as sorted lists, each pair once on either side.
    fn pairs(mut self, components: usize) -> Pairs {
        self.heavy.finish();
        if self.members.is_empty() {
            return Pairs { light: Lists::with_room(&vec![0; components]), heavy: self.heavy };
        }
        let stretches = self.stretches();
        let (mut met, mut meeting) = (vec![0; components], vec![0; components]);
        for (component, stretch) in &stretches {
            checkpoint(1);
            meeting[*component as usize] += stretch.len() as u32;
            self.members[stretch.clone()].iter().for_each(|member| met[*member as usize] += 1);
        }
        let mut met_by = Lists::with_room(&met);
        for (component, stretch) in stretches {
            checkpoint(NEIGHBOURHOOD);
            self.members[stretch].iter().for_each(|member| met_by.push_once(*member, component));
        }
        let meets = met_by.reversed(&meeting);
        Pairs { light: Lists::merged(&met_by, &meets), heavy: self.heavy }
    }

    /// The meetings by who meets: those who are met hear of it in order.
    fn stretches(&self) -> Vec<(Component, Range<usize>)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end as usize));
        let mut stretches: Vec<(Component, Range<usize>)> =
            starts.zip(&self.ends).map(|(start, (component, end))| (*component, start..*end as usize)).collect();
        stretches.sort_by_key(|(component, _)| *component);
        stretches
    }
}

/// Pairs of components that are not near each other: with the heavy, and those of which neither is heavy in the lists of
/// both.
#[derive(Debug)]
struct Pairs {
    light: Lists,
    heavy: Heavy,
}

/// The neighbours of each component.
#[derive(Debug)]
pub(crate) struct Neighbours {
    near: Band,
    far: Option<Pairs>,
}

impl Default for Neighbours {
    fn default() -> Self {
        Neighbours { near: Band::new(0), far: None }
    }
}

impl Neighbours {
    /// Call `visit` for each neighbour of `component`, in order.
    pub(crate) fn for_each(&self, component: Component, mut visit: impl FnMut(Component)) {
        checkpoint(NEIGHBOURHOOD);
        match self.far_from(component) {
            None => self.near.for_each(component, visit),
            Some(far) => self.merge(far, component, |add| self.near.for_each(component, add), &mut visit),
        }
    }

    /// Call `visit` for each neighbour of `component` within a set, in order.
    pub(crate) fn for_each_within(&self, component: Component, set: &ComponentSet, mut visit: impl FnMut(Component)) {
        checkpoint(NEIGHBOURHOOD);
        let near = |add: &mut dyn FnMut(Component)| self.near.for_each_within(component, set.words(), add);
        match self.far_from(component) {
            None => self.near.for_each_within(component, set.words(), visit),
            Some(far) => self.merge(far, component, near, &mut |other| {
                if set.contains(other) {
                    visit(other);
                }
            }),
        }
    }

    /// How many neighbours `component` has.
    pub(crate) fn count(&self, component: Component) -> u32 {
        if self.far_from(component).is_none() {
            return self.near.count(component);
        }
        let mut count = 0;
        self.for_each(component, |_| count += 1);
        count
    }

    /// The pairs with components that are not near, if this one has any.
    fn far_from(&self, component: Component) -> Option<&Pairs> {
        self.far.as_ref().filter(|far| !far.light.of(component).is_empty() || far.heavy.has(component))
    }

    /// Call `visit` for those that `near` gives and those from afar, in order.
    fn merge(
        &self,
        far: &Pairs,
        component: Component,
        near: impl FnOnce(&mut dyn FnMut(Component)),
        visit: &mut impl FnMut(Component),
    ) {
        let light = far.light.of(component);
        let (before, behind) = light.split_at(light.partition_point(|other| *other < self.near.near(component).start));
        let others = |add: &mut dyn FnMut(Component)| {
            before.iter().for_each(|other| add(*other));
            near(add);
            behind.iter().for_each(|other| add(*other));
        };
        far.heavy.visit_with(component, others, visit);
    }
}

/// Components that belong to each component, in one array with a stretch for each.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// By component: where its stretch begins and where the last neighbour put there ends.
    starts: Vec<u32>,
    ends: Vec<u32>,
    all: Vec<Component>,
}

impl Lists {
    /// Room for as many neighbours of each component as `degrees` says.
    fn with_room(degrees: &[u32]) -> Self {
        let mut total = 0;
        let mut starts = Vec::with_capacity(degrees.len());
        for degree in degrees {
            starts.push(total);
            total += degree;
        }
        Lists { ends: starts.clone(), starts, all: vec![0; total as usize] }
    }

    fn of(&self, component: Component) -> &[Component] {
        let at = component as usize;
        &self.all[self.starts[at] as usize..self.ends[at] as usize]
    }

    /// For each component those whose lists it stands in, in order: at most `degrees`.
    fn reversed(&self, degrees: &[u32]) -> Self {
        let mut reversed = Lists::with_room(degrees);
        for component in 0..self.starts.len() as Component {
            checkpoint(NEIGHBOURHOOD);
            self.of(component).iter().for_each(|other| reversed.push(*other, component));
        }
        reversed
    }

    /// What stands in either of two sorted lists of each component.
    fn merged(left: &Lists, right: &Lists) -> Self {
        let mut merged = Lists { all: Vec::with_capacity(left.all.len() + right.all.len()), ..Lists::default() };
        for component in 0..left.starts.len() as Component {
            checkpoint(NEIGHBOURHOOD);
            merged.starts.push(merged.all.len() as u32);
            let mut merge = Merge::new(right.of(component).iter().copied(), |one| merged.all.push(one));
            left.of(component).iter().for_each(|one| merge.add(*one));
            merge.finish();
            merged.ends.push(merged.all.len() as u32);
        }
        merged
    }

    fn push(&mut self, component: Component, neighbour: Component) {
        let end = &mut self.ends[component as usize];
        self.all[*end as usize] = neighbour;
        *end += 1;
    }

    /// Append, but not what is last already.
    fn push_once(&mut self, component: Component, neighbour: Component) {
        if self.of(component).last() != Some(&neighbour) {
            self.push(component, neighbour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Component, ComponentSet, LiveSet, Meetings};

    /// Pairs of `count` components, two to a node; each meets about one in so many, as often as there are rounds.
    fn check(count: Component, one_in: Component, rounds: Component) {
        let met = |a: Component, round: Component| {
            (0..count).filter(|b| (a * 31 + b * 17 + round).is_multiple_of(one_in)).collect()
        };
        check_with(count, rounds, met);
    }

    /// The same where `met` says whom a component meets in a round.
    fn check_with(count: Component, rounds: Component, met: impl Fn(Component, Component) -> Vec<Component>) {
        let owner: Vec<u32> = (0..count).map(|component| component / 2).collect();
        let mut meetings = Meetings::new(count as usize);
        let mut live = LiveSet::new(count as usize);
        let mut expected = vec![Vec::new(); count as usize];
        for round in 0..rounds {
            for a in 0..count {
                let source = Some((a + 7) % count).filter(|_| round == 1);
                let met = met(a, round);
                for b in met.iter().copied().filter(|b| a / 2 != b / 2 && Some(*b) != source) {
                    expected[a as usize].push(b);
                    expected[b as usize].push(a);
                }
                live.clear();
                met.into_iter().for_each(|member| live.insert(member, round));
                meetings.meet(a, source, &live, round);
            }
        }
        let neighbours = meetings.neighbours(&owner);
        let mut thirds = ComponentSet::new(count as usize);
        (0..count).for_each(|component| thirds.insert(component));
        (0..count).filter(|component| component % 3 != 0).for_each(|component| thirds.remove(component));
        for component in 0..count {
            let mut found = Vec::new();
            neighbours.for_each(component, |neighbour| found.push(neighbour));
            let mut within = Vec::new();
            neighbours.for_each_within(component, &thirds, |neighbour| within.push(neighbour));
            let expected = &mut expected[component as usize];
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(found, *expected, "{component} of {count}");
            assert_eq!(neighbours.count(component) as usize, expected.len(), "{component} of {count}");
            expected.retain(|neighbour| neighbour % 3 == 0);
            assert_eq!(within, *expected, "thirds of {component} of {count}");
        }
    }

    /// With a bit for every pair, and with a band that leaves some out.
    #[test]
    fn neighbours_are_those_who_have_met_in_order() {
        check(0, 1, 0);
        check(64, 3, 1);
        check(130, 11, 3);
        check(1088, 97, 2);
        check(1089, 97, 2);
        check(2500, 497, 3);
    }

    /// Some are met by nearly all, in no order and more of them than get a bit, others by few; the heavy meet each other.
    #[test]
    fn some_are_met_by_nearly_all() {
        let (count, heavy) = (9000, 1200);
        let met = |a: Component, round: Component| -> Vec<Component> {
            let by_all = (0..70).map(|at| (at * 5 + a % 3 + round) * 7919 % heavy * 7);
            by_all.chain((0..2).map(|at| (a * 17 + round + 23 * at) % count)).chain([count - 1 - a / 5]).collect()
        };
        check_with(count, 3, met);
    }

    /// Whom a component has met before it does not meet again; who came since is new.
    #[test]
    fn what_has_been_live_since_the_last_meeting_is_left_out_afar() {
        let count = 5000;
        let owner: Vec<u32> = (0..count).collect();
        let mut meetings = Meetings::new(count as usize);
        let mut live = LiveSet::new(count as usize);
        live.insert(4000, 1);
        meetings.meet(3, None, &live, 0);
        live.insert(4999, 2);
        meetings.meet(3, None, &live, 2);
        let neighbours = meetings.neighbours(&owner);
        let mut found = Vec::new();
        neighbours.for_each(3, |neighbour| found.push(neighbour));
        assert_eq!(found, [4000, 4999]);
    }
}
