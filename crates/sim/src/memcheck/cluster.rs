//! What the checks know of one cluster of blocks (most often one block): clocks of its threads, shared memory, local
//! memory.

use super::clock::{Clock, Meeting, WarpClock};
use super::findings::{Findings, moment_site, site, verb};
use super::global::GlobalShadow;
use super::places::Lies;
use super::race::{Cell, Entry, Touch};
use super::report::{Finding, FindingKind};
use super::shadow::{LocalShadow, Written};
use super::subject::Subject;
use crate::access::{Access, in_cluster};
use crate::flow::Flow;
use crate::instruction::INSTRUCTION;
use crate::lanes::{Mask, WARP, lanes_of};
use crate::observer::Moment;
use crate::operand::{Src, operand};
use crate::space::STACK_TOP;
use oriole_device::{Access as AccessKind, Launch, Space};
use oriole_isa::{AtomOp, Field, Inst, Opcode, Role, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The register that holds the stack pointer in CUDA's ABI.
const STACK_POINTER: usize = 1;
/// The name of the cluster's barrier among the meetings.
const CLUSTER_BARRIER: usize = usize::MAX;
/// Instructions from the load of a compare-and-swap loop to the swap, at most.
const CAS_LOOP: u64 = 8;
/// Uses of one barrier that may have waiters that have not run on.
const KEPT_MEETINGS: u32 = 64;

/// The number of the cluster that the block at `block` belongs to.
pub(super) fn number_of(launch: &Launch, block: [u32; 3]) -> u64 {
    let shape = launch.cluster.map(|size| size.max(1));
    let along = |axis: usize| u64::from(block[axis] / shape[axis]);
    let count = |axis: usize| u64::from(launch.grid[axis].div_ceil(shape[axis]));
    along(0) + count(0) * (along(1) + count(1) * along(2))
}

/// What is known of a cluster.
pub(super) struct ClusterShadow {
    warps_per_block: usize,
    warps: Vec<WarpClock>,
    /// By rank of the block.
    blocks: Vec<BlockShadow>,
    meetings: HashMap<Meeting, Arc<Clock>>,
    /// What atomics have handed on at an address: whether it is of shared memory, of which block, and where.
    handed_on: HashMap<(bool, usize, u64), Arc<Clock>>,
    /// Bulk copies that have been started.
    bulk: Clock,
    /// Loads that start a compare-and-swap loop, and others, by code address.
    cas_loops: HashMap<u64, bool>,
    /// Warps that have not exited.
    alive: usize,
}

struct BlockShadow {
    cells: Vec<Cell>,
    written: Written,
    local: LocalShadow,
}

impl ClusterShadow {
    /// A cluster at its start.
    pub(super) fn new(subject: &Subject<'_>) -> Self {
        let blocks = subject.launch.cluster.iter().map(|&size| size.max(1) as usize).product::<usize>();
        let warps_per_block = (subject.launch.threads() as usize).div_ceil(WARP);
        let warps = blocks * warps_per_block;
        let cells = if subject.checks.race { subject.shared_size.div_ceil(4) as usize } else { 0 };
        let block = |_| BlockShadow {
            cells: vec![Cell::default(); cells],
            written: Written::new(subject.shared_size),
            local: LocalShadow::default(),
        };
        ClusterShadow {
            warps_per_block,
            warps: (0..warps).map(|warp| WarpClock::new(warp, warps)).collect(),
            blocks: (0..blocks).map(block).collect(),
            meetings: HashMap::new(),
            handed_on: HashMap::new(),
            bulk: Clock::default(),
            cas_loops: HashMap::new(),
            alive: warps,
        }
    }

    /// All its threads have exited.
    pub(super) fn is_finished(&self) -> bool {
        self.alive == 0
    }

    /// An instruction of one of its warps has been executed.
    pub(super) fn executed(
        &mut self,
        moment: &Moment<'_>,
        subject: &Subject<'_>,
        global: &mut GlobalShadow,
        findings: &mut Findings,
    ) {
        let accesses = moment.log.accesses();
        let identity = &moment.state.identity;
        let rank = identity.cluster_rank as usize;
        let number = rank * self.warps_per_block + identity.warp as usize;
        if number >= self.warps.len() || rank >= self.blocks.len() {
            return;
        }
        if subject.checks.race {
            for meeting in self.warps[number].advance(moment.issued.group) {
                if let Some(clock) = self.meetings.get(&meeting) {
                    self.warps[number].learn(clock);
                }
            }
            self.synchronise(number, rank, moment, accesses);
        }
        for access in accesses {
            match access.space {
                Space::Global => global.access(access, moment, subject, findings),
                Space::Shared => self.shared(access, number, rank, moment, subject, findings),
                Space::Local => self.local(access, rank, moment, subject, findings),
                _ => {}
            }
        }
        if subject.checks.race
            && let Some(inst) = &moment.issued.op.inst
            && is_bulk(inst.opcode)
        {
            let copies = self.warps[number].copies_of(moment.issued.active);
            self.bulk.join(&copies);
        }
        if matches!(moment.flow(), Some(Flow::Exit(_))) && moment.threads.alive == 0 {
            self.alive -= 1;
        }
    }

    /// What the instruction does to the order of things.
    fn synchronise(&mut self, number: usize, rank: usize, moment: &Moment<'_>, accesses: &[Access]) {
        let active = moment.issued.active;
        if active == 0 {
            return;
        }
        if let Some(Flow::Barrier { id, wait, .. }) = moment.flow() {
            let id = id.scalar(moment.state) as u8 & 15;
            return self.meet(number, active, (rank, id, moment.barriers.generation(id)), *wait);
        }
        let Some(inst) = &moment.issued.op.inst else { return };
        let warp = &mut self.warps[number];
        match inst.opcode {
            Opcode::UCGABAR_ARV => {
                let generation = warp.cluster_uses[0];
                warp.cluster_uses[0] += 1;
                self.meet(number, active, (CLUSTER_BARRIER, 0, generation), false);
            }
            Opcode::UCGABAR_WAIT => {
                let generation = warp.cluster_uses[1];
                warp.cluster_uses[1] += 1;
                warp.wait(active, (CLUSTER_BARRIER, 0, generation));
            }
            Opcode::MEMBAR => warp.strand_mut().released = Some(Arc::new(warp.snapshot())),
            Opcode::LDGDEPBAR => warp.commit(active),
            Opcode::DEPBAR => warp.copies_arrive(active, outstanding(inst)),
            opcode => {
                let is_mbarrier = is_mbarrier(opcode);
                for access in accesses.iter().filter(|access| is_mbarrier || access.kind == AccessKind::Atomic) {
                    self.hand_on(number, rank, opcode, access);
                }
            }
        }
    }

    /// Threads arrive at a barrier, and wait there or not.
    fn meet(&mut self, number: usize, lanes: Mask, meeting: Meeting, waits: bool) {
        let known = self.warps[number].snapshot();
        let clock = self.meetings.entry(meeting).or_default();
        Arc::make_mut(clock).join(&known);
        if waits {
            self.warps[number].wait(lanes, meeting);
        }
        if let Some(old) = meeting.2.checked_sub(KEPT_MEETINGS) {
            self.meetings.remove(&(meeting.0, meeting.1, old));
        }
    }

    /// An atomic hands on what its thread knew at its last fence, an operation on an mbarrier all that it knows; both
    /// learn what was handed on there before.
    fn hand_on(&mut self, number: usize, own: usize, opcode: Opcode, access: &Access) {
        let is_mbarrier = is_mbarrier(opcode);
        let warp = &mut self.warps[number];
        let given = match is_mbarrier {
            true => {
                let mut known = warp.snapshot();
                known.join(&self.bulk);
                if opcode == Opcode::ARRIVES {
                    known.join(&warp.copies_of(access.lanes));
                }
                Some(Arc::new(known))
            }
            false => warp.strand().released.clone(),
        };
        for lane in lanes_of(access.lanes) {
            let (rank, address) = match access.space {
                Space::Shared => in_cluster(access.addresses[lane], own),
                _ => (0, access.addresses[lane]),
            };
            let key = (access.space == Space::Shared, rank, address & !3);
            match (self.handed_on.get_mut(&key), &given) {
                (Some(clock), _) => {
                    let learnt = clock.clone();
                    if let Some(given) = &given {
                        Arc::make_mut(clock).join(given);
                    }
                    self.warps[number].learn(&learnt);
                }
                (None, Some(given)) => drop(self.handed_on.insert(key, given.clone())),
                (None, None) => {}
            }
        }
        if is_mbarrier {
            let bulk = Arc::new(self.bulk.clone());
            self.warps[number].learn(&bulk);
        }
    }

    /// Checks an access to shared memory.
    fn shared(
        &mut self,
        access: &Access,
        number: usize,
        own: usize,
        moment: &Moment<'_>,
        subject: &Subject<'_>,
        findings: &mut Findings,
    ) {
        let opcode = moment.issued.op.inst.as_ref().map(|inst| inst.opcode);
        let is_mbarrier = opcode.is_some_and(is_mbarrier);
        for lane in lanes_of(access.lanes) {
            let (rank, address) = in_cluster(access.addresses[lane], own);
            let Some(block) = self.blocks.get_mut(rank) else { continue };
            let mut single =
                |kind, place: String| findings.add_single(kind, moment, subject, lane, access.kind, || place);
            if subject.checks.init {
                if access.kind != AccessKind::Write
                    && !is_mbarrier
                    && address >= subject.reserved
                    && let Some(byte) = block.written.first_unwritten(address, access.bytes)
                {
                    single(FindingKind::Uninitialised, shared_place(subject, byte));
                }
                if access.kind != AccessKind::Read || is_mbarrier {
                    block.written.write(address, access.bytes);
                }
            }
            if subject.checks.bounds
                && let Some(near) = outside_shared(subject, address, access.bytes)
            {
                single(FindingKind::OutsideVariable, format!("shared {address:#x}, {near}"));
            }
            if subject.checks.race {
                let by = By { number, lane, is_mbarrier, is_own: rank == own };
                self.race(access, rank, address, &by, moment, subject, findings);
            }
        }
        if subject.checks.race
            && access.kind == AccessKind::Write
            && let Some(inst) = &moment.issued.op.inst
        {
            collisions(access, inst, moment, subject, findings);
        }
    }

    /// Looks for races of the access of one lane.
    #[allow(clippy::too_many_arguments, reason = "one access: who, where, when, and to whom it is told")]
    fn race(
        &mut self,
        access: &Access,
        rank: usize,
        address: u64,
        by: &By,
        moment: &Moment<'_>,
        subject: &Subject<'_>,
        findings: &mut Findings,
    ) {
        let opcode = moment.issued.op.inst.as_ref().map(|inst| inst.opcode);
        let is_copy = access.kind == AccessKind::Write
            && opcode.is_some_and(|opcode| opcode == Opcode::LDGSTS || is_bulk(opcode));
        let is_atomic = by.is_mbarrier || access.kind == AccessKind::Read && self.starts_cas_loop(moment, subject);
        let kind = if is_atomic { AccessKind::Atomic } else { access.kind };
        let warp = &self.warps[by.number];
        let end = address + u64::from(access.bytes);
        for word in address / 4..end.div_ceil(4) {
            let Some(cell) = self.blocks[rank].cells.get_mut(word as usize) else { continue };
            let first = address.saturating_sub(4 * word).min(4);
            let last = (end - 4 * word).min(4);
            let bytes = ((1u16 << last) - (1 << first)) as u8;
            let (time, pc) = (warp.time, moment.issued.pc);
            let entry = Entry { warp: by.number as u16, bytes, kind, is_copy, lanes: 1 << by.lane, time, pc };
            let value = by.is_own.then(|| moment.shared.get(word as usize).copied()).flatten();
            let Some(old) = cell.touch(&Touch { entry, value }, warp) else { continue };
            findings.add(FindingKind::Race, pc, old.pc, || {
                let other = usize::from(old.warp) * WARP + old.lanes.trailing_zeros() as usize % WARP;
                let per_block = self.warps_per_block * WARP;
                let same = moment.state.identity.ctaid;
                let block = block_of(subject, same, other / per_block);
                let thread = (other % per_block) as u32;
                let what = if old.is_copy { "copy" } else { verb(old.kind) };
                Finding {
                    kind: FindingKind::Race,
                    place: shared_place(subject, 4 * word),
                    earlier: Some(site(old.pc, what, block, thread, subject)),
                    later: moment_site(moment, by.lane, if is_copy { "copy" } else { verb(kind) }, subject),
                    times: 0,
                }
            });
        }
    }

    /// Whether the instruction is the load of a compare-and-swap loop at its address, as compilers write it for
    /// atomics that the hardware lacks: the two are one atomic to the program.
    fn starts_cas_loop(&mut self, moment: &Moment<'_>, subject: &Subject<'_>) -> bool {
        let pc = moment.issued.pc;
        *self.cas_loops.entry(pc).or_insert_with(|| {
            let Some(load) = subject.program.inst(pc).filter(|inst| inst.opcode == Opcode::LDS) else { return false };
            let same_address = |inst: &Inst| {
                [Role::Base, Role::Offset].iter().all(|&role| operand(inst, role).value == operand(load, role).value)
            };
            let is_swap = |inst: &Inst| {
                let op = inst.get(Field::ATOM_OP);
                inst.opcode == Opcode::ATOMS && matches!(op, AtomOp::CAS | AtomOp::CAST | AtomOp::CAST_TRY)
            };
            let following = (1..=CAS_LOOP).filter_map(|n| subject.program.inst(pc + n * INSTRUCTION));
            following.into_iter().any(|inst| is_swap(inst) && same_address(inst))
        })
    }

    /// Checks an access to local memory.
    fn local(
        &mut self,
        access: &Access,
        rank: usize,
        moment: &Moment<'_>,
        subject: &Subject<'_>,
        findings: &mut Findings,
    ) {
        let state = &moment.state;
        let local = &mut self.blocks[rank].local;
        for lane in lanes_of(access.lanes) {
            let address = access.addresses[lane];
            let thread = state.identity.warp * WARP as u32 + lane as u32;
            let mut single =
                |kind, place: String| findings.add_single(kind, moment, subject, lane, access.kind, || place);
            if subject.checks.init {
                if access.kind == AccessKind::Read
                    && let Some(byte) = local.first_unwritten(thread, address, access.bytes)
                {
                    single(FindingKind::Uninitialised, format!("local {byte:#x}"));
                }
                if access.kind != AccessKind::Read {
                    local.write(thread, address, access.bytes);
                }
            }
            let stack = u64::from(state.lane(STACK_POINTER, lane));
            let end = address.saturating_add(access.bytes.into());
            if subject.checks.bounds && (address < stack || end > u64::from(STACK_TOP)) {
                let place = format!("local {address:#x}; the stack is from {stack:#x} to {STACK_TOP:#x}");
                single(FindingKind::OutsideFrame, place);
            }
        }
    }
}

/// Who makes an access.
struct By {
    /// Number of the warp in the cluster.
    number: usize,
    lane: usize,
    is_mbarrier: bool,
    /// To the shared memory of its own block.
    is_own: bool,
}

/// Lanes of one store that write different values to one address.
fn collisions(access: &Access, inst: &Inst, moment: &Moment<'_>, subject: &Subject<'_>, findings: &mut Findings) {
    let Some(data) = Src::of(inst, Role::Data).register() else { return };
    if !matches!(inst.opcode, Opcode::STS | Opcode::ST) {
        return;
    }
    let state = &moment.state;
    let bits = if access.bytes >= 4 { u32::MAX } else { (1 << (8 * access.bytes)) - 1 };
    let words = (access.bytes as usize).div_ceil(4);
    let differ = |a: usize, b: usize| {
        (0..words).any(|word| (state.lane(data + word, a) ^ state.lane(data + word, b)) & bits != 0)
    };
    let mut lanes: Vec<usize> = lanes_of(access.lanes).collect();
    lanes.sort_by_key(|&lane| access.addresses[lane]);
    for pair in lanes.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        if access.addresses[first] == access.addresses[second] && data != crate::state::RZ && differ(first, second) {
            let pc = moment.issued.pc;
            findings.add(FindingKind::Race, pc, pc, || Finding {
                kind: FindingKind::Race,
                place: shared_place(subject, in_cluster(access.addresses[first], 0).1),
                earlier: Some(moment_site(moment, first, "write", subject)),
                later: moment_site(moment, second, "write", subject),
                times: 0,
            });
        }
    }
}

