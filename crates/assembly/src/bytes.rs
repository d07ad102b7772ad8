//! Bytes as hexadecimal lines.

use std::fmt::Write;

/// Bytes on a line of `.bytes`.
const LINE: usize = 32;

/// Hexadecimal lines; runs of zeros are counted.
pub(crate) fn write_bytes(out: &mut String, data: &[u8]) {
    let mut rest = data;
    while !rest.is_empty() {
        let zeros = rest.iter().take_while(|b| **b == 0).count();
        if zeros >= LINE || zeros == rest.len() {
            let _ = writeln!(out, "\t.zero {zeros}");
            rest = &rest[zeros..];
            continue;
        }
        let (line, later) = rest.split_at(LINE.min(rest.len()));
        let hex: String = line.iter().map(|b| format!("{b:02x}")).collect();
        let _ = writeln!(out, "\t.bytes {hex}");
        rest = later;
    }
}
