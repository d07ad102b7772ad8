//! Which functions of a module call which.

use crate::call::Callee;
use crate::entity::FuncId;
use crate::function::{Function, FunctionKind};
use crate::module::{Module, SymbolKind};
use cranelift_entity::SecondaryMap;

/// A function and whom it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallNode {
    /// The function.
    pub function: FuncId,
    /// The functions of this module that it calls, each once; a call through an address may go to
    /// every function whose address the module takes.
    pub callees: Vec<FuncId>,
    /// It is in a cycle of calls, or calls through an address: what its calls change is not known
    /// before it has been compiled itself.
    pub open: bool,
    /// It is in a cycle of calls, or its address is taken: who calls it knows nothing of it but that it keeps to the
    /// convention.
    pub by_convention: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

/// One function on the walk's stack.
struct Visit {
    function: FuncId,
    callees: Vec<FuncId>,
    indirect: bool,
    next: usize,
}

impl Visit {
    fn new(module: &Module, function: FuncId) -> Self {
        let (callees, indirect) = callees_of(module, &module.functions[function]);
        Visit { function, callees, indirect, next: 0 }
    }
}

/// Every function of the module, callees before callers where there is no cycle. An explicit stack:
/// chains of calls may be long.
pub fn call_order(module: &Module) -> Vec<CallNode> {
    let mut marks = SecondaryMap::with_default(Mark::New);
    let mut in_cycle = SecondaryMap::with_default(false);
    let mut is_address_taken = SecondaryMap::with_default(false);
    address_taken(module).for_each(|function| is_address_taken[function] = true);
    let mut order = Vec::new();
    for root in module.functions.keys() {
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        let mut stack = vec![Visit::new(module, root)];
        while let Some(top) = stack.last_mut() {
            let Some(callee) = top.callees.get(top.next).copied() else {
                marks[top.function] = Mark::Done;
                if let Some(Visit { function, callees, indirect, .. }) = stack.pop() {
                    let open = indirect || in_cycle[function];
                    let by_convention = in_cycle[function] || is_address_taken[function];
                    order.push(CallNode { function, callees, open, by_convention });
                }
                continue;
            };
            top.next += 1;
            match marks[callee] {
                Mark::New => {
                    marks[callee] = Mark::Open;
                    stack.push(Visit::new(module, callee));
                }
                Mark::Open => {
                    let from = stack.iter().position(|visit| visit.function == callee).unwrap_or(0);
                    stack[from..].iter().for_each(|visit| in_cycle[visit.function] = true);
                }
                Mark::Done => {}
            }
        }
    }
    order
}

/// The functions of [`call_order`] in groups: who calls a function of this module stands in a later group than it,
/// but for cycles, where only those wait that [`call_order`] lets wait.
pub fn call_groups(module: &Module) -> Vec<Vec<CallNode>> {
    let mut group_of: SecondaryMap<FuncId, Option<usize>> = SecondaryMap::new();
    let mut groups: Vec<Vec<CallNode>> = Vec::new();
    for node in call_order(module) {
        let group = node.callees.iter().filter_map(|callee| group_of[*callee]).max().map_or(0, |last| last + 1);
        group_of[node.function] = Some(group);
        if groups.len() == group {
            groups.push(Vec::new());
        }
        groups[group].push(node);
    }
    groups
}

/// The functions called in this module, each once, and whether there are calls through addresses.
fn callees_of(module: &Module, func: &Function) -> (Vec<FuncId>, bool) {
    let mut callees: Vec<FuncId> = Vec::new();
    let mut indirect = false;
    for (_, inst) in func.iter_insts() {
        let Some(call) = func[inst].call.expand() else { continue };
        match func[call].callee {
            Callee::Direct(symbol) => {
                let callee = module.function_of(symbol).filter(|callee| !callees.contains(callee));
                callees.extend(callee);
            }
            Callee::Indirect => indirect = true,
            Callee::Return => {}
        }
    }
    if indirect {
        for target in address_taken(module) {
            if !callees.contains(&target) {
                callees.push(target);
            }
        }
    }
    (callees, indirect)
}

/// Device functions whose address is taken: those with a number, in bank 4 or in the initial value of
/// a variable.
pub fn address_taken(module: &Module) -> impl Iterator<Item = FuncId> + '_ {
    let in_data = module.symbols.values().filter_map(|data| match &data.kind {
        SymbolKind::Variable(variable) => Some(variable.relocs.iter().map(|reloc| reloc.symbol)),
        _ => None,
    });
    let tables = module.function_table.iter().chain(&module.address_table).copied();
    tables
        .chain(in_data.flatten())
        .filter_map(|symbol| module.function_of(symbol))
        .filter(|id| module.functions[*id].kind() != FunctionKind::Entry)
}
