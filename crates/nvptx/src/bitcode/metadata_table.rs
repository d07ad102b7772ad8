//! The metadata that records can refer to.

use rustc_hash::FxHashMap;

use crate::ir::MetaId;

/// What a metadata number stands for.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    String(Box<str>),
    Node(MetaId),
    /// The number of a value; a local one has no meaning here.
    Value(u64),
}

/// All metadata that can be referred to at the moment.
#[derive(Clone, Debug, Default)]
pub(super) struct MetadataTable {
    pub(super) entries: Vec<Entry>,
    /// Names of the kinds of attachments.
    pub(super) kinds: FxHashMap<u64, String>,
    /// The nodes of places in the source: equal ones are one node.
    pub(super) locations: FxHashMap<Location, MetaId>,
}

/// What a `DILocation` says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Location {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) scope: Option<MetaId>,
    pub(super) inlined_at: Option<MetaId>,
    pub(super) implicit: bool,
}

impl MetadataTable {
    /// The number of the next entry.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets the entries from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.entries.truncate(len);
    }

    /// The node of a number.
    pub(super) fn node(&self, number: u64) -> Option<MetaId> {
        match self.get(number)? {
            Entry::Node(id) => Some(*id),
            _ => None,
        }
    }

    /// What a number stands for.
    pub(super) fn get(&self, number: u64) -> Option<&Entry> {
        self.entries.get(usize::try_from(number).ok()?)
    }
}
