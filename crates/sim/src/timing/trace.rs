//! What the functional simulation leaves for the cycle model: which instructions each warp executed, in order,
//! and what their memory accesses cost.
//!
//! A warp's instructions are kept as straight runs of code, so that a loop iteration takes eight bytes; addresses
//! are kept as cache lines with their sectors, coalesced.

use crate::access::{AccessLog, PhaseKind};
use crate::barrier::BARRIERS;
use crate::instruction::INSTRUCTION;
use crate::lanes::Mask;
use crate::timing::phase::{PhaseNumbers, PhaseStep};
use crate::timing::request::{self, Owner, Request};
use oriole_isa::{Effects, Inst, Opcode, Pipe};
use smallvec::SmallVec;

/// Consecutive instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first: its address in instructions from the start of the code.
    pub(crate) start: u32,
    /// How many.
    pub(crate) length: u32,
}

/// The number in traces of the barrier of the cluster: the one behind those of the block.
pub(crate) const CLUSTER: u8 = BARRIERS as u8;

/// Something that happens at an instruction besides its execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The instruction: number in the order of execution.
    pub(crate) at: u64,
    /// Number of the block's barrier, or [`CLUSTER`].
    pub(crate) barrier: u8,
    /// How many times that barrier had been complete before.
    pub(crate) generation: u32,
    /// The instruction arrives at the barrier, or cannot issue before it is complete.
    pub(crate) kind: EventKind,
}

/// Arrival at a barrier, or the end of waiting there, or a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The instruction arrives.
    Arrive,
    /// The instruction comes after the barrier.
    Wait,
    /// No barrier: the instruction sleeps.
    Sleep,
}

/// What one warp did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WarpTrace {
    /// Its instructions.
    pub(crate) runs: Vec<Run>,
    /// Barriers, in order.
    pub(crate) events: Vec<Event>,
    /// One for each instruction for which [`has_request`] holds, in order.
    pub(crate) requests: Vec<Request>,
    /// The lines of the requests, one after the other; see [`request::line`].
    pub(crate) lines: Vec<u64>,
    /// What happens to phases of mbarriers, in order.
    pub(crate) phases: Vec<PhaseStep>,
    /// The descriptions of the shapes of products in tensor memory, in order.
    pub(crate) shapes: Vec<u32>,
}

/// What the warps of one block did.
pub(crate) type BlockTrace = Vec<WarpTrace>;

/// Whether the trace has a request for each execution of `inst`.
pub(crate) fn has_request(inst: &Inst) -> bool {
    let info = inst.opcode.info();
    info.pipe == Pipe::Memory
        || info.effects.contains(Effects::READS_MEMORY)
        || info.effects.contains(Effects::WRITES_MEMORY)
}

/// Whether `inst` is work of the unit that copies in bulk (TMA).
pub(crate) fn is_copy(inst: &Inst) -> bool {
    inst.opcode.tensor_copy().is_some() || matches!(inst.opcode, Opcode::UBLKCP | Opcode::UBLKRED | Opcode::UBLKPF)
}

/// A barrier at which threads of a warp wait.
#[derive(Clone, Copy)]
struct Waiting {
    resume: u64,
    barrier: u8,
    generation: u32,
}

/// Writes the trace of one warp.
pub(crate) struct Recorder {
    trace: WarpTrace,
    code: u64,
    owner: Owner,
    executed: u64,
    next: u64,
    waiting: SmallVec<[Waiting; 2]>,
    generations: [u32; BARRIERS + 1],
    /// The generation of the barrier of the cluster at which the warp arrived last.
    owed: u32,
}

impl Recorder {
    /// A recorder of a warp; the code starts at address `code`.
    pub(crate) fn new(code: u64, owner: Owner) -> Self {
        Recorder {
            trace: WarpTrace::default(),
            code,
            owner,
            executed: 0,
            next: u64::MAX,
            waiting: SmallVec::new(),
            generations: [0; BARRIERS + 1],
            owed: 0,
        }
    }

    /// The warp has executed `inst` at `pc`; `log` has its accesses, `numbers` those of phases in its block.
    pub(crate) fn executed(&mut self, pc: u64, inst: &Inst, log: &AccessLog, numbers: &mut PhaseNumbers) {
        if !self.waiting.is_empty() {
            self.end_waiting(pc);
        }
        match self.trace.runs.last_mut() {
            Some(run) if self.next == pc => run.length += 1,
            _ => self.trace.runs.push(Run { start: ((pc - self.code) / INSTRUCTION) as u32, length: 1 }),
        }
        self.next = pc + INSTRUCTION;
        let at = self.executed;
        self.executed += 1;
        for event in log.phase_events() {
            // Threads wait at mbarriers of their own block only.
            let rank = self.owner.rank;
            let is_looked_at = matches!(event.kind, PhaseKind::Over | PhaseKind::Open);
            let phase = numbers.of(event, rank).filter(|phase| !is_looked_at || usize::from(phase.home) == rank);
            let step = phase.map(|phase| PhaseStep { at, phase, kind: event.kind });
            self.trace.phases.extend(step);
        }
        if has_request(inst) {
            let request = match is_copy(inst) {
                true => request::of_copy(inst, log, self.owner, &mut self.trace.lines),
                false => request::of(log, self.owner, &mut self.trace.lines),
            };
            self.trace.requests.push(request);
        }
    }

    /// The instruction just executed arrived at `barrier` with these threads, and waits there or not.
    pub(crate) fn arrived(&mut self, barrier: u8, threads: Mask, waits: bool) {
        let barrier = barrier & 15;
        if threads == 0 {
            return;
        }
        let generation = self.generations[usize::from(barrier)];
        self.trace.events.push(Event { at: self.executed - 1, barrier, generation, kind: EventKind::Arrive });
        if waits {
            self.waiting.push(Waiting { resume: self.next, barrier, generation });
        }
    }

    /// The instruction just executed arrived at the barrier of the cluster.
    pub(crate) fn arrived_at_cluster(&mut self) {
        self.owed = self.generations[usize::from(CLUSTER)];
        let at = self.executed - 1;
        self.trace.events.push(Event { at, barrier: CLUSTER, generation: self.owed, kind: EventKind::Arrive });
    }

    /// The instruction just executed waits at the barrier of the cluster, complete or not.
    pub(crate) fn waits_for_cluster(&mut self) {
        self.waiting.push(Waiting { resume: self.next, barrier: CLUSTER, generation: self.owed });
    }

    /// The instruction just executed lets some thread sleep.
    pub(crate) fn slept(&mut self) {
        let at = self.executed - 1;
        self.trace.events.push(Event { at, barrier: CLUSTER, generation: 0, kind: EventKind::Sleep });
    }

    /// The instruction just executed is a product in tensor memory of this shape.
    pub(crate) fn multiplied(&mut self, shape: u32) {
        self.trace.shapes.push(shape);
    }

    /// A barrier of the block is complete, or that of the cluster.
    pub(crate) fn completed(&mut self, barrier: u8) {
        if let Some(generation) = self.generations.get_mut(usize::from(barrier)) {
            *generation += 1;
        }
    }

    /// The trace.
    pub(crate) fn finish(self) -> WarpTrace {
        self.trace
    }

    fn end_waiting(&mut self, pc: u64) {
        while let Some(at) = self.waiting.iter().position(|waiting| waiting.resume == pc) {
            let Waiting { barrier, generation, .. } = self.waiting.remove(at);
            self.trace.events.push(Event { at: self.executed, barrier, generation, kind: EventKind::Wait });
        }
    }
}
