//! Modules that declare `.reg` or `.local` at file level: ptxas compiles them without a calling convention.

use rustc_hash::FxHashMap;

use super::Checker;
use crate::ast::{Name, Sym};
use crate::call_order::callees_first;
use crate::diag::{Diagnostic, Rule};
use crate::mentions::{self, Mention};
use crate::scope::Binding;

/// Most names of the file level that functions mention: each call stores and loads them.
const MOST_SHARED: usize = 256;
const HELP: &str = "declare the `.reg` and `.local` variables of the file level in its functions, or pass them";

impl Checker<'_> {
    /// Without a calling convention no function has an address, and none calls itself.
    pub(super) fn without_calling_convention(&mut self) {
        if self.thread_places.is_empty() {
            return;
        }
        let module = self.module;
        let mut calls: FxHashMap<Sym, Vec<Name>> = FxHashMap::default();
        let (mut addresses, mut shared) = (Vec::new(), FxHashMap::default());
        for function in module.functions() {
            let Some(body) = &function.body else { continue };
            let called = calls.entry(function.name.sym).or_default();
            let mut visit = |name: Name, how| match self.scopes.lookup(name.sym) {
                Some(Binding::Function(_)) if how == Mention::Callee => called.push(name),
                Some(Binding::Function(_)) => addresses.push(name),
                Some(binding)
                    if !function.is_entry
                        && binding.declared().is_some_and(|own| self.thread_places.contains(&own.span.start)) =>
                {
                    shared.entry(name.sym).or_insert(name);
                }
                _ => {}
            };
            mentions::of_block(body, &mut visit);
            mentions::instructions(body, &mut |instruction| {
                instruction.guard.into_iter().for_each(|guard| visit(guard.pred, Mention::Other));
            });
        }
        for name in addresses {
            let message = format!("`{}` has no address in a module with variables of threads", self.text(name.sym));
            self.error(Diagnostic::new(name.span, message).rule(Rule::Declaration).help(HELP));
        }
        let functions: Vec<Sym> = module.functions().map(|function| function.name.sym).collect();
        if let Err(name) = callees_first(&functions, &calls) {
            let message = format!("`{}` calls itself in a module with variables of threads", self.text(name.sym));
            self.error(Diagnostic::new(name.span, message).rule(Rule::Declaration).help(HELP));
        }
        if shared.len() > MOST_SHARED {
            let last = shared.values().copied().max_by_key(|name| name.span.start);
            let message = format!("functions share {} variables of threads, more than {MOST_SHARED}", shared.len());
            let at = last.map_or(module.header[0], |name| name.span);
            self.error(Diagnostic::new(at, message).rule(Rule::Declaration).help(HELP));
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
