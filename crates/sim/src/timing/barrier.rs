//! The barriers of a block or cluster that is replayed: complete when as many warps have arrived as the trace says.

use crate::barrier::BARRIERS;
use crate::timing::trace::{BlockTrace, CLUSTER, EventKind};

/// One barrier.
#[derive(Clone, Debug, Default)]
struct Barrier {
    /// Arrivals that each generation needs.
    needed: Vec<u32>,
    /// Arrivals at the current one.
    arrived: u32,
    /// When each generation that is complete let its warps go.
    released: Vec<u64>,
}

impl Barrier {
    /// A warp arrives; `true` if that makes the barrier complete, whose warps may go on at `release`.
    fn arrive(&mut self, release: u64) -> bool {
        self.arrived += 1;
        let is_complete = self.needed.get(self.released.len()).is_some_and(|&needed| self.arrived >= needed);
        if is_complete {
            self.arrived = 0;
            self.released.push(release);
        }
        is_complete
    }
}

/// All barriers of a block, and when that of its cluster was complete.
#[derive(Clone, Debug)]
pub(crate) struct BlockBarriers([Barrier; BARRIERS + 1]);

impl BlockBarriers {
    /// The barriers of a block with this trace.
    pub(crate) fn of(trace: &BlockTrace) -> Self {
        let mut barriers: [Barrier; BARRIERS + 1] = std::array::from_fn(|_| Barrier::default());
        let arrivals = trace.iter().flat_map(|warp| &warp.events).filter(|event| event.kind == EventKind::Arrive);
        for event in arrivals {
            let Some(barrier) = barriers.get_mut(usize::from(event.barrier)) else { continue };
            let generation = event.generation as usize;
            barrier.needed.resize(barrier.needed.len().max(generation + 1), 0);
            barrier.needed[generation] += 1;
        }
        BlockBarriers(barriers)
    }

    /// A warp arrives; `true` if that makes the barrier complete, whose warps may go on at `release`.
    pub(crate) fn arrive(&mut self, barrier: u8, release: u64) -> bool {
        self.0.get_mut(usize::from(barrier)).is_some_and(|barrier| barrier.arrive(release))
    }

    /// The barrier of the cluster is complete; its warps may go on at `release`.
    pub(crate) fn release_cluster(&mut self, release: u64) {
        self.0[BARRIERS].released.push(release);
    }

    /// When a generation of a barrier let its warps go; `None`: not yet.
    pub(crate) fn released(&self, barrier: u8, generation: u32) -> Option<u64> {
        self.0.get(usize::from(barrier))?.released.get(generation as usize).copied()
    }
}

/// The barrier of a cluster, whose blocks are on several multiprocessors.
#[derive(Clone, Debug)]
pub(crate) struct ClusterBarrier(Barrier);

impl ClusterBarrier {
    /// That of the cluster of these blocks.
    pub(crate) fn of(blocks: &[BlockTrace]) -> Self {
        let mut all = Barrier::default();
        for block in blocks {
            let BlockBarriers(mut barriers) = BlockBarriers::of(block);
            let needed = std::mem::take(&mut barriers[usize::from(CLUSTER)].needed);
            all.needed.resize(all.needed.len().max(needed.len()), 0);
            all.needed.iter_mut().zip(needed).for_each(|(sum, more)| *sum += more);
        }
        ClusterBarrier(all)
    }

    /// Some warp arrives at it.
    pub(crate) fn is_used(&self) -> bool {
        !self.0.needed.is_empty()
    }

    /// A warp arrives; `true` if that makes it complete.
    pub(crate) fn arrive(&mut self, release: u64) -> bool {
        self.0.arrive(release)
    }
}
