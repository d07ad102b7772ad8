//! `oriole disasm --json`: code for programs.

use oriole_assembly::{ListedFunction, ListedInstruction};
use oriole_cubin::{Cubin, LineTable};
use oriole_isa::Control;
use serde_json::{Value, json};

/// The functions of a cubin; with their lines where there is a table of them.
pub(crate) fn document(cubin: &Cubin, functions: &[ListedFunction], lines: &LineTable) -> Value {
    let functions = functions.iter().map(|function| self::function(function, lines));
    json!({ "target": cubin.target.to_string(), "functions": functions.collect::<Value>() })
}

fn function(function: &ListedFunction, lines: &LineTable) -> Value {
    let instruction = |inst: &ListedInstruction| {
        let place = lines.at(function.section, inst.address);
        json!({
            "address": inst.address,
            "word": format!("{:032x}", inst.word),
            "label": inst.label,
            // What is no instruction has no text.
            "text": inst.control.map(|_| &inst.text),
            "control": inst.control.map(control),
            "file": place.map(|place| place.file),
            "line": place.map(|place| place.line),
        })
    };
    json!({
        "name": function.name,
        "kernel": function.is_kernel,
        "instructions": function.instructions.iter().map(instruction).collect::<Value>(),
    })
}

fn control(control: Control) -> Value {
    json!({
        "stall": control.stall,
        "stay": control.stay,
        "write": scoreboard(control.write_scoreboard),
        "read": scoreboard(control.read_scoreboard),
        "wait": waits(control).collect::<Vec<u8>>(),
    })
}

/// The scoreboard of a number in a control word, if that is one.
pub(super) fn scoreboard(number: u8) -> Option<u8> {
    (number != Control::NO_SCOREBOARD).then_some(number)
}

/// The scoreboards that a control word waits for.
pub(super) fn waits(control: Control) -> impl Iterator<Item = u8> {
    (0..6).filter(move |at| control.wait_mask >> at & 1 == 1)
}
