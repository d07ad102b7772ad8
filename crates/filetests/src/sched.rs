//! `test sched`: an allocated function, and its instructions in their final order with control words.

use crate::ori::function;
use oriole_assembly::control_text;
use oriole_isa::{Arch, Control};
use oriole_ori::text::inst_text;
use oriole_sched::{Options, OrderSeed, schedule};
use std::fmt::Write;

/// The blocks, each instruction behind its control word as disassembly shows it.
pub(crate) fn run(reorder: bool, arch: Arch, input: &str) -> Result<String, String> {
    let mut func = function(input, arch)?;
    schedule(&mut func, arch, &Options { reorder, constant_lines: 0, seed: OrderSeed::default() })
        .map_err(|error| error.to_string())?;
    let mut text = String::new();
    for block in func.layout().to_vec() {
        let _ = writeln!(text, "{block}:");
        for inst in func.block_insts(block).to_vec() {
            let control = func[inst].control;
            func.edit().set_control(inst, Control::NONE);
            let _ = writeln!(text, "    {} {}", control_text(control), inst_text(&func, inst));
        }
    }
    Ok(text)
}
