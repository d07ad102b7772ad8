//! A block: its warps and what they share; what a launch starts it with.

use crate::block_state::BlockState;
use crate::copies::Copies;
use crate::flow::Flow;
use crate::identity::{MULTIPROCESSORS, WarpIdentity};
use crate::instruction::{Action, INSTRUCTION, Issued};
use crate::lanes::{Mask, WARP};
use crate::machine::Machine;
use crate::space::{CONSTANT_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, STACK_TOP};
use crate::state::State;
use crate::stats::Counts;
use crate::tensor_memory::open_book;
use crate::threads::{Threads, Wait};
use crate::timing::request::Owner;
use crate::timing::trace::{BlockTrace, CLUSTER, Recorder};
use crate::warp::{Pause, Step, Stop, Warp};
use oriole_device::{FaultKind, Launch, OutOfMemory, zeros};
use oriole_isa::chip::TensorProduct;

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
    /// The driver opens the book of tensor memory.
    pub(crate) has_tensor_book: bool,
    /// Launched as a cluster: its shape was given, by the kernel or by the launch.
    pub(crate) is_cluster: bool,
    /// Address of the workspace of a barrier of the whole grid, 0 if there is none.
    pub(crate) grid_workspace: u64,
}

/// A block that is running or waits for its turn.
pub(crate) struct Block {
    /// Number in the grid, x fastest.
    pub(crate) number: u64,
    /// Its warps.
    pub(crate) warps: Vec<Warp>,
    /// What they share.
    pub(crate) state: BlockState,
    /// What has been executed.
    pub(crate) counts: Counts,
    /// One for each warp, if the block records what it does.
    recorders: Vec<Recorder>,
}

impl Entry {
    /// The warps of block `number` at their entry, and what they share; `rank` is the block's in its
    /// cluster.
    ///
    /// # Errors
    /// There is no room for them.
    pub(crate) fn start(
        &self,
        number: u64,
        rank: u32,
        machine: &Machine<'_>,
    ) -> Result<(Vec<Warp>, BlockState), OutOfMemory> {
        let quota = machine.resources.memory.quota();
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
                cluster_rank: rank,
            };
            quota.take(Warp::BYTES as u64)?;
            let state = State::new(machine.resources.constants.clone(), identity)?;
            Ok(Warp::new(state, Threads::new(mask, self.pc), machine.program))
        };
        let warps: Vec<Warp> = (0..threads.div_ceil(WARP as u32)).map(warp).collect::<Result<_, OutOfMemory>>()?;
        let live = warps.iter().map(|warp| warp.threads.alive).collect();
        let shared = zeros(self.shared_size.div_ceil(4) as usize, quota)?;
        let mut state = BlockState::new((shared, self.shared_size), rank as usize, live);
        state.copies = machine.program.strict.then(|| Box::new(Copies::new(machine.program.old_values)));
        if self.has_tensor_book {
            open_book(&mut state.shared, rank, machine.program.arch);
        }
        Ok((warps, state))
    }
}

/// A fault in a block.
#[derive(Clone, Debug)]
pub(crate) struct BlockFault {
    /// Number of the block in the grid.
    pub(crate) block: u64,
    /// Code address of the instruction; `None` for a deadlock.
    pub(crate) pc: Option<u64>,
    /// Linear number of the thread.
    pub(crate) thread: u32,
    /// Why.
    pub(crate) kind: FaultKind,
}

