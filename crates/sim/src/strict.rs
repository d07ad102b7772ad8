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

use crate::lanes::Mask;
use crate::old_values::Early;
use oriole_device::Hazard;
use oriole_isa::access::{self, GSB, Order, Register, SCOREBOARDS, Touches};
use oriole_isa::latency::{self, SET_TO_WAIT, Slot};
use oriole_isa::{Arch, Inst, KEPT_REGISTERS, RegFile, Slip};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// No distance of the tables is longer than this many cycles.
const LONGEST: u64 = 64;

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

/// What an instruction reads and writes, worked out once, with the distances last looked up.
#[derive(Debug)]
pub(crate) struct Watch {
    touches: Touches,
    /// The highest general register.
    highest: Option<u16>,
    reads: Vec<Memo>,
    /// To the last writer and to the last reader.
    writes: Vec<[Memo; 2]>,
    /// What is wrong with the control word itself, if anything.
    slip: OnceLock<Option<Slip>>,
    /// It comes too early for a slow unit.
    early: Option<Box<Hazard>>,
}

impl Watch {
    /// That of `inst`.
    pub(crate) fn of(inst: &Inst, arch: Arch) -> Watch {
        let touches = Touches::of(inst, arch);
        let reads = touches.reads.iter().map(|_| Memo::default()).collect();
        let writes = touches.writes.iter().map(|_| <[Memo; 2]>::default()).collect();
        Watch { highest: touches.highest(RegFile::R), touches, reads, writes, slip: OnceLock::new(), early: None }
    }

    /// What it touches.
    pub(crate) fn touches(&self) -> &Touches {
        &self.touches
    }

    /// See [`crate::slow_units`].
    pub(crate) fn early(&self) -> Option<&Hazard> {
        self.early.as_deref()
    }

    /// It comes too early for a slow unit.
    pub(crate) fn put_early(&mut self, hazard: Hazard) {
        self.early = Some(Box::new(hazard));
    }

    /// What the control word of `inst` lacks by itself, if these stand behind it.
    pub(crate) fn slip<'a>(
        &self,
        inst: &Inst,
        following: impl Iterator<Item = &'a Inst> + Clone,
        arch: Arch,
    ) -> Option<Hazard> {
        let slip = self.slip.get_or_init(|| Slip::of(inst, following, arch)).as_ref()?;
        let (missing_cycles, register) = match slip {
            Slip::Stall { passed, needed } => (u32::from(needed - passed), String::new()),
            Slip::Stale { register } | Slip::Outdated { register, .. } | Slip::Carried { register, .. } => {
                (0, format!("R{register}"))
            }
            Slip::Uncounted => (0, "shared memory".to_owned()),
        };
        let earlier = inst.display(arch).to_string();
        Some(Hazard { kind: "control word", register, earlier, missing_cycles, remedy: slip.to_string() })
    }

    /// The registers that it reads.
    pub(crate) fn reads(&self) -> impl Iterator<Item = Register> + '_ {
        self.touches.reads.iter().map(|touch| touch.register)
    }

    /// The registers that it writes.
    pub(crate) fn writes(&self) -> impl Iterator<Item = Register> + '_ {
        self.touches.writes.iter().map(|touch| touch.register)
    }

    /// A register beyond those that the instructions of a kernel with `declared` general registers may name.
    pub(crate) fn undeclared(&self, declared: u32) -> Option<String> {
        let highest = self.highest.filter(|highest| u32::from(*highest) + KEPT_REGISTERS >= declared)?;
        Some(format!("R{highest}"))
    }
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
    /// How it ends, if no number of cycles says so.
    release: Option<Release>,
}

/// What tells that an instruction is done with a register, where no number of cycles does.
#[derive(Clone, Copy, Debug, Default)]
struct Release {
    /// Scoreboards that say so, each with the place of the instruction in its order.
    scoreboards: [Option<(usize, u64)>; 2],
    /// An order that says so, and the place in it.
    order: Option<(usize, u64)>,
    /// The next barrier of the block says so: how many there have been.
    barrier: Option<u64>,
}

/// How far back a wait that leaves some instructions pending may look: it says how many in 6 bits.
const RECENT: usize = 64;

