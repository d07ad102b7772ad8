//! `.nv.info` records: the compiler's notes to the driver about a module or a function.
//!
//! A record is one byte of format, one byte of attribute number and a 16-bit field. What the
//! field means depends on the format ([`Format`]). The names of the numbers are a table
//! ([`Eiattr::ALL`]); a number without a row is kept as raw bytes.

mod codec;
mod table;

pub use codec::{decode, encode};
pub use table::{Eiattr, Shape, number};

/// How a record carries its value (`EIFMT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// 1: no value; the 16-bit field is zero.
    None,
    /// 2: the low byte of the 16-bit field.
    Byte,
    /// 3: the 16-bit field.
    Half,
    /// 4: the 16-bit field is a length, that many bytes follow.
    Sized,
}

/// The value of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Format 1: the record's presence says everything. The field's bytes are kept.
    None(u16),
    /// Format 2. The second byte of the field is kept.
    Byte(u8, u8),
    /// Format 3.
    Half(u16),
    /// Format 4: the bytes that follow the record's header.
    Sized(Vec<u8>),
}

/// One record of `.nv.info`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// Attribute number; [`Eiattr`] has the known ones.
    pub number: u8,
    /// Its value.
    pub value: Value,
}

impl Attribute {
    /// A record without a value.
    pub fn flag(number: u8) -> Self {
        Attribute { number, value: Value::None(0) }
    }

    /// A record with a byte.
    pub fn byte(number: u8, value: u8) -> Self {
        Attribute { number, value: Value::Byte(value, 0) }
    }

    /// A record with a 16-bit number.
    pub fn half(number: u8, value: u16) -> Self {
        Attribute { number, value: Value::Half(value) }
    }

    /// A record with a list of 32-bit words.
    pub fn words(number: u8, words: &[u32]) -> Self {
        let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        Attribute { number, value: Value::Sized(bytes) }
    }

    /// The row of the table for this record's number.
    pub fn eiattr(&self) -> Option<&'static Eiattr> {
        Eiattr::by_number(self.number)
    }

    /// The format that the value is carried in.
    pub fn format(&self) -> Format {
        match self.value {
            Value::None(_) => Format::None,
            Value::Byte(..) => Format::Byte,
            Value::Half(_) => Format::Half,
            Value::Sized(_) => Format::Sized,
        }
    }

    /// The value as 32-bit words: the words of a sized record (trailing odd bytes are left out),
    /// one word for a byte or a half, none for a flag.
    pub fn as_words(&self) -> Vec<u32> {
        match &self.value {
            Value::None(_) => Vec::new(),
            Value::Byte(b, _) => vec![u32::from(*b)],
            Value::Half(h) => vec![u32::from(*h)],
            Value::Sized(bytes) => {
                let (words, _) = bytes.as_chunks::<4>();
                words.iter().map(|w| u32::from_le_bytes(*w)).collect()
            }
        }
    }
}
