//! One multiprocessor: its resident blocks, and four quarters that each issue an instruction a cycle.

use crate::access::PhaseKind;
use crate::timing::barrier::BlockBarriers;
use crate::timing::code::{Code, ConstantUse, Cost, Effect};
use crate::timing::front_end::FrontEnd;
use crate::timing::lines::{code_line, constant_line};
use crate::timing::lsu::{Lsu, Slab, Waiter};
use crate::timing::phase::{PhaseName, PhaseStep, Phases};
use crate::timing::quarter::Quarter;
use crate::timing::request::{Transfer, line_number, sectors};
use crate::timing::stats::{SmCounts, StallReason};
use crate::timing::tensor_unit::TensorUnit;
use crate::timing::trace::{BlockTrace, CLUSTER};
use crate::timing::warp::{ConstantOperand, Replay};
use oriole_isa::chip::{Chip, Unit};
use smallvec::SmallVec;

/// Quarters of a multiprocessor, each with a scheduler.
const QUARTERS: usize = 4;
/// Cycles in which a quarter issues nothing because a constant operand is missing, before it turns to other warps
/// (Huerta et al.).
const CONSTANT_PATIENCE: u64 = 4;

/// Which block of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Number of its cluster.
    pub(crate) cluster: usize,
    /// Its rank there.
    pub(crate) rank: u8,
}

/// Something that comes to a phase of an mbarrier: an arrival, or the last byte of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    /// The block that has the mbarrier.
    pub(crate) to: Member,
    /// Number of the phase.
    phase: u32,
    time: u64,
}

/// The phases that count the bytes of a copy, and the cluster.
struct Delivery {
    cluster: usize,
    phases: SmallVec<[PhaseName; 2]>,
}

/// A block that is on the multiprocessor.
struct Resident {
    member: Member,
    barriers: BlockBarriers,
    phases: Phases,
    /// Registers that its warps have given back, for a thread, and when the last were.
    pool: (u32, u64),
    slots: Vec<u32>,
    left: u32,
}

/// A load of constants that waits for a line.
#[derive(Clone, Copy)]
struct ConstantLoad {
    line: u64,
    slot: u32,
    epoch: u32,
    scoreboard: u8,
}

/// The multiprocessor.
pub(crate) struct Sm<'c> {
    chip: &'c Chip,
    code: &'c Code,
    registers: u32,
    quarters: [Quarter; QUARTERS],
    warps: Vec<Option<Replay>>,
    blocks: Vec<Option<Resident>>,
    epochs: u32,
    now: u64,
    since: u64,
    resident: u64,
    /// Instruction and constant caches.
    pub(crate) front_end: FrontEnd,
    constant_loads: Vec<ConstantLoad>,
    /// The memory pipeline.
    pub(crate) lsu: Lsu,
    /// The products and copies of tensor memory.
    tensor: TensorUnit,
    deliveries: Slab<Delivery>,
    /// What has come to mbarriers of other blocks in this step.
    pub(crate) signals: Vec<Signal>,
    /// Arrivals at barriers of clusters in this step: number of the cluster and cycle.
    pub(crate) arrivals: Vec<(usize, u64)>,
    /// What was counted.
    pub(crate) counts: SmCounts,
}

impl<'c> Sm<'c> {
    /// An empty multiprocessor: the bytes of its first-level cache, and the registers of a thread.
    pub(crate) fn new(chip: &'c Chip, code: &'c Code, cache_bytes: u32, registers: u32) -> Self {
        let counts = SmCounts { instructions: vec![Default::default(); code.len()], ..SmCounts::default() };
        Sm {
            chip,
            code,
            registers,
            quarters: std::array::from_fn(|_| Quarter::new()),
            warps: Vec::new(),
            blocks: Vec::new(),
            epochs: 0,
            now: 0,
            since: 0,
            resident: 0,
            front_end: FrontEnd::new(chip, code.last_line()),
            constant_loads: Vec::new(),
            lsu: Lsu::new(chip, cache_bytes),
            tensor: TensorUnit::new(&chip.tensor_memory),
            deliveries: Slab::new(),
            signals: Vec::new(),
            arrivals: Vec::new(),
            counts,
        }
    }

    /// Blocks that are on it.
    pub(crate) fn resident_blocks(&self) -> usize {
        self.blocks.iter().flatten().count()
    }

