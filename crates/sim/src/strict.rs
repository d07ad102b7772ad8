//! Strict simulation: every register is read and written only when the control words say that it may.
//!
//! A warp's instructions issue at the distances that their stall counts give; nothing else takes
//! time, so that what is missed here can be missed on hardware. Registers written by instructions of
//! fixed latency are ready after the distance of the latency tables; those of variable latency after
//! a wait for their scoreboard, or for a later instruction of the same in-order queue. Sources of
//! variable-latency instructions may be overwritten after a wait for the read scoreboard (or the
//! write scoreboard, which is later).
//!
//! Diverged groups have clocks of their own; what one group wrote is checked for the threads that
//! wrote it only.

use crate::queue::{self, QUEUES};
use crate::state::Mask;
use oriole_device::Hazard;
use oriole_isa::latency::{self, SET_TO_WAIT, Slot};
use oriole_isa::{Arch, Control, Effects, Inst, Opcode, RegFile, Value};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Scoreboards of a warp.
const SCOREBOARDS: usize = 6;
/// No distance of the tables is longer than this many cycles.
const LONGEST: u64 = 64;

/// A register of one of the four checked files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Register {
    file: RegFile,
    number: u16,
}

/// The distance looked up last for a pair of instructions: loops meet the same pairs again.
#[derive(Debug, Default)]
struct Memo(AtomicU64);

impl Memo {
    /// The distance after `event`, found by `look_up` where it is not the last one asked for.
    fn distance(&self, event: &Event, look_up: impl FnOnce() -> u8) -> u8 {
        let place = match event.slot {
            Slot::Guard => 0,
            Slot::Operand { index, register } => (u64::from(index) + 1) << 4 | u64::from(register & 15),
        };
        // Code addresses have fewer than 40 bits, operands of an instruction fewer than 15.
        let key = event.pc << 24 | (place & 0xff) << 16 | 1 << 8;
        let known = self.0.load(Relaxed);
        if known & !0xff == key {
            return known as u8;
        }
        let distance = look_up();
        self.0.store(key | u64::from(distance), Relaxed);
        distance
    }
}

/// One register that an instruction reads or writes.
#[derive(Debug)]
struct Touch {
    /// The distance to the last writer.
    after_write: Memo,
    /// To the last reader, for writes.
    after_read: Memo,
    register: Register,
    /// Where the instruction names it.
    slot: Slot,
}

/// What an instruction reads and writes, worked out once.
#[derive(Debug)]
pub(crate) struct Touches {
    reads: Vec<Touch>,
    writes: Vec<Touch>,
    /// The highest `R` number used.
    pub(crate) highest: Option<u16>,
    is_variable: bool,
    reads_late: bool,
    queue: Option<usize>,
    /// Those that read their sources in order.
    read_order: Option<usize>,
    /// What `DEPBAR` waits for: scoreboard and operations that may be left.
    waits: Vec<(usize, u64)>,
}

/// Where in the warp's history something was done.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// Code address of the instruction.
    pc: u64,
    /// Cycle of its issue.
    cycle: u64,
    /// Threads that it was done for.
    mask: Mask,
    /// Where the instruction names the register.
    slot: Slot,
    /// How it ends, if it is of variable latency.
    release: Option<Release>,
}

/// What tells that an instruction of variable latency is done with a register.
#[derive(Clone, Copy, Debug, Default)]
struct Release {
    /// Its write scoreboard and the place in that scoreboard's order.
    write: Option<(usize, u64)>,
    /// The same of its read scoreboard; `None` for results.
    read: Option<(usize, u64)>,
    /// Its queue and the place in that queue; of a result.
    queue: Option<(usize, u64)>,
    /// The same among those that read their sources in order; of a source.
    read_order: Option<(usize, u64)>,
}

/// Order of what happened on one scoreboard.
#[derive(Clone, Copy, Debug, Default)]
struct Scoreboard {
    /// Instructions that have set it.
    set: u64,
    /// How many of them, from the first, are known to be done.
    done: u64,
    /// Cycle of the last one, and the threads that executed it.
    last: u64,
    last_group: Mask,
    /// The last place in each queue among those that set it when the result is there.
    queues: [u64; QUEUES],
    /// The same in each order of reads, whenever they set it.
    reads: [u64; queue::READ_ORDERS],
}

/// What strict simulation knows of one warp.
pub(crate) struct Hazards {
    arch: Arch,
    writes: [Vec<Option<Event>>; 4],
    reads: [Vec<Option<Event>>; 4],
    scoreboards: [Scoreboard; SCOREBOARDS],
    /// Instructions that entered each queue, and how many are known to have left it.
    queues: [(u64, u64); QUEUES],
    /// The same for those that read their sources in order.
    read_orders: [(u64, u64); queue::READ_ORDERS],
}

