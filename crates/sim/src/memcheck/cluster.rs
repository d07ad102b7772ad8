//! What the checks know of one cluster of blocks (most often one block): clocks of its threads, shared memory, local
//! memory.

use super::clock::{Clock, Meeting, WarpClock};
use super::findings::{Findings, moment_site, site, verb};
use super::global::{GlobalShadow, global_place};
use super::global_race::GlobalEntry;
use super::kinds::{is_bulk, is_mbarrier, is_strong, mbarrier_at, outstanding, reads_by_async_proxy, words_of};
use super::phases::Phases;
use super::places::Lies;
use super::race::{Cell, Entry, Touch};
use super::report::{Finding, FindingKind};
use super::shadow::{LocalShadow, Written};
use super::streams::thread_of;
use super::subject::Subject;
use super::sync::SyncShadow;
use crate::access::{Access, PhaseKind, in_cluster};
use crate::flow::Flow;
use crate::instruction::INSTRUCTION;
use crate::lanes::{Mask, WARP, lanes_of};
use crate::observer::Moment;
use crate::operand::{Src, operand};
use crate::space::STACK_TOP;
use oriole_device::{Access as AccessKind, Launch, Space};
use oriole_isa::{AtomOp, Field, Inst, Opcode, Role};
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
    /// Its number.
    number: u64,
    warps_per_block: usize,
    warps: Vec<WarpClock>,
    /// By rank of the block.
    blocks: Vec<BlockShadow>,
    meetings: HashMap<Meeting, Arc<Clock>>,
    /// What atomics have handed on at an address in shared memory: of which block, and where.
    handed_on: HashMap<(usize, u64), Arc<Clock>>,
    phases: Phases,
    /// Loads that start a compare-and-swap loop, and others, by code address.
    cas_loops: HashMap<u64, bool>,
    /// Warps that have not exited.
    alive: usize,
}

struct BlockShadow {
    cells: Vec<Cell>,
    written: Written,
    local: LocalShadow,
    sync: SyncShadow,
}