/// Order of what happened on one scoreboard.
#[derive(Clone, Debug, Default)]
struct Scoreboard {
    /// Instructions that have set it.
    set: u64,
    /// How many of them, from the first, are known to be done.
    done: u64,
    /// Cycle of the last one, and the threads that executed it.
    last: u64,
    last_group: Mask,
    /// The last place in each order among those that set it when they are done with what the order is of.
    orders: [u64; Order::COUNT],
    /// What `orders` was after each of the last [`RECENT`] settings, by the setting's number modulo their count.
    recent: Vec<[u64; Order::COUNT]>,
}

impl Scoreboard {
    /// One more instruction has set it.
    fn count(&mut self) {
        self.set += 1;
        self.recent.resize(RECENT, [0; Order::COUNT]);
        self.recent[self.set as usize % RECENT] = self.orders;
    }
}

/// What strict simulation knows of one warp.
pub(crate) struct Hazards {
    arch: Arch,
    writes: Vec<Option<Event>>,
    reads: Vec<Option<Event>>,
    scoreboards: [Scoreboard; SCOREBOARDS],
    /// Instructions that entered each order, and how many are known to be done.
    orders: [(u64, u64); Order::COUNT],
    /// Barriers of the block.
    barriers: u64,
    /// What the instruction at hand does too early, if that is no fault.
    early: Option<Vec<Early>>,
}

/// An instruction that is about to issue.
pub(crate) struct Issue<'i> {
    /// The instruction.
    pub(crate) inst: &'i Inst,
    /// What it touches.
    pub(crate) watch: &'i Watch,
    /// Its code address.
    pub(crate) pc: u64,
    /// Cycle of its group.
    pub(crate) cycle: u64,
    /// Threads of its group.
    pub(crate) group: Mask,
    /// Threads that its guard lets through.
    pub(crate) active: Mask,
}

impl Hazards {
    /// A warp that has executed nothing.
    /// `old_values`: what is too early is noted, and is no fault.
    pub(crate) fn new(arch: Arch, old_values: bool) -> Self {
        Hazards {
            arch,
            writes: vec![None; Register::COUNT],
            reads: vec![None; Register::COUNT],
            scoreboards: Default::default(),
            orders: [(0, 0); Order::COUNT],
            barriers: 0,
            early: old_values.then(Vec::new),
        }
    }

