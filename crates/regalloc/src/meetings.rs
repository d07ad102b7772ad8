//! Who meets whom: pairs of components while they are found, and the neighbours of each afterwards.
//!
//! Few pairs among many components stand in lists, many pairs among few in a matrix of bits, whichever is smaller: of a
//! function with a thousand values alive at once each meets nearly every other.

use crate::component_set::ComponentSet;
use crate::heavy::{Heavy, Merge, ones};
use crate::node::{Component, Node};
use smallvec::SmallVec;
use std::ops::Range;

/// Bytes that a pair takes in all until the lists are made of it: once as found, once for either side.
const BYTES_PER_PAIR: usize = 12;

/// Below this size a matrix is made as soon as it is likely to be smaller in the end, by what so many meetings say.
const SMALL: usize = 1 << 23;
const SAMPLE: usize = 64;

/// Components from which on some may be heavy: below, a matrix is as small.
const CROWDED: usize = 1 << 11;

/// Pairs as a walk over the code finds them; some are repeated.
#[derive(Debug)]
pub(crate) struct Meetings {
    /// What the component of the current meeting meets is put at the end.
    pub(crate) members: Vec<Component>,
    /// The component that meets, and where its stretch of `members` ends.
    ends: Vec<(Component, u32)>,
    components: usize,
    /// The pairs with those that very many meet, in a function of more than [`CROWDED`] components.
    heavy: Option<Heavy>,
    /// In place of all of that, from when it is smaller.
    matrix: Option<Matrix>,
}

impl Meetings {
    /// No pairs yet of so many components.
    pub(crate) fn new(components: usize) -> Self {
        let heavy = (components > CROWDED).then(|| Heavy::new(components));
        Meetings { members: Vec::new(), ends: Vec::new(), components, heavy, matrix: None }
    }

    /// `component` meets what was put into `members` since the last call, but not itself and not `source`.
    pub(crate) fn end(&mut self, component: Component, source: Option<Component>) {
        let start = self.ends.last().map_or(0, |(_, end)| *end as usize);
        let heavy = &mut self.heavy;
        retain_from(&mut self.members, start, |member| {
            let meets = member != component && Some(member) != source;
            meets && !heavy.as_mut().is_some_and(|heavy| heavy.takes(component, member))
        });
        self.ends.push((component, self.members.len() as u32));
        let smaller = || {
            let bytes = Matrix::bytes(self.components);
            let likely = if bytes <= SMALL && self.ends.len() >= SAMPLE { self.components / self.ends.len() } else { 1 };
            BYTES_PER_PAIR * self.members.len() * likely.max(1) >= bytes
        };
        if self.matrix.is_some() || smaller() {
            let mut matrix = self.matrix.take().unwrap_or_else(|| Matrix::new(self.components));
            self.for_each(|a, b| matrix.note(a, b));
            if let Some(heavy) = self.heavy.take() {
                (0..self.components as Component).for_each(|a| heavy.of(a, |b| matrix.note(a, b)));
            }
            self.matrix = Some(matrix);
            self.members.clear();
            self.ends.clear();
        }
    }

    /// `component` meets all in `live`, but not itself and not `source`: at once, where there is a matrix already.
    pub(crate) fn all_at_once(&mut self, component: Component, source: Option<Component>, live: &ComponentSet) -> bool {
        let Some(matrix) = &mut self.matrix else { return false };
        let left_out = source.into_iter().chain([component]);
        // What of them it has met before stays.
        let before = left_out.map(|other| (other, matrix.has(component, other)));
        let before: SmallVec<[(Component, bool); 2]> = before.collect();
        matrix.row_mut(component).iter_mut().zip(live.words()).for_each(|(row, live)| *row |= live);
        for (other, _) in before.into_iter().filter(|(_, met)| !met) {
            *matrix.word(component, other) &= !(1 << (other % 64));
        }
        true
    }

