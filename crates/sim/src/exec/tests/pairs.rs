//! Pairs of singles, halves with singles, and minima of three, against `rustc_apfloat` and the host.

use super::{ROUNDINGS, Warp, words};
use crate::lanes::WARP;
use oriole_isa::Arch;
use rustc_apfloat::ieee::{Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

fn single(bits: u32) -> Single {
    Single::from_bits(u128::from(bits))
}

fn bits(value: Single) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() as u32 }
}

#[test]
fn both_elements_are_rounded_once() {
    for (suffix, round) in ROUNDINGS {
        for seed in 0..20 {
            let source: [[u32; WARP]; 6] = std::array::from_fn(|n| words(seed * 6 + n as u64));
            let warp = (0..6).fold(Warp::new(Arch::Sm100), |warp, n| warp.with(n, source[n]));
            let warp = warp.run(&format!(
                "FADD2{suffix} R8, R0.F32x2.HI_LO, -R2.F32x2.LO_HI
                 FMUL2{suffix} R10, R0.F32x2.HI_LO, R2.F32
                 FFMA2{suffix} R12, R0.F32x2.HI_LO, R2.F32x2.HI_LO, R4.F32x2.HI_LO"
            ));
            for lane in 0..WARP {
                let value = |n: usize| single(source[n][lane]);
                let expected = [
                    value(0).add_r(-value(3), round).value,
                    value(1).add_r(-value(2), round).value,
                    value(0).mul_r(value(2), round).value,
                    value(1).mul_r(value(2), round).value,
                    value(0).mul_add_r(value(2), value(4), round).value,
                    value(1).mul_add_r(value(3), value(5), round).value,
                ];
                let got: Vec<u32> = (8..14).map(|n| warp.r(n)[lane]).collect();
                assert_eq!(got, expected.map(bits), "{suffix} lane {lane}");
            }
        }
    }
}

#[test]
fn halves_join_singles_exactly() {
    for seed in 0..20 {
        let [a, b, c] = [words(3 * seed), words(3 * seed + 1), words(3 * seed + 2)];
        let warp = Warp::new(Arch::Sm120).with(0, a).with(1, b).with(2, c).run(
            "FHADD R4, R0.H1, -R2
             FHFMA R5, R0, R1.H1, R2",
        );
        for lane in 0..WARP {
            let half = |bits: u32| -> Single { Half::from_bits(u128::from(bits & 0xffff)).convert(&mut false).value };
            let nearest = Round::NearestTiesToEven;
            assert_eq!(warp.r(4)[lane], bits(half(a[lane] >> 16).add_r(-single(c[lane]), nearest).value));
            let fused = half(a[lane]).mul_add_r(half(b[lane] >> 16), single(c[lane]), nearest).value;
            assert_eq!(warp.r(5)[lane], bits(fused));
        }
    }
}

#[test]
fn zero_wins_products_with_fmz() {
    let (zero, infinity, nan, tiny) = (0, 0x7f80_0000, 0x7fc0_0000, 1);
    let warp = Warp::new(Arch::Sm80).with(0, [zero; WARP]).with(1, [infinity; WARP]).with(2, [nan; WARP]);
    let warp = warp.with(3, [2.5f32.to_bits(); WARP]).with(4, [tiny; WARP]).run(
        "FMUL.FMZ R8, R0, R1
         FFMA.FMZ R9, R2, R0, R3
         FFMA.FMZ R10, R4, R1, R3
         FMUL.FMZ R11, R3, R3",
    );
    let got: Vec<f32> = (8..12).map(|n| f32::from_bits(warp.r(n)[0])).collect();
    assert_eq!(got, [0.0, 2.5, 2.5, 6.25]);
}

#[test]
fn the_least_of_three_numbers() {
    for seed in 0..20 {
        let [a, b, c] = [words(3 * seed), words(3 * seed + 1), words(3 * seed + 2)];
        let warp = Warp::new(Arch::Sm100).with(0, a).with(1, b).with(2, c).run(
            "FMNMX3 R4, R0, R1, R2, PT
             FMNMX3.NAN R5, R0, R1, R2, !PT",
        );
        for lane in 0..WARP {
            let values = [a[lane], b[lane], c[lane]].map(f32::from_bits);
            let numbers = values.into_iter().filter(|v| !v.is_nan());
            let least = numbers.clone().min_by(f32::total_cmp).map_or(0x7fff_ffff, f32::to_bits);
            assert_eq!(warp.r(4)[lane], least);
            let any_nan = values.iter().any(|v| v.is_nan());
            let most = numbers.max_by(f32::total_cmp).map_or(0x7fff_ffff, f32::to_bits);
            assert_eq!(warp.r(5)[lane], if any_nan { 0x7fff_ffff } else { most });
        }
    }
}

#[test]
fn elements_out_of_bounds_become_zero() {
    let warp = Warp::new(Arch::Sm90).with(0, [0x3c00_fff7; WARP]).with(1, [0x4000_3c00; WARP]);
    let warp = warp.with(2, [0x3c00_3c00; WARP]).run("HFMA2.OOB R4, R0, R1, R2");
    assert_eq!(warp.r(4)[0], 0x4200_0000, "3.0 and nothing");
}

#[test]
fn a_single_among_halves_is_both_elements() {
    let warp = Warp::new(Arch::Sm75).with(0, [0x3c00_4000; WARP]).with(1, [1.0009f32.to_bits(); WARP]);
    let warp = warp.run("HADD2 R4, -RZ.H0_H0, R1.F32\nMOV R5, R0, 0x2");
    let below: Half = single(1.0009f32.to_bits()).convert_r(Round::TowardZero, &mut false).value;
    assert_eq!(u128::from(warp.r(4)[7]), below.to_bits() << 16 | below.to_bits());
    assert_eq!([warp.r(5)[0], warp.r(5)[1], warp.r(5)[4], warp.r(5)[5]], [0, 0x3c00_4000, 0, 0x3c00_4000]);
}
