//! Advice in words, where the cause of lost time is plain from the counts.

use crate::timing::occupancy::{Limiter, Needs, Occupancy};
use crate::timing::report::{InstTiming, TimingReport};
use crate::timing::stats::StallReason;
use oriole_isa::SmDescription;

/// Registers of a thread that a kernel can often do without: what `--maxrregcount` takes off before it spills, as a rule of thumb.
const REGISTERS_TO_SPARE: u32 = 8;

/// The share of a block's shared memory that an array may often give up: one eighth, the padding of a tile.
const SHARED_TO_SPARE: f64 = 0.125;

/// From which share of all waiting on a cause is named.
const WORTH_NAMING: f64 = 0.25;

/// How many times the sectors that neighbouring addresses would need make an access uncoalesced. Below it are partial warps and
/// rows that do not begin at a sector.
const UNCOALESCED: f64 = 3.0;

/// Instructions that are named for one cause: the worst.
const NAMED: usize = 3;

/// What a launch is, beside its figures.
pub(super) struct Launched<'a> {
    pub(super) needs: &'a Needs,
    pub(super) sm: &'a SmDescription,
    /// Blocks of the grid.
    pub(super) blocks: u64,
}

/// What would help, the plainest first; nothing where nothing is plain.
pub(super) fn advice(report: &TimingReport, launched: &Launched<'_>) -> Vec<String> {
    let mut advice = Vec::new();
    advice.extend(partial_warp(launched));
    advice.extend(occupancy(&report.occupancy, launched, report.sms));
    advice.extend(uncoalesced(report));
    advice.extend(bank_conflicts(report));
    advice.extend(first_touches(report));
    advice.extend(idle_multiprocessors(report));
    advice
}

/// Lanes that no thread fills.
fn partial_warp(launched: &Launched<'_>) -> Option<String> {
    let (threads, warp) = (launched.needs.threads, launched.sm.warp_size);
    let idle = threads.next_multiple_of(warp) - threads;
    (idle > 0).then(|| {
        let warps = threads.div_ceil(warp);
        format!(
            "a block of {threads} threads has {warps} warps of {warp} lanes, {idle} lanes without a thread: make it a multiple of {warp}"
        )
    })
}

/// What a little less of something would bring, where more blocks wait than fit.
fn occupancy(occupancy: &Occupancy, launched: &Launched<'_>, sms: u32) -> Option<String> {
    let waits = launched.blocks > u64::from(occupancy.blocks) * u64::from(sms);
    if !waits || occupancy.theoretical() >= 1.0 || occupancy.blocks == 0 {
        return None;
    }
    let (needs, sm) = (launched.needs, launched.sm);
    let percent = |occupancy: &Occupancy| format!("{:.0}%", 100.0 * occupancy.theoretical());
    let more = |needs: &Needs| Some(Occupancy::of(needs, sm)).filter(|other| other.blocks > occupancy.blocks);
    match occupancy.limiter {
        Limiter::Registers => (1..=REGISTERS_TO_SPARE.min(needs.registers)).find_map(|fewer| {
            let registers = needs.registers - fewer;
            let other = more(&Needs { registers, ..*needs })?;
            let (now, then) = (percent(occupancy), percent(&other));
            let plural = if fewer == 1 { "register" } else { "registers" };
            Some(format!(
                "{fewer} {plural} a thread fewer ({registers} for {}) would raise the occupancy from {now} to {then}: --maxrregcount {registers}",
                needs.registers
            ))
        }),
        Limiter::SharedMemory => {
            let room = sm.shared_memory / (occupancy.blocks + 1) / sm.shared_allocation_unit * sm.shared_allocation_unit;
            let shared = room.checked_sub(sm.reserved_shared_per_cta)?;
            let fewer = needs.shared.checked_sub(shared)?;
            let other = more(&Needs { shared, ..*needs })?;
            (f64::from(fewer) <= SHARED_TO_SPARE * f64::from(needs.shared)).then(|| {
                let (now, then) = (percent(occupancy), percent(&other));
                format!(
                    "{fewer} bytes of shared memory a block fewer ({shared} for {}) would raise the occupancy from {now} to {then}",
                    needs.shared
                )
            })
        }
        Limiter::Blocks => {
            let threads = sm.max_warps.div_ceil(sm.max_ctas) * sm.warp_size;
            (needs.threads < threads).then(|| {
                let (most, now, asked) = (sm.max_ctas, percent(occupancy), needs.threads);
                format!(
                    "a multiprocessor holds {most} blocks, and blocks of {asked} threads fill {now} of it: blocks of {threads} threads can fill it"
                )
            })
        }
        Limiter::Warps => None,
    }
}

