//! What a division by a constant multiplies with.
//!
//! The multipliers are those of Granlund and Montgomery, "Division by Invariant Integers using Multiplication", as given in Warren,
//! "Hacker's Delight", chapter 10.
// Numbers alone: `tests/multiplier.rs` takes this file as it is.

/// A factor of `bits` bits and a shift that divide every number of `used` bits: `floor(a * factor / 2^(bits + shift))`. That is right
/// where `2^(bits + shift) <= factor * divisor <= 2^(bits + shift) + 2^(bits + shift - used)`.
pub(crate) fn multiplier(divisor: u64, used: u32, bits: u32) -> Option<(u64, u32)> {
    let divisor = u128::from(divisor);
    (0..bits.min(u128::BITS - 1 - bits)).find_map(|shift| {
        let power = 1u128 << (bits + shift);
        let factor = power.div_ceil(divisor);
        let fits = factor >> bits == 0;
        (fits && factor * divisor - power <= 1 << (bits + shift - used)).then_some((factor as u64, shift))
    })
}

/// The same for numbers with sign, of which `bits - 1` bits count: of the least power that makes the error small enough. The factor may
/// have all `bits` bits.
pub(crate) fn signed_multiplier(size: u64, bits: u32) -> (u64, u32) {
    let size = u128::from(size);
    let (mut shift, mut factor) = (0, (1u128 << bits) / size + 1);
    // The error is below the size, and the size below 2^(bits - 1), so that this ends at bits - 2.
    while factor * size - (1u128 << (bits + shift)) > 1 << (shift + 1) {
        shift += 1;
        factor = (1u128 << (bits + shift)) / size + 1;
    }
    (factor as u64, shift)
}