    /// Checks an instruction that issues now, and remembers what it does. `inst_at` gives the
    /// instruction at a code address.
    pub(crate) fn issue<'p>(
        &mut self,
        issue: &Issue<'_>,
        inst_at: impl Fn(u64) -> Option<&'p Inst>,
    ) -> Result<(), Hazard> {
        let mut early = self.early.take();
        early.iter_mut().for_each(Vec::clear);
        self.wait(issue, early.is_some())?;
        self.check_reads(issue, &inst_at, &mut early)?;
        if issue.active != 0 {
            self.check_writes(issue, &inst_at, &mut early)?;
        }
        self.early = early;
        self.record(issue);
        Ok(())
    }

    /// What the last instruction did too early, where that is no fault.
    pub(crate) fn early(&self) -> &[Early] {
        self.early.as_deref().unwrap_or_default()
    }

    /// The setting of a scoreboard that the last instruction was.
    pub(crate) fn setting(&self, scoreboard: u8) -> Option<(u8, u64)> {
        self.scoreboards.get(usize::from(scoreboard)).map(|of| (scoreboard, of.set))
    }

    /// Whether a setting of a scoreboard is known to be done.
    pub(crate) fn is_done(&self, (scoreboard, setting): (u8, u64)) -> bool {
        self.scoreboards.get(usize::from(scoreboard)).is_some_and(|of| of.done >= setting)
    }

    /// What the instruction waits for.
    fn wait(&mut self, issue: &Issue<'_>, overlooks: bool) -> Result<(), Hazard> {
        for wait in &issue.watch.touches.waits {
            let at = usize::from(wait.scoreboard);
            let scoreboard = &mut self.scoreboards[at];
            let since = issue.cycle.saturating_sub(scoreboard.last);
            let pending = scoreboard.last_group & issue.group != 0 && scoreboard.set > scoreboard.done;
            if pending && wait.in_control && since < u64::from(SET_TO_WAIT) {
                if overlooks {
                    continue;
                }
                return Err(Hazard {
                    kind: "wait",
                    register: format!("SB{at}"),
                    earlier: "the instruction that sets the scoreboard".into(),
                    missing_cycles: (u64::from(SET_TO_WAIT) - since) as u32,
                    remedy: "a scoreboard can be waited for from the second cycle on".into(),
                });
            }
            self.leave(at, wait.left.into());
        }
        Ok(())
    }

    /// All but the last `left` that have set a scoreboard are done, and so is what comes before them in their orders.
    fn leave(&mut self, at: usize, left: u64) {
        let scoreboard = &mut self.scoreboards[at];
        let done = scoreboard.set.saturating_sub(left);
        if done <= scoreboard.done {
            return;
        }
        scoreboard.done = done;
        if let Some(places) = scoreboard.recent.get(done as usize % RECENT).filter(|_| left < RECENT as u64) {
            for (order, place) in self.orders.iter_mut().zip(places) {
                order.1 = order.1.max(*place);
            }
        }
    }

    fn is_released(&self, release: &Release) -> bool {
        let is_done = |&(at, place): &(usize, u64)| self.scoreboards[at].done >= place;
        release.scoreboards.iter().flatten().any(is_done)
            || release.order.is_some_and(|(order, place)| self.orders[order].1 >= place)
            || release.barrier.is_some_and(|barriers| self.barriers > barriers)
    }

    fn check_reads<'p>(
        &self,
        issue: &Issue<'_>,
        inst_at: &impl Fn(u64) -> Option<&'p Inst>,
        early: &mut Option<Vec<Early>>,
    ) -> Result<(), Hazard> {
        for (touch, memo) in issue.watch.touches.reads.iter().zip(&issue.watch.reads) {
            let mask = if touch.slot == Slot::Guard { issue.group } else { issue.active };
            let Some(event) = event(&self.writes, touch, mask) else { continue };
            let Some(earlier) = self.suspect(event, issue, inst_at) else { continue };
            let look_up = || latency::raw_at_least(earlier, event.slot, issue.inst, touch.slot, self.arch);
            let needed = memo.distance(event, look_up);
            let found = self.judge("read after write", issue, touch.register, event, earlier, needed);
            let threads = event.mask & mask;
            put_up(early, Early { register: touch.register, threads, writes: false }, found)?;
        }
        Ok(())
    }

    fn check_writes<'p>(
        &self,
        issue: &Issue<'_>,
        inst_at: &impl Fn(u64) -> Option<&'p Inst>,
        early: &mut Option<Vec<Early>>,
    ) -> Result<(), Hazard> {
        for (touch, [after_write, after_read]) in issue.watch.touches.writes.iter().zip(&issue.watch.writes) {
            if let Some(event) = event(&self.writes, touch, issue.active)
                && let Some(earlier) = self.suspect(event, issue, inst_at)
            {
                let needed =
                    after_write.distance(event, || latency::waw_at_least(earlier, event.slot, issue.inst, self.arch));
                let found = self.judge("write after write", issue, touch.register, event, earlier, needed);
                let threads = event.mask & issue.active;
                put_up(early, Early { register: touch.register, threads, writes: true }, found)?;
            }
            if let Some(event) = event(&self.reads, touch, issue.active)
                && let Some(earlier) = self.suspect(event, issue, inst_at)
            {
                let needed =
                    after_read.distance(event, || latency::war_at_least(earlier, event.slot, issue.inst, self.arch));
                self.judge("write after read", issue, touch.register, event, earlier, needed)?;
            }
        }
        Ok(())
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
        register: Register,
        event: &Event,
        earlier: &Inst,
        needed: u8,
    ) -> Result<(), Hazard> {
        let (missing_cycles, remedy) = match &event.release {
            Some(release) => (0, remedy(release)),
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
        Err(Hazard { kind, register: register.to_string(), earlier, missing_cycles, remedy })
    }

    /// Remembers the reads, writes and scoreboards of an instruction.
    fn record(&mut self, issue: &Issue<'_>) {
        let touches = &issue.watch.touches;
        let mut enter = |order: Option<Order>| {
            let at = order?.index();
            self.orders[at].0 += 1;
            Some((at, self.orders[at].0))
        };
        let (results, sources) = (enter(touches.results), enter(touches.sources));
        let [write, read] = touches.sets;
        self.set(write, issue, results);
        self.set(write, issue, sources);
        self.set(read, issue, sources);
        for scoreboard in [write, read.filter(|read| Some(*read) != write)].into_iter().flatten() {
            self.scoreboards[usize::from(scoreboard)].count();
        }
        if issue.active == 0 {
            return;
        }
        self.barriers += u64::from(touches.is_barrier);
        for touch in &touches.reads {
            let event = self.event(issue, touch);
            put_read(&mut self.reads[touch.register.index()], event);
        }
        for touch in &touches.writes {
            let at = touch.register.index();
            self.writes[at] = Some(self.event(issue, touch));
            self.reads[at] = None;
        }
    }

    fn event(&self, issue: &Issue<'_>, touch: &access::Touch) -> Event {
        let release = touch.held.as_ref().map(|held| {
            let counted = held.counted.map(usize::from);
            let other = (0..SCOREBOARDS).find(|at| held.scoreboards >> at & 1 != 0 && Some(*at) != counted);
            let place = |at: usize| (at, self.scoreboards[at].set);
            let is_product = held.order == Some(Order::Products);
            let first = if is_product { Some(self.product_place(issue)) } else { counted.map(place) };
            // What ends an order that the instruction has no place in is still to come.
            let touches = &issue.watch.touches;
            let is_in = |order: Order| [touches.results, touches.sources].contains(&Some(order));
            let end = |order: Order| (order.index(), self.orders[order.index()].0 + u64::from(!is_in(order)));
            let barrier = held.ends_at_barrier.then_some(self.barriers);
            Release { scoreboards: [first, other.map(place)], order: held.order.map(end), barrier }
        });
        Event { pc: issue.pc, cycle: issue.cycle, mask: issue.active, slot: touch.slot, release }
    }

    /// A product that ends no group is done when the next that does is.
    fn product_place(&self, issue: &Issue<'_>) -> (usize, u64) {
        let commits = issue.watch.touches.sets.contains(&Some(GSB));
        (usize::from(GSB), self.scoreboards[usize::from(GSB)].set + u64::from(!commits))
    }

    /// A scoreboard is set by an instruction that has a place in an order.
    fn set(&mut self, number: Option<u8>, issue: &Issue<'_>, order: Option<(usize, u64)>) {
        let Some(scoreboard) = number.and_then(|number| self.scoreboards.get_mut(usize::from(number))) else { return };
        scoreboard.last = issue.cycle;
        scoreboard.last_group = issue.group;
        if let Some((order, place)) = order {
            scoreboard.orders[order] = place;
        }
    }
}

