//! What instruction and constant caches cost, and what a warm second level and a cut chip change.

use super::{Arch, Bench, Chip, PROLOGUE, StallReason, chip_of, stalled};
use oriole_isa::chip::LINE;

/// Instructions of a line.
const PER_LINE: u64 = LINE / 16;
/// A chain of these takes its stall count each.
const LINK: &str = "FFMA R0, R1, R2, R0 & S4";
/// Cycles of it.
const STALL: u64 = 4;

/// The chip of a target with its instruction caches; constants are at hand.
fn with_instructions(arch: Arch) -> Bench {
    let mut chip = chip_of(arch);
    chip.front_end.instruction_bytes = whole(arch).front_end.instruction_bytes;
    Bench { chip, ..Bench::on(arch) }
}

/// The chip of a target with its constant caches; instructions are at hand.
fn with_constants(arch: Arch) -> Bench {
    let mut chip = chip_of(arch);
    chip.front_end.constant_bytes = whole(arch).front_end.constant_bytes;
    Bench { chip, ..Bench::on(arch) }
}

fn whole(arch: Arch) -> &'static Chip {
    arch.chip().expect("a chip with data")
}

/// While a warp executes a line, the stream buffer has asked for the eight after it. The ninth is asked for when the warp
/// turns to the next line, in the last instruction of this one; so nine lines take the way to memory and what comes
/// before that instruction, if that is longer than nine lines of instructions.
#[test]
fn straight_code_comes_no_faster_than_it_is_fetched() {
    for (arch, is_warm) in [(Arch::Sm80, false), (Arch::Sm80, true), (Arch::Sm86, false), (Arch::Sm75, true)] {
        let bench = Bench { is_warm, ..with_instructions(arch) };
        let chip = &bench.chip;
        let way = u64::from(if is_warm { chip.l2.latency } else { chip.dram.latency });
        let ahead = u64::from(chip.front_end.stream_lines) + 1;
        let period = (ahead * PER_LINE * STALL).max(way + (PER_LINE - 1) * STALL);
        assert_eq!(bench.cycles_of("", LINK, 4 * ahead * PER_LINE), 4 * period, "{arch}, warm: {is_warm}");
    }
}

