//! The memory pipeline of a multiprocessor: queues of its quarters, the load/store unit, the first-level cache.

use crate::timing::cache::Cache;
use crate::timing::code::Cost;
use crate::timing::copy_unit::CopyUnit;
use crate::timing::memory::{Ask, Message};
use crate::timing::request::{Request, Transfer, line_number, sectors};
use oriole_isa::chip::{Chip, LINE, MemoryPipe, SHARED_BYTES};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Ways of a set of the first-level cache: as the second level's.
const WAYS: usize = 16;
/// Cycles from issue until an instruction can leave its quarter (Huerta et al.: two stages).
const TO_QUEUE: u64 = 2;
/// Cycles that the second level may be behind with a multiprocessor's stores before that stops.
const STORE_BACKLOG: u64 = 4096;

/// Who waits for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter {
    /// Slot of the warp.
    pub(crate) slot: u32,
    /// Which warp it was.
    pub(crate) epoch: u32,
    /// Its scoreboard.
    pub(crate) scoreboard: Option<u8>,
    /// The number of the copy to shared memory that it is.
    pub(crate) copy: Option<u32>,
    /// Number of the delivery that tells mbarriers of the bytes; this may outlive the warp.
    pub(crate) delivery: Option<u32>,
}

/// A load that waits for sectors.
#[derive(Clone, Copy, Debug)]
struct Load {
    waiter: Waiter,
    left: u32,
    time: u64,
    /// Cycles after the last sector.
    tail: u64,
}

/// Sectors on their way.
#[derive(Clone, Debug)]
struct Fill {
    line: u64,
    sectors: u8,
    is_cached: bool,
    loads: SmallVec<[u32; 2]>,
}

/// What became of an instruction.
pub(crate) struct Passed {
    /// When its sources have been read.
    pub(crate) read: u64,
    /// When its results are there; `None`: not known yet.
    pub(crate) done: Option<u64>,
}

/// A list whose entries keep their numbers.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Slab { entries: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, entry: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.entries[at as usize] = Some(entry);
                at
            }
            None => {
                self.entries.push(Some(entry));
                (self.entries.len() - 1) as u32
            }
        }
    }

    fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.entries.get_mut(at as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, at: u32) -> Option<T> {
        let entry = self.entries.get_mut(at as usize)?.take();
        if entry.is_some() {
            self.free.push(at);
        }
        entry
    }
}

/// A queue of a quarter: when the last instructions left it.
#[derive(Clone, Debug)]
struct Queue {
    left: Vec<u64>,
    next: usize,
    address_free: u64,
}

/// The pipeline.
pub(crate) struct Lsu {
    pipe: MemoryPipe,
    /// Latency of shared memory of other blocks of the cluster.
    remote_latency: u64,
    /// Cycles of the network for a wavefront of it.
    remote_wavefront: u64,
    interval: u64,
    queues: [Queue; 4],
    free: u64,
    /// The unit that copies in bulk.
    copies: CopyUnit,
    cache: Cache,
    fills: Slab<Fill>,
    loads: Slab<Load>,
    /// Fills of cached lines, by line.
    coming: HashMap<u64, SmallVec<[u32; 2]>>,
    /// What is asked of the second level.
    pub(crate) outbox: Vec<Message>,
    /// Sectors that loads asked of the cache, and those that it had.
    pub(crate) asked: u64,
    /// See [`Lsu::asked`].
    pub(crate) hits: u64,
    stores_done: u64,
}

impl Lsu {
    /// An idle pipeline with an empty cache of `cache_bytes`.
    pub(crate) fn new(chip: &Chip, cache_bytes: u32) -> Self {
        let lines = (u64::from(cache_bytes) / LINE) as usize;
        let queue = Queue { left: vec![0; usize::from(chip.memory_pipe.queue).max(1)], next: 0, address_free: 0 };
        Lsu {
            interval: u64::from(32 / chip.rates.lsu.clamp(1, 32)),
            pipe: chip.memory_pipe.clone(),
            remote_latency: chip.latencies.cluster.into(),
            remote_wavefront: SHARED_BYTES / u64::from(chip.memory_pipe.remote).max(1),
            queues: std::array::from_fn(|_| queue.clone()),
            free: 0,
            copies: CopyUnit::new(&chip.bulk_copies),
            cache: Cache::new(lines, WAYS),
            fills: Slab::new(),
            loads: Slab::new(),
            coming: HashMap::new(),
            outbox: Vec::new(),
            asked: 0,
            hits: 0,
            stores_done: 0,
        }
    }

