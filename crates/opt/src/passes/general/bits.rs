//! Bits and bytes of words, chosen and extended.
// Numbers alone: `tests/numbers.rs` takes this file as it is.

/// The lowest `bits` bits, with their sign or zeros above.
pub(super) fn extend(value: u32, bits: u32, signed: bool) -> u32 {
    match bits {
        0 => 0,
        32.. => value,
        _ => {
            let top = value << (32 - bits);
            if signed { ((top as i32) >> (32 - bits)) as u32 } else { top >> (32 - bits) }
        }
    }
}

/// Four bytes of `c:a`, each chosen by a nibble of `selector`, whose bit 3 asks for the byte's sign.
pub(super) fn permute(a: u32, selector: u32, c: u32) -> u32 {
    let bytes = u64::from(a) | u64::from(c) << 32;
    (0..4).fold(0, |result, k| {
        let nibble = selector >> (4 * k) & 15;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        result | u32::from(byte) << (8 * k)
    })
}
