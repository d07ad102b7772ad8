//! Chips that share an instruction set and yet are not one chip. What is expected here is from ptxas 13.0.88's code for each of them
//! (`tools/chip_pairs.py` beside the repository; docs/isa/latency.md, Pace) and from published tables of compute capabilities.

use oriole_isa::access::Touches;
use oriole_isa::chip::Unit;
use oriole_isa::latency::{Release, SlowUnits};
use oriole_isa::{Arch, Control, Inst, latency};

fn parse(text: &str, arch: Arch) -> Inst {
    oriole_isa::parse(text, arch, &|_| None).unwrap_or_else(|error| panic!("{text}: {error}"))
}

const DOUBLES: [&str; 4] =
    ["DADD R0, R2, R4", "DMUL R0, R2, R4", "DFMA R0, R2, R4, R6", "DSETP.GT.AND P0, PT, R2, R4, PT"];
const WIDE: [&str; 6] = [
    "F2F.F64.F32 R0, R2",
    "F2F.F32.F64 R0, R2",
    "F2I.U64.TRUNC R0, R2",
    "I2F.U64 R0, R2",
    "I2F.F64 R0, R2",
    "FRND.F64.CEIL R0, R2",
];
const NARROW: [&str; 4] = ["F2I.TRUNC.NTZ R0, R2", "MUFU.RCP64H R1, R3", "MUFU.EX2 R0, R2", "POPC R0, R2"];

#[test]
fn scoreboards_of_siblings() {
    for text in DOUBLES {
        let variable = |arch| latency::is_variable(&parse(text, arch), arch);
        assert!(![Arch::Sm90, Arch::Sm100, Arch::Sm107].into_iter().any(variable), "{text}");
        let others = [Arch::Sm80, Arch::Sm86, Arch::Sm87, Arch::Sm89, Arch::Sm88];
        assert!(others.into_iter().chain([Arch::Sm103, Arch::Sm110, Arch::Sm120, Arch::Sm121]).all(variable), "{text}");
    }
    let product = "IMMA.16832.S8.S8 R0, R4.ROW, R8.COL, R0";
    for arch in [Arch::Sm80, Arch::Sm90, Arch::Sm100, Arch::Sm103, Arch::Sm110, Arch::Sm107, Arch::Sm120] {
        let variable = [Arch::Sm103, Arch::Sm107].contains(&arch);
        assert_eq!(latency::is_variable(&parse(product, arch), arch), variable, "{arch}");
    }
}

/// ptxas 13.4.92 and 13.5.37 issue doubles of sm_103 and sm_120 back to back, 13.0.88 to 13.3.73 do not (asked of each by one kernel of six doubles). What
/// sm_107 keeps is 13.5.37's.
#[test]
fn code_of_later_tools_keeps_no_pace_of_doubles() {
    let is_early = |arch, maker| {
        let mut units = SlowUnits::new(maker);
        let mut inst = parse("DFMA R0, R2, R4, R6", arch);
        inst.control = Control { stall: 1, stay: true, ..Control::NONE };
        let touches = Touches::of(&inst, arch);
        units.issue(0, &inst, &touches, arch);
        units.issue(1, &inst, &touches, arch).is_some()
    };
    for arch in [Arch::Sm103, Arch::Sm110, Arch::Sm120, Arch::Sm121] {
        assert!(is_early(arch, None) && is_early(arch, Some(Release(13, 0))) && is_early(arch, Some(Release(13, 3))));
        assert!(!is_early(arch, Some(Release(13, 4))) && !is_early(arch, Some(Release(14, 0))), "{arch}");
    }
    assert!(is_early(Arch::Sm107, Some(Release(13, 5))));
}