/// The worst instructions for a cause: those for which `badness` is above zero.
fn worst(report: &TimingReport, badness: impl Fn(&InstTiming) -> u64) -> Vec<&InstTiming> {
    let mut found: Vec<(u64, &InstTiming)> =
        report.by_instruction.iter().map(|inst| (badness(inst), inst)).filter(|(badness, _)| *badness > 0).collect();
    found.sort_by_key(|(badness, inst)| (std::cmp::Reverse(*badness), inst.address));
    found.into_iter().take(NAMED).map(|(_, inst)| inst).collect()
}

/// Mnemonic and address.
fn name(inst: &InstTiming) -> String {
    format!("{} at {:#06x}", mnemonic(inst), inst.address)
}

/// The mnemonic with its modifiers, behind a guard.
fn mnemonic(inst: &InstTiming) -> &str {
    inst.text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or(&inst.text)
}

/// Sectors that a warp needs for neighbouring elements, by the width in a load's or store's name; none for other instructions.
fn sectors_if_coalesced(inst: &InstTiming) -> Option<u64> {
    let mut parts = mnemonic(inst).split('.');
    if !matches!(parts.next(), Some("LDG" | "STG")) {
        return None;
    }
    // 32 lanes, 32 bytes a sector: as many sectors as a lane has bytes.
    let widths = [("U8", 1), ("S8", 1), ("U16", 2), ("S16", 2), ("64", 8), ("128", 16), ("256", 32)];
    Some(parts.find_map(|part| widths.iter().find(|(name, _)| *name == part)).map_or(4, |(_, bytes)| *bytes))
}

/// Accesses of a warp that touch far more sectors than their bytes need.
fn uncoalesced(report: &TimingReport) -> Vec<String> {
    let all: u64 = report.by_instruction.iter().map(|inst| inst.sectors).sum();
    let wasted = |inst: &InstTiming| {
        let ideal = sectors_if_coalesced(inst).map_or(u64::MAX, |ideal| ideal.saturating_mul(inst.requests));
        let wasted = inst.sectors.saturating_sub(ideal);
        let is_plain = inst.sectors as f64 >= UNCOALESCED * ideal as f64 && wasted as f64 >= WORTH_NAMING * all as f64;
        if is_plain { wasted } else { 0 }
    };
    let text = |inst: &InstTiming| {
        let (each, ideal) = (inst.sectors as f64 / inst.requests as f64, sectors_if_coalesced(inst).unwrap_or(0));
        format!(
            "uncoalesced: {} takes {each:.1} sectors a warp, {ideal} if neighbouring threads access neighbouring elements",
            name(inst)
        )
    };
    worst(report, wasted).into_iter().map(text).collect()
}

/// Accesses of shared memory of which conflicts are half or more.
fn bank_conflicts(report: &TimingReport) -> Vec<String> {
    let all: u64 = report.memory.shared_wavefronts;
    let conflicts = |inst: &InstTiming| {
        let is_plain =
            2 * inst.bank_conflicts >= inst.wavefronts && inst.bank_conflicts as f64 >= WORTH_NAMING * all as f64;
        if is_plain { inst.bank_conflicts } else { 0 }
    };
    let text = |inst: &InstTiming| {
        let (conflicts, all) = (inst.bank_conflicts, inst.wavefronts);
        format!(
            "bank conflicts: {} takes {all} cycles of shared memory, {conflicts} of them by conflicts: pad the rows by one element, or swizzle",
            name(inst)
        )
    };
    worst(report, conflicts).into_iter().map(text).collect()
}

