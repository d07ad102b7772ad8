//! Second-level cache and device memory: one queue for each slice and channel.

use crate::timing::cache::{Cache, hash};
use crate::timing::lines::Held;
use oriole_isa::chip::{Chip, L2_WAYS, LINE, SECTOR};

/// What is asked of the second level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Sectors are read; the answer goes to the fill of that number.
    Read(u32),
    /// Sectors are read once for several blocks of a cluster; the answer goes to the fill of that number.
    Multicast {
        /// The fill.
        fill: u32,
        /// Number of the cluster.
        cluster: u32,
        /// Ranks of the blocks besides the one that asks.
        others: u16,
    },
    /// A line of code or constants is read; the answer goes to the caches of these.
    Fetch,
    /// Sectors are written.
    Write,
    /// An atomic operation that repeats so often on one address; the answer goes to the fill of that number, if
    /// it has a result.
    Atomic {
        /// Operations on one address.
        repeats: u8,
        /// Where the result goes.
        fill: Option<u32>,
    },
}

/// A request of a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Cycle of issue, as the latencies count.
    pub(crate) time: u64,
    /// Line number.
    pub(crate) line: u64,
    /// Sectors of the line.
    pub(crate) sectors: u8,
    /// What is asked.
    pub(crate) ask: Ask,
}

/// What the second level and device memory have done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Sectors asked of the second level by loads.
    pub(crate) read_sectors: u64,
    /// Of those, sectors that it had.
    pub(crate) read_hits: u64,
    /// Sectors of code and constants asked of it.
    pub(crate) fetched_sectors: u64,
    /// Of those, sectors that it had.
    pub(crate) fetched_hits: u64,
    /// Sectors written to it.
    pub(crate) written_sectors: u64,
    /// Sectors of atomic operations.
    pub(crate) atomic_sectors: u64,
    /// Bytes read from device memory.
    pub(crate) dram_read: u64,
    /// Bytes written to it.
    pub(crate) dram_written: u64,
}

/// All sectors of a line.
const WHOLE: u8 = 15;
/// Parts of a cycle in which queues count.
const PARTS: u64 = 256;

/// Second-level cache and device memory.
pub(crate) struct MemorySystem {
    cache: Cache,
    /// When each slice, channel and multiprocessor's port is free, in parts of a cycle.
    slices: Vec<u64>,
    channels: Vec<u64>,
    ports: Vec<u64>,
    /// Parts of a cycle for one sector in each of them.
    slice_parts: u64,
    channel_parts: u64,
    port_parts: u64,
    l2_latency: u64,
    dram_latency: u64,
    /// What was done.
    pub(crate) traffic: Traffic,
    /// When the last write or atomic operation was done.
    pub(crate) last: u64,
}

impl MemorySystem {
    /// Idle memory, and a cache with what is `held`, as far as it fits.
    pub(crate) fn new(chip: &Chip, held: &Held) -> Self {
        let mut cache = Cache::new((chip.l2.bytes / LINE) as usize, L2_WAYS);
        for line in held.lines().take(cache.capacity()) {
            cache.add(line, WHOLE);
        }
        let per_sector = |bytes_per_cycle: f64| ((SECTOR * PARTS) as f64 / bytes_per_cycle).round().max(1.0) as u64;
        MemorySystem {
            cache,
            slices: vec![0; chip.l2.slices as usize],
            channels: vec![0; chip.dram.channels as usize],
            ports: vec![0; chip.sms as usize],
            slice_parts: per_sector(f64::from(chip.l2.bytes_per_cycle) / f64::from(chip.l2.slices)),
            channel_parts: per_sector(chip.dram.bytes_per_cycle(chip.clock_mhz) / f64::from(chip.dram.channels)),
            port_parts: per_sector(f64::from(chip.l1.fill_bytes)),
            l2_latency: u64::from(chip.l2.latency),
            dram_latency: u64::from(chip.dram.latency),
            traffic: Traffic::default(),
            last: 0,
        }
    }

