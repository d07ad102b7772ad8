//! Code as bytes, and as words at addresses.

use oriole_isa::Arch;
use oriole_isa::code::{address, bytes, words};

/// A bundle of ptxas 12.9.86's code for sm_50, by hand: `MOV R1, c[0x0][0x20]` and two more.
#[test]
fn bundles_are_taken_apart_and_put_together() {
    let units: [u64; 4] = [0x001f_c400_fe20_07f6, 1, 2, 3];
    let code: Vec<u8> = units.into_iter().flat_map(u64::to_le_bytes).collect();
    let words = words(&code, Arch::Sm50);
    let control = |i: usize| (words[i].1 >> 64) as u64;
    assert_eq!([control(0), control(1), control(2)], [0x07f6, 0x7f1, 0x7f1]);
    assert_eq!(words.iter().map(|w| w.0).collect::<Vec<_>>(), [8, 16, 24]);
    let only: Vec<u128> = words.iter().map(|w| w.1).collect();
    assert_eq!(bytes(&only, Arch::Sm50), code);
    assert_eq!(address(3, Arch::Sm61), 40);
}

#[test]
fn wide_words_follow_each_other() {
    let code: Vec<u8> = (0..40).collect();
    let words = words(&code, Arch::Sm90);
    assert_eq!(words.iter().map(|w| w.0).collect::<Vec<_>>(), [0, 16]);
    assert_eq!(bytes(&[words[0].1, words[1].1], Arch::Sm90), code[..32]);
}
