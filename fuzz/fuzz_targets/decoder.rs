//! Instruction words: whatever decodes encodes to the same word and prints, on every generation.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oriole_isa::{Arch, decode, encode};

/// An address in the middle, so that branches reach both ways.
const PC: u64 = 0x1000;

fuzz_target!(|word: [u8; 16]| {
    let word = u128::from_le_bytes(word);
    for arch in Arch::ALL {
        if let Ok(inst) = decode(word, arch, PC) {
            assert_eq!(encode(&inst, arch, PC), Ok(word), "{arch}");
        }
    }
});
