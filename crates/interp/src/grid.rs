//! A grid: its clusters one after the other.
//!
//! A cluster runs to its end unless it takes very long: then it may be waiting for a later one (a
//! barrier of the whole grid, a chain of flags), and the other unfinished ones have a turn.

use crate::block::Block;
use crate::cluster::{BlockStop, Cluster};
use crate::machine::Machine;
use oriole_device::{Heap, printf};
use std::collections::VecDeque;

/// What a cluster spends (see `Op::cost`) before others have their turn.
const SLICE: u64 = 1 << 20;
/// Clusters that may be unfinished at a time.
const WINDOW: usize = 256;

/// What a grid leaves.
#[derive(Default)]
pub(crate) struct Outcome {
    /// What was printed, in the order of the blocks that end.
    pub(crate) printed: Vec<u8>,
    /// Warp instructions executed.
    pub(crate) instructions: u64,
    /// Thread instructions executed.
    pub(crate) thread_instructions: u64,
    /// The fault that ended it.
    pub(crate) fault: Option<BlockStop>,
}

/// Runs all clusters.
pub(crate) fn run(machine: &Machine<'_>, mut heap: Option<Heap>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut open: VecDeque<Cluster> = VecDeque::new();
    loop {
        let fresh = if open.len() < WINDOW { machine.resources.unstarted.take() } else { None };
        if let Some(number) = fresh {
            match Cluster::new(number, machine) {
                Ok(cluster) => open.push_front(cluster),
                Err(stop) => {
                    outcome.fault = Some(stop);
                    return outcome;
                }
            }
        }
        let Some(mut cluster) = open.pop_front() else { return outcome };
        let finished = cluster.run(machine, &mut heap, SLICE);
        if let Ok(false) = finished {
            open.push_back(cluster);
            continue;
        }
        outcome.fault = finished.err();
        machine.resources.memory.quota().give_back(cluster.shared_bytes());
        for block in cluster.into_blocks() {
            outcome.take(block);
        }
        if outcome.fault.is_some() {
            return outcome;
        }
    }
}

impl Outcome {
    /// Adds what a block leaves.
    fn take(&mut self, mut block: Block) {
        self.printed.append(&mut block.state.printed);
        self.instructions += block.state.instructions;
        self.thread_instructions += block.state.thread_instructions;
        if self.fault.is_none() && self.printed.len() > printf::MOST_OUTPUT {
            self.fault = Some((block.number, block.stop(printf::too_much())));
        }
    }
}
