//! Modules that declare `.reg` or `.local` at file level: ptxas compiles them without a calling convention.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Checker;
use crate::ast::{Name, Sym};
use crate::diag::{Diagnostic, Rule};
use crate::mentions::{self, Mention};
use crate::scope::Binding;

const HELP: &str = "declare the `.reg` and `.local` variables of the file level in its functions, or pass them";

impl Checker<'_> {
    /// Without a calling convention no function has an address, and none calls itself.
    pub(super) fn without_calling_convention(&mut self) {
        if self.thread_places.is_empty() {
            return;
        }
        let module = self.module;
        let mut calls: FxHashMap<Sym, Vec<Name>> = FxHashMap::default();
        let mut addresses = Vec::new();
        for function in module.functions() {
            let Some(body) = &function.body else { continue };
            let called = calls.entry(function.name.sym).or_default();
            mentions::of_block(body, &mut |name, how| {
                if matches!(self.scopes.lookup(name.sym), Some(Binding::Function(_))) {
                    if how == Mention::Callee { called.push(name) } else { addresses.push(name) }
                }
            });
        }
        for name in addresses {
            let message = format!("`{}` has no address in a module with variables of threads", self.text(name.sym));
            self.error(Diagnostic::new(name.span, message).rule(Rule::Declaration).help(HELP));
        }
        for function in module.functions().filter(|function| !function.is_entry) {
            if let Some(name) = leads_to(&calls, function.name.sym) {
                let message =
                    format!("`{}` calls itself in a module with variables of threads", self.text(function.name.sym));
                self.error(Diagnostic::new(name.span, message).rule(Rule::Declaration).help(HELP));
            }
        }
    }

    /// An index in a register is added to where an array is known to lie.
    pub(super) fn shared_array(&mut self, array: Name) {
        let declared = self.scopes.lookup(array.sym).and_then(|binding| binding.declared());
        let is_own = declared.is_some_and(|declared| self.thread_places.contains(&declared.span.start));
        if is_own && self.current.is_some_and(|function| !function.is_entry) {
            let message =
                format!("`{}` is declared at file level, and a function cannot index it", self.text(array.sym));
            let help = "compute the address, and access `[register]`";
            self.error(Diagnostic::new(array.span, message).rule(Rule::Declaration).help(help));
        }
    }
}

/// The call by which a function comes to itself.
fn leads_to(calls: &FxHashMap<Sym, Vec<Name>>, function: Sym) -> Option<Name> {
    let mut seen: FxHashSet<Sym> = FxHashSet::default();
    let mut open = vec![function];
    while let Some(next) = open.pop() {
        for &name in calls.get(&next).into_iter().flatten() {
            if name.sym == function {
                return Some(name);
            }
            if seen.insert(name.sym) {
                open.push(name.sym);
            }
        }
    }
    None
}
