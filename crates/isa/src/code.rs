//! Instruction words in the bytes of a code section.
//!
//! From sm_70 on a word is 16 bytes. Before, four 8-byte units make a bundle: a control word with the
//! scheduling bits of three instructions (21 each), then these. The engine takes and gives such an
//! instruction as one word with its scheduling bits above bit 63.

use crate::Arch;

const BUNDLE_BYTES: usize = 32;
const SLICE: u64 = 0x1f_ffff;

/// Byte address of instruction `index` of a section.
pub fn address(index: usize, arch: Arch) -> u64 {
    let index = index as u64;
    if arch.word_format().is_bundled() { index / 3 * 32 + 8 + index % 3 * 8 } else { index * 16 }
}

/// Address and word of each instruction. Bytes at the end that make no whole instruction (or bundle)
/// are left out.
pub fn words(code: &[u8], arch: Arch) -> Vec<(u64, u128)> {
    let words: Vec<u128> = if arch.word_format().is_bundled() {
        code.as_chunks::<BUNDLE_BYTES>().0.iter().flat_map(unbundle).collect()
    } else {
        code.as_chunks::<16>().0.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect()
    };
    words.into_iter().enumerate().map(|(index, word)| (address(index, arch), word)).collect()
}

fn unbundle(bytes: &[u8; BUNDLE_BYTES]) -> [u128; 3] {
    let mut units = [0; 4];
    for (unit, bytes) in units.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *unit = u64::from_le_bytes(*bytes);
    }
    let [control, insts @ ..] = units;
    let mut slice = 0;
    insts.map(|inst| {
        let word = u128::from(control >> (21 * slice) & SLICE) << 64 | u128::from(inst);
        slice += 1;
        word
    })
}

/// The bytes of a section with these instructions; the last bundle, if it is not full, ends with
/// zeros. The inverse of [`words`], but for the top bit of control words, which has no meaning.
pub fn bytes(words: &[u128], arch: Arch) -> Vec<u8> {
    if !arch.word_format().is_bundled() {
        return words.iter().flat_map(|word| word.to_le_bytes()).collect();
    }
    let mut out = Vec::with_capacity(words.len().div_ceil(3) * BUNDLE_BYTES);
    for bundle in words.chunks(3) {
        let slices = bundle.iter().enumerate().map(|(i, word)| ((word >> 64) as u64 & SLICE) << (21 * i));
        let control: u64 = slices.sum();
        out.extend(control.to_le_bytes());
        let insts = bundle.iter().map(|word| *word as u64).chain([0; 2]).take(3);
        out.extend(insts.flat_map(u64::to_le_bytes));
    }
    out
}
