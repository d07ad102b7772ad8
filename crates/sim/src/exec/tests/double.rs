//! Double precision against `rustc_apfloat`.

use super::{ROUNDINGS, Stream, Warp, pairs};
use crate::lanes::WARP;
use oriole_isa::Arch;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::Double;

const CORNERS: [u64; 16] = [
    0,
    1 << 63,
    1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3fd5_5555_5555_5555,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0123,
    0xfff0_0000_0000_0001,
    0x4340_0000_0000_0001,
];

/// The result, or the NaN that the module's rule gives.
fn expected(operands: &[u64], value: Double) -> u64 {
    let nan = operands.iter().find(|&&bits| f64::from_bits(bits).is_nan());
    match (value.is_nan(), nan) {
        (true, Some(bits)) => bits | 1 << 51,
        (true, None) => 0xfff8_0000_0000_0000,
        _ => value.to_bits() as u64,
    }
}

#[test]
fn sums_products_and_fused_in_all_modes() {
    let mut all = pairs(&CORNERS);
    let mut stream = Stream(5);
    for _ in 0..30 {
        let a: [u64; WARP] = std::array::from_fn(|_| stream.next().unwrap_or_default());
        let b = a.map(|a| stream.next().unwrap_or_default() & 0x803f_ffff_ffff_ffff | a & 0x7fc0_0000_0000_0000);
        all.push((a, b));
    }
    for (a, b) in all {
        let c: [u64; WARP] = std::array::from_fn(|lane| CORNERS[(a[lane] ^ b[lane] >> 7) as usize % 16]);
        for (suffix, round) in ROUNDINGS {
            let text = format!(
                "DADD{suffix} R6, R0, R2
                 DMUL{suffix} R8, R0, R2
                 DFMA{suffix} R10, R0, R2, R4"
            );
            let warp = Warp::new(Arch::Sm80).with_wide(0, a).with_wide(2, b).with_wide(4, c).run(&text);
            for lane in 0..WARP {
                let soft = |bits: u64| Double::from_bits(u128::from(bits));
                let (x, y, z) = (soft(a[lane]), soft(b[lane]), soft(c[lane]));
                let at = format!("{:#x} {:#x} {:#x} {text}", a[lane], b[lane], c[lane]);
                assert_eq!(warp.wide(6)[lane], expected(&[a[lane], b[lane]], x.add_r(y, round).value), "{at}");
                assert_eq!(warp.wide(8)[lane], expected(&[a[lane], b[lane]], x.mul_r(y, round).value), "{at}");
                let fused = x.mul_add_r(y, z, round).value;
                assert_eq!(warp.wide(10)[lane], expected(&[a[lane], b[lane], c[lane]], fused), "{at}");
            }
        }
    }
}

/// The sequence to which compilers turn `min.f64`.
#[test]
fn minima_choose_numbers() {
    for (a, b) in pairs(&CORNERS) {
        let warp = Warp::new(Arch::Sm80).with_wide(0, a).with_wide(2, b).run(
            "DSETP.MIN.AND P0, P1, R0, R2, PT
             DSETP.MAX.AND P2, P3, R0, R2, PT
             DSETP.GEU.AND P4, P5, R0, |R2|, PT",
        );
        for lane in 0..WARP {
            let (x, y) = (f64::from_bits(a[lane]), f64::from_bits(b[lane]));
            for (first, neither, host) in [(0, 1, f64::min as fn(f64, f64) -> f64), (2, 3, f64::max)] {
                assert_eq!(warp.p(neither, lane), x.is_nan() && y.is_nan());
                let chosen = if warp.p(first, lane) { x } else { y };
                let host = host(x, y);
                assert!(chosen == host || host.is_nan() && chosen.is_nan(), "{x} {y}");
            }
            let holds = x.partial_cmp(&y.abs()).is_none_or(|order| order.is_ge());
            assert_eq!((warp.p(4, lane), warp.p(5, lane)), (holds, !holds));
        }
    }
}
