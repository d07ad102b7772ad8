//! Floating-point operations that PTX has not.

use super::binary;
use half::{bf16, f16};

/// Pairs of bits of a float of `bits` bits: special numbers, and random ones.
fn pairs(bits: u32, fraction: u32, seed: u64) -> Vec<(u128, u128)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let inf = ((1u128 << (bits - 1 - fraction)) - 1) << fraction;
    let one = 1u128 << fraction;
    let sign = 1u128 << (bits - 1);
    let mut special = vec![0, 1, one - 1, one, inf - 1, inf, inf | one >> 1, inf | 1, inf >> 1];
    special.extend(special.clone().iter().map(|&value| value | sign));
    let mut list: Vec<_> = special.iter().flat_map(|&a| special.iter().map(move |&b| (a, b))).collect();
    let mask = u128::MAX >> (128 - bits);
    for _ in 0..200 {
        let a = rng.u128(..) & mask;
        // Half of the pairs have exponents near each other.
        let b = if rng.bool() { rng.u128(..) & mask } else { a ^ (rng.u128(..) & ((one << 3) - 1)) };
        list.push((a, b));
    }
    list
}

/// Equal, or both not a number.
fn same(r: u128, expected: u128, bits: u32, fraction: u32) -> bool {
    let inf = ((1u128 << (bits - 1 - fraction)) - 1) << fraction;
    let size = |value: u128| value & !(1 << (bits - 1));
    r == expected || size(r) > inf && size(expected) > inf
}

#[test]
fn remainders_are_exact() {
    type Exact = fn(u128, u128) -> u128;
    let types: [(&str, u32, u32, Exact); 4] = [
        ("double", 64, 52, |a, b| (f64::from_bits(a as u64) % f64::from_bits(b as u64)).to_bits().into()),
        ("float", 32, 23, |a, b| (f32::from_bits(a as u32) % f32::from_bits(b as u32)).to_bits().into()),
        ("half", 16, 10, |a, b| {
            f16::from_f32(f16::from_bits(a as u16).to_f32() % f16::from_bits(b as u16).to_f32()).to_bits().into()
        }),
        ("bfloat", 16, 7, |a, b| {
            bf16::from_f32(bf16::from_bits(a as u16).to_f32() % bf16::from_bits(b as u16).to_f32()).to_bits().into()
        }),
    ];
    for (ty, bits, fraction, exact) in types {
        let list = pairs(bits, fraction, 1);
        let results = binary([ty; 3], "", &format!("  %r = frem {ty} %a, %b\n"), &list, "sm_80");
        for ((a, b), r) in list.into_iter().zip(results) {
            assert!(same(r, exact(a, b), bits, fraction), "frem {ty} {a:#x}, {b:#x}: {r:#x}, not {:#x}", exact(a, b));
        }
    }
}

#[test]
fn remainders_of_vectors() {
    let list = pairs(64, 23, 9);
    let results = binary(["<2 x float>"; 3], "", "  %r = frem <2 x float> %a, %b\n", &list, "sm_80");
    for ((a, b), r) in list.into_iter().zip(results) {
        for lane in [0, 32] {
            let [x, y] = [a, b].map(|bits| f32::from_bits((bits >> lane) as u32));
            let r = (r >> lane) as u32;
            assert!(same(r.into(), (x % y).to_bits().into(), 32, 23), "{x:?} % {y:?}: {r:#x}");
        }
    }
}

#[test]
fn wide_integers_become_floats() {
    let list = super::pairs(128, 120, 2);
    for (signed, op) in [(false, "uitofp"), (true, "sitofp")] {
        let exact = |ty: &str, a: u128| -> u128 {
            match (ty, signed) {
                ("double", false) => (a as f64).to_bits().into(),
                ("double", true) => (a as i128 as f64).to_bits().into(),
                ("float", false) => (a as f32).to_bits().into(),
                _ => (a as i128 as f32).to_bits().into(),
            }
        };
        for ty in ["double", "float"] {
            let results = binary(["i128", "i128", ty], "", &format!("  %r = {op} i128 %a to {ty}\n"), &list, "sm_80");
            for (&(a, _), r) in list.iter().zip(results) {
                assert_eq!(r, exact(ty, a), "{op} {a:#x} to {ty}");
            }
        }
    }
}

