//! A launch on the whole chip: blocks go to multiprocessors, multiprocessors run side by side, memory answers.
//!
//! Time goes on in steps no longer than the latency of the second-level cache. Within a step multiprocessors do
//! not depend on each other, because nothing that one asks of the second level can be answered before the step
//! ends; after it their requests are taken in the order of their times. Nor is a barrier of a cluster complete within
//! the step of its last arrival. So the result is the same on any number of host threads.

use crate::grid::THREAD_NAME;
use crate::program::Program;
use crate::timing::advice::Launched;
use crate::timing::barrier::ClusterBarrier;
use crate::timing::code::Code;
use crate::timing::lines::Held;
use crate::timing::memory::{Ask, MemorySystem, Message};
use crate::timing::occupancy::{Needs, Occupancy};
use crate::timing::phase::Phases;
use crate::timing::report::{Outcome, TimingReport};
use crate::timing::sm::{Member, Signal, Sm};
use crate::timing::trace::BlockTrace;
use oriole_device::{Deadline, FaultKind};
use oriole_isa::chip::Chip;
use rayon::prelude::*;
use smallvec::{SmallVec, smallvec};
use std::collections::VecDeque;

/// The launch.
struct Replayed<'c> {
    sms: Vec<Sm<'c>>,
    memory: MemorySystem,
    /// Requests that come after the step at hand: multiprocessor and request.
    pending: Vec<(usize, Message)>,
    /// Blocks that have not started, with the phases of their mbarriers.
    blocks: VecDeque<(BlockTrace, Phases)>,
    /// The multiprocessors of the blocks that have started.
    places: Vec<usize>,
    blocks_per_sm: usize,
    /// Blocks of a cluster.
    cluster: usize,
    /// The barriers of the clusters.
    barriers: Vec<ClusterBarrier>,
    /// Cycles from the last arrival at one of them until its warps go on.
    barrier_latency: u64,
}

/// Estimates how long a launch of these blocks takes on `chip`, whose second level holds what is `held`, on `workers`
/// host threads. The fault where that itself takes longer than the launch was given.
pub(crate) fn replay(
    program: &Program,
    chip: &Chip,
    needs: &Needs,
    traces: Vec<BlockTrace>,
    held: &Held,
    workers: usize,
    deadline: Option<&Deadline>,
) -> Result<TimingReport, FaultKind> {
    let occupancy = Occupancy::of(needs, program.arch.sm());
    // A launch that the simulator accepts fits, if not by the rules here.
    let blocks_per_sm = occupancy.blocks.max(1);
    let l1_bytes = chip.l1.cache_bytes(blocks_per_sm.saturating_mul(needs.shared_in_all(program.arch.sm())));
    let code = Code::of(program, chip, &traces);
    let count = (chip.sms as usize).min(traces.len());
    let launched = Launched { needs, sm: program.arch.sm(), blocks: traces.len() as u64 };
    let cluster = needs.cluster.max(1) as usize;
    let barriers: Vec<ClusterBarrier> = traces.chunks(cluster).map(ClusterBarrier::of).collect();
    let barrier_latency = u64::from(chip.latencies.cluster_barrier);
    let phases: Vec<Phases> = traces.chunks(cluster).flat_map(Phases::of).collect();
    let step = match cluster > 1 || barriers.iter().any(ClusterBarrier::is_used) {
        true => barrier_latency.min(chip.latencies.cluster.into()).min(chip.l2.latency.into()).max(1),
        false => u64::from(chip.l2.latency).max(1),
    };
    let mut launch = Replayed {
        sms: (0..count).map(|_| Sm::new(chip, &code, l1_bytes, needs.registers)).collect(),
        memory: MemorySystem::new(chip, held),
        pending: Vec::new(),
        blocks: traces.into_iter().zip(phases).collect(),
        places: Vec::new(),
        blocks_per_sm: blocks_per_sm as usize,
        cluster,
        barriers,
        barrier_latency,
    };
    let threads =
        rayon::ThreadPoolBuilder::new().num_threads(workers.min(count)).thread_name(|_| THREAD_NAME.to_owned());
    // Without further threads it takes longer.
    let pool = if workers > 1 && count > 1 { threads.build().ok() } else { None };
    let mut now = 0;
    loop {
        deadline.map_or(Ok(()), |deadline| deadline.check())?;
        launch.start_blocks(now);
        let end = now + step;
        match &pool {
            Some(pool) => pool.install(|| launch.sms.par_iter_mut().for_each(|sm| sm.run_until(end))),
            None => launch.sms.iter_mut().for_each(|sm| sm.run_until(end)),
        }
        launch.answer(end);
        launch.meet();
        match launch.next(end) {
            Some(next) => now = next,
            None => break,
        }
    }
    let ends = launch.sms.iter().map(|sm| sm.counts.end).max().unwrap_or(0);
    let cycles = ends.max(launch.memory.last);
    let traffic = launch.memory.traffic.clone();
    let sms = launch.sms.into_iter().map(Sm::into_counts).collect();
    Ok(TimingReport::new(program, &code, chip, &launched, Outcome { occupancy, sms, traffic, cycles, l1_bytes }))
}

