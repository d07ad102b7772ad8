//! A grid: its clusters on host threads, with the same result whatever their number.
//!
//! A launch without clusters has one block in each; "block" below is such a cluster. Blocks run side by side as long as nothing that they do can depend on their order. Operations
//! that can (atomics that return a value or add floats or 64-bit numbers, loads and stores that are
//! strong at device scope, `malloc`) need the *turn*, which the unfinished block with the lowest
//! number has until it ends: a block that comes to such an operation early is put aside. So all of
//! them happen in the order of the blocks, as on one thread. Only 32-bit integer reductions without
//! a result go ahead at once, because their order cannot be seen.
//!
//! A block may wait for a later one (a barrier of the whole grid, a chain of flags). So a block that
//! has come to an ordered operation keeps the turn for a fixed number of instructions only; then the
//! next unfinished block has it. The number is counted from the same place on any machine.

use crate::block::{BlockFault, Entry};
use crate::cluster::{Cluster, Progress};
use crate::machine::Machine;
use crate::stats::Counts;
use crate::timing::trace::BlockTrace;
use oriole_device::{Unstarted, printf};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Warp instructions after which a block that needs the turn passes it on.
const TURN: u64 = 50_000;
/// Blocks that may be unfinished at a time.
const WINDOW: u64 = 256;

/// What a grid leaves.
pub(crate) struct Outcome {
    /// What was executed.
    pub(crate) counts: Counts,
    /// What was printed, in the order of the blocks.
    pub(crate) printed: Vec<u8>,
    /// The first fault in the order of the blocks.
    pub(crate) fault: Option<BlockFault>,
    /// What the blocks did, in their order, if they recorded it.
    pub(crate) traces: Vec<BlockTrace>,
}

/// Blocks by number: which are where.
struct Schedule<'a> {
    clusters: u64,
    /// The blocks that have not been started. Running ones may take the place of some, which then never start.
    unstarted: &'a Unstarted,
    /// Blocks put aside.
    parked: BTreeMap<u64, Cluster>,
    /// Blocks that are running.
    running: BTreeSet<u64>,
    /// The block that has the turn.
    turn: u64,
    printed: BTreeMap<u64, Vec<u8>>,
    /// The first block whose text is not in `output` yet, because it or one before it has not ended.
    silent: u64,
    /// Bytes that the blocks before that have printed.
    output: usize,
    counts: Counts,
    fault: Option<(u64, Box<BlockFault>)>,
    traces: BTreeMap<u64, Vec<BlockTrace>>,
    /// A host thread has panicked, and its block never ends.
    is_abandoned: bool,
}

impl<'a> Schedule<'a> {
    fn new(clusters: u64, unstarted: &'a Unstarted) -> Self {
        Schedule {
            clusters,
            unstarted,
            parked: BTreeMap::new(),
            running: BTreeSet::new(),
            turn: 0,
            printed: BTreeMap::new(),
            silent: 0,
            output: 0,
            counts: Counts::default(),
            fault: None,
            traces: BTreeMap::new(),
            is_abandoned: false,
        }
    }
}

/// The blocks, and what tells host threads that there may be something to do.
struct Shared<'a> {
    schedule: Mutex<Schedule<'a>>,
    changed: Condvar,
}