    /// When the queue of a quarter has room.
    #[inline]
    pub(crate) fn room(&self, quarter: usize) -> u64 {
        let queue = &self.queues[quarter];
        queue.left[queue.next]
    }

    /// Takes an instruction that issues at `now`, with the lines that it touches.
    pub(crate) fn pass(
        &mut self,
        quarter: usize,
        now: u64,
        cost: &Cost,
        request: Request,
        lines: &[u64],
        waiter: Waiter,
    ) -> Passed {
        let busy = (self.interval)
            .max(lines.len() as u64)
            .max(u64::from(request.wavefronts))
            .max(u64::from(request.constants));
        let queue = &mut self.queues[quarter];
        let mut leaves = (now + TO_QUEUE).max(queue.address_free).max(self.free);
        if request.transfer != Transfer::None {
            leaves = leaves.max(self.stores_done.saturating_sub(STORE_BACKLOG));
        }
        queue.address_free = leaves + u64::from(self.pipe.address_interval);
        queue.left[queue.next] = leaves;
        queue.next = (queue.next + 1) % queue.left.len();
        let remote = if request.is_remote { u64::from(request.wavefronts) * self.remote_wavefront } else { 0 };
        self.free = leaves + busy.max(remote);
        // From here on as if it had been issued so late that nothing was in its way.
        let issued = leaves - TO_QUEUE;
        let is_load = request.transfer == Transfer::Load;
        let tail = if is_load { (busy - 1).max(u64::from(cost.width_cycles)) } else { busy - 1 };
        let data = if is_load || request.transfer == Transfer::None { 0 } else { u64::from(cost.width_cycles) };
        let latency = if request.is_remote { self.remote_latency } else { u64::from(cost.latency) };
        let least = issued + latency + tail;
        let done = match request.transfer {
            Transfer::None => Some(least),
            Transfer::Load => self.load(issued, least, tail, cost.bypasses_l1, lines, waiter),
            Transfer::Store => {
                self.store(issued, lines);
                Some(least)
            }
            Transfer::Atomic => {
                let waits = cost.has_result && waiter.scoreboard.is_some();
                self.atomic(issued, request.repeats, lines, Some(waiter).filter(|_| waits));
                Some(least).filter(|_| !waits)
            }
        };
        Passed { read: issued + u64::from(cost.read_latency) + data, done }
    }

    /// Takes a copy in bulk that issues at `now`, with the lines of device memory that it touches; `others`: number of the
    /// cluster and ranks of the further blocks that get the same. A store is done when shared memory has been read.
    pub(crate) fn copy(
        &mut self,
        now: u64,
        request: Request,
        lines: &[u64],
        waiter: Waiter,
        others: Option<(u32, u16)>,
    ) -> Passed {
        let length = lines.len().max(if lines.is_empty() { request.wavefronts.into() } else { 0 });
        let (at, end) = self.copies.begin(now, length as u64);
        let is_waited_for = waiter.delivery.is_some();
        let load = Load { waiter, left: lines.len() as u32, time: end, tail: 0 };
        let load = (request.transfer == Transfer::Load && is_waited_for && !lines.is_empty()).then_some(load);
        let load = load.map(|load| self.loads.insert(load));
        for (place, &line) in lines.iter().enumerate() {
            let (line, sectors) = (line_number(line), sectors(line));
            let ask = match request.transfer {
                Transfer::Load => {
                    let loads = load.into_iter().collect();
                    let fill = self.fills.insert(Fill { line, sectors, is_cached: false, loads });
                    self.asked += u64::from(sectors.count_ones());
                    match others {
                        Some((cluster, others)) => Ask::Multicast { fill, cluster, others },
                        None => Ask::Read(fill),
                    }
                }
                Transfer::Atomic => Ask::Atomic { repeats: 1, fill: None },
                Transfer::Store | Transfer::None => Ask::Write,
            };
            self.outbox.push(Message { time: at(place), line, sectors, ask });
        }
        let way = if request.transfer == Transfer::None { self.remote_latency } else { 0 };
        Passed { read: now + u64::from(self.pipe.read_shared), done: load.is_none().then_some(end + way) }
    }

