//! The library of slow paths computes what IEEE 754 and integer arithmetic say: its PTX text runs on
//! a small interpreter of its own, whose special-function unit errs by a unit in either direction,
//! and the results are compared with software floating point.

use crate::library_model::{Library, MufuError};
use oriole_prerequisites::sample;
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status};

const MODES: [Round; 4] = [Round::NearestTiesToEven, Round::TowardZero, Round::TowardNegative, Round::TowardPositive];

/// A sequence of 64-bit numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A double: any bits, or one of the shapes that division finds hard.
    fn double(&mut self) -> u64 {
        let bits = self.next();
        match self.next() % 8 {
            0 => bits & 0x800f_ffff_ffff_ffff,
            1 => bits & 0x8000_0000_0000_00ff,
            2 => bits & 0x801f_ffff_ffff_ffff,
            3 => bits | 0x7fe0_0000_0000_0000,
            4 => bits & 0xfff0_0000_0000_0000,
            5 => bits & 0x800f_ffff_ffff_ffff | 0x3fd0_0000_0000_0000,
            6 => bits | 0x000f_ffff_ffff_fff0,
            _ => bits,
        }
    }

    /// A single, likewise.
    fn single(&mut self) -> u32 {
        let bits = self.next() as u32;
        match self.next() % 8 {
            0 => bits & 0x807f_ffff,
            1 => bits & 0x8000_000f,
            2 => bits & 0x80ff_ffff,
            3 => bits | 0x7f00_0000,
            4 => bits & 0xff80_0000,
            5 => bits & 0x807f_ffff | 0x3e80_0000,
            6 => bits | 0x007f_fff0,
            _ => bits,
        }
    }

    fn error(&mut self) -> MufuError {
        [MufuError::Below, MufuError::Exact, MufuError::Above][(self.next() % 3) as usize]
    }
}

fn double(bits: u64) -> Double {
    Double::from_bits(u128::from(bits))
}

fn single(bits: u32) -> Single {
    Single::from_bits(u128::from(bits))
}

#[test]
fn u64_quotients() {
    let library = Library::load();
    let mut random = Random(1);
    for _ in 0..12_000 {
        let (a, b) = (random.next() >> (random.next() % 64), (random.next() >> (random.next() % 64)).max(1));
        let (a, b) = if random.next().is_multiple_of(8) { (u64::MAX - a % 4, b) } else { (a, b) };
        let q = library.call("__oriole_div_u64", &[a, b], random.error());
        assert_eq!(q, a / b, "{a} / {b}");
    }
}

#[test]
fn f64_quotients() {
    let library = Library::load();
    let mut random = Random(2);
    for round in 0..sample(12_000) as usize {
        let (a, b) = (random.double(), random.double());
        let mode = round % 4;
        let got = library.call("__oriole_div_f64", &[a, b, mode as u64], random.error());
        let want = double(a).div_r(double(b), MODES[mode]).value;
        if want.is_nan() {
            let quiet = |x: u64| x | 0x0008_0000_0000_0000;
            let expected = match (double(a).is_nan(), double(b).is_nan()) {
                (true, _) => quiet(a),
                (false, true) => quiet(b),
                _ => 0xfff8_0000_0000_0000,
            };
            assert_eq!(got, expected, "{a:#x} / {b:#x}");
        } else {
            assert_eq!(got, want.to_bits() as u64, "{a:#018x} / {b:#018x} mode {mode}: {got:#018x}");
        }
    }
}

#[test]
fn f32_quotients() {
    let library = Library::load();
    let mut random = Random(3);
    for round in 0..sample(12_000) as usize {
        let (a, b) = (random.single(), random.single());
        let mode = MODES[round % 4];
        let exact = library.call("__oriole_quotient_f32", &[u64::from(a), u64::from(b)], random.error());
        let want = single(a).div_r(single(b), mode).value;
        if want.is_nan() {
            assert_eq!(exact, 0x7fff_ffff_e000_0000, "{a:#x} / {b:#x}");
            continue;
        }
        let got: Single = double(exact).convert_r(mode, &mut false).value;
        assert_eq!(got.to_bits(), want.to_bits(), "{a:#010x} / {b:#010x} {mode:?}");
    }
}

/// Whether `root` is the square root of `of` rounded in `mode`: its neighbours' squares tell.
fn is_root(root: Double, of: Double, mode: Round) -> bool {
    // Products of doubles are exact in quad precision.
    let wide = |x: Double| -> rustc_apfloat::ieee::Quad { x.convert(&mut false).value };
    let square = |x: Double| (wide(x) * wide(x)).value;
    let (below, above) = (root.next_down().value, root.next_up().value);
    let target = wide(of);
    match mode {
        Round::TowardPositive => square(below) < target && target <= square(root),
        Round::NearestTiesToEven => {
            let half = wide(Double::from_bits(0x3fe0_0000_0000_0000));
            let low = ((wide(below) + wide(root)).value * half).value;
            let high = ((wide(above) + wide(root)).value * half).value;
            (low * low).value <= target && target <= (high * high).value
        }
        _ => square(root) <= target && target < square(above),
    }
}

