//! How long the warps of a kernel take together: what a step of occupancy is worth.
//!
//! A scheduler issues one instruction a cycle, and a warp waits for its results. With few warps the waiting shows, with many the
//! issuing: a warp's share of time is at least its instructions, and at least its latency over the warps that run beside it. An
//! allocation with fewer registers that serialises loads or computes values again has to be judged by both.

use oriole_isa::{Arch, KEPT_REGISTERS};
use oriole_ori::Function;
use oriole_ori::analysis::Liveness;
use oriole_regalloc::weighted;
use oriole_sched::block_cycles;

/// Cycles that a load of global memory takes at least, by what is asked: for the first-level cache as the scheduler has it, or
/// as if most of it came from farther.
pub(crate) const NEAR: u32 = 0;
pub(crate) const FAR: u32 = 150;

/// Cycles that one warp takes if nobody else runs, in the order in which the function stands: its blocks', each as often as it is
/// likely to execute. A load of global memory takes `memory` at least.
pub(crate) fn latency(func: &Function, arch: Arch, live: &Liveness, memory: u32) -> f32 {
    let cycles = block_cycles(func, arch, live, memory);
    weighted(func, |block| cycles[block] as f32)
}

/// Cycles of a scheduler for each warp that issues so many instructions (`work`), where so many registers are `named` and as many
/// warps run as they allow. Issuing and waiting overlap, but not wholly: the root of the squares' sum lies between the larger of
/// both and their sum.
pub(crate) fn cycles_per_warp(arch: Arch, named: u16, work: f32, latency: f32) -> f32 {
    let sm = arch.sm();
    let warps = sm.warps_by_registers(u32::from(named) + KEPT_REGISTERS) as f32 / sm.schedulers as f32;
    work.hypot(latency / warps)
}