#[test]
fn paces_of_slow_units() {
    let pace = |text: &str, arch| latency::pace(&parse(text, arch), arch).map(|pace| (pace.unit, pace.cycles));
    for arch in [Arch::Sm103, Arch::Sm110, Arch::Sm120, Arch::Sm121] {
        for text in DOUBLES.iter().chain(&WIDE) {
            assert_eq!(pace(text, arch), Some((Unit::Fp64, 64)), "{text} on {arch}");
        }
        assert_eq!(pace("DMMA.8x8x4 R0, R2, R4, R0", arch), Some((Unit::Fp64, 584)), "{arch}");
        for text in NARROW {
            let paced = arch == Arch::Sm103 && text.starts_with("MUFU");
            assert_eq!(pace(text, arch), paced.then_some((Unit::Xu, 4)), "{text} on {arch}");
        }
        let product = match arch {
            Arch::Sm103 => 64,
            Arch::Sm110 => 8,
            _ => 16,
        };
        assert_eq!(pace("IMMA.16832.S8.S8 R0, R4.ROW, R8.COL, R0", arch), Some((Unit::Fp64, product)), "{arch}");
        let product = if arch < Arch::Sm120 { 8 } else { 16 };
        assert_eq!(pace("HMMA.16816.F32 R0, R4, R8, R0", arch), Some((Unit::Fp64, product)), "{arch}");
    }
    // ptxas 13.5.37 (docs/isa/latency.md, Pace).
    let of_107 = |text| pace(text, Arch::Sm107);
    assert!(DOUBLES.iter().all(|text| of_107(text) == Some((Unit::Fp64, 4))));
    assert!(WIDE.iter().all(|text| of_107(text) == Some((Unit::Xu, 8))));
    assert!(NARROW.iter().all(|text| of_107(text) == text.starts_with("MUFU").then_some((Unit::Xu, 4))));
    assert_eq!(of_107("IMMA.16832.S8.S8 R0, R4.ROW, R8.COL, R0"), Some((Unit::Fp64, 64)));
    assert_eq!(of_107("HMMA.16816.F32 R0, R4, R8, R0"), Some((Unit::Fp64, 8)));
    for arch in [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm87, Arch::Sm89, Arch::Sm88, Arch::Sm90, Arch::Sm100] {
        assert!(DOUBLES.iter().all(|text| pace(text, arch).is_none()), "{arch}");
        assert!(WIDE.iter().chain(&NARROW).all(|text| pace(text, arch) == Some((Unit::Xu, 8))), "{arch}");
    }
}

/// The CUDA programming guide's table of compute capabilities; of 11.0 also the traits of architectures in NVIDIA's CCCL.
#[test]
fn limits_of_siblings() {
    const KIB: u32 = 1024;
    let limits = |arch: Arch| (arch.sm().max_warps, arch.sm().max_ctas, arch.sm().shared_memory / KIB);
    let expected = [
        (Arch::Sm75, (32, 16, 64)),
        (Arch::Sm80, (64, 32, 164)),
        (Arch::Sm86, (48, 16, 100)),
        (Arch::Sm87, (48, 16, 164)),
        (Arch::Sm89, (48, 24, 100)),
        (Arch::Sm90, (64, 32, 228)),
        (Arch::Sm100, (64, 32, 228)),
        (Arch::Sm103, (64, 32, 228)),
        (Arch::Sm110, (48, 24, 228)),
        // Warps and blocks: what ptxas 13.5.37 takes of `.minnctapersm`; shared memory: assumed.
        (Arch::Sm107, (48, 24, 228)),
        (Arch::Sm120, (48, 24, 100)),
        (Arch::Sm121, (48, 24, 100)),
    ];
    for (arch, expected) in expected {
        assert_eq!(limits(arch), expected, "{arch}");
    }
}

#[test]
fn names_of_chips() {
    for arch in Arch::ALL {
        assert_eq!(arch.name().parse(), Ok(arch));
        assert_eq!(Arch::of_capability(arch.number()), Some(arch));
        assert!(arch.set() <= arch && arch.set().set() == arch.set(), "{arch}");
    }
    // What is no chip of its own, with the one that stands for it; sm_101 is the name of sm_110 before CUDA 13.0.
    for (name, arch) in [("sm_52", Arch::Sm50), ("sm_60", Arch::Sm61), ("sm_72", Arch::Sm70), ("sm_101a", Arch::Sm110)]
    {
        assert_eq!(name.parse(), Ok(arch));
    }
}
