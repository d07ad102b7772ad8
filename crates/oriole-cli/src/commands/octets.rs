//! Names that are not UTF-8 as text, and back. The compiler's interface takes text; a file's name may be any bytes.
//!
//! A byte that is no part of UTF-8 becomes a character of the private use area, U+EF00 and the byte. So do the bytes of
//! these characters themselves, so that every name comes back as it was.

use super::system;
use std::ffi::{OsStr, OsString};

/// The character of byte 0.
const FIRST: u32 = 0xef00;

fn character(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn byte(character: char) -> Option<u8> {
    u8::try_from(u32::from(character).checked_sub(FIRST)?).ok()
}

/// A name as text: itself where it is UTF-8.
pub(super) fn text(name: &OsStr) -> String {
    let mut out = String::with_capacity(name.len());
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match byte(c) {
                Some(_) => out.extend(c.encode_utf8(&mut [0; 4]).bytes().map(character)),
                None => out.push(c),
            }
        }
        out.extend(chunk.invalid().iter().copied().map(character));
    }
    out
}

/// The name that [`text`] made this of.
pub(super) fn name(text: &str) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    system::name(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn names_come_back() {
        for bytes in [&b"k.ptx"[..], b"", b"\xff", b"a\xe4b", "\u{ef41}\u{efff}é".as_bytes(), b"\xee\xbc", b"x\xc3"] {
            let given = OsStr::from_bytes(bytes);
            assert_eq!(name(&text(given)), given, "{bytes:x?}");
        }
        assert_eq!(text(OsStr::new("é.ptx")), "é.ptx");
    }
}
