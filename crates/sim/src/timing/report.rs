//! The estimate as its readers see it.

use crate::instruction::INSTRUCTION;
use crate::program::Program;
use crate::timing::advice::{Launched, advice};
use crate::timing::code::Code;
use crate::timing::memory::Traffic;
use crate::timing::occupancy::Occupancy;
use crate::timing::stats::{InstCounts, SmCounts, StallReason};
use oriole_isa::chip::{Chip, SECTOR};

/// What the model leaves.
pub(super) struct Outcome {
    pub(super) occupancy: Occupancy,
    /// By multiprocessor.
    pub(super) sms: Vec<SmCounts>,
    pub(super) traffic: Traffic,
    pub(super) cycles: u64,
    /// First-level cache of a multiprocessor.
    pub(super) l1_bytes: u32,
}

/// How long a launch would take, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct TimingReport {
    /// The chip that stands for the target.
    pub chip: &'static str,
    /// Multiprocessors of the chip.
    pub sms: u32,
    /// Those that had blocks.
    pub active_sms: u32,
    /// The clock in MHz.
    pub clock_mhz: u32,
    /// Cycles from the first issue until the last warp has ended and memory has taken all writes.
    pub cycles: u64,
    /// Warp instructions issued.
    pub instructions: u64,
    /// Cycles of all active multiprocessors with at least one warp.
    pub busy_cycles: u64,
    /// Cycles of all warps.
    pub warp_cycles: u64,
    /// Warps that the model could not bring to their ends: they wait for a barrier in an order that it does not
    /// know. With any the figures are too low.
    pub unfinished_warps: u64,
    /// Blocks on a multiprocessor.
    pub occupancy: Occupancy,
    /// Cycles that warps did not issue, by reason, added up over all warps.
    pub stalls: Vec<(StallReason, u64)>,
    /// By instruction, those executed, in the order of their addresses.
    pub by_instruction: Vec<InstTiming>,
    /// Memory.
    pub memory: MemoryFigures,
    /// What would help, in words, where the cause of lost time is plain.
    pub advice: Vec<String>,
}

/// What one instruction cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstTiming {
    /// The function.
    pub function: String,
    /// Address in it, in bytes.
    pub address: u64,
    /// The instruction.
    pub text: String,
    /// Times that a warp issued it.
    pub issued: u64,
    /// Cycles that warps waited before issuing it, by reason, without those that are zero.
    pub stalls: Vec<(StallReason, u64)>,
    /// Executions that went to global or local memory.
    pub requests: u64,
    /// Sectors of 32 bytes of these.
    pub sectors: u64,
    /// Cycles of shared memory.
    pub wavefronts: u64,
    /// Those of them that bank conflicts added.
    pub bank_conflicts: u64,
}

/// Caches and memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryFigures {
    /// Sectors that loads asked of first-level caches.
    pub l1_sectors: u64,
    /// Of those, sectors that were there.
    pub l1_hits: u64,
    /// Sectors that loads asked of the second level.
    pub l2_sectors: u64,
    /// Of those, sectors that were there.
    pub l2_hits: u64,
    /// Sectors of code and constants asked of the second level.
    pub l2_fetched: u64,
    /// Of those, sectors that were there.
    pub l2_fetched_hits: u64,
    /// Sectors written to the second level.
    pub l2_written: u64,
    /// Sectors of atomic operations there.
    pub l2_atomics: u64,
    /// Bytes read from device memory.
    pub dram_read: u64,
    /// Bytes written to device memory, evicted by the second level.
    pub dram_written: u64,
    /// Bytes of first-level cache of a multiprocessor.
    pub l1_bytes: u32,
    /// Cycles of shared memory, on all multiprocessors.
    pub shared_wavefronts: u64,
    /// Those of them that bank conflicts added.
    pub bank_conflicts: u64,
}

