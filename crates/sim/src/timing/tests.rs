//! Microbenchmarks whose cycles follow from the chip's published numbers by hand arithmetic.
//!
//! Most compare two lengths of one code, so that what is around it falls away. Instructions and constants are at hand
//! in all but those of [`front_end`].

mod blackwell;
mod front_end;
mod hopper;

use super::launch::replay;
use super::lines::Held;
use super::occupancy::Needs;
use super::{StallReason, TimingReport};
use crate::block::{Entry, fill_bank0};
use crate::constant::ConstantBanks;
use crate::grid;
use crate::machine::Machine;
use crate::program::Program;
use crate::resources::Resources;
use oriole_device::texture::Objects;
use oriole_device::{Launch, Memory, Unstarted};
use oriole_isa::chip::Chip;
use oriole_isa::{Arch, Control, Inst};
use std::sync::Arc;

const CODE: u64 = 0x4_0000_0000;
/// Bytes of the buffer that kernels get as their parameter.
const BUFFER: u64 = 8 << 20;
/// Bytes of shared memory of a block, as far as the functional simulation is asked.
const SHARED: u64 = 128 << 10;

/// A line of SASS, with the control word behind `&`: `S` stall count, `W` and `R` scoreboards, `B` the scoreboards
/// to wait for. Without: stall count 1.
fn instruction(line: &str, arch: Arch, resolve: &dyn Fn(&str) -> Option<i64>) -> Inst {
    let (text, control) = line.split_once('&').unwrap_or((line, ""));
    let mut inst = oriole_isa::parse(text.trim(), arch, resolve).unwrap_or_else(|error| panic!("{text}: {error}"));
    inst.control = Control { stall: 1, stay: true, ..Control::NONE };
    for item in control.split_whitespace() {
        let numbers: Vec<u8> = item[1..].split(',').map(|n| n.parse().expect("a number")).collect();
        match &item[..1] {
            "S" => inst.control.stall = numbers[0],
            "W" => inst.control.write_scoreboard = numbers[0],
            "R" => inst.control.read_scoreboard = numbers[0],
            _ => inst.control.wait_mask = numbers.iter().map(|n| 1 << n).sum(),
        }
    }
    inst
}

fn assemble(text: &str, arch: Arch) -> Program {
    let mut labels = Vec::new();
    let mut code = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_suffix(':') {
            Some(label) => labels.push((label, 16 * code.len() as i64)),
            None => code.push(line),
        }
    }
    let resolve = |name: &str| labels.iter().find(|(label, _)| *label == name).map(|(_, at)| *at);
    Program::of_insts(arch, CODE, code.into_iter().map(|line| instruction(line, arch, &resolve)).collect())
}

/// A launch of a text.
struct Bench {
    arch: Arch,
    grid: u32,
    block: u32,
    registers: u32,
    shared: u32,
    cluster: u32,
    workers: usize,
    /// The second level holds all of the launch before it begins.
    is_warm: bool,
    chip: Chip,
}

/// The chip of a target, with all instructions and constants at hand.
fn chip_of(arch: Arch) -> Chip {
    let mut chip = arch.chip().expect("a chip with data").clone();
    (chip.front_end.instruction_bytes, chip.front_end.constant_bytes) = (0, 0);
    chip
}

impl Bench {
    fn on(arch: Arch) -> Bench {
        let chip = chip_of(arch);
        Bench { arch, grid: 1, block: 32, registers: 32, shared: 0, cluster: 1, workers: 1, is_warm: false, chip }
    }

