//! Conversions against the host's casts and exhaustive search in the narrow formats.

use half::{bf16, f16};

use super::{Bits, Function, function, rows, wide_rows};

#[test]
fn integers_to_integers() {
    let narrow = function("cvt.s8.u32 %d, %a");
    let sat = function("cvt.sat.u16.s32 %d, %a");
    let wide = function("cvt.s64.s16 %d, %a");
    for [a] in rows(1000) {
        assert_eq!(narrow.of_u32([a]) as u8, a as u8);
        assert_eq!(sat.of_u32([a]), (a as i32).clamp(0, 0xffff) as u32);
        assert_eq!(wide.of(&[(a & 0xffff).into()]) as u64, i64::from(a as i16) as u64);
    }
}

/// Rust's casts saturate and take NaN as zero, like the conversions of 32 bits.
#[test]
fn floats_to_integers() {
    let zero = function("cvt.rzi.s32.f32 %d, %a");
    let nearest = function("cvt.rni.u32.f32 %d, %a");
    let down = function("cvt.rmi.s64.f64 %d, %a");
    for [a] in rows(3000) {
        let value = f32::from_bits(a);
        assert_eq!(zero.of_u32([a]), value as i32 as u32);
        assert_eq!(nearest.of_u32([a]), value.round_ties_even() as u32);
    }
    for [a] in wide_rows(3000) {
        let value = f64::from_bits(a);
        let expected = if value.is_nan() { i64::MIN } else { value.floor() as i64 };
        assert_eq!(down.of_u64([a]), expected as u64, "{value:e}");
    }
}

#[test]
fn integers_to_floats() {
    let single = function("cvt.rn.f32.s64 %d, %a");
    let up = function("cvt.rp.f32.u64 %d, %a");
    for [a] in wide_rows(2000) {
        assert_eq!(single.of_u64([a]) as u32, (a as i64 as f32).to_bits());
        let above = f32::from_bits(up.of_u64([a]) as u32);
        let exact = |value: f32| value as u128;
        assert!(exact(above) >= a.into() && (a == 0 || exact(above.next_down()) < a.into()), "{a}");
    }
}

#[test]
fn floats_to_floats() {
    let narrow = function("cvt.rn.f32.f64 %d, %a");
    let (half, brain) = (function("cvt.rn.f16.f32 %d, %a"), function("cvt.rn.bf16.f32 %d, %a"));
    let integral = function("cvt.rpi.f64.f64 %d, %a");
    for [a] in wide_rows(3000) {
        let value = f64::from_bits(a);
        if !value.is_nan() {
            assert_eq!(narrow.of_u64([a]) as u32, (value as f32).to_bits());
            assert_eq!(integral.of_u64([a]), value.ceil().to_bits());
        }
    }
    for [a] in rows(3000) {
        let value = f32::from_bits(a);
        let (expected, expected_brain) = match value.is_nan() {
            true => (0x7fff, 0x7fff),
            false => (f16::from_f32(value).to_bits(), bf16::from_f32(value).to_bits()),
        };
        assert_eq!(half.of_u32([a]) as u16, expected);
        assert_eq!(brain.of_u32([a]) as u16, expected_brain);
    }
}

/// A format as its values: sign, exponent and fraction spelled out.
struct Narrow {
    name: &'static str,
    exponent: u32,
    fraction: u32,
    bias: i32,
    /// The bits of the largest value.
    largest: u32,
    /// Where NaN goes.
    nan: u32,
}

const NARROW: [Narrow; 5] = [
    Narrow { name: "e4m3", exponent: 4, fraction: 3, bias: 7, largest: 0x7e, nan: 0x7f },
    Narrow { name: "e5m2", exponent: 5, fraction: 2, bias: 15, largest: 0x7b, nan: 0x7f },
    Narrow { name: "e2m3", exponent: 2, fraction: 3, bias: 1, largest: 0x1f, nan: 0x1f },
    Narrow { name: "e3m2", exponent: 3, fraction: 2, bias: 3, largest: 0x1f, nan: 0x1f },
    Narrow { name: "e2m1", exponent: 2, fraction: 1, bias: 1, largest: 0x7, nan: 0x7 },
];

impl Narrow {
    /// Bits from one element to the next.
    fn stride(&self) -> u32 {
        if self.name == "e2m1" { 4 } else { 8 }
    }

    fn sign(&self) -> u32 {
        1 << (self.exponent + self.fraction)
    }

    /// The value of positive bits up to the largest.
    fn value(&self, bits: u32) -> f64 {
        let fraction = f64::from(bits & ((1 << self.fraction) - 1)) / f64::from(1 << self.fraction);
        let exponent = (bits >> self.fraction) as i32;
        if exponent == 0 {
            fraction * 2f64.powi(1 - self.bias)
        } else {
            (1.0 + fraction) * 2f64.powi(exponent - self.bias)
        }
    }

