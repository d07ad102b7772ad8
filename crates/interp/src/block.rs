//! A block: its warps in turn.

use crate::barrier::{Barriers, Verdict};
use crate::cluster_barrier::ClusterBarrier;
use crate::code::Action;
use crate::env::{BlockState, ClusterState, Env};
use crate::identity::{Identity, Shapes};
use crate::lanes::{WARP, lanes_of};
use crate::machine::Machine;
use crate::state::State;
use crate::threads::Wait;
use crate::warp::{Stop, Warp};
use oriole_device::{FaultKind, Heap, WaitingThreads};

/// Instructions that a warp executes before the next has its turn.
const WARP_SLICE: u64 = 2048;

/// A block of a running launch.
pub(crate) struct Block {
    /// Its number in the grid, x fastest.
    pub(crate) number: u64,
    /// What its warps share.
    pub(crate) state: BlockState,
    warps: Vec<Warp>,
}

impl Block {
    /// Block `number`, with this rank in its cluster, at the start of the kernel.
    pub(crate) fn new(number: u64, rank: u32, machine: &Machine<'_>) -> Result<Block, Stop> {
        // A launch has at most 1024 threads per block.
        let threads = machine.resources.launch.threads() as u32;
        let warps = (threads as usize).div_ceil(WARP);
        let state = BlockState {
            rank: rank as usize,
            barriers: Barriers::new(warps),
            printed: Vec::new(),
            instructions: 0,
            thread_instructions: 0,
            spent: 0,
        };
        let kernel = &machine.functions[machine.kernel as usize];
        let warp = |warp: usize| {
            let left = threads - (warp * WARP) as u32;
            let mask = if left >= WARP as u32 { u32::MAX } else { (1 << left) - 1 };
            let mut state = State::new(identity(number, rank, warp as u32, machine));
            let opened = state.enter(mask, 0, kernel.slots, kernel.frame);
            opened.map_err(|kind| Stop { function: machine.kernel, pc: 0, thread: 0, kind })?;
            Ok(Warp::new(warp, mask, machine.kernel, state))
        };
        Ok(Block { number, state, warps: (0..warps).map(warp).collect::<Result<_, Stop>>()? })
    }

    /// Gives each warp its turn; whether any of them executed something.
    pub(crate) fn round(
        &mut self,
        machine: &Machine<'_>,
        cluster: &mut ClusterState,
        heap: &mut Option<Heap>,
    ) -> Result<bool, Stop> {
        let mut ran = false;
        for at in 0..self.warps.len() {
            machine
                .deadline
                .as_ref()
                .map_or(Ok(()), |deadline| deadline.check())
                .map_err(|kind| self.stop_at(at, kind))?;
            let resources = &machine.resources;
            let mut env = Env { resources, cluster: &mut *cluster, block: &mut self.state, heap: &mut *heap };
            ran |= self.warps[at].run(&mut env, machine.functions, WARP_SLICE)?;
            self.complete_barriers(machine);
            let limit = machine.max_instructions;
            if self.state.instructions > limit {
                return Err(self.stop_at(at, FaultKind::InstructionLimit(limit)));
            }
        }
        Ok(ran)
    }

    /// All threads have exited.
    pub(crate) fn is_finished(&self) -> bool {
        self.warps.iter().all(|warp| warp.threads.alive == 0)
    }

    /// Some threads wait for nothing.
    pub(crate) fn can_run(&self) -> bool {
        self.warps.iter().any(|warp| warp.threads.next_runnable(0).is_some())
    }

    /// Lets all threads go that wait at meeting points; whether there are any.
    pub(crate) fn release(&mut self) -> bool {
        self.warps.iter_mut().filter_map(|warp| warp.threads.release_all().then_some(())).count() > 0
    }

    /// The living threads of each warp.
    pub(crate) fn alive(&self) -> Vec<u32> {
        self.warps.iter().map(|warp| warp.threads.alive).collect()
    }

