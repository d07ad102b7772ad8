//! A cluster: blocks that run together, with their warps in turn until all have finished.
//!
//! A launch without clusters has clusters of one block. The blocks of a cluster see each other's
//! shared memory and meet at the cluster's barrier; one host thread runs all of them.

use crate::block::{Block, BlockFault, Entry};
use crate::block_state::BlockState;
use crate::cluster_state::ClusterState;
use crate::lanes::{Mask, WARP, lanes_of};
use crate::machine::Machine;
use crate::observer::Waiting;
use crate::stats::Counts;
use crate::tensor_cells::TensorMemory;
use crate::threads::Wait;
use crate::timing::trace::BlockTrace;
use crate::warp::Pause;
use oriole_device::{FaultKind, WaitingThreads};

/// Instructions that a warp executes before the next has its turn.
const WARP_SLICE: u32 = 2048;
/// Times that all waits run out that try again, and no mbarrier or pool of registers changes in between, until
/// the cluster counts as deadlocked.
const EXPIRATIONS: u32 = 1000;

/// A cluster that is running or waits for its turn.
pub(crate) struct Cluster {
    /// Number in the grid of clusters, x fastest.
    pub(crate) number: u64,
    blocks: Vec<Block>,
    state: ClusterState,
    round: Round,
    /// Expirations in a row.
    expirations: u32,
    /// [`ClusterState::signals`] at the last one.
    signals: u64,
}

/// How far a round of the warps is.
struct Round {
    /// The block that runs.
    block: usize,
    /// Its warp that runs.
    warp: usize,
    /// Instructions left to it.
    left: u32,
    /// Some warp has executed something.
    ran: bool,
    /// Waits that try again run out in this round.
    expired: bool,
}

impl Round {
    const START: Round = Round { block: 0, warp: 0, left: WARP_SLICE, ran: false, expired: false };
}

/// How far a cluster got.
pub(crate) enum Progress {
    /// All threads have exited.
    Finished,
    /// It needs the turn to go on.
    NeedsTurn,
    /// It has used up its slice.
    Slice,
}

