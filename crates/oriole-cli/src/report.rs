//! What `compile` says about its work: statistics, how far the passes went.

use oriole_codegen::{Compiled, PassCount};
use oriole_ori::FuncId;
use oriole_ori::dump::Statistics;

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