    /// Calls `visit` for every pair that is not in the matrix.
    fn for_each(&self, mut visit: impl FnMut(Component, Component)) {
        let mut start = 0;
        for &(component, end) in &self.ends {
            self.members[start..end as usize].iter().for_each(|member| visit(component, *member));
            start = end as usize;
        }
    }

    /// Each component's neighbours, but for those of its own node.
    pub(crate) fn neighbours(self, owner: &[Node]) -> Neighbours {
        match self.matrix {
            Some(mut matrix) => {
                matrix.mirror();
                matrix.part_owners(owner);
                Neighbours::Matrix(matrix)
            }
            None => Neighbours::Lists(Box::new(self.lists(owner))),
        }
    }

    /// The pairs as sorted lists, each pair once on either side.
    fn lists(self, owner: &[Node]) -> Pairs {
        let stretches = self.stretches(owner);
        let members = self.members;
        let (mut met, mut meeting) = (vec![0; owner.len()], vec![0; owner.len()]);
        for stretch in &stretches {
            let count = &mut meeting[stretch.component as usize];
            stretch.for_each(&members, |member| {
                met[member as usize] += 1;
                *count += 1;
            });
        }
        let mut met_by = Lists::with_room(&met);
        for stretch in &stretches {
            stretch.for_each(&members, |member| met_by.push_once(member, stretch.component));
        }
        drop(members);
        let meets = met_by.reversed(&meeting);
        let mut heavy = self.heavy.unwrap_or_default();
        heavy.finish(owner);
        Pairs { light: Lists::merged(&met_by, &meets), heavy }
    }

    /// The meetings by who meets: those who are met hear of it in order.
    fn stretches(&self, owner: &[Node]) -> Vec<Stretch> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        let stretch = |(start, (component, end)): (u32, &(Component, u32))| {
            let node = |at: &Component| owner[*at as usize] == owner[*component as usize];
            let first = (0..*component).rev().take_while(node).last().unwrap_or(*component);
            let width = (first..owner.len() as Component).take_while(node).count() as Component;
            Stretch { component: *component, own: (first, width), members: start..*end }
        };
        let mut stretches: Vec<Stretch> = starts.zip(&self.ends).map(stretch).collect();
        stretches.sort_by_key(|stretch| stretch.component);
        stretches
    }
}

/// A meeting.
struct Stretch {
    component: Component,
    /// The first component of its node, and how many the node has: they do not meet.
    own: (Component, Component),
    /// Where those stand whom it meets, and perhaps some of its own node.
    members: Range<u32>,
}

impl Stretch {
    fn for_each(&self, members: &[Component], mut visit: impl FnMut(Component)) {
        let (first, width) = self.own;
        let met = &members[self.members.start as usize..self.members.end as usize];
        met.iter().filter(|member| member.wrapping_sub(first) >= width).for_each(|member| visit(*member));
    }
}

/// Pairs of which neither is heavy in the lists of both, and those with the heavy.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    light: Lists,
    heavy: Heavy,
}

impl Pairs {
    fn for_each(&self, component: Component, mut visit: impl FnMut(Component)) {
        self.heavy.visit_with(component, self.light.of(component).iter().copied(), &mut visit);
    }
}

/// The neighbours of each component.
#[derive(Debug)]
pub(crate) enum Neighbours {
    Lists(Box<Pairs>),
    Matrix(Matrix),
}

impl Default for Neighbours {
    fn default() -> Self {
        Neighbours::Lists(Box::default())
    }
}

impl Neighbours {
    /// Call `visit` for each neighbour of `component`, in order.
    pub(crate) fn for_each(&self, component: Component, visit: impl FnMut(Component)) {
        match self {
            Neighbours::Lists(lists) => lists.for_each(component, visit),
            Neighbours::Matrix(matrix) => ones(matrix.row(component).iter().copied(), visit),
        }
    }

    /// How many neighbours `component` has.
    pub(crate) fn count(&self, component: Component) -> u32 {
        match self {
            Neighbours::Lists(lists) => {
                let mut count = 0;
                lists.for_each(component, |_| count += 1);
                count
            }
            Neighbours::Matrix(matrix) => matrix.row(component).iter().map(|word| word.count_ones()).sum(),
        }
    }

