//! What `compile` says about its work: the lines of ptxas's `-v`, statistics, how far the passes went.

use oriole_codegen::{Compiled, PassCount, Resources, kernels, resources, variable_bytes};
use oriole_ori::dump::Statistics;
use oriole_ori::{FuncId, Function, FunctionKind, MemSpace};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::time::Duration;

/// The lines that ptxas prints with `-v` but for the time, which is another one each time.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Verbose {
    /// Notes, and the module's memory.
    module: String,
    /// The lines of functions in object files, then of each kernel, the last one first.
    functions: Vec<String>,
}

impl Verbose {
    /// Of a module; of an object file also its functions that are no kernels.
    pub(crate) fn of(compiled: &Compiled, relocatable: bool) -> Verbose {
        let mut module = String::new();
        let global = variable_bytes(compiled, MemSpace::Global);
        let constant = variable_bytes(compiled, MemSpace::Const);
        let constant = if constant > 0 { format!(", {constant} bytes cmem[3]") } else { String::new() };
        let allocated: Vec<_> = compiled.allocation.functions.values().collect();
        for note in allocated.into_iter().rev().flat_map(|function| &function.own.notes) {
            let _ = writeln!(module, "ptxas info    : {note}");
        }
        let _ = writeln!(module, "ptxas info    : {global} bytes gmem{constant}");
        let mut listed: Vec<_> = kernels(&compiled.module).collect();
        listed.reverse();
        let lines = |(id, func): (FuncId, &Function)| Some(kernel(compiled, func.name(), &resources(compiled, id)?));
        let callable = |(_, func): &(FuncId, &Function)| relocatable && func.kind() != FunctionKind::Entry;
        let functions = compiled.module.functions.iter().filter(callable).map(|(id, func)| {
            let spills = compiled.allocation.functions[id].own.spills;
            properties(func.name(), func.frame().size(), [spills.stores, spills.loads])
        });
        Verbose { module, functions: functions.chain(listed.into_iter().filter_map(lines)).collect() }
    }

    /// The lines, where all of it took `time`.
    pub(crate) fn text(&self, time: Duration) -> String {
        let milliseconds = time.as_secs_f64() * 1e3 / self.functions.len().max(1) as f64;
        let last = format!("ptxas info    : Compile time = {milliseconds:.3} ms\n");
        let functions = self.functions.iter().flat_map(|lines| [lines.as_str(), &last]);
        std::iter::once(self.module.as_str()).chain(functions).collect()
    }
}

fn kernel(compiled: &Compiled, name: &str, resources: &Resources) -> String {
    let spills = [resources.spills.stores, resources.spills.loads];
    format!(
        "ptxas info    : Compiling entry function '{name}' for '{}'\n{}ptxas info    : {}\n",
        compiled.target,
        properties(name, resources.frame_bytes, spills),
        used(resources)
    )
}

fn properties(name: &str, frame_bytes: u32, [stores, loads]: [u32; 2]) -> String {
    format!(
        "ptxas info    : Function properties for {name}\n    {frame_bytes} bytes stack frame, {stores} bytes spill stores, \
         {loads} bytes spill loads\n"
    )
}

/// What `--warn-on-local-memory-usage` and `--warn-on-spills` have to say, in ptxas's words.
pub(crate) fn memory_warnings(compiled: &Compiled, of_spills: bool, of_local: bool) -> Vec<String> {
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

fn used(resources: &Resources) -> String {
    let mut text = format!("Used {} registers, used {} barriers", resources.registers, resources.barriers);
    let rest = [
        (resources.stack_bytes, "cumulative stack size"),
        (resources.shared_bytes, "smem"),
        (resources.bank0_bytes, "cmem[0]"),
    ];
    for (bytes, what) in rest.into_iter().filter(|(bytes, _)| *bytes > 0) {
        let _ = write!(text, ", {bytes} bytes {what}");
    }
    text
}

/// How far `--pass-limit` let the optional phases run.
pub(crate) fn passes(count: &PassCount) -> String {
    let Some(last) = &count.last else { return format!("pass limit: none of {} runs", count.all) };
    let made = match last.rule {
        Some(rule) => format!(", with {} rewrites, the last by '{rule}'", last.rewrites),
        None => String::new(),
    };
    format!(
        "pass limit: {} of {} runs; the last is {} of function '{}'{made}",
        count.run, count.all, last.pass, last.unit
    )
}

/// The statistics block of each function, how many instructions and R registers it has, and where its files are fullest.
pub(crate) fn statistics(compiled: &Compiled) -> String {
    let block = |(id, statistics): (FuncId, Statistics)| {
        let name = compiled.module.functions[id].name();
        let Statistics { instructions, r_registers, .. } = statistics;
        let fat_points = crate::pressure::fat_points(compiled, id);
        format!("; {name}\n{statistics}instr/R-regs: {instructions} instructions, {r_registers} R-regs\n{fat_points}\n")
    };
    crate::statistics::of_module(compiled).map(block).collect()
}
