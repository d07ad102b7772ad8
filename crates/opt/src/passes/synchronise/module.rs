//! The functions of a module, callees first: a caller's barriers are none of those that what it calls changes.

use super::synchronise;
use super::together::barriers_of;
use crate::pipeline::{Done, ModuleContext};
use crate::{CallBarriers, PhaseError};
use oriole_ori::analysis::{CallNode, address_taken};
use oriole_ori::{Callee, FuncId, Function, Module};
use std::collections::BTreeMap;

/// Insert BSSY, BSYNC and BREAK into every function.
pub(crate) fn run_all(module: &mut Module, context: &ModuleContext<'_>) -> Result<Vec<Done>, PhaseError> {
    let arch = module.arch;
    let mut known: BTreeMap<FuncId, CallBarriers> = BTreeMap::new();
    let mut done: BTreeMap<usize, Done> = BTreeMap::new();
    for group in groups(context.order) {
        let mut functions = Vec::with_capacity(group.len());
        for number in group {
            let id = context.order[number].function;
            functions.push((number, id, call_barriers(module, id, &known, context.relocatable)));
        }
        let functions = functions.into_iter().map(|(number, id, calls)| {
            // Its place is held until the group is done.
            let held = Function::new(module.functions[id].name(), module.functions[id].kind());
            (number, id, calls, std::mem::replace(&mut module.functions[id], held))
        });
        let work = |(number, id, calls, mut func)| (number, id, calls, synchronise(&mut func, arch, calls), func);
        for (number, id, calls, outcome, func) in context.workers.each(functions.collect(), work) {
            let own = barriers_of(&func);
            known.insert(id, calls.or(CallBarriers { changed: own & !CallBarriers::KEPT, used: own }));
            module.functions[id] = func;
            let (changed, uniformity) = outcome?;
            done.insert(number, Done { function: id, changed, uniformity });
        }
    }
    Ok(done.into_values().collect())
}

/// The functions of `order`, callees first, in groups: none calls another of its group, and what it calls is in a
/// group before, but for what calls it in turn. What calls by address may call anything, and comes in a group of its
/// own after all that the order has before it. Members are numbers in the order.
fn groups(order: &[CallNode]) -> Vec<Vec<usize>> {
    let mut group_of: BTreeMap<FuncId, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (number, node) in order.iter().enumerate() {
        let before = node.callees.iter().filter_map(|callee| group_of.get(callee));
        let group = if node.open { groups.len() } else { before.map(|group| group + 1).max().unwrap_or(0) };
        group_of.insert(node.function, group);
        if groups.len() <= group {
            groups.resize_with(group + 1, Vec::new);
        }
        groups[group].push(number);
    }
    groups
}

/// What the calls of a function do to barriers. Of functions of other files and within a cycle of calls the standard
/// interface says it; a call by address goes to some function whose address a whole module takes.
fn call_barriers(
    module: &Module,
    function: FuncId,
    known: &BTreeMap<FuncId, CallBarriers>,
    relocatable: bool,
) -> CallBarriers {
    let func = &module.functions[function];
    let sites = func.iter_insts().filter_map(|(_, inst)| func[inst].call.expand());
    let of = |callee: Option<FuncId>| callee.and_then(|id| known.get(&id)).copied().unwrap_or(CallBarriers::STANDARD);
    let mut by_address = false;
    let direct = sites.fold(CallBarriers::NONE, |all, site| match func[site].callee {
        Callee::Return => all,
        Callee::Indirect => {
            by_address = true;
            all
        }
        Callee::Direct(symbol) => all.or(of(module.function_of(symbol))),
    });
    if !by_address || relocatable {
        return if by_address { CallBarriers::STANDARD } else { direct };
    }
    // What they change counts as used, even if no target here uses it: who reads the code does not always see which
    // functions a register may lead to, and goes by the standard interface.
    let used = address_taken(module).fold(direct.used, |used, target| used | of(Some(target)).used);
    CallBarriers { used: used | CallBarriers::STANDARD.changed, ..CallBarriers::STANDARD }
}
