//! The assembly of a cubin: an error or a file; the text of that file makes the same file again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oriole_assembly::{assemble, disassemble};

fuzz_target!(|text: &str| {
    let Ok(cubin) = assemble(text) else { return };
    if let Ok(listing) = disassemble(&cubin) {
        assert_eq!(assemble(&listing), Ok(cubin));
    }
});
