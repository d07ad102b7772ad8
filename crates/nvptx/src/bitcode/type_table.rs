//! The type table: entries, and which IR types they are.

use rustc_hash::FxHashMap;

use crate::ir::{AddressSpace, Type, TypeId, Types};

use super::error::Result;
use super::stream::Record;

/// Index of an entry of the type table.
pub(super) type TypeIndex = u32;

/// How deep types may be nested: they are walked recursively.
pub(super) const MAX_DEPTH: u32 = 256;

/// How many types a type may be made of, counting each where it stands: they are walked without memory, and a
/// structure of two structures of two structures… would take for ever.
pub(super) const MAX_WEIGHT: u32 = 1 << 16;

#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The type in the IR.
    pub(super) id: TypeId,
    /// Element type; field types; result and parameter types; of a typed pointer what it points to.
    pub(super) parts: Box<[TypeIndex]>,
    /// How deep it is nested.
    pub(super) depth: u32,
    /// How many types it is made of, itself included.
    pub(super) weight: u32,
}

/// All types that records refer to, by index.
#[derive(Clone, Debug, Default)]
pub(super) struct TypeTable {
    pub(super) entries: Vec<Entry>,
    /// The first entry of an IR type, but for typed pointers.
    pub(super) by_id: FxHashMap<TypeId, TypeIndex>,
    /// Typed pointers by what they point to and where.
    pub(super) pointers: FxHashMap<(TypeIndex, AddressSpace), TypeIndex>,
}

impl TypeTable {
    /// The entry that an operand names.
    pub(super) fn index(&self, operand: u64, record: &Record) -> Result<TypeIndex> {
        match usize::try_from(operand).ok().filter(|&index| index < self.entries.len()) {
            Some(index) => Ok(index as TypeIndex),
            None => Err(record.fault(format!("type {operand} of {}", self.entries.len()))),
        }
    }

    /// The IR type of an entry.
    pub(super) fn id(&self, index: TypeIndex) -> TypeId {
        self.entries[index as usize].id
    }

    /// What an entry is made of.
    pub(super) fn parts(&self, index: TypeIndex) -> &[TypeIndex] {
        &self.entries[index as usize].parts
    }

    /// What a typed pointer points to; `None` for opaque pointers and all other types.
    pub(super) fn pointee(&self, index: TypeIndex, types: &Types) -> Option<TypeIndex> {
        let entry = &self.entries[index as usize];
        types.address_space(entry.id)?;
        entry.parts.first().copied()
    }

    /// The type of element `at` of a vector, array or structure.
    pub(super) fn element(&self, index: TypeIndex, at: u64, types: &Types) -> Option<TypeIndex> {
        let entry = &self.entries[index as usize];
        match &types[entry.id] {
            Type::Vector(_, len) if at < u64::from(*len) => entry.parts.first().copied(),
            Type::Array(_, len) if at < *len => entry.parts.first().copied(),
            Type::Struct { .. } => entry.parts.get(usize::try_from(at).ok()?).copied(),
            _ => None,
        }
    }

    /// The entry of an IR type, made if there is none: `{ i32, i1 }` of a `cmpxchg` need not be in the table.
    pub(super) fn of(&mut self, id: TypeId, types: &Types) -> TypeIndex {
        if let Some(&index) = self.by_id.get(&id) {
            return index;
        }
        let parts = match &types[id] {
            Type::Vector(element, _) | Type::Array(element, _) => vec![self.of(*element, types)],
            Type::Struct { fields, .. } => fields.iter().map(|&field| self.of(field, types)).collect(),
            Type::Function { ret, params, .. } => {
                std::iter::once(ret).chain(params).map(|&part| self.of(part, types)).collect()
            }
            _ => Vec::new(),
        };
        self.push(id, parts)
    }

    /// The entry of a structure of these entries.
    pub(super) fn structure(&mut self, parts: &[TypeIndex], types: &mut Types) -> TypeIndex {
        let fields = parts.iter().map(|&part| self.id(part)).collect();
        let id = types.intern(Type::Struct { fields, packed: false });
        self.push(id, parts.to_vec())
    }

    /// The entry of a pointer to `pointee`: a typed one if the table has it, else the opaque one.
    pub(super) fn pointer_to(&mut self, pointee: TypeIndex, space: AddressSpace, types: &mut Types) -> TypeIndex {
        match self.pointers.get(&(pointee, space)) {
            Some(&index) => index,
            None => {
                let id = types.pointer(space);
                self.of(id, types)
            }
        }
    }

    /// The entry of a vector of `len` elements.
    pub(super) fn vector(&mut self, element: TypeIndex, len: u32, types: &mut Types) -> TypeIndex {
        let id = types.vector(self.id(element), len);
        match self.by_id.get(&id) {
            Some(&index) if self.parts(index) == [element] => index,
            _ => self.push(id, vec![element]),
        }
    }

    /// Depth and weight of a type that is made of these.
    pub(super) fn nesting(&self, parts: &[TypeIndex]) -> (u32, u32) {
        parts
            .iter()
            .map(|&part| &self.entries[part as usize])
            .fold((0, 1), |(depth, weight), part| (depth.max(part.depth + 1), weight.saturating_add(part.weight)))
    }

    pub(super) fn push(&mut self, id: TypeId, parts: Vec<TypeIndex>) -> TypeIndex {
        let index = self.entries.len() as TypeIndex;
        let (depth, weight) = self.nesting(&parts);
        self.entries.push(Entry { id, parts: parts.into(), depth, weight });
        self.by_id.entry(id).or_insert(index);
        index
    }
}
