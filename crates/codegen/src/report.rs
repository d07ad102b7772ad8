//! What ptxas says of a compiled module with `-v`, and when it is to warn of spills and of local memory: in its words.

use crate::pipeline::{Compiled, kernels};
use crate::resources::{Resources, resources, variable_bytes};
use oriole_cubin::FileKind;
use oriole_ori::{FuncId, Function, FunctionKind, MemSpace};
use std::fmt::Write;
use std::time::Duration;

/// How ptxas begins each.
const INFO: &str = "ptxas info    : ";

/// What ptxas says with `-v`, but for the time, which is another one each time. Texts are without the words `ptxas info`; one has
/// two lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Notes of allocation, and the bytes of the module's variables.
    pub module: Vec<String>,
    /// Those of each function: in an object file of functions that are no kernels, then of the kernels, the last one first.
    pub functions: Vec<Vec<String>>,
}

impl Report {
    /// Of a module.
    pub fn of(compiled: &Compiled) -> Report {
        let allocated: Vec<_> = compiled.allocation.functions.values().collect();
        let notes = allocated.into_iter().rev().flat_map(|function| &function.own.notes).map(ToString::to_string);
        let mut listed: Vec<_> = kernels(&compiled.module).collect();
        listed.reverse();
        let entry = |(id, func): (FuncId, &Function)| Some(kernel(compiled, func.name(), &resources(compiled, id)?));
        let is_object = compiled.spec.kind == FileKind::Relocatable;
        let callable = |(_, func): &(FuncId, &Function)| is_object && func.kind() != FunctionKind::Entry;
        let functions = compiled.module.functions.iter().filter(callable).map(|(id, func)| {
            let spills = compiled.allocation.functions[id].own.spills;
            vec![properties(func.name(), func.frame().size(), [spills.stores, spills.loads])]
        });
        Report {
            module: notes.chain([memory(compiled)]).collect(),
            functions: functions.chain(listed.into_iter().filter_map(entry)).collect(),
        }
    }

    /// All texts in the order in which ptxas prints them; of each function also its share of `time`, what all of it took, if that
    /// is given.
    pub fn texts(&self, time: Option<Duration>) -> Vec<String> {
        let share = time.map(|time| {
            let milliseconds = time.as_secs_f64() * 1e3 / self.functions.len().max(1) as f64;
            format!("Compile time = {milliseconds:.3} ms")
        });
        let functions = self.functions.iter().flat_map(|texts| texts.iter().chain(&share));
        self.module.iter().chain(functions).cloned().collect()
    }

    /// [`Report::texts`] as ptxas prints them.
    pub fn print(&self, time: Option<Duration>) -> String {
        self.texts(time).iter().map(|text| format!("{INFO}{text}\n")).collect()
    }
}

fn memory(compiled: &Compiled) -> String {
    let global = variable_bytes(compiled, MemSpace::Global);
    match variable_bytes(compiled, MemSpace::Const) {
        0 => format!("{global} bytes gmem"),
        constant => format!("{global} bytes gmem, {constant} bytes cmem[3]"),
    }
}

fn kernel(compiled: &Compiled, name: &str, resources: &Resources) -> Vec<String> {
    let spills = [resources.spills.stores, resources.spills.loads];
    vec![
        format!("Compiling entry function '{name}' for '{}'", compiled.target),
        properties(name, resources.frame_bytes, spills),
        used(resources),
    ]
}

fn properties(name: &str, frame_bytes: u32, [stores, loads]: [u32; 2]) -> String {
    format!(
        "Function properties for {name}\n    {frame_bytes} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill \
         loads"
    )
}

fn used(resources: &Resources) -> String {
    let mut text = format!("Used {} registers, used {} barriers", resources.registers, resources.barriers);
    let rest = [
        (resources.stack_bytes, "cumulative stack size"),
        (resources.shared_bytes, "smem"),
        (resources.bank0_bytes, "cmem[0]"),
    ];
    for (bytes, what) in rest.into_iter().filter(|(bytes, _)| *bytes > 0) {
        // Writing to a string does not fail.
        let _ = write!(text, ", {bytes} bytes {what}");
    }
    text
}

/// What `--warn-on-spills` and `--warn-on-local-memory-usage` have to say, function by function.
pub fn memory_warnings(compiled: &Compiled, of_spills: bool, of_local: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    for (id, func) in compiled.module.functions.iter().filter(|_| of_spills || of_local) {
        let (name, bytes, spills) = (func.name(), func.frame().size(), compiled.allocation.functions[id].own.spills);
        if of_local && bytes > 0 {
            warnings.push(format!("Local memory used for function '{name}', size of stack frame: {bytes} bytes"));
        }
        if of_spills && (spills.stores > 0 || spills.loads > 0) {
            warnings.push(format!(
                "Registers are spilled to local memory in function '{name}', {} bytes spill stores, {} bytes spill loads",
                spills.stores, spills.loads
            ));
        }
    }
    warnings
}