    /// Starts a block, whose mbarriers have these phases, in cycle `start`.
    pub(crate) fn start(&mut self, trace: BlockTrace, phases: Phases, member: Member, start: u64) {
        self.count_residence(start);
        let block = self.blocks.iter().position(Option::is_none).unwrap_or(self.blocks.len());
        let barriers = BlockBarriers::of(&trace);
        let mut slots = Vec::with_capacity(trace.len());
        for warp in trace.into_iter().filter(|warp| !warp.runs.is_empty()) {
            self.epochs += 1;
            let quarter = (0..QUARTERS).min_by_key(|&q| self.quarters[q].slots.len()).unwrap_or(0);
            let replay = Replay::new(warp, (block, self.registers), self.epochs, quarter, start);
            let slot = self.warps.iter().position(Option::is_none).unwrap_or(self.warps.len());
            match self.warps.get_mut(slot) {
                Some(free) => *free = Some(replay),
                None => self.warps.push(Some(replay)),
            }
            self.quarters[quarter].slots.push(slot as u32);
            self.quarters[quarter].ready.push(u64::MAX);
            slots.push(slot as u32);
        }
        self.resident += slots.len() as u64;
        let left = slots.len() as u32;
        let resident = Resident { member, barriers, phases, pool: (0, 0), left, slots: slots.clone() };
        // A block without warps has nothing to do.
        let resident = Some(resident).filter(|resident| resident.left > 0);
        match self.blocks.get_mut(block) {
            Some(free) => *free = resident,
            None => self.blocks.push(resident),
        }
        for slot in slots {
            self.fetch(slot);
            self.prepare(slot);
        }
    }

    /// The next cycle in which something happens, as far as is known; `u64::MAX` if nothing does.
    pub(crate) fn wake(&self) -> u64 {
        self.quarters.iter().map(|quarter| quarter.wake).min().unwrap_or(u64::MAX)
    }

    /// Replays up to but not including cycle `end`.
    pub(crate) fn run_until(&mut self, end: u64) {
        loop {
            let next = self.wake();
            if next >= end {
                return;
            }
            self.now = self.now.max(next);
            for quarter in 0..QUARTERS {
                if self.quarters[quarter].wake <= self.now {
                    self.schedule(quarter);
                }
            }
        }
    }

    /// Sectors have come.
    pub(crate) fn filled(&mut self, fill: u32, time: u64) {
        let (warps, mut woken) = (&mut self.warps, SmallVec::<[u32; 4]>::new());
        let mut copied = SmallVec::<[(u32, u64); 2]>::new();
        let mut arrived = SmallVec::<[(usize, (PhaseName, u64)); 2]>::new();
        self.lsu.filled(fill, time, |waiter, done| {
            copied.extend(waiter.delivery.map(|delivery| (delivery, done)));
            let warp = warps.get_mut(waiter.slot as usize).and_then(Option::as_mut);
            let Some(warp) = warp.filter(|warp| warp.epoch == waiter.epoch) else { return };
            if let Some(scoreboard) = waiter.scoreboard {
                warp.scoreboards[usize::from(scoreboard)].complete(done);
            }
            if let Some(copy) = waiter.copy {
                arrived.extend(warp.complete_copy(copy, done).into_iter().map(|arrival| (warp.block, arrival)));
            }
            woken.push(waiter.slot);
        });
        for (delivery, time) in copied {
            self.deliver(delivery, time);
        }
        for (block, (phase, time)) in arrived {
            self.arrive(block, phase, time);
        }
        for slot in woken {
            if self.warps[slot as usize].as_ref().is_some_and(|warp| warp.is_blocked) {
                self.prepare(slot);
            }
        }
    }

    /// A line of code or constants has come from the second level.
    pub(crate) fn fetched(&mut self, line: u64, time: u64) {
        self.front_end.filled(line, time);
        self.load_constants(line, time);
        for slot in 0..self.warps.len() as u32 {
            let Some(warp) = &mut self.warps[slot as usize] else { continue };
            if warp.fetched.is_none() && warp.code_line == line {
                warp.fetched = Some(time);
                self.prepare(slot);
            } else if let ConstantOperand::Comes { line: wanted, since } = warp.operand
                && wanted == line
            {
                warp.operand = ConstantOperand::There;
                warp.hold(since, time, StallReason::ImcMiss);
                self.quarters[warp.quarter].set_ready(slot, time);
            }
        }
    }

