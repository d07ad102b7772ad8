//! The functions of a module, each behind those that it calls.

use rustc_hash::FxHashMap;

use crate::ast::{Name, Sym};

/// The functions, callees first; or a call by which a function comes to itself.
pub(crate) fn callees_first(functions: &[Sym], calls: &FxHashMap<Sym, Vec<Name>>) -> Result<Vec<Sym>, Name> {
    let mut order = Vec::with_capacity(functions.len());
    // Whether a function that was seen is done.
    let mut seen: FxHashMap<Sym, bool> = FxHashMap::default();
    for &root in functions {
        if seen.contains_key(&root) {
            continue;
        }
        let mut open = vec![(root, 0)];
        seen.insert(root, false);
        while let Some((function, next)) = open.last_mut() {
            let Some(&callee) = calls.get(function).and_then(|callees| callees.get(*next)) else {
                seen.insert(*function, true);
                order.push(*function);
                open.pop();
                continue;
            };
            *next += 1;
            match seen.get(&callee.sym) {
                Some(true) => {}
                Some(false) => return Err(callee),
                None => {
                    seen.insert(callee.sym, false);
                    open.push((callee.sym, 0));
                }
            }
        }
    }
    Ok(order)
}
