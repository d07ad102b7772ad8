//! The hash of names. The build script makes perfect hash tables with it.

/// Hash of a short name: eight bytes at a time, multiply and fold.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = (bytes.len() as u64).wrapping_mul(K);
    let mut rest = bytes;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        state = mix(state ^ u64::from_le_bytes(*word));
        rest = tail;
    }
    mix(state ^ few(rest))
}

/// Fewer than eight bytes as a number, each of them somewhere in it: texts of one length have the same number only if
/// they are the same.
#[inline]
pub(super) fn few(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    }
    match *bytes {
        [] => 0,
        [first] => u64::from(first),
        [first, .., last] => u64::from(first) | u64::from(bytes[bytes.len() / 2]) << 8 | u64::from(last) << 16,
    }
}

/// One multiply-and-fold round of [`hash`].
#[inline]
pub(super) fn mix(value: u64) -> u64 {
    let wide = u128::from(value ^ 0xA076_1D64_78BD_642F) * u128::from(0xE703_7ED1_A0B4_28DBu64);
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// The bucket of a hash in a perfect hash table; `buckets` is a power of two.
pub(crate) fn bucket(hash: u64, buckets: usize) -> usize {
    (hash >> 48) as usize & (buckets - 1)
}

/// The slot of a hash in a perfect hash table, moved as its bucket says; `slots` is a power of two.
pub(crate) fn slot(hash: u64, by: u8, slots: usize) -> usize {
    let (start, step) = (hash as usize, (hash >> 24) as usize | 1);
    start.wrapping_add(step.wrapping_mul(usize::from(by))) & (slots - 1)
}