    /// Completes the loads of constants that wait for a line.
    fn load_constants(&mut self, line: u64, time: u64) {
        let (come, rest) = self.constant_loads.iter().partition(|load| load.line == line);
        self.constant_loads = rest;
        let come: Vec<ConstantLoad> = come;
        for load in come {
            let warp = self.warps.get_mut(load.slot as usize).and_then(Option::as_mut);
            let Some(warp) = warp.filter(|warp| warp.epoch == load.epoch) else { continue };
            warp.scoreboards[usize::from(load.scoreboard)].complete(time);
            if warp.is_blocked {
                self.prepare(load.slot);
            }
        }
    }

    /// The last bytes of a copy have come: tells the mbarriers that count them.
    fn deliver(&mut self, delivery: u32, time: u64) {
        let Some(Delivery { cluster, phases }) = self.deliveries.remove(delivery) else { return };
        for phase in phases {
            self.send(Signal { to: Member { cluster, rank: phase.home }, phase: phase.number, time });
        }
    }

    /// A warp of that block arrives at an mbarrier at `time`.
    fn arrive(&mut self, block: usize, phase: PhaseName, time: u64) {
        let Some(Some(resident)) = self.blocks.get(block) else { return };
        let Member { cluster, rank } = resident.member;
        let latencies = &self.chip.latencies;
        let way = if phase.home == rank { latencies.arrival } else { latencies.cluster };
        let to = Member { cluster, rank: phase.home };
        self.send(Signal { to, phase: phase.number, time: time + u64::from(way) });
    }

    /// Tells the block of an mbarrier, at once if it is here.
    fn send(&mut self, signal: Signal) {
        if !self.signalled(&signal) {
            self.signals.push(signal);
        }
    }

    /// Something comes to an mbarrier; whether its block is here.
    pub(crate) fn signalled(&mut self, signal: &Signal) -> bool {
        let is_it = |resident: &Option<Resident>| resident.as_ref().is_some_and(|block| block.member == signal.to);
        let Some(block) = self.blocks.iter().position(is_it) else { return false };
        if self.blocks[block].as_mut().is_some_and(|block| block.phases.come(signal.phase, signal.time)) {
            self.release(block);
        }
        true
    }

    /// Gets the line of a warp's next instruction, where that is another than the one before.
    fn fetch(&mut self, slot: u32) {
        let Some(warp) = &mut self.warps[slot as usize] else { return };
        let Some(line) = warp.place().map(code_line).filter(|line| *line != warp.code_line) else { return };
        warp.code_line = line;
        warp.fetched = self.front_end.fetch(warp.quarter, line, warp.fetch_time());
    }

    /// Finds out when a warp may issue its next instruction.
    fn prepare(&mut self, slot: u32) {
        let Some(warp) = &mut self.warps[slot as usize] else { return };
        let (Some(Some((_, cost))), Some(Some(block))) =
            (warp.place().map(|place| self.code.at(place)), self.blocks.get(warp.block))
        else {
            return;
        };
        let ready = warp.readiness(cost, &block.barriers, &block.phases, block.pool);
        self.quarters[warp.quarter].set_ready(slot, ready.unwrap_or(u64::MAX));
    }

    /// Issues an instruction of a quarter's warps, if any can: of the one that issued last, or else of the youngest
    /// (Huerta et al.).
    fn schedule(&mut self, q: usize) {
        let now = self.now;
        if self.quarters[q].bubble > now {
            self.quarters[q].wake = self.quarters[q].bubble;
            return;
        }
        let count = self.quarters[q].slots.len();
        let last = self.quarters[q].slots.iter().position(|&slot| slot == self.quarters[q].last);
        let youngest_first = (0..count).rev().filter(|at| Some(*at) != last);
        for at in last.into_iter().chain(youngest_first) {
            if self.quarters[q].ready[at] <= now && self.try_issue(q, at) {
                break;
            }
        }
        let quarter = &mut self.quarters[q];
        let next = quarter.ready.iter().copied().min().unwrap_or(u64::MAX);
        quarter.wake = next.max(now + 1).max(quarter.bubble.min(next));
    }