    fn time(&self, text: &str) -> TimingReport {
        let program = assemble(text, self.arch);
        let mut memory = Memory::new();
        let buffer = memory.allocate("the buffer", BUFFER);
        let launch = Launch {
            grid: [self.grid, 1, 1],
            block: [self.block, 1, 1],
            cluster: [self.cluster, 1, 1],
            params: buffer.to_le_bytes().to_vec(),
            ..Launch::default()
        };
        let entry = Entry {
            launch,
            pc: CODE,
            registers: self.registers,
            shared_size: SHARED,
            has_tensor_book: false,
            is_cluster: self.cluster > 1,
            grid_workspace: 0,
        };
        let mut banks = ConstantBanks::new();
        fill_bank0(&mut banks, &entry, self.arch);
        let held = match self.is_warm {
            true => Held::warm(&program, &banks, &memory),
            false => Held::cold(&banks),
        };
        let machine = Machine {
            resources: Resources {
                memory: &memory,
                heap: None,
                objects: &Objects::default(),
                unstarted: Unstarted::new(&entry.launch),
                constants: Arc::new(banks),
                max_local: 1024,
                absolute_local: 0,
            },
            program: &program,
            max_instructions: 1 << 30,
            deadline: None,
            records: true,
            observer: None,
            skips_absent: false,
        };
        let outcome = grid::run(&entry, &machine, 2);
        assert!(outcome.fault.is_none(), "{:?}", outcome.fault);
        let executed = outcome.counts.statistics(1).warp_instructions;
        let needs =
            Needs { threads: self.block, registers: self.registers, shared: self.shared, cluster: self.cluster };
        let report = replay(&program, &self.chip, &needs, outcome.traces, &held, self.workers, None);
        let report = report.expect("it has no limit");
        assert_eq!(report.instructions, executed, "each instruction is issued once");
        report
    }

    /// Cycles that `count` more of `body` take.
    fn cycles_of(&self, prologue: &str, body: &str, count: u64) -> u64 {
        let text = |count: u64| format!("{prologue}\n{}\nEXIT & S5", format!("{body}\n").repeat(count as usize));
        self.time(&text(2 * count)).cycles - self.time(&text(count)).cycles
    }
}

/// R0: the thread, R2: the buffer.
const PROLOGUE: &str = "
    S2R R0, SR_TID.X & W0
    S2R R1, SR_CTAID.X & W0
    MOV R2, c[0x0][0x160]
    MOV R3, c[0x0][0x164]
    NOP & S4 B0
";

fn stalled(report: &TimingReport, reason: StallReason) -> u64 {
    report.stalls.iter().find(|(known, _)| *known == reason).map_or(0, |(_, cycles)| *cycles)
}

#[test]
fn a_dependent_ffma_takes_its_stall_count() {
    assert_eq!(Bench::on(Arch::Sm80).cycles_of("", "FFMA R0, R1, R2, R0 & S4", 100), 400);
}

/// Four warps in each quarter, four quarters, 32 lanes: 64 or 128 lanes a cycle.
#[test]
fn independent_instructions_reach_the_throughput_of_their_pipe() {
    let body = "
        FFMA R4, R1.reuse, R2.reuse, R4
        FFMA R5, R1.reuse, R2.reuse, R5
        FFMA R6, R1.reuse, R2.reuse, R6
        FFMA R7, R1.reuse, R2.reuse, R7";
    for (arch, lanes) in [(Arch::Sm80, 64), (Arch::Sm86, 128), (Arch::Sm90, 128)] {
        let bench = Bench { block: 512, ..Bench::on(arch) };
        // 1024 lanes wait per instruction and cycle of the body: 16 warps of 32 threads, 4 instructions.
        assert_eq!(bench.cycles_of("", body, 50), 50 * 4 * 512 / lanes, "{arch}");
    }
    let mufu = Bench { block: 512, ..Bench::on(Arch::Sm80) }.cycles_of("", "MUFU.RCP R4, R5 & W0", 40);
    assert_eq!(mufu, 40 * 512 / 16, "16 lanes");
}

