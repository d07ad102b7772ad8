//! Conversions against `rustc_apfloat` and the host.

use super::float::CORNERS;
use super::{ROUNDINGS, Stream, Warp, wide_words, words};
use crate::lanes::WARP;
use oriole_isa::Arch;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

const INTEGRAL: [(&str, Round); 4] = [
    ("", Round::NearestTiesToEven),
    (".FLOOR", Round::TowardNegative),
    (".CEIL", Round::TowardPositive),
    (".TRUNC", Round::TowardZero),
];

/// Corners, then random numbers of moderate size.
fn singles() -> Vec<[u32; WARP]> {
    let mut stream = Stream(21);
    let mut all = vec![std::array::from_fn(|lane| CORNERS[lane % CORNERS.len()])];
    for _ in 0..20 {
        all.push(std::array::from_fn(|_| {
            let z = stream.next().unwrap_or_default() as u32;
            z & 0x807f_ffff | (100 + (z >> 23 & 0xff) % 60) << 23
        }));
    }
    all
}

#[test]
fn floats_become_integers() {
    for a in singles() {
        for (suffix, round) in INTEGRAL {
            let text = format!(
                "F2I{suffix}.NTZ R4, R0
                 F2I.U32{suffix}.NTZ R5, R0
                 F2I.S64{suffix} R6, R0
                 F2I.U64{suffix} R8, R0
                 F2I.U8{suffix}.NTZ R10, R0
                 F2I.S16{suffix}.NTZ R11, R0
                 FRND{suffix} R12, R0
                 F2F.F64.F32 R14, R0
                 F2I.F64{suffix} R16, R14
                 F2I.U64.F64{suffix} R18, R14"
            );
            let warp = Warp::new(Arch::Sm80).with(0, a).run(&text);
            for lane in 0..WARP {
                let value = Single::from_bits(u128::from(a[lane]));
                let signed = |width: usize| value.to_i128_r(width, round, &mut false).value as u64;
                let unsigned = |width: usize| value.to_u128_r(width, round, &mut false).value as u64;
                let at = format!("{:#x} {suffix}", a[lane]);
                assert_eq!(warp.r(4)[lane], signed(32) as u32, "{at}");
                assert_eq!(warp.r(5)[lane], unsigned(32) as u32, "{at}");
                assert_eq!(warp.r(10)[lane], unsigned(8) as u32, "{at}");
                assert_eq!(warp.r(11)[lane], signed(16) as u32, "{at}");
                let nan = value.is_nan();
                assert_eq!(warp.wide(6)[lane], if nan { 1 << 63 } else { signed(64) }, "{at}");
                assert_eq!(warp.wide(8)[lane], if nan { 1 << 63 } else { unsigned(64) }, "{at}");
                assert_eq!(warp.r(16)[lane], if nan { 1 << 31 } else { signed(32) as u32 }, "{at}");
                assert_eq!(warp.wide(18)[lane], if nan { 1 << 63 } else { unsigned(64) }, "{at}");
                let integral = value.round_to_integral(round).value.to_bits() as u32;
                assert_eq!(warp.r(12)[lane], if nan { 0x7fff_ffff } else { integral }, "{at}");
            }
        }
    }
}