    /// Issues the next instruction of a warp whose own conditions are met, if its unit is free.
    fn try_issue(&mut self, q: usize, at: usize) -> bool {
        let now = self.now;
        let slot = self.quarters[q].slots[at];
        let Some(warp) = &mut self.warps[slot as usize] else { return false };
        let Some(Some((index, cost))) = warp.place().map(|place| self.code.at(place)) else { return false };
        let quarter = &mut self.quarters[q];
        let (unit, mut free) = quarter.unit(cost.unit);
        let mut reason = StallReason::MathPipeThrottle;
        if matches!(cost.effect, Effect::Product { .. }) {
            // The product waits its turn behind the issue.
            free = now;
        }
        if matches!(cost.effect, Effect::Memory | Effect::ArriveBehindCopies) && unit == Unit::Memory {
            free = self.lsu.room(q);
            reason = match warp.peek_request().transfer {
                Transfer::None => StallReason::MioThrottle,
                _ => StallReason::LgThrottle,
            };
        } else if unit == Unit::Texture {
            reason = StallReason::TexThrottle;
        }
        if free > now {
            warp.hold(now, free, reason);
            quarter.ready[at] = free;
            return false;
        }
        if let Effect::TakeRegisters(count) = cost.effect
            && self.blocks.get(warp.block).and_then(Option::as_ref).is_some_and(|block| {
                let is_short = warp.wants(count) > block.pool.0;
                warp.is_blocked = is_short;
                is_short
            })
        {
            // Another warp was faster.
            quarter.ready[at] = u64::MAX;
            return false;
        }
        if let Some(ConstantUse::Operand { part }) = cost.constant
            && warp.operand == ConstantOperand::Unknown
            && !self.has_operand(q, at, part)
        {
            // The slot is gone.
            return true;
        }
        let quarter = &mut self.quarters[q];
        let start = quarter.units[unit as usize].max(now);
        quarter.units[unit as usize] = start + u64::from(cost.cycles);
        let bubble = quarter.read_registers(slot, now, cost);
        quarter.bubble = now + 1 + bubble;
        quarter.last = slot;
        let counts = &mut self.counts.instructions[index];
        counts.issued += 1;
        counts.stalls[StallReason::Dispatch as usize] += bubble;
        self.counts.bank_bubbles += bubble;
        self.issue(q, at, slot, index, start);
        true
    }

    /// Whether the constant operand of an instruction is in the first level; where not, the warp waits for it, and the
    /// quarter a little.
    fn has_operand(&mut self, q: usize, at: usize, part: u64) -> bool {
        let (now, quarter) = (self.now, &mut self.quarters[q]);
        let Some(warp) = &mut self.warps[quarter.slots[at] as usize] else { return true };
        let there = self.front_end.operand(q, part, now);
        if there == Some(now) {
            return true;
        }
        warp.operand = match there {
            Some(time) => {
                warp.hold(now, time, StallReason::ImcMiss);
                ConstantOperand::There
            }
            None => ConstantOperand::Comes { line: constant_line(part), since: now },
        };
        quarter.ready[at] = there.unwrap_or(u64::MAX);
        quarter.bubble = quarter.ready[at].min(now + CONSTANT_PATIENCE);
        false
    }

    /// The issue of an instruction whose unit starts with it at `start`.
    fn issue(&mut self, q: usize, at: usize, slot: u32, index: usize, start: u64) {
        let (now, code) = (self.now, self.code);
        let Some(warp) = &mut self.warps[slot as usize] else { return };
        let Some(Some((_, cost))) = warp.place().map(|place| code.at(place)) else { return };
        let block = warp.block;
        let mut released = false;
        let (mut arrived, mut copied) = (SmallVec::<[(PhaseName, u64); 2]>::new(), SmallVec::<[PhaseName; 2]>::new());
        if let Some(Some(resident)) = self.blocks.get_mut(block) {
            let cluster = resident.member.cluster;
            let begin = if cost.effect == Effect::TensorArrival { self.tensor.drained(now) } else { now };
            let steps: SmallVec<[PhaseStep; 4]> = warp.phase_steps().into();
            for step in steps {
                match step.kind {
                    PhaseKind::Arrive if cost.effect == Effect::ArriveBehindCopies => {
                        arrived.extend(warp.copies.arrive(step.phase, now));
                    }
                    PhaseKind::Arrive => arrived.push((step.phase, begin)),
                    PhaseKind::Copy => copied.push(step.phase),
                    PhaseKind::Start | PhaseKind::Over | PhaseKind::Open => {}
                }
            }
            released |= warp.change_registers(cost.effect, &mut resident.pool, now);
            let release = now + u64::from(self.chip.latencies.barrier);
            let arrive = |barrier| match barrier {
                CLUSTER => self.arrivals.push((cluster, now)),
                barrier => released |= resident.barriers.arrive(barrier, release),
            };
            let stalls = &mut self.counts.instructions[index].stalls;
            warp.issue(now, cost, self.chip.latencies.branch, stalls, arrive);
        }
        let member = self.blocks.get(block).and_then(Option::as_ref).map(|resident| resident.member);
        let phases = Some(copied).filter(|phases| !phases.is_empty());
        let delivery = phases.zip(member).map(|(phases, Member { cluster, .. })| Delivery { cluster, phases });
        let delivery = delivery.map(|delivery| self.deliveries.insert(delivery));
        match cost.effect {
            Effect::Memory | Effect::ArriveBehindCopies => self.issue_memory(q, slot, index, cost, delivery),
            Effect::Copy => self.issue_copy(slot, index, cost, member, delivery),
            _ => {
                self.issue_other(q, slot, cost, start);
                if let Some(delivery) = delivery {
                    self.deliver(delivery, now + u64::from(self.chip.latencies.arrival));
                }
            }
        }
        if self.warps[slot as usize].as_ref().is_some_and(|warp| warp.place().is_none()) {
            self.finish(q, at, slot, block);
        } else {
            self.fetch(slot);
            self.prepare(slot);
        }
        if released {
            self.release(block);
        }
        for (phase, time) in arrived {
            self.arrive(block, phase, time);
        }
    }

