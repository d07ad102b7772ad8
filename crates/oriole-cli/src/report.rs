//! What `compile` says about its work: the lines of ptxas's `-v`, statistics, phase times.

use oriole_codegen::PassCount;
use oriole_codegen::{Compiled, kernels};
use oriole_ori::{FuncId, MemSpace, SymbolKind};
use std::fmt::Write;
use std::time::Duration;

/// The lines that ptxas prints with `-v`: the module's memory, then each kernel, the last one first.
pub(crate) fn verbose(compiled: &Compiled, time: Duration) -> String {
    let mut out = String::new();
    let global = bytes_in(compiled, MemSpace::Global);
    let constant = bytes_in(compiled, MemSpace::Const);
    let constant = if constant > 0 { format!(", {constant} bytes cmem[3]") } else { String::new() };
    let _ = writeln!(out, "ptxas info    : {global} bytes gmem{constant}");
    let milliseconds = time.as_secs_f64() * 1e3 / kernels(&compiled.module).count().max(1) as f64;
    let mut listed: Vec<_> = kernels(&compiled.module).collect();
    listed.reverse();
    for (id, func) in listed {
        let name = &func.name;
        let _ = writeln!(out, "ptxas info    : Compiling entry function '{name}' for '{}'", compiled.target);
        let _ = writeln!(out, "ptxas info    : Function properties for {name}");
        let spills = compiled.allocation.functions[id].own.spills;
        let _ = writeln!(
            out,
            "    {} bytes stack frame, {} bytes spill stores, {} bytes spill loads",
            func.frame.size(),
            spills.stores,
            spills.loads
        );
        let _ = writeln!(out, "ptxas info    : {}", resources(compiled, id));
        let _ = writeln!(out, "ptxas info    : Compile time = {milliseconds:.3} ms");
    }
    out
}

fn bytes_in(compiled: &Compiled, space: MemSpace) -> u64 {
    let sizes = compiled.module.symbols.values().filter_map(|data| match &data.kind {
        SymbolKind::Variable(v) if v.space == space => Some(v.size),
        _ => None,
    });
    sizes.sum()
}

fn resources(compiled: &Compiled, id: FuncId) -> String {
    let name = &compiled.module.functions[id].name;
    let Some(spec) = compiled.spec.functions.iter().find(|f| f.name == *name) else { return String::new() };
    let mut text = format!("Used {} registers, used {} barriers", spec.registers, spec.barriers);
    let mut add = |bytes: u32, what: &str| {
        if bytes > 0 {
            let _ = write!(text, ", {bytes} bytes {what}");
        }
    };
    add(spec.min_stack_size, "cumulative stack size");
    add(spec.shared_size, "smem");
    let parameters = spec.params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    if compiled.target.sm < 100 {
        add(u32::from(compiled.module.arch.sm().bank0.parameters_of(parameters)) + parameters, "cmem[0]");
    }
    text
}

/// A table of stage and phase times, longest first within the order of the pipeline.
pub(crate) fn phase_times(times: &[(String, Duration)]) -> String {
    let total: Duration = times.iter().map(|(_, time)| *time).sum();
    let mut out = format!("{:34} {:>12} {:>6}\n", "phase", "time", "share");
    for (name, time) in times {
        let share = 100.0 * time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        let _ = writeln!(out, "{name:34} {:>9.3} ms {share:>5.1}%", time.as_secs_f64() * 1e3);
    }
    let _ = writeln!(out, "{:34} {:>9.3} ms", "all", total.as_secs_f64() * 1e3);
    out
}

/// How far `--pass-limit` let the optional phases run.
pub(crate) fn passes(count: &PassCount) -> String {
    match &count.last {
        Some((phase, function)) => {
            format!("pass limit: {} of {} runs; the last is {phase} of function '{function}'", count.run, count.all)
        }
        None => format!("pass limit: none of {} runs", count.all),
    }
}

/// The statistics block of each function.
pub(crate) fn statistics(compiled: &Compiled) -> String {
    crate::statistics::of_module(compiled).map(|(name, statistics)| format!("; {name}\n{statistics}\n")).collect()
}
