//! What works by itself after its issue on Hopper: products of warpgroups, copies in bulk, mbarriers across a cluster; and what waits for it.

use super::{Arch, Bench, StallReason, TimingReport, chip_of, stalled, with_mbarrier};

/// Cycles that another product of a warpgroup takes.
fn product_cycles(product: &str) -> u64 {
    let bench = Bench { block: 128, registers: 168, ..Bench::on(Arch::Sm90) };
    let cycles = |count: usize| {
        let products = format!("{product} & S4\n").repeat(count);
        bench.time(&format!("{products}NOP & S4\nWARPGROUP.DEPBAR.LE gsb0, 0x0 & S5\nEXIT & S5")).cycles
    };
    (cycles(48) - cycles(16)) / 32
}

/// What an H800 takes (Luo et al., arXiv 2501.12084): 128 cycles for N of 256, dense; sparse 144 with A in shared memory and
/// 128 with A in registers. The rest by the whitepaper's rates, which N of 64 reaches, and 128 bytes a cycle of shared memory
/// for the 2 KiB of A and the columns of B below that.
#[test]
fn products_of_warpgroups_take_their_multiply_adds_or_their_operands() {
    for (product, cycles) in [
        ("HGMMA.64x256x16.F32 R24, gdesc[UR4], R24, gsb0", 128),
        ("HGMMA.64x256x16.F32 R24, R4, gdesc[UR4], R24, gsb0", 128),
        ("HGMMA.SP.64x256x32.F32 R24, gdesc[UR4], R24, R4, 0x0, gsb0", 144),
        ("HGMMA.SP.64x256x32.F32 R24, R8, gdesc[UR4], R24, R4, 0x0, gsb0", 128),
        ("HGMMA.64x64x16.F32 R24, gdesc[UR4], R24, gsb0", 32),
        ("HGMMA.64x8x16.F32 R24, gdesc[UR4], R24, gsb0", 18),
        ("QGMMA.64x256x32.F32.E4M3.E4M3 R24, gdesc[UR4], R24, gsb0", 128),
        ("IGMMA.64x256x32.S8.S8 R24, gdesc[UR4], R24, gsb0", 128),
    ] {
        assert_eq!(product_cycles(product), cycles, "{product}");
    }
}

/// A product goes on while the warp computes; the warp waits for what is left of it.
#[test]
fn a_warp_waits_for_what_is_left_of_a_product() {
    let bench = Bench { block: 128, registers: 168, ..Bench::on(Arch::Sm90) };
    let waited = |work: usize| {
        let product = "HGMMA.64x256x16.F32 R24, gdesc[UR4], R24, gsb0 & S4\n".repeat(8);
        let work = "FFMA R4, R5, R6, R4 & S4\n".repeat(work);
        let report = bench.time(&format!("{product}{work}WARPGROUP.DEPBAR.LE gsb0, 0x0 & S5\nEXIT & S5"));
        stalled(&report, StallReason::Gmma)
    };
    // Four warps.
    assert_eq!(waited(50) - waited(150), 4 * 400);
    assert_eq!(waited(300), 0);
}

