//! Which barrier register holds the threads of a region.

use super::regions::{RegionId, Regions};
use crate::CallBarriers;

/// Convergence barriers of a warp, `B0`–`B15`.
const BARRIERS: u8 = 16;

/// Regions around each other that may be kept in general registers: each takes one for as long as it lasts.
const NOTES: u32 = 16;

/// Where the threads of a region are noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Nowhere: no barrier was left. They stay apart until the join of a region around it.
    Nowhere,
    /// In a barrier of its own.
    Barrier(u8),
    /// In a general register; in this barrier, which an outer region has, while they are noted and wait.
    Register(u8),
}

/// The lowest barrier that is none of these.
pub(super) fn free(taken: u16) -> Option<u8> {
    (0..BARRIERS).find(|barrier| taken >> barrier & 1 == 0)
}

/// Where each region's threads are noted: barriers of regions around each other differ, calls in a region do not change
/// its barrier, and where threads leave it meanwhile the calls do not even save it.
pub(super) fn number(regions: &Regions, calls: CallBarriers) -> Vec<Kept> {
    let mut kept = vec![Kept::Nowhere; regions.all.len()];
    let mut taken = vec![0u16; regions.all.len()];
    let mut notes = vec![0u32; regions.all.len()];
    for id in regions.outer_first() {
        let region = regions.get(id);
        let around = regions.around(id);
        let above = around.map_or(0, |outer| taken[outer as usize]);
        let avoid = match (region.calls, region.leaves) {
            (false, _) => 0,
            (true, false) => calls.changed,
            (true, true) => calls.used,
        };
        let place = match free(above | avoid) {
            Some(barrier) => Kept::Barrier(barrier),
            None if !region.leaves && around.is_none_or(|outer| notes[outer as usize] < NOTES) => {
                shared(regions, &kept, around).map_or(Kept::Nowhere, Kept::Register)
            }
            None => Kept::Nowhere,
        };
        taken[id as usize] = match place {
            Kept::Barrier(barrier) => above | 1 << barrier,
            Kept::Register(_) | Kept::Nowhere => above,
        };
        let own = u32::from(matches!(place, Kept::Register(_)));
        notes[id as usize] = around.map_or(0, |outer| notes[outer as usize]) + own;
        kept[id as usize] = place;
    }
    kept
}

/// The barrier of the closest region around that no thread leaves: while its threads are noted elsewhere, a BREAK would
/// miss them.
fn shared(regions: &Regions, kept: &[Kept], mut around: Option<RegionId>) -> Option<u8> {
    while let Some(id) = around {
        if let (Kept::Barrier(barrier), false) = (kept[id as usize], regions.get(id).leaves) {
            return Some(barrier);
        }
        around = regions.around(id);
    }
    None
}
