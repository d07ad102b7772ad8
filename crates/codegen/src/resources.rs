//! What a kernel needs of the machine, for reports.

use crate::emit::{self, highest_register, members};
use crate::pipeline::Compiled;
use oriole_cubin::FileKind;
use oriole_isa::RegFile;
use oriole_ori::{FuncId, MemSpace, SymbolKind};
use oriole_regalloc::SpillBytes;

/// First capability whose constant banks are not counted: there ptxas does not say how large they are.
const UNCOUNTED_BANKS: u32 = 90;

/// Whether ptxas says of this target how large constant banks are.
pub(crate) fn counts_banks(sm: u32) -> bool {
    sm < UNCOUNTED_BANKS
}

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
    /// Bytes of the kernel's stack frame, with those of the functions in its code where all are called by name.
    pub frame_bytes: u32,
    /// Bytes of stack with the deepest chain of calls.
    pub stack_bytes: u32,
    /// The same where it is certain, else 0: not of a kernel that calls itself, nor in an object file, whose calls may
    /// go to other files.
    pub known_stack_bytes: u32,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Bytes of constant bank 0 up to the end of the parameters; 0 from sm_90 on, where ptxas does not say it either.
    pub bank0_bytes: u32,
    /// Bytes of constant bank 2, the kernel's literals; 0 from sm_90 on likewise.
    pub literal_bytes: usize,
    /// Bytes of code.
    pub code_bytes: usize,
}

/// What the kernel needs; `None` where the function is none.
pub fn resources(compiled: &Compiled, kernel: FuncId) -> Option<Resources> {
    let func = compiled.module.functions.get(kernel)?;
    let spec = compiled.function_spec(func)?;
    let members = members(&compiled.allocation, kernel);
    let is_object = compiled.spec.kind == FileKind::Relocatable;
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
        frame_bytes: if is_object || !holds_frames(compiled, kernel) {
            func.frame().size()
        } else {
            spec.min_stack_size
        },
        stack_bytes: spec.min_stack_size,
        known_stack_bytes: if is_object || recurs(compiled, &members) { 0 } else { spec.min_stack_size },
        shared_bytes: if is_object { own_shared(compiled, func.name()) } else { spec.shared_size },
        bank0_bytes: match counts_banks(compiled.target.sm) {
            true => u32::from(bank0.parameters_of(parameters)) + parameters,
            false => 0,
        },
        literal_bytes: if counts_banks(compiled.target.sm) { spec.literals.len() } else { 0 },
        code_bytes: spec.code.len(),
    })
}

/// Whether the frame that is said of a kernel has those of its functions in it, as ptxas counts: where each is called by
/// name alone, and none calls itself.
pub(crate) fn holds_frames(compiled: &Compiled, kernel: FuncId) -> bool {
    let members = members(&compiled.allocation, kernel);
    let by_address = |id: &FuncId| compiled.allocation.functions[*id].by_convention;
    !recurs(compiled, &members) && !members.iter().any(by_address)
}

/// Whether one of the functions calls itself, in one step or more.
fn recurs(compiled: &Compiled, members: &[FuncId]) -> bool {
    let callees = |id: FuncId| &compiled.allocation.functions[id].callees;
    let calls_itself = |&id: &FuncId| {
        let called = callees(id).iter().flat_map(|callee| emit::members(&compiled.allocation, *callee));
        called.into_iter().any(|callee| callee == id)
    };
    members.iter().any(calls_itself)
}

/// Bytes of the shared variables of a kernel itself in an object file, which are called after it.
fn own_shared(compiled: &Compiled, kernel: &str) -> u32 {
    let prefix = format!("{kernel}$");
    let own = compiled.spec.shared.iter().filter(|variable| variable.name.starts_with(&prefix));
    own.fold(0u64, |end, variable| end.next_multiple_of(variable.align.max(1)) + variable.size) as u32
}

/// Bytes of the module's variables in a memory space.
pub fn variable_bytes(compiled: &Compiled, space: MemSpace) -> u64 {
    let sizes = compiled.module.symbols.values().filter_map(|data| match &data.kind {
        SymbolKind::Variable(variable) if variable.space == space => Some(variable.size),
        _ => None,
    });
    sizes.sum()
}
