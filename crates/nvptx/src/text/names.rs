//! What names and numbers of a module stand for while it is read.

use std::borrow::Cow;

use oriole_ptx::ast::Span;
use rustc_hash::FxHashMap;

use super::lexer::Token;
use crate::ir::{BlockId, InstId, MetaId, TypeId, Value};

/// A local name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key<'a> {
    Number(u64),
    Name(Cow<'a, str>),
}

/// What a local name stands for.
#[derive(Clone, Copy)]
pub(super) enum Local {
    /// A number that was left out.
    Vacant,
    Value(Value),
    Block(BlockId),
}

/// A value that was used before its definition.
pub(super) struct Forward {
    pub(super) place: Span,
    pub(super) ty: TypeId,
    pub(super) value: Option<Value>,
}

/// Blocks whose address is taken, and where; block `n` of the list will be block `n` of the body.
#[derive(Default)]
pub(super) struct AddressedBlocks<'a> {
    pub(super) blocks: FxHashMap<Key<'a>, BlockId>,
    pub(super) places: Vec<(Key<'a>, Span)>,
}

/// The names of one function.
#[derive(Default)]
pub(super) struct Locals<'a> {
    pub(super) numbered: Vec<Local>,
    pub(super) named: FxHashMap<Cow<'a, str>, Local>,
    /// Values used before their definition, and which number of `forward` they have.
    pub(super) waiting: FxHashMap<Key<'a>, u32>,
    pub(super) forward: Vec<Forward>,
    /// Instructions that read values of `forward`.
    pub(super) patches: Vec<InstId>,
    /// Whether the instruction that is being read does.
    pub(super) patch: bool,
    /// Blocks mentioned before their start.
    pub(super) waiting_blocks: FxHashMap<Key<'a>, (BlockId, Span)>,
    /// `!dbg` of the instruction that is being read.
    pub(super) loc: Option<MetaId>,
    /// Where each instruction starts.
    pub(super) places: Vec<u32>,
}

/// Metadata nodes by number.
#[derive(Default)]
pub(super) struct MetaNames {
    pub(super) by_number: FxHashMap<u64, MetaId>,
    /// Nodes that were mentioned before their definition, and where.
    pub(super) mentions: Vec<(MetaId, Span)>,
}

/// What a typed pointer points to.
#[derive(Clone)]
pub(super) enum Pointee<'a> {
    /// A type.
    Type(TypeId),
    /// A named type, which may not have been read yet.
    Named(Cow<'a, str>, Token),
}

/// A named type.
#[derive(Clone, Copy)]
pub(super) struct NamedType {
    /// Where its definition stands, behind `type`.
    pub(super) place: u32,
    pub(super) state: State,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum State {
    /// Its definition has been seen, but not read.
    Unread,
    /// Its definition is being read.
    Busy,
    Read(TypeId),
}

/// Types by name.
#[derive(Default)]
pub(super) struct NamedTypes<'a> {
    pub(super) by_name: FxHashMap<Cow<'a, str>, NamedType>,
    /// Whether definitions further on have been looked for.
    pub(super) searched: bool,
    /// The number of parts of types that have several.
    pub(super) parts: FxHashMap<TypeId, u32>,
    /// The types with brackets read last. Results of wide instructions have types of a thousand
    /// characters, written again at each use of an element.
    pub(super) recent: [Option<(&'a str, TypeId)>; RECENT],
    /// The place of the oldest.
    pub(super) oldest: usize,
}

/// How many types with brackets are remembered.
pub(super) const RECENT: usize = 8;
