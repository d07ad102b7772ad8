//! Launches in streams: which of them end before which begin, and what those did to global memory that later ones may race with.
//!
//! The rules are those of CUDA's programming guide: launches of one stream follow each other, launches of two streams only where
//! an event or the host is between them. A launch with the attribute of programmatic stream serialization begins before the one in front
//! of it has ended, and knows what that did from `griddepcontrol.wait` on (`ACQBULK`).

use super::findings::{CodePlace, verb};
use super::global_race::{Cell, GlobalEntry, GlobalRaces, words_within};
use super::report::Site;
use super::subject::Subject;
use crate::lanes::WARP;
use oriole_device::Launch;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Launches that are kept, the last ones. A race with one before these is missed.
const KEPT_LAUNCHES: usize = 256;

/// The number of the last launch of each stream that has ended before something.
type Order = BTreeMap<u64, u64>;

/// Where a launch stands among others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamPlace {
    /// The stream, by a number of the caller's.
    pub stream: u64,
    /// It may begin before the launch in front of it has ended: `cudaLaunchAttributeProgrammaticStreamSerialization`.
    pub starts_early: bool,
}

/// A moment of a stream, as `cudaEventRecord` marks it: all that the stream has launched, and all that this waited for.
#[derive(Clone, Debug, Default)]
pub struct StreamEvent(Order);

/// The launches on one memory so far.
#[derive(Default)]
pub struct Streams {
    /// How many there were.
    count: u64,
    past: Vec<Arc<PastLaunch>>,
    /// What each stream has waited for, besides its own launches.
    waited: HashMap<u64, Order>,
    /// What the host has waited for.
    host: Order,
}

impl Streams {
    /// The host waits for everything: what comes later is behind all launches.
    pub fn synchronize(&mut self) {
        for past in std::mem::take(&mut self.past) {
            self.host.insert(past.place.stream, past.number);
        }
    }

    /// The host waits for one stream.
    pub fn synchronize_stream(&mut self, stream: u64) {
        let StreamEvent(order) = self.record(stream);
        join(&mut self.host, &order);
        let host = &self.host;
        self.past.retain(|past| !ends_before(past, host));
    }

    /// Marks what the stream has launched so far.
    pub fn record(&self, stream: u64) -> StreamEvent {
        let mut order = self.host.clone();
        self.waited.get(&stream).into_iter().for_each(|waited| join(&mut order, waited));
        if let Some(last) = self.past.iter().rfind(|past| past.place.stream == stream) {
            order.insert(stream, last.number);
        }
        StreamEvent(order)
    }

    /// What the stream launches from now on is behind the event.
    pub fn wait(&mut self, stream: u64, event: &StreamEvent) {
        join(self.waited.entry(stream).or_default(), &event.0);
    }

    /// The memory from `address` on is given to someone else: what was done to it is of the past.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        let words = words_within(address, bytes);
        for past in &mut self.past {
            if past.cells.keys().any(|word| words.contains(word)) {
                Arc::make_mut(past).cells.retain(|word, _| !words.contains(word));
            }
        }
    }

    /// The launches that one at this place may race with.
    pub(crate) fn unordered(&self, place: StreamPlace) -> Unordered {
        let StreamEvent(order) = self.record(place.stream);
        let others = self.past.iter().filter(|past| past.place.stream != place.stream && !ends_before(past, &order));
        let mut launches: Vec<_> = others.cloned().collect();
        let first_of_own = launches.len();
        let mut may_run = place.starts_early;
        for past in self.past.iter().rev().filter(|past| past.place.stream == place.stream) {
            if !may_run {
                break;
            }
            launches.push(past.clone());
            may_run = past.place.starts_early;
        }
        Unordered { launches, first_of_own }
    }

    /// The launch has ended.
    pub(crate) fn add(&mut self, mut past: PastLaunch) {
        self.count += 1;
        past.number = self.count;
        if self.past.len() >= KEPT_LAUNCHES {
            self.past.remove(0);
        }
        self.past.push(Arc::new(past));
    }
}

fn join(known: &mut Order, more: &Order) {
    for (&stream, &number) in more {
        let last = known.entry(stream).or_default();
        *last = number.max(*last);
    }
}

fn ends_before(past: &PastLaunch, order: &Order) -> bool {
    order.get(&past.place.stream).is_some_and(|&last| last >= past.number)
}

/// Launches that one may race with.
#[derive(Clone, Default)]
pub(crate) struct Unordered {
    /// Those of other streams, then those of its own stream, which `griddepcontrol.wait` waits for.
    pub(super) launches: Vec<Arc<PastLaunch>>,
    /// Where the latter begin.
    pub(super) first_of_own: usize,
}

/// What a launch did to global memory.
#[derive(Clone)]
pub(crate) struct PastLaunch {
    /// Its number, from 1 on.
    pub(super) number: u64,
    /// The kernel.
    pub(super) kernel: String,
    /// Where it stood.
    pub(super) place: StreamPlace,
    /// Grid, block and cluster.
    pub(super) launch: Launch,
    /// The instructions that accessed global memory, by code address.
    pub(super) code: HashMap<u64, CodePlace>,
    /// What is known of each word.
    pub(super) cells: HashMap<u64, Cell>,
}

impl PastLaunch {
    /// A launch that has ended.
    pub(super) fn new(kernel: &str, place: StreamPlace, races: GlobalRaces, subject: &Subject<'_>) -> Self {
        let cells = races.into_cells();
        let addresses = cells.values().flat_map(Cell::entries).map(|entry| entry.pc);
        let mut code = HashMap::new();
        for pc in addresses {
            code.entry(pc).or_insert_with(|| CodePlace::at(pc, subject.program));
        }
        PastLaunch { number: 0, kernel: kernel.to_owned(), place, launch: subject.launch.clone(), code, cells }
    }

    /// One of its accesses as a report names it.
    pub(super) fn site(&self, entry: &GlobalEntry) -> Option<Site> {
        let (block, thread) = thread_of(&self.launch, entry);
        let name = format!("launch {}, kernel '{}', stream {}", self.number, self.kernel, self.place.stream);
        let site = self.code.get(&entry.pc)?.clone().site(verb(entry.kind), block, self.launch.thread_at(thread));
        Some(Site { launch: Some(name), ..site })
    }
}

/// The block and the linear number in it of the first thread of an access.
pub(super) fn thread_of(launch: &Launch, entry: &GlobalEntry) -> ([u32; 3], u32) {
    let thread = usize::from(entry.warp) * WARP + entry.lanes.trailing_zeros() as usize % WARP;
    let per_block = (launch.threads() as usize).div_ceil(WARP) * WARP;
    let block = launch.block_of_cluster(entry.cluster, (thread / per_block) as u64);
    (launch.block_at(block), (thread % per_block) as u32)
}
