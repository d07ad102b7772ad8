//! What a kernel needs of the machine, for reports.

use crate::emit::{highest_register, members};
use crate::pipeline::Compiled;
use oriole_isa::RegFile;
use oriole_ori::{FuncId, MemSpace, SymbolKind};
use oriole_regalloc::SpillBytes;

/// First capability whose bank 0 is not counted: there ptxas does not say how large it is.
const UNCOUNTED_BANK0: u32 = 100;

/// What one kernel needs, with the functions that it calls in this module.
#[derive(Clone, Debug)]
pub struct Resources {
    /// R registers of a thread, as the launch allocates them.
    pub registers: u32,
    /// One more than the highest uniform register (UR) used, 0 without any; the next three likewise.
    pub uniform_registers: u32,
    /// Predicates (P).
    pub predicates: u32,
    /// Uniform predicates (UP).
    pub uniform_predicates: u32,
    /// Convergence barriers (B).
    pub convergence_barriers: u32,
    /// Barriers of the block (`bar.sync`).
    pub barriers: u32,
    /// Bytes that the kernel's own code stores to and loads from spill slots.
    pub spills: SpillBytes,
    /// Bytes of the kernel's own stack frame.
    pub frame_bytes: u32,
    /// Bytes of stack with the deepest chain of calls.
    pub stack_bytes: u32,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Bytes of constant bank 0 up to the end of the parameters; 0 from sm_100 on, where ptxas does not say it either.
    pub bank0_bytes: u32,
    /// Bytes of code.
    pub code_bytes: usize,
}

/// What the kernel needs; `None` where the function is none.
pub fn resources(compiled: &Compiled, kernel: FuncId) -> Option<Resources> {
    let func = compiled.module.functions.get(kernel)?;
    let spec = compiled.function_spec(func)?;
    let members = members(&compiled.allocation, kernel);
    let most = |file: RegFile| {
        let used = members.iter().map(|id| &compiled.allocation.functions[*id].own.used);
        used.map(|used| highest_register(used, file)).max().unwrap_or(0)
    };
    let parameters = spec.params.iter().map(|param| param.offset + param.size).max().unwrap_or(0);
    let bank0 = &compiled.module.arch.sm().bank0;
    Some(Resources {
        registers: spec.registers,
        uniform_registers: most(RegFile::UR),
        predicates: most(RegFile::P),
        uniform_predicates: most(RegFile::UP),
        convergence_barriers: most(RegFile::B),
        barriers: spec.barriers,
        spills: compiled.allocation.functions[kernel].own.spills,
        frame_bytes: func.frame().size(),
        stack_bytes: spec.min_stack_size,
        shared_bytes: spec.shared_size,
        bank0_bytes: match compiled.target.sm {
            ..UNCOUNTED_BANK0 => u32::from(bank0.parameters_of(parameters)) + parameters,
            _ => 0,
        },
        code_bytes: spec.code.len(),
    })
}

/// Bytes of the module's variables in a memory space.
pub fn variable_bytes(compiled: &Compiled, space: MemSpace) -> u64 {
    let sizes = compiled.module.symbols.values().filter_map(|data| match &data.kind {
        SymbolKind::Variable(variable) if variable.space == space => Some(variable.size),
        _ => None,
    });
    sizes.sum()
}