#[test]
fn integers_become_bfloat_with_one_rounding() {
    // Just above the middle between two numbers, by a bit that `double` and `float` lose.
    let list: Vec<(u128, u128)> =
        super::pairs(64, 150, 4).into_iter().chain([(0x8080_0000_0000_0001, 0), (0x8080_0000_0000_0000, 0)]).collect();
    let results = binary(["i64", "i64", "bfloat"], "", "  %r = uitofp i64 %a to bfloat\n", &list, "sm_80");
    for ((a, _), r) in list.into_iter().zip(results) {
        // The numbers beside, by their bits; ties go to the even one.
        let down = a as f32;
        let below = bf16::from_bits((if down as u128 > a { down.next_down() } else { down }.to_bits() >> 16) as u16);
        let above = bf16::from_bits(below.to_bits() + 1);
        let (left, right) = (a - below.to_f64() as u128, above.to_f64() as u128 - a);
        let up = left > right || left == right && below.to_bits() & 1 == 1;
        assert_eq!(r, if up { above } else { below }.to_bits().into(), "{a:#x}");
    }
}

#[test]
fn floats_become_wide_integers() {
    let list = pairs(64, 52, 3);
    for (ty, exact) in [("i128", u128::MAX), ("i100", (1 << 100) - 1)] {
        for (op, signed) in [("fptoui.sat", false), ("fptosi.sat", true)] {
            let declaration = format!("declare {ty} @llvm.{op}.{ty}.f64(double)\n");
            let body = format!("  %r = call {ty} @llvm.{op}.{ty}.f64(double %a)\n");
            let results = binary(["double", "double", ty], &declaration, &body, &list, "sm_80");
            for (&(a, _), r) in list.iter().zip(results) {
                let x = f64::from_bits(a as u64);
                let (max, min) = ((exact >> 1) as i128, -((exact >> 1) as i128) - 1);
                let expected =
                    if signed { (x as i128).clamp(min, max) as u128 & exact } else { (x as u128).min(exact) };
                assert_eq!(r, expected, "{op} {x:?} to {ty}");
            }
        }
    }
}

#[test]
fn conversions_end_at_the_bounds() {
    let list = pairs(32, 23, 6);
    type Exact = fn(f32) -> u128;
    let types: [(&str, &str, Exact); 6] = [
        ("i8", "fptosi.sat", |x| (x as i8 as u8).into()),
        ("i8", "fptoui.sat", |x| (x as u8).into()),
        ("i32", "fptosi.sat", |x| (x as i32 as u32).into()),
        ("i32", "fptoui.sat", |x| (x as u32).into()),
        ("i64", "fptosi.sat", |x| (x as i64 as u64).into()),
        ("i64", "fptoui.sat", |x| (x as u64).into()),
    ];
    for (ty, op, exact) in types {
        let declaration = format!("declare {ty} @llvm.{op}.{ty}.f32(float)\n");
        let body = format!("  %r = call {ty} @llvm.{op}.{ty}.f32(float %a)\n");
        let results = binary(["float", "float", ty], &declaration, &body, &list, "sm_80");
        for (&(a, _), r) in list.iter().zip(results) {
            let x = f32::from_bits(a as u32);
            assert_eq!(r, exact(x), "{op} {x:?} to {ty}");
        }
    }
}

