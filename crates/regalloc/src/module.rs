//! Allocating all functions of a module, callees before callers.

use crate::counts::RegisterCounts;
use crate::function::{Allocation, allocate_within};
use crate::stack::finish_frame;
use crate::{AllocError, AllocOptions};
use oriole_isa::RegFile;
use oriole_ori::analysis::{CallNode, Flow, call_order};
use oriole_ori::{Callee, Clobbers, FuncId, Module, RegMask, SecondaryMap};
use rustc_hash::FxHashSet;

/// What allocation did to each function.
#[derive(Clone, Debug)]
pub struct ModuleAllocation {
    /// By function.
    pub functions: SecondaryMap<FuncId, FunctionAllocation>,
}

impl ModuleAllocation {
    /// What the user should know of the functions' limits, each thing once.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let mut seen = FxHashSet::default();
        let all = self.functions.values().flat_map(|function| &function.own.warnings).map(String::as_str);
        all.filter(move |warning| seen.insert(*warning))
    }
}

/// One function's allocation with what its callees add.
#[derive(Clone, Debug, Default)]
pub struct FunctionAllocation {
    /// The function's own allocation.
    pub own: Allocation,
    /// Physical registers that a call to it may change: its own and its callees'.
    pub clobbers: RegMask,
    /// The functions it calls in this module, each once.
    pub callees: Vec<FuncId>,
    /// It is part of a cycle of calls, or makes an indirect call: what it changes is not known.
    pub open: bool,
}

/// Allocate every function of `module`, finish the stack frames, and resolve what calls clobber. `flows` may hold what is
/// known already of the functions' flow; it is used up. `counts` is what [`RegisterCounts::settle`] has found out.
///
/// # Errors
/// See [`AllocError`].
pub fn allocate_module(
    module: &mut Module,
    mut flows: SecondaryMap<FuncId, Option<Flow>>,
    counts: &RegisterCounts,
    options: &AllocOptions,
) -> Result<ModuleAllocation, AllocError> {
    let arch = module.arch;
    let mut functions: SecondaryMap<FuncId, FunctionAllocation> = SecondaryMap::new();
    for CallNode { function: id, callees, open } in call_order(module) {
        resolve_clobbers(module, id, &functions);
        let func = &mut module.functions[id];
        let flow = flows[id].take().unwrap_or_else(|| Flow::new(func));
        let own = allocate_within(func, arch, flow, counts.of(id), options)?;
        finish_frame(func, arch);
        let mut clobbers = crate::function::used_registers(func);
        if open {
            clobbers = everything_allocatable();
        }
        for callee in &callees {
            let of_callee = functions[*callee].clobbers;
            clobbers.union(&of_callee);
        }
        functions[id] = FunctionAllocation { own, clobbers, callees, open };
    }
    Ok(ModuleAllocation { functions })
}

/// All registers that a callee of unknown body may change. The stack pointer, and the descriptor
/// pair, which every function leaves alone, are not among them.
fn everything_allocatable() -> RegMask {
    let mut mask = RegMask::ALL;
    mask.remove(RegFile::R, 1);
    mask.remove(RegFile::UR, 36);
    mask.remove(RegFile::UR, 37);
    // Convergence barriers are saved by the callee.
    mask.b = 0;
    mask
}

fn resolve_clobbers(module: &mut Module, id: FuncId, functions: &SecondaryMap<FuncId, FunctionAllocation>) {
    let known = |callee: Callee, module: &Module| match callee {
        Callee::Direct(symbol) => {
            module.function_of(symbol).map(|f| functions[f].clobbers).filter(|mask| *mask != RegMask::EMPTY)
        }
        Callee::Indirect => None,
        Callee::Return => Some(RegMask::EMPTY),
    };
    let sites = module.functions[id].call_sites().iter();
    let open = sites.filter(|(_, site)| site.clobbers == Clobbers::ByCallee);
    let masks: Vec<_> = open.map(|(call, site)| (call, known(site.callee, module))).collect();
    for (call, mask) in masks {
        let mask = mask.unwrap_or_else(everything_allocatable);
        module.functions[id].edit().set_clobbers(call, Clobbers::Mask(mask));
    }
}
