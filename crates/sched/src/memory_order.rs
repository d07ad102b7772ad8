//! The memory accesses of a block that later ones may have to follow.
//!
//! Loads follow none but stores, so that any number of them may change places. Where there are very many, one access
//! stands for those before it.

use crate::memory::MemoryAccess;

/// Accesses of a kind that are compared with a new one.
const WINDOW: usize = 64;
/// Loads that are kept, though many, because the stores so far do not touch what they read.
const MOST_APART: usize = 4 * WINDOW;

/// What has been seen of a block since its last fence.
#[derive(Default)]
pub(crate) struct MemoryOrder<'a> {
    /// Plain loads.
    loads: Vec<(u32, &'a MemoryAccess)>,
    /// Stores, and what is ordered among its like.
    stores: Vec<(u32, &'a MemoryAccess)>,
    /// Every later access follows this one.
    all_follow: Option<u32>,
    /// Every later store follows this one: it stands for loads before it.
    stores_follow: Option<u32>,
}

impl<'a> MemoryOrder<'a> {
    /// All that later accesses may have to follow; nothing is left.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = u32> + use<> {
        // Those that stand for others are among the stores, or followed by one that is.
        let MemoryOrder { loads, stores, .. } = std::mem::take(self);
        let accesses: Vec<u32> = loads.into_iter().chain(stores).map(|(at, _)| at).collect();
        accesses.into_iter()
    }

    /// Instruction `at` is the next access; `follow` is called for those that it has to follow.
    pub(crate) fn access(&mut self, at: u32, access: &'a MemoryAccess, mut follow: impl FnMut(u32)) {
        self.all_follow.into_iter().for_each(&mut follow);
        if access.is_plain_load() {
            self.stores.iter().filter(|(_, store)| store.conflicts(access)).for_each(|(store, _)| follow(*store));
            self.loads.push((at, access));
        } else {
            self.follow_loads(at, access, &mut follow);
            self.follow_stores(at, access, &mut follow);
        }
    }

    fn follow_loads(&mut self, at: u32, access: &MemoryAccess, follow: &mut impl FnMut(u32)) {
        self.stores_follow.into_iter().for_each(&mut *follow);
        let crowd = self.loads.len();
        self.loads.retain(|(load, other)| {
            let follows = crowd > MOST_APART || other.conflicts(access);
            if follows {
                follow(*load);
            }
            !(follows && crowd > WINDOW)
        });
        if self.loads.len() < crowd {
            self.stores_follow = Some(at);
        }
    }

    fn follow_stores(&mut self, at: u32, access: &'a MemoryAccess, follow: &mut impl FnMut(u32)) {
        let crowd = self.stores.len() >= WINDOW;
        self.stores.iter().filter(|(_, store)| crowd || store.conflicts(access)).for_each(|(store, _)| follow(*store));
        if crowd {
            self.stores.clear();
            self.all_follow = Some(at);
        }
        self.stores.push((at, access));
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_APART, MemoryOrder, WINDOW};
    use crate::memory::MemoryAccess;
    use fastrand::Rng;
    use fixedbitset::FixedBitSet;
    use oriole_isa::Space;

    const SPACES: [Space; 4] = [Space::Global, Space::Shared, Space::Local, Space::Any];

    /// Of sixteen accesses, how many are loads; how many different places there are.
    const KINDS: [(u8, i64); 5] = [(1, 4), (8, 4), (8, 4_000), (15, 4), (15, 40_000)];

    fn random_access(rng: &mut Rng, loads: u8, places: i64) -> MemoryAccess {
        let space = SPACES[if rng.u8(..16) == 0 { rng.usize(..SPACES.len()) } else { 0 }];
        let base = u32::from(rng.u8(..32) == 0);
        let access = MemoryAccess::at(space, rng.u8(..16) >= loads, base, rng.i64(..places), 1 << rng.u8(..5));
        match rng.u8(..32) {
            0 => access.in_order(),
            1 => access.anywhere(),
            _ => access,
        }
    }

    fn random_accesses(rng: &mut Rng, count: usize, (loads, places): (u8, i64)) -> Vec<MemoryAccess> {
        (0..count).map(|_| random_access(rng, loads, places)).collect()
    }

    /// For each access those that it is told to follow, all of them before it.
    fn followed<'a>(order: &mut MemoryOrder<'a>, accesses: &'a [MemoryAccess]) -> Vec<Vec<u32>> {
        let follows = |(at, access): (u32, &'a MemoryAccess)| {
            let mut before = Vec::new();
            order.access(at, access, |earlier| before.push(earlier));
            assert!(before.iter().all(|earlier| *earlier < at), "{at} follows {before:?}");
            before
        };
        (0..).zip(accesses).map(follows).collect()
    }

    /// For each access all that come before it, those that others stand for among them.
    fn closure(followed: &[Vec<u32>]) -> Vec<FixedBitSet> {
        let mut closure: Vec<FixedBitSet> = Vec::new();
        for direct in followed {
            let mut before = FixedBitSet::with_capacity(followed.len());
            for earlier in direct {
                before.insert(*earlier as usize);
                before.union_with(&closure[*earlier as usize]);
            }
            closure.push(before);
        }
        closure
    }

    /// The pairs that may not change places.
    fn conflicts(accesses: &[MemoryAccess]) -> impl Iterator<Item = (usize, usize)> {
        let pairs = (0..accesses.len()).flat_map(|later| (0..later).map(move |earlier| (earlier, later)));
        pairs.filter(|(earlier, later)| accesses[*earlier].conflicts(&accesses[*later]))
    }

    /// Of few accesses none stands for another: those that conflict follow each other, and no others.
    #[test]
    fn few_accesses_follow_what_they_conflict_with() {
        for seed in 0..200 {
            let mut rng = Rng::with_seed(seed);
            let accesses = random_accesses(&mut rng, WINDOW, KINDS[seed as usize % KINDS.len()]);
            let mut found = followed(&mut MemoryOrder::default(), &accesses);
            found.iter_mut().for_each(|before| before.sort_unstable());
            let mut expected = vec![Vec::new(); accesses.len()];
            conflicts(&accesses).for_each(|(earlier, later)| expected[later].push(earlier as u32));
            assert_eq!(found, expected, "seed {seed}");
        }
    }

    /// Whatever stands for whatever, conflicting accesses are in order. Of loads and of stores there are some that others
    /// stand for.
    #[test]
    fn many_accesses_keep_the_order_of_those_that_conflict() {
        let (mut loads, mut stores) = (0, 0);
        for seed in 0..60 {
            let mut rng = Rng::with_seed(seed);
            let count = rng.usize(300..800);
            let accesses = random_accesses(&mut rng, count, KINDS[seed as usize % KINDS.len()]);
            let followed = followed(&mut MemoryOrder::default(), &accesses);
            let closure = closure(&followed);
            for (earlier, later) in conflicts(&accesses) {
                assert!(closure[later].contains(earlier), "seed {seed}: {later} does not follow {earlier}");
                let stood_for = u32::from(!followed[later].contains(&(earlier as u32)));
                *if accesses[earlier].is_plain_load() { &mut loads } else { &mut stores } += stood_for;
            }
        }
        assert!(loads > 0 && stores > 0, "{loads} loads and {stores} stores are followed by way of others");
    }

    #[test]
    fn loads_alone_follow_none() {
        for seed in 0..20 {
            let loads = random_accesses(&mut Rng::with_seed(seed), 1_000, (16, 4));
            let loads: Vec<_> = loads.into_iter().filter(MemoryAccess::is_plain_load).collect();
            assert!(loads.len() > MOST_APART);
            assert!(followed(&mut MemoryOrder::default(), &loads).iter().all(Vec::is_empty));
        }
    }

    /// An instruction that follows what is taken comes behind all accesses before it; nothing is left for the next.
    #[test]
    fn what_is_taken_stands_for_all() {
        for seed in 0..60 {
            let mut rng = Rng::with_seed(seed);
            let accesses = random_accesses(&mut rng, 400, KINDS[seed as usize % KINDS.len()]);
            let mut order = MemoryOrder::default();
            let mut followed = followed(&mut order, &accesses);
            followed.push(order.take().collect());
            let last = closure(&followed).pop();
            assert_eq!(last.map(|before| before.count_ones(..)), Some(accesses.len()), "seed {seed}");
            assert_eq!(order.take().count(), 0);
        }
    }

    /// Stores, loads behind stores or before them, and both in turn, all at one place or each at its own: with every pair
    /// compared there would be a thousand for each, and behind a store a thousand would be kept.
    #[test]
    fn accesses_follow_few_others() {
        const COUNT: usize = 2_000;
        for apart in [0, 16] {
            for writes in [|_| true, |at| at >= COUNT / 2, |at| at < COUNT / 2, |at| at % 2 == 0, |at| at % 8 == 0] {
                let accesses: Vec<MemoryAccess> =
                    (0..COUNT).map(|at| MemoryAccess::at(Space::Global, writes(at), 0, apart * at as i64, 4)).collect();
                let (mut order, store) = (MemoryOrder::default(), MemoryAccess::at(Space::Global, true, 0, -4, 4));
                let edges: usize = followed(&mut order, &accesses).iter().map(Vec::len).sum();
                assert!(edges <= COUNT * (2 * WINDOW + 3), "{edges} edges");
                order.access(COUNT as u32, &store, |_| ());
                let kept = order.take().count();
                assert!(kept <= MOST_APART + WINDOW + 2, "{kept} are kept");
            }
        }
    }
}