impl Replayed<'_> {
    /// Gives blocks to the multiprocessors that have room, those with the fewest first; the blocks of a cluster when
    /// there is room for all of them.
    fn start_blocks(&mut self, now: u64) {
        while !self.blocks.is_empty() {
            let begins = self.places.len().is_multiple_of(self.cluster);
            if begins && self.room() < self.cluster.min(self.sms.len() * self.blocks_per_sm) {
                return;
            }
            let emptiest = self.sms.iter().enumerate().min_by_key(|(_, sm)| sm.resident_blocks());
            let Some((at, _)) = emptiest.filter(|(_, sm)| sm.resident_blocks() < self.blocks_per_sm) else { return };
            let Some((block, phases)) = self.blocks.pop_front() else { return };
            let number = self.places.len();
            let member = Member { cluster: number / self.cluster, rank: (number % self.cluster) as u8 };
            self.sms[at].start(block, phases, member, now);
            self.places.push(at);
        }
    }

    /// Blocks that the multiprocessors have room for.
    fn room(&self) -> usize {
        self.sms.iter().map(|sm| self.blocks_per_sm.saturating_sub(sm.resident_blocks())).sum()
    }

    /// Tells blocks what others of their clusters do to their mbarriers. Takes the arrivals at barriers of clusters in the
    /// order of their times, and lets the warps of complete ones go on.
    fn meet(&mut self) {
        let signals: Vec<Signal> = self.sms.iter_mut().flat_map(|sm| sm.signals.drain(..)).collect();
        for signal in signals {
            let block = signal.to.cluster * self.cluster + usize::from(signal.to.rank);
            if let Some(&sm) = self.places.get(block) {
                self.sms[sm].signalled(&signal);
            }
        }
        let mut arrivals: Vec<(usize, u64)> = self.sms.iter_mut().flat_map(|sm| sm.arrivals.drain(..)).collect();
        arrivals.sort_by_key(|(_, time)| *time);
        for (cluster, time) in arrivals {
            let release = time + self.barrier_latency;
            if self.barriers.get_mut(cluster).is_some_and(|barrier| barrier.arrive(release)) {
                self.sms.iter_mut().for_each(|sm| sm.release_cluster(cluster, release));
            }
        }
    }

    /// Lets memory answer what was asked before `end`.
    fn answer(&mut self, end: u64) {
        for (at, sm) in self.sms.iter_mut().enumerate() {
            let asked = sm.lsu.outbox.drain(..).chain(sm.front_end.requests());
            self.pending.extend(asked.map(|message| (at, message)));
        }
        // Stable: those of one cycle stay in the order of the multiprocessors.
        self.pending.sort_by_key(|(at, message)| (message.time, *at));
        let due = self.pending.partition_point(|(_, message)| message.time < end);
        for (at, message) in self.pending.drain(..due) {
            let mut ports: SmallVec<[usize; 4]> = smallvec![at];
            if let Ask::Multicast { cluster, others, .. } = message.ask {
                let first = cluster as usize * self.cluster;
                let blocks = (0..16).filter(|rank| others >> rank & 1 != 0).map(|rank| first + rank);
                ports.extend(blocks.filter_map(|block| self.places.get(block).copied()).filter(|&sm| sm != at));
            }
            let done = self.memory.take(&ports, &message);
            let sm = &mut self.sms[at];
            match message.ask {
                Ask::Read(fill) | Ask::Multicast { fill, .. } | Ask::Atomic { fill: Some(fill), .. } => {
                    sm.filled(fill, done);
                }
                Ask::Fetch => sm.fetched(message.line, done),
                Ask::Write | Ask::Atomic { fill: None, .. } => sm.lsu.stored(done),
            }
        }
    }

    /// Where to go on after `end`: not before something happens. `None`: everything has happened.
    fn next(&self, end: u64) -> Option<u64> {
        let asked = self.pending.first().map(|(_, message)| message.time);
        let woken = self.sms.iter().map(Sm::wake).min().filter(|&wake| wake != u64::MAX);
        let wanted = self.cluster.min(self.sms.len() * self.blocks_per_sm);
        let starts = (!self.blocks.is_empty() && self.room() >= wanted).then_some(end);
        [asked, woken, starts].into_iter().flatten().min().map(|time| time.max(end))
    }
}