/// The block of that rank in the cluster of `block`.
fn block_of(subject: &Subject<'_>, block: [u32; 3], rank: usize) -> [u32; 3] {
    let shape = subject.launch.cluster.map(|size| size.max(1));
    let (x, rest) = (rank as u32 % shape[0], rank as u32 / shape[0]);
    let within = [x, rest % shape[1], rest / shape[1]];
    std::array::from_fn(|axis| block[axis] / shape[axis] * shape[axis] + within[axis])
}

/// Groups of copies that `DEPBAR` leaves outstanding.
fn outstanding(inst: &Inst) -> usize {
    match operand(inst, Role::B).value {
        Value::Imm(count) => count as usize,
        _ => 0,
    }
}

fn is_mbarrier(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::SYNCS | Opcode::SYNCSU | Opcode::SYNCSU_LD | Opcode::ARRIVES)
}

fn is_bulk(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::UBLKCP | Opcode::UBLKRED | Opcode::UTMALDG | Opcode::UGETNEXTWORKID)
}

/// An address in shared memory with the name of what is there.
fn shared_place(subject: &Subject<'_>, address: u64) -> String {
    match subject.shared.locate(address, 1) {
        Lies::Inside(name) => format!("shared {address:#x}, {name}"),
        Lies::Outside(_) => format!("shared {address:#x}"),
    }
}

/// What an access to shared memory lies outside of.
fn outside_shared(subject: &Subject<'_>, address: u64, bytes: u32) -> Option<String> {
    if address < subject.reserved && !subject.book.contains(&address) {
        return Some(format!("in the {} bytes that the system keeps", subject.reserved));
    }
    // Dynamic shared memory follows the variables.
    if subject.shared.is_empty() || subject.launch.shared_bytes > 0 && address >= subject.shared.end() {
        return None;
    }
    match subject.shared.locate(address, bytes) {
        Lies::Inside(_) => None,
        Lies::Outside(near) => Some(near),
    }
}
