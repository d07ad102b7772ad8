//! Allocating all functions of a module, callees before callers.

use crate::function::{Allocation, allocate_function};
use crate::stack::finish_frame;
use crate::{AllocError, AllocOptions};
use oriole_isa::RegFile;
use oriole_ori::{Callee, Clobbers, FuncId, Function, Module, RegMask, SecondaryMap};

/// What allocation did to each function.
#[derive(Clone, Debug)]
pub struct ModuleAllocation {
    /// By function.
    pub functions: SecondaryMap<FuncId, FunctionAllocation>,
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

/// Allocate every function of `module`, finish the stack frames, and resolve what calls clobber.
pub fn allocate_module(module: &mut Module, options: &AllocOptions) -> Result<ModuleAllocation, AllocError> {
    let arch = module.arch;
    let mut functions: SecondaryMap<FuncId, FunctionAllocation> = SecondaryMap::new();
    for (id, callees, open) in call_order(module) {
        resolve_clobbers(module, id, &functions);
        let func = &mut module.functions[id];
        let own = allocate_function(func, arch, options)?;
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
    let masks: Vec<Option<RegMask>> =
        module.functions[id].calls.values().map(|site| known(site.callee, module)).collect();
    for (site, mask) in module.functions[id].calls.values_mut().zip(masks) {
        if site.clobbers == Clobbers::ByCallee {
            site.clobbers = Clobbers::Mask(mask.unwrap_or_else(everything_allocatable));
        }
    }
}

/// The functions called directly in this module, each once, and whether there are other calls.
fn callees_of(module: &Module, func: &Function) -> (Vec<FuncId>, bool) {
    let mut callees = Vec::new();
    let mut indirect = false;
    for (_, inst) in func.iter_insts() {
        let Some(call) = func.insts[inst].call.expand() else { continue };
        match func.calls[call].callee {
            Callee::Direct(symbol) => match module.function_of(symbol) {
                Some(callee) if !callees.contains(&callee) => callees.push(callee),
                _ => {}
            },
            Callee::Indirect => indirect = true,
            Callee::Return => {}
        }
    }
    (callees, indirect)
}

/// Functions with their callees, callees first; `true` where the function is in a cycle or calls
/// through a pointer. An explicit stack: call chains may be long.
fn call_order(module: &Module) -> Vec<(FuncId, Vec<FuncId>, bool)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks: SecondaryMap<FuncId, Mark> = SecondaryMap::with_default(Mark::New);
    let mut in_cycle: SecondaryMap<FuncId, bool> = SecondaryMap::with_default(false);
    let mut order = Vec::new();
    for root in module.functions.keys() {
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        let mut stack = vec![(root, callees_of(module, &module.functions[root]), 0)];
        while let Some((id, (callees, _), next)) = stack.last_mut() {
            if let Some(callee) = callees.get(*next).copied() {
                *next += 1;
                match marks[callee] {
                    Mark::New => {
                        marks[callee] = Mark::Open;
                        stack.push((callee, callees_of(module, &module.functions[callee]), 0));
                    }
                    Mark::Open => stack
                        .iter()
                        .rev()
                        .map(|e| e.0)
                        .take_while(|f| *f != callee)
                        .chain([callee])
                        .for_each(|f| in_cycle[f] = true),
                    Mark::Done => {}
                }
            } else {
                marks[*id] = Mark::Done;
                if let Some((id, (callees, indirect), _)) = stack.pop() {
                    order.push((id, callees, indirect || in_cycle[id]));
                }
            }
        }
    }
    order
}