/// Notes what is done too early, where that is wanted, instead of a fault.
fn put_up(early: &mut Option<Vec<Early>>, what: Early, found: Result<(), Hazard>) -> Result<(), Hazard> {
    match early {
        Some(list) => {
            list.extend(found.is_err().then_some(what));
            Ok(())
        }
        None => found,
    }
}

/// What happened to the register of `touch` last, if it concerns the threads of `mask` and this one does not
/// come after it anyway.
fn event<'e>(events: &'e [Option<Event>], touch: &access::Touch, mask: Mask) -> Option<&'e Event> {
    let event = events.get(touch.register.index())?.as_ref()?;
    let order = event.release.and_then(|release| release.order);
    let is_behind = order.is_some_and(|(order, _)| touch.behind >> order & 1 != 0);
    (event.mask & mask != 0 && !is_behind).then_some(event)
}

/// A read that is still held counts more than a later one that is not.
fn put_read(slot: &mut Option<Event>, event: Event) {
    let keeps = slot.as_ref().is_some_and(|old| old.release.is_some());
    if event.release.is_some() || !keeps {
        *slot = Some(event);
    }
}

fn remedy(release: &Release) -> String {
    match release.scoreboards.iter().flatten().next() {
        Some(&(at, _)) if at == usize::from(GSB) => "it needs a wait by WARPGROUP.DEPBAR".into(),
        Some((at, _)) => format!("it needs a wait for scoreboard SB{at}"),
        None => "the earlier instruction sets no scoreboard to wait for".into(),
    }
}
