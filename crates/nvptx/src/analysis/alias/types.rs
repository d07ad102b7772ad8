//! What types say about aliasing (`!tbaa`): an access through one type does not touch what is accessed through another,
//! unless one is an ancestor of the other in the language's tree of types.
//!
//! A tag is `!{!base, !access, i64 offset}`; `access` is a scalar type `!{!"name", !parent, i64 0}`, and a root has only
//! a name. Before LLVM 3.4 the scalar type was the tag itself. Fields of structures are told apart by their types alone.

use crate::ir::{MetaField, MetaId, Metadata};

/// Ancestors that are looked at, at most: trees are flat, and circles are no trees.
const MAX_DEPTH: usize = 32;

/// True when accesses with these tags touch no byte in common.
pub(super) fn are_apart(metadata: &Metadata, a: MetaId, b: MetaId) -> bool {
    let (Some(a), Some(b)) = (access_type(metadata, a), access_type(metadata, b)) else { return false };
    a != b
        && root(metadata, a).is_some_and(|own| Some(own) == root(metadata, b))
        && !ancestors(metadata, a).any(|above| above == b)
        && !ancestors(metadata, b).any(|above| above == a)
}

/// The scalar type that a tag says is accessed.
fn access_type(metadata: &Metadata, tag: MetaId) -> Option<MetaId> {
    match metadata[tag].operands() {
        [MetaField::Node(_), MetaField::Node(access), ..] => Some(*access),
        [MetaField::String(_), MetaField::Node(_), ..] => Some(tag),
        _ => None,
    }
}

/// The type itself, its parent, and so on.
fn ancestors(metadata: &Metadata, ty: MetaId) -> impl Iterator<Item = MetaId> + '_ {
    std::iter::successors(Some(ty), |&ty| parent(metadata, ty)).take(MAX_DEPTH)
}

fn parent(metadata: &Metadata, ty: MetaId) -> Option<MetaId> {
    match metadata[ty].operands() {
        [MetaField::String(_), MetaField::Node(parent), ..] => Some(*parent),
        _ => None,
    }
}

/// The root of a type's tree; none where the chain does not end in one.
fn root(metadata: &Metadata, ty: MetaId) -> Option<MetaId> {
    let last = ancestors(metadata, ty).last()?;
    matches!(metadata[last].operands(), [MetaField::String(_)]).then_some(last)
}