/// Cycles of one round of a loop of `links` links after the first rounds.
fn round(bench: &Bench, links: usize) -> u64 {
    let text = |rounds: u32| {
        format!(
            "MOV R9, RZ & S4
            loop:
            {}
            IADD3 R9, R9, 0x1, RZ & S4
            ISETP.LT.U32.AND P0, PT, R9, {rounds:#x}, PT & S13
            @P0 BRA `(loop) & S5
            EXIT & S5",
            format!("{LINK}\n").repeat(links)
        )
    };
    let cycles = bench.time(&text(6)).cycles - bench.time(&text(2)).cycles;
    assert!(cycles.is_multiple_of(4));
    cycles / 4
}

/// A loop that L0 holds is fetched once; of a longer one each round begins with a miss, behind which the stream buffer
/// keeps up, as eight lines take longer to execute than one takes to come.
#[test]
fn a_loop_larger_than_l0_pays_in_each_round() {
    for arch in [Arch::Sm75, Arch::Sm80, Arch::Sm90] {
        let bench = with_instructions(arch);
        let front_end = &bench.chip.front_end;
        let in_l0 = (front_end.instruction_bytes / 16) as usize;
        let jump = 4 + 13 + 5 + u64::from(bench.chip.latencies.branch);
        let executed = |links: usize| STALL * links as u64 + jump;
        assert_eq!(round(&bench, in_l0 / 2), executed(in_l0 / 2), "{arch}");
        let more = 2 * in_l0;
        assert_eq!(round(&bench, more), executed(more) + u64::from(front_end.shared_latency), "{arch}");
    }
}

#[test]
fn fetching_is_told_from_other_stalls() {
    let bench = with_instructions(Arch::Sm80);
    let report = bench.time("NOP\nEXIT & S5");
    // One line, from device memory; four sectors.
    assert_eq!(stalled(&report, StallReason::NoInstruction), u64::from(bench.chip.dram.latency));
    assert_eq!((report.memory.l2_fetched, report.memory.l2_fetched_hits, report.memory.dram_read), (4, 0, 128));
    let warm = Bench { is_warm: true, ..bench }.time("NOP\nEXIT & S5");
    assert_eq!((warm.memory.l2_fetched_hits, warm.memory.dram_read), (4, 0));
}

/// Warps of two quarters: the line is on its way from the second level when the other wants it; the other half of it is
/// in the level that they share, which gives one a cycle.
#[test]
fn constant_operands_are_cold_once() {
    let bench = Bench { block: 64, ..with_constants(Arch::Sm80) };
    let text = "FADD R4, R5, c[0x0][0x160] & S4
        FADD R4, R5, c[0x0][0x164] & S4
        FADD R4, R5, c[0x0][0x100] & S4
        FADD R4, R5, c[0x0][0x160] & S4
        EXIT & S5";
    let report = bench.time(text);
    let (second, shared) = (u64::from(bench.chip.l2.latency), u64::from(bench.chip.front_end.shared_latency));
    assert_eq!(stalled(&report, StallReason::ImcMiss), 2 * second + shared + (shared + 1));
    let at_hand = Bench { block: 64, ..Bench::on(Arch::Sm80) }.time(text);
    assert_eq!(report.cycles - at_hand.cycles, second + shared + 1);
    assert_eq!(stalled(&at_hand, StallReason::ImcMiss), 0);
}

/// What a program's own constants hold comes from device memory unless the second level is warm.
#[test]
fn loads_of_constants_are_cold_once() {
    for (arch, load) in [
        (Arch::Sm80, "LDC R4, c[0x0][0x160] & W1 S2 B1"),
        (Arch::Sm80, "LDC R4, c[0x0][R5+0x160] & W1 S2 B1"),
        (Arch::Sm100, "LDCU UR4, c[0x0][0x380] & W1 S2 B1"),
    ] {
        let (cold, at_hand) = (with_constants(arch), Bench::on(arch));
        let text = format!("{load}\n{load}\nEXIT & S5 B1");
        let (second, hit) = (cold.chip.l2.latency, cold.chip.latencies.constant);
        assert_eq!(cold.time(&text).cycles - at_hand.time(&text).cycles, u64::from(second - hit), "{load}");
        assert_eq!(cold.cycles_of("", load, 10), 10 * u64::from(hit), "{load}");
        assert_eq!(cold.time(&text).memory.l2_sectors, 0, "{load}");
    }
}

#[test]
fn a_warm_second_level_has_what_the_buffers_hold() {
    let loads: String = (0..20).map(|n| format!("LDG.E R4, [R2.64+{:#x}] & W1 S2 B1\n", 4096 * n)).collect();
    let text = format!("{PROLOGUE}\n{loads}\nEXIT & S5 B1");
    let bench = Bench::on(Arch::Sm80);
    let step = u64::from(bench.chip.dram.latency - bench.chip.l2.latency);
    let cold = bench.time(&text);
    let warm = Bench { is_warm: true, ..bench }.time(&text);
    assert_eq!(cold.cycles - warm.cycles, 20 * step);
    assert_eq!((warm.memory.l2_hits, warm.memory.dram_read), (20, 0));
    // What does not fit is not there: the buffer is larger than the cache of an A6000.
    let small = Bench { is_warm: true, ..Bench::on(Arch::Sm86) };
    let last = small.time(&format!("{PROLOGUE}\nIADD3 R2, R2, 0x7ff000, RZ & S5\nLDG.E R4, [R2.64] & W1\nEXIT & S5"));
    assert_eq!(last.memory.l2_hits, 0);
}

/// Eight blocks, each with a multiprocessor to itself, on eight, four and two of them.
#[test]
fn half_the_multiprocessors_take_twice_as_long() {
    let text = format!("{}EXIT & S5", format!("{LINK}\n").repeat(2000));
    let cycles = |sms| {
        let chip = chip_of(Arch::Sm80).with_sms(sms);
        Bench { grid: 8, shared: 160 * 1024, chip, ..Bench::on(Arch::Sm80) }.time(&text).cycles as f64
    };
    assert!((cycles(4) / cycles(8) - 2.0).abs() < 0.1);
    assert!((cycles(2) / cycles(8) - 4.0).abs() < 0.2);
}
