//! Modifier values of an instruction.

use crate::Field;
use smallvec::SmallVec;

/// Values of modifier fields. A field that is absent has the opcode's default value
/// ([`crate::Opcode::default_of`]); entries are kept sorted by field, and setting a field to any
/// value stores it, so compare instructions after [`crate::Inst::normalise`].
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Mods(SmallVec<[(Field, u8); 6]>);

impl Clone for Mods {
    fn clone(&self) -> Self {
        // What is derived would copy the values one by one.
        Mods(SmallVec::from_slice(&self.0))
    }
}

impl Mods {
    /// No explicit modifiers.
    pub fn new() -> Self {
        Mods::default()
    }

    /// The explicit value of `field`.
    #[inline]
    pub fn get(&self, field: Field) -> Option<u8> {
        self.0.iter().find(|(f, _)| *f == field).map(|(_, v)| *v)
    }

    /// Set `field` to `value`.
    pub fn set(&mut self, field: Field, value: u8) {
        match self.0.binary_search_by_key(&field, |(f, _)| *f) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (field, value)),
        }
    }

    /// Add a field that comes after all fields that are set.
    #[inline]
    pub(crate) fn push(&mut self, field: Field, value: u8) {
        debug_assert!(self.0.last().is_none_or(|(last, _)| *last < field));
        self.0.push((field, value));
    }

    /// Forget all explicit values.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The same with `field` set to `value`.
    pub fn with(mut self, field: Field, value: u8) -> Self {
        self.set(field, value);
        self
    }

    /// Forget the explicit value of `field`.
    pub fn remove(&mut self, field: Field) {
        self.0.retain(|(f, _)| *f != field);
    }

    /// Explicit values in field order.
    pub fn iter(&self) -> impl Iterator<Item = (Field, u8)> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<(Field, u8)> for Mods {
    fn from_iter<I: IntoIterator<Item = (Field, u8)>>(values: I) -> Self {
        let mut mods = Mods::new();
        for (field, value) in values {
            mods.set(field, value);
        }
        mods
    }
}