impl Block {
    /// Block `number` of a launch, with that rank in its cluster, at its entry.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn new(number: u64, rank: u32, entry: &Entry, machine: &Machine<'_>) -> Result<Self, Box<BlockFault>> {
        let fault =
            |shortage| BlockFault { block: number, pc: None, thread: 0, kind: FaultKind::OutOfMemory(shortage) };
        let (warps, mut state) = entry.start(number, rank, machine).map_err(fault)?;
        let counts = Counts::of_warps(warps.len() as u64);
        let mut recorders = Vec::new();
        if machine.records || machine.observer.is_some() {
            state.log = Some(Box::default());
        }
        if machine.records {
            let first = number * warps.len() as u64;
            let owners = (first..).map(|warp| Owner { warp, rank: rank as usize });
            recorders.extend(owners.map(|owner| Recorder::new(machine.program.start(), owner)).take(warps.len()));
        }
        Ok(Block { number, warps, state, counts, recorders })
    }

    /// Bytes of the host that were counted for it.
    pub(crate) fn counted_bytes(&self) -> u64 {
        let warps = self.warps.iter().map(|warp| Warp::BYTES as u64 + warp.local_bytes());
        warps.sum::<u64>() + 4 * self.state.shared_size.div_ceil(4)
    }

    /// What its warps have done, if the block recorded it.
    pub(crate) fn take_trace(&mut self) -> BlockTrace {
        std::mem::take(&mut self.recorders).into_iter().map(Recorder::finish).collect()
    }

    /// Runs a warp for up to `left` instructions, and takes those executed from it.
    pub(crate) fn run_warp(&mut self, warp: usize, machine: &Machine<'_>, left: &mut u32) -> Result<Pause, Stop> {
        let Some(recorder) = self.recorders.get_mut(warp) else {
            return self.warps[warp].run(machine, &mut self.state, left, &mut self.counts);
        };
        let warp = &mut self.warps[warp];
        while *left > 0 {
            match warp.step_one(machine, &mut self.state, &mut self.counts)? {
                Step::Issued(issued) => {
                    *left -= 1;
                    record(&issued, warp, &mut self.state, recorder);
                }
                Step::Paused(pause) => return Ok(pause),
            }
        }
        Ok(Pause::Slice)
    }

    /// All threads have exited.
    pub(crate) fn is_finished(&self) -> bool {
        self.warps.iter().all(|warp| warp.threads.alive == 0)
    }

    /// Some threads wait for nothing.
    pub(crate) fn can_run(&self) -> bool {
        self.waits().any(|(_, wait, ..)| wait == Wait::Nothing)
    }

    /// The groups of threads: warp, what they wait for, the code address of the instruction that
    /// made them wait, and the lanes.
    pub(crate) fn waits(&self) -> impl Iterator<Item = (usize, Wait, u64, Mask)> {
        let groups = |warp: &Warp| warp.threads.groups().to_vec();
        self.warps.iter().enumerate().flat_map(move |(number, warp)| {
            groups(warp).into_iter().map(move |group| {
                // A waiting group stands behind its instruction, unless it tries that again.
                let pc = if group.retries { group.pc } else { group.pc - INSTRUCTION };
                (number, group.wait, pc, group.mask)
            })
        })
    }

    /// Lets the threads go on whose barrier of the block is complete.
    pub(crate) fn complete_barriers(&mut self) {
        while let Some((id, result)) = self.state.barriers.complete() {
            for recorder in &mut self.recorders {
                recorder.completed(id);
            }
            let wait = Wait::Barrier(id);
            // Others keep the result of the barrier that they were at.
            for warp in
                self.warps.iter_mut().filter(|warp| warp.threads.groups().iter().any(|group| group.wait == wait))
            {
                warp.threads.release_barrier(wait);
                if let Some(result) = result {
                    warp.barrier_result = result;
                }
            }
        }
    }

    /// Lets the threads go on that wait at the barrier of the cluster.
    pub(crate) fn release_cluster(&mut self) {
        self.recorders.iter_mut().for_each(|recorder| recorder.completed(CLUSTER));
        self.warps.iter_mut().for_each(|warp| warp.threads.release_barrier(Wait::Cluster));
    }

    /// A fault that no instruction has caused, where the running group of a warp stands.
    pub(crate) fn stopped(&self, warp: usize, kind: FaultKind) -> Box<BlockFault> {
        let group = self.warps[warp].threads.group();
        let lane = group.map_or(0, |group| group.mask.trailing_zeros() as usize % WARP);
        let thread = (warp * WARP + lane) as u32;
        Box::new(BlockFault { block: self.number, pc: group.map(|group| group.pc), thread, kind })
    }

    /// The fault of a warp that stopped.
    pub(crate) fn fault(&self, warp: usize, stop: Stop) -> BlockFault {
        let thread = (warp * WARP + stop.lane) as u32;
        BlockFault { block: self.number, pc: Some(stop.pc), thread, kind: stop.kind }
    }
}

/// Records an instruction that `warp` has executed.
fn record(issued: &Issued<'_>, warp: &Warp, state: &mut BlockState, recorder: &mut Recorder) {
    let (Some(inst), Some(log)) = (&issued.op.inst, &state.log) else { return };
    recorder.executed(issued.pc, inst, log, &mut state.cluster.phases);
    if let Some(register) = TensorProduct::shape_register(inst) {
        recorder.multiplied(warp.state.ur(register.into()));
    }
    let Action::Flow(flow) = &issued.op.action else { return };
    match &**flow {
        Flow::Barrier { id, wait, .. } => recorder.arrived(id.scalar(&warp.state) as u8, issued.active, *wait),
        Flow::ClusterArrive => recorder.arrived_at_cluster(),
        Flow::ClusterWait => recorder.waits_for_cluster(),
        Flow::Yield if issued.active != 0 => recorder.slept(),
        _ => {}
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
    // Cooperative groups find the state of the grid's barrier by these two, high word first.
    put(layout.envreg[1], &((entry.grid_workspace >> 32) as u32).to_le_bytes());
    put(layout.envreg[2], &(entry.grid_workspace as u32).to_le_bytes());
    put(layout.nsmid, &MULTIPROCESSORS.to_le_bytes());
    if let Some(offset) = layout.shared_window {
        put(offset, &SHARED_WINDOW.to_le_bytes());
    }
    if let Some(offset) = layout.bank_window {
        put(offset, &PARAMETER_WINDOW.to_le_bytes());
    }
    let parameters = layout.parameters_of(launch.params.len() as u32);
    let (first, last) = (u64::from(parameters), u64::from(parameters) + launch.params.len() as u64);
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
    let all_shared = (entry.shared_size as u32).next_multiple_of(arch.sm().shared_allocation_unit);
    if let Some([end, _]) = layout.reserved_shared_offsets {
        // Where the system's part lies behind the program's, this machine keeps nothing.
        let reserved_end = if arch.sm().shared_base > 0 { arch.sm().shared_base } else { all_shared };
        put(end, &reserved_end.to_le_bytes());
    }
    if let Some(cluster) = &layout.cluster {
        let shape = launch.cluster;
        put(cluster.explicit, &u32::from(entry.is_cluster).to_le_bytes());
        put(cluster.nctarank, &shape.iter().product::<u32>().to_le_bytes());
        let aggregate = shape.iter().product::<u32>().saturating_mul(all_shared);
        put(cluster.aggregate_shared_limit, &aggregate.to_le_bytes());
        for (axis, &size) in shape.iter().enumerate() {
            put(cluster.nctaid[axis], &size.to_le_bytes());
            put(cluster.nctaid_reciprocal[axis], &(1.0 / size as f32).to_le_bytes());
            put(cluster.nclusterid[axis], &(launch.grid[axis] / size).to_le_bytes());
        }
    }
    put(parameters, &launch.params);
}