#[test]
fn f64_roots() {
    let library = Library::load();
    let mut random = Random(4);
    for round in 0..12_000 {
        // The routine serves what the inline sequence leaves: small, negative and special operands.
        let a = match random.next() % 4 {
            0 => random.double() & 0x835f_ffff_ffff_ffff,
            1 => random.double() & 0x000f_ffff_ffff_ffff,
            2 => random.double() | 0x8000_0000_0000_0000,
            _ => random.double() | 0x7ff0_0000_0000_0000,
        };
        let (mode, of) = (round % 4, double(a));
        let got = library.call("__oriole_sqrt_f64", &[a, mode as u64], random.error());
        if of.is_nan() {
            assert_eq!(got, a | 0x0008_0000_0000_0000);
        } else if of.is_zero() || a == 0x7ff0_0000_0000_0000 {
            assert_eq!(got, a);
        } else if of.is_negative() {
            assert_eq!(got, 0xfff8_0000_0000_0000);
        } else {
            assert!(is_root(double(got), of, MODES[mode]), "sqrt {a:#018x} mode {mode}: {got:#018x}");
        }
    }
}

#[test]
fn f32_roots() {
    let library = Library::load();
    let mut random = Random(5);
    for round in 0..12_000 {
        let (a, mode) = (random.single(), MODES[round % 4]);
        let of = single(a);
        let exact = library.call("__oriole_root_f32", &[u64::from(a)], random.error());
        let got: Single = double(exact).convert_r(mode, &mut false).value;
        if of.is_zero() || a == 0x7f80_0000 {
            assert_eq!(got.to_bits(), u128::from(a));
        } else if of.is_nan() || of.is_negative() {
            assert_eq!(exact, 0x7fff_ffff_e000_0000);
        } else {
            // The square of a root rounded down is not above the operand; that of the next is.
            let exact_square = |x: Single| -> Double {
                let wide: Double = x.convert(&mut false).value;
                let product = wide.mul_r(wide, Round::NearestTiesToEven);
                assert_eq!(product.status, Status::OK);
                product.value
            };
            let target: Double = of.convert(&mut false).value;
            let good = match mode {
                Round::TowardPositive => exact_square(got.next_down().value) < target && target <= exact_square(got),
                Round::NearestTiesToEven => {
                    let root: Double = got.convert(&mut false).value;
                    let half_step = |other: Single| -> Double {
                        let other: Double = other.convert(&mut false).value;
                        ((root + other).value * Double::from_bits(0x3fe0_0000_0000_0000)).value
                    };
                    let (low, high) = (half_step(got.next_down().value), half_step(got.next_up().value));
                    (low * low).value <= target && target <= (high * high).value
                }
                _ => exact_square(got) <= target && target < exact_square(got.next_up().value),
            };
            assert!(good, "sqrt {a:#010x} {mode:?}: {:#010x}", got.to_bits());
        }
    }
}

#[test]
fn reciprocal_roots_of_special_numbers() {
    let library = Library::load();
    let call = |a: u64| library.call("__oriole_rsqrt_f64", &[a], MufuError::Exact);
    assert_eq!(call(0), 0x7ff0_0000_0000_0000);
    assert_eq!(call(0x8000_0000_0000_0000), 0xfff0_0000_0000_0000);
    assert_eq!(call(0x7ff0_0000_0000_0000), 0);
    assert_eq!(call(0xbff0_0000_0000_0000), 0xfff8_0000_0000_0000);
    // The least subnormal number is 2^-1074: its reciprocal root is 2^537.
    assert_eq!(call(1), (537 + 1023) << 52);
}

#[test]
fn nth_set_bits() {
    let library = Library::load();
    let mut random = Random(6);
    for _ in 0..5_000 {
        let (mask, base) = ((random.next() & random.next()) as u32, (random.next() % 32) as u32);
        let offset = (random.next() % 12) as i32 - 6;
        let upward = |bit: &u32| *bit >= base && mask >> bit & 1 != 0;
        let downward = |bit: &u32| *bit <= base && mask >> bit & 1 != 0;
        let want = match offset {
            0 => (mask >> base & 1 != 0).then_some(base),
            1.. => (0..32).filter(upward).nth(offset as usize - 1),
            _ => (0..32).rev().filter(downward).nth((-offset) as usize - 1),
        };
        let arguments = [u64::from(mask), u64::from(base), u64::from(offset as u32)];
        let got = library.call("__oriole_fns", &arguments, MufuError::Exact);
        assert_eq!(got as u32, want.unwrap_or(u32::MAX), "{mask:#x} {base} {offset}");
    }
}
