//! Source spans, interned names and the symbol table of a module.

use super::hash::hash;

/// A byte range of the source text.
///
/// Spans never take part in comparisons: two trees are equal when they mean
/// the same, wherever their text stood.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The smallest span that covers `self` and `other`.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The span as a range of indices into the source text.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

/// An interned identifier: an index into the [`SymbolTable`] of its module.
/// Ids are dense and start at 0, so arrays indexed by [`Sym::index`] work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Sym(u32);

impl Sym {
    /// The dense index of this name.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An identifier at a place in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name {
    /// Which identifier.
    pub sym: Sym,
    /// Where it stands.
    pub span: Span,
}

/// All identifiers of a module, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct SymbolTable {
    text: String,
    ends: Vec<u32>,
    hashes: Vec<u32>,
    slots: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl SymbolTable {
    /// An empty table.
    #[must_use]
    pub fn new() -> SymbolTable {
        SymbolTable::default()
    }

    /// The number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when nothing has been interned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The spelling of `sym`, including a leading `%` or `$`.
    #[must_use]
    pub fn text(&self, sym: Sym) -> &str {
        let index = sym.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start as usize..self.ends[index] as usize]
    }

    /// All names in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (Sym, &str)> {
        (0..self.len() as u32).map(|id| (Sym(id), self.text(Sym(id))))
    }

    /// The id of `name`, if it occurs in the module.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Sym> {
        if self.slots.is_empty() {
            return None;
        }
        let id = self.slots[self.probe(name, hash(name.as_bytes()) as u32)];
        (id != FREE).then_some(Sym(id))
    }

    /// The id of `name`, added if it is new.
    pub fn intern(&mut self, name: &str) -> Sym {
        if (self.ends.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let hash = hash(name.as_bytes()) as u32;
        let slot = self.probe(name, hash);
        if self.slots[slot] != FREE {
            return Sym(self.slots[slot]);
        }
        let id = self.ends.len() as u32;
        self.text.push_str(name);
        self.ends.push(self.text.len() as u32);
        self.hashes.push(hash);
        self.slots[slot] = id;
        Sym(id)
    }

    /// Splits `%r12` into its stem `%r` and number 12: the parts of a name
    /// that a declaration such as `.reg .b32 %r<20>` may cover. Other splits
    /// (`%r1` and 2) are for the caller; see [`crate::scope::Scopes`].
    #[must_use]
    pub fn split_number(&self, sym: Sym) -> Option<(&str, u32)> {
        let text = self.text(sym);
        let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &text[stem.len()..];
        if stem.is_empty() || digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
            return None;
        }
        Some((stem, digits.parse().ok()?))
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(256);
        self.slots = vec![FREE; size];
        for (id, &hash) in self.hashes.iter().enumerate() {
            let mut slot = hash as usize & (size - 1);
            while self.slots[slot] != FREE {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = id as u32;
        }
    }

    /// The slot of `name`, or the free slot where it belongs; the table is at
    /// most half full.
    fn probe(&self, name: &str, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let id = self.slots[slot];
            if id == FREE || (self.hashes[id as usize] == hash && self.text(Sym(id)) == name) {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }
}

impl PartialEq for SymbolTable {
    fn eq(&self, other: &SymbolTable) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Eq for SymbolTable {}