    fn load(
        &mut self,
        issued: u64,
        least: u64,
        tail: u64,
        bypasses: bool,
        lines: &[u64],
        waiter: Waiter,
    ) -> Option<u64> {
        let mut done = least;
        let mut fills: SmallVec<[u32; 8]> = SmallVec::new();
        for &line in lines {
            let (number, wanted) = (line_number(line), sectors(line));
            self.asked += u64::from(wanted.count_ones());
            if bypasses {
                fills.push(self.ask(issued, number, wanted, false));
                continue;
            }
            let (state, _) = self.cache.find_or_allocate(number);
            let missing = wanted & !state.valid;
            let new = missing & !state.marked;
            if missing != wanted {
                done = done.max(state.ready + tail);
            }
            state.marked |= new;
            self.hits += u64::from((wanted & !missing).count_ones());
            let coming = missing & !new;
            if coming != 0 {
                let known = self.coming.get(&number).map(SmallVec::as_slice).unwrap_or_default();
                let entries = &self.fills.entries;
                let is_wanted = |fill: &u32| entries[*fill as usize].as_ref().is_some_and(|f| f.sectors & coming != 0);
                fills.extend(known.iter().copied().filter(is_wanted));
            }
            if new != 0 {
                let fill = self.ask(issued, number, new, true);
                fills.push(fill);
                self.coming.entry(number).or_default().push(fill);
            }
        }
        if fills.is_empty() {
            return Some(done);
        }
        if waiter.scoreboard.is_some() || waiter.copy.is_some() || waiter.delivery.is_some() {
            let load = self.loads.insert(Load { waiter, left: fills.len() as u32, time: done, tail });
            for fill in fills {
                if let Some(fill) = self.fills.get_mut(fill) {
                    fill.loads.push(load);
                }
            }
        }
        None
    }

    fn ask(&mut self, time: u64, line: u64, sectors: u8, is_cached: bool) -> u32 {
        let fill = self.fills.insert(Fill { line, sectors, is_cached, loads: SmallVec::new() });
        self.outbox.push(Message { time, line, sectors, ask: Ask::Read(fill) });
        fill
    }

    /// Stores go through to the second level; what the cache has of the line stays right.
    fn store(&mut self, issued: u64, lines: &[u64]) {
        let message =
            |&line: &u64| Message { time: issued, line: line_number(line), sectors: sectors(line), ask: Ask::Write };
        self.outbox.extend(lines.iter().map(message));
    }

    /// Atomic operations are done in the second level; the cache forgets the sectors.
    fn atomic(&mut self, issued: u64, repeats: u8, lines: &[u64], waiter: Option<Waiter>) {
        let load = waiter.map(|waiter| Load { waiter, left: lines.len() as u32, time: issued, tail: 0 });
        let load = load.map(|load| self.loads.insert(load));
        for &line in lines {
            let (line, sectors) = (line_number(line), sectors(line));
            if let Some(state) = self.cache.find(line) {
                state.valid &= !sectors;
            }
            let loads = load.into_iter().collect();
            let fill = load.map(|_| self.fills.insert(Fill { line, sectors, is_cached: false, loads }));
            self.outbox.push(Message { time: issued, line, sectors, ask: Ask::Atomic { repeats, fill } });
        }
    }

    /// The second level takes stores until `time`.
    pub(crate) fn stored(&mut self, time: u64) {
        self.stores_done = self.stores_done.max(time);
    }

    /// Sectors come at `time`; `done` is told of each load that is complete with them.
    pub(crate) fn filled(&mut self, fill: u32, time: u64, mut done: impl FnMut(Waiter, u64)) {
        let Some(fill_state) = self.fills.remove(fill) else { return };
        let Fill { line, sectors, is_cached, loads } = fill_state;
        if is_cached {
            if let Some(fills) = self.coming.get_mut(&line) {
                fills.retain(|known| *known != fill);
                if fills.is_empty() {
                    self.coming.remove(&line);
                }
            }
            if let Some(state) = self.cache.find(line) {
                state.marked &= !sectors;
                state.valid |= sectors;
                state.ready = state.ready.max(time);
            }
        }
        for at in loads {
            let Some(load) = self.loads.get_mut(at) else { continue };
            load.left -= 1;
            load.time = load.time.max(time + load.tail);
            if load.left == 0 {
                let load = *load;
                self.loads.remove(at);
                done(load.waiter, load.time);
            }
        }
    }
}
