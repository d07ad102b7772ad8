//! Elements of arrays as numbers, by the names of their types.

use half::{bf16, f16};
use oriole_device::argument::Argument;

/// A number, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    /// The nearest double.
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

/// What the bits of an element mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Unsigned,
    Signed,
    Float,
}

/// That of the element type with this name.
pub(crate) fn class(element: &str) -> Class {
    match element.as_bytes().first() {
        Some(b'u') => Class::Unsigned,
        Some(b's') => Class::Signed,
        _ => Class::Float,
    }
}

/// The value of an element, of which these are the bytes.
pub(crate) fn read(element: &str, bytes: &[u8]) -> Number {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let unused = 64 - 8 * bytes.len() as u32;
    match (class(element), element) {
        (Class::Unsigned, _) => Number::Integer(bits.into()),
        (Class::Signed, _) => Number::Integer((((bits << unused) as i64) >> unused).into()),
        (Class::Float, "bf16") => Number::Float(bf16::from_bits(bits as u16).to_f64()),
        (Class::Float, "f16") => Number::Float(f16::from_bits(bits as u16).to_f64()),
        (Class::Float, "f32") => Number::Float(f32::from_bits(bits as u32).into()),
        (Class::Float, _) => Number::Float(f64::from_bits(bits)),
    }
}

/// The bytes of an element of that value: rounded to nearest where it is a float. None where an integer does not fit, or is
/// none.
pub(crate) fn write(element: &str, size: usize, value: Number) -> Option<Vec<u8>> {
    let bytes = match (class(element), value) {
        (Class::Float, value) => match element {
            "bf16" => bf16::from_f64(value.as_f64()).to_bits().to_le_bytes().to_vec(),
            "f16" => f16::from_f64(value.as_f64()).to_bits().to_le_bytes().to_vec(),
            "f32" => (value.as_f64() as f32).to_le_bytes().to_vec(),
            _ => value.as_f64().to_le_bytes().to_vec(),
        },
        (_, Number::Float(_)) => return None,
        (class, Number::Integer(value)) => {
            let (least, most) = range(class, size);
            (least..=most).contains(&value).then(|| value.to_le_bytes()[..size].to_vec())?
        }
    };
    Some(bytes)
}

/// The least and the greatest integer of `size` bytes.
pub(crate) fn range(class: Class, size: usize) -> (i128, i128) {
    let values = 1i128 << (8 * size);
    if class == Class::Signed { (-values / 2, values / 2 - 1) } else { (0, values - 1) }
}

/// The bytes of an element that is written as the value of an `ARG` is: `7`, `-1.5`, `0xff`, `nan`.
pub(crate) fn parse(element: &str, text: &str) -> Result<Vec<u8>, String> {
    match Argument::parse(&format!("{element}:{text}")) {
        Ok(Argument::Value(bytes)) => Ok(bytes),
        Ok(_) => Err(format!("'{text}' is no {element}")),
        Err(error) => Err(error.to_string()),
    }
}

/// A number as people read it: no more digits than tell it from its neighbours.
pub(crate) fn text(element: &str, value: Number) -> String {
    match value {
        Number::Integer(value) => value.to_string(),
        Number::Float(value) if element == "f64" => format!("{value:?}"),
        Number::Float(value) => format!("{:?}", value as f32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let rows = [
            ("u8", 1, Number::Integer(255)),
            ("s8", 1, Number::Integer(-128)),
            ("s16", 2, Number::Integer(-2)),
            ("u32", 4, Number::Integer(0xffff_ffff)),
            ("s64", 8, Number::Integer(i64::MIN.into())),
            ("u64", 8, Number::Integer(u64::MAX.into())),
            ("f16", 2, Number::Float(-1.5)),
            ("bf16", 2, Number::Float(3.0)),
            ("f32", 4, Number::Float(0.25)),
            ("f64", 8, Number::Float(0.1)),
        ];
        for (element, size, value) in rows {
            let bytes = write(element, size, value).expect("it fits");
            assert_eq!((bytes.len(), read(element, &bytes)), (size, value), "{element}");
            assert_eq!(parse(element, &text(element, value)), Ok(bytes), "{element}");
        }
        for (element, size, value) in [("u8", 1, 256), ("u8", 1, -1), ("s8", 1, 128), ("u64", 8, 1 << 64)] {
            assert_eq!(write(element, size, Number::Integer(value)), None, "{element} {value}");
        }
        assert_eq!(write("u8", 1, Number::Float(1.0)), None);
        assert!(parse("u8", "x").is_err());
    }
}
