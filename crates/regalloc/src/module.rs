//! Allocating all functions of a module, callees before callers.

use crate::counts::RegisterCounts;
use crate::function::{Allocation, allocate_within};
use crate::stack::finish_frame;
use crate::{AllocError, AllocOptions};
use oriole_isa::{Arch, RegFile};
use oriole_ori::analysis::{CallNode, Flow, call_order};
use oriole_ori::{
    Callee, Clobbers, FuncId, Function, Module, PrimaryMap, RegMask, SecondaryMap, Symbol, SymbolData, SymbolKind,
};
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

/// Allocates the functions of a module one by one, callees before callers.
pub struct ModuleAllocator<'m> {
    arch: Arch,
    symbols: &'m PrimaryMap<Symbol, SymbolData>,
    counts: &'m RegisterCounts,
    options: &'m AllocOptions,
    done: ModuleAllocation,
}

impl<'m> ModuleAllocator<'m> {
    /// For functions that name these symbols. `counts` is what [`RegisterCounts::settle`] has found out.
    pub fn new(
        arch: Arch,
        symbols: &'m PrimaryMap<Symbol, SymbolData>,
        counts: &'m RegisterCounts,
        options: &'m AllocOptions,
    ) -> Self {
        let done = ModuleAllocation { functions: SecondaryMap::new() };
        ModuleAllocator { arch, symbols, counts, options, done }
    }

    /// The target.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Allocate one function, finish its stack frame, and resolve what its calls clobber. `flow` may hold what is known
    /// already of its flow.
    ///
    /// # Errors
    /// See [`AllocError`].
    pub fn allocate(
        &self,
        node: CallNode,
        func: &mut Function,
        flow: Option<Flow>,
    ) -> Result<FunctionAllocation, AllocError> {
        let CallNode { function: id, callees, open } = node;
        self.resolve_clobbers(func);
        let flow = flow.unwrap_or_else(|| Flow::new(func));
        let own = allocate_within(func, self.arch, flow, self.counts.of(id), self.options)?;
        finish_frame(func, self.arch);
        let mut clobbers = if open { everything_allocatable() } else { crate::function::used_registers(func) };
        for callee in &callees {
            clobbers.union(&self.done.functions[*callee].clobbers);
        }
        Ok(FunctionAllocation { own, clobbers, callees, open })
    }

    /// Keep what was done to a function, for those that call it.
    pub fn keep(&mut self, id: FuncId, allocation: FunctionAllocation) {
        self.done.functions[id] = allocation;
    }

    /// What was done to all.
    pub fn finish(self) -> ModuleAllocation {
        self.done
    }

    fn clobbers(&self, callee: Callee) -> RegMask {
        let known = match callee {
            Callee::Direct(symbol) => match self.symbols[symbol].kind {
                SymbolKind::Function(id) => {
                    Some(self.done.functions[id].clobbers).filter(|mask| *mask != RegMask::EMPTY)
                }
                _ => None,
            },
            Callee::Indirect => None,
            Callee::Return => Some(RegMask::EMPTY),
        };
        known.unwrap_or_else(everything_allocatable)
    }

    fn resolve_clobbers(&self, func: &mut Function) {
        let open = func.call_sites().iter().filter(|(_, site)| site.clobbers == Clobbers::ByCallee);
        let masks: Vec<_> = open.map(|(call, site)| (call, self.clobbers(site.callee))).collect();
        for (call, mask) in masks {
            func.edit().set_clobbers(call, Clobbers::Mask(mask));
        }
    }
}

/// Allocate every function of `module`. `counts` is what [`RegisterCounts::settle`] has found out.
///
/// # Errors
/// See [`AllocError`].
pub fn allocate_module(
    module: &mut Module,
    counts: &RegisterCounts,
    options: &AllocOptions,
) -> Result<ModuleAllocation, AllocError> {
    let order = call_order(module);
    let mut allocator = ModuleAllocator::new(module.arch, &module.symbols, counts, options);
    for node in order {
        let id = node.function;
        let allocation = allocator.allocate(node, &mut module.functions[id], None)?;
        allocator.keep(id, allocation);
    }
    Ok(allocator.finish())
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
