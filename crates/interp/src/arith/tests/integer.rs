//! Integers against the host's.

use super::{Bits, function, rows, wide_rows};

#[test]
fn sums_products_and_minima() {
    let add = function("add.s32 %d, %a, %b");
    let add_sat = function("add.sat.s32 %d, %a, %b");
    let sub_sat = function("sub.sat.s32 %d, %a, %b");
    let high = function("mul.hi.s32 %d, %a, %b");
    let wide = function("mul.wide.s32 %d, %a, %b");
    let relu = function("max.relu.s32 %d, %a, %b");
    let sad = function("sad.s32 %d, %a, %b, %c");
    for [a, b, c] in rows(2000) {
        let (x, y) = (a as i32, b as i32);
        assert_eq!(add.of_u32([a, b]), a.wrapping_add(b));
        assert_eq!(add_sat.of_u32([a, b]) as i32, x.saturating_add(y));
        assert_eq!(sub_sat.of_u32([a, b]) as i32, x.saturating_sub(y));
        assert_eq!(high.of_u32([a, b]), ((i64::from(x) * i64::from(y)) >> 32) as u32);
        assert_eq!(wide.of(&[a.into(), b.into()]) as u64, (i64::from(x) * i64::from(y)) as u64);
        assert_eq!(relu.of_u32([a, b]) as i32, x.max(y).max(0));
        assert_eq!(sad.of_u32([a, b, c]), x.abs_diff(y).wrapping_add(c));
    }
}

#[test]
fn quotients_of_zero_divisors_are_all_ones() {
    for (text, width) in [("div.u32", 32), ("rem.s32", 32), ("div.s64", 64), ("rem.u64", 64), ("div.u16", 16)] {
        assert_eq!(function(&format!("{text} %d, %a, %b")).of(&[7, 0]), (1 << width) - 1, "{text}");
    }
}

#[test]
fn quotients() {
    let (div, rem) = (function("div.s64 %d, %a, %b"), function("rem.s64 %d, %a, %b"));
    for [a, b] in wide_rows(1000).filter(|[_, b]| *b != 0) {
        assert_eq!(div.of_u64([a, b]) as i64, (a as i64).wrapping_div(b as i64));
        assert_eq!(rem.of_u64([a, b]) as i64, (a as i64).wrapping_rem(b as i64));
    }
}

#[test]
fn products_of_64_bits() {
    let high = function("mul.hi.u64 %d, %a, %b");
    let signed = function("mul.hi.s64 %d, %a, %b");
    let mad = function("mad.lo.u64 %d, %a, %b, %c");
    for [a, b, c] in wide_rows(1000) {
        assert_eq!(high.of_u64([a, b]), ((u128::from(a) * u128::from(b)) >> 64) as u64);
        assert_eq!(signed.of_u64([a, b]), ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64);
        assert_eq!(mad.of_u64([a, b, c]), a.wrapping_mul(b).wrapping_add(c));
    }
}

#[test]
fn products_of_24_bits() {
    let (low, high) = (function("mul24.lo.s32 %d, %a, %b"), function("mad24.hi.u32 %d, %a, %b, %c"));
    for [a, b, c] in rows(1000) {
        let signed = |word: u32| i64::from((word << 8) as i32 >> 8);
        assert_eq!(low.of_u32([a, b]), (signed(a) * signed(b)) as u32);
        let product = u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff);
        assert_eq!(high.of_u32([a, b, c]), ((product >> 16) as u32).wrapping_add(c));
    }
}

#[test]
fn packed_elements_do_not_touch() {
    let add = function("add.u16x2 %d, %a, %b");
    let min = function("min.s16x2 %d, %a, %b");
    for [a, b] in rows(1000) {
        let halves = |word: u32| [word as u16, (word >> 16) as u16];
        let ([a0, a1], [b0, b1]) = (halves(a), halves(b));
        let pack = |low: u16, high: u16| u32::from(high) << 16 | u32::from(low);
        assert_eq!(add.of_u32([a, b]), pack(a0.wrapping_add(b0), a1.wrapping_add(b1)));
        let least = |x: u16, y: u16| (x as i16).min(y as i16) as u16;
        assert_eq!(min.of_u32([a, b]), pack(least(a0, b0), least(a1, b1)));
    }
}