#[test]
fn classes_of_floats() {
    let list = pairs(64, 52, 8);
    let declaration = "declare i1 @llvm.is.fpclass.f64(double, i32)\n";
    // -normal, +0, quiet NaN, +inf and what is not one of them.
    let mask = 8 | 64 | 2 | 512;
    for (mask, wanted) in [(mask, true), (1023 ^ mask, false)] {
        let body = format!("  %r = call i1 @llvm.is.fpclass.f64(double %a, i32 {mask})\n");
        let results = binary(["double", "double", "i1"], declaration, &body, &list, "sm_80");
        for (&(a, _), r) in list.iter().zip(results) {
            let x = f64::from_bits(a as u64);
            let quiet = x.is_nan() && a >> 51 & 1 == 1;
            let hit = x.is_normal() && x < 0.0 || a == 0 || quiet || x == f64::INFINITY;
            assert_eq!(r == 1, hit == wanted, "{x:?} {a:#x} in {mask}");
        }
    }
}

#[test]
fn fractions_and_exponents() {
    let list = pairs(64, 52, 10);
    let declaration =
        "declare { double, i32 } @llvm.frexp.f64.i32(double)\ndeclare double @llvm.ldexp.f64.i32(double, i32)\n";
    let part = |index: u32, ty: &str| {
        let body = format!(
            "  %p = call {{ double, i32 }} @llvm.frexp.f64.i32(double %a)\n  %r = extractvalue {{ double, i32 }} %p, {index}\n"
        );
        binary(["double", "double", ty], declaration, &body, &list, "sm_80")
    };
    let (fractions, exponents) = (part(0, "double"), part(1, "i32"));
    for ((&(a, _), fraction), exponent) in list.iter().zip(fractions).zip(exponents) {
        let (x, fraction, exponent) = (f64::from_bits(a as u64), f64::from_bits(fraction as u64), exponent as i32);
        if x == 0.0 || !x.is_finite() {
            assert!(same(fraction.to_bits().into(), a, 64, 52), "{x:?}");
            continue;
        }
        assert!((0.5..1.0).contains(&fraction.abs()), "{x:?}: {fraction:?}");
        // In two steps, neither of which leaves the range of normal numbers.
        let half = exponent / 2;
        let back = fraction * 2f64.powi(exponent - half) * 2f64.powi(half);
        assert_eq!(back.to_bits(), x.to_bits(), "{x:?}: {fraction:?} * 2^{exponent}");
    }
}

#[test]
fn scaling_rounds_once() {
    let mut rng = fastrand::Rng::with_seed(12);
    let declaration = "declare float @llvm.ldexp.f32.i32(float, i32)\n";
    let body = "  %r = call float @llvm.ldexp.f32.i32(float %a, i32 %b)\n";
    let list: Vec<(u128, u128)> = (0..300).map(|_| (rng.u32(..).into(), (rng.i32(-400..400) as u32).into())).collect();
    let results = binary(["float", "i32", "float"], declaration, body, &list, "sm_80");
    for ((a, b), r) in list.into_iter().zip(results) {
        let (x, n) = (f32::from_bits(a as u32), b as u32 as i32);
        // Exact in `double`, whose range is wide enough, so that the conversion rounds alone.
        let expected = (f64::from(x) * 2f64.powi(n)) as f32;
        assert!(same(r, expected.to_bits().into(), 32, 23), "ldexp {x:?}, {n}: {r:#x}");
    }
}

#[test]
fn powers_of_integers() {
    let declaration = "declare double @llvm.powi.f64.i32(double, i32)\n";
    let body = "  %r = call double @llvm.powi.f64.i32(double %a, i32 %b)\n";
    // Powers whose steps are all exact.
    let list: Vec<(u128, u128)> = [(2.0, 10), (2.0, -10), (-3.0, 5), (3.0, 20), (7.0, 0), (0.5, -30), (-2.0, 31)]
        .into_iter()
        .map(|(x, n): (f64, i32)| (x.to_bits().into(), (n as u32).into()))
        .collect();
    let results = binary(["double", "i32", "double"], declaration, body, &list, "sm_80");
    for ((a, b), r) in list.into_iter().zip(results) {
        let (x, n) = (f64::from_bits(a as u64), b as u32 as i32);
        let mut size = 1.0;
        (0..n.unsigned_abs()).for_each(|_| size *= x);
        let expected: f64 = if n < 0 { 1.0 / size } else { size };
        assert_eq!(f64::from_bits(r as u64), expected, "{x}^{n}");
    }
}
