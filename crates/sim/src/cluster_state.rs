//! What the blocks of a cluster share.

use crate::lanes::Mask;
use crate::tensor_cells::TensorMemory;
use crate::tensor_memory::Columns;
use crate::timing::phase::PhaseNumbers;

/// What the blocks of a cluster share, in the hands of the block that runs.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    /// Shared memory of each block in words, by rank; that of the block that runs is taken out. Empty
    /// in a cluster of one block.
    pub(crate) peers: Vec<Vec<u32>>,
    /// The barrier.
    pub(crate) barrier: ClusterBarrier,
    /// Tensor memory that the blocks hold.
    pub(crate) columns: Columns,
    /// What is in it.
    pub(crate) tensor: TensorMemory,
    /// How often an mbarrier or a pool of registers has changed.
    pub(crate) signals: u64,
    /// The phases of the blocks' mbarriers, for the cycle model.
    pub(crate) phases: PhaseNumbers,
}

/// The barrier of a cluster (`barrier.cluster`).
#[derive(Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// Threads that have arrived in this phase, by rank and warp.
    arrived: Vec<Vec<Mask>>,
    /// Threads that have arrived and not waited yet.
    owing: Vec<Vec<Mask>>,
}

impl ClusterBarrier {
    /// `lanes` of a warp arrive. An error names the rule that they break.
    pub(crate) fn arrive(&mut self, rank: usize, warp: usize, lanes: Mask) -> Result<(), String> {
        let owing = entry(&mut self.owing, rank, warp);
        if *owing & lanes != 0 {
            return Err("threads arrive twice at the barrier of the cluster without waiting in between".into());
        }
        *owing |= lanes;
        *entry(&mut self.arrived, rank, warp) |= lanes;
        Ok(())
    }

    /// `lanes` of a warp wait: those that have to, because the phase in which they arrived is not
    /// over. An error names the rule that they break.
    pub(crate) fn wait(&mut self, rank: usize, warp: usize, lanes: Mask) -> Result<Mask, String> {
        let owing = entry(&mut self.owing, rank, warp);
        if lanes & !*owing != 0 {
            return Err("threads wait at the barrier of the cluster without having arrived".into());
        }
        *owing &= !lanes;
        Ok(*entry(&mut self.arrived, rank, warp) & lanes)
    }

    /// Starts the next phase if all living threads of the cluster have arrived; whether they have.
    ///
    /// `alive` gives the living threads of each warp, by rank and number.
    pub(crate) fn complete(&mut self, alive: impl Iterator<Item = (usize, usize, Mask)>) -> bool {
        if self.arrived.is_empty() {
            return false;
        }
        let arrived = |rank: usize, warp: usize| self.arrived.get(rank).and_then(|warps| warps.get(warp)).copied();
        let mut any = false;
        for (rank, warp, alive) in alive {
            let here = arrived(rank, warp).unwrap_or(0);
            any |= here != 0;
            if alive & !here != 0 {
                return false;
            }
        }
        self.arrived.clear();
        any
    }

    /// Threads that have arrived in this phase.
    pub(crate) fn progress(&self) -> u32 {
        self.arrived.iter().flatten().map(|mask| mask.count_ones()).sum()
    }
}

fn entry(masks: &mut Vec<Vec<Mask>>, rank: usize, warp: usize) -> &mut Mask {
    if masks.len() <= rank {
        masks.resize(rank + 1, Vec::new());
    }
    let warps = &mut masks[rank];
    if warps.len() <= warp {
        warps.resize(warp + 1, 0);
    }
    &mut warps[warp]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_barrier_tells_its_phases_apart() {
        let mut barrier = ClusterBarrier::default();
        barrier.arrive(0, 0, 0xf).expect("first");
        assert!(barrier.arrive(0, 0, 1).expect_err("again").contains("twice"));
        assert_eq!(barrier.wait(0, 0, 0x3), Ok(0x3), "the phase is not over");
        barrier.arrived.clear();
        assert_eq!(barrier.wait(0, 0, 0xc), Ok(0), "it is over");
        assert!(barrier.wait(0, 0, 1).expect_err("nothing is owed").contains("without having arrived"));
    }
}