impl ClusterShadow {
    /// A cluster at its start.
    pub(super) fn new(number: u64, subject: &Subject<'_>) -> Self {
        let blocks = subject.launch.cluster.iter().map(|&size| size.max(1) as usize).product::<usize>();
        let warps_per_block = (subject.launch.threads() as usize).div_ceil(WARP);
        let warps = blocks * warps_per_block;
        let cells = if subject.checks.orders() { subject.shared_size.div_ceil(4) as usize } else { 0 };
        let block = |_| BlockShadow {
            cells: vec![Cell::default(); cells],
            written: Written::new(subject.shared_size),
            local: LocalShadow::default(),
            sync: SyncShadow::default(),
        };
        ClusterShadow {
            number,
            warps_per_block,
            warps: (0..warps).map(|warp| WarpClock::new(warp, warps)).collect(),
            blocks: (0..blocks).map(block).collect(),
            meetings: HashMap::new(),
            handed_on: HashMap::new(),
            phases: Phases::default(),
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
        if subject.checks.sync {
            self.blocks[rank].sync.executed(moment, subject, findings);
        }
        if subject.checks.orders() {
            for meeting in self.warps[number].advance(moment.issued.group) {
                if let Some(clock) = self.meetings.get(&meeting) {
                    self.warps[number].learn(clock);
                }
            }
            self.synchronise(number, rank, moment, accesses, global);
        }
        for access in accesses {
            match access.space {
                Space::Global => {
                    if subject.checks.race && !global.is_stray(access, subject) {
                        self.global(access, number, moment, subject, global, findings);
                    }
                    global.access(access, moment, subject, findings);
                }
                Space::Shared => self.shared(access, number, rank, moment, subject, findings),
                Space::Local => self.local(access, rank, moment, subject, findings),
                _ => {}
            }
        }
        if matches!(moment.flow(), Some(Flow::Exit(_))) && moment.threads.alive == 0 {
            self.alive -= 1;
        }
    }

    /// What the instruction does to the order of things.
    fn synchronise(
        &mut self,
        number: usize,
        rank: usize,
        moment: &Moment<'_>,
        accesses: &[Access],
        global: &mut GlobalShadow,
    ) {
        let active = moment.issued.active;
        if active == 0 {
            return;
        }
        self.change_phases(number, rank, moment);
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
            Opcode::FENCE => warp.fence_proxies(),
            Opcode::ACQBULK => global.races.wait_for_launches(warp),
            opcode if is_mbarrier(opcode) => {}
            _ => {
                let is_atomic = |access: &&Access| access.kind == AccessKind::Atomic || is_strong(inst, access.space);
                for access in accesses.iter().filter(is_atomic) {
                    self.hand_on(number, rank, access, global);
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

    /// What the instruction does to phases of mbarriers, and what its threads learn of them.
    fn change_phases(&mut self, number: usize, rank: usize, moment: &Moment<'_>) {
        self.old_mbarriers(number, rank, moment);
        let warp = &mut self.warps[number];
        let copies = |warp: &WarpClock| warp.copies_of(moment.issued.active);
        let opcode = moment.issued.op.inst.as_ref().map(|inst| inst.opcode);
        for event in moment.log.phase_events() {
            let place = in_cluster(event.address, rank);
            match event.kind {
                PhaseKind::Start => self.phases.start(place, event.phase),
                PhaseKind::Copy => self.phases.gather(place, event.phase, &copies(warp)),
                PhaseKind::Arrive => {
                    let mut known = warp.snapshot();
                    if opcode == Some(Opcode::ARRIVES) {
                        known.join(&copies(warp));
                    }
                    self.phases.gather(place, event.phase, &known);
                }
                PhaseKind::Over => {
                    if let Some(clock) = self.phases.over(place, event.phase) {
                        warp.learn(&clock);
                    }
                }
                PhaseKind::Open => {}
            }
        }
    }

    /// Before sm_90 an mbarrier is a word that atomics of its own kind arrive at, and that loads wait at.
    fn old_mbarriers(&mut self, number: usize, rank: usize, moment: &Moment<'_>) {
        let Some(inst) = moment.issued.op.inst.as_ref().filter(|_| moment.log.phase_events().is_empty()) else {
            return;
        };
        let arrives = inst.opcode == Opcode::ARRIVES
            || inst.opcode == Opcode::ATOMS && inst.get(Field::ATOM_OP) == AtomOp::ARRIVE;
        if !arrives && inst.opcode != Opcode::LDS {
            return;
        }
        for access in moment.log.accesses() {
            let mut last = None;
            for lane in lanes_of(access.lanes) {
                let place = mbarrier_at(access.addresses[lane], rank);
                if last.replace(place) == Some(place) {
                    continue;
                }
                let warp = &mut self.warps[number];
                if arrives {
                    let mut known = warp.snapshot();
                    known.join(&warp.copies_of(access.lanes));
                    self.phases.gather(place, false, &known);
                } else if let Some(clock) = self.phases.all(place) {
                    warp.learn(&clock);
                }
            }
        }
    }

    /// An atomic hands on what its thread knew at its last fence, and learns what was handed on there before.
    fn hand_on(&mut self, number: usize, own: usize, access: &Access, global: &mut GlobalShadow) {
        for lane in lanes_of(access.lanes) {
            let warp = &mut self.warps[number];
            if access.space != Space::Shared {
                global.races.hand_on(access.addresses[lane] & !3, self.number, warp);
                continue;
            }
            let (rank, address) = in_cluster(access.addresses[lane], own);
            let given = warp.strand().released.clone();
            match (self.handed_on.get_mut(&(rank, address & !3)), given) {
                (Some(clock), given) => {
                    let learnt = clock.clone();
                    if let Some(given) = &given {
                        Arc::make_mut(clock).join(given);
                    }
                    warp.learn(&learnt);
                }
                (None, Some(given)) => drop(self.handed_on.insert((rank, address & !3), given)),
                (None, None) => {}
            }
        }
    }

    /// Looks for races of an access to global memory.
    fn global(
        &mut self,
        access: &Access,
        number: usize,
        moment: &Moment<'_>,
        subject: &Subject<'_>,
        global: &mut GlobalShadow,
        findings: &mut Findings,
    ) {
        let Some(inst) = &moment.issued.op.inst else { return };
        let is_strong = access.kind == AccessKind::Atomic
            || is_strong(inst, Space::Global)
            || access.kind == AccessKind::Read && self.starts_cas_loop(moment, subject);
        let kind = access.kind;
        if kind == AccessKind::Write {
            collisions(access, moment, subject, findings);
        }
        let warp = &self.warps[number];
        for lane in lanes_of(access.lanes) {
            let address = access.addresses[lane];
            for (word, bytes) in words_of(address, access.bytes) {
                let entry = GlobalEntry {
                    cluster: self.number,
                    warp: number as u16,
                    bytes,
                    kind,
                    is_strong,
                    lanes: 1 << lane,
                    time: warp.time,
                    pc: moment.issued.pc,
                };
                let mut value = [0; 4];
                subject.memory.read_into(4 * word, &mut value);
                let Some(rival) = global.races.touch(word, entry, u32::from_le_bytes(value), warp) else { continue };
                let old = rival.entry;
                let kind = if rival.launch.is_some() { FindingKind::LaunchRace } else { FindingKind::Race };
                findings.add(kind, entry.pc, old.pc, || {
                    let of_this_launch = || {
                        let (block, thread) = thread_of(subject.launch, &old);
                        Some(site(old.pc, verb(old.kind), block, thread, subject))
                    };
                    Finding {
                        kind,
                        place: global_place(subject, 4 * word),
                        earlier: rival.launch.as_ref().map_or_else(of_this_launch, |launch| launch.site(&old)),
                        later: moment_site(moment, lane, verb(access.kind), subject),
                        times: 0,
                    }
                });
            }
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
            if subject.checks.orders() {
                let by = By { number, lane, is_mbarrier, is_own: rank == own };
                self.race(access, rank, address, &by, moment, subject, findings);
            }
        }
        if subject.checks.race && access.kind == AccessKind::Write {
            collisions(access, moment, subject, findings);
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
        // An mbarrier that is made or ends is not yet or no longer one to others.
        let is_wait = opcode == Some(Opcode::LDS) && self.phases.has(mbarrier_at(address, rank));
        let is_use = is_wait || by.is_mbarrier && access.kind != AccessKind::Write && opcode != Some(Opcode::SYNCSU);
        let is_atomic = is_use || access.kind == AccessKind::Read && self.starts_cas_loop(moment, subject);
        let kind = match by.is_mbarrier {
            _ if is_atomic => AccessKind::Atomic,
            true => AccessKind::Write,
            false => access.kind,
        };
        let is_async = access.kind == AccessKind::Read && opcode.is_some_and(reads_by_async_proxy);
        let warp = &self.warps[by.number];
        for (word, bytes) in words_of(address, access.bytes) {
            let Some(cell) = self.blocks[rank].cells.get_mut(word as usize) else { continue };
            let unfenced = if is_async && subject.checks.sync { cell.unfenced(bytes, warp) } else { None };
            let (time, pc) = (warp.time, moment.issued.pc);
            let entry = Entry { warp: by.number as u16, bytes, kind, is_copy, lanes: 1 << by.lane, time, pc };
            let value = by.is_own.then(|| moment.shared.get(word as usize).copied()).flatten();
            let race = cell.touch(&Touch { entry, value }, warp).filter(|_| subject.checks.race);
            let Some((kind_found, old)) =
                race.map(|old| (FindingKind::Race, old)).or(unfenced.map(|old| (FindingKind::MissingFence, old)))
            else {
                continue;
            };
            findings.add(kind_found, pc, old.pc, || {
                let other = usize::from(old.warp) * WARP + old.lanes.trailing_zeros() as usize % WARP;
                let per_block = self.warps_per_block * WARP;
                let same = moment.state.identity.ctaid;
                let block = block_of(subject, same, other / per_block);
                let thread = (other % per_block) as u32;
                let what = if old.is_copy { "copy" } else { verb(old.kind) };
                Finding {
                    kind: kind_found,
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
            let is_load = |inst: &&Inst| matches!(inst.opcode, Opcode::LDS | Opcode::LDG | Opcode::LD);
            let Some(load) = subject.program.inst(pc).filter(is_load) else { return false };
            let same_address = |inst: &Inst| {
                [Role::Base, Role::Offset].iter().all(|&role| operand(inst, role).value == operand(load, role).value)
            };
            let is_swap = |inst: &Inst| {
                let op = inst.get(Field::ATOM_OP);
                matches!(inst.opcode, Opcode::ATOMS | Opcode::ATOMG | Opcode::ATOM)
                    && matches!(op, AtomOp::CAS | AtomOp::CAST | AtomOp::CAST_TRY)
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
            let is_absolute = end <= u64::from(subject.absolute_local);
            if subject.checks.bounds && !is_absolute && (address < stack || end > u64::from(STACK_TOP)) {
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
fn collisions(access: &Access, moment: &Moment<'_>, subject: &Subject<'_>, findings: &mut Findings) {
    let Some(inst) = &moment.issued.op.inst else { return };
    let Some(data) = Src::of(inst, Role::Data).register() else { return };
    if !matches!(inst.opcode, Opcode::STS | Opcode::ST | Opcode::STG) || is_strong(inst, access.space) {
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
                place: match access.space {
                    Space::Shared => shared_place(subject, in_cluster(access.addresses[first], 0).1),
                    _ => global_place(subject, access.addresses[first]),
                },
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
