//! What `compile` says about its work: the lines of ptxas's `-v`, statistics, phase times.

use oriole_codegen::{Compiled, PassCount, Resources, kernels, resources, variable_bytes};
use oriole_ori::MemSpace;
use std::fmt::Write;
use std::time::Duration;

/// The lines that ptxas prints with `-v`: the module's memory, then each kernel, the last one first.
pub(crate) fn verbose(compiled: &Compiled, time: Duration) -> String {
    let mut out = String::new();
    let global = variable_bytes(compiled, MemSpace::Global);
    let constant = variable_bytes(compiled, MemSpace::Const);
    let constant = if constant > 0 { format!(", {constant} bytes cmem[3]") } else { String::new() };
    let _ = writeln!(out, "ptxas info    : {global} bytes gmem{constant}");
    let milliseconds = time.as_secs_f64() * 1e3 / kernels(&compiled.module).count().max(1) as f64;
    let mut listed: Vec<_> = kernels(&compiled.module).collect();
    listed.reverse();
    for (id, func) in listed {
        let Some(resources) = resources(compiled, id) else { continue };
        let name = &func.name;
        let _ = writeln!(out, "ptxas info    : Compiling entry function '{name}' for '{}'", compiled.target);
        let _ = writeln!(out, "ptxas info    : Function properties for {name}");
        let spills = resources.spills;
        let _ = writeln!(
            out,
            "    {} bytes stack frame, {} bytes spill stores, {} bytes spill loads",
            resources.frame_bytes, spills.stores, spills.loads
        );
        let _ = writeln!(out, "ptxas info    : {}", used(&resources));
        let _ = writeln!(out, "ptxas info    : Compile time = {milliseconds:.3} ms");
    }
    out
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
