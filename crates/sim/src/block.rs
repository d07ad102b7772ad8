//! A block: its warps in turn until all have finished.

use crate::flow::Flow;
use crate::machine::Machine;
use crate::program::Action;
use crate::space::{CONSTANT_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, STACK_TOP};
use crate::special::WarpIdentity;
use crate::state::{Mask, State, WARP, lanes_of};
use crate::stats::Counts;
use crate::threads::{Threads, Wait};
use crate::timing::trace::{BlockTrace, Recorder};
use crate::warp::{BlockState, Issued, Pause, Step, Stop, Warp};
use oriole_device::{FaultKind, Launch, WaitingThreads};

/// Instructions that a warp executes before the next has its turn.
const WARP_SLICE: u32 = 2048;

/// Facts of a launch that every block starts from.
pub(crate) struct Entry {
    /// What is launched.
    pub(crate) launch: Launch,
    /// Code address of the kernel's first instruction.
    pub(crate) pc: u64,
    /// Registers per thread.
    pub(crate) registers: u32,
    /// Bytes of shared memory, static, dynamic and reserved.
    pub(crate) shared_size: u64,
}

/// A block that is running or waits for its turn.
pub(crate) struct Block {
    /// Number in the grid, x fastest.
    pub(crate) number: u64,
    warps: Vec<Warp>,
    state: BlockState,
    /// What has been executed.
    pub(crate) counts: Counts,
    round: Round,
    /// One for each warp, if the block records what it does.
    recorders: Vec<Recorder>,
}

impl Entry {
    /// The warps of block `number` at their entry, and what they share.
    pub(crate) fn start(&self, number: u64, machine: &Machine<'_>) -> (Vec<Warp>, BlockState) {
        let threads = self.launch.threads() as u32;
        let unit = machine.program.arch.sm().shared_allocation_unit;
        let shared_size = (self.shared_size as u32).next_multiple_of(unit);
        let warp = |warp: u32| {
            let left = threads - warp * WARP as u32;
            let mask = if left >= WARP as u32 { Mask::MAX } else { (1 << left) - 1 };
            let identity = WarpIdentity {
                arch: machine.program.arch,
                tid: WarpIdentity::thread_ids(self.launch.block, warp),
                ctaid: self.launch.block_at(number),
                warp,
                threads,
                shared_size,
                registers: self.registers,
                block: number,
                cluster_rank: 0,
            };
            Warp::new(
                State::new(machine.constants.clone(), identity),
                Threads::new(mask, self.pc),
                machine.program.strict,
            )
        };
        let warps: Vec<Warp> = (0..threads.div_ceil(WARP as u32)).map(warp).collect();
        let live = warps.iter().map(|warp| warp.threads.alive).collect();
        (warps, BlockState::new(self.shared_size, live))
    }
}

/// How far a round of the warps is.
struct Round {
    /// The warp that runs.
    warp: usize,
    /// Instructions left to it.
    left: u32,
    /// Some warp has executed something.
    ran: bool,
}

impl Round {
    const START: Round = Round { warp: 0, left: WARP_SLICE, ran: false };
}

/// How far a block got.
pub(crate) enum Progress {
    /// All threads have exited.
    Finished,
    /// It needs the turn to go on.
    NeedsTurn,
    /// It has used up its slice.
    Slice,
}

/// A fault in a block.
#[derive(Clone, Debug)]
pub(crate) struct BlockFault {
    /// Code address of the instruction; `None` for a deadlock.
    pub(crate) pc: Option<u64>,
    /// Linear number of the thread.
    pub(crate) thread: u32,
    /// Why.
    pub(crate) kind: FaultKind,
}

impl Block {
    /// Block `number` of a launch, at its entry.
    pub(crate) fn new(number: u64, entry: &Entry, machine: &Machine<'_>) -> Self {
        let (warps, mut state) = entry.start(number, machine);
        let counts = Counts::of_warps(warps.len() as u64);
        let mut recorders = Vec::new();
        if machine.records {
            state.log = Some(Box::default());
            let first = number * warps.len() as u64;
            recorders.extend((first..).map(|warp| Recorder::new(machine.program.start(), warp)).take(warps.len()));
        }
        Block { number, warps, state, counts, round: Round::START, recorders }
    }

