//! Metadata: a graph of nodes.

use cranelift_entity::{EntitySet, PrimaryMap};

use super::ids::{ConstId, MetaId};

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

spelled! {
    /// Kinds of metadata on instructions that mean something to the back end; readers drop others.
    pub enum Attachment {
        Range "range", InvariantLoad "invariant.load", NonTemporal "nontemporal",
        /// on the branch that closes a loop
        Loop "llvm.loop",
        /// Scopes hold for one run of the code that they stand in (readers drop
        /// `llvm.experimental.noalias.scope.decl`): who copies code within a function drops this and `noalias`
        AliasScope "alias.scope",
        NoAlias "noalias", Tbaa "tbaa", FpMath "fpmath", Prof "prof",
        /// of a loaded pointer
        Align "align",
        /// of a loaded pointer
        NonNull "nonnull",
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