    /// The nearest value by trying all; of two equally near ones the one with an even last bit.
    fn nearest(&self, value: f32) -> u32 {
        if value.is_nan() {
            return self.nan;
        }
        let magnitude = f64::from(value.abs()).min(self.value(self.largest));
        let distance = |bits: &u32| (self.value(*bits) - magnitude).abs();
        let best = (0..=self.largest)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))))
            .expect("not empty");
        if value.is_sign_negative() { best | self.sign() } else { best }
    }
}

#[test]
fn narrow_formats_round_to_the_nearest_value() {
    for format in &NARROW {
        let name = format.name;
        let plain = function(&format!("cvt.rn.satfinite.{name}x2.f32 %d, %a, %b"));
        let relu = function(&format!("cvt.rn.satfinite.relu.{name}x2.f32 %d, %a, %b"));
        for [a, b] in rows(1500) {
            // A half of the values is moved into the range of the formats.
            let a = if b & 1 == 0 { a & 0x87ff_ffff | 0x3800_0000 } else { a };
            let [high, low] = [a, b].map(|word| format.nearest(f32::from_bits(word)));
            assert_eq!(plain.of_u32([a, b]), high << format.stride() | low, "{name} {a:x} {b:x}");
            let positive = |bits: u32, word: u32| {
                if bits & format.sign() != 0 && !f32::from_bits(word).is_nan() { 0 } else { bits }
            };
            assert_eq!(relu.of_u32([a, b]), positive(high, a) << format.stride() | positive(low, b));
        }
    }
}

#[test]
fn narrow_formats_widen_exactly() {
    for format in &NARROW {
        let widen = function(&format!("cvt.rn.f16x2.{}x2 %d, %a", format.name));
        for bits in 0..=format.largest {
            let expected = Bits::from(f16::from_f64(format.value(bits)).to_bits());
            let negative = bits | format.sign();
            let pair = Bits::from(negative << format.stride() | bits);
            assert_eq!(widen.of(&[pair]), (expected | 0x8000) << 16 | expected, "{} {bits:x}", format.name);
        }
    }
}

#[test]
fn scales_are_powers_of_two() {
    let (down, up) = (function("cvt.rz.ue8m0x2.f32 %d, %a, %b"), function("cvt.rp.satfinite.ue8m0x2.f32 %d, %a, %b"));
    let back = function("cvt.rn.bf16x2.ue8m0x2 %d, %a");
    let exponent = |code: u32| f64::from(code as i32 - 127).exp2();
    for [a] in rows(3000) {
        let value = f64::from(f32::from_bits(a).abs());
        let of = |conversion: &Function| conversion.of_u32([a, 0]) >> 8;
        if value.is_nan() {
            assert_eq!((of(&down), of(&up)), (0xff, 0xff));
            continue;
        }
        let below = (0..=254).rev().find(|&code| exponent(code) <= value).unwrap_or(0);
        let above = (0..=254).find(|&code| exponent(code) >= value).unwrap_or(254);
        assert_eq!(of(&up), above, "{value:e}");
        if value.is_finite() {
            assert_eq!(of(&down), below, "{value:e}");
        }
    }
    for code in 0..=254 {
        assert_eq!(back.of_u32([code]) as u16, bf16::from_f64(exponent(code)).to_bits());
    }
}

/// What `docs/interp-arithmetic.md` says of them, and ptxas's code gives.
#[test]
fn nans_of_conversions() {
    let of = |text: &str, bits: u32| function(text).of_u32([bits]);
    for signalling in [0x7f80_0001, 0xff81_2345] {
        assert_eq!(of("cvt.f32.f32 %d, %a", signalling), signalling);
        assert_eq!(of("cvt.rni.f32.f32 %d, %a", signalling), 0x7fff_ffff);
        assert_eq!(of("cvt.ftz.f32.f32 %d, %a", signalling), 0x7fff_ffff);
    }
    for half in [0x7f81, 0xff92, 0x7fff] {
        assert_eq!(of("cvt.f32.bf16 %d, %a", half), half << 16);
        assert_eq!(of("cvt.ftz.f32.bf16 %d, %a", half), 0x7fff_ffff);
    }
    let wide = |text: &str, bits: u64| function(text).of_u64([bits]);
    assert_eq!(wide("cvt.f64.f64 %d, %a", 0xfff1_2345_6789_0abc), 0xfff1_2345_6789_0abc);
    assert_eq!(wide("cvt.rni.f64.f64 %d, %a", 0xfff1_2345_6789_0abc), 0xfff9_2345_6789_0abc);
    assert_eq!(wide("cvt.rn.f32.f64 %d, %a", 0xfff1_2345_6789_0abc), 0xffc9_1a2b);
    assert_eq!(wide("cvt.ftz.f64.f32 %d, %a", 0x7f80_0001), 0x7fff_ffff_e000_0000);
}

