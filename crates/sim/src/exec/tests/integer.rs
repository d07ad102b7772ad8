//! Integer arithmetic against the host's.

use super::{Warp, wide_words, words};
use crate::lanes::WARP;
use oriole_isa::Arch;

/// A warp with random words in R0, R1, R2.
fn three(seed: u64) -> (Warp, [[u32; WARP]; 3]) {
    let values = [words(3 * seed), words(3 * seed + 1), words(3 * seed + 2)];
    let warp = Warp::new(Arch::Sm80).with(0, values[0]).with(1, values[1]).with(2, values[2]);
    (warp, values)
}

#[test]
fn iadd3_sums_and_carries() {
    for seed in 0..50 {
        let (warp, [a, b, c]) = three(seed);
        let warp = warp.run("IADD3 R4, P0, P1, R0, R1, R2");
        for lane in 0..WARP {
            let sum = u64::from(a[lane]) + u64::from(b[lane]) + u64::from(c[lane]);
            assert_eq!(warp.r(4)[lane], sum as u32);
            assert_eq!(u64::from(warp.p(0, lane)) + u64::from(warp.p(1, lane)), sum >> 32);
        }
    }
}

#[test]
fn pairs_add_and_subtract_by_carry() {
    for seed in 0..50 {
        let (a, b) = (wide_words(seed), wide_words(seed + 1000));
        let warp = Warp::new(Arch::Sm80).with_wide(0, a).with_wide(2, b).run(
            "IADD3 R4, P0, R0, R2, RZ
             IADD3.X R5, R1, R3, RZ, P0, !PT
             IADD3 R6, P1, R0, -R2, RZ
             IADD3.X R7, P2, R1, ~R3, RZ, P1, !PT
             IADD3 R8, P3, R0, R2, RZ
             IMAD.X R9, R1, 0x1, R3, P3
             IADD3 R10, P4, R0, -R2, RZ
             IMAD.X R11, R1, 0x1, ~R3, P4
             IADD3 R12, P5, RZ, -R2, RZ
             IADD3.X R13, RZ, ~R3, RZ, P5, !PT",
        );
        for lane in 0..WARP {
            assert_eq!(warp.wide(4)[lane], a[lane].wrapping_add(b[lane]));
            assert_eq!(warp.wide(6)[lane], a[lane].wrapping_sub(b[lane]));
            assert_eq!(warp.p(2, lane), a[lane] >= b[lane], "no borrow");
            assert_eq!(warp.wide(8)[lane], a[lane].wrapping_add(b[lane]));
            assert_eq!(warp.wide(10)[lane], a[lane].wrapping_sub(b[lane]));
            assert_eq!(warp.wide(12)[lane], b[lane].wrapping_neg());
        }
    }
}

#[test]
fn imad_takes_each_part_of_the_product() {
    for seed in 0..50 {
        let (warp, [a, b, c]) = three(seed);
        let d = wide_words(seed);
        let warp = warp.with_wide(6, d).run(
            "IMAD R10, R0, R1, R2
             IMAD.WIDE R12, R0, R1, R6
             IMAD.WIDE.U32 R14, P0, R0, R1, R6
             IMAD.HI R16, R0, R1, R6
             IMAD.HI.U32 R17, P1, R0, R1, R6
             IMAD.WIDE R18, R0, 0x10, R6
             IMAD.HI.U32 R20, R0, R1, RZ
             IMAD R21, R0, R1, -R2",
        );
        for lane in 0..WARP {
            let (a, b, c, d) = (a[lane], b[lane], c[lane], d[lane]);
            let unsigned = u128::from(a) * u128::from(b) + u128::from(d);
            let signed = i128::from(a as i32) * i128::from(b as i32) + i128::from(d as i64);
            assert_eq!(warp.r(10)[lane], a.wrapping_mul(b).wrapping_add(c));
            assert_eq!(warp.wide(12)[lane], signed as u64);
            assert_eq!(warp.wide(14)[lane], unsigned as u64);
            assert_eq!(warp.p(0, lane), unsigned >> 64 != 0);
            assert_eq!(warp.r(16)[lane], (signed >> 32) as u32);
            assert_eq!(warp.r(17)[lane], (unsigned >> 32) as u32);
            assert_eq!(warp.p(1, lane), unsigned >> 64 != 0);
            assert_eq!(warp.wide(18)[lane], (i64::from(a as i32) * 16).wrapping_add(d as i64) as u64);
            assert_eq!(warp.r(20)[lane], ((u64::from(a) * u64::from(b)) >> 32) as u32);
            assert_eq!(warp.r(21)[lane], a.wrapping_mul(b).wrapping_sub(c));
        }
    }
}