/// An instruction that is about to issue.
pub(crate) struct Issue<'i> {
    /// The instruction.
    pub(crate) inst: &'i Inst,
    /// What it touches.
    pub(crate) touches: &'i Touches,
    /// Its code address.
    pub(crate) pc: u64,
    /// Cycle of its group.
    pub(crate) cycle: u64,
    /// Threads of its group.
    pub(crate) group: Mask,
    /// Threads that its guard lets through.
    pub(crate) active: Mask,
}

fn file_index(file: RegFile) -> Option<usize> {
    match file {
        RegFile::R => Some(0),
        RegFile::UR => Some(1),
        RegFile::P => Some(2),
        RegFile::UP => Some(3),
        RegFile::B | RegFile::SB => None,
    }
}

impl Register {
    /// The register as it is printed.
    pub(crate) fn name(self) -> String {
        let file = match self.file {
            RegFile::R => "R",
            RegFile::UR => "UR",
            RegFile::P => "P",
            RegFile::UP => "UP",
            RegFile::B => "B",
            RegFile::SB => "SB",
        };
        format!("{file}{}", self.number)
    }
}

impl Touches {
    /// What `inst` reads and writes.
    pub(crate) fn of(inst: &Inst, arch: Arch) -> Touches {
        let mut touches = Touches {
            reads: Vec::new(),
            writes: Vec::new(),
            highest: None,
            is_variable: latency::is_variable(inst, arch),
            reads_late: latency::reads_late(inst, arch),
            queue: latency::queue(inst, arch).map(queue::index),
            read_order: queue::read_order(inst, arch),
            waits: queue::depbar(inst),
        };
        let guard_file = if inst.opcode.info().guard_uniform { RegFile::UP } else { RegFile::P };
        touches.add(Register { file: guard_file, number: u16::from(inst.guard.predicate) }, Slot::Guard, false);
        for (at, spec) in inst.opcode.signature().iter().enumerate() {
            let (file, number, width) = match inst.operands.get(at).map(|operand| operand.value) {
                Some(Value::Reg(file, number)) => (file, number, inst.width(at)),
                Some(Value::ConstBindless { ureg, .. }) => (RegFile::UR, ureg, 2),
                _ => continue,
            };
            if file.zero() == Some(number) {
                continue;
            }
            for part in 0..width {
                let slot = Slot::Operand { index: at as u8, register: part };
                touches.add(Register { file, number: number + u16::from(part) }, slot, spec.is_def);
            }
        }
        let packed = queue::packed_predicates(inst);
        let writes = inst.opcode == Opcode::R2P;
        let slot = if writes { Slot::Guard } else { Slot::Operand { index: 0, register: 0 } };
        for number in (0..7).filter(|number| packed >> number & 1 != 0) {
            touches.add(Register { file: RegFile::P, number }, slot, writes);
        }
        touches
    }

    fn add(&mut self, register: Register, slot: Slot, is_def: bool) {
        if file_index(register.file).is_none() || register.file.zero() == Some(register.number) {
            return;
        }
        if register.file == RegFile::R {
            self.highest = self.highest.max(Some(register.number));
        }
        let touch = Touch { after_write: Memo::default(), after_read: Memo::default(), register, slot };
        if is_def { self.writes.push(touch) } else { self.reads.push(touch) }
    }
}

impl Hazards {
    /// A warp that has executed nothing.
    pub(crate) fn new(arch: Arch) -> Self {
        let sizes = [256, 256, 8, 8];
        Hazards {
            arch,
            writes: sizes.map(|size| vec![None; size]),
            reads: sizes.map(|size| vec![None; size]),
            scoreboards: Default::default(),
            queues: Default::default(),
            read_orders: Default::default(),
        }
    }