impl Cluster {
    /// Cluster `number` of a launch, with its blocks at their entry.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn new(number: u64, entry: &Entry, machine: &Machine<'_>) -> Result<Self, Box<BlockFault>> {
        let launch = &entry.launch;
        let block = |rank| Block::new(launch.block_of_cluster(number, rank), rank as u32, entry, machine);
        let mut blocks: Vec<Block> = (0..launch.blocks_of_cluster()).map(block).collect::<Result<_, _>>()?;
        let tensor = TensorMemory::new(machine.program.strict && !machine.program.old_values);
        let mut state = ClusterState { tensor, ..ClusterState::default() };
        if blocks.len() > 1 {
            state.peers = blocks.iter_mut().map(|block| std::mem::take(&mut block.state.shared)).collect();
        }
        Ok(Cluster { number, blocks, state, round: Round::START, expirations: 0, signals: 0 })
    }

    /// Bytes of the host that were counted for its blocks.
    pub(crate) fn counted_bytes(&self) -> u64 {
        self.blocks.iter().map(Block::counted_bytes).sum::<u64>() + self.state.tensor.bytes()
    }

    /// What the blocks have printed, rank after rank, and executed.
    pub(crate) fn finish(&mut self) -> (Vec<u8>, Counts) {
        let mut counts = Counts::default();
        let mut printed = Vec::new();
        for block in &mut self.blocks {
            printed.append(&mut block.state.printed);
            counts.add(&block.counts);
        }
        (printed, counts)
    }

    /// What the blocks have done, rank after rank, if they recorded it.
    pub(crate) fn take_traces(&mut self) -> Vec<BlockTrace> {
        self.blocks.iter_mut().map(Block::take_trace).filter(|trace| !trace.is_empty()).collect()
    }

    /// Runs until the end, or until the turn is needed. A cluster that has done something that depends
    /// on the order of blocks also stops every `slice` instructions of a block from there on, so that
    /// others can do what it may be waiting for.
    ///
    /// The warps take turns in rounds; a cluster that was put aside goes on exactly where it stopped,
    /// so that it runs alike whether it was put aside or not.
    pub(crate) fn run(&mut self, machine: &Machine<'_>, turn: bool, slice: u64) -> Result<Progress, Box<BlockFault>> {
        for block in &mut self.blocks {
            block.state.turn = turn;
        }
        loop {
            while self.round.block < self.blocks.len() {
                if self.run_block(machine)? == Pause::NeedsTurn {
                    return Ok(Progress::NeedsTurn);
                }
                self.round.block += 1;
                self.round.warp = 0;
            }
            if self.blocks.iter().all(Block::is_finished) {
                return Ok(Progress::Finished);
            }
            let ran = self.round.ran;
            self.round = Round::START;
            if !ran && !self.blocks.iter().any(Block::can_run) {
                self.expire(machine)?;
            }
            if self.slice_is_over(slice) {
                return Ok(Progress::Slice);
            }
        }
    }

    /// Goes on with the round in the block that it is at, which has the shared state meanwhile.
    fn run_block(&mut self, machine: &Machine<'_>) -> Result<Pause, Box<BlockFault>> {
        let at = self.round.block;
        let exchange_memory = |state: &mut BlockState| {
            if let Some(own) = state.cluster.peers.get_mut(at) {
                std::mem::swap(own, &mut state.shared);
            }
        };
        std::mem::swap(&mut self.state, &mut self.blocks[at].state.cluster);
        exchange_memory(&mut self.blocks[at].state);
        let pause = self.run_warps(machine);
        exchange_memory(&mut self.blocks[at].state);
        std::mem::swap(&mut self.state, &mut self.blocks[at].state.cluster);
        pause
    }

    fn run_warps(&mut self, machine: &Machine<'_>) -> Result<Pause, Box<BlockFault>> {
        let at = self.round.block;
        let round = &mut self.round;
        self.blocks[at].state.expired = round.expired;
        while round.warp < self.blocks[at].warps.len() {
            let block = &mut self.blocks[at];
            machine
                .deadline
                .as_ref()
                .map_or(Ok(()), |deadline| deadline.check())
                .map_err(|kind| block.stopped(round.warp, kind))?;
            let before = block.state.instructions;
            block.warps[round.warp].threads.retry_waits();
            let pause = block.run_warp(round.warp, machine, &mut round.left);
            round.ran |= block.state.instructions != before;
            if pause.map_err(|stop| Box::new(block.fault(round.warp, stop)))? == Pause::NeedsTurn {
                return Ok(Pause::NeedsTurn);
            }
            block.complete_barriers();
            let mut cluster = std::mem::take(&mut block.state.cluster);
            if cluster.barrier.complete(alive(&self.blocks)) {
                self.blocks.iter_mut().for_each(Block::release_cluster);
            }
            self.blocks[at].state.cluster = cluster;
            round.warp += 1;
            round.left = WARP_SLICE;
        }
        Ok(Pause::Slice)
    }

    /// Nothing can run: lets the waits run out that try again, which may change something.
    fn expire(&mut self, machine: &Machine<'_>) -> Result<(), Box<BlockFault>> {
        self.expirations = if self.signals == self.state.signals { self.expirations + 1 } else { 0 };
        self.signals = self.state.signals;
        let waits = |block: &Block| block.waits().any(|(_, wait, ..)| wait.is_retried());
        if self.expirations >= EXPIRATIONS || !self.blocks.iter().any(waits) {
            let mut warps = self.blocks.iter_mut().flat_map(|block| &mut block.warps);
            if warps.any(|warp| warp.threads.go_on_where_named()) {
                self.expirations = 0;
                return Ok(());
            }
            if let Some(observer) = machine.observer {
                observer.stuck(&self.waiting());
            }
            let mut warps = self.blocks.iter_mut().flat_map(|block| &mut block.warps);
            if machine.skips_absent && warps.any(|warp| warp.threads.go_on_without_absent()) {
                self.expirations = 0;
                return Ok(());
            }
            return Err(Box::new(self.deadlock()));
        }
        self.round.expired = true;
        Ok(())
    }

    fn slice_is_over(&mut self, slice: u64) -> bool {
        let mut is_over = false;
        for state in self.blocks.iter_mut().map(|block| &mut block.state) {
            if let Some(since) = state.ordered_since
                && state.instructions >= since + slice
            {
                state.ordered_since = Some(state.instructions);
                is_over = true;
            }
        }
        is_over
    }

    /// All threads, which wait.
    fn waiting(&self) -> Vec<Waiting> {
        let of_block = |block: &'_ Block| {
            let groups = block.waits().map(|(warp, wait, pc, lanes)| {
                let members = block.warps[warp].threads.met_by(wait, lanes);
                Waiting { block: block.number, warp, lanes, pc, wait, members }
            });
            groups.collect::<Vec<Waiting>>()
        };
        self.blocks.iter().flat_map(of_block).collect()
    }

    /// Who waits where.
    fn deadlock(&self) -> BlockFault {
        let mut waiting: Vec<(usize, Wait, u64, WaitingThreads)> = Vec::new();
        for (rank, block) in self.blocks.iter().enumerate() {
            for (warp, wait, pc, mask) in block.waits() {
                let threads = lanes_of(mask).map(|lane| (warp * WARP + lane) as u32);
                match waiting.iter_mut().find(|(of, kind, at, _)| (*of, *kind, *at) == (rank, wait, pc)) {
                    Some((.., known)) => known.threads.extend(threads),
                    None => {
                        let at = self.describe(rank, wait, pc);
                        waiting.push((rank, wait, pc, WaitingThreads { at, threads: threads.collect() }));
                    }
                }
            }
        }
        let (rank, pc) = waiting.first().map_or((0, None), |(rank, _, pc, _)| (*rank, Some(*pc)));
        let of_first = waiting.iter().filter(|(of, ..)| *of == rank);
        let thread = of_first.filter_map(|(.., known)| known.threads.first()).min().copied();
        let kind = FaultKind::Deadlock(waiting.into_iter().map(|(.., known)| known).collect());
        BlockFault { block: self.blocks[rank].number, pc, thread: thread.unwrap_or(0), kind }
    }

    /// What threads of the block with this rank wait for, by an instruction at `pc`.
    fn describe(&self, rank: usize, wait: Wait, pc: u64) -> String {
        let block = &self.blocks[rank];
        let what = match wait {
            Wait::Nothing => "nothing".to_owned(),
            Wait::Convergence(barrier) => format!("convergence barrier B{barrier}"),
            Wait::WarpSync | Wait::Collective => "a warp synchronisation".to_owned(),
            Wait::Barrier(id) => match block.state.barriers.progress(id) {
                (arrived, Some(expected)) => {
                    format!("barrier {id}, where {arrived} of {expected} threads have arrived")
                }
                (arrived, None) => format!("barrier {id} of the whole block, where {arrived} threads have arrived"),
            },
            Wait::Cluster => {
                format!("the barrier of the cluster, where {} threads have arrived", self.state.barrier.progress())
            }
            Wait::Phase(address) => self.describe_mbarrier(address),
            Wait::Registers(count) => {
                format!(
                    "setmaxnreg for {count} more registers of a thread, of {} given back",
                    block.state.register_pool
                )
            }
        };
        match self.blocks.len() {
            1 => format!("{what} (code address {pc:#x})"),
            _ => format!("{what} (code address {pc:#x}, block {rank} of the cluster)"),
        }
    }

    fn describe_mbarrier(&self, address: u32) -> String {
        let (rank, offset) = ((address >> 24) as usize, address & 0xff_ffff);
        let memory = match self.blocks.len() {
            1 => self.blocks.first().map(|block| &block.state.shared),
            _ => self.state.peers.get(rank),
        };
        let word = |at: usize| u64::from(memory.and_then(|words| words.get(at)).copied().unwrap_or(0));
        let bits = word(offset as usize / 4) | word(offset as usize / 4 + 1) << 32;
        format!("the mbarrier at shared address {address:#x}, which {}", crate::mbarrier::describe(bits))
    }
}

/// The living threads of each warp: rank of its block, its number, the threads.
fn alive(blocks: &[Block]) -> impl Iterator<Item = (usize, usize, Mask)> {
    blocks
        .iter()
        .enumerate()
        .flat_map(|(rank, block)| block.warps.iter().enumerate().map(move |(warp, of)| (rank, warp, of.threads.alive)))
}
