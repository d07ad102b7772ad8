//! A grid: its blocks one after the other.
//!
//! A block runs to its end unless it takes very long: then it may be waiting for a later block (a
//! barrier of the whole grid, a chain of flags), and the other unfinished blocks have a turn.

use crate::block::Block;
use crate::machine::Machine;
use crate::warp::Stop;
use oriole_device::Heap;
use std::collections::VecDeque;

/// What a block spends (see `Op::cost`) before others have their turn.
const SLICE: u64 = 1 << 20;
/// Blocks that may be unfinished at a time.
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
    /// The fault that ended it: block and fault.
    pub(crate) fault: Option<(u64, Stop)>,
}

/// Runs all blocks; each may execute `limit` warp instructions.
pub(crate) fn run(machine: &Machine<'_>, mut heap: Option<Heap>, limit: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let mut open: VecDeque<Block> = VecDeque::new();
    let mut fresh = 0;
    let blocks = machine.launch.blocks();
    loop {
        if fresh < blocks && open.len() < WINDOW {
            match Block::new(fresh, machine) {
                Ok(block) => open.push_front(block),
                Err(stop) => {
                    outcome.fault = Some((fresh, stop));
                    return outcome;
                }
            }
            fresh += 1;
        }
        let Some(mut block) = open.pop_front() else { return outcome };
        let finished = block.run(machine, &mut heap, SLICE, limit);
        if let Ok(false) = finished {
            open.push_back(block);
            continue;
        }
        outcome.printed.append(&mut block.state.printed);
        outcome.instructions += block.state.instructions;
        outcome.thread_instructions += block.state.thread_instructions;
        if let Err(stop) = finished {
            outcome.fault = Some((block.number, stop));
            return outcome;
        }
    }
}
