//! Pairs with components that very many meet: a value that lives through a long function meets all that is written there.
//!
//! Such a component has a bit in the masks of all the others, an eighth of a byte where a list takes four on either side.

use crate::band::transposed;
use crate::node::Component;
use smallvec::SmallVec;

/// Met so often, a component gets a bit.
const HEAVY: u32 = 512;
/// Components that get one at most; the pairs of others stay in lists.
const MOST: usize = 1024;

/// Who is met how often, and the pairs with those that are met very often.
#[derive(Debug, Default)]
pub(crate) struct Heavy {
    /// By component: how often it has been met, and from [`HEAVY`] on its place among the heavy, added to that.
    met: Vec<u32>,
    members: Vec<Component>,
    /// A plane for 64 heavy components: by component a word, bit `i` of it the meeting with the plane's `i`th.
    planes: Vec<Vec<u64>>,
    /// By heavy component: the bits of all that meet it.
    rows: Vec<Vec<u64>>,
}

impl Heavy {
    pub(crate) fn new(components: usize) -> Self {
        Heavy { met: vec![0; components], ..Heavy::default() }
    }

    /// Whether the meeting of `component` with `other` is kept here.
    pub(crate) fn takes(&mut self, component: Component, other: Component) -> bool {
        let met = &mut self.met[other as usize];
        if *met < HEAVY {
            *met += 1;
            if *met < HEAVY {
                return false;
            }
            if self.members.len() == MOST {
                *met -= 1;
                return false;
            }
            *met += self.members.len() as u32;
            self.members.push(other);
        }
        let place = (*met - HEAVY) as usize;
        if self.planes.len() <= place / 64 {
            self.planes.push(vec![0; self.met.len()]);
        }
        self.planes[place / 64][component as usize] |= 1 << (place % 64);
        true
    }

    /// Order the heavy components, once all have met.
    pub(crate) fn finish(&mut self) {
        let count = self.met.len();
        let mut rows = vec![vec![0; count.div_ceil(64)]; 64 * self.planes.len()];
        for (plane, rows) in self.planes.iter().zip(rows.chunks_mut(64)) {
            for (band, words) in plane.chunks(64).enumerate() {
                let square = std::array::from_fn(|at| words.get(at).copied().unwrap_or(0));
                for (row, bits) in rows.iter_mut().zip(transposed(square)) {
                    row[band] = bits;
                }
            }
        }
        let mut places: Vec<usize> = (0..self.members.len()).collect();
        places.sort_unstable_by_key(|place| self.members[*place]);
        self.rows = places.iter().map(|place| std::mem::take(&mut rows[*place])).collect();
        self.members.sort_unstable();
        for (place, member) in self.members.iter().enumerate() {
            self.met[*member as usize] = HEAVY + place as u32;
        }
        for (plane, rows) in self.planes.iter_mut().zip(self.rows.chunks(64)) {
            for (band, words) in plane.chunks_mut(64).enumerate() {
                let square = std::array::from_fn(|at| rows.get(at).map_or(0, |row| row[band]));
                words.iter_mut().zip(transposed(square)).for_each(|(word, bits)| *word = bits);
            }
        }
    }

    /// Call `visit` for the heavy components that `component` meets, in order.
    pub(crate) fn of(&self, component: Component, mut visit: impl FnMut(Component)) {
        ones(self.mask(component), |place| visit(self.members[place as usize]));
    }

    fn mask(&self, component: Component) -> impl Iterator<Item = u64> + '_ {
        self.planes.iter().map(move |plane| plane[component as usize])
    }

    /// All that meet a heavy component; none where it is not heavy.
    fn row(&self, component: Component) -> &[u64] {
        let met = self.met.get(component as usize).copied().unwrap_or(0);
        met.checked_sub(HEAVY).map_or(&[][..], |place| &self.rows[place as usize])
    }

    /// Whether `component` meets anybody here.
    pub(crate) fn has(&self, component: Component) -> bool {
        self.mask(component).any(|word| word != 0) || !self.row(component).is_empty()
    }

    /// Call `visit` for all that `component` meets here and for those that `others` gives in order: each once, in order.
    pub(crate) fn visit_with(
        &self,
        component: Component,
        others: impl FnOnce(&mut dyn FnMut(Component)),
        visit: &mut impl FnMut(Component),
    ) {
        let mut heavy: SmallVec<[Component; 16]> = SmallVec::new();
        self.of(component, |other| heavy.push(other));
        let row = self.row(component);
        if row.is_empty() {
            let mut merge = Merge::new(heavy.into_iter(), visit);
            others(&mut |other| merge.add(other));
            return merge.finish();
        }
        // A heavy one meets few heavy ones, and few others that were written before it was known to be heavy.
        let mut short = Vec::new();
        let mut merge = Merge::new(heavy.into_iter(), |component| short.push(component));
        others(&mut |other| merge.add(other));
        merge.finish();
        let mut merge = Merge::new(short.into_iter(), visit);
        ones(row.iter().copied(), |met| merge.add(met));
        merge.finish();
    }
}

/// Call `visit` for the numbers of the bits that are set, in order.
pub(crate) fn ones(words: impl Iterator<Item = u64>, visit: impl FnMut(u32)) {
    ones_from(0, words, visit);
}

/// The same where the first word is the one of number `first`.
pub(crate) fn ones_from(first: usize, words: impl Iterator<Item = u64>, mut visit: impl FnMut(u32)) {
    for (at, word) in (first as u32..).zip(words) {
        let mut rest = word;
        while rest != 0 {
            visit(64 * at + rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
}

/// Two sequences in order as one, of which one is long; what stands in both is visited once.
pub(crate) struct Merge<I, F> {
    short: I,
    next: Option<Component>,
    visit: F,
}

impl<I: Iterator<Item = Component>, F: FnMut(Component)> Merge<I, F> {
    pub(crate) fn new(mut short: I, visit: F) -> Self {
        Merge { next: short.next(), short, visit }
    }

    /// What comes next in the long one.
    #[inline]
    pub(crate) fn add(&mut self, component: Component) {
        while let Some(next) = self.next.filter(|next| *next <= component) {
            self.next = self.short.next();
            if next < component {
                (self.visit)(next);
            }
        }
        (self.visit)(component);
    }

    /// The long one has ended.
    pub(crate) fn finish(mut self) {
        self.next.into_iter().for_each(&mut self.visit);
        self.short.for_each(self.visit);
    }
}
