//! `MUFU` against the error bounds and special values that the PTX manual gives.

use super::{Stream, Warp};
use crate::lanes::WARP;
use oriole_isa::Arch;

const INF: u32 = 0x7f80_0000;
const NAN: u32 = 0x7fff_ffff;
const MINUS: u32 = 0x8000_0000;
/// The greatest subnormal number.
const SUBNORMAL: u32 = 0x007f_ffff;

#[test]
fn special_values() {
    let one = 0x3f80_0000;
    // Function, operand, result.
    let table: [(&str, u32, u32); 30] = [
        ("RCP", 0, INF),
        ("RCP", MINUS, MINUS | INF),
        ("RCP", SUBNORMAL, INF),
        ("RCP", MINUS | SUBNORMAL, MINUS | INF),
        ("RCP", MINUS | INF, MINUS),
        ("RCP", 0xffc0_0000, NAN),
        ("RCP", one, one),
        ("RSQ", 0, INF),
        ("RSQ", MINUS, MINUS | INF),
        ("RSQ", INF, 0),
        ("RSQ", MINUS | one, NAN),
        ("RSQ", SUBNORMAL, INF),
        ("SQRT", MINUS, MINUS),
        ("SQRT", INF, INF),
        ("SQRT", MINUS | one, NAN),
        ("SQRT", SUBNORMAL, 0),
        ("EX2", 0, one),
        ("EX2", MINUS | INF, 0),
        ("EX2", INF, INF),
        ("EX2", SUBNORMAL, one),
        ("EX2", 0xc2fe_0000, 0), // 2^-127 would be subnormal
        ("LG2", 0, MINUS | INF),
        ("LG2", SUBNORMAL, MINUS | INF),
        ("LG2", INF, INF),
        ("LG2", MINUS | one, NAN),
        ("SIN", MINUS, MINUS),
        ("SIN", INF, NAN),
        ("COS", SUBNORMAL, one),
        ("TANH", SUBNORMAL, SUBNORMAL),
        ("TANH", MINUS | INF, MINUS | one),
    ];
    for (function, operand, result) in table {
        let warp = Warp::new(Arch::Sm80).with(0, [operand; WARP]).run(&format!("MUFU.{function} R4, R0"));
        assert_eq!(warp.r(4)[0], result, "{function} {operand:#x}");
    }
}

#[test]
fn errors_stay_in_their_bounds() {
    type Real = fn(f64) -> f64;
    // The greatest relative error of the `.approx` instruction, by its page in the manual.
    let functions: [(&str, Real, f64); 6] = [
        ("RCP", |x| 1.0 / x, 2f64.powi(-23)),
        ("RSQ", |x| 1.0 / x.sqrt(), 2f64.powf(-22.9)),
        ("SQRT", f64::sqrt, 2f64.powi(-23)),
        ("EX2", f64::exp2, 2f64.powf(-22.5)),
        ("LG2", f64::log2, 2f64.powi(-22)),
        ("TANH", f64::tanh, 2f64.powi(-11)),
    ];
    let mut stream = Stream(11);
    let operands = std::array::from_fn(|_| {
        let z = stream.next().unwrap_or_default() as u32;
        // From 2^-6 to 2^6: the results are normal.
        (121 + (z >> 24) % 12) << 23 | z & 0x7f_ffff
    });
    for (function, real, bound) in functions {
        let warp = Warp::new(Arch::Sm80).with(0, operands).run(&format!("MUFU.{function} R4, R0"));
        for lane in 0..WARP {
            let exact = real(f64::from(f32::from_bits(operands[lane])));
            let error = (f64::from(f32::from_bits(warp.r(4)[lane])) - exact).abs();
            assert!(error <= bound * exact.abs(), "{function} {:#x}: {error:e}", operands[lane]);
        }
    }
}

#[test]
fn angles_are_given_in_turns() {
    let angles = std::array::from_fn(|lane| (lane as f32 / 8.0 - 2.0).to_bits());
    let warp = Warp::new(Arch::Sm80).with(0, angles).run("MUFU.SIN R4, R0\nMUFU.COS R5, R0");
    let eighths = [0.0, 0.5f64.sqrt(), 1.0, 0.5f64.sqrt(), 0.0, -(0.5f64.sqrt()), -1.0, -(0.5f64.sqrt())];
    for lane in 0..WARP {
        let value = |n: usize| f64::from(f32::from_bits(warp.r(n)[lane]));
        assert!((value(4) - eighths[lane % 8]).abs() < 2f64.powi(-20), "sin of {lane}/8 turns");
        assert!((value(5) - eighths[(lane + 2) % 8]).abs() < 2f64.powi(-20), "cos of {lane}/8 turns");
    }
}

#[test]
fn high_words_of_doubles() {
    for value in [1.0, 3.0, -7.5, 1e300, 1e-300, 2.5e-5] {
        let bits = f64::to_bits(value);
        let high = (bits >> 32) as u32;
        let warp = Warp::new(Arch::Sm80).with(0, [high; WARP]).run("MUFU.RCP64H R4, R0\nMUFU.RSQ64H R5, |R0|");
        let result = |n: usize| f64::from_bits(u64::from(warp.r(n)[0]) << 32);
        assert!((result(4) * value - 1.0).abs() < 2f64.powi(-18));
        assert!((result(5) * result(5) * value.abs() - 1.0).abs() < 2f64.powi(-17));
    }
    let specials = [
        (0, 0x7ff0_0000),
        (0x8000_0000, 0xfff0_0000),
        (0x000f_ffff, 0x7ff0_0000),
        (0x7ff0_0000, 0),
        (0xfff0_0000, MINUS),
    ];
    for (operand, result) in specials {
        let warp = Warp::new(Arch::Sm80).with(0, [operand; WARP]).run("MUFU.RCP64H R4, R0");
        assert_eq!(warp.r(4)[0], result, "{operand:#x}");
    }
}

/// Powers of two whose exponents are whole numbers are exact in both formats; signs apply to each half.
#[test]
fn halves_in_pairs() {
    // 1 and -2 as f16, and as bf16.
    let operands = [0x3c00_c000, 0x3f80_c000];
    let warp = Warp::new(Arch::Sm103).with(0, [operands[0]; WARP]).with(1, [operands[1]; WARP]).run(
        "MUFU.EX2.F16x2 R4, R0
         MUFU.EX2.F16x2 R5, -R0
         MUFU.EX2.BF16x2 R6, R1
         MUFU.EX2.BF16x2 R7, |R1|",
    );
    // 2 and 1/4, 1/2 and 4 as f16; 2 and 1/4, 2 and 4 as bf16.
    let expected = [0x4000_3400, 0x3800_4400, 0x4000_3e80, 0x4000_4080];
    for (register, value) in (4..).zip(expected) {
        assert_eq!(warp.r(register)[0], value, "R{register}");
    }
}