    /// What its warps have done, if the block recorded it.
    pub(crate) fn take_trace(&mut self) -> BlockTrace {
        std::mem::take(&mut self.recorders).into_iter().map(Recorder::finish).collect()
    }

    /// What the block has printed.
    pub(crate) fn take_printed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.state.printed)
    }

    /// Runs until the end, or until the turn is needed. A block that has done something that depends
    /// on the order of blocks also stops every `slice` instructions from there on, so that others
    /// can do what it may be waiting for.
    ///
    /// The warps take turns in rounds; a block that was put aside goes on exactly where it stopped,
    /// so that it runs alike whether it was put aside or not.
    pub(crate) fn run(&mut self, machine: &Machine<'_>, turn: bool, slice: u64) -> Result<Progress, BlockFault> {
        self.state.turn = turn;
        loop {
            while self.round.warp < self.warps.len() {
                let before = self.state.instructions;
                let pause = match self.recorders.is_empty() {
                    true => {
                        let warp = &mut self.warps[self.round.warp];
                        warp.run(machine, &mut self.state, &mut self.round.left, &mut self.counts)
                    }
                    false => self.run_recorded(machine),
                };
                self.round.ran |= self.state.instructions != before;
                if pause.map_err(|stop| self.fault(self.round.warp, stop))? == Pause::NeedsTurn {
                    return Ok(Progress::NeedsTurn);
                }
                self.complete_barriers();
                self.round.warp += 1;
                self.round.left = WARP_SLICE;
            }
            if self.warps.iter().all(|warp| warp.threads.alive == 0) {
                return Ok(Progress::Finished);
            }
            if !self.round.ran && !self.can_run() {
                return Err(self.deadlock());
            }
            self.round = Round::START;
            if let Some(since) = self.state.ordered_since
                && self.state.instructions >= since + slice
            {
                self.state.ordered_since = Some(self.state.instructions);
                return Ok(Progress::Slice);
            }
        }
    }

    /// [`Warp::run`] for the warp whose turn it is, recording each instruction.
    fn run_recorded(&mut self, machine: &Machine<'_>) -> Result<Pause, Stop> {
        let (warp, recorder) = (&mut self.warps[self.round.warp], &mut self.recorders[self.round.warp]);
        while self.round.left > 0 {
            match warp.step_one(machine, &mut self.state, &mut self.counts)? {
                Step::Issued(issued) => {
                    self.round.left -= 1;
                    record(&issued, warp, &self.state, recorder);
                }
                Step::Paused(pause) => return Ok(pause),
            }
        }
        Ok(Pause::Slice)
    }

    fn can_run(&self) -> bool {
        self.warps.iter().any(|warp| warp.threads.groups().iter().any(|group| group.wait == Wait::Nothing))
    }

    fn complete_barriers(&mut self) {
        while let Some((id, result)) = self.state.barriers.complete() {
            for recorder in &mut self.recorders {
                recorder.completed(id);
            }
            for warp in &mut self.warps {
                warp.threads.release_barrier(id);
                if let Some(result) = result {
                    warp.barrier_result = result;
                }
            }
        }
    }

    fn fault(&self, warp: usize, stop: Stop) -> BlockFault {
        BlockFault { pc: Some(stop.pc), thread: (warp * WARP + stop.lane) as u32, kind: stop.kind }
    }

    /// Who waits where.
    fn deadlock(&self) -> BlockFault {
        let mut waiting: Vec<(Wait, u64, WaitingThreads)> = Vec::new();
        for (number, warp) in self.warps.iter().enumerate() {
            for group in warp.threads.groups() {
                let threads = lanes_of(group.mask).map(|lane| (number * WARP + lane) as u32);
                match waiting.iter_mut().find(|(wait, pc, _)| (*wait, *pc) == (group.wait, group.pc)) {
                    Some((_, _, known)) => known.threads.extend(threads),
                    None => {
                        let at = self.describe(group.wait, group.pc);
                        waiting.push((group.wait, group.pc, WaitingThreads { at, threads: threads.collect() }));
                    }
                }
            }
        }
        let first = waiting.first().map(|(_, pc, _)| *pc);
        let thread = waiting.iter().filter_map(|(_, _, known)| known.threads.first()).min().copied();
        let kind = FaultKind::Deadlock(waiting.into_iter().map(|(_, _, known)| known).collect());
        // A waiting group stands behind the instruction that it waits at.
        let pc = first.map(|pc| pc - crate::program::INSTRUCTION);
        BlockFault { pc, thread: thread.unwrap_or(0), kind }
    }

    fn describe(&self, wait: Wait, pc: u64) -> String {
        let what = match wait {
            Wait::Nothing => "nothing".to_owned(),
            Wait::Convergence(barrier) => format!("convergence barrier B{barrier}"),
            Wait::WarpSync => "a warp synchronisation".to_owned(),
            Wait::Barrier(id) => match self.state.barriers.progress(id) {
                (arrived, Some(expected)) => {
                    format!("barrier {id}, where {arrived} of {expected} threads have arrived")
                }
                (arrived, None) => format!("barrier {id} of the whole block, where {arrived} threads have arrived"),
            },
        };
        format!("{what} (code address {:#x})", pc - crate::program::INSTRUCTION)
    }
}