#[test]
fn lea_adds_scaled_indices_to_pairs() {
    for seed in 0..20 {
        let (index, base) = (words(seed), wide_words(seed + 7));
        for shift in [0, 1, 2, 5, 17, 31] {
            let text = format!(
                "LEA R4, P0, R0, R2, {shift:#x}
                 LEA.HI.X.SX32 R5, R0, R3, {shift:#x}, P0
                 LEA R6, P1, R0, R2, {shift:#x}
                 LEA.HI.X R7, R0, R3, RZ, {shift:#x}, P1
                 LEA.HI.SX32 R8, R0, RZ, {shift:#x}
                 LEA.HI R9, R0, R0, RZ, 0x1"
            );
            let warp = Warp::new(Arch::Sm80).with(0, index).with_wide(2, base).run(&text);
            for lane in 0..WARP {
                let signed = (i64::from(index[lane] as i32) << shift) as u64;
                let unsigned = u64::from(index[lane]) << shift;
                assert_eq!(warp.wide(4)[lane], base[lane].wrapping_add(signed));
                assert_eq!(warp.wide(6)[lane], base[lane].wrapping_add(unsigned));
                assert_eq!(warp.r(8)[lane], (signed >> 32) as u32);
                // The first step of a signed division by two.
                assert_eq!(warp.r(9)[lane], index[lane].wrapping_add(index[lane] >> 31));
            }
        }
    }
}

#[test]
fn pairs_compare_by_the_high_words_first() {
    type Holds = fn(std::cmp::Ordering) -> bool;
    let comparisons: [(&str, Holds); 6] = [
        ("LT", |order| order.is_lt()),
        ("EQ", |order| order.is_eq()),
        ("LE", |order| order.is_le()),
        ("GT", |order| order.is_gt()),
        ("NE", |order| order.is_ne()),
        ("GE", |order| order.is_ge()),
    ];
    for seed in 0..20 {
        let (a, mut b) = (wide_words(seed), wide_words(seed + 500));
        for lane in (0..WARP).step_by(4) {
            // Some that are equal, and some that differ in the low word only.
            b[lane] = a[lane];
            b[lane + 1] = a[lane + 1] ^ 1;
        }
        for (name, holds) in comparisons {
            let text = format!(
                "ISETP.{name}.U32.AND P0, PT, R0, R2, PT
                 ISETP.{name}.AND.EX P1, P4, R1, R3, PT, P0
                 ISETP.{name}.U32.AND.EX P2, PT, R1, R3, PT, P0
                 ISETP.{name}.XOR P3, P5, R0, R2, P6"
            );
            let warp = Warp::new(Arch::Sm80).with_wide(0, a).with_wide(2, b).with_predicate(6, 0x0f0f_0f0f).run(&text);
            for lane in 0..WARP {
                let signed = holds((a[lane] as i64).cmp(&(b[lane] as i64)));
                assert_eq!(warp.p(1, lane), signed, "{name} {:#x} {:#x}", a[lane], b[lane]);
                assert_eq!(warp.p(4, lane), !signed);
                assert_eq!(warp.p(2, lane), holds(a[lane].cmp(&b[lane])));
                let word = holds((a[lane] as i32).cmp(&(b[lane] as i32)));
                let with = 0x0f0f_0f0f_u32 >> lane & 1 != 0;
                assert_eq!((warp.p(3, lane), warp.p(5, lane)), (word ^ with, !word ^ with));
            }
        }
    }
}

#[test]
fn minima_and_maxima_of_words_and_halves() {
    for seed in 0..20 {
        let [a, b, c] = [words(seed), words(seed + 90), words(seed + 190)];
        let warp = Warp::new(Arch::Sm90).with(0, a).with(1, b).with(2, c).run(
            "VIMNMX R4, R0, R1, PT
             VIMNMX.U32 R5, R0, R1, !PT
             VIMNMX.S16x2 R6, R0, R1, PT
             VIMNMX.U16x2 R7, R0, R1, !PT
             VIMNMX.S16x2.RELU R8, R0, R1, !PT
             VIMNMX3 R9, R0, R1, R2, PT
             VIADD.16x2 R10, R0, R1
             VIADDMNMX R11, R0, R1, R2, !PT
             VIADDMNMX.S16x2.RELU R12, R0, R1, R2, PT",
        );
        let halves = |v: u32| [v as u16, (v >> 16) as u16];
        let join = |v: [u16; 2]| u32::from(v[0]) | u32::from(v[1]) << 16;
        for lane in 0..WARP {
            let (x, y, z) = (a[lane], b[lane], c[lane]);
            let by_half = |f: fn(u16, u16) -> u16, x: u32, y: u32| {
                let (x, y) = (halves(x), halves(y));
                join([f(x[0], y[0]), f(x[1], y[1])])
            };
            let sum = by_half(u16::wrapping_add, x, y);
            assert_eq!(warp.r(4)[lane] as i32, (x as i32).min(y as i32));
            assert_eq!(warp.r(5)[lane], x.max(y));
            assert_eq!(warp.r(6)[lane], by_half(|x, y| (x as i16).min(y as i16) as u16, x, y));
            assert_eq!(warp.r(7)[lane], by_half(u16::max, x, y));
            assert_eq!(warp.r(8)[lane], by_half(|x, y| (x as i16).max(y as i16).max(0) as u16, x, y));
            assert_eq!(warp.r(9)[lane] as i32, (x as i32).min(y as i32).min(z as i32));
            assert_eq!(warp.r(10)[lane], sum);
            assert_eq!(warp.r(11)[lane] as i32, (x.wrapping_add(y) as i32).max(z as i32));
            assert_eq!(warp.r(12)[lane], by_half(|x, y| (x as i16).min(y as i16).max(0) as u16, sum, z));
        }
    }
}

#[test]
fn comparisons_that_give_all_ones() {
    for seed in 0..20 {
        let [a, b] = [words(seed), words(seed + 90)];
        let warp = Warp::new(Arch::Sm107).with(0, a).with(1, b).run(
            "VISET.BM.LT.S32 R4, R0, R1
             VISET.BM.GE.U32 R5, R0, R1
             VISET.BM.NE.S32 R6, R0, R0
             VISET.BM.GT.S16x2 R7, R0, R1
             VISET.BM.LE.U8x4 R8, R0, R1",
        );
        let ones = |holds: bool| if holds { u32::MAX } else { 0 };
        for lane in 0..WARP {
            let (x, y) = (a[lane], b[lane]);
            assert_eq!(warp.r(4)[lane], ones((x as i32) < y as i32));
            assert_eq!(warp.r(5)[lane], ones(x >= y));
            assert_eq!(warp.r(6)[lane], 0);
            let half = |at: u32| ones((x >> at) as i16 > (y >> at) as i16) & 0xffff;
            assert_eq!(warp.r(7)[lane], half(0) | half(16) << 16);
            let bytes = x.to_le_bytes().into_iter().zip(y.to_le_bytes());
            let bytes: Vec<u8> = bytes.map(|(x, y)| ones(x <= y) as u8).collect();
            assert_eq!(warp.r(8)[lane].to_le_bytes(), bytes[..]);
        }
    }
}

#[test]
fn predicates_of_packed_minima_tell_where_the_first_was_taken() {
    for seed in 0..20 {
        // Few values, so that there are equal ones.
        let [a, b] = [seed, seed + 90].map(|seed| words(seed).map(|word| word & 0x8001_8001));
        let warp = Warp::new(Arch::Sm90).with(0, a).with(1, b).run(
            "VIMNMX.S16x2 R4, P0, P1, R0, R1, !PT
             VIMNMX.U16x2 R5, P2, P3, R0, R1, PT
             VIMNMX.S16x2 R6, PT, P4, R0, R1, PT",
        );
        for lane in 0..WARP {
            let (low, high) = ((a[lane] as u16, b[lane] as u16), ((a[lane] >> 16) as u16, (b[lane] >> 16) as u16));
            let signed = |(a, b): (u16, u16)| (a as i16, b as i16);
            let ((al, bl), (ah, bh)) = (signed(low), signed(high));
            let expected = [al >= bl, ah >= bh, low.0 <= low.1, high.0 <= high.1, ah <= bh];
            assert_eq!([0, 1, 2, 3, 4].map(|p| warp.p(p, lane)), expected, "lane {lane}");
            assert_eq!(warp.r(4)[lane], u32::from(al.max(bl) as u16) | u32::from(ah.max(bh) as u16) << 16);
        }
    }
}

#[test]
fn dot_products_and_differences() {
    for seed in 0..20 {
        let (warp, [a, b, c]) = three(seed);
        let warp = warp.run(
            "IDP.4A.S8.U8 R4, R0, R1, R2
             IDP.4A.U8.S8 R5, R0, R1, R2
             IDP.2A.LO.S16.U8 R6, R0, R1, R2
             IDP.2A.HI.U16.S8 R7, R0, R1, R2
             VABSDIFF R8, R0, R1, R2
             VABSDIFF.U32 R9, R0, R1, R2
             VABSDIFF4.U8.ACC R10, R0, R1, R2
             VABSDIFF4 R11, R0, R1, R2
             IABS R12, R0
             IMNMX R13, R0, R1, PT
             IMNMX.U32 R14, R0, R1, !PT",
        );
        for lane in 0..WARP {
            let (x, y, z) = (a[lane].to_le_bytes(), b[lane].to_le_bytes(), i64::from(c[lane]));
            let signed = |v: u8| i64::from(v as i8);
            let halves = [a[lane] as u16, (a[lane] >> 16) as u16];
            let dot = |f: &dyn Fn(usize) -> i64, n: usize| (z + (0..n).map(f).sum::<i64>()) as u32;
            assert_eq!(warp.r(4)[lane], dot(&|i| signed(x[i]) * i64::from(y[i]), 4));
            assert_eq!(warp.r(5)[lane], dot(&|i| i64::from(x[i]) * signed(y[i]), 4));
            assert_eq!(warp.r(6)[lane], dot(&|i| i64::from(halves[i] as i16) * i64::from(y[i]), 2));
            assert_eq!(warp.r(7)[lane], dot(&|i| i64::from(halves[i]) * signed(y[i + 2]), 2));
            let difference = i64::from(a[lane] as i32) - i64::from(b[lane] as i32);
            assert_eq!(warp.r(8)[lane], (difference.abs() + z) as u32);
            let difference = i64::from(a[lane]) - i64::from(b[lane]);
            assert_eq!(warp.r(9)[lane], (difference.abs() + z) as u32);
            assert_eq!(warp.r(10)[lane], dot(&|i| (i64::from(x[i]) - i64::from(y[i])).abs(), 4));
            let bytes = std::array::from_fn(|i| (signed(x[i]) - signed(y[i])).unsigned_abs() as u8);
            assert_eq!(warp.r(11)[lane], u32::from_le_bytes(bytes));
            assert_eq!(warp.r(12)[lane], i64::from(a[lane] as i32).unsigned_abs() as u32);
            assert_eq!(warp.r(13)[lane] as i32, (a[lane] as i32).min(b[lane] as i32));
            assert_eq!(warp.r(14)[lane], a[lane].max(b[lane]));
        }
    }
}

#[test]
fn inactive_lanes_keep_their_registers() {
    let (mut warp, [a, b, _]) = three(5);
    warp.state.active = 0xffff;
    let warp = warp.run("IADD3 R0, R0, R1, RZ\nISETP.EQ.AND P0, PT, R0, R0, PT");
    for lane in 0..WARP {
        let expected = if lane < 16 { a[lane].wrapping_add(b[lane]) } else { a[lane] };
        assert_eq!(warp.r(0)[lane], expected);
        assert_eq!(warp.p(0, lane), lane < 16);
    }
}

#[test]
fn the_uniform_twins_do_the_same() {
    let mut warp = Warp::new(Arch::Sm80);
    warp.state.set_ur(4, 0xffff_fff0);
    warp.state.set_ur(5, 0x21);
    let warp = warp.run(
        "UIADD3 UR6, UP0, UR4, UR5, URZ
         UIADD3.X UR7, URZ, URZ, URZ, UP0, !UPT
         UIMAD UR8, UR4, UR5, UR6
         USHF.L.U32 UR9, UR5, 0x4, URZ
         ULOP3.LUT UR10, UR4, UR5, URZ, 0x3c, !UPT
         UISETP.GT.U32.AND UP1, UPT, UR4, UR5, UPT
         USEL UR11, UR4, UR5, !UP1
         ULEA UR12, UR5, UR4, 0x2
         UPOPC UR13, UR4
         UFLO.U32 UR14, UR5
         UMOV UR15, 0x1234",
    );
    let ur = |n| warp.state.ur(n);
    assert_eq!((ur(6), ur(7)), (0x11, 1));
    assert_eq!(ur(8), 0xffff_fff0_u32.wrapping_mul(0x21).wrapping_add(0x11));
    assert_eq!((ur(9), ur(10), ur(11)), (0x210, 0xffff_ffd1, 0x21));
    assert_eq!((ur(12), ur(13), ur(14), ur(15)), (0x74, 28, 5, 0x1234));
}
