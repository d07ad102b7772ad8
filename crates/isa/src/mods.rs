//! Modifier values of an instruction.

use crate::{Field, FieldId, FieldType, Setting};
use smallvec::SmallVec;

/// Values of modifier fields. A field that is absent has the opcode's default value
/// ([`crate::Opcode::default_code`]); entries are kept sorted by field, and setting a field to any
/// value stores it, so compare instructions after [`crate::Inst::normalise`].
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Mods(SmallVec<[Setting; 6]>);

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
    pub fn get<V: FieldType>(&self, field: Field<V>) -> Option<V> {
        self.raw(field.id()).map(V::from_code)
    }

    /// The code of the explicit value of `field`.
    #[inline]
    pub fn raw(&self, field: FieldId) -> Option<u8> {
        self.0.iter().find(|setting| setting.field() == field).map(|setting| setting.code())
    }

    /// Set `field` to `value`.
    #[inline]
    pub fn set<V: FieldType>(&mut self, field: Field<V>, value: V) {
        self.apply(Setting::of(field, value));
    }

    /// Set the setting's field to its value.
    pub fn apply(&mut self, setting: Setting) {
        match self.0.binary_search_by_key(&setting.field(), |s| s.field()) {
            Ok(at) => self.0[at] = setting,
            Err(at) => self.0.insert(at, setting),
        }
    }

    /// Add a field that comes after all fields that are set.
    #[inline]
    pub(crate) fn push(&mut self, setting: Setting) {
        debug_assert!(self.0.last().is_none_or(|last| last.field() < setting.field()));
        self.0.push(setting);
    }

    /// Forget all explicit values.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The same with `field` set to `value`.
    #[inline]
    pub fn with<V: FieldType>(mut self, field: Field<V>, value: V) -> Self {
        self.set(field, value);
        self
    }

    /// Forget the explicit value of `field`.
    pub fn remove(&mut self, field: impl Into<FieldId>) {
        let field = field.into();
        self.0.retain(|setting| setting.field() != field);
    }

    /// Explicit values in field order.
    pub fn iter(&self) -> impl Iterator<Item = Setting> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<Setting> for Mods {
    fn from_iter<I: IntoIterator<Item = Setting>>(settings: I) -> Self {
        let mut mods = Mods::new();
        for setting in settings {
            mods.apply(setting);
        }
        mods
    }
}