/// Three reads of one bank take three cycles (Huerta et al.: a bubble of two); kept operands none.
#[test]
fn register_banks_hold_up_what_they_cannot_read() {
    let bench = Bench::on(Arch::Sm86);
    assert_eq!(bench.cycles_of("", "FFMA R8, R2, R4, R6", 90), 3 * 90);
    assert_eq!(bench.cycles_of("", "FFMA R8, R2, R5, R6", 90), 2 * 90);
    assert_eq!(bench.cycles_of("", "FFMA R8, R2.reuse, R4.reuse, R6", 90), 90);
}

#[test]
fn conflicts_of_shared_memory_take_a_cycle_each() {
    let bench = Bench::on(Arch::Sm80);
    let conflicting = format!("{PROLOGUE}\nIMAD R4, R0, 0x80, RZ & S6");
    let straight = format!("{PROLOGUE}\nIMAD R4, R0, 0x4, RZ & S6");
    let load = "LDS R5, [R4] & W1";
    assert_eq!(bench.cycles_of(&conflicting, load, 50), 32 * 50);
    // One quarter's address unit: an instruction in four cycles.
    assert_eq!(bench.cycles_of(&straight, load, 50), 4 * 50);
    let report = bench.time(&format!("{conflicting}\n{load}\nEXIT & S5"));
    assert_eq!((report.memory.shared_wavefronts, report.memory.bank_conflicts), (32, 31));
}

#[test]
fn dependent_loads_take_the_latency_of_where_they_hit() {
    let bench = Bench::on(Arch::Sm80);
    let load = "LDG.E R4, [R2.64] & W1 S2 B1";
    assert_eq!(bench.cycles_of(PROLOGUE, load, 20), 20 * 38, "first level");
    let strong = "LDG.E.STRONG.GPU R4, [R2.64] & W1 S2 B1";
    assert_eq!(bench.cycles_of(PROLOGUE, strong, 20), 20 * 261, "second level");
    // Each load is of a line of its own.
    let loads: String = (0..20).map(|n| format!("LDG.E R4, [R2.64+{:#x}] & W1 S2 B1\n", 4096 * n)).collect();
    let cold = |loads: &str| bench.time(&format!("{PROLOGUE}\n{loads}\nEXIT & S5 B1")).cycles;
    assert_eq!(cold(&loads) - cold(""), 20 * 466, "device memory");
}

#[test]
fn strided_loads_are_counted_in_sectors() {
    let bench = Bench::on(Arch::Sm80);
    for (stride, sectors) in [(4, 4), (8, 8), (32, 32), (128, 32)] {
        let text = format!("{PROLOGUE}\nIMAD.WIDE.U32 R2, R0, {stride:#x}, R2 & S6\nLDG.E R4, [R2.64] & W1\nEXIT & S5");
        let report = bench.time(&text);
        let load = report.by_instruction.iter().find(|inst| inst.requests > 0).expect("the load");
        assert_eq!((load.requests, load.sectors), (1, sectors), "stride {stride}");
        assert_eq!(report.memory.dram_read, 32 * sectors);
    }
}

/// Two vectors are added, 16 bytes a thread; device memory gives 64 bytes a cycle, of which nothing may be lost
/// but the start.
#[test]
fn adding_vectors_is_bound_by_memory() {
    let mut chip = chip_of(Arch::Sm80);
    chip.sms = 4;
    chip.dram.efficiency = 100;
    chip.dram.megabytes_per_second = 64 * chip.clock_mhz;
    let bench = Bench { grid: 256, block: 256, chip, ..Bench::on(Arch::Sm80) };
    let report = bench.time(&format!(
        "{PROLOGUE}
        IMAD R0, R1, 0x100, R0 & S5
        IMAD.WIDE.U32 R2, R0, 0x10, R2 & S6
        LDG.E.128 R4, [R2.64] & W1
        LDG.E.128 R8, [R2.64+0x200000] & W1
        FADD R4, R4, R8 & B1 S4
        STG.E.128 [R2.64+0x400000], R4 & R2
        EXIT & S5"
    ));
    let bytes = 256 * 256 * 16 * 2;
    assert_eq!(report.memory.dram_read, bytes);
    let least = bytes / 64;
    assert!(report.cycles >= least && report.cycles < least * 110 / 100, "{} of {least}", report.cycles);
    assert!(stalled(&report, StallReason::LongScoreboard) > stalled(&report, StallReason::Wait));
}