impl TimingReport {
    /// The report of a launch.
    pub(super) fn new(program: &Program, code: &Code, chip: &Chip, launched: &Launched<'_>, replayed: Outcome) -> Self {
        let Outcome { occupancy, sms, traffic, cycles, l1_bytes } = replayed;
        let mut total = InstCounts::default();
        let mut by_instruction = Vec::new();
        for index in 0..code.len() {
            let mut counts = InstCounts::default();
            sms.iter().for_each(|sm| counts += &sm.instructions[index]);
            if counts.issued > 0 {
                total += &counts;
                by_instruction.push(InstTiming::new(program, code.address(index), &counts));
            }
        }
        let sum = |of: fn(&SmCounts) -> u64| sms.iter().map(of).sum::<u64>();
        let mut report = TimingReport {
            chip: chip.name,
            sms: chip.sms,
            active_sms: sms.len() as u32,
            clock_mhz: chip.clock_mhz,
            cycles,
            instructions: total.issued,
            busy_cycles: sum(|sm| sm.busy_cycles),
            warp_cycles: sum(|sm| sm.warp_cycles),
            unfinished_warps: sum(|sm| sm.unfinished),
            occupancy,
            stalls: StallReason::ALL.iter().copied().zip(total.stalls).collect(),
            by_instruction,
            memory: MemoryFigures {
                l1_sectors: sum(|sm| sm.l1_sectors),
                l1_hits: sum(|sm| sm.l1_hits),
                l2_sectors: traffic.read_sectors,
                l2_hits: traffic.read_hits,
                l2_fetched: traffic.fetched_sectors,
                l2_fetched_hits: traffic.fetched_hits,
                l2_written: traffic.written_sectors,
                l2_atomics: traffic.atomic_sectors,
                dram_read: traffic.dram_read,
                dram_written: traffic.dram_written,
                l1_bytes,
                shared_wavefronts: total.wavefronts,
                bank_conflicts: total.conflicts,
            },
            advice: Vec::new(),
        };
        report.advice = advice(&report, launched);
        report
    }

    /// Time in microseconds at the chip's clock.
    pub fn microseconds(&self) -> f64 {
        self.cycles as f64 / f64::from(self.clock_mhz)
    }

    /// Instructions a cycle of a multiprocessor that has warps.
    pub fn ipc(&self) -> f64 {
        self.instructions as f64 / self.busy_cycles.max(1) as f64
    }

    /// Share of the issue slots in use while there are warps.
    pub fn issue_utilisation(&self) -> f64 {
        self.ipc() / 4.0
    }

    /// Warps on a multiprocessor on average while it has any, as a share of those that it could hold.
    pub fn achieved_occupancy(&self) -> f64 {
        self.warp_cycles as f64 / self.busy_cycles.max(1) as f64 / f64::from(self.occupancy.max_warps)
    }

    /// Bytes of device memory a second, in GB.
    pub fn dram_gigabytes_per_second(&self) -> f64 {
        let bytes = (self.memory.dram_read + self.memory.dram_written) as f64;
        bytes / self.microseconds().max(f64::MIN_POSITIVE) / 1000.0
    }
}

impl MemoryFigures {
    /// Bytes that loads asked of the first level.
    pub fn l1_requested_bytes(&self) -> u64 {
        self.l1_sectors * SECTOR
    }
}

impl InstTiming {
    fn new(program: &Program, pc: u64, counts: &InstCounts) -> Self {
        let section = program.section(pc);
        let text = program.text(pc);
        InstTiming {
            function: section.map(|section| section.name.clone()).unwrap_or_default(),
            address: section.map_or(pc / INSTRUCTION * INSTRUCTION, |section| pc - section.base),
            text: text.trim_end_matches(|c: char| c == ';' || c.is_whitespace()).to_owned(),
            issued: counts.issued,
            stalls: StallReason::ALL.iter().copied().zip(counts.stalls).filter(|(_, cycles)| *cycles > 0).collect(),
            requests: counts.requests,
            sectors: counts.sectors,
            wavefronts: counts.wavefronts,
            bank_conflicts: counts.conflicts,
        }
    }
}
