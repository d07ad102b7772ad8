//! Pairs of halves against `rustc_apfloat`.

use super::{Stream, Warp, pairs};
use crate::lanes::WARP;
use oriole_isa::Arch;
use rustc_apfloat::ieee::{BFloat, Half, Single};
use rustc_apfloat::{Float, FloatConvert};

const HALVES: [u32; 16] = [
    0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3c01, 0x3555, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
    0xfd01,
];
const BFLOATS: [u32; 16] = [
    0, 0x8000, 1, 0x8001, 0x007f, 0x0080, 0x3f80, 0xbf80, 0x3f81, 0x3eab, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0,
    0xffa1,
];

/// Operands whose low halves are pairs of corners and whose high halves are random.
fn operands(corners: &[u32]) -> Vec<([u32; WARP], [u32; WARP])> {
    let mut stream = Stream(3);
    let mut random = || stream.next().unwrap_or_default() as u32 & 0xffff_0000;
    pairs(corners).into_iter().map(|(a, b)| (a.map(|v| v | random()), b.map(|v| v | random()))).collect()
}

fn check<F: Float>(arch: Arch, suffix: &str, corners: &[u32]) {
    let one = F::from_u128(1).value;
    for (a, b) in operands(corners) {
        let c = a.map(|v| v.rotate_left(16) ^ 0x8000);
        let text = format!(
            "HADD2{suffix} R4, R0, -R1
             HMUL2{suffix} R5, R0, R1.H0_H0
             HFMA2{suffix} R6, R0, R1, R2
             HFMA2{suffix}.RELU R7, R0, R1, R2
             HFMA2{suffix}.SAT R8, R0.H1_H1, R1, R2
             HFMA2.MMA{suffix} R9, R0, R1, -R2"
        );
        let warp = Warp::new(arch).with(0, a).with(1, b).with(2, c).run(&text);
        for (lane, at) in (0..WARP).flat_map(|lane| [(lane, 0), (lane, 16)]) {
            let element = |bits: u32, at: u32| F::from_bits(u128::from(bits >> at & 0xffff));
            let bits = |value: F| if value.is_nan() { 0x7fff } else { value.to_bits() as u32 };
            let (x, y, z) = (element(a[lane], at), element(b[lane], at), element(c[lane], at));
            let got = |n: usize| warp.r(n)[lane] >> at & 0xffff;
            let case = format!("{:#x} {:#x} {:#x} half {at}", a[lane], b[lane], c[lane]);
            assert_eq!(got(4), bits((x - y).value), "{case}");
            assert_eq!(got(5), bits((x * element(b[lane], 0)).value), "{case}");
            let fused = x.mul_add(y, z).value;
            assert_eq!(got(6), bits(fused), "{case}");
            assert_eq!(got(7), if fused.is_negative() && !fused.is_nan() { 0 } else { bits(fused) }, "{case}");
            let fused = element(a[lane], 16).mul_add(y, z).value;
            let clamped = if fused > one { one } else { fused };
            let positive = clamped > F::ZERO;
            assert_eq!(got(8), if positive { bits(clamped) } else { 0 }, "{case}");
            assert_eq!(got(9), bits(x.mul_add(y, -z).value), "{case}");
        }
    }
}

#[test]
fn arithmetic_of_f16_pairs() {
    check::<Half>(Arch::Sm80, "", &HALVES);
}

#[test]
fn arithmetic_of_bf16_pairs() {
    // HADD2 and HMUL2 of bf16 came with sm_90.
    check::<BFloat>(Arch::Sm90, ".BF16_V2", &BFLOATS);
}

#[test]
fn comparisons_and_minima_of_pairs() {
    for (a, b) in operands(&HALVES) {
        let warp = Warp::new(Arch::Sm80).with(0, a).with(1, b).run(
            "HSETP2.GT.AND P0, P1, R0, R1, PT
             HSETP2.NEU.AND P2, PT, R0.H0_H0, |R1|.H0_H0, PT
             HSET2.BF.LT.AND R4, R0, R1, PT
             HSET2.LEU.AND R5, R0, R1, PT
             HMNMX2 R6, R0, R1, PT
             HADD2.F32 R7, -RZ, R0.H1_H1",
        );
        let other = Warp::new(Arch::Sm90).with(0, a).with(1, b).run("HMNMX2.XORSIGN R8, |R0|, |R1|, !PT");
        for lane in 0..WARP {
            let element = |bits: u32, at: u32| Half::from_bits(u128::from(bits >> at & 0xffff));
            let low = (element(a[lane], 0), element(b[lane], 0));
            let high = (element(a[lane], 16), element(b[lane], 16));
            assert_eq!((warp.p(0, lane), warp.p(1, lane)), (low.0 > low.1, high.0 > high.1));
            assert_eq!(warp.p(2, lane), low.0 != low.1.abs());
            let both = |f: &dyn Fn((Half, Half)) -> u32| f(low) | f(high) << 16;
            assert_eq!(warp.r(4)[lane], both(&|(x, y)| if x < y { 0x3c00 } else { 0 }));
            let unordered = |(x, y): (Half, Half)| x <= y || x.is_nan() || y.is_nan();
            assert_eq!(warp.r(5)[lane], both(&|pair| if unordered(pair) { 0xffff } else { 0 }));
            let minimum = |(x, y): (Half, Half)| match x.is_nan() && y.is_nan() {
                true => 0x7fff,
                // The zeros are ordered, which `minimum` of IEEE 754-2019 does too.
                false if x.is_nan() => y.to_bits() as u32,
                false if y.is_nan() => x.to_bits() as u32,
                false => x.minimum(y).to_bits() as u32,
            };
            assert_eq!(warp.r(6)[lane], both(&minimum));
            // The magnitude with the sign of the product.
            let signed = |magnitude: Half, x: Half, y: Half| {
                magnitude.to_bits() as u32 | u32::from(x.is_negative() != y.is_negative()) << 15
            };
            let maximum = |(x, y): (Half, Half)| match (x.is_nan(), y.is_nan()) {
                (true, true) => 0x7fff,
                (true, false) => signed(y.abs(), x, y),
                (false, true) => signed(x.abs(), x, y),
                _ => signed(x.abs().maximum(y.abs()), x, y),
            };
            assert_eq!(other.r(8)[lane], both(&maximum));
            let single: Single = high.0.convert(&mut false).value;
            let expected = if single.is_nan() { 0x7fff_ffff } else { single.to_bits() as u32 };
            assert_eq!(warp.r(7)[lane], expected);
        }
    }
}