    /// A copy in bulk, of a block, and the delivery that tells mbarriers of it.
    fn issue_copy(&mut self, slot: u32, index: usize, cost: &Cost, member: Option<Member>, delivery: Option<u32>) {
        let Some(warp) = &mut self.warps[slot as usize] else { return };
        let (request, lines) = if cost.has_request { warp.next_request() } else { Default::default() };
        let waiter = Waiter { slot, epoch: warp.epoch, scoreboard: None, copy: None, delivery };
        let others = member.and_then(|Member { cluster, rank }| {
            let others = request.targets & !(1 << rank);
            (others != 0).then_some((cluster as u32, others))
        });
        let lines = warp.lines(lines);
        let counts = &mut self.counts.instructions[index];
        counts.requests += u64::from(!lines.is_empty());
        counts.sectors += lines.iter().map(|&line| u64::from(sectors(line).count_ones())).sum::<u64>();
        let passed = self.lsu.copy(self.now, request, lines, waiter, others);
        if delivery.is_none() {
            warp.copies.add(passed.done);
        }
        warp.set_scoreboards(cost, Some(passed.read), passed.read, false);
        if let (Some(delivery), Some(done)) = (delivery, passed.done) {
            self.deliver(delivery, done);
        }
    }

    /// The way of an instruction through the memory pipeline; `delivery` tells mbarriers of its bytes.
    fn issue_memory(&mut self, q: usize, slot: u32, index: usize, cost: &Cost, delivery: Option<u32>) {
        let Some(warp) = &mut self.warps[slot as usize] else { return };
        let (request, lines) = if cost.has_request { warp.next_request() } else { Default::default() };
        let is_copy = request.transfer == Transfer::Load && request.wavefronts > 0 && delivery.is_none();
        let copy = is_copy.then(|| warp.copies.next());
        let waiter = Waiter { slot, epoch: warp.epoch, scoreboard: cost.write_scoreboard, copy, delivery };
        let all = warp.lines(lines);
        let (lines, constants) = if request.constants > 0 { (&[][..], all) } else { (all, &[][..]) };
        let counts = &mut self.counts.instructions[index];
        counts.requests += u64::from(!lines.is_empty());
        counts.sectors += lines.iter().map(|&line| u64::from(sectors(line).count_ones())).sum::<u64>();
        counts.wavefronts += u64::from(request.wavefronts);
        counts.conflicts += u64::from(request.conflicts);
        let constants: SmallVec<[u64; 2]> = constants.iter().map(|&part| line_number(part)).collect();
        let passed = self.lsu.pass(q, self.now, cost, request, lines, waiter);
        if is_copy {
            warp.copies.add(passed.done);
        }
        let is_long = request.transfer != Transfer::None || cost.unit == Unit::Texture;
        warp.set_scoreboards(cost, passed.done, passed.read, is_long);
        if let (Some(delivery), Some(done)) = (delivery, passed.done) {
            self.deliver(delivery, done);
        }
        self.read_constants(slot, cost.write_scoreboard, &constants);
    }

