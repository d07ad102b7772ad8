//! Code written by hand, as words: shared by the tests of the checker and those of the command line.

use oriole_isa::{Arch, Control, encode};

/// A line of code: text with `-> N` for the address of line N, and control `STALL[:W<n>][:R<n>][:B<n>...]`.
pub(crate) type Line = (&'static str, &'static str);

fn control(text: &str) -> Control {
    let mut parts = text.split(':');
    let stall = parts.next().and_then(|stall| stall.parse().ok()).expect("a stall count");
    let mut control = Control { stall, stay: (1..12).contains(&stall), ..Control::NONE };
    for part in parts {
        let number: u8 = part[1..].parse().expect("a scoreboard");
        match &part[..1] {
            "W" => control.write_scoreboard = number,
            "R" => control.read_scoreboard = number,
            _ => control.wait_mask |= 1 << number,
        }
    }
    control
}

pub(crate) fn code(lines: &[Line], arch: Arch) -> Vec<u8> {
    let word = |(number, (text, bits)): (usize, &Line)| {
        let mut text = (*text).to_owned();
        if let Some((before, line)) = text.clone().split_once("->") {
            text = format!("{before}{:#x}", 16 * line.trim().parse::<usize>().expect("a line"));
        }
        let mut inst = oriole_isa::parse(&text, arch, &|_| None).unwrap_or_else(|error| panic!("{text}: {error}"));
        inst.control = control(bits);
        encode(&inst, arch, 16 * number as u64).unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    lines.iter().enumerate().map(word).flat_map(u128::to_le_bytes).collect()
}
