//! Metadata: a graph of nodes.

use cranelift_entity::{EntitySet, PrimaryMap, entity_impl};

use super::constant::ConstId;

/// Index of a metadata node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetaId(u32);
entity_impl!(MetaId, "!");

/// One operand of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum MetaField {
    /// `null`
    Null,
    /// `!5`
    Node(MetaId),
    /// `!"text"`, or `name: "text"` of a specialised node
    String(Box<str>),
    /// `i32 5`, `ptr @kernel`
    Constant(ConstId),
    /// `line: 12` of a specialised node
    Int(i128),
    /// `emissionKind: FullDebug` of a specialised node; several joined by ` | `
    Word(Box<str>),
}

/// One metadata node.
#[derive(Clone, PartialEq, Debug)]
pub enum Meta {
    /// Named before it is defined; not left by a reader that succeeds.
    Undefined,
    /// `!{ … }`
    Node(Vec<MetaField>),
    /// `!DILocation(line: 1, …)`: the name without `!`, and the fields by name
    Special(Box<str>, Vec<(Box<str>, MetaField)>),
    /// A string that stands alone.
    String(Box<str>),
    /// A constant that stands alone.
    Constant(ConstId),
}

impl Meta {
    /// A field of a specialised node.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&MetaField> {
        match self {
            Meta::Special(_, fields) => fields.iter().find(|(key, _)| &**key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// An integer field of a specialised node.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i128> {
        match self.field(name)? {
            MetaField::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// A string field of a specialised node.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.field(name)? {
            MetaField::String(text) => Some(text),
            _ => None,
        }
    }

    /// A field of a specialised node that is another node.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<MetaId> {
        match self.field(name)? {
            MetaField::Node(id) => Some(*id),
            _ => None,
        }
    }

    /// The operands of a plain node.
    #[must_use]
    pub fn operands(&self) -> &[MetaField] {
        match self {
            Meta::Node(fields) => fields,
            _ => &[],
        }
    }
}

/// Kinds of metadata on instructions that mean something to the back end; readers drop others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Attachment {
    /// `!range`
    Range,
    /// `!invariant.load`
    InvariantLoad,
    /// `!nontemporal`
    NonTemporal,
    /// `!llvm.loop`, on the branch that closes a loop
    Loop,
    /// `!alias.scope`
    AliasScope,
    /// `!noalias`
    NoAlias,
    /// `!tbaa`
    Tbaa,
    /// `!fpmath`
    FpMath,
    /// `!prof`
    Prof,
    /// `!align` of a loaded pointer
    Align,
    /// `!nonnull` of a loaded pointer
    NonNull,
}

impl Attachment {
    /// The kind that LLVM text spells `!name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Attachment> {
        Some(match name {
            "range" => Attachment::Range,
            "invariant.load" => Attachment::InvariantLoad,
            "nontemporal" => Attachment::NonTemporal,
            "llvm.loop" => Attachment::Loop,
            "alias.scope" => Attachment::AliasScope,
            "noalias" => Attachment::NoAlias,
            "tbaa" => Attachment::Tbaa,
            "fpmath" => Attachment::FpMath,
            "prof" => Attachment::Prof,
            "align" => Attachment::Align,
            "nonnull" => Attachment::NonNull,
            _ => return None,
        })
    }
}

/// All metadata of a module.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// The nodes.
    pub nodes: PrimaryMap<MetaId, Meta>,
    /// `!name = !{ … }`, in order.
    pub named: Vec<(Box<str>, Vec<MetaId>)>,
    /// The nodes that are `distinct`: never the same as another that says the same.
    pub distinct: EntitySet<MetaId>,
}

impl std::ops::Index<MetaId> for Metadata {
    type Output = Meta;

    fn index(&self, id: MetaId) -> &Meta {
        &self.nodes[id]
    }
}

impl Metadata {
    /// The operands of all named nodes called `name` (linking leaves one).
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = MetaId> + 'a {
        self.named.iter().filter(move |(key, _)| &**key == name).flat_map(|(_, nodes)| nodes.iter().copied())
    }
}
