//! A cluster: blocks that run together and see each other's shared memory; a launch without clusters has
//! clusters of one block.

use crate::block::Block;
use crate::machine::{ClusterState, Env, Halt, Machine};
use crate::threads::{Threads, Wait};
use crate::warp::{Next, Stop, Warp};
use oriole_device::{FaultKind, Heap};

/// A cluster of a running launch.
pub(crate) struct Cluster {
    blocks: Vec<Block>,
    state: ClusterState,
}

/// A fault and the number of the block that it is in.
pub(crate) type BlockStop = (u64, Stop);

impl Cluster {
    /// Cluster `number` at the start of the kernel.
    pub(crate) fn new(number: u64, machine: &Machine<'_>) -> Result<Cluster, BlockStop> {
        let launch = machine.launch;
        let block = |rank: u64| {
            let block = launch.block_of_cluster(number, rank);
            // A cluster has a few blocks.
            Block::new(block, rank as u32, machine).map_err(|stop| (block, stop))
        };
        let blocks: Vec<Block> = (0..launch.blocks_of_cluster()).map(block).collect::<Result<_, _>>()?;
        let state = ClusterState {
            shared: vec![vec![0; machine.shared_end as usize]; blocks.len()],
            barrier: ClusterBarrier::default(),
        };
        Ok(Cluster { blocks, state })
    }

    /// Its blocks, rank after rank.
    pub(crate) fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    /// Runs until all threads have exited (`true`), or until they have spent about `slice` (`false`).
    pub(crate) fn run(
        &mut self,
        machine: &Machine<'_>,
        heap: &mut Option<Heap>,
        slice: u64,
    ) -> Result<bool, BlockStop> {
        let end = self.spent().saturating_add(slice);
        loop {
            let mut ran = false;
            for block in &mut self.blocks {
                let round = block.round(machine, &mut self.state, heap);
                ran |= round.map_err(|stop| (block.number, stop))?;
            }
            self.complete_barrier();
            if self.blocks.iter().all(Block::is_finished) {
                return Ok(true);
            }
            if !ran && !self.blocks.iter().any(Block::can_run) && !self.release() {
                return Err(self.deadlock(machine));
            }
            if self.spent() >= end {
                return Ok(false);
            }
        }
    }

    fn spent(&self) -> u64 {
        self.blocks.iter().map(|block| block.state.spent).sum()
    }

    /// Lets all threads go that wait at meeting points; whether there are any.
    fn release(&mut self) -> bool {
        self.blocks.iter_mut().filter_map(|block| block.release().then_some(())).count() > 0
    }

    /// Lets those go on who wait at the barrier of the cluster, if all of its living threads have arrived.
    fn complete_barrier(&mut self) {
        if self.state.barrier.complete(self.blocks.iter().map(Block::alive)) {
            self.blocks.iter_mut().for_each(Block::pass_cluster_barrier);
        }
    }

    fn deadlock(&self, machine: &Machine<'_>) -> BlockStop {
        let cluster = (self.blocks.len() > 1).then_some(());
        let groups = |rank: usize| {
            let place = cluster.map_or(String::new(), |()| format!(", block {rank} of the cluster"));
            self.blocks[rank].waiting(machine, &self.state.barrier, &place)
        };
        let waiting = (0..self.blocks.len()).flat_map(groups).collect();
        let first = self.blocks.iter().find(|block| !block.is_finished()).unwrap_or(&self.blocks[0]);
        (first.number, first.stop(FaultKind::Deadlock(waiting)))
    }
}

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
    fn arrive(&mut self, rank: usize, warp: usize, mask: u32) -> Result<(), String> {
        let owing = of_warp(&mut self.owing, rank, warp);
        if *owing & mask != 0 {
            return Err("barrier.cluster.arrive by threads that have not waited since the last one".to_owned());
        }
        *owing |= mask;
        *of_warp(&mut self.arrived, rank, warp) |= mask;
        Ok(())
    }

    /// The threads `mask` of a warp wait; gives those whose phase is not over. The error says which rule is broken.
    fn wait(&mut self, rank: usize, warp: usize, mask: u32) -> Result<u32, String> {
        let owing = of_warp(&mut self.owing, rank, warp);
        if mask & !*owing != 0 {
            return Err("barrier.cluster.wait by threads that have not arrived".to_owned());
        }
        *owing &= !mask;
        Ok(*of_warp(&mut self.arrived, rank, warp) & mask)
    }

    /// Begins the next phase if all living threads, by rank and warp, have arrived; whether they have.
    fn complete(&mut self, alive: impl Iterator<Item = Vec<u32>>) -> bool {
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

impl Warp {
    /// `barrier.cluster.arrive` by the threads `active` of group `at`.
    pub(crate) fn arrive_at_cluster(&mut self, env: &mut Env<'_>, at: usize, active: u32) -> Result<Next, Halt> {
        let arrived = env.cluster.barrier.arrive(env.block.rank, self.number, active);
        arrived.map_err(|rule| misuse(active, rule))?;
        self.threads.group_mut(at).pc += 1;
        Ok(Next::Go(at))
    }

    /// `barrier.cluster.wait` by the threads `active` of group `at`.
    pub(crate) fn wait_for_cluster(&mut self, env: &mut Env<'_>, at: usize, active: u32) -> Result<Next, Halt> {
        let waiting = env.cluster.barrier.wait(env.block.rank, self.number, active);
        let waiting = waiting.map_err(|rule| misuse(active, rule))?;
        if waiting == 0 {
            self.threads.group_mut(at).pc += 1;
            return Ok(Next::Go(at));
        }
        // The others, whom the guard held back or whose phase is over, go on behind the instruction.
        self.part_inactive(at, waiting);
        self.threads.group_mut(at).wait = Wait::Cluster;
        Ok(Next::Leave)
    }
}

fn misuse(mask: u32, rule: String) -> Halt {
    Halt { lane: Threads::first_lane(mask), kind: FaultKind::Misuse(rule) }
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
