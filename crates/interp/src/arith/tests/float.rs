//! Floats against the host, the `half` crate, and the definition of directed rounding.

use half::{bf16, f16};

use super::super::{Bound, approximation};
use super::{Bits, function, instruction, rows, wide_rows};

/// The bits of a result, with the NaN that PTX gives.
fn bits(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

#[test]
fn nearest_single_is_the_hosts() {
    let add = function("add.f32 %d, %a, %b");
    let mul = function("mul.rn.f32 %d, %a, %b");
    let fma = function("fma.rn.f32 %d, %a, %b, %c");
    let root = function("sqrt.rn.f32 %d, %a");
    for row @ [a, b, _] in rows(3000) {
        let [x, y, z] = row.map(f32::from_bits);
        assert_eq!(add.of_u32([a, b]), bits(x + y));
        assert_eq!(mul.of_u32([a, b]), bits(x * y));
        assert_eq!(fma.of_u32(row), bits(x.mul_add(y, z)));
        assert_eq!(root.of_u32([a]), bits(x.sqrt()));
    }
}

/// The last bit's worth of difference from an exact value: down is below, up above, and between the two
/// there is no other value.
fn brackets(down: f32, up: f32, exact: f64) {
    assert!(f64::from(down) <= exact && exact <= f64::from(up), "{down:e} {exact:e} {up:e}");
    let meet = down == up && f64::from(down) == exact;
    assert!(meet || down.next_up() == up || (down == 0.0 && up == f32::from_bits(1)), "{down:e} {exact:e} {up:e}");
}

/// Products and sums of singles with near exponents are exact doubles.
#[test]
fn directed_single_encloses_the_exact_value() {
    let directed = |name: &str, rest: &str| {
        ["rm", "rp", "rz"].map(|mode| function(&format!("{name}.{mode}.f32 %d, %a, %b{rest}")))
    };
    let (mul, add, div) = (directed("mul", ""), directed("add", ""), directed("div", ""));
    for [a, b] in rows(3000) {
        // Exponents around 1, so that nothing overflows, and sums are exact in a double.
        let near = |word: u32| f32::from_bits(word & 0x81ff_ffff | 0x3e00_0000);
        let (a, b) = (near(a), near(b));
        let check = |[down, up, zero]: &[super::Function; 3], exact: f64| {
            let [down, up, zero] = [down, up, zero].map(|mode| mode.of_f32([a, b]));
            brackets(down, up, exact);
            assert_eq!(zero, if exact < 0.0 { up } else { down });
        };
        check(&mul, f64::from(a) * f64::from(b));
        check(&add, f64::from(a) + f64::from(b));
        // A quotient is compared by its product with the divisor.
        let [down, up] = [&div[0], &div[1]].map(|mode| f64::from(mode.of_f32([a, b])) * f64::from(b.abs()));
        let dividend = f64::from(a) * f64::from(b.signum());
        assert!(down <= dividend && dividend <= up, "{a:e} / {b:e}");
    }
}

#[test]
fn directed_roots_enclose() {
    let [down, up] = ["rm", "rp"].map(|mode| function(&format!("sqrt.{mode}.f32 %d, %a")));
    for [a] in rows(3000) {
        let a = f32::from_bits(a & 0x7fff_ffff);
        if !a.is_finite() {
            continue;
        }
        let (low, high) = (down.of_f32([a]), up.of_f32([a]));
        assert!(f64::from(low).powi(2) <= f64::from(a) && f64::from(a) <= f64::from(high).powi(2), "{a:e}");
        assert!(low == high || low.next_up() == high, "{a:e}");
    }
}

#[test]
fn zero_sums_take_their_sign_from_the_direction() {
    for (mode, zero) in [("rn", 0.0f32), ("rz", 0.0), ("rp", 0.0), ("rm", -0.0)] {
        let add = function(&format!("add.{mode}.f32 %d, %a, %b"));
        assert_eq!(add.of_f32([1.5, -1.5]).to_bits(), zero.to_bits(), "{mode}");
        let fma = function(&format!("fma.{mode}.f64 %d, %a, %b, %c"));
        let values = [1.5f64, 2.0, -3.0].map(|value| Bits::from(value.to_bits()));
        assert_eq!(fma.of(&values) as u64, f64::from(zero).to_bits(), "{mode}");
    }
}

#[test]
fn flushing_and_saturation() {
    let ftz = function("add.ftz.f32 %d, %a, %b");
    let sat = function("mul.sat.f32 %d, %a, %b");
    for [a, b] in rows(3000) {
        let flush = |value: f32| if value.is_subnormal() { 0f32.copysign(value) } else { value };
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        assert_eq!(ftz.of_u32([a, b]), bits(flush(flush(x) + flush(y))));
        let product = x * y;
        let clamped = if product.is_nan() { 0.0 } else { product.clamp(0.0, 1.0) + 0.0 };
        assert_eq!(sat.of_u32([a, b]), clamped.to_bits());
    }
}

#[test]
fn doubles_are_the_hosts_and_keep_their_nan() {
    let fma = function("fma.rn.f64 %d, %a, %b, %c");
    for row in wide_rows(2000) {
        let [x, y, z] = row.map(f64::from_bits);
        let result = fma.of_u64(row);
        match row.into_iter().find(|&bits| f64::from_bits(bits).is_nan()) {
            Some(nan) => assert_eq!(result, nan | 1 << 51),
            None if x.mul_add(y, z).is_nan() => assert_eq!(result, 0xfff8_0000_0000_0000),
            None => assert_eq!(result, x.mul_add(y, z).to_bits()),
        }
    }
}

#[test]
fn halves_are_those_of_the_half_crate() {
    let add = function("add.f16x2 %d, %a, %b");
    let mul = function("mul.bf16x2 %d, %a, %b");
    for [a, b] in rows(3000) {
        let halves = |word: u32| [word as u16, (word >> 16) as u16];
        let (x, y, sum, product) = (halves(a), halves(b), halves(add.of_u32([a, b])), halves(mul.of_u32([a, b])));
        for lane in 0..2 {
            let expected = f16::from_bits(x[lane]) + f16::from_bits(y[lane]);
            assert_eq!(sum[lane], if expected.is_nan() { 0x7fff } else { expected.to_bits() });
            let expected = bf16::from_bits(x[lane]) * bf16::from_bits(y[lane]);
            assert_eq!(product[lane], if expected.is_nan() { 0x7fff } else { expected.to_bits() });
        }
    }
}

/// The half nearest to an exact value, among the neighbours of what the `half` crate says: on some hosts
/// that rounds twice.
fn nearest_half(exact: f64) -> f16 {
    let near = f16::from_f64(exact).to_bits();
    let distance = |bits: &u16| (f16::from_bits(*bits).to_f64() - exact).abs();
    let candidates = [near.saturating_sub(1), near, near + 1].into_iter().filter(|bits| bits >> 15 == near >> 15);
    let best = candidates.min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
    f16::from_bits(best.unwrap_or(near))
}

/// A half times a half plus a half, exact in a double, is rounded once.
#[test]
fn half_fma_rounds_once() {
    let fma = function("fma.rn.f16 %d, %a, %b, %c");
    let relu = function("fma.rn.relu.f16 %d, %a, %b, %c");
    for row in rows::<3>(3000) {
        // Exponents near 1: the sum has less than 53 bits.
        let row = row.map(|word| word & 0x8fff | 0x3000);
        let [a, b, c] = row.map(|word| f64::from(f16::from_bits(word as u16)));
        let expected = nearest_half(a * b + c);
        assert_eq!(fma.of_u32(row) as u16, expected.to_bits());
        let positive = if expected.is_sign_negative() { 0 } else { expected.to_bits() };
        assert_eq!(relu.of_u32(row) as u16, positive);
    }
}

#[test]
fn mixed_precision_is_single_precision_of_the_widened_source() {
    let add = function("add.f32.f16 %d, %a, %c");
    let fma = function("fma.rn.sat.f32.bf16 %d, %a, %b, %c");
    for [a, b, c] in rows(2000) {
        let single = f32::from_bits(c);
        let half = f16::from_bits(a as u16).to_f32();
        assert_eq!(add.of_u32([a & 0xffff, c]), bits(half + single));
        let [x, y] = [a, b].map(|word| bf16::from_bits(word as u16).to_f32());
        let result = x.mul_add(y, single);
        let clamped = if result.is_nan() { 0.0 } else { result.clamp(0.0, 1.0) + 0.0 };
        assert_eq!(fma.of_u32([a & 0xffff, b & 0xffff, c]), clamped.to_bits());
    }
}

#[test]
fn minima_order_zeros_and_skip_nan() {
    let min = function("min.f32 %d, %a, %b");
    let nan = function("max.NaN.f32 %d, %a, %b");
    let xorsign = function("min.xorsign.abs.f32 %d, %a, %b");
    let three = function("max.f32 %d, %a, %b, %c");
    assert_eq!(min.of_f32([0.0, -0.0]).to_bits(), (-0.0f32).to_bits());
    for [a, b, c] in rows(3000) {
        let (x, y, z) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
        if x != y {
            assert_eq!(min.of_u32([a, b]), bits(x.min(y)));
            assert_eq!(nan.of_u32([a, b]), bits(if x.is_nan() || y.is_nan() { f32::NAN } else { x.max(y) }));
        }
        if !x.is_nan() && !y.is_nan() {
            assert_eq!(xorsign.of_f32([x, y]), x.abs().min(y.abs()) * x.signum() * y.signum());
            assert_eq!(three.of_u32([a, b, c]) << 1, bits(x.max(y).max(z)) << 1);
        }
    }
}

#[test]
fn classes() {
    let test = |class: &str, value: f32| function(&format!("testp.{class}.f32 %p, %a")).of(&[value.to_bits().into()]);
    let all = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
    let classes = |value| all.map(|class| test(class, value));
    assert_eq!(classes(0.0), [1, 0, 1, 0, 1, 0]);
    assert_eq!(classes(-1.0), [1, 0, 1, 0, 1, 0]);
    assert_eq!(classes(1e-40), [1, 0, 1, 0, 0, 1]);
    assert_eq!(classes(f32::INFINITY), [0, 1, 1, 0, 0, 0]);
    assert_eq!(classes(f32::NAN), [0, 0, 0, 1, 0, 0]);
}

#[test]
fn out_of_bounds_elements_are_zero() {
    let fma = function("fma.rn.oob.f16x2 %d, %a, %b, %c");
    let one = Bits::from(f16::ONE.to_bits());
    let pair = |low: Bits, high: Bits| high << 16 | low;
    assert_eq!(
        fma.of(&[pair(0x7ff7, one), pair(one, one), pair(one, one)]),
        pair(0, f16::from_f32(2.0).to_bits().into())
    );
}

/// Results of approximate functions that the manual's tables fix to the bit.
#[test]
fn approximations_of_special_values() {
    const INF: u32 = 0x7f80_0000;
    const NAN: u32 = 0x7fff_ffff;
    const MINUS: u32 = 0x8000_0000;
    const ONE: u32 = 0x3f80_0000;
    let table: [(&str, u32, u32); 24] = [
        ("sin.approx.f32", MINUS, MINUS),
        ("sin.approx.f32", 0, 0),
        ("sin.approx.f32", INF, NAN),
        ("sin.approx.f32", MINUS | INF, NAN),
        ("sin.approx.ftz.f32", 0x807f_ffff, MINUS),
        ("cos.approx.f32", MINUS, ONE),
        ("cos.approx.f32", 1, ONE),
        ("cos.approx.f32", INF, NAN),
        ("rcp.approx.f32", MINUS, MINUS | INF),
        ("rcp.approx.f32", MINUS | INF, MINUS),
        ("rcp.approx.ftz.f32", 0x807f_ffff, MINUS | INF),
        ("sqrt.approx.f32", MINUS, MINUS),
        ("sqrt.approx.f32", MINUS | ONE, NAN),
        ("sqrt.approx.ftz.f32", 0x807f_ffff, MINUS),
        ("rsqrt.approx.f32", MINUS, MINUS | INF),
        ("rsqrt.approx.f32", INF, 0),
        ("rsqrt.approx.f32", MINUS | INF, NAN),
        ("lg2.approx.f32", MINUS, MINUS | INF),
        ("lg2.approx.f32", MINUS | INF, NAN),
        ("lg2.approx.ftz.f32", 0x807f_ffff, MINUS | INF),
        ("ex2.approx.f32", MINUS | INF, 0),
        ("ex2.approx.f32", MINUS, ONE),
        ("tanh.approx.f32", MINUS, MINUS),
        ("tanh.approx.f32", MINUS | INF, MINUS | ONE),
    ];
    for (name, operand, result) in table {
        assert_eq!(function(&format!("{name} %d, %a")).of_u32([operand]), result, "{name} {operand:#x}");
    }
    // Divisors above 2^126: zero, or no number for an infinity.
    let quotient = function("div.approx.f32 %d, %a, %b");
    for divisor in [0x7e80_0001, 0x7f7f_ffff] {
        assert_eq!(quotient.of_u32([ONE, divisor]), 0);
        assert_eq!(quotient.of_u32([ONE, MINUS | divisor]), MINUS);
        assert_eq!(quotient.of_u32([INF, divisor]), NAN);
    }
    assert_eq!(quotient.of_u32([0x7e80_0000, 0x7e80_0000]), ONE, "2^126 is not above");
}

/// What is approximate is known as such, and nothing else.
#[test]
fn approximations_have_bounds() {
    assert_eq!(approximation(&instruction("div.full.f32 %d, %a, %b")), Some(Bound::Ulp(2)));
    assert_eq!(approximation(&instruction("div.rn.f32 %d, %a, %b")), None);
    assert_eq!(approximation(&instruction("add.f32 %d, %a, %b")), None);
    let sine = function("sin.approx.f32 %d, %a");
    let power = function("ex2.approx.f32 %d, %a");
    for step in -600..600 {
        let x = step as f32 / 100.0;
        assert!((f64::from(sine.of_f32([x])) - f64::from(x).sin()).abs() <= (-20.5f64).exp2(), "sin {x}");
        let exact = f64::from(x).exp2();
        assert!((f64::from(power.of_f32([x])) - exact).abs() <= exact * (-22f64).exp2(), "ex2 {x}");
    }
}
