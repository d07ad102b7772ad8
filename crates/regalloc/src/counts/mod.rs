//! `setmaxnreg`: how many registers the warps of a kernel have, place by place.
//!
//! A kernel that changes the number of its registers begins with one that everybody knows: that of `.maxnreg`, of
//! `--maxrregcount`, or what the threads of `.minnctapersm` blocks leave each. Where there is none, and where code is called
//! that knows nothing of the change, ptxas ignores `setmaxnreg` and says so; so do we, in its words. Measured on
//! ptxas 13.0.88 (docs/regalloc.md, "setmaxnreg").

mod rewrite;
mod state;

pub(crate) use state::FunctionCounts;

use crate::limits::RegisterLimit;
use crate::{AllocError, AllocOptions};
use oriole_ori::analysis::{CallNode, Cfg, call_order};
use oriole_ori::{CallId, Callee, FuncId, Function, FunctionKind, InstId, Module, SecondaryMap};
use rustc_hash::FxHashMap;
use state::{CallEffects, State, States, change_of};

/// What there is to know of `setmaxnreg` in a module: by function with how many registers it begins, where that matters.
#[derive(Clone, Debug, Default)]
pub struct RegisterCounts {
    functions: SecondaryMap<FuncId, Option<FunctionCounts>>,
    remarks: Vec<String>,
}

impl RegisterCounts {
    /// Settle for each kernel whether its `setmaxnreg`s count. Those that do become what the hardware has: a warp asks for
    /// registers until it gets them, and blocks end where the number changes. The others go.
    ///
    /// # Errors
    /// [`AllocError::Decrease`], and limits of the IR.
    pub fn settle(module: &mut Module, options: &AllocOptions) -> Result<RegisterCounts, AllocError> {
        let mut counts = RegisterCounts::default();
        if !module.functions.values().any(|func| changes(func).next().is_some()) {
            return Ok(counts);
        }
        let order = call_order(module);
        let reach = Reach::new(module, &order);
        let mut entries = counts.decide(module, &reach, options)?;
        // What a function changes that kernels of both kinds call counts for all of them or for none.
        let shared = |id: FuncId| module.functions[id].kind() != FunctionKind::Entry;
        let mixed = entries.iter().any(|(_, entry)| entry.is_none());
        if mixed && reach.changing.iter().any(|(id, changing)| *changing && shared(id)) {
            entries.iter_mut().for_each(|(_, entry)| *entry = None);
        }
        let kept = reach.from(entries.iter().filter(|(_, entry)| entry.is_some()).map(|(kernel, _)| *kernel));
        for (id, callees) in &reach.calls {
            let func = &mut module.functions[*id];
            if !kept[*id] {
                rewrite::remove(func);
                continue;
            }
            let changing = callees.iter().filter(|(_, callee)| reach.leads_to_change[**callee]);
            rewrite::expand(func, &changing.map(|(call, _)| *call).collect())?;
        }
        counts.spread(module, reach.calls, entries);
        Ok(counts)
    }

    /// What ptxas says of `setmaxnreg`s that it ignores, once for each kernel.
    pub fn remarks(&self) -> impl Iterator<Item = &str> {
        self.remarks.iter().map(String::as_str)
    }

    pub(crate) fn of(&self, function: FuncId) -> Option<&FunctionCounts> {
        self.functions[function].as_ref()
    }

    /// Of each kernel that changes its number of registers: with how many it begins, if that counts.
    fn decide(
        &mut self,
        module: &Module,
        reach: &Reach,
        options: &AllocOptions,
    ) -> Result<Vec<(FuncId, Option<u16>)>, AllocError> {
        let mut entries = Vec::new();
        let is_kernel = |id: FuncId| module.functions[id].kind() == FunctionKind::Entry;
        for kernel in module.functions.keys().filter(|id| is_kernel(*id) && reach.leads_to_change[*id]) {
            let func = &module.functions[kernel];
            let reached = reach.from([kernel]);
            let all: Vec<FuncId> = module.functions.keys().filter(|id| reached[*id]).collect();
            let bodies: Vec<&Function> = all.iter().map(|id| &module.functions[*id]).collect();
            let calls_unknown = bodies.iter().any(|func| calls_through_address(func));
            let is_cyclic = all.iter().any(|id| reach.changing[*id] && reach.in_cycle(*id));
            let entry = RegisterLimit::new(func, module.arch, options).asked.filter(|_| !is_cyclic);
            let reason = match entry {
                _ if options.debug => Some(Ignored::Debugging),
                _ if options.object => Some(Ignored::Units),
                _ if calls_unknown => Some(Ignored::Extern),
                None => Some(Ignored::Unknown),
                Some(_) => None,
            };
            self.remarks.extend(reason.map(|reason| reason.text()));
            let entry = match (reason, entry) {
                (None, Some(limit)) => Some(limit.min(largest(&bodies, limit)?)),
                _ => None,
            };
            entries.push((kernel, entry));
        }
        Ok(entries)
    }

