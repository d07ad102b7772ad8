//! The multipliers of divisions by constants, which are no part of the interface: the file is taken as it is.

#[path = "../src/chapters/multiplier.rs"]
mod numbers;

use numbers::{multiplier, signed_multiplier};

/// Numbers at which quotients change, and the ends of the range.
fn dividends(divisor: u64, bits: u32) -> impl Iterator<Item = u64> {
    let most = u64::MAX >> (u64::BITS - bits);
    let near = move |x: u64| [x.wrapping_sub(1) & most, x & most, x.wrapping_add(1) & most];
    let times = [1, 2, 3, 5, most / divisor, most / divisor / 2].map(|k| k.wrapping_mul(divisor));
    [0, most, most >> 1, most / 2 + 1].into_iter().chain(times).flat_map(near)
}

fn divisors(bits: u32) -> impl Iterator<Item = u64> {
    let most = u64::MAX >> (u64::BITS - bits);
    (3..400).chain((2..bits).flat_map(|k| [(1 << k) - 1, (1 << k) + 1])).chain([most, most - 1, most / 3, most / 7])
}

#[test]
fn multipliers_divide() {
    for bits in [32, 64] {
        for divisor in divisors(bits).filter(|divisor| !divisor.is_power_of_two()) {
            let Some((factor, shift)) = multiplier(divisor, bits, bits) else { continue };
            for a in dividends(divisor, bits) {
                let high = (u128::from(a) * u128::from(factor)) >> bits;
                assert_eq!((high >> shift) as u64, a / divisor, "{a} / {divisor}, {bits} bits");
            }
        }
    }
}

#[test]
fn signed_multipliers_divide() {
    for bits in [32, 64] {
        for size in divisors(bits - 1).filter(|size| !size.is_power_of_two()) {
            let (factor, shift) = signed_multiplier(size, bits);
            assert!(shift < bits - 1 && (bits == 64 || factor >> bits == 0));
            for a in dividends(size, bits) {
                let a = (a << (u64::BITS - bits)) as i64 >> (u64::BITS - bits);
                let high = (i128::from(a) * factor as i128) >> bits >> shift;
                assert_eq!(high as i64 + i64::from(a < 0), a / size as i64, "{a} / {size}, {bits} bits");
            }
        }
    }
}
