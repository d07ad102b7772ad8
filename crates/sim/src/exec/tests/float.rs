//! Single precision against `rustc_apfloat`.

use super::{ROUNDINGS, Stream, Warp, pairs};
use crate::lanes::WARP;
use oriole_isa::Arch;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::Single;

/// Zeros, the ends of the subnormal and normal ranges, ones, infinities, NaNs, and a few between.
pub(super) const CORNERS: [u32; 24] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x0080_0001,
    0x3f80_0000,
    0xbf80_0000,
    0x3f80_0001,
    0x3f7f_ffff,
    0x3f00_0000,
    0x4040_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xff80_0001,
    0x5f00_0000,
    0x1f80_0000,
    0x3eaa_aaab,
    0xc97f_ffff,
];

fn soft(bits: u32) -> Single {
    Single::from_bits(u128::from(bits))
}

fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// What the hardware writes for `value`.
fn written(value: Single, ftz: bool, sat: bool) -> u32 {
    let bits = if value.is_nan() { 0x7fff_ffff } else { value.to_bits() as u32 };
    let bits = if ftz { flush(bits) } else { bits };
    match f32::from_bits(bits) {
        value if sat && value > 1.0 => 1f32.to_bits(),
        value if sat && (value <= 0.0 || value.is_nan()) => 0,
        _ => bits,
    }
}

/// Groups of operands: corners with each other, then random bits near one another in magnitude.
fn operands() -> Vec<([u32; WARP], [u32; WARP])> {
    let mut all = pairs(&CORNERS);
    let mut stream = Stream(77);
    for _ in 0..40 {
        let mut next = || std::array::from_fn(|_| stream.next().unwrap_or_default() as u32);
        let (a, mut b): ([u32; WARP], [u32; WARP]) = (next(), next());
        for lane in 0..WARP / 2 {
            b[lane] = b[lane] & 0x80ff_ffff | a[lane] & 0x7f00_0000;
        }
        all.push((a, b));
    }
    all
}

#[test]
fn sums_products_and_fused_in_all_modes() {
    for (a, b) in operands() {
        let c: [u32; WARP] = std::array::from_fn(|lane| CORNERS[(a[lane] ^ b[lane].rotate_left(9)) as usize % 24]);
        for (suffix, round) in ROUNDINGS {
            for (ftz, sat) in [(false, false), (true, false), (false, true), (true, true)] {
                let (f, s) = (if ftz { ".FTZ" } else { "" }, if sat { ".SAT" } else { "" });
                let text = format!(
                    "FADD{f}{suffix}{s} R4, R0, -R1
                     FMUL{f}{suffix}{s} R5, R0, R1
                     FFMA{f}{suffix}{s} R6, R0, R1, -R2
                     FMUL{f}.D2{suffix}{s} R7, R0, R1"
                );
                let warp = Warp::new(Arch::Sm80).with(0, a).with(1, b).with(2, c).run(&text);
                for lane in 0..WARP {
                    let read = |bits| soft(if ftz { flush(bits) } else { bits });
                    let (x, y, z) = (read(a[lane]), read(b[lane]), read(c[lane]));
                    let at = format!("{:#x} {:#x} {:#x} {text}", a[lane], b[lane], c[lane]);
                    assert_eq!(warp.r(4)[lane], written(x.sub_r(y, round).value, ftz, sat), "{at}");
                    assert_eq!(warp.r(5)[lane], written(x.mul_r(y, round).value, ftz, sat), "{at}");
                    assert_eq!(warp.r(6)[lane], written(x.mul_add_r(y, -z, round).value, ftz, sat), "{at}");
                    // A normal factor is halved exactly.
                    if (2..255).contains(&(a[lane] >> 23 & 0xff)) {
                        let half = soft(a[lane] - (1 << 23)).mul_r(y, round).value;
                        assert_eq!(warp.r(7)[lane], written(half, ftz, sat), "{at}");
                    }
                }
            }
        }
    }
}

