//! Records to bytes and back.

use super::{Attribute, Value};
use crate::error::CubinError;

/// Format numbers as they stand in the first byte of a record.
const FORMAT_NONE: u8 = 1;
const FORMAT_BYTE: u8 = 2;
const FORMAT_HALF: u8 = 3;
const FORMAT_SIZED: u8 = 4;

/// Reads all records of a section. `file_offset` is where the section starts in the file, for
/// error messages.
pub fn decode(bytes: &[u8], file_offset: u64) -> Result<Vec<Attribute>, CubinError> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let offset = file_offset.saturating_add((bytes.len() - rest.len()) as u64);
        let malformed = |what: &str| CubinError::Malformed { offset, what: what.to_owned() };
        let Some((&[format, number, low, high], tail)) = rest.split_first_chunk::<4>() else {
            return Err(malformed("nv.info record is cut off in its header"));
        };
        let field = u16::from_le_bytes([low, high]);
        rest = tail;
        let value = match format {
            FORMAT_NONE => Value::None(field),
            FORMAT_BYTE => Value::Byte(low, high),
            FORMAT_HALF => Value::Half(field),
            FORMAT_SIZED => {
                let Some((payload, tail)) = rest.split_at_checked(usize::from(field)) else {
                    return Err(malformed("nv.info record is longer than its section"));
                };
                rest = tail;
                Value::Sized(payload.to_vec())
            }
            _ => return Err(malformed(&format!("nv.info record has unknown format {format}"))),
        };
        records.push(Attribute { number, value });
    }
    Ok(records)
}

/// Writes records behind each other. A sized value longer than 65535 bytes cannot be written;
/// its number is returned.
pub fn encode(records: &[Attribute]) -> Result<Vec<u8>, u8> {
    let mut out = Vec::new();
    for Attribute { number, value } in records {
        let (format, field, payload): (u8, u16, &[u8]) = match value {
            Value::None(field) => (FORMAT_NONE, *field, &[]),
            Value::Byte(low, high) => (FORMAT_BYTE, u16::from_le_bytes([*low, *high]), &[]),
            Value::Half(field) => (FORMAT_HALF, *field, &[]),
            Value::Sized(bytes) => {
                let length = u16::try_from(bytes.len()).map_err(|_| *number)?;
                (FORMAT_SIZED, length, bytes)
            }
        };
        out.extend_from_slice(&[format, *number]);
        out.extend_from_slice(&field.to_le_bytes());
        out.extend_from_slice(payload);
    }
    Ok(out)
}