impl<'a> Shared<'a> {
    fn new(clusters: u64, unstarted: &'a Unstarted) -> Self {
        Shared { schedule: Mutex::new(Schedule::new(clusters, unstarted)), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Schedule<'a>> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a host thread does next, when there is something; nothing at the end.
    fn next(&self) -> Option<Task> {
        let mut schedule = self.lock();
        loop {
            match schedule.next() {
                Next::Task(task) => return Some(task),
                Next::Stop => return None,
                Next::Wait => schedule = self.changed.wait(schedule).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Changes the schedule and tells all threads.
    fn change(&self, change: impl FnOnce(&mut Schedule<'a>)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

/// A host thread at work. If it panics, the others end too, and do not wait for its block.
struct AtWork<'a, 's>(&'a Shared<'s>);

impl Drop for AtWork<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.change(|schedule| schedule.is_abandoned = true);
        }
    }
}

/// What a worker does next, and whether the block has the turn.
enum Task {
    Run(Box<Cluster>, bool),
    Start(u64, bool),
}

enum Next {
    Task(Task),
    Wait,
    Stop,
}

/// Host threads at most, whatever is asked for: more would only wait for each other.
const MOST_WORKERS: usize = 1024;

/// What the host threads are called, as those of compilations are (`oriole_passes`).
pub(crate) const THREAD_NAME: &str = "oriole-launch";

/// Runs all blocks on `workers` host threads, or on fewer where the system gives no more.
pub(crate) fn run(entry: &Entry, machine: &Machine<'_>, workers: usize) -> Outcome {
    let clusters = entry.launch.clusters();
    let shared = Shared::new(clusters, &machine.resources.unstarted);
    let workers = (workers.clamp(1, MOST_WORKERS) as u64).min(clusters);
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // With fewer threads it takes longer.
            let thread = std::thread::Builder::new().name(THREAD_NAME.to_owned());
            let started = thread.spawn_scoped(scope, || work(&shared, entry, machine));
            if started.is_err() {
                break;
            }
        }
        work(&shared, entry, machine);
    });
    let schedule = shared.schedule.into_inner().unwrap_or_else(PoisonError::into_inner);
    let last = schedule.fault.as_ref().map_or(u64::MAX, |(block, _)| *block);
    let printed = schedule.printed.into_iter().filter(|(block, _)| *block <= last);
    Outcome {
        counts: schedule.counts,
        printed: printed.flat_map(|(_, text)| text).collect(),
        fault: schedule.fault.map(|(_, fault)| *fault),
        traces: schedule.traces.into_values().flatten().collect(),
    }
}

fn work(shared: &Shared<'_>, entry: &Entry, machine: &Machine<'_>) {
    let _at_work = AtWork(shared);
    while let Some(task) = shared.next() {
        let (mut block, turn) = match task {
            Task::Run(block, turn) => (block, turn),
            Task::Start(number, turn) => match Cluster::new(number, entry, machine) {
                Ok(block) => (Box::new(block), turn),
                Err(fault) => {
                    shared.change(|schedule| {
                        schedule.running.remove(&number);
                        schedule.stop_at(number, fault);
                    });
                    continue;
                }
            },
        };
        let progress = block.run(machine, turn, TURN);
        if let Ok(Progress::Finished) = progress {
            machine.resources.memory.quota().give_back(block.counted_bytes());
        }
        shared.change(|schedule| schedule.put_back(*block, progress));
    }
}

impl Schedule<'_> {
    /// Blocks that still matter: all, or those before the first fault.
    fn end(&self) -> u64 {
        self.fault.as_ref().map_or(self.clusters, |(block, _)| *block)
    }

    fn next(&mut self) -> Next {
        if self.is_abandoned {
            return Next::Stop;
        }
        let end = self.end();
        if !self.is_open(self.turn) {
            self.turn = self.after(self.turn);
        }
        if self.turn < end
            && let Some(block) = self.parked.remove(&self.turn)
        {
            self.running.insert(self.turn);
            return Next::Task(Task::Run(Box::new(block), true));
        }
        let has_room = self.unstarted.lowest() < end.min(self.lowest() + WINDOW);
        if let Some(number) = has_room.then(|| self.unstarted.take()).flatten() {
            self.running.insert(number);
            return Next::Task(Task::Start(number, number == self.turn));
        }
        let idle = self.running.is_empty();
        if idle || self.parked.range(..end).next().is_none() && self.unstarted.lowest() >= end {
            return Next::Stop;
        }
        Next::Wait
    }

    /// The lowest unfinished block that has been started, or the next to start.
    fn lowest(&self) -> u64 {
        let parked = self.parked.keys().next().copied();
        let running = self.running.first().copied();
        let fresh = self.unstarted.lowest();
        parked.into_iter().chain(running).fold(fresh, u64::min)
    }

    /// Block `number` has not ended, nor has another one taken its place.
    fn is_open(&self, number: u64) -> bool {
        number >= self.unstarted.lowest() || self.parked.contains_key(&number) || self.running.contains(&number)
    }

    /// The unfinished block after `number`, from the start again after the last one of the window.
    fn after(&self, number: u64) -> u64 {
        let lowest = self.lowest();
        let limit = self.clusters.min(lowest + WINDOW);
        (number + 1..limit).chain(lowest..limit).find(|&block| self.is_open(block)).unwrap_or(self.clusters)
    }

    /// A fault in block `number`: that of the lowest one counts.
    fn stop_at(&mut self, number: u64, fault: Box<BlockFault>) {
        if self.fault.as_ref().is_none_or(|(known, _)| number < *known) {
            self.fault = Some((number, fault));
        }
    }

    /// Counts what the blocks have printed, in their order, so that it is the same block on any machine that prints
    /// too much.
    fn count_output(&mut self) {
        while self.silent < self.clusters && !self.is_open(self.silent) {
            let block = self.silent;
            self.output += self.printed.get(&block).map_or(0, Vec::len);
            self.silent += 1;
            if self.output > printf::MOST_OUTPUT {
                let fault = BlockFault { block, pc: None, thread: 0, kind: printf::too_much() };
                self.stop_at(block, Box::new(fault));
                return;
            }
        }
    }

    fn put_back(&mut self, mut block: Cluster, progress: Result<Progress, Box<BlockFault>>) {
        let number = block.number;
        self.running.remove(&number);
        match progress {
            Ok(Progress::NeedsTurn) => {
                self.parked.insert(number, block);
                return;
            }
            Ok(Progress::Slice) => {
                self.parked.insert(number, block);
                // After a fault nobody is left to wait for: give up on a block that spins.
                if let Some((last, _)) = self.fault
                    && number < last
                {
                    self.parked.remove(&number);
                }
                self.turn = self.after(number);
                return;
            }
            Ok(Progress::Finished) => {}
            Err(fault) => self.stop_at(number, fault),
        }
        let (printed, counts) = block.finish();
        self.counts.add(&counts);
        self.printed.insert(number, printed);
        self.count_output();
        let traces = block.take_traces();
        if !traces.is_empty() {
            self.traces.insert(number, traces);
        }
        if self.turn == number {
            self.turn = self.after(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_device::Launch;
    use std::thread;

    /// Blocks 1 and 3 are cancelled while block 0 runs and while block 2 does.
    #[test]
    fn nobody_waits_for_blocks_whose_place_was_taken() {
        let launch = Launch { grid: [4, 1, 1], ..Launch::default() };
        let unstarted = Unstarted::new(&launch);
        let mut schedule = Schedule::new(4, &unstarted);
        assert!(matches!(schedule.next(), Next::Task(Task::Start(0, true))));
        // Its slice is over.
        schedule.turn = schedule.after(0);
        assert_eq!((schedule.turn, unstarted.cancel()[0]), (1, 1));
        assert!(matches!(schedule.next(), Next::Task(Task::Start(2, true))));
        assert_eq!(unstarted.cancel()[0], 3);
        for block in [0, 2] {
            schedule.running.remove(&block);
            schedule.printed.insert(block, vec![0; 5]);
        }
        schedule.count_output();
        assert_eq!((schedule.output, schedule.silent), (10, 4));
        assert!(matches!(schedule.next(), Next::Stop));
    }

    /// A fault of the simulator itself ends a launch on several threads; it may not become a hang.
    #[test]
    fn nobody_waits_for_the_block_of_a_thread_that_panicked() {
        let launch = Launch { grid: [WINDOW as u32 + 1, 1, 1], ..Launch::default() };
        let unstarted = Unstarted::new(&launch);
        let shared = Shared::new(WINDOW + 1, &unstarted);
        let is_started = |task: Option<Task>, block| matches!(task, Some(Task::Start(number, _)) if number == block);
        assert!((0..WINDOW).all(|block| is_started(shared.next(), block)));
        thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _at_work = AtWork(&shared);
                panic!("a fault of the simulator");
            });
            let waits = scope.spawn(|| shared.next());
            assert!(panics.join().is_err());
            assert!(waits.join().is_ok_and(|task| task.is_none()));
        });
    }
}