#[test]
fn more_warps_hide_latency() {
    let load = "LDG.E.STRONG.GPU R4, [R2.64] & W1 S2 B1";
    let cycles = |block| Bench { block, ..Bench::on(Arch::Sm80) }.cycles_of(PROLOGUE, load, 20);
    assert_eq!(cycles(32), cycles(256));
}

#[test]
fn warps_wait_at_a_barrier_for_the_last() {
    // The first warp comes 400 cycles later.
    let late = "@!P0 FFMA R4, R5, R6, R4 & S4\n".repeat(100);
    let text = format!(
        "{PROLOGUE}
        ISETP.GE.U32.AND P0, PT, R0, 0x20, PT & S13
        @P0 BRA `(join) & S5
        {late}
        join:
        BAR.SYNC.DEFER_BLOCKING 0x0 & S6
        EXIT & S5"
    );
    let report = Bench { block: 256, ..Bench::on(Arch::Sm80) }.time(&text);
    let waited = stalled(&report, StallReason::Barrier);
    assert!((7 * 400..8 * 440).contains(&waited), "seven warps wait 400 cycles: {waited}");
}

/// Three blocks of four, one on each multiprocessor, wait 400 cycles for the fourth and the way to it.
#[test]
fn the_blocks_of_a_cluster_wait_at_its_barrier() {
    let text = |late: usize| {
        format!(
            "S2R R1, SR_CTAID.X & W0
            NOP & S4 B0
            ISETP.NE.U32.AND P0, PT, R1, RZ, PT & S13
            @P0 BRA `(join) & S5
            {}
            join:
            UCGABAR_ARV & S5
            UCGABAR_WAIT & S5
            EXIT & S5",
            "FFMA R4, R5, R6, R4 & S4\n".repeat(late)
        )
    };
    let bench = Bench { grid: 4, cluster: 4, ..Bench::on(Arch::Sm90) };
    let (short, long) = (bench.time(&text(100)), bench.time(&text(200)));
    assert_eq!(long.cycles - short.cycles, 400);
    let waited = |report| stalled(report, StallReason::Barrier);
    assert_eq!(waited(&long) - waited(&short), 3 * 400);
    // Three warps wait 200 instructions of 4 cycles, less the jump over them, and all for the signal, but for the stall
    // counts of the two instructions.
    let latencies = &bench.chip.latencies;
    let (signal, jump) = (u64::from(latencies.cluster_barrier), u64::from(latencies.branch));
    assert_eq!(waited(&long), 3 * (800 - jump) + 4 * (signal - 10));
    assert_eq!(long, Bench { workers: 3, ..bench }.time(&text(200)));
}

/// A block fits on each of three multiprocessors: six blocks take two rounds, three clusters of two take three.
#[test]
fn the_blocks_of_a_cluster_start_together() {
    let mut chip = chip_of(Arch::Sm90);
    chip.sms = 3;
    let text = format!("{}EXIT & S5", "FFMA R0, R1, R2, R0 & S4\n".repeat(2000));
    let cycles = |cluster| {
        let bench = Bench { grid: 6, cluster, shared: 200 * 1024, chip: chip.clone(), ..Bench::on(Arch::Sm90) };
        bench.time(&text).cycles as f64
    };
    let ratio = cycles(2) / cycles(1);
    assert!((ratio - 1.5).abs() < 0.1, "{ratio}");
}