/// Over all random bits, a value is rounded up as often as it is above the lower neighbour.
#[test]
fn random_rounding_is_fair() {
    let convert = function("cvt.rs.f16x2.f32 %d, %a, %b, %r");
    for [a] in rows(40) {
        let value = f32::from_bits(a & 0x87ff_ffff | 0x3800_0000);
        let below =
            f16::from_bits((0..0x7c00).rev().find(|&bits| f16::from_bits(bits).to_f32() <= value.abs()).unwrap_or(0));
        let step = f16::from_bits(below.to_bits() + 1).to_f32() - below.to_f32();
        let share = (value.abs() - below.to_f32()) / step;
        let ups = (0..1u32 << 13).filter(|&random| {
            let result = convert.of_u32([value.to_bits(), 0, random << 16]) >> 16;
            assert!(result as u16 & 0x7fff == below.to_bits() || result as u16 & 0x7fff == below.to_bits() + 1);
            result as u16 & 0x7fff != below.to_bits()
        });
        assert_eq!(ups.count() as f32, (share * 8192.0).floor(), "{value:e}");
    }
}

/// At the top of the range the random bits count as below it: dropped bits and random bits that carry give infinity, or
/// with `.satfinite` the greatest number. Expected are sums of integers.
#[test]
fn random_rounding_at_the_top_of_the_range() {
    let [half, bfloat] = ["f16x2", "bf16x2"].map(|to| function(&format!("cvt.rs.{to}.f32 %d, %a, %b, %r")));
    let finite = function("cvt.rs.satfinite.f16x2.f32 %d, %a, %b, %r");
    for (above, random) in [(0, 0x1fff), (1, 0x1ffe), (1, 0x1fff), (0x1000, 0xfff), (0x1fff, 0), (0x1fff, 1)] {
        let (carries, value) = (above + random >= 0x2000, 0x477f_e000 + above);
        let expected = if carries { 0x7c00 } else { 0x7bff };
        assert_eq!(half.of_u32([value, value | 1 << 31, random << 16 | random]), expected << 16 | expected | 0x8000);
        assert_eq!(finite.of_u32([value, 0, random << 16]), 0x7bff_0000);
    }
    assert_eq!(half.of_u32([0x4780_0000, 0xc780_0000, 0]), 0x7c00_fc00);
    for (above, random) in [(0, 0xffff), (1, 0xfffe), (1, 0xffff), (0xffff, 0), (0xffff, 1)] {
        let expected = if above + random >= 0x1_0000 { 0x7f80 } else { 0x7f7f };
        assert_eq!(bfloat.of_u32([0x7f7f_0000 + above, 0, random << 16]), expected << 16);
    }
    // The greatest numbers of the formats without infinities, which are also the last below the sign.
    for (to, greatest) in [("e4m3", 0x7e), ("e5m2", 0x7b), ("e2m3", 0x1f), ("e3m2", 0x1f)] {
        let narrow = function(&format!("cvt.rs.satfinite.{to}x4.f32 %d, {{%a, %b, %c, %d}}, %r"));
        let big = 0x4800_0000u32;
        let expected = greatest << 24 | (greatest | sign_of(to)) << 16;
        assert_eq!(narrow.of_u32([big, big | 1 << 31, 0, 0, u32::MAX]), expected, "{to}");
    }
}

/// The sign of an element in its byte.
fn sign_of(format: &str) -> u32 {
    if format.starts_with("e2m3") || format.starts_with("e3m2") { 0x20 } else { 0x80 }
}

#[test]
fn integers_are_packed() {
    let pairs = function("cvt.pack.sat.u16.s32 %d, %a, %b");
    let bytes = function("cvt.pack.sat.s8.s32.b32 %d, %a, %b, %c");
    for [a, b, c] in rows(1000) {
        let clamp = |word: u32, least: i32, greatest: i32| (word as i32).clamp(least, greatest);
        let [x, y] = [a, b].map(|word| clamp(word, 0, 0xffff) as u32);
        assert_eq!(pairs.of_u32([a, b]), x << 16 | y);
        let [x, y] = [a, b].map(|word| clamp(word, -128, 127) as u8);
        assert_eq!(bytes.of_u32([a, b, c]), c << 16 | u32::from(x) << 8 | u32::from(y));
    }
}

#[test]
fn comparisons_are_the_hosts() {
    let less = function("setp.lt.and.f32 %p|%q, %a, %b, %c");
    let unordered = function("set.geu.u32.f64 %d, %a, %b");
    let unsigned = function("set.hi.s32.u32 %d, %a, %b");
    for [a, b, c] in rows(2000) {
        let (x, y, c) = (f32::from_bits(a), f32::from_bits(b), c & 1);
        let results = less.results(&[a.into(), b.into(), c.into()], false).values;
        let of = |truth: bool| Bits::from(truth && c == 1);
        assert_eq!(results.as_slice(), [of(x < y), of(x.partial_cmp(&y) != Some(std::cmp::Ordering::Less))]);
        assert_eq!(unsigned.of_u32([a, b]), if a > b { u32::MAX } else { 0 });
    }
    for [a, b] in wide_rows(2000) {
        let less = f64::from_bits(a) < f64::from_bits(b);
        assert_eq!(unordered.of_u64([a, b]) as u32, if less { 0 } else { u32::MAX });
    }
}
