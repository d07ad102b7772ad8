//! Lines of SASS: what parses encodes, or is refused, on every generation.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oriole_isa::{Arch, decode, encode, parse};

fuzz_target!(|text: &str| {
    for arch in Arch::ALL {
        let Ok(inst) = parse(text, arch, &|_| None) else { continue };
        if let Ok(word) = encode(&inst, arch, 0) {
            assert!(decode(word, arch, 0).is_ok(), "{arch} {word:032x}");
        }
    }
});