/// Two blocks of a cluster, each on a multiprocessor; both wait at their mbarriers for `bytes`, which `copies` bring. R0 is the rank,
/// P1 holds in block 0; UR8 the buffer, UR12 `copied` units, UR6 and UR7 where they go and the mbarrier, of the block itself.
fn cluster_copy(units: u32, mask: u32, copies: &str) -> TimingReport {
    let bench = Bench { block: 1, grid: 2, cluster: 2, ..Bench::on(Arch::Sm90) };
    let text = format!(
        "S2R R0, SR_CTAID.X & W0
        NOP & S4 B0
        ISETP.NE.U32.AND P1, PT, R0, RZ, PT & S13
        MOV R1, RZ & S6
        R2UR UR14, R0 & W0
        NOP & B0 S12
        {}
        USHF.L.U32 UR15, UR14, 0x18, URZ & S12
        UIADD3 UR7, UR15, 0x1ff8, URZ & S12
        UMOV UR6, UR15 & S12
        MOV R0, {:#x} & S6
        ULDC.64 UR8, c[0x0][0x210] & S2
        UMOV UR12, {:#x} & S12
        SYNCS.EXCH.64 URZ, [UR7], UR4 & W1 S2
        NOP & B1
        SYNCS.ARRIVE.TRANS64 RZ, [UR7], R0 & R0 S4
        UCGABAR_ARV & S5
        UCGABAR_WAIT & S5
        @P1 BRA `(wait) & S5
        {copies}
        wait:
        SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R1 & W2 S2
        NOP & B2 S6
        UCGABAR_ARV & S5
        UCGABAR_WAIT & S5
        EXIT & S5 B0,1",
        "UMOV UR4, 0x1ffffe & S2\nUMOV UR5, 0x7ffff800 & S12",
        16 * units,
        mask << 16 | units,
    );
    bench.time(&text)
}

/// An access to shared memory of another block keeps the network for eight cycles (Luo et al.: 16 bytes a cycle), of this one for one.
#[test]
fn the_network_of_a_cluster_carries_less_than_shared_memory() {
    let bench = Bench { block: 256, grid: 2, cluster: 2, ..Bench::on(Arch::Sm90) };
    let cycles = |other: u32| {
        let prologue = format!(
            "S2R R1, SR_CTAID.X & W0
            S2R R0, SR_TID.X & W0
            NOP & S4 B0
            LOP3.LUT R1, R1, {other:#x}, RZ, 0x3c, !PT & S5
            IMAD.SHL.U32 R2, R1, 0x1000000, RZ & S5
            IMAD R2, R0, 0x4, R2 & S6
            MOV R3, 0x1 & S5"
        );
        bench.cycles_of(&prologue, "LD.E R4, [R2.64+0x400] & W1", 40)
    };
    assert_eq!((cycles(0), cycles(1)), (8 * 40, 8 * 8 * 40));
}

/// A copy to both blocks reads the second level once, and both wait as long for it.
#[test]
fn a_copy_to_several_blocks_is_one_read() {
    let once = cluster_copy(0x80, 3, "UBLKCP.S.G.MULTICAST [UR6], [UR8], UR12 & R1 S4");
    let sectors = 0x80 * 16 / 32;
    assert_eq!((once.memory.l2_sectors, once.memory.dram_read), (sectors, 32 * sectors));
    let waited = stalled(&once, StallReason::Barrier);
    let latency = u64::from(chip_of(Arch::Sm90).dram.latency);
    assert!(waited > 2 * latency, "both wait: {waited}");
    // 64 a cycle to each of the two.
    let twice = cluster_copy(0x180, 3, "UBLKCP.S.G.MULTICAST [UR6], [UR8], UR12 & R1 S4");
    let more = (stalled(&twice, StallReason::Barrier) - waited) / 2;
    assert!((56..200).contains(&more), "{more} for 4096 bytes more");
}

/// Block 1 arrives at the mbarrier of block 0, 400 cycles later in one text than in the other.
#[test]
fn arrivals_of_other_blocks_are_waited_for() {
    let cycles = |late: usize| {
        let bench = Bench { block: 1, grid: 2, cluster: 2, ..Bench::on(Arch::Sm90) };
        let text = format!(
            "S2R R0, SR_CTAID.X & W0
            NOP & S4 B0
            ISETP.NE.U32.AND P1, PT, R0, RZ, PT & S13
            {}
            UCGABAR_ARV & S5
            UCGABAR_WAIT & S5
            @P1 BRA `(arrive) & S5
            SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R1 & W2 S2
            NOP & B2 S6
            BRA `(end) & S5
            arrive:
            {}
            SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ, [UR7], RZ & R0 S4
            end:
            UCGABAR_ARV & S5 B0
            UCGABAR_WAIT & S5
            EXIT & S5",
            // Both write it before the barrier: address 0x1ff8 names block 0.
            with_mbarrier(1),
            "FFMA R4, R5, R6, R4 & S4\n".repeat(late),
        );
        stalled(&bench.time(&text), StallReason::Barrier)
    };
    // Block 0 waits for the arrival, then block 1 no longer for block 0.
    let more = cycles(200) - cycles(100);
    assert_eq!(more, 400);
}

/// A wait at an mbarrier whose phase does not end takes the time of its hint, here 10 µs, of which no more is known.
#[test]
fn a_sleep_at_an_mbarrier_ends_with_its_hint() {
    let text = |nanoseconds: u32| {
        format!(
            "{}
            SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R1 & W2 S2
            @!P0 NANOSLEEP.SYNCS {nanoseconds:#x} & B2 S5
            NOP & S5
            EXIT & S5",
            with_mbarrier(1)
        )
    };
    let bench = Bench::on(Arch::Sm90);
    let more = bench.time(&text(20_000)).cycles - bench.time(&text(10_000)).cycles;
    assert_eq!(more, u64::from(10 * bench.chip.clock_mhz));
}

/// A sleep that no thread executes takes no time.
#[test]
fn a_sleep_that_is_predicated_off_takes_no_time() {
    let cycles = |sleep: &str| {
        let text = format!("ISETP.NE.U32.AND P0, PT, RZ, RZ, PT & S13\n{sleep} & S5\nEXIT & S5");
        Bench::on(Arch::Sm90).time(&text).cycles
    };
    assert_eq!(cycles("@P0 NANOSLEEP 0x989680"), cycles("NOP"));
    assert!(cycles("NANOSLEEP 0x3e8") > cycles("NOP") + 1800);
}

/// The second warp can take registers when the first has given some back, 400 cycles later in one text than in the other.
#[test]
fn registers_are_waited_for() {
    let waited = |late: usize| {
        let text = format!(
            "S2R R0, SR_TID.X & W0
            NOP & S4 B0
            ISETP.LT.U32.AND P0, PT, R0, 0x20, PT & S13
            @P0 BRA `(give) & S5
            USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0x28 & W1 S4
            EXIT & S5 B1
            give:
            {}
            USETMAXREG.DEALLOC.CTAPOOL 0x18 & S4
            EXIT & S5",
            "FFMA R4, R5, R6, R4 & S4\n".repeat(late)
        );
        stalled(&Bench { block: 64, ..Bench::on(Arch::Sm90) }.time(&text), StallReason::Barrier)
    };
    assert_eq!(waited(200) - waited(100), 400);
}

/// A store in bulk is waited for until its bytes have been read: as long as the port takes for them.
#[test]
fn stores_in_bulk_are_waited_for() {
    let waited = |units: u32| {
        let text = format!(
            "UMOV UR6, 0x0 & S2
            ULDC.64 UR8, c[0x0][0x210] & S2
            UMOV UR10, {units:#x} & S12
            UBLKCP.G.S [UR8], [UR6], UR10 & S4
            UTMACMDFLUSH & R0 S4
            NOP & S4
            DEPBAR.LE SB0, 0x0 & S4
            EXIT & S5"
        );
        let report = Bench { block: 1, ..Bench::on(Arch::Sm90) }.time(&text);
        assert_eq!(report.memory.l2_written, u64::from(units) * 16 / 32);
        stalled(&report, StallReason::LongScoreboard)
    };
    assert_eq!(waited(0x180) - waited(0x80), 0x100 * 16 / 64);
}

/// A warp goes twice through `begin` and the wait for the phase that it ends: cycles of one round.
fn round(bench: &Bench, prologue: &str, begin: &str) -> u64 {
    let wait = |parity: u32| {
        format!(
            "{begin}
            SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R{} & W2 S2
            NOP & B2",
            1 + parity
        )
    };
    let prologue = format!("{}\nMOV R2, 0x80000000 & S6\n{prologue}", with_mbarrier(1));
    bench.cycles_of(&prologue, &format!("{}\n{}", wait(0), wait(1)), 4) / 8
}

/// Published: a copy in bulk takes 170 cycles more than a load that the second level has, 263 on an H800 (Luo et al., arXiv
/// 2501.12084); 530, 663 and 925 cycles for 16, 32 and 64 KiB on a B200 (facebookexperimental/triton's latency model).
#[test]
fn copies_in_bulk_take_what_silicon_takes() {
    for (arch, bytes, published) in [
        (Arch::Sm90, 32, 263 + 170),
        (Arch::Sm100, 16 << 10, 530),
        (Arch::Sm100, 32 << 10, 663),
        (Arch::Sm100, 64 << 10, 925),
    ] {
        let bench = Bench { block: 1, is_warm: true, ..Bench::on(arch) };
        let buffer = match arch {
            Arch::Sm90 => "ULDC.64 UR8, c[0x0][0x210] & S12",
            _ => "LDCU.64 UR8, c[0x0][0x380] & W0 S2\nNOP & B0",
        };
        let prologue =
            format!("{buffer}\nMOV R3, {bytes:#x} & S6\nUMOV UR6, 0x2000 & S2\nUMOV UR10, {:#x} & S12", bytes / 16);
        let copy = "SYNCS.ARRIVE.TRANS64 RZ, [UR7], R3 & S4\nUBLKCP.S.G [UR6], [UR8], UR10 & S4";
        let cycles = round(&bench, &prologue, copy);
        assert!(cycles.abs_diff(published) * 20 < published, "{arch}, {bytes} bytes: {cycles}, published {published}");
    }
}

/// An arrival and the wait for it take 123 cycles on a B300 (measured, `shared/silicon` s0898).
#[test]
fn an_arrival_and_a_wait_take_what_silicon_takes() {
    let bench = Bench { block: 1, ..Bench::on(Arch::Sm103) };
    let cycles = round(&bench, "", "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR7], RZ & S4");
    assert!(cycles.abs_diff(123) < 8, "{cycles}");
}

/// An arrival behind copies to shared memory comes when the copies are done, here from device memory, not when it issues.
#[test]
fn arrivals_behind_copies_wait_for_them() {
    let waited = |copy: &str| {
        let text = format!(
            "{}
            LDC.64 R2, c[0x0][0x210] & W0
            MOV R4, RZ & S6
            NOP & B0
            {copy}
            ARRIVES.LDGSTSBAR.64.ARVCNT [UR7] & R1 S4
            SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R1 & W2 S2
            EXIT & S5 B2",
            with_mbarrier(1)
        );
        stalled(&Bench { block: 1, ..Bench::on(Arch::Sm90) }.time(&text), StallReason::Barrier)
    };
    let chip = chip_of(Arch::Sm90);
    let (alone, behind) = (waited("NOP"), waited("LDGSTS.E [R4], [R2.64] & R2 S4"));
    let dram = u64::from(chip.dram.latency);
    assert!((alone + dram - 20..alone + dram + 20).contains(&behind), "{alone} {behind}");
}
