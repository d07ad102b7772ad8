//! What `--pressure` writes: the registers that are live at each instruction, where most are, and what fewer would bring.

mod json;
mod svg;

use oriole_codegen::{Compiled, OccupancyStep, Pressure, pressure};
use oriole_ori::FuncId;

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Svg,
}

/// All functions of the module.
pub(crate) fn report(compiled: &Compiled, form: Form) -> String {
    let functions: Vec<Pressure> = compiled.module.functions.keys().filter_map(|id| pressure(compiled, id)).collect();
    match form {
        Form::Json => format!("{:#}\n", json::document(&functions)),
        Form::Svg => svg::document(&functions),
    }
}

/// A function's fat points in the published words: of every file that is used, the most registers that hold a value at one
/// instruction.
pub(crate) fn fat_points(compiled: &Compiled, id: FuncId) -> String {
    let Some(pressure) = pressure(compiled, id) else { return String::new() };
    let used = json::FILES.iter().zip(&pressure.peaks).filter_map(|(file, peak)| Some((file, peak.as_ref()?.count)));
    let name = &pressure.function;
    used.map(|(file, count)| format!("Fatpoint count for entry {name} for regclass {file} : {count}\n")).collect()
}

/// What the next step of fewer registers would bring, such as "6 registers fewer: one block more".
fn gain(pressure: &Pressure) -> Option<String> {
    let [now, next] = *pressure.steps.first_chunk()?;
    let fewer = pressure.registers.checked_sub(next.registers).filter(|_| pressure.is_kernel)?;
    let (before, after, what) = match (now.blocks, next.blocks) {
        (Some(before), Some(after)) => (before, after, "block"),
        _ => (now.warps, next.warps, "warp"),
    };
    Some(format!("{} fewer: {} more", number(fewer, "register"), number(after - before, what)))
}

fn number(count: u32, what: &str) -> String {
    match count {
        1 => format!("one {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// How many run with so many registers.
fn occupancy(step: &OccupancyStep) -> String {
    match step.blocks {
        Some(blocks) => number(blocks, "block"),
        None => number(step.warps, "warp"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_codegen::{CompileOptions, compile};

    fn gain_of(directives: &str, registers: u32) -> Option<String> {
        let ptx =
            format!(".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k() {directives} {{ ret; }}\n");
        let options = CompileOptions { pressure: true, ..CompileOptions::default() };
        let mut compiled = compile(&ptx, &options).expect("the module is right");
        compiled.spec.functions[0].registers = registers;
        let id = compiled.module.functions.keys().next().expect("a kernel");
        gain(&pressure(&compiled, id).expect("it is there"))
    }

    /// By the table of the CUDA programming guide: 65,536 registers, 2,048 threads, given out 8 to a thread.
    #[test]
    fn the_next_step_is_the_published_one() {
        assert_eq!(gain_of("", 32), None);
        assert_eq!(gain_of("", 38).as_deref(), Some("6 registers fewer: 16 warps more"));
        assert_eq!(gain_of(".maxntid 256", 33).as_deref(), Some("one register fewer: 2 blocks more"));
        assert_eq!(gain_of(".reqntid 1024", 33).as_deref(), Some("one register fewer: one block more"));
        assert_eq!(gain_of(".reqntid 512", 96).as_deref(), Some("32 registers fewer: one block more"));
    }
}
