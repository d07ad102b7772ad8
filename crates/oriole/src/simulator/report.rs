//! What a launch leaves besides its buffers.

use super::finding::Finding;
use oriole_sim::{RunReport, TimingReport};

/// A launch that came to its end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LaunchReport {
    /// What the kernel has printed, block after block.
    pub printed: Vec<u8>,
    /// Blocks that ran.
    pub blocks: u64,
    /// Warps that ran.
    pub warps: u64,
    /// Instructions, each counted once per group of threads that executed it together.
    pub warp_instructions: u64,
    /// Instructions, each counted once per thread whose guard let it through.
    pub thread_instructions: u64,
    /// The estimate, if [`SimulatorBuilder::timing`](crate::SimulatorBuilder::timing) asked for it.
    pub timing: Option<Timing>,
    /// What the checks of memory found, if [`SimulatorBuilder::check_memory`](crate::SimulatorBuilder::check_memory) asked
    /// for them.
    pub findings: Vec<Finding>,
}

/// How long a launch would take on a device, by the cycle model of `docs/timing.md`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Timing {
    /// The chip that stands for the target.
    pub chip: &'static str,
    /// Its clock in MHz.
    pub clock_mhz: u32,
    /// Cycles from the first issue until the last warp has ended and memory has taken all writes.
    pub cycles: u64,
    /// Warp instructions issued.
    pub instructions: u64,
    /// Warps that a multiprocessor holds, as a share of those that it could hold.
    pub occupancy: f64,
    /// Cycles that warps did not issue, by reason, added up over all warps.
    pub stalls: Vec<(&'static str, u64)>,
    /// What would help, in words, where the cause of lost time is plain.
    pub advice: Vec<String>,
}

impl LaunchReport {
    pub(super) fn new(report: RunReport, findings: impl Iterator<Item = Finding>) -> LaunchReport {
        LaunchReport {
            printed: report.printed,
            blocks: report.statistics.blocks,
            warps: report.statistics.warps,
            warp_instructions: report.statistics.warp_instructions,
            thread_instructions: report.statistics.thread_instructions,
            timing: report.timing.map(|timing| Timing::new(&timing)),
            findings: findings.collect(),
        }
    }
}

impl Timing {
    fn new(report: &TimingReport) -> Timing {
        Timing {
            chip: report.chip,
            clock_mhz: report.clock_mhz,
            cycles: report.cycles,
            instructions: report.instructions,
            occupancy: report.occupancy.theoretical(),
            stalls: report.stalls.iter().map(|(reason, cycles)| (reason.name(), *cycles)).collect(),
            advice: report.advice.clone(),
        }
    }
}