#[test]
fn integers_become_floats() {
    for seed in 0..20 {
        let (a, b) = (words(seed), wide_words(seed));
        for (suffix, round) in ROUNDINGS {
            let text = format!(
                "I2F{suffix} R4, R0
                 I2F.U32{suffix} R5, R0
                 I2F.S64{suffix} R6, R2
                 I2F.U64{suffix} R7, R2
                 I2F.F64.S64{suffix} R8, R2
                 I2F.F64.U64{suffix} R10, R2
                 I2F.F16{suffix} R12, R0
                 I2F.U8{suffix} R13, R0.B2
                 I2F.S16{suffix} R14, R0.H1"
            );
            let warp = Warp::new(Arch::Sm80).with(0, a).with_wide(2, b).run(&text);
            for lane in 0..WARP {
                fn float<F: Float>(value: i128, round: Round) -> u64 {
                    F::from_i128_r(value, round).value.to_bits() as u64
                }
                let (word, wide) = (a[lane], b[lane]);
                assert_eq!(u64::from(warp.r(4)[lane]), float::<Single>(i128::from(word as i32), round));
                assert_eq!(u64::from(warp.r(5)[lane]), float::<Single>(i128::from(word), round));
                assert_eq!(u64::from(warp.r(6)[lane]), float::<Single>(i128::from(wide as i64), round));
                assert_eq!(u64::from(warp.r(7)[lane]), float::<Single>(i128::from(wide), round));
                assert_eq!(warp.wide(8)[lane], float::<Double>(i128::from(wide as i64), round));
                assert_eq!(warp.wide(10)[lane], float::<Double>(i128::from(wide), round));
                assert_eq!(u64::from(warp.r(12)[lane]), float::<Half>(i128::from(word as i32), round));
                assert_eq!(u64::from(warp.r(13)[lane]), float::<Single>(i128::from(word.to_le_bytes()[2]), round));
                assert_eq!(u64::from(warp.r(14)[lane]), float::<Single>(i128::from((word >> 16) as i16), round));
            }
        }
    }
}

#[test]
fn floats_change_their_format() {
    fn expected<F: Float>(value: Double, round: Round, nan: u32) -> u32
    where
        Double: FloatConvert<F>,
    {
        let value: F = value.convert_r(round, &mut false).value;
        if value.is_nan() { nan } else { value.to_bits() as u32 }
    }
    let mut stream = Stream(8);
    for round_trip in 0..30 {
        let a: [u64; WARP] = std::array::from_fn(|lane| {
            let z = stream.next().unwrap_or_default();
            let spread = [2048, 300, 40][round_trip % 3];
            let exponent = 1024 - spread / 2 + (z >> 52) % spread;
            if lane == 0 {
                0x7ff0 << 48 | (round_trip as u64 & 1) << 51
            } else {
                z & 0x800f_ffff_ffff_ffff | exponent << 52
            }
        });
        for (suffix, round) in ROUNDINGS {
            let text = format!("F2F.F32.F64{suffix} R4, R0\nF2F.F16.F64{suffix} R5, R0\nF2F.BF16.F64{suffix} R6, R0");
            let warp = Warp::new(Arch::Sm80).with_wide(0, a).run(&text);
            for lane in 0..WARP {
                let value = Double::from_bits(u128::from(a[lane]));
                // What the host's conversion makes of a NaN, made quiet.
                let nan = (f64::from_bits(a[lane]) as f32).to_bits() | 1 << 22;
                assert_eq!(warp.r(4)[lane], expected::<Single>(value, round, nan), "{:#x}", a[lane]);
                assert_eq!(warp.r(5)[lane], expected::<Half>(value, round, 0x7fff), "{:#x}", a[lane]);
                assert_eq!(warp.r(6)[lane], expected::<BFloat>(value, round, 0x7fff), "{:#x}", a[lane]);
            }
        }
    }
}

/// As ptxas folds them: `cvt.f64.f16` of a NaN, and 32-bit immediates of 64-bit operands.
#[test]
fn odd_sources_of_conversions() {
    let warp = Warp::new(Arch::Sm80).with(0, [0xfe01; WARP]).run(
        "F2F.F64.F16 R2, R0
         F2F.F32.F64.RZ R4, 1.25
         I2F.U64 R5, 0x3ff40000
         FRND.F64.FLOOR R6, +INF",
    );
    assert_eq!(warp.wide(2)[0], 0x7fff_ffff_e000_0000);
    assert_eq!(warp.r(4)[0], 1.25f32.to_bits());
    assert_eq!(warp.r(5)[0], (0x3ff4_0000_0000_0000_u64 as f32).to_bits());
    assert_eq!(warp.wide(6)[0], 0x7ff0 << 48);
}