    /// An instruction loads these parts of constant banks: its scoreboard waits for those that are not at hand.
    fn read_constants(&mut self, slot: u32, scoreboard: Option<u8>, parts: &[u64]) {
        let Some(warp) = &mut self.warps[slot as usize] else { return };
        for &part in parts {
            let there = self.front_end.load(part, self.now);
            let Some(scoreboard) = scoreboard else { continue };
            warp.scoreboards[usize::from(scoreboard)].set(there, false);
            if there.is_none() {
                let line = constant_line(part);
                self.constant_loads.push(ConstantLoad { line, slot, epoch: warp.epoch, scoreboard });
            }
        }
    }

    /// What an instruction that is not of the memory pipeline leaves to be waited for.
    fn issue_other(&mut self, q: usize, slot: u32, cost: &Cost, start: u64) {
        let now = self.now;
        let Some(warp) = &mut self.warps[slot as usize] else { return };
        if cost.has_request {
            warp.next_request();
        }
        match cost.effect {
            Effect::EndCopies => return warp.end_copies(cost.write_scoreboard.or(cost.read_scoreboard), now),
            Effect::Product { commits } => warp.add_product(start + u64::from(cost.cycles), commits),
            Effect::Sleep { nanoseconds, at_mbarrier } => {
                warp.sleep(now, u64::from(nanoseconds) * u64::from(self.chip.clock_mhz) / 1000, at_mbarrier);
            }
            Effect::TensorProduct(product) => {
                let shape = warp.next_shape();
                self.tensor.begin(now, self.chip.tensor_product_cycles(product, shape));
            }
            Effect::TensorCopy(cycles) => self.tensor.begin(now, cycles),
            _ => {}
        }
        let mut done = start + u64::from(cost.latency);
        if let Effect::TensorAccess { registers, stores } = cost.effect {
            done = self.tensor.access(q, now, registers, stores);
        }
        let read = now + u64::from(cost.read_latency);
        warp.set_scoreboards(cost, Some(done), read, false);
        if let Some(ConstantUse::Load { part }) = cost.constant {
            self.read_constants(slot, cost.write_scoreboard, &[part]);
        }
    }

    /// The barrier of a cluster is complete; the warps of its blocks may go on at `release`.
    pub(crate) fn release_cluster(&mut self, cluster: usize, release: u64) {
        for block in 0..self.blocks.len() {
            if let Some(Some(resident)) = self.blocks.get_mut(block)
                && resident.member.cluster == cluster
            {
                resident.barriers.release_cluster(release);
                self.release(block);
            }
        }
    }

    /// A barrier of a block is complete: its warps look again.
    fn release(&mut self, block: usize) {
        let Some(Some(resident)) = self.blocks.get(block) else { return };
        for slot in resident.slots.clone() {
            let warp = self.warps[slot as usize].as_ref();
            if warp.is_some_and(|warp| warp.looks_again() && warp.block == block) {
                self.prepare(slot);
            }
        }
    }

    /// A warp has issued its last instruction.
    fn finish(&mut self, q: usize, at: usize, slot: u32, block: usize) {
        let end = self.now + 1;
        self.count_residence(end);
        self.resident -= 1;
        // Arrivals that wait for its copies come now.
        let left = self.warps[slot as usize].take().map(|mut warp| warp.copies.left().collect::<Vec<_>>());
        for phase in left.into_iter().flatten() {
            self.arrive(block, phase, end);
        }
        self.quarters[q].slots.remove(at);
        self.quarters[q].ready.remove(at);
        if let Some(Some(resident)) = self.blocks.get_mut(block) {
            resident.left -= 1;
            resident.slots.retain(|known| *known != slot);
            if resident.left == 0 {
                self.blocks[block] = None;
                self.counts.end = self.counts.end.max(end);
            }
        }
    }

    /// What was counted, with the figures of the first-level cache.
    pub(crate) fn into_counts(mut self) -> SmCounts {
        self.counts.l1_sectors = self.lsu.asked;
        self.counts.l1_hits = self.lsu.hits;
        self.counts.unfinished = self.warps.iter().flatten().count() as u64;
        self.counts
    }

    /// Counts the cycles up to `now` for the warps that are there.
    fn count_residence(&mut self, now: u64) {
        let cycles = now.saturating_sub(self.since);
        self.counts.warp_cycles += cycles * self.resident;
        self.counts.busy_cycles += if self.resident > 0 { cycles } else { 0 };
        self.since = self.since.max(now);
    }
}
