//! Parts and lists of parts that many forms share. Each is written down once and named: rustc reads a tenth of the
//! text, and the program holds one copy.

use std::collections::HashMap;
use std::fmt::Write;
use std::hash::Hash;

/// The parts of one type.
pub(crate) struct Pool {
    /// What their constants' names begin with.
    name: &'static str,
    of: &'static str,
    parts: Numbered<String>,
    lists: Numbered<String>,
}

impl Pool {
    pub(crate) fn new(name: &'static str, of: &'static str) -> Self {
        Pool { name, of, parts: Numbered::default(), lists: Numbered::default() }
    }

    /// The expression that borrows a list of these parts.
    pub(crate) fn list(&mut self, parts: impl IntoIterator<Item = String>) -> String {
        let parts: Vec<String> =
            parts.into_iter().map(|part| format!("{}_{}", self.name, self.parts.number(part))).collect();
        if parts.is_empty() {
            return "&[]".to_owned();
        }
        let of = format!("[{}; {}] = [{}]", self.of, parts.len(), parts.join(", "));
        format!("&{}_LIST_{}", self.name, self.lists.number(of))
    }

    /// The items that the expressions name.
    pub(crate) fn write(&self, out: &mut String) {
        for (number, part) in self.parts.all.iter().enumerate() {
            let _ = writeln!(out, "const {}_{number}: {} = {part};", self.name, self.of);
        }
        for (number, list) in self.lists.all.iter().enumerate() {
            let _ = writeln!(out, "static {}_LIST_{number}: {list};", self.name);
        }
    }
}

/// Things of which each has a number, in the order in which they came.
pub(crate) struct Numbered<T> {
    pub(crate) all: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { all: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    /// The number of what is equal to this.
    pub(crate) fn number(&mut self, one: T) -> usize {
        let next = self.all.len();
        *self.numbers.entry(one).or_insert_with_key(|one| {
            self.all.push(one.clone());
            next
        })
    }
}