    /// From the kernels on to whom they call, with the fewest registers that any call comes with.
    fn spread(&mut self, module: &Module, calls: Vec<FunctionCalls>, entries: Vec<(FuncId, Option<u16>)>) {
        let mut known: SecondaryMap<FuncId, Option<u16>> = SecondaryMap::new();
        entries.into_iter().for_each(|(kernel, entry)| known[kernel] = entry);
        let mut ends: SecondaryMap<FuncId, State> = SecondaryMap::with_default(State::UNCHANGED);
        let mut summaries: Vec<Summary> = Vec::new();
        for (function, callees) in calls {
            let func = &module.functions[function];
            let changed = callees.iter().filter(|(_, callee)| ends[**callee] != State::UNCHANGED);
            let effects: CallEffects = changed.map(|(call, callee)| (*call, ends[*callee])).collect();
            let states = States::new(func, &Cfg::new(func), &effects);
            if func.kind() != FunctionKind::Entry && (changes(func).next().is_some() || !effects.is_empty()) {
                ends[function] = states.end;
            }
            summaries.push(Summary { function, callees, effects, calls: states.calls });
        }
        let mut changed = true;
        while changed {
            changed = false;
            for summary in summaries.iter().rev() {
                let Some(entry) = known[summary.function] else { continue };
                for (callee, state) in
                    summary.calls.iter().filter_map(|(call, state)| Some((summary.callees.get(call)?, state)))
                {
                    let fewest = known[*callee].map_or(u16::MAX, |count| count).min(state.of(entry));
                    changed |= known[*callee].replace(fewest) != Some(fewest);
                }
            }
        }
        for summary in summaries {
            self.functions[summary.function] =
                known[summary.function].map(|entry| FunctionCounts { entry, effects: summary.effects });
        }
    }
}

/// What a function's code says of the calls in it.
struct Summary {
    function: FuncId,
    /// The calls of functions of this module.
    callees: FxHashMap<CallId, FuncId>,
    /// Those of them that change the number of registers.
    effects: CallEffects,
    /// The states at its calls.
    calls: Vec<(CallId, State)>,
}

/// Why `setmaxnreg` is ignored.
#[derive(Clone, Copy)]
enum Ignored {
    Units,
    Debugging,
    Extern,
    Unknown,
}

impl Ignored {
    fn text(self) -> String {
        let (number, reason) = match self {
            Ignored::Units => (7504, " to maintain compatibility across compilation units"),
            Ignored::Debugging => (7505, " to allow debugging"),
            Ignored::Extern => (7506, " to maintain compatibility into 'extern' call"),
            Ignored::Unknown => (7508, "; unable to determine register count at entry"),
        };
        format!("(C{number}) Potential Performance Loss: 'setmaxnreg' ignored{reason}.")
    }
}

/// A function with its calls of functions of the module.
type FunctionCalls = (FuncId, FxHashMap<CallId, FuncId>);

/// Who can come to whom.
struct Reach {
    callees: SecondaryMap<FuncId, Vec<FuncId>>,
    /// Functions whose own code changes the number of registers.
    changing: SecondaryMap<FuncId, bool>,
    /// Those, and their callers.
    leads_to_change: SecondaryMap<FuncId, bool>,
    /// Callees before callers.
    calls: Vec<FunctionCalls>,
}

impl Reach {
    fn new(module: &Module, order: &[CallNode]) -> Self {
        let (callees, changing) = (SecondaryMap::new(), SecondaryMap::new());
        let mut reach = Reach { callees, changing, leads_to_change: SecondaryMap::new(), calls: Vec::new() };
        for node in order {
            let func = &module.functions[node.function];
            reach.callees[node.function].clone_from(&node.callees);
            reach.changing[node.function] = changes(func).next().is_some();
            reach.calls.push((node.function, calls(module, func)));
        }
        // Callees come first: only where calls go round is there more than one way.
        let mut changed = true;
        while changed {
            changed = false;
            for CallNode { function, callees, .. } in order {
                let leads = reach.changing[*function] || callees.iter().any(|callee| reach.leads_to_change[*callee]);
                changed |= std::mem::replace(&mut reach.leads_to_change[*function], leads) != leads;
            }
        }
        reach
    }

    /// The functions in question and all that they call.
    fn from(&self, roots: impl IntoIterator<Item = FuncId>) -> SecondaryMap<FuncId, bool> {
        let mut reached = SecondaryMap::new();
        let mut work: Vec<FuncId> = roots.into_iter().collect();
        while let Some(id) = work.pop() {
            if !std::mem::replace(&mut reached[id], true) {
                work.extend(&self.callees[id]);
            }
        }
        reached
    }

    fn in_cycle(&self, id: FuncId) -> bool {
        self.from(self.callees[id].iter().copied())[id]
    }
}

/// The instructions of a function that change the number of registers: how many there are then, and whether it takes some.
fn changes(func: &Function) -> impl Iterator<Item = (InstId, u16, bool)> {
    func.iter_insts().filter_map(|(_, inst)| change_of(&func[inst]).map(|(count, takes)| (inst, count, takes)))
}

fn calls(module: &Module, func: &Function) -> FxHashMap<CallId, FuncId> {
    let callee = |call: CallId| match func[call].callee {
        Callee::Direct(symbol) => Some((call, module.function_of(symbol)?)),
        Callee::Indirect | Callee::Return => None,
    };
    func.iter_insts().filter_map(|(_, inst)| callee(func[inst].call.expand()?)).collect()
}

fn calls_through_address(func: &Function) -> bool {
    let callees = func.iter_insts().filter_map(|(_, inst)| func[inst].call.expand()).map(|call| func[call].callee);
    callees.into_iter().any(|callee| callee == Callee::Indirect)
}

/// The most registers that are taken, or else those at the start: no more than that can be left over.
fn largest(functions: &[&Function], limit: u16) -> Result<u16, AllocError> {
    let taken =
        functions.iter().flat_map(|func| changes(func)).filter(|(.., takes)| *takes).map(|(_, count, _)| count).max();
    let largest = taken.unwrap_or(limit);
    for func in functions {
        if let Some((inst, count, _)) = changes(func).find(|(_, count, takes)| !takes && *count > largest) {
            let line = func[inst].loc.expand().map_or(0, |loc| func[loc].line);
            return Err(AllocError::Decrease { line, count, largest });
        }
    }
    Ok(largest)
}