    /// The threads go on that wait at the barrier of the cluster.
    pub(crate) fn pass_cluster_barrier(&mut self) {
        for warp in &mut self.warps {
            let mut released = 0;
            for at in warp.threads.waiting_for(Wait::Cluster) {
                released |= warp.threads.group_mut(at).mask;
            }
            if released != 0 {
                warp.threads.resume(released, true);
            }
        }
    }

    fn complete_barriers(&mut self, machine: &Machine<'_>) {
        let alive = self.alive();
        while let Some((id, verdict)) = self.state.barriers.complete(&alive) {
            for warp in &mut self.warps {
                pass_barrier(warp, machine, id, verdict);
            }
        }
    }

    /// A fault where a warp's first group stands.
    fn stop_at(&self, warp: usize, kind: FaultKind) -> Stop {
        let warp = &self.warps[warp];
        let group = warp.threads.groups().first();
        let (function, pc, mask) = group.map_or((0, 0, 1), |group| (group.function, group.pc, group.mask));
        Stop { function, pc, thread: warp.thread(mask.trailing_zeros() as usize % WARP), kind }
    }

    /// A fault where the first group of the block stands.
    pub(crate) fn stop(&self, kind: FaultKind) -> Stop {
        let first = self.warps.iter().position(|warp| warp.threads.alive != 0);
        self.stop_at(first.unwrap_or(0), kind)
    }

    /// Who waits where; `place` is added to the place of each.
    pub(crate) fn waiting(&self, machine: &Machine<'_>, cluster: &ClusterBarrier, place: &str) -> Vec<WaitingThreads> {
        let alive = self.alive();
        let mut waiting: Vec<WaitingThreads> = Vec::new();
        for warp in &self.warps {
            for group in warp.threads.groups() {
                let name = &machine.functions[group.function as usize].name;
                let what = match group.wait {
                    Wait::Nothing | Wait::Meeting => "nothing".to_owned(),
                    Wait::Members(mask) => format!("an instruction for the threads {mask:#010x} of the warp"),
                    Wait::Barrier(id) => match self.state.barriers.progress(usize::from(id), &alive) {
                        (arrived, Some(all)) => format!("barrier {id}, where {arrived} of {all} threads have arrived"),
                        (arrived, None) => {
                            format!("barrier {id} of the whole block, where {arrived} threads have arrived")
                        }
                    },
                    Wait::Cluster => {
                        format!("the barrier of the cluster, where {} threads have arrived", cluster.threads())
                    }
                };
                let at = format!("{what} (operation {} of {name}{place})", group.pc);
                let threads = lanes_of(group.mask).map(|lane| warp.thread(lane));
                match waiting.iter_mut().find(|known| known.at == at) {
                    Some(known) => known.threads.extend(threads),
                    None => waiting.push(WaitingThreads { at, threads: threads.collect() }),
                }
            }
        }
        waiting
    }
}

/// The groups of a warp that wait at barrier `id` go on.
fn pass_barrier(warp: &mut Warp, machine: &Machine<'_>, id: usize, verdict: Verdict) {
    let mut released = 0;
    for at in warp.threads.waiting_for(Wait::Barrier(id as u8)) {
        let group = warp.threads.group_mut(at);
        let op = &machine.functions[group.function as usize].ops[group.pc as usize];
        group.wait = Wait::Nothing;
        group.pc += 1;
        warp.state.base = group.base;
        released |= group.mask;
        if let Action::Barrier(barrier) = &op.action {
            barrier.deliver(&mut warp.state, group.mask, verdict);
        }
    }
    if released != 0 {
        warp.threads.join(released);
    }
}

fn identity(block: u64, cluster_rank: u32, warp: u32, machine: &Machine<'_>) -> Identity {
    Identity {
        launch: Shapes::of(machine.resources.launch, machine.is_cluster),
        tid: std::array::from_fn(|lane| machine.resources.launch.thread_at(warp * WARP as u32 + lane as u32)),
        ctaid: machine.resources.launch.block_at(block),
        block,
        warp,
        cluster_rank,
        dynamic_shared: machine.dynamic_shared,
        architecture: machine.architecture,
        shared_base: machine.shared_base,
        shared_end: machine.shared_end,
        handles: machine.handles.clone(),
    }
}