    /// Checks an instruction that issues now, and remembers what it does. `inst_at` gives the
    /// instruction at a code address.
    pub(crate) fn issue<'p>(
        &mut self,
        issue: &Issue<'_>,
        inst_at: impl Fn(u64) -> Option<&'p Inst>,
    ) -> Result<(), Hazard> {
        self.wait(issue)?;
        self.check_reads(issue, &inst_at)?;
        if issue.active != 0 {
            self.check_writes(issue, &inst_at)?;
        }
        self.record(issue);
        Ok(())
    }

    /// The wait mask and `DEPBAR`.
    fn wait(&mut self, issue: &Issue<'_>) -> Result<(), Hazard> {
        for at in 0..SCOREBOARDS {
            if issue.inst.control.wait_mask >> at & 1 == 0 {
                continue;
            }
            let scoreboard = &mut self.scoreboards[at];
            let since = issue.cycle.saturating_sub(scoreboard.last);
            if scoreboard.last_group & issue.group != 0
                && scoreboard.set > scoreboard.done
                && since < u64::from(SET_TO_WAIT)
            {
                return Err(Hazard {
                    kind: "wait",
                    register: format!("SB{at}"),
                    earlier: "the instruction that sets the scoreboard".into(),
                    missing_cycles: (u64::from(SET_TO_WAIT) - since) as u32,
                    remedy: "a scoreboard can be waited for from the second cycle on".into(),
                });
            }
            self.clear(at);
        }
        for &(at, left) in &issue.touches.waits {
            if left == 0 && at < SCOREBOARDS {
                self.clear(at);
            } else if let Some(scoreboard) = self.scoreboards.get_mut(at) {
                scoreboard.done = scoreboard.done.max(scoreboard.set.saturating_sub(left));
            }
        }
        Ok(())
    }

    /// All that have set a scoreboard are done, and so is what comes before them in their queues.
    fn clear(&mut self, at: usize) {
        let scoreboard = &mut self.scoreboards[at];
        scoreboard.done = scoreboard.set;
        for (queue, place) in self.queues.iter_mut().zip(scoreboard.queues) {
            queue.1 = queue.1.max(place);
        }
        for (order, place) in self.read_orders.iter_mut().zip(scoreboard.reads) {
            order.1 = order.1.max(place);
        }
    }

    fn is_released(&self, release: &Release) -> bool {
        let done = |at: Option<(usize, u64)>| at.is_some_and(|(at, place)| self.scoreboards[at].done >= place);
        let left = release.queue.is_some_and(|(queue, place)| self.queues[queue].1 >= place);
        let read = release.read_order.is_some_and(|(order, place)| self.read_orders[order].1 >= place);
        done(release.write) || done(release.read) || left || read
    }

    fn check_reads<'p>(&self, issue: &Issue<'_>, inst_at: &impl Fn(u64) -> Option<&'p Inst>) -> Result<(), Hazard> {
        for touch in &issue.touches.reads {
            let mask = if touch.slot == Slot::Guard { issue.group } else { issue.active };
            let Some(event) = self.event(&self.writes, touch.register, mask) else { continue };
            let Some(earlier) = self.suspect(event, issue, inst_at) else { continue };
            let look_up = || latency::raw(earlier, event.slot, issue.inst, touch.slot, self.arch);
            let needed = touch.after_write.distance(event, look_up);
            self.judge("read after write", issue, touch, event, earlier, needed)?;
        }
        Ok(())
    }

    fn check_writes<'p>(&self, issue: &Issue<'_>, inst_at: &impl Fn(u64) -> Option<&'p Inst>) -> Result<(), Hazard> {
        for touch in &issue.touches.writes {
            if let Some(event) = self.event(&self.writes, touch.register, issue.active)
                && let Some(earlier) = self.suspect(event, issue, inst_at)
                && !same_queue(event, issue.touches)
            {
                let look_up = || latency::waw(earlier, event.slot, issue.inst, self.arch);
                let needed = touch.after_write.distance(event, look_up);
                self.judge("write after write", issue, touch, event, earlier, needed)?;
            }
            if let Some(event) = self.event(&self.reads, touch.register, issue.active)
                && let Some(earlier) = self.suspect(event, issue, inst_at)
                && !(event.release.and_then(|release| release.read_order).map(|(order, _)| order)
                    == issue.touches.read_order
                    && issue.touches.read_order.is_some())
            {
                let look_up = || self.after_read(earlier, event.slot, issue.inst);
                let needed = touch.after_read.distance(event, look_up);
                self.judge("write after read", issue, touch, event, earlier, needed)?;
            }
        }
        Ok(())
    }

    /// Cycles from `reader` to `writer` of the register that `reader` names in `slot`.
    fn after_read(&self, reader: &Inst, slot: Slot, writer: &Inst) -> u8 {
        let info = reader.opcode.info();
        match info.effects.contains(Effects::BRANCH) || info.pipe == "barrier" {
            // What comes after a branch or barrier issues when it has decided.
            true => 1,
            false => latency::war(reader, slot, writer, self.arch),
        }
    }

    fn event<'e>(&self, events: &'e [Vec<Option<Event>>; 4], register: Register, mask: Mask) -> Option<&'e Event> {
        let event = events[file_index(register.file)?].get(usize::from(register.number))?.as_ref()?;
        (event.mask & mask != 0).then_some(event)
    }

    /// The instruction of an event that may still matter.
    fn suspect<'p>(
        &self,
        event: &Event,
        issue: &Issue<'_>,
        inst_at: &impl Fn(u64) -> Option<&'p Inst>,
    ) -> Option<&'p Inst> {
        let open = match &event.release {
            Some(release) => !self.is_released(release),
            None => issue.cycle.saturating_sub(event.cycle) < LONGEST,
        };
        open.then(|| inst_at(event.pc)).flatten()
    }

    fn judge(
        &self,
        kind: &'static str,
        issue: &Issue<'_>,
        touch: &Touch,
        event: &Event,
        earlier: &Inst,
        needed: u8,
    ) -> Result<(), Hazard> {
        let (missing_cycles, remedy) = match &event.release {
            Some(release) => (0, remedy(kind, release)),
            None => {
                let distance = issue.cycle.saturating_sub(event.cycle);
                let missing = u64::from(needed).saturating_sub(distance);
                if missing == 0 {
                    return Ok(());
                }
                (missing as u32, format!("{distance} cycles after it, where {needed} are needed"))
            }
        };
        let earlier = format!("{} at code address {:#x}", earlier.display(self.arch), event.pc);
        Err(Hazard { kind, register: touch.register.name(), earlier, missing_cycles, remedy })
    }

    /// Remembers the reads, writes and scoreboards of an instruction.
    fn record(&mut self, issue: &Issue<'_>) {
        let control = &issue.inst.control;
        let enter = |counts: &mut [(u64, u64)], at: Option<usize>| {
            let at = at.filter(|_| issue.touches.is_variable)?;
            counts[at].0 += 1;
            Some((at, counts[at].0))
        };
        let queue = enter(&mut self.queues, issue.touches.queue);
        let read_order = enter(&mut self.read_orders, issue.touches.read_order);
        let write = self.set_scoreboard(control.write_scoreboard, issue, queue, read_order);
        let read = self.set_scoreboard(control.read_scoreboard, issue, None, read_order);
        if issue.active == 0 {
            return;
        }
        let event = |touch: &Touch, release: Option<Release>| Event {
            pc: issue.pc,
            cycle: issue.cycle,
            mask: issue.active,
            slot: touch.slot,
            release,
        };
        let variable = issue.touches.is_variable;
        for touch in &issue.touches.reads {
            // Guards, predicates and uniform registers are free at once; so are the sources of
            // fixed-latency instructions, apart from the distances of the table.
            let held = issue.touches.reads_late && touch.register.file == RegFile::R;
            let release = held.then_some(Release { write, read, queue, read_order });
            self.put(false, touch, event(touch, release));
        }
        for touch in &issue.touches.writes {
            let early = queue::is_early(issue.inst, touch.register.file);
            let read = read.filter(|_| early);
            let release = variable.then_some(Release { write, read, queue, read_order: None });
            self.put(true, touch, event(touch, release));
        }
    }

    fn set_scoreboard(
        &mut self,
        number: u8,
        issue: &Issue<'_>,
        queue: Option<(usize, u64)>,
        read_order: Option<(usize, u64)>,
    ) -> Option<(usize, u64)> {
        if number == Control::NO_SCOREBOARD {
            return None;
        }
        let at = usize::from(number);
        let scoreboard = self.scoreboards.get_mut(at)?;
        scoreboard.set += 1;
        scoreboard.last = issue.cycle;
        scoreboard.last_group = issue.group;
        if let Some((queue, place)) = queue {
            scoreboard.queues[queue] = place;
        }
        if let Some((order, place)) = read_order {
            scoreboard.reads[order] = place;
        }
        Some((at, scoreboard.set))
    }

    fn put(&mut self, is_write: bool, touch: &Touch, event: Event) {
        let Some(file) = file_index(touch.register.file) else { return };
        let number = usize::from(touch.register.number);
        if is_write {
            if let Some(slot) = self.writes[file].get_mut(number) {
                *slot = Some(event);
            }
            if let Some(slot) = self.reads[file].get_mut(number) {
                *slot = None;
            }
        } else if let Some(slot) = self.reads[file].get_mut(number) {
            // A read that is still held counts more than a later one that is not.
            let keeps = slot.as_ref().is_some_and(|old| old.release.is_some());
            if event.release.is_some() || !keeps {
                *slot = Some(event);
            }
        }
    }
}

/// Whether an instruction comes after the event in the same in-order queue.
fn same_queue(event: &Event, touches: &Touches) -> bool {
    let queue = event.release.and_then(|release| release.queue).map(|(queue, _)| queue);
    queue.is_some() && queue == touches.queue
}

fn remedy(kind: &str, release: &Release) -> String {
    let scoreboard = if kind == "write after read" { release.read.or(release.write) } else { release.write };
    match scoreboard {
        Some((at, _)) => format!("it needs a wait for scoreboard SB{at}"),
        None => "the earlier instruction sets no scoreboard to wait for".into(),
    }
}
