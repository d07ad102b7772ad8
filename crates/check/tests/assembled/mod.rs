//! Cubins of code written by hand.

use oriole_check::{Report, check};
use oriole_cubin::{Cubin, FunctionSpec, InnerFunctionSpec, ModuleSpec, Target, write};
use oriole_isa::{Arch, Control, encode};

/// A line of code: text with `@N` for the address of line N, and control `STALL[:W<n>][:R<n>][:B<n>...]`.
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

/// A kernel of these lines; from line `inner` on they are a function that it calls.
pub(crate) fn report(lines: &[Line], inner: Option<u32>) -> Report {
    report_on(Target::new(80), Arch::Sm80, lines, inner)
}

/// The same for another target.
pub(crate) fn report_on(target: Target, arch: Arch, lines: &[Line], inner: Option<u32>) -> Report {
    check(&cubin(target, arch, lines, inner), &[]).expect("a known target")
}

/// Barriers that the kernel says it uses.
const BARRIERS: u32 = 2;

/// A cubin with such a kernel.
pub(crate) fn cubin(target: Target, arch: Arch, lines: &[Line], inner: Option<u32>) -> Cubin {
    let code = code(lines, arch);
    let mut kernel = FunctionSpec { barriers: BARRIERS, ..FunctionSpec::kernel("k", code.clone(), 32) };
    kernel.inner_functions.extend(inner.map(|line| {
        let (offset, size) = (16 * line, code.len() as u32 - 16 * line);
        InnerFunctionSpec { name: "$k$f".into(), offset, size, frame_size: 0 }
    }));
    let module = ModuleSpec { functions: vec![kernel], ..ModuleSpec::new(target) };
    let bytes = write(&module).expect("a module");
    Cubin::parse(&bytes).expect("a cubin")
}

/// The end of the kernel.
pub(crate) const EXIT: Line = ("EXIT", "5");
