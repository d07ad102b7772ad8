//! Allocating all functions of a module, callees before callers.

use crate::code::physical_set;
use crate::convention::{self, Saved};
use crate::counts::RegisterCounts;
use crate::function::{Allocation, Role, allocate_within, used_registers};
use crate::graph::PhysicalSet;
use crate::stack::{finish_frame, has_frame};
use crate::{AllocError, AllocOptions, tail_calls};
use oriole_isa::{Arch, RegFile};
use oriole_ori::analysis::{CallNode, Flow, call_order};
use oriole_ori::{
    CallSite, Callee, Clobbers, FuncId, Function, FunctionKind, Module, PrimaryMap, RegMask, SecondaryMap, Symbol,
    SymbolData, SymbolKind,
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
    /// It has a frame, or calls something that has one, or may.
    pub uses_stack: bool,
    /// It is called by the convention: through addresses, by itself or from other files.
    pub by_convention: bool,
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
    /// already of its flow. With a `cap` it names no more general registers than so many, and none goes
    /// to memory.
    ///
    /// # Errors
    /// See [`AllocError`].
    pub fn allocate(
        &self,
        node: CallNode,
        func: &mut Function,
        flow: Option<Flow>,
        cap: Option<u16>,
    ) -> Result<FunctionAllocation, AllocError> {
        let CallNode { function: id, callees, open, by_convention } = node;
        let by_convention = by_convention || self.options.object;
        self.resolve_clobbers(func);
        let flow = flow.unwrap_or_else(|| Flow::new(func));
        let passes_stack = self.passes_stack(func, open);
        let role = Role { by_convention, passes_stack, cap };
        let mut own = allocate_within(func, self.arch, flow, self.counts.of(id), role, self.options)?;
        let mut clobbers = own.used;
        for callee in &callees {
            clobbers.union(&self.after_call(*callee));
        }
        let mut saved = Saved::default();
        if by_convention && func.kind() != FunctionKind::Entry {
            // Also what only those change that it calls.
            saved = Saved::new(func, &clobbers);
            own.spills = own.spills.plus(saved.bytes());
        }
        let before = func.inst_count();
        finish_frame(func, self.arch, &saved, passes_stack);
        if func.inst_count() != before {
            clobbers.union(&used_registers(func));
        }
        // Those that it uses it saves.
        clobbers.b &= !RegMask::KEPT_BARRIERS;
        if open {
            // Convergence barriers are saved by whom it calls, and by it.
            clobbers.union(&convention::changed());
            clobbers.b = 0;
        }
        if by_convention {
            clobbers.subtract(&convention::kept());
        }
        Ok(FunctionAllocation { own, clobbers, callees, uses_stack: passes_stack || has_frame(func), by_convention })
    }

    /// Makes tail calls of the calls that a function returns behind, ahead of its allocation. Whether there were any.
    pub fn put_tail_calls(&self, node: &CallNode, func: &mut Function) -> bool {
        let keeps = node.by_convention || self.options.object;
        // In a linked file the functions of the run-time system return to an address of another kind.
        let returns_alike = |site: &CallSite| match site.callee {
            Callee::Direct(symbol) => match self.symbols[symbol].kind {
                // What the function has restored, the callee must not change.
                SymbolKind::Function(id) => !keeps || self.known(id).is_none_or(|known| known.by_convention),
                _ => self.options.object,
            },
            Callee::Indirect => self.options.object,
            Callee::Return => false,
        };
        tail_calls::put(func, returns_alike)
    }

    /// What the function calls uses the stack, or may: whatever is not known yet, or not in this module.
    fn passes_stack(&self, func: &Function, open: bool) -> bool {
        let stays_away = |callee| match callee {
            Callee::Direct(symbol) => match self.symbols[symbol].kind {
                SymbolKind::Function(id) => self.known(id).is_some_and(|known| !known.uses_stack),
                _ => false,
            },
            Callee::Indirect => false,
            Callee::Return => true,
        };
        let calls = func.iter_insts().filter_map(|(_, inst)| func[inst].call.expand());
        open || !calls.map(|call| func[call].callee).all(stays_away)
    }

    /// What is known of a function of this module: in a cycle of calls nothing yet.
    fn known(&self, callee: FuncId) -> Option<&FunctionAllocation> {
        Some(&self.done.functions[callee]).filter(|known| known.clobbers != RegMask::EMPTY)
    }

    /// What a call of a function of this module may change.
    fn after_call(&self, callee: FuncId) -> RegMask {
        self.known(callee).map_or_else(convention::changed, |known| known.clobbers)
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
        match callee {
            Callee::Direct(symbol) => match self.symbols[symbol].kind {
                SymbolKind::Function(id) => self.after_call(id),
                // A linker may find another function of that name.
                _ if self.options.object => convention::changed(),
                _ => convention::changed_by_system(self.arch),
            },
            Callee::Indirect => convention::changed(),
            Callee::Return => RegMask::EMPTY,
        }
    }

    /// The general registers that a call site changes.
    pub(crate) fn changed_by(&self, site: &CallSite) -> PhysicalSet {
        let mask = match site.clobbers {
            Clobbers::Mask(mask) => mask,
            Clobbers::ByCallee => self.clobbers(site.callee),
        };
        physical_set(&mask, RegFile::R)
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
        let allocation = allocator.allocate(node, &mut module.functions[id], None, None)?;
        allocator.keep(id, allocation);
    }
    Ok(allocator.finish())
}
