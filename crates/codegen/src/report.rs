//! What ptxas says of a compiled module with `-v`, and when it is to warn of spills and of local memory: in its words.

use crate::emit::members;
use crate::pipeline::{Compiled, kernels};
use crate::resources::{Resources, counts_banks, holds_frames, resources, variable_bytes};
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
    /// Of each what stands before the time, and behind it: the functions inside the code of a kernel.
    pub functions: Vec<[Vec<String>; 2]>,
    /// Their names.
    pub names: Vec<String>,
}

impl Report {
    /// Of a module.
    pub fn of(compiled: &Compiled) -> Report {
        let allocated: Vec<_> = compiled.allocation.functions.values().collect();
        let notes = allocated.into_iter().rev().flat_map(|function| &function.own.notes).map(ToString::to_string);
        let mut listed: Vec<_> = kernels(&compiled.module).collect();
        listed.reverse();
        let named = |func: &Function, texts| (func.name().to_owned(), texts);
        let entry = |(id, func): (FuncId, &Function)| Some(named(func, kernel(compiled, id, func.name())?));
        let is_object = compiled.spec.kind == FileKind::Relocatable;
        let callable = |(_, func): &(FuncId, &Function)| is_object && func.kind() != FunctionKind::Entry;
        let functions = compiled.module.functions.iter().filter(callable).map(|(id, func)| {
            let texts = vec![properties(func.name(), func.frame().size(), spills(compiled, id))];
            named(func, [texts, Vec::new()])
        });
        let (names, functions) = functions.chain(listed.into_iter().filter_map(entry)).unzip();
        Report { module: notes.chain([memory(compiled)]).collect(), functions, names }
    }

    /// All texts in the order in which ptxas prints them; of each function also its share of `time`, what all of it took, if that
    /// is given.
    pub fn texts(&self, time: Option<Duration>) -> Vec<String> {
        let share = time.map(|time| {
            let milliseconds = time.as_secs_f64() * 1e3 / self.functions.len().max(1) as f64;
            format!("Compile time = {milliseconds:.3} ms")
        });
        let functions = self.functions.iter().flat_map(|[texts, inner]| texts.iter().chain(&share).chain(inner));
        self.module.iter().chain(functions).cloned().collect()
    }

    /// [`Report::texts`] as ptxas prints them.
    pub fn print(&self, time: Option<Duration>) -> String {
        self.texts(time).iter().map(|text| format!("{INFO}{text}\n")).collect()
    }
}

fn memory(compiled: &Compiled) -> String {
    let mut text = format!("{} bytes gmem", variable_bytes(compiled, MemSpace::Global));
    let slots = compiled.module.address_table.len() as u64 * ADDRESS_SLOT;
    let banks = [(variable_bytes(compiled, MemSpace::Const), 3), (slots, 4)];
    for (bytes, bank) in banks.into_iter().filter(|(bytes, _)| *bytes > 0 && counts_banks(compiled.target.sm)) {
        // Writing to a string does not fail.
        let _ = write!(text, ", {bytes} bytes cmem[{bank}]");
    }
    text
}

/// Bytes of an address in constant bank 4.
const ADDRESS_SLOT: u64 = 8;

fn kernel(compiled: &Compiled, id: FuncId, name: &str) -> Option<[Vec<String>; 2]> {
    let resources = resources(compiled, id)?;
    let texts = vec![
        format!("Compiling entry function '{name}' for '{}'", compiled.target),
        properties(name, resources.frame_bytes, spills(compiled, id)),
        used(&resources),
    ];
    Some([texts, inner(compiled, id)])
}

/// The functions inside the code of a kernel, by name. The frames of those that are only called by name are part of the
/// kernel's.
fn inner(compiled: &Compiled, kernel: FuncId) -> Vec<String> {
    if compiled.spec.kind == FileKind::Relocatable {
        return Vec::new();
    }
    let in_kernel = holds_frames(compiled, kernel);
    let mut functions: Vec<FuncId> = members(&compiled.allocation, kernel);
    functions.retain(|id| *id != kernel);
    functions.sort_by_key(|id| compiled.module.functions[*id].name());
    let said = |id: FuncId| {
        let func = &compiled.module.functions[id];
        let frame = if in_kernel { 0 } else { func.frame().size() };
        properties(func.name(), frame, spills(compiled, id))
    };
    functions.into_iter().map(said).collect()
}

fn spills(compiled: &Compiled, id: FuncId) -> [u32; 2] {
    let spills = compiled.allocation.functions[id].own.spills;
    [spills.stores, spills.loads]
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
        (resources.known_stack_bytes, "cumulative stack size"),
        (resources.shared_bytes, "smem"),
        (resources.bank0_bytes, "cmem[0]"),
        (resources.literal_bytes as u32, "cmem[2]"),
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
