//! What is said of multiprocessors and chips, against published figures.

use oriole_isa::chip::{Demand, Unit};
use oriole_isa::{Arch, parse};

/// Published occupancy figures (CUDA occupancy tables).
#[test]
fn register_budgets_give_the_published_occupancy() {
    let sm = Arch::Sm80.sm();
    assert_eq!([32, 33, 64, 128, 255].map(|r| sm.warps_by_registers(r)), [64, 48, 32, 16, 8]);
    assert_eq!(Arch::Sm86.sm().warps_by_registers(32), 48);
    // What a damaged file may say.
    assert_eq!([0, 1 << 27, 1 << 31, u32::MAX].map(|r| sm.warps_by_registers(r)), [64, 0, 0, 0]);
}

#[test]
fn each_target_finds_its_own_description() {
    assert_eq!([4352, 4353].map(|bytes| Arch::Sm80.sm().bank0.parameters_of(bytes)), [0x160, 0x1a80]);
    assert_eq!(Arch::Sm86.sm().max_ctas, 16);
    assert_eq!(Arch::Sm89.sm().max_ctas, 24);
    assert_eq!([4352, 4353].map(|bytes| Arch::Sm90.sm().bank0.parameters_of(bytes)), [0x210, 0x210]);
    assert_eq!(Arch::Sm75.sm().bank0.reserved_shared_size, None);
    assert_eq!(Arch::Sm120.sm().bank0.parameters, 0x380);
}

fn demand(arch: Arch, text: &str) -> Demand {
    let inst = parse(text, arch, &|_| None).expect("a proper instruction");
    arch.chip().expect("a described chip").demand(&inst)
}

/// Cycles of 100 in which a quarter can start instructions, against the lanes a clock of NVIDIA's
/// programming guide (table of arithmetic throughput; columns 7.5, 8.0, 8.6, 9.0).
#[test]
fn intervals_give_the_published_throughput() {
    let cases = [
        ("FFMA R0, R1, R2, R3", [64, 64, 128, 128]),
        ("IMAD R0, R1, R2, R3", [64, 64, 64, 64]),
        ("LOP3.LUT R0, R1, R2, R3, 0x96, !PT", [64, 64, 64, 64]),
        ("MUFU.RCP R0, R1", [16, 16, 16, 16]),
        ("DFMA R0, R2, R4, R6", [2, 32, 2, 64]),
    ];
    for (text, lanes) in cases {
        for (arch, lanes) in [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm90].into_iter().zip(lanes) {
            let demand = demand(arch, text);
            // Two units take turns where either will do.
            let units = if demand.unit == Unit::Fma { 2 } else { 1 };
            assert_eq!(4 * 32 * units / u32::from(demand.cycles), lanes, "{text} on {arch}");
        }
    }
}

/// Peak TFLOPS of the whitepapers from the clocks and numbers of multiprocessors of the same papers:
/// A100 312 (f16), 156 (TF32), 624 (s8); T4 65 (f16); H100 SXM 989 (f16, `wgmma`).
#[test]
fn matrix_products_reach_the_published_peaks() {
    let peak = |arch: Arch, text: &str, flops: f64| {
        let chip = arch.chip().expect("described");
        let cycles = f64::from(demand(arch, text).cycles);
        4.0 * flops / cycles * f64::from(chip.sms) * f64::from(chip.clock_mhz) / 1e6
    };
    let near = |found: f64, published: f64| assert!((found / published - 1.0).abs() < 0.08, "{found} {published}");
    near(peak(Arch::Sm80, "HMMA.16816.F32 R0, R4, R8, R0", 2.0 * 2048.0), 312.0);
    near(peak(Arch::Sm80, "HMMA.1688.F32.TF32 R0, R4, R8, R0", 2.0 * 1024.0), 156.0);
    near(peak(Arch::Sm80, "IMMA.16832.S8.S8 R0, R4.ROW, R8.COL, R0", 2.0 * 4096.0), 624.0);
    near(peak(Arch::Sm75, "HMMA.1688.F32 R0, R4, R8, R0", 2.0 * 1024.0), 65.0);
    let wgmma = "HGMMA.64x256x16.F32 R0, gdesc[UR4], R0";
    near(peak(Arch::Sm90, wgmma, 2.0 * 16.0 * 256.0 * 16.0), 989.0);
    assert_eq!(demand(Arch::Sm90, wgmma).cycles, 128, "as Luo et al. measured");
}

/// Half of the multiprocessors have half of the second-level cache and of the bandwidths; what each has stays.
#[test]
fn a_cut_chip_has_its_share() {
    let whole = Arch::Sm80.chip().expect("described");
    let half = whole.with_sms(54);
    assert_eq!((half.l2.bytes, half.l2.slices, half.l2.bytes_per_cycle), (20 << 20, 40, 1004));
    assert_eq!((half.dram.megabytes_per_second, half.dram.channels), (777_500, 20));
    assert_eq!((&half.l1, &half.front_end, half.l2.latency), (&whole.l1, &whole.front_end, whole.l2.latency));
    let one = whole.with_sms(1);
    assert_eq!((one.l2.slices, one.dram.channels, one.dram.megabytes_per_second), (1, 1, 14_398));
}