/// Waits for code and constants that are touched for the first time.
fn first_touches(report: &TimingReport) -> Option<String> {
    let all: u64 = report.stalls.iter().map(|(_, cycles)| cycles).sum();
    let is_touch = |reason| matches!(reason, StallReason::NoInstruction | StallReason::ImcMiss);
    let touches: u64 = report.stalls.iter().filter(|(reason, _)| is_touch(*reason)).map(|(_, cycles)| cycles).sum();
    let share = touches as f64 / all.max(1) as f64;
    (share >= WORTH_NAMING).then(|| {
        format!(
            "cold caches: {:.0}% of the waiting is for code and constants that no cache holds yet: time a longer launch, or --timing-warm",
            100.0 * share
        )
    })
}

/// Multiprocessors that got no block.
fn idle_multiprocessors(report: &TimingReport) -> Option<String> {
    let (active, all) = (report.active_sms, report.sms);
    (active < all).then(|| {
        format!("{active} of {all} multiprocessors have a block: a larger grid uses the chip; --timing-sms 1 fills one")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_isa::Arch;

    /// The advice on the occupancy of a kernel on sm_80, of which more blocks wait than fit. What fits is what NVIDIA's occupancy
    /// calculator says.
    fn of(threads: u32, registers: u32, shared: u32) -> Option<String> {
        let (needs, sm) = (Needs { threads, registers, shared, cluster: 1 }, Arch::Sm80.sm());
        occupancy(&Occupancy::of(&needs, sm), &Launched { needs: &needs, sm, blocks: 1 << 20 }, 108)
    }

    #[test]
    fn one_register_too_many() {
        let told =
            "1 register a thread fewer (32 for 33) would raise the occupancy from 75% to 100%: --maxrregcount 32";
        assert_eq!(of(256, 33, 0).as_deref(), Some(told));
        assert_eq!(of(256, 32, 0), None);
        // The next step is 40 registers, 80 for 128 threads of four warps.
        assert_eq!(of(256, 60, 0), None);
    }

    #[test]
    fn a_little_too_much_shared_memory() {
        // Of 164 KiB a fourth is 41 KiB, one of which the system keeps.
        let told =
            "4864 bytes of shared memory a block fewer (40960 for 45824) would raise the occupancy from 19% to 25%";
        assert_eq!(of(128, 32, 45824).as_deref(), Some(told));
        assert_eq!(of(128, 32, 54000), None);
    }

    #[test]
    fn blocks_too_small_to_fill_a_multiprocessor() {
        let told = "a multiprocessor holds 32 blocks, and blocks of 32 threads fill 50% of it: blocks of 64 threads can fill it";
        assert_eq!(of(32, 32, 0).as_deref(), Some(told));
    }

    #[test]
    fn nothing_where_all_blocks_fit_at_once() {
        let (needs, sm) = (Needs { threads: 256, registers: 33, shared: 0, cluster: 1 }, Arch::Sm80.sm());
        assert_eq!(occupancy(&Occupancy::of(&needs, sm), &Launched { needs: &needs, sm, blocks: 4 }, 108), None);
    }

    #[test]
    fn lanes_without_a_thread() {
        let of = |threads| {
            let needs = Needs { threads, registers: 16, shared: 0, cluster: 1 };
            partial_warp(&Launched { needs: &needs, sm: Arch::Sm80.sm(), blocks: 1 })
        };
        let told = "a block of 33 threads has 2 warps of 32 lanes, 31 lanes without a thread: make it a multiple of 32";
        assert_eq!(of(33).as_deref(), Some(told));
        assert_eq!(of(64), None);
    }
}
