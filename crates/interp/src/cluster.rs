//! A cluster: blocks that run together and see each other's shared memory; a launch without clusters has
//! clusters of one block.

use crate::block::Block;
use crate::cluster_barrier::ClusterBarrier;
use crate::env::ClusterState;
use crate::machine::Machine;
use crate::warp::Stop;
use oriole_device::{FaultKind, Heap, zeros};

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
        let launch = machine.resources.launch;
        let block = |rank: u64| {
            let block = launch.block_of_cluster(number, rank);
            // A cluster has a few blocks.
            Block::new(block, rank as u32, machine).map_err(|stop| (block, stop))
        };
        let blocks: Vec<Block> = (0..launch.blocks_of_cluster()).map(block).collect::<Result<_, _>>()?;
        let quota = machine.resources.memory.quota();
        let shared = blocks.iter().map(|block| {
            let shared = zeros(machine.shared_end as usize, quota);
            shared.map_err(|shortage| (block.number, block.stop(FaultKind::OutOfMemory(shortage))))
        });
        let state = ClusterState { shared: shared.collect::<Result<_, _>>()?, barrier: ClusterBarrier::default() };
        Ok(Cluster { blocks, state })
    }

    /// Bytes of its blocks' shared memory.
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.state.shared.iter().map(|shared| shared.len() as u64).sum()
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
