//! Modifier fields and their values, which have types: a setting of a field to a value of another one does not
//! compile. The fields and their values come from `spec/*.isa`.

use std::marker::PhantomData;

/// What the value of a [`Field`] is: one of the types of named values, or `bool` for a flag.
pub trait FieldType: Copy + Eq {
    /// The value of that code. It is not checked: a code that the spec does not name is refused by
    /// [`crate::legal`] and the encoder.
    fn from_code(code: u8) -> Self;

    /// The code in [`crate::Mods`].
    fn code(self) -> u8;
}

impl FieldType for bool {
    #[inline]
    fn from_code(code: u8) -> bool {
        code != 0
    }

    #[inline]
    fn code(self) -> u8 {
        self as u8
    }
}

/// A modifier field, something that the mnemonic's suffixes or an operand's suffix say, whose values are `V`.
///
/// The fields are its constants, and a field takes only its own values:
///
/// ```
/// use oriole_isa::{Field, Inst, Opcode, Vote};
///
/// let mut inst = Inst::new(Opcode::VOTE);
/// inst.mods.set(Field::VOTE, Vote::ANY);
/// assert!(inst.get(Field::VOTE) == Vote::ANY);
/// let setting = Field::VOTE.is(Vote::ANY);
/// assert_eq!(inst.mods, [setting].into_iter().collect());
/// ```
///
/// ```compile_fail,E0308
/// use oriole_isa::{Field, Vote};
///
/// let setting = Field::SHFL.is(Vote::ANY);
/// ```
///
/// ```compile_fail,E0308
/// use oriole_isa::{Field, Inst, Opcode, Vote};
///
/// let mut inst = Inst::new(Opcode::SHFL);
/// inst.mods.set(Field::SHFL, Vote::ANY);
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Field<V> {
    id: FieldId,
    values: PhantomData<V>,
}

impl<V> Clone for Field<V> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Field<V> {}

impl<V> Field<V> {
    const fn new(id: FieldId) -> Self {
        Field { id, values: PhantomData }
    }

    /// The field without the type of its values.
    #[inline]
    pub const fn id(self) -> FieldId {
        self.id
    }
}

impl<V> From<Field<V>> for FieldId {
    #[inline]
    fn from(field: Field<V>) -> FieldId {
        field.id
    }
}

impl<V: FieldType> Field<V> {
    /// The name of `value` in the spec.
    pub fn name_of(self, value: V) -> Option<&'static str> {
        self.id.value(value.code()).map(|row| row.name)
    }
}

impl Field<bool> {
    /// The setting of this field to `value`.
    #[inline]
    pub const fn is(self, value: bool) -> Setting {
        Setting { field: self.id, code: value as u8 }
    }
}

/// A field with a value of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    field: FieldId,
    code: u8,
}

impl Setting {
    /// The setting of `field` to `value`, for code that is generic in their type; else use `is` of the field, which constants
    /// can use too.
    #[inline]
    pub fn of<V: FieldType>(field: Field<V>, value: V) -> Setting {
        Setting { field: field.id, code: value.code() }
    }

    /// The setting of any field to the value of that code. Neither the code nor its type is checked.
    #[inline]
    pub const fn raw(field: FieldId, code: u8) -> Setting {
        Setting { field, code }
    }

    /// The field.
    #[inline]
    pub const fn field(self) -> FieldId {
        self.field
    }

    /// The code of the value.
    #[inline]
    pub const fn code(self) -> u8 {
        self.code
    }
}

/// One value of a field.
#[derive(Clone, Copy, Debug)]
pub struct FieldValue {
    /// The value in [`crate::Mods`].
    pub code: u8,
    /// Its name in the spec.
    pub name: &'static str,
    /// What is printed after a dot; empty where nothing is.
    pub text: &'static str,
}

impl FieldId {
    /// The values that the field can have, in the order of the spec.
    pub fn values(self) -> &'static [FieldValue] {
        FIELD_VALUES[self as usize]
    }

    /// What the field says, in one line.
    pub fn doc(self) -> &'static str {
        FIELD_DOCS[self as usize]
    }

    /// The row of one value.
    pub fn value(self, code: u8) -> Option<&'static FieldValue> {
        self.values().iter().find(|v| v.code == code)
    }

    /// The value of that name in the spec.
    pub fn value_named(self, name: &str) -> Option<u8> {
        self.values().iter().find(|v| v.name == name).map(|v| v.code)
    }

    /// The field of that name in the spec.
    pub fn from_name(name: &str) -> Option<FieldId> {
        FieldId::ALL.into_iter().find(|f| f.name() == name)
    }
}

/// The type of a set of named values: a code with constants for those that have names. The setting of a field is
/// made by a method for each type, because that of a trait could not be used in constants.
macro_rules! field_values {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $code:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            $($(#[$value_doc])* pub const $value: $name = $name($code);)*

            /// All named values, in the order of the spec.
            pub const VALUES: &'static [$name] = &[$($name::$value),*];

            /// The value of that code. It is not checked: a code without a name is refused by the encoder.
            #[inline]
            pub const fn from_code(code: u8) -> $name {
                $name(code)
            }

            /// The code in [`crate::Mods`].
            #[inline]
            pub const fn code(self) -> u8 {
                self.0
            }
        }

        impl fmt::Display for $name {
            /// The name in the spec, or the code where that has none.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $($name::$value => f.write_str(stringify!($value)),)*
                    $name(code) => write!(f, "#{code}"),
                }
            }
        }

        impl FieldType for $name {
            #[inline]
            fn from_code(code: u8) -> $name {
                $name(code)
            }

            #[inline]
            fn code(self) -> u8 {
                self.0
            }
        }

        impl super::Field<$name> {
            /// The setting of this field to `value`.
            #[inline]
            pub const fn is(self, value: $name) -> Setting {
                Setting { field: self.id, code: value.0 }
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/fields.rs"));