/// Records an instruction that `warp` has executed.
fn record(issued: &Issued<'_>, warp: &Warp, state: &BlockState, recorder: &mut Recorder) {
    let (Some(inst), Some(log)) = (&issued.op.inst, &state.log) else { return };
    recorder.executed(issued.pc, inst, log);
    if let Action::Flow(flow) = &issued.op.action
        && let Flow::Barrier { id, wait, .. } = &**flow
    {
        recorder.arrived(id.scalar(&warp.state) as u8, issued.active, *wait);
    }
}

/// What a launch puts into constant bank 0 besides the parameters.
pub(crate) fn fill_bank0(banks: &mut crate::constant::ConstantBanks, entry: &Entry, arch: oriole_isa::Arch) {
    let layout = &arch.sm().bank0;
    let launch = &entry.launch;
    let mut put = |offset: u16, bytes: &[u8]| banks.write(0, usize::from(offset), bytes);
    for axis in 0..3 {
        put(layout.ntid[axis], &launch.block[axis].to_le_bytes());
        put(layout.nctaid[axis], &launch.grid[axis].to_le_bytes());
    }
    put(layout.local_window, &LOCAL_WINDOW.to_le_bytes());
    put(layout.stack, &STACK_TOP.to_le_bytes());
    put(layout.dynamic_shared_size, &launch.shared_bytes.to_le_bytes());
    put(layout.constant_window, &CONSTANT_WINDOW.to_le_bytes());
    put(layout.nsmid, &108u32.to_le_bytes());
    if let Some(offset) = layout.shared_window {
        put(offset, &SHARED_WINDOW.to_le_bytes());
    }
    if let Some(offset) = layout.bank_window {
        put(offset, &PARAMETER_WINDOW.to_le_bytes());
    }
    let (first, last) = (u64::from(layout.parameters), u64::from(layout.parameters) + launch.params.len() as u64);
    if let Some(offset) = layout.parameter_window {
        put(offset, &(PARAMETER_WINDOW + first).to_le_bytes());
    }
    if let Some(offset) = layout.parameter_window_end {
        put(offset, &(PARAMETER_WINDOW + last).to_le_bytes());
    }
    if let Some(offset) = layout.parameter_end {
        put(offset, &(last as u32).to_le_bytes());
    }
    if let Some(offset) = layout.reserved_shared_size {
        put(offset, &arch.sm().shared_base.to_le_bytes());
    }
    if let Some(cluster) = &layout.cluster {
        let shape = launch.cluster;
        put(cluster.explicit, &u32::from(shape != [1; 3]).to_le_bytes());
        put(cluster.nctarank, &shape.iter().product::<u32>().to_le_bytes());
        for (axis, &size) in shape.iter().enumerate() {
            put(cluster.nctaid[axis], &size.to_le_bytes());
            put(cluster.nctaid_reciprocal[axis], &(1.0 / size as f32).to_le_bytes());
            put(cluster.nclusterid[axis], &(launch.grid[axis] / size).to_le_bytes());
        }
    }
    put(layout.parameters, &launch.params);
}
