//! The barriers of a block that is replayed: complete when as many warps have arrived as the trace says.

use crate::barrier::BARRIERS;
use crate::timing::trace::{BlockTrace, EventKind};

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

/// All barriers of a block.
#[derive(Clone, Debug)]
pub(crate) struct BlockBarriers([Barrier; BARRIERS]);

impl BlockBarriers {
    /// The barriers of a block with this trace.
    pub(crate) fn of(trace: &BlockTrace) -> Self {
        let mut barriers: [Barrier; BARRIERS] = std::array::from_fn(|_| Barrier::default());
        let arrivals = trace.iter().flat_map(|warp| &warp.events).filter(|event| event.kind == EventKind::Arrive);
        for event in arrivals {
            let needed = &mut barriers[usize::from(event.barrier) % BARRIERS].needed;
            let generation = event.generation as usize;
            needed.resize(needed.len().max(generation + 1), 0);
            needed[generation] += 1;
        }
        BlockBarriers(barriers)
    }

    /// A warp arrives; `true` if that makes the barrier complete, whose warps may go on at `release`.
    pub(crate) fn arrive(&mut self, barrier: u8, release: u64) -> bool {
        let barrier = &mut self.0[usize::from(barrier) % BARRIERS];
        barrier.arrived += 1;
        let is_complete = barrier.needed.get(barrier.released.len()).is_some_and(|&needed| barrier.arrived >= needed);
        if is_complete {
            barrier.arrived = 0;
            barrier.released.push(release);
        }
        is_complete
    }

    /// When a generation of a barrier let its warps go; `None`: not yet.
    pub(crate) fn released(&self, barrier: u8, generation: u32) -> Option<u64> {
        self.0[usize::from(barrier) % BARRIERS].released.get(generation as usize).copied()
    }
}
