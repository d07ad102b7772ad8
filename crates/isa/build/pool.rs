//! Parts and lists of parts that many forms share. Each is written down once and named: rustc reads a tenth of the
//! text, and the program holds one copy.

use std::collections::HashMap;
use std::fmt::Write;

/// The parts of one type.
pub(crate) struct Pool {
    /// What their constants' names begin with.
    name: &'static str,
    of: &'static str,
    parts: Named,
    lists: Named,
}

impl Pool {
    pub(crate) fn new(name: &'static str, of: &'static str) -> Self {
        Pool { name, of, parts: Named::default(), lists: Named::default() }
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
        for (number, part) in self.parts.texts.iter().enumerate() {
            let _ = writeln!(out, "const {}_{number}: {} = {part};", self.name, self.of);
        }
        for (number, list) in self.lists.texts.iter().enumerate() {
            let _ = writeln!(out, "static {}_LIST_{number}: {list};", self.name);
        }
    }
}

/// Texts with numbers, in the order in which they came.
#[derive(Default)]
struct Named {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Named {
    fn number(&mut self, text: String) -> usize {
        let next = self.texts.len();
        *self.numbers.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            next
        })
    }
}
