//! Which calls become the code of the function that they go to.
//!
//! A call costs moves into the registers of the convention, two jumps, and all that the two sides do not know of each other. So a small
//! function stands in place of each of its calls, and one that a kernel calls at a single place stands there whatever its size: the kernel has
//! no other copy of it then, and constants among the arguments reach its branches.

use crate::function::place::is_parameter;
use crate::module::plan::Plan;
use oriole_ori::{EntityRef, FuncId};
use oriole_ptx::ast::{Function, Instruction, Opcode, Word};
use oriole_ptx::mentions;
use rustc_hash::{FxHashMap, FxHashSet};

/// Instructions of a body that is no longer than what calling it takes: the moves of a few arguments, the return address, both jumps.
const SMALL_BODY: usize = 16;
/// Functions within each other in one place: bodies are lowered by recursion.
pub(crate) const DEEPEST: usize = 32;
/// Words of arguments and results that are registers in the caller; larger ones are memory, which the convention passes as well.
const MOST_WORDS: u32 = 64;

/// Where a function may stand in place of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidate {
    /// Nowhere.
    Never,
    /// Where there is one call.
    Once,
    /// At each call.
    Always,
}

/// What may stand in place of calls, by the numbers of functions in the plan.
#[derive(Debug, Default)]
pub(crate) struct Inlining {
    candidates: Vec<Candidate>,
    /// Calls of each function in all functions that are lowered.
    calls: Vec<usize>,
    /// The same in what one kernel reaches.
    calls_of_kernel: FxHashMap<usize, FxHashMap<usize, usize>>,
}

impl Inlining {
    /// Looks at the functions that are lowered. In an object file a kernel has no copies of its own of what it calls.
    pub(crate) fn new(plan: &Plan<'_>, relocatable: bool) -> Inlining {
        let count = plan.functions.len();
        let mut callees = vec![Vec::new(); count];
        for &function in &plan.wanted {
            callees[function] = callees_of(plan, function);
        }
        let mut found = Inlining { candidates: vec![Candidate::Never; count], ..Inlining::default() };
        let recursive = recursive(&callees);
        for (at, function) in plan.functions.iter().enumerate() {
            if plan.is_local(function) && !recursive.contains(&at) {
                found.candidates[at] = candidate(function, !callees[at].is_empty());
            }
        }
        if found.candidates.iter().all(|candidate| *candidate == Candidate::Never) {
            return found;
        }
        found.calls = vec![0; count];
        callees.iter().flatten().for_each(|&callee| found.calls[callee] += 1);
        let kernels = plan.wanted.iter().zip(&plan.reached).filter(|_| !relocatable);
        for (&kernel, reached) in kernels {
            let mut calls: FxHashMap<usize, usize> = FxHashMap::default();
            let bodies = reached.iter().filter(|function| **function != kernel).chain([&kernel]);
            bodies.flat_map(|&body| &callees[body]).for_each(|&callee| *calls.entry(callee).or_default() += 1);
            found.calls_of_kernel.insert(kernel, calls);
        }
        found
    }

    /// Whether the function's code stands in place of a call, in the code of a kernel or of a function of its own.
    pub(crate) fn is_inlined(&self, caller: usize, callee: usize) -> bool {
        match self.candidates.get(callee) {
            None | Some(Candidate::Never) => false,
            Some(Candidate::Always) => true,
            Some(Candidate::Once) => {
                let of_kernel = self.calls_of_kernel.get(&caller).map(|calls| calls.get(&callee).copied().unwrap_or(0));
                of_kernel.unwrap_or(self.calls[callee]) == 1
            }
        }
    }

    /// Whether the function stands in place of none of its calls.
    pub(crate) fn is_always_called(&self, function: usize) -> bool {
        self.candidates.get(function).is_none_or(|candidate| *candidate == Candidate::Never)
    }
}

/// The functions with a body that a function calls, one for each call.
fn callees_of(plan: &Plan<'_>, function: usize) -> Vec<usize> {
    let mut callees = Vec::new();
    let Some(body) = &plan.functions[function].body else { return callees };
    mentions::instructions(body, &mut |instruction| {
        let callee = instruction.call().and_then(|call| call.callee.name());
        callees.extend(callee.and_then(|name| plan.by_name.get(&name.sym)).copied());
    });
    callees
}

/// The functions that call themselves, by way of others or at once.
fn recursive(callees: &[Vec<usize>]) -> FxHashSet<usize> {
    let node = |function: usize| FuncId::new(function);
    let calls = |caller: FuncId| callees[caller.index()].iter().map(move |callee| node(*callee));
    let cycles = oriole_graph::components(callees.len(), (0..callees.len()).map(node), calls).into_iter();
    let cycles = cycles.filter(|members| members.len() > 1 || calls(members[0]).any(|callee| callee == members[0]));
    cycles.flatten().map(EntityRef::index).collect()
}

/// What the function is by itself.
fn candidate(function: &Function, has_calls: bool) -> Candidate {
    let Some(body) = &function.body else { return Candidate::Never };
    let words = |variable: &oriole_ptx::ast::Variable| variable.size().map_or(u64::MAX, |size| size.div_ceil(4));
    let is_small = function
        .params
        .iter()
        .chain(&function.rets)
        .all(|variable| !variable.dims.contains(&None) && words(variable) <= u64::from(MOST_WORDS));
    // Directives say how a function is to be called, or that it does not return.
    if !is_small || !function.directives.is_empty() {
        return Candidate::Never;
    }
    let (mut size, mut meets, mut moves_stack) = (0, false, false);
    mentions::instructions(body, &mut |instruction| {
        size += usize::from(!passes_parameter(instruction));
        meets |= meets_others(instruction);
        moves_stack |= crate::chapters::stack::moves_stack(instruction);
    });
    match () {
        () if moves_stack => Candidate::Never,
        () if size <= SMALL_BODY && !meets && !has_calls => Candidate::Always,
        () => Candidate::Once,
    }
}

/// What a function has for the sake of being called.
fn passes_parameter(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Ret
        || is_parameter(instruction.space()) && matches!(instruction.opcode, Opcode::Ld | Opcode::St)
}

/// Whether threads of a warp wait for each other at the instruction: copies of it would be two places. Barriers of blocks go by
/// their number, wherever a thread arrives.
fn meets_others(instruction: &Instruction) -> bool {
    let is_block_barrier = matches!(instruction.opcode, Opcode::Bar | Opcode::Barrier) && !instruction.has(Word::Warp);
    let waits = [Word::Sync, Word::Aligned].into_iter().any(|word| instruction.has(word));
    waits && !is_block_barrier || instruction.opcode == Opcode::Activemask
}