/// A load of what a neighbour has costs the way there and back, one of its own what shared memory costs.
#[test]
fn shared_memory_of_other_blocks_is_further_away() {
    let bench = Bench { grid: 2, cluster: 2, ..Bench::on(Arch::Sm90) };
    let cycles = |other: u32| {
        // The block's rank, or the other's, is byte 24 of the address in the window of shared memory.
        let prologue = format!(
            "S2R R1, SR_CTAID.X & W0
            NOP & S4 B0
            LOP3.LUT R1, R1, {other:#x}, RZ, 0x3c, !PT & S5
            IMAD.SHL.U32 R2, R1, 0x1000000, RZ & S5
            MOV R3, 0x1 & S5"
        );
        bench.cycles_of(&prologue, "LD.E R4, [R2.64+0x400] & W1 S2\nNOP & B1", 10)
    };
    let (near, far) = (cycles(0), cycles(1));
    let latencies = &bench.chip.latencies;
    assert_eq!(far - near, 10 * u64::from(latencies.cluster - latencies.l1));
}

/// Three blocks fit: six take twice as long as three, seven three times.
#[test]
fn blocks_run_in_waves() {
    let mut chip = chip_of(Arch::Sm80);
    chip.sms = 1;
    let chain = "FFMA R0, R1, R2, R0 & S4\n".repeat(2000);
    let cycles = |grid| {
        let bench = Bench { grid, shared: 48 * 1024, chip: chip.clone(), ..Bench::on(Arch::Sm80) };
        bench.time(&format!("{chain}EXIT & S5")).cycles as f64
    };
    let one = cycles(3);
    for (grid, waves) in [(6, 2.0), (7, 3.0)] {
        let ratio = cycles(grid) / one;
        assert!((ratio - waves).abs() < 0.1, "{grid} blocks: {ratio}");
    }
}

/// Double buffering: a group of copies is waited for while the next is on its way.
#[test]
fn copies_to_shared_memory_are_waited_for_by_group() {
    let bench = Bench::on(Arch::Sm80);
    let copy = |at: u32| format!("LDGSTS.E [R4+{:#x}], [R2.64+{:#x}] & R2\nLDGDEPBAR & W0 S4\n", at * 128, at * 4096);
    let text = |left: u32| {
        format!(
            "{PROLOGUE}\nIMAD R4, R0, 0x4, RZ & S6\n{}{}DEPBAR.LE SB0, {left:#x} & S4\nEXIT & S5",
            copy(0),
            "FFMA R8, R9, R10, R8 & S4\n".repeat(50) + &copy(1)
        )
    };
    let (first, both) = (bench.time(&text(1)).cycles, bench.time(&text(0)).cycles);
    // The second copy begins 50 times 4 cycles after the first.
    assert!((190..=215).contains(&(both - first)), "{both} {first}");
}

/// An mbarrier for `count` arrivals at 0x1ff8 of shared memory, UR4 its bits, UR7 its address.
fn with_mbarrier(count: u32) -> String {
    let minus = 0x10_0000 - count;
    format!(
        "UMOV UR4, {:#x} & S2
        UMOV UR5, {:#x} & S2
        UMOV UR7, 0x1ff8 & S12
        MOV R1, RZ & S6
        SYNCS.EXCH.64 URZ, [UR7], UR4 & W1 S2
        NOP & B1",
        minus << 1,
        minus << 11
    )
}

/// Bytes that come from device memory take its latency and their time on the way to the multiprocessor.
#[test]
fn waiting_for_a_copy_in_bulk_takes_as_long_as_its_bytes() {
    let bench = Bench { block: 1, ..Bench::on(Arch::Sm90) };
    let text = |units: u32, wait: &str| {
        format!(
            "{}
            MOV R0, {:#x} & S6
            UMOV UR6, 0x0 & S2
            ULDC.64 UR8, c[0x0][0x210] & S2
            UMOV UR10, {units:#x} & S12
            SYNCS.ARRIVE.TRANS64 RZ, [UR7], R0 & R0 S4
            UBLKCP.S.G [UR6], [UR8], UR10 & R1 S4
            {wait}
            EXIT & S5 B0,1",
            with_mbarrier(1),
            16 * units
        )
    };
    let waited = |units| {
        let wait = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R1 & W2 S2\nNOP & B2";
        let report = bench.time(&text(units, wait));
        assert!(report.cycles > bench.time(&text(units, "")).cycles);
        stalled(&report, StallReason::Barrier)
    };
    let (small, large) = (waited(2), waited(0x1f0));
    let latency = u64::from(bench.chip.dram.latency + bench.chip.bulk_copies.latency);
    assert!((latency - 50..latency + 100).contains(&small), "{small} for one sector");
    // 7904 bytes more, 64 a cycle.
    let more = (0x1f0 - 2) * 16 / 64;
    assert!((more - 20..more + 120).contains(&(large - small)), "{large} after {small}");
}

/// Two warps: that whose threads compare so with 32 does what `wait` says, the other arrives behind `count` dependent products, of four
/// cycles each.
fn arrival_behind_arithmetic(compare: &str, count: usize, wait: &str) -> TimingReport {
    let text = format!(
        "{}
        S2R R0, SR_TID.X & W0
        NOP & B0
        ISETP.{compare}.U32.AND P0, PT, R0, 0x20, PT & S13
        BAR.SYNC.DEFER_BLOCKING 0x0 & S6
        @P0 BRA `(wait) & S5
        {}
        SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR7], RZ & R0 S4
        EXIT & S5 B0
        wait:
        {wait}",
        with_mbarrier(32),
        "FFMA R4, R5, R6, R4 & S4\n".repeat(count)
    );
    Bench { block: 64, ..Bench::on(Arch::Sm90) }.time(&text)
}

/// A warp waits for another's arrival, 400 cycles late.
#[test]
fn warps_wait_for_arrivals_at_an_mbarrier() {
    let wait = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R1 & W2 S2\nEXIT & S5 B2";
    let late = |count| stalled(&arrival_behind_arithmetic("GE", count, wait), StallReason::Barrier);
    assert_eq!(late(200) - late(100), 400);
}

/// Who sleeps at an mbarrier wakes when its phase is over, however long the sleep may be: 10 ms are 18 million cycles. The other warp
/// arrives behind 800 cycles of arithmetic.
#[test]
fn a_sleep_at_an_mbarrier_ends_with_its_phase() {
    let wait = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R1 & W2 S2
        @!P0 NANOSLEEP.SYNCS 0x989680 & B2 S5
        @!P0 BRA `(wait) & S5
        EXIT & S5";
    let report = arrival_behind_arithmetic("LT", 200, wait);
    assert!((800..20_000).contains(&report.cycles), "{} cycles", report.cycles);
}

#[test]
fn the_estimate_is_the_same_on_any_number_of_host_threads() {
    let text = format!(
        "{PROLOGUE}
        IMAD R0, R1, 0x40, R0 & S5
        IMAD.WIDE.U32 R6, R0, 0x44, R2 & S6
        MOV R9, RZ & S4
        loop:
        LDG.E R4, [R6.64] & W1
        RED.E.ADD.STRONG.GPU [R2.64], R0 & R3
        IADD3 R9, R9, 0x1, RZ & S4
        ISETP.LE.U32.AND P0, PT, R9, R1, PT & S13 B1
        @P0 BRA `(loop) & S5
        STG.E [R6.64], R4 & R2
        EXIT & S5"
    );
    for chip in [chip_of(Arch::Sm80), Arch::Sm80.chip().expect("a chip with data").clone()] {
        let time =
            |workers| Bench { grid: 40, block: 64, workers, chip: chip.clone(), ..Bench::on(Arch::Sm80) }.time(&text);
        let one = time(1);
        assert_eq!(one, time(3));
        assert_eq!(one, time(4));
        assert_eq!(one, time(8));
    }
}
