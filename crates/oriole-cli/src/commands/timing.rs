//! What `oriole run --timing` prints and writes.

use oriole_sim::{InstTiming, StallReason, TimingReport};
use std::fmt::Write;

/// Reasons shown for an instruction.
const REASONS_SHOWN: usize = 3;

/// The summary, and with `detail` a table of the instructions.
pub(crate) fn text(report: &TimingReport, detail: bool) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = summary(&mut out, report).and_then(|()| if detail { instructions(&mut out, report) } else { Ok(()) });
    out
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn summary(out: &mut String, report: &TimingReport) -> std::fmt::Result {
    let memory = &report.memory;
    let occupancy = &report.occupancy;
    let warps = occupancy.blocks * occupancy.warps_per_block;
    writeln!(out, "timing: {} ({} of {} SMs active), modelled", report.chip, report.active_sms, report.sms)?;
    let (cycles, time, clock) = (report.cycles, report.microseconds(), report.clock_mhz);
    writeln!(out, "  cycles              {cycles}  ({time:.2} us at {clock} MHz)")?;
    if report.unfinished_warps > 0 {
        writeln!(out, "  warning             {} warps could not be replayed to their ends", report.unfinished_warps)?;
    }
    let (count, ipc, slots) = (report.instructions, report.ipc(), 100.0 * report.issue_utilisation());
    writeln!(out, "  instructions        {count}, IPC {ipc:.2} per SM, {slots:.1}% of issue slots")?;
    let (theoretical, achieved) = (100.0 * occupancy.theoretical(), 100.0 * report.achieved_occupancy());
    let (blocks, max, limiter) = (occupancy.blocks, occupancy.max_warps, occupancy.limiter.name());
    writeln!(
        out,
        "  occupancy           {theoretical:.1}% ({blocks} blocks, {warps} of {max} warps per SM; limit: {limiter}), achieved {achieved:.1}%"
    )?;
    let (l1, l2) = (percent(memory.l1_hits, memory.l1_sectors), percent(memory.l2_hits, memory.l2_sectors));
    writeln!(
        out,
        "  L1                  {l1:.1}% of {} load sectors hit ({} KiB per SM)",
        memory.l1_sectors,
        memory.l1_bytes / 1024
    )?;
    writeln!(
        out,
        "  L2                  {l2:.1}% of {} load sectors hit, {} written, {} atomic",
        memory.l2_sectors, memory.l2_written, memory.l2_atomics
    )?;
    let fetched = percent(memory.l2_fetched_hits, memory.l2_fetched);
    writeln!(out, "  code and constants  {} sectors from L2, {fetched:.1}% of them there", memory.l2_fetched)?;
    let bandwidth = report.dram_gigabytes_per_second();
    writeln!(
        out,
        "  DRAM                {} bytes read, {} written, {bandwidth:.1} GB/s",
        memory.dram_read, memory.dram_written
    )?;
    writeln!(
        out,
        "  shared memory       {} wavefronts, {} by bank conflicts",
        memory.shared_wavefronts, memory.bank_conflicts
    )?;
    let mut stalls: Vec<_> = report.stalls.iter().filter(|(_, cycles)| *cycles > 0).collect();
    stalls.sort_by_key(|(_, cycles)| std::cmp::Reverse(*cycles));
    let all: u64 = stalls.iter().map(|(_, cycles)| cycles).sum();
    writeln!(out, "  warp cycles stalled {all} ({:.2} per instruction issued)", all as f64 / count.max(1) as f64)?;
    for (reason, cycles) in stalls {
        writeln!(out, "    {:<18}{cycles:>12}  {:5.1}%", reason.name(), percent(*cycles, all))?;
    }
    report.advice.iter().try_for_each(|advice| writeln!(out, "  advice: {advice}"))
}