#[test]
fn dot_products() {
    let four = function("dp4a.s32.u32 %d, %a, %b, %c");
    let two = function("dp2a.hi.u32.s32 %d, %a, %b, %c");
    for [a, b, c] in rows(1000) {
        let (x, y) = (a.to_le_bytes(), b.to_le_bytes());
        let sum: i32 = (0..4).map(|n| i32::from(x[n] as i8) * i32::from(y[n])).sum();
        assert_eq!(four.of_u32([a, b, c]), (sum as u32).wrapping_add(c));
        let low = i64::from(a & 0xffff) * i64::from(y[2] as i8);
        let high = i64::from(a >> 16) * i64::from(y[3] as i8);
        assert_eq!(two.of_u32([a, b, c]), ((low + high) as u32).wrapping_add(c));
    }
}

/// A sum of 128 bits in two halves, then its difference back, with the carry between the halves.
#[test]
fn carries_and_borrows() {
    let (add, addc) = (function("add.cc.u64 %d, %a, %b"), function("addc.cc.u64 %d, %a, %b"));
    let (sub, subc) = (function("sub.cc.u64 %d, %a, %b"), function("subc.cc.u64 %d, %a, %b"));
    for [a0, a1, b0, b1] in wide_rows(1000) {
        let whole = |low: u64, high: u64| u128::from(high) << 64 | u128::from(low);
        let (sum, carry) = whole(a0, a1).overflowing_add(whole(b0, b1));
        let low = add.results(&[a0.into(), b0.into()], false);
        let high = addc.results(&[a1.into(), b1.into()], low.carry == Some(true));
        assert_eq!((high.values[0] << 64 | low.values[0], high.carry), (sum, Some(carry)));
        let (difference, borrow) = whole(a0, a1).overflowing_sub(whole(b0, b1));
        let low = sub.results(&[a0.into(), b0.into()], false);
        let high = subc.results(&[a1.into(), b1.into()], low.carry == Some(true));
        assert_eq!((high.values[0] << 64 | low.values[0], high.carry), (difference, Some(!borrow)));
    }
}

/// Every instruction that has to do with the flag, for both values of it, is one addition of an adder: `a + b + c`,
/// with `b` complemented in differences, where `c` is the flag, or what makes the plain sum or difference.
#[test]
fn the_flag_is_the_adders_carry() {
    const OPS: [(&str, bool, Option<bool>); 4] = [
        ("add.cc", false, Some(false)),
        ("addc.cc", false, None),
        ("sub.cc", true, Some(true)),
        ("subc.cc", true, None),
    ];
    for (op, complements, fixed) in OPS {
        for (ty, width) in [("u32", 32u32), ("s32", 32), ("u64", 64), ("s64", 64)] {
            let compiled = function(&format!("{op}.{ty} %d, %a, %b"));
            let most = if width == 64 { u64::MAX } else { u64::from(u32::MAX) };
            let corners = [0, 1, 2, most / 2, most / 2 + 1, most - 1, most];
            for (a, b, flag) in corners
                .iter()
                .flat_map(|a| corners.iter().map(move |b| (a, b)))
                .flat_map(|(a, b)| [false, true].map(|flag| (*a, *b, flag)))
            {
                let addend = if complements { !b & most } else { b };
                let sum = u128::from(a) + u128::from(addend) + u128::from(fixed.unwrap_or(flag));
                let found = compiled.results(&[a.into(), b.into()], flag);
                let expected = (sum & u128::from(most), Some(sum >> width != 0));
                assert_eq!((found.values[0], found.carry), expected, "{op}.{ty} {a:#x} {b:#x} {flag}");
            }
        }
    }
}

#[test]
fn products_with_carry() {
    let (low, high) = (function("mad.lo.cc.u32 %d, %a, %b, %c"), function("madc.hi.u32 %d, %a, %b, %c"));
    for [a, b, c, d] in rows(1000) {
        let first = low.results(&[a.into(), b.into(), c.into()], true);
        let second = high.results(&[a.into(), b.into(), d.into()], first.carry == Some(true));
        let expected = (u64::from(a) * u64::from(b)).wrapping_add(u64::from(d) << 32 | u64::from(c));
        assert_eq!(second.values[0] << 32 | first.values[0], Bits::from(expected));
        assert_eq!(second.carry, None);
    }
}
