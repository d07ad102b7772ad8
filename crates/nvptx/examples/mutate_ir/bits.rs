//! Damaged bitcode.

use fastrand::Rng;

/// The bytes with one to eight changes.
pub(crate) fn damage(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.u32(1..=8) {
        if bytes.len() < 8 {
            break;
        }
        let at = rng.usize(4..bytes.len());
        match rng.u32(0..6) {
            0 | 1 => bytes[at] ^= 1 << rng.u32(0..8),
            2 => bytes[at] = rng.u8(..),
            // Block lengths and the like are whole words.
            3 => {
                let at = at & !3;
                let word = [rng.u32(..), u32::MAX, 0, rng.u32(0..1000)][rng.usize(0..4)];
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
            }
            4 => {
                let len = rng.usize(0..64).min(bytes.len() - at);
                let from = rng.usize(0..bytes.len() - len);
                bytes.copy_within(from..from + len, at);
            }
            _ if rng.u32(0..8) == 0 => bytes.truncate(at),
            _ => drop(bytes.remove(at)),
        }
    }
    bytes
}