#[test]
fn comparisons_know_unordered_operands() {
    type Holds = fn(Option<std::cmp::Ordering>) -> bool;
    let codes: [(&str, Holds); 14] = [
        ("LT", |order| order.is_some_and(|order| order.is_lt())),
        ("EQ", |order| order.is_some_and(|order| order.is_eq())),
        ("LE", |order| order.is_some_and(|order| order.is_le())),
        ("GT", |order| order.is_some_and(|order| order.is_gt())),
        ("NE", |order| order.is_some_and(|order| order.is_ne())),
        ("GE", |order| order.is_some_and(|order| order.is_ge())),
        ("NUM", |order| order.is_some()),
        ("NAN", |order| order.is_none()),
        ("LTU", |order| order.is_none_or(|order| order.is_lt())),
        ("EQU", |order| order.is_none_or(|order| order.is_eq())),
        ("LEU", |order| order.is_none_or(|order| order.is_le())),
        ("GTU", |order| order.is_none_or(|order| order.is_gt())),
        ("NEU", |order| order.is_none_or(|order| order.is_ne())),
        ("GEU", |order| order.is_none_or(|order| order.is_ge())),
    ];
    for (a, b) in pairs(&CORNERS) {
        for (code, holds) in codes {
            let text = format!(
                "FSETP.{code}.AND P0, P1, R0, |R1|, PT
                 FSETP.{code}.FTZ.OR P2, PT, R0, R1, !PT
                 FSET.BF.{code}.AND R4, R0, R1, PT"
            );
            let warp = Warp::new(Arch::Sm80).with(0, a).with(1, b).run(&text);
            for lane in 0..WARP {
                let number = f32::from_bits;
                let plain = holds(number(a[lane]).partial_cmp(&number(b[lane]).abs()));
                assert_eq!((warp.p(0, lane), warp.p(1, lane)), (plain, !plain), "{code}");
                assert_eq!(warp.p(2, lane), holds(number(flush(a[lane])).partial_cmp(&number(flush(b[lane])))));
                let one = holds(number(a[lane]).partial_cmp(&number(b[lane])));
                assert_eq!(warp.r(4)[lane], if one { 0x3f80_0000 } else { 0 });
            }
        }
    }
}

#[test]
fn minima_prefer_numbers_and_order_zeros() {
    for (a, b) in pairs(&CORNERS) {
        // `.XORSIGN` came with sm_86.
        let warp = Warp::new(Arch::Sm90).with(0, a).with(1, b).run(
            "FMNMX R4, R0, R1, PT
             FMNMX R5, R0, R1, !PT
             FMNMX.NAN R6, R0, R1, PT
             FMNMX.XORSIGN R7, |R0|, |R1|, PT",
        );
        for lane in 0..WARP {
            let (x, y) = (f32::from_bits(a[lane]), f32::from_bits(b[lane]));
            // `total_cmp` orders zeros, and everything else that is no NaN as `<` does.
            let least = if x.total_cmp(&y).is_le() { a[lane] } else { b[lane] };
            let greatest = if x.total_cmp(&y).is_le() { b[lane] } else { a[lane] };
            let expected = |of_numbers: u32| match (x.is_nan(), y.is_nan()) {
                (true, true) => 0x7fff_ffff,
                (true, false) => b[lane],
                (false, true) => a[lane],
                _ => of_numbers,
            };
            assert_eq!(warp.r(4)[lane], expected(least));
            assert_eq!(warp.r(5)[lane], expected(greatest));
            assert_eq!(warp.r(6)[lane], if x.is_nan() || y.is_nan() { 0x7fff_ffff } else { least });
            // The host's minimum of magnitudes takes the number beside a NaN too; only two NaNs make one.
            let magnitude = x.abs().min(y.abs());
            let signed = magnitude.to_bits() | (a[lane] ^ b[lane]) & 0x8000_0000;
            assert_eq!(warp.r(7)[lane], if magnitude.is_nan() { 0x7fff_ffff } else { signed });
        }
    }
}

/// The fast path of a compiled division, which is right wherever `FCHK` does not ask for the slow one.
#[test]
fn quotients_that_need_no_check_come_out_right() {
    let mut fast = 0;
    for (a, b) in operands() {
        let warp = Warp::new(Arch::Sm80).with(0, a).with(1, b).run(
            "MUFU.RCP R2, R1
             FCHK P0, R0, R1
             FFMA R3, -R1, R2, 1
             FFMA R2, R2, R3, R2
             FFMA R3, R0, R2, RZ
             FFMA R4, -R1, R3, R0
             FFMA R3, R2, R4, R3
             FFMA R4, -R1, R3, R0
             FFMA R5, R2, R4, R3",
        );
        for lane in (0..WARP).filter(|&lane| !warp.p(0, lane)) {
            let expected = f32::from_bits(a[lane]) / f32::from_bits(b[lane]);
            assert_eq!(warp.r(5)[lane], expected.to_bits(), "{:#x} / {:#x}", a[lane], b[lane]);
            fast += 1;
        }
    }
    assert!(fast > 500, "only {fast} divisions took the fast path");
}