fn instructions(out: &mut String, report: &TimingReport) -> std::fmt::Result {
    let mut function = "";
    for inst in &report.by_instruction {
        if inst.function != function {
            function = &inst.function;
            writeln!(out, "\n{function}:")?;
            writeln!(out, "  address      issued      stalled  sect/req  conflicts  instruction  [main stalls]")?;
        }
        let stalled: u64 = inst.stalls.iter().map(|(_, cycles)| cycles).sum();
        let per_request = match inst.requests {
            0 => "-".to_owned(),
            requests => format!("{:.1}", inst.sectors as f64 / requests as f64),
        };
        let conflicts = if inst.wavefronts == 0 { "-".to_owned() } else { inst.bank_conflicts.to_string() };
        writeln!(
            out,
            "  {:>7x} {:>11} {stalled:>12} {per_request:>9} {conflicts:>10}  {}{}",
            inst.address,
            inst.issued,
            inst.text,
            main_stalls(inst, stalled)
        )?;
    }
    Ok(())
}

/// The reasons that make up most of an instruction's stalls.
fn main_stalls(inst: &InstTiming, all: u64) -> String {
    let mut stalls = inst.stalls.clone();
    stalls.sort_by_key(|(_, cycles)| std::cmp::Reverse(*cycles));
    let show = |(reason, cycles): &(StallReason, u64)| format!("{} {:.0}%", reason.name(), percent(*cycles, all));
    match stalls.is_empty() {
        true => String::new(),
        false => format!("  [{}]", stalls.iter().take(REASONS_SHOWN).map(show).collect::<Vec<_>>().join(", ")),
    }
}

/// Everything, as JSON.
pub(crate) fn json(report: &TimingReport) -> serde_json::Value {
    let reasons = |stalls: &[(StallReason, u64)]| -> serde_json::Map<String, serde_json::Value> {
        stalls.iter().map(|(reason, cycles)| (reason.name().to_owned(), (*cycles).into())).collect()
    };
    let instruction = |inst: &InstTiming| {
        serde_json::json!({
            "function": inst.function,
            "address": inst.address,
            "text": inst.text,
            "issued": inst.issued,
            "stalls": reasons(&inst.stalls),
            "requests": inst.requests,
            "sectors": inst.sectors,
            "shared_wavefronts": inst.wavefronts,
            "bank_conflicts": inst.bank_conflicts,
        })
    };
    let (occupancy, memory) = (&report.occupancy, &report.memory);
    let limits: serde_json::Map<String, serde_json::Value> =
        occupancy.limits.iter().map(|(limit, blocks)| (limit.name().to_owned(), (*blocks).into())).collect();
    serde_json::json!({
        "chip": report.chip,
        "sms": report.sms,
        "active_sms": report.active_sms,
        "clock_mhz": report.clock_mhz,
        "cycles": report.cycles,
        "microseconds": report.microseconds(),
        "instructions": report.instructions,
        "unfinished_warps": report.unfinished_warps,
        "ipc": report.ipc(),
        "issue_utilisation": report.issue_utilisation(),
        "occupancy": {
            "theoretical": occupancy.theoretical(),
            "achieved": report.achieved_occupancy(),
            "blocks_per_sm": occupancy.blocks,
            "warps_per_block": occupancy.warps_per_block,
            "limiter": occupancy.limiter.name(),
            "block_limits": limits,
        },
        "stalls": reasons(&report.stalls),
        "memory": {
            "l1_bytes_per_sm": memory.l1_bytes,
            "l1_load_sectors": memory.l1_sectors,
            "l1_load_hits": memory.l1_hits,
            "l2_load_sectors": memory.l2_sectors,
            "l2_load_hits": memory.l2_hits,
            "l2_fetched_sectors": memory.l2_fetched,
            "l2_fetched_hits": memory.l2_fetched_hits,
            "l2_written_sectors": memory.l2_written,
            "l2_atomic_sectors": memory.l2_atomics,
            "dram_read_bytes": memory.dram_read,
            "dram_written_bytes": memory.dram_written,
            "dram_gigabytes_per_second": report.dram_gigabytes_per_second(),
            "shared_wavefronts": memory.shared_wavefronts,
            "bank_conflicts": memory.bank_conflicts,
        },
        "advice": report.advice,
        "by_instruction": report.by_instruction.iter().map(instruction).collect::<Vec<_>>(),
    })
}