    /// Takes a request whose sectors go through the ports of these multiprocessors, its own and those that a copy gives
    /// the same; requests come in the order of their times. Returns when it is done: at least the latency of the second
    /// level after its time.
    pub(crate) fn take(&mut self, sms: &[usize], message: &Message) -> u64 {
        let count = u64::from(message.sectors.count_ones());
        let repeats = match message.ask {
            Ask::Atomic { repeats, .. } => u64::from(repeats.max(1)),
            _ => 1,
        };
        let mut port = message.time * PARTS;
        for &sm in sms {
            port = port.max(occupy(&mut self.ports[sm], message.time * PARTS, count * self.port_parts));
        }
        let slice = spread(message.line, self.slices.len());
        let start = occupy(&mut self.slices[slice], port, count * repeats * self.slice_parts);
        let done = match message.ask {
            Ask::Read(_) | Ask::Multicast { .. } | Ask::Fetch => self.read(message, start / PARTS),
            Ask::Write => self.write(message, start / PARTS),
            Ask::Atomic { .. } => {
                self.traffic.atomic_sectors += count;
                self.fetch(message, start / PARTS, true) + repeats - 1
            }
        };
        if matches!(message.ask, Ask::Write | Ask::Atomic { .. }) {
            self.last = self.last.max(done);
        }
        done
    }

    fn read(&mut self, message: &Message, start: u64) -> u64 {
        let count = u64::from(message.sectors.count_ones());
        let before = self.traffic.dram_read;
        let done = self.fetch(message, start, false);
        let traffic = &mut self.traffic;
        let hits = count - (traffic.dram_read - before) / SECTOR;
        let (asked, found) = match message.ask {
            Ask::Fetch => (&mut traffic.fetched_sectors, &mut traffic.fetched_hits),
            _ => (&mut traffic.read_sectors, &mut traffic.read_hits),
        };
        *asked += count;
        *found += hits;
        done
    }

    /// Gets sectors into the cache; when they can be used.
    fn fetch(&mut self, message: &Message, start: u64, dirty: bool) -> u64 {
        let (line, gone) = self.cache.find_or_allocate(message.line);
        let missing = message.sectors & !line.valid;
        line.valid |= message.sectors;
        if dirty {
            line.marked |= message.sectors;
        }
        let there = (start + self.l2_latency).max(line.ready);
        let evicted = gone.map_or(0, |gone| u64::from(gone.marked.count_ones()));
        let done = match missing {
            0 => there,
            _ => {
                let count = u64::from(missing.count_ones());
                let begin = self.occupy_channel(message.line, start, count);
                self.traffic.dram_read += count * SECTOR;
                there.max(begin + self.dram_latency)
            }
        };
        if let Some(line) = self.cache.find(message.line).filter(|_| missing != 0) {
            line.ready = done;
        }
        self.write_back(message.line, start, evicted);
        done
    }

    /// Writes replace whole sectors: nothing is fetched.
    fn write(&mut self, message: &Message, start: u64) -> u64 {
        let (line, gone) = self.cache.find_or_allocate(message.line);
        line.valid |= message.sectors;
        line.marked |= message.sectors;
        self.traffic.written_sectors += u64::from(message.sectors.count_ones());
        let evicted = gone.map_or(0, |gone| u64::from(gone.marked.count_ones()));
        let taken = self.write_back(message.line, start, evicted);
        (start + self.l2_latency).max(taken)
    }

    /// Writes evicted sectors to memory; when the channel has taken them.
    fn write_back(&mut self, line: u64, start: u64, sectors: u64) -> u64 {
        if sectors == 0 {
            return start;
        }
        self.traffic.dram_written += sectors * SECTOR;
        self.occupy_channel(line, start, sectors)
    }

    /// When the channel of a line starts with `sectors` of it.
    fn occupy_channel(&mut self, line: u64, start: u64, sectors: u64) -> u64 {
        // Two lines stand together in a channel.
        let channel = spread(line / 2, self.channels.len());
        occupy(&mut self.channels[channel], start * PARTS, sectors * self.channel_parts) / PARTS
    }
}

/// Spreads addresses over queues: each run of as many neighbours as there are queues meets each once, in an order
/// that differs from run to run, so that strides do not meet in one.
fn spread(number: u64, queues: usize) -> usize {
    let queues = queues as u64;
    ((number.wrapping_add(hash(number / queues))) % queues) as usize
}

/// Takes a place in a queue; when its turn comes.
fn occupy(free: &mut u64, from: u64, parts: u64) -> u64 {
    let start = (*free).max(from);
    *free = start + parts;
    start
}
