//! Matrix instructions against products computed here, the elements in the places that the tables of the PTX
//! manual give them; and the arithmetic of floats against a second formulation of the published model.

mod sparse;

use super::dot::{Adder, Path};
use super::number::{F16, F32, Term};
use crate::exec::tests::{execute, warp};
use crate::lanes::WARP;
use crate::state::State;
use oriole_isa::Arch;

/// A mixed stream of numbers.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 ^ self.0 >> 31) >> 8
    }

    fn below(&mut self, end: u64) -> i64 {
        (self.next() % end) as i64
    }
}

/// Row and column of element `i` of a thread, `g` its group and `t` its number in it: one of the manual's tables.
type Place = fn(usize, usize, usize) -> (usize, usize);

/// Rows of the manual: `g`, or eight more.
fn row(g: usize, upper: bool) -> usize {
    if upper { g + 8 } else { g }
}

/// A of m16n8k16 with 16-bit elements.
fn halves_of_a(g: usize, t: usize, i: usize) -> (usize, usize) {
    (row(g, !(i < 2 || (4..6).contains(&i))), t * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
}

/// B of m16n8k16 with 16-bit elements.
fn halves_of_b(g: usize, t: usize, i: usize) -> (usize, usize) {
    (t * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, g)
}

/// How a number is written and read.
type Codec = (fn(i64) -> u64, fn(u64) -> i64);

/// A shape with the manual's tables of its fragments.
struct Shape {
    text: &'static str,
    arch: Arch,
    m: usize,
    k: usize,
    bits: usize,
    encode: fn(i64) -> u64,
    a: Place,
    b: Place,
    /// Bits of an accumulator.
    c_bits: usize,
    c: Codec,
}

fn half(value: i64) -> u64 {
    crate::exec::rounding::narrow(value as f64, crate::exec::rounding::HALF, crate::exec::rounding::Rounding::Nearest)
        .into()
}

fn from_half(bits: u64) -> i64 {
    crate::exec::rounding::HALF.widen(bits as u32) as i64
}

fn single(value: i64) -> u64 {
    (value as f32).to_bits().into()
}

fn from_single(bits: u64) -> i64 {
    f32::from_bits(bits as u32) as i64
}

fn double(value: i64) -> u64 {
    (value as f64).to_bits()
}

const SINGLES: Codec = (single, from_single);
const HALVES: Codec = (half, from_half);
const INTEGERS: Codec = (|value| value as u32 as u64, |bits| i64::from(bits as i32));
const DOUBLES: Codec = (double, |bits| f64::from_bits(bits) as i64);

/// Registers of A, B, C and D in the texts below.
const REGISTERS: [usize; 4] = [8, 24, 32, 48];

const SHAPES: &[Shape] = &[
    Shape {
        text: "HMMA.1688.F32 R48, R8, R24, R32",
        arch: Arch::Sm75,
        m: 16,
        k: 8,
        bits: 16,
        encode: half,
        a: |g, t, i| (row(g, i >= 2), t * 2 + (i & 1)),
        b: |g, t, i| (t * 2 + i, g),
        c_bits: 32,
        c: SINGLES,
    },
    Shape {
        text: "HMMA.16816.F32 R48, R8, R24, R32",
        arch: Arch::Sm80,
        m: 16,
        k: 16,
        bits: 16,
        encode: half,
        a: halves_of_a,
        b: halves_of_b,
        c_bits: 32,
        c: SINGLES,
    },
    Shape {
        text: "HMMA.16816.F16 R48, R8, R24, R32",
        arch: Arch::Sm90,
        m: 16,
        k: 16,
        bits: 16,
        encode: half,
        a: halves_of_a,
        b: halves_of_b,
        c_bits: 16,
        c: HALVES,
    },
    Shape {
        text: "HMMA.16816.F32.BF16 R48, R8, R24, R32",
        arch: Arch::Sm86,
        m: 16,
        k: 16,
        bits: 16,
        encode: |value| single(value) >> 16,
        a: halves_of_a,
        b: halves_of_b,
        c_bits: 32,
        c: SINGLES,
    },
    Shape {
        text: "HMMA.1688.F32.TF32 R48, R8, R24, R32",
        arch: Arch::Sm80,
        m: 16,
        k: 8,
        bits: 32,
        encode: single,
        a: |g, t, i| (row(g, i == 1 || i == 3), t + if i < 2 { 0 } else { 4 }),
        b: |g, t, i| (t + if i == 0 { 0 } else { 4 }, g),
        c_bits: 32,
        c: SINGLES,
    },
    Shape {
        text: "IMMA.8816.S8.S8 R48, R8.ROW, R24.COL, R32",
        arch: Arch::Sm75,
        m: 8,
        k: 16,
        bits: 8,
        encode: |value| value as u8 as u64,
        a: |g, t, i| (g, t * 4 + i),
        b: |g, t, i| (t * 4 + i, g),
        c_bits: 32,
        c: INTEGERS,
    },
    Shape {
        text: "IMMA.16832.S8.S8 R48, R8.ROW, R24.COL, R32",
        arch: Arch::Sm80,
        m: 16,
        k: 32,
        bits: 8,
        encode: |value| value as u8 as u64,
        a: |g, t, i| (row(g, !(i < 4 || (8..12).contains(&i))), t * 4 + (i & 3) + if i < 8 { 0 } else { 16 }),
        b: |g, t, i| (t * 4 + (i & 3) + if i < 4 { 0 } else { 16 }, g),
        c_bits: 32,
        c: INTEGERS,
    },
    Shape {
        text: "IMMA.16864.S4.S4 R48, R8.ROW, R24.COL, R32",
        arch: Arch::Sm80,
        m: 16,
        k: 64,
        bits: 4,
        encode: |value| value as u64 & 15,
        a: |g, t, i| (row(g, !(i < 8 || (16..24).contains(&i))), t * 8 + (i & 7) + if i < 16 { 0 } else { 32 }),
        b: |g, t, i| (t * 8 + (i & 7) + if i < 8 { 0 } else { 32 }, g),
        c_bits: 32,
        c: INTEGERS,
    },
    Shape {
        text: "BMMA.168256.AND.POPC R48, R8.ROW, R24.COL, R32",
        arch: Arch::Sm80,
        m: 16,
        k: 256,
        bits: 1,
        encode: |value| value as u64 & 1,
        a: |g, t, i| (row(g, !(i < 32 || (64..96).contains(&i))), t * 32 + (i & 31) + if i < 64 { 0 } else { 128 }),
        b: |g, t, i| (t * 32 + (i & 31) + if i < 32 { 0 } else { 128 }, g),
        c_bits: 32,
        c: INTEGERS,
    },
    Shape {
        text: "DMMA.16x8x8 R48, R8, R24, R32",
        arch: Arch::Sm90,
        m: 16,
        k: 8,
        bits: 64,
        encode: double,
        a: |g, t, i| (row(g, i == 1 || i == 3), t + if i < 2 { 0 } else { 4 }),
        b: |g, t, i| (t + if i == 0 { 0 } else { 4 }, g),
        c_bits: 64,
        c: DOUBLES,
    },
];

/// Puts elements of `bits` bits into a thread's registers from `first` on.
fn load(state: &mut State, first: usize, lane: usize, bits: usize, values: &[u64]) {
    for (i, &value) in values.iter().enumerate() {
        let at = i * bits;
        let shifted = value << (at % 32);
        for (n, word) in [shifted as u32, (shifted >> 32) as u32].into_iter().enumerate().take(bits.div_ceil(32)) {
            let register = first + at / 32 + n;
            let kept = if at.is_multiple_of(32) { 0 } else { state.lane(register, lane) };
            state.set_lane(register, lane, kept | word);
        }
    }
}

/// Element `i` of `bits` bits of a thread's registers from `first` on.
fn fetch(state: &State, first: usize, lane: usize, bits: usize, i: usize) -> u64 {
    let at = first + i * bits / 32;
    match bits {
        64 => u64::from(state.lane(at, lane)) | u64::from(state.lane(at + 1, lane)) << 32,
        _ => u64::from(state.lane(at, lane) >> (i * bits % 32)) & ((1 << bits) - 1),
    }
}

#[test]
fn fragments_are_those_of_the_manual() {
    for shape in SHAPES {
        let mut stream = Stream(shape.k as u64);
        let element = |stream: &mut Stream| if shape.bits == 1 { stream.below(2) } else { stream.below(15) - 7 };
        let a: Vec<Vec<i64>> = (0..shape.m).map(|_| (0..shape.k).map(|_| element(&mut stream)).collect()).collect();
        let b: Vec<Vec<i64>> = (0..shape.k).map(|_| (0..8).map(|_| element(&mut stream)).collect()).collect();
        let c: Vec<Vec<i64>> = (0..shape.m).map(|_| (0..8).map(|_| stream.below(101) - 50).collect()).collect();
        let mut state = warp(shape.arch);
        let [a_first, b_first, c_first, d_first] = REGISTERS;
        let place_c = |lane: usize, i: usize| (row(lane / 4, i >= 2), lane % 4 * 2 + (i & 1));
        for lane in 0..WARP {
            let (g, t) = (lane >> 2, lane % 4);
            let pick = |count: usize, value: &dyn Fn(usize) -> i64| -> Vec<u64> {
                (0..count / WARP).map(|i| (shape.encode)(value(i))).collect()
            };
            let of_a = pick(shape.m * shape.k, &|i| {
                let (row, k) = (shape.a)(g, t, i);
                a[row][k]
            });
            let of_b = pick(shape.k * 8, &|i| {
                let (k, column) = (shape.b)(g, t, i);
                b[k][column]
            });
            let of_c = (0..shape.m / 4).map(|i| {
                let (row, column) = place_c(lane, i);
                (shape.c.0)(c[row][column])
            });
            load(&mut state, a_first, lane, shape.bits, &of_a);
            load(&mut state, b_first, lane, shape.bits, &of_b);
            load(&mut state, c_first, lane, shape.c_bits, &of_c.collect::<Vec<u64>>());
        }
        execute(&mut state, shape.text);
        for lane in 0..WARP {
            for i in 0..shape.m / 4 {
                let (row, column) = place_c(lane, i);
                let expected = c[row][column] + (0..shape.k).map(|k| a[row][k] * b[k][column]).sum::<i64>();
                let got = (shape.c.1)(fetch(&state, d_first, lane, shape.c_bits, i));
                assert_eq!(got, expected, "{}: row {row}, column {column}", shape.text);
            }
        }
    }
}

#[test]
fn integers_saturate_or_wrap() {
    for (text, expected) in [
        ("IMMA.16816.S8.S8 R48, R8.ROW, R24.COL, R32", i32::MIN),
        ("IMMA.16816.S8.S8.SAT R48, R8.ROW, R24.COL, R32", i32::MAX),
    ] {
        let mut state = warp(Arch::Sm80);
        for lane in 0..WARP {
            // One product of one: the first element of each row and column.
            state.set_lane(8, lane, u32::from(lane % 4 == 0));
            state.set_lane(24, lane, u32::from(lane % 4 == 0));
            state.set_lane(32, lane, i32::MAX as u32);
        }
        execute(&mut state, text);
        assert_eq!(state.lane(48, 0) as i32, expected, "{text}");
    }
}

#[test]
fn c_may_be_zero_or_left_out() {
    let mut state = warp(Arch::Sm90);
    for n in [8, 9, 10, 11, 24, 25] {
        state.set_r(n, &[0x3c00_3c00; WARP]);
    }
    state.set_r(32, &[7.0f32.to_bits(); WARP]);
    for (text, expected) in [
        ("HMMA.16816.F32 R48, R8, R24, RZ", 16.0),
        ("HMMA.16816.F32 R48, R8, R24, R32, !UPT", 16.0),
        ("HMMA.16816.F32 R48, R8, R24, R32", 23.0),
        ("HMMA.16816.F32 R48, -R8, R24, R32", -9.0),
    ] {
        execute(&mut state, text);
        assert_eq!(f32::from_bits(state.lane(48, 5)), expected, "{text}");
    }
}

#[test]
fn undefined_sums_are_the_nan_of_the_format() {
    let infinity = F16.term(0x7c00);
    let zero = F16.term(0);
    let [one, minus] = [F16.term(0x3c00), F16.term(0xbc00)];
    let add = |halves: bool, a: &[Term], b: &[Term], c: u32| {
        Adder::of(Arch::Sm90, Path::Warp, F16, halves).add(a, b, 20, 0, c)
    };
    assert_eq!(add(false, &[infinity], &[zero], 0), 0x7fff_ffff);
    assert_eq!(add(true, &[infinity, infinity], &[one, minus], 0), 0x7fff);
    assert_eq!(add(false, &[infinity], &[minus], 0), f32::NEG_INFINITY.to_bits());
    assert_eq!(add(false, &[one], &[one], f32::INFINITY.to_bits()), f32::INFINITY.to_bits());
    assert_eq!(add(false, &[one], &[one], 0x7fc0_0001), 0x7fff_ffff);
}

/// The sum of the published model in doubles: summands cut beside the greatest exponent, then the sum cut.
fn model(a: &[f64], b: &[f64], c: f64, kept: i32, step: usize) -> f64 {
    let exponent = |x: f64| if x == 0.0 { -126 } else { x.abs().log2().floor() as i32 };
    a.chunks(step).zip(b.chunks(step)).fold(c, |c, (a, b)| {
        let top = a.iter().zip(b).map(|(&a, &b)| exponent(a) + exponent(b)).fold(exponent(c), i32::max);
        let unit = 2f64.powi(top - kept);
        let cut = |x: f64| (x / unit).trunc() * unit;
        let sum = cut(c) + a.iter().zip(b).map(|(&a, &b)| cut(a * b)).sum::<f64>();
        let last = 2f64.powi(exponent(sum).max(-126) - 23);
        (sum / last).trunc() * last
    })
}

#[test]
fn sums_are_those_of_the_published_model() {
    let mut stream = Stream(5);
    let mut inexact = 0;
    for (arch, kept, step) in [(Arch::Sm75, 24, 8), (Arch::Sm80, 24, 8), (Arch::Sm89, 24, 8), (Arch::Sm90, 25, 16)] {
        let adder = Adder::of(arch, Path::Warp, F16, false);
        for _ in 0..5000 {
            // Normal halves of exponents -8 to 7.
            let mut numbers = || -> Vec<u32> {
                (0..16)
                    .map(|_| (stream.below(2) << 15 | (stream.below(16) + 7) << 10 | stream.below(1024)) as u32)
                    .collect()
            };
            let (a, b) = (numbers(), numbers());
            let c =
                f32::from_bits((stream.below(2) << 31 | (stream.below(24) + 115) << 23 | stream.below(1 << 23)) as u32);
            let terms = |bits: &[u32]| bits.iter().map(|&bits| F16.term(bits)).collect::<Vec<Term>>();
            let values =
                |bits: &[u32]| bits.iter().map(|&bits| crate::exec::rounding::HALF.widen(bits)).collect::<Vec<f64>>();
            let got = f32::from_bits(adder.add(&terms(&a), &terms(&b), 20, 0, c.to_bits()));
            let expected = model(&values(&a), &values(&b), c.into(), kept, step);
            assert_eq!(f64::from(got), expected, "{arch:?} {a:x?} {b:x?} {c:e}");
            let exact: f64 = values(&a).iter().zip(values(&b)).map(|(a, b)| a * b).sum::<f64>() + f64::from(c);
            inexact += u32::from(f64::from(got) != f64::from(exact as f32));
        }
    }
    assert!(inexact > 1000, "the model is not that of exact sums: {inexact}");
}

#[test]
fn small_products_are_lost_beside_a_great_sum() {
    // Sixteen products of 2^-26 beside one: each is cut, though together they are 2^-22.
    let (a, b) = ([F16.term(0x0800); 16], [F16.term(0x0800); 16]);
    assert_eq!(F32.term(1.0f32.to_bits()), Term { significand: 1 << 23, exponent: 0 });
    for arch in [Arch::Sm80, Arch::Sm90] {
        let adder = Adder::of(arch, Path::Warp, F16, false);
        assert_eq!(adder.add(&a, &b, 20, 0, 1f32.to_bits()), 1f32.to_bits());
        assert_eq!(adder.add(&a, &b, 20, 0, 0), 2f32.powi(-22).to_bits());
    }
}