#[test]
fn packed_conversions() {
    for a in singles() {
        let b: [u32; WARP] = std::array::from_fn(|lane| a[(lane + 5) % WARP]);
        let warp = Warp::new(Arch::Sm80).with(0, a).with(1, b).run(
            "F2FP.PACK_AB R4, R0, R1
             F2FP.BF16.PACK_AB.RZ R5, R0, R1
             F2FP.RELU.PACK_AB R6, R0, R1",
        );
        for lane in 0..WARP {
            let value = |bits: u32| Single::from_bits(u128::from(bits));
            let half = |bits: u32| -> u32 {
                let half: Half = value(bits).convert(&mut false).value;
                if half.is_nan() { 0x7fff } else { half.to_bits() as u32 }
            };
            let bfloat = |bits: u32| -> u32 {
                let bfloat: BFloat = value(bits).convert_r(Round::TowardZero, &mut false).value;
                if bfloat.is_nan() { 0x7fff } else { bfloat.to_bits() as u32 }
            };
            assert_eq!(warp.r(4)[lane], half(a[lane]) << 16 | half(b[lane]));
            assert_eq!(warp.r(5)[lane], bfloat(a[lane]) << 16 | bfloat(b[lane]));
            let relu = |bits: u32| if half(bits) & 0x8000 != 0 { 0 } else { half(bits) };
            assert_eq!(warp.r(6)[lane], relu(a[lane]) << 16 | relu(b[lane]));
        }
    }
    let number = |value: f32| [value.to_bits(); WARP];
    let warp = Warp::new(Arch::Sm90).with(0, number(-1.5)).with(1, number(1000.0)).with(2, [0x1234; WARP]).run(
        "F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C R4, R0, R1, R2
         F2FP.SATFINITE.E5M2.F32.PACK_AB_MERGE_C R5, R0, R1, RZ
         F2FP.F16.E5M2.UNPACK_B R6, R5",
    );
    let merged =
        Warp::new(Arch::Sm80).with(0, number(-1.5)).with(2, [0xffff_1234; WARP]).run("F2FP.MERGE_C.RZ R4, R0, R2");
    assert_eq!(merged.r(4)[0], 0x1234_be00, "the low half of C moves up");
    // -1.5 is 1:0111:100 in e4m3 and 1:01111:10 in e5m2; 448 the greatest e4m3; 1024 the nearest e5m2.
    assert_eq!(warp.r(4)[0], 0x1234_bc7e);
    assert_eq!(warp.r(5)[0], 0x0000_be64);
    assert_eq!(warp.r(6)[0], 0xbe00_6400);
}

/// The values of the narrow formats, and of powers of two, on both ways; the expected bits are spelled
/// sign:exponent:fraction in the comments.
#[test]
fn narrow_formats_are_packed_and_unpacked() {
    let number = |value: f32| [value.to_bits(); WARP];
    let warp = |text: &str| {
        Warp::new(Arch::Sm100).with(0, number(-1.5)).with(1, number(9.0)).with(2, [0x1234; WARP]).run(text)
    };
    let packed = warp(
        "F2FP.SATFINITE.E2M3.F32.PACK_AB_MERGE_C R4, R0, R1, R2
         F2FP.SATFINITE.E3M2.F32.PACK_AB_MERGE_C R5, R0, R1, RZ
         F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C R6, R0, R1, R2
         F2FP.E8.F32.PACK_AB_MERGE_C.RZ R7, R0, R1, RZ
         F2FP.E8.F32.PACK_AB_MERGE_C.RP R8, R0, R1, RZ
         F2FP.F16.E2M3.UNPACK_B R9, R4
         F2FP.F16.E2M1.UNPACK_B R10, R6
         F2FP.BF16.E8.UNPACK_B R11, R7",
    );
    // 1:01:100 and the greatest, 7.5; 1:011:10 and 8 (9 ties to even); 1:01:1 and the greatest, 6.
    assert_eq!(packed.r(4)[0], 0x1234_2c1f);
    assert_eq!(packed.r(5)[0], 0x0000_2e18);
    assert_eq!(packed.r(6)[0], 0x0012_34b7);
    // 1 = 2^0 and 8 = 2^3 below, 2 and 16 above; the bias is 127.
    assert_eq!((packed.r(7)[0], packed.r(8)[0]), (0x7f82, 0x8083));
    assert_eq!((packed.r(9)[0], packed.r(10)[0]), (0xbe00_4780, 0xbe00_4600));
    assert_eq!(packed.r(11)[0], 0x3f80_4100);
}

