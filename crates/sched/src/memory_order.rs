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
        let MemoryOrder { loads, stores, all_follow, stores_follow } = std::mem::take(self);
        let accesses: Vec<u32> = loads.into_iter().chain(stores).map(|(at, _)| at).collect();
        accesses.into_iter().chain(all_follow).chain(stores_follow)
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
