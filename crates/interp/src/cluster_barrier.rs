//! The barrier of a cluster.

/// The barrier of a cluster: each thread arrives and waits in turn.
#[derive(Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// By rank and warp: threads that have arrived in this phase.
    arrived: Vec<Vec<u32>>,
    /// By rank and warp: threads that have arrived and not waited since.
    owing: Vec<Vec<u32>>,
}

/// The threads of one warp, by rank and number.
fn of_warp(masks: &mut Vec<Vec<u32>>, rank: usize, warp: usize) -> &mut u32 {
    masks.resize_with(masks.len().max(rank + 1), Vec::new);
    let warps = &mut masks[rank];
    warps.resize(warps.len().max(warp + 1), 0);
    &mut warps[warp]
}

impl ClusterBarrier {
    /// The threads `mask` of a warp arrive. The error says which rule is broken.
    pub(crate) fn arrive(&mut self, rank: usize, warp: usize, mask: u32) -> Result<(), String> {
        let owing = of_warp(&mut self.owing, rank, warp);
        if *owing & mask != 0 {
            return Err("barrier.cluster.arrive by threads that have not waited since the last one".to_owned());
        }
        *owing |= mask;
        *of_warp(&mut self.arrived, rank, warp) |= mask;
        Ok(())
    }

    /// The threads `mask` of a warp wait; gives those whose phase is not over. The error says which rule is broken.
    pub(crate) fn wait(&mut self, rank: usize, warp: usize, mask: u32) -> Result<u32, String> {
        let owing = of_warp(&mut self.owing, rank, warp);
        if mask & !*owing != 0 {
            return Err("barrier.cluster.wait by threads that have not arrived".to_owned());
        }
        *owing &= !mask;
        Ok(*of_warp(&mut self.arrived, rank, warp) & mask)
    }

    /// Begins the next phase if all living threads, by rank and warp, have arrived; whether they have.
    pub(crate) fn complete(&mut self, alive: impl Iterator<Item = Vec<u32>>) -> bool {
        if self.threads() == 0 {
            return false;
        }
        let missing = |(rank, warps): (usize, Vec<u32>)| {
            let arrived = |warp: usize| self.arrived.get(rank).and_then(|warps| warps.get(warp)).copied().unwrap_or(0);
            warps.into_iter().enumerate().any(|(warp, alive)| alive & !arrived(warp) != 0)
        };
        let is_complete = !alive.enumerate().any(missing);
        if is_complete {
            self.arrived.clear();
        }
        is_complete
    }

    /// Threads that have arrived in this phase.
    pub(crate) fn threads(&self) -> u32 {
        self.arrived.iter().flatten().map(|mask| mask.count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_barrier_waits_for_the_living_threads_of_all_blocks() {
        let mut barrier = ClusterBarrier::default();
        let alive = |second: u32| [vec![0xf, 0x3], vec![second]].into_iter();
        assert!(!barrier.complete(alive(0)), "nobody has come");
        barrier.arrive(0, 0, 0xf).expect("first");
        barrier.arrive(0, 1, 0x3).expect("first");
        assert!(!barrier.complete(alive(1)), "one of the other block is missing");
        assert_eq!(barrier.wait(0, 1, 0x1), Ok(0x1));
        assert!(barrier.complete(alive(0)), "it has exited");
        assert_eq!(barrier.wait(0, 1, 0x2), Ok(0), "the phase is over");
    }

    #[test]
    fn threads_arrive_and_wait_in_turn() {
        let mut barrier = ClusterBarrier::default();
        assert!(barrier.wait(1, 0, 1).expect_err("nobody has arrived").contains("not arrived"));
        barrier.arrive(1, 0, 1).expect("first");
        assert!(barrier.arrive(1, 0, 1).expect_err("again").contains("not waited"));
    }
}