/// 1 + 3/4 of the last place of an f16 is rounded up by three of four random numbers.
#[test]
fn random_rounding_adds_the_random_bits() {
    let value = [(1.0f32 + 0.75 / 1024.0).to_bits(); WARP];
    for (random, up) in [(0, 0), (0x07ff, 0), (0x0800, 1), (0x1fff, 1)] {
        let warp = Warp::new(Arch::Sm100).with(0, value).with(1, value).with(2, [random << 16; WARP]);
        let warp = warp.run("F2FP.F16.F32.PACK_AB.RS R4, R0, R1, R2");
        assert_eq!(warp.r(4)[0], (0x3c00 + up) << 16 | 0x3c00, "{random:x}");
    }
}

/// 65504 is the greatest f16 and 8192 singles lie in its place: those above it become infinity where the random bits carry.
#[test]
fn random_rounding_overflows_by_the_random_bits() {
    for (above, random, expected) in
        [(0, 0x1fff, 0x7bff), (1, 0x1fff, 0x7c00), (0x1fff, 0, 0x7bff), (0x1fff, 1, 0x7c00), (0x2000, 0, 0x7c00)]
    {
        let warp = Warp::new(Arch::Sm100).with(0, [0x477f_e000 + above; WARP]).with(2, [random << 16; WARP]);
        let warp = warp.run("F2FP.F16.F32.PACK_AB.RS R4, R0, RZ, R2\nF2FP.SATFINITE.F16.F32.PACK_AB.RS R5, R0, RZ, R2");
        assert_eq!((warp.r(4)[0] >> 16, warp.r(5)[0] >> 16), (expected, 0x7bff), "{above:x} {random:x}");
    }
}

#[test]
fn integers_are_clamped_and_packed() {
    for seed in 0..20 {
        let (a, b, c) = (words(seed), words(seed + 1), words(seed + 2));
        let warp = Warp::new(Arch::Sm80).with(0, a).with(1, b).with(2, c).run(
            "I2I.U8.S32.SAT R4, R0
             I2I.S16.S32.SAT R5, R0
             I2IP.S8.S32.SAT R6, R0, R1, R2
             I2IP.U16.S32.SAT R7, R0, R1, RZ
             I2IP.U4.S32.SAT R8, R0, R1, R2.24",
        );
        for lane in 0..WARP {
            let (x, y) = (a[lane] as i32, b[lane] as i32);
            assert_eq!(warp.r(4)[lane], x.clamp(0, 255) as u32);
            assert_eq!(warp.r(5)[lane] as i32, x.clamp(-32768, 32767));
            let byte = |v: i32| u32::from(v.clamp(-128, 127) as u8);
            assert_eq!(warp.r(6)[lane], c[lane] << 16 | byte(x) << 8 | byte(y));
            assert_eq!(warp.r(7)[lane], (x.clamp(0, 65535) as u32) << 16 | y.clamp(0, 65535) as u32);
            assert_eq!(warp.r(8)[lane], c[lane] << 8 | (x.clamp(0, 15) as u32) << 4 | y.clamp(0, 15) as u32);
        }
    }
}
