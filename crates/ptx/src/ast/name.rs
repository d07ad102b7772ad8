//! Source spans, interned names and the symbol table of a module.

use super::hash::{few, hash, mix};

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
    slots: Vec<Slot>,
}

/// A place of the hash table: of which name it is, and what that is looked up by. Names of up to eight bytes, which most
/// are, are the same where their words and lengths are.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The name itself where it fits, else its hash.
    word: u64,
    len: u32,
    /// [`FREE`] where no name stands here.
    id: u32,
}

impl Slot {
    const FREE: Slot = Slot { word: 0, len: 0, id: FREE };

    /// Of a name that has no id yet.
    #[inline]
    fn of(name: &str) -> Slot {
        let bytes = name.as_bytes();
        let word = match bytes.len() {
            0..8 => few(bytes),
            _ => bytes.try_into().map_or_else(|_| hash(bytes), u64::from_le_bytes),
        };
        Slot { word, len: bytes.len() as u32, id: FREE }
    }

    /// Where a table of this many slots, a power of two, is searched from.
    #[inline]
    fn start(self, slots: usize) -> usize {
        mix(self.word ^ u64::from(self.len)) as usize & (slots - 1)
    }
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
    #[inline]
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Sym> {
        if self.slots.is_empty() {
            return None;
        }
        let Slot { id, .. } = self.slots[self.probe(name, Slot::of(name))];
        (id != FREE).then_some(Sym(id))
    }

    /// The id of `name`, added if it is new.
    pub fn intern(&mut self, name: &str) -> Sym {
        if (self.ends.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let new = Slot::of(name);
        let slot = self.probe(name, new);
        let Slot { id, .. } = self.slots[slot];
        if id != FREE {
            return Sym(id);
        }
        let id = self.ends.len() as u32;
        self.text.push_str(name);
        self.ends.push(self.text.len() as u32);
        self.slots[slot] = Slot { id, ..new };
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

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(256);
        let old = std::mem::replace(&mut self.slots, vec![Slot::FREE; size]);
        for taken in old.into_iter().filter(|slot| slot.id != FREE) {
            let mut at = taken.start(size);
            while self.slots[at].id != FREE {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = taken;
        }
    }

    /// The slot of `name`, or the free slot where it belongs; the table is at
    /// most half full.
    #[inline]
    fn probe(&self, name: &str, wanted: Slot) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = wanted.start(self.slots.len());
        loop {
            let slot = self.slots[at];
            let alike = (slot.word, slot.len) == (wanted.word, wanted.len);
            if slot.id == FREE || (alike && (name.len() <= 8 || self.text(Sym(slot.id)) == name)) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }
}

impl PartialEq for SymbolTable {
    fn eq(&self, other: &SymbolTable) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Eq for SymbolTable {}
