//! Integers of any width up to 128 in the low bits of a word.

/// The lowest `bits` bits.
pub(crate) const fn mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// The value of an integer of `bits` bits with its sign.
pub(crate) const fn signed(value: u128, bits: u32) -> i128 {
    let unused = 128 - if bits > 128 { 128 } else { bits };
    if unused == 128 { 0 } else { (value << unused) as i128 >> unused }
}
