//! `test regalloc`: a function or a module before and after allocation, judged by the allocation checker.

use crate::header::RegisterLimits;
use crate::ori::module;
use oriole_isa::Arch;
use oriole_regalloc::{AllocOptions, RegisterCounts, allocate_module};

/// The functions with their registers' places, and what the spill code moves.
pub(crate) fn run(limits: RegisterLimits, arch: Arch, input: &str) -> Result<String, String> {
    let mut module = module(input, arch)?;
    let options = AllocOptions {
        maxrregcount: limits.registers,
        uniform_registers: limits.uniform_registers,
        uniform_predicates: limits.uniform_predicates,
        published_minimum: true,
        verify: true,
        ..Default::default()
    };
    let counts = RegisterCounts::settle(&mut module, &options).map_err(|error| error.to_string())?;
    let allocation = allocate_module(&mut module, &counts, &options).map_err(|error| error.to_string())?;
    let mut text = String::new();
    for (id, func) in &module.functions {
        let own = &allocation.functions[id].own;
        if own.spills.stores + own.spills.loads > 0 {
            text.push_str(&format!("// spilled: {} bytes stored, {} loaded\n", own.spills.stores, own.spills.loads));
        }
        text.push_str(&func.to_string());
    }
    Ok(text)
}