    /// Call `visit` for each neighbour of `component` within a set, in order.
    pub(crate) fn for_each_within(&self, component: Component, set: &ComponentSet, mut visit: impl FnMut(Component)) {
        match self {
            Neighbours::Lists(lists) => lists.for_each(component, |other| {
                if set.contains(other) {
                    visit(other);
                }
            }),
            Neighbours::Matrix(matrix) => {
                let words = matrix.row(component).iter().zip(set.words());
                ones(words.map(|(met, within)| met & within), visit);
            }
        }
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
            self.of(component).iter().for_each(|other| reversed.push(*other, component));
        }
        reversed
    }

    /// What stands in either of two sorted lists of each component.
    fn merged(left: &Lists, right: &Lists) -> Self {
        let mut merged = Lists { all: Vec::with_capacity(left.all.len() + right.all.len()), ..Lists::default() };
        for component in 0..left.starts.len() as Component {
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

/// A bit for each two components: while pairs are found, in the row of one of the two.
#[derive(Debug)]
pub(crate) struct Matrix {
    words_per_row: usize,
    words: Vec<u64>,
}

impl Matrix {
    /// The size for so many components.
    fn bytes(components: usize) -> usize {
        8 * components * components.div_ceil(64)
    }

    fn new(components: usize) -> Self {
        Matrix { words_per_row: components.div_ceil(64), words: vec![0; Matrix::bytes(components) / 8] }
    }

    fn row(&self, component: Component) -> &[u64] {
        let start = component as usize * self.words_per_row;
        &self.words[start..start + self.words_per_row]
    }

    fn row_mut(&mut self, component: Component) -> &mut [u64] {
        let start = component as usize * self.words_per_row;
        &mut self.words[start..start + self.words_per_row]
    }

    fn has(&self, a: Component, b: Component) -> bool {
        self.row(a)[b as usize / 64] >> (b % 64) & 1 == 1
    }

    fn word(&mut self, a: Component, b: Component) -> &mut u64 {
        &mut self.words[a as usize * self.words_per_row + b as usize / 64]
    }

    /// The pair, in the row of `a` only: rows far apart would not stay in the cache.
    fn note(&mut self, a: Component, b: Component) {
        *self.word(a, b) |= 1 << (b % 64);
    }

    /// Put each pair into the rows of both, by squares of 64 rows and a word.
    fn mirror(&mut self) {
        let rows = self.words.len().checked_div(self.words_per_row).unwrap_or(0);
        for above in 0..self.words_per_row {
            for below in above..self.words_per_row {
                let (upper, lower) = (self.square(above, below, rows), self.square(below, above, rows));
                self.add_square(below, above, rows, transposed(upper));
                self.add_square(above, below, rows, transposed(lower));
            }
        }
    }

    /// The words at place `column` of the rows from `64 * band` on; zero beyond the last row.
    fn square(&self, band: usize, column: usize, rows: usize) -> [u64; 64] {
        let word = |row: usize| if row < rows { self.words[row * self.words_per_row + column] } else { 0 };
        std::array::from_fn(|at| word(64 * band + at))
    }

    fn add_square(&mut self, band: usize, column: usize, rows: usize, square: [u64; 64]) {
        for (row, bits) in (64 * band..rows).zip(square) {
            self.words[row * self.words_per_row + column] |= bits;
        }
    }

    /// Components of one node, which follow each other, are no neighbours.
    fn part_owners(&mut self, owner: &[Node]) {
        for a in 0..owner.len() {
            for b in (a..owner.len()).take_while(|b| owner[a] == owner[*b]) {
                let (a, b) = (a as Component, b as Component);
                *self.word(a, b) &= !(1 << (b % 64));
                *self.word(b, a) &= !(1 << (a % 64));
            }
        }
    }
}

/// Keep of what stands from `start` on that for which `stays` holds.
fn retain_from(list: &mut Vec<Component>, start: usize, mut stays: impl FnMut(Component) -> bool) {
    let mut kept = start;
    for at in start..list.len() {
        let member = list[at];
        list[kept] = member;
        kept += usize::from(stays(member));
    }
    list.truncate(kept);
}

/// Bit `i` of word `j` becomes bit `j` of word `i`: the two halves off the diagonal change places, then those of each
/// quarter, and so on.
pub(crate) fn transposed(mut square: [u64; 64]) -> [u64; 64] {
    let mut half = 32;
    let mut mask = u64::MAX >> 32;
    while half != 0 {
        for low in (0..64).filter(|word| word & half == 0) {
            let exchanged = (square[low] >> half ^ square[low + half]) & mask;
            square[low] ^= exchanged << half;
            square[low + half] ^= exchanged;
        }
        half /= 2;
        mask ^= mask << half;
    }
    square
}

#[cfg(test)]
mod tests {
    use super::{Component, ComponentSet, Meetings, Neighbours};

    /// Pairs of `count` components, two to a node; each meets about one in so many, as often as there are rounds.
    fn check(count: Component, one_in: Component, rounds: Component, matrix: bool) {
        let met = |a: Component, round: Component| {
            (0..count).filter(|b| (a * 31 + b * 17 + round).is_multiple_of(one_in)).collect()
        };
        check_with(count, rounds, matrix, met);
    }

    /// The same where `met` says whom a component meets in a round.
    fn check_with(
        count: Component,
        rounds: Component,
        matrix: bool,
        met: impl Fn(Component, Component) -> Vec<Component>,
    ) {
        let owner: Vec<u32> = (0..count).map(|component| component / 2).collect();
        let mut meetings = Meetings::new(count as usize);
        let mut expected = vec![Vec::new(); count as usize];
        for round in 0..rounds {
            for a in 0..count {
                let source = Some((a + 7) % count).filter(|_| round == 1);
                let met = met(a, round);
                for b in met.iter().copied().filter(|b| a / 2 != b / 2 && Some(*b) != source) {
                    expected[a as usize].push(b);
                    expected[b as usize].push(a);
                }
                meetings.members.extend(met);
                meetings.end(a, source);
            }
        }
        let neighbours = meetings.neighbours(&owner);
        let mut thirds = ComponentSet::new(count as usize);
        (0..count).for_each(|component| thirds.insert(component));
        (0..count).filter(|component| component % 3 != 0).for_each(|component| thirds.remove(component));
        assert_eq!(matches!(neighbours, Neighbours::Matrix(_)), matrix, "{count} components, {rounds} rounds");
        for component in 0..count {
            let mut found = Vec::new();
            neighbours.for_each(component, |neighbour| found.push(neighbour));
            let mut within = Vec::new();
            neighbours.for_each_within(component, &thirds, |neighbour| within.push(neighbour));
            let expected = &mut expected[component as usize];
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(found, *expected, "{component} of {count}");
            expected.retain(|neighbour| neighbour % 3 == 0);
            assert_eq!(within, *expected, "thirds of {component} of {count}");
        }
    }

    #[test]
    fn lists_and_matrix_have_the_same_pairs_in_order() {
        check(130, 11, 3, true);
        check(64, 3, 1, true);
        check(500, 497, 3, false);
        check(0, 1, 0, false);
    }

    /// Some are met by nearly all, in no order and more of them than get a bit, others by few; the heavy meet each other.
    #[test]
    fn some_are_met_by_nearly_all() {
        let (count, heavy) = (9000, 1200);
        let met = |a: Component, round: Component, few: Component| -> Vec<Component> {
            let by_all = (0..70).map(|at| (at * 5 + a % 3 + round) * 7919 % heavy * 7);
            by_all.chain((0..few).map(|at| (a * 17 + round + 23 * at) % count)).chain([count - 1 - a / 5]).collect()
        };
        check_with(count, 3, false, |a, round| met(a, round, 2));
        // So many pairs that a matrix is smaller after all.
        check_with(count, 1, true, |a, round| met(a, round, 300));
    }
}
