//! Initial values of variables as bytes and relocations.

use crate::error::{Lowered, invalid, unsupported};
use oriole_ptx::ast::{Imm, Init, Name, ScalarType, Span, TypeClass, Variable};

/// An address inside initial data, its target still by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddressIn {
    /// Byte offset in the data.
    pub(crate) offset: u64,
    /// Bytes written.
    pub(crate) size: u8,
    /// Whose address.
    pub(crate) name: Name,
    /// Added to the address.
    pub(crate) addend: i64,
    /// `generic(name)`
    pub(crate) generic: bool,
    /// `0xff00(name)`: number of the byte taken.
    pub(crate) byte: Option<u8>,
}

impl AddressIn {
    /// Writes the address into the data, once it is known.
    pub(crate) fn put(&self, data: &mut [u8], address: u64) {
        let value = address.wrapping_add(self.addend as u64) >> (8 * u32::from(self.byte.unwrap_or(0)));
        let place = data.iter_mut().skip(self.offset as usize).take(usize::from(self.size));
        for (to, byte) in place.zip(value.to_le_bytes()) {
            *to = byte;
        }
    }
}

/// The bytes of a variable's initial value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    /// The bytes, without trailing zeros that no initialiser wrote.
    pub(crate) bytes: Vec<u8>,
    /// Addresses to be filled in.
    pub(crate) addresses: Vec<AddressIn>,
}

/// Size in bytes; an open dimension is as long as the list of initial values. `None` where it does not fit 64 bits.
pub(crate) fn size_of(variable: &Variable) -> Option<u64> {
    let rows = match (&variable.init, variable.dims.first()) {
        (Some(Init::List(items, _)), Some(None | Some(0))) => Some(items.len() as u64),
        (Some(Init::Text(text, _)), Some(None | Some(0))) => Some(text.len() as u64),
        _ => return variable.size(),
    };
    let dims = std::iter::once(rows).chain(variable.dims.iter().skip(1).copied()).collect();
    Variable { dims, init: None, ..variable.clone() }.size()
}

/// The initial value of `variable`; empty when it has none.
pub(crate) fn of(variable: &Variable) -> Lowered<Data> {
    let mut data = Data::default();
    let Some(init) = &variable.init else { return Ok(data) };
    Writer { data: &mut data, ty: variable.ty, at: 0 }.value(init)?;
    Ok(data)
}

/// Writes values one behind the other. As with ptxas, a nested list that gives fewer values than its dimension has
/// leaves no room for the others: what follows stands right behind, and the rest of the variable is zero.
struct Writer<'d> {
    data: &'d mut Data,
    ty: ScalarType,
    /// Where the next value goes.
    at: u64,
}

impl Writer<'_> {
    fn value(&mut self, init: &Init) -> Lowered {
        match init {
            Init::List(items, _) => items.iter().try_for_each(|item| self.value(item)),
            Init::Imm(imm, span) => {
                let bits = self.bits_of(*imm, *span)?;
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&bits.to_le_bytes());
                self.put(&bytes[..self.ty.bytes().min(16) as usize]);
                Ok(())
            }
            Init::Text(text, _) => {
                self.put(text.as_bytes());
                Ok(())
            }
            Init::Address { name, offset, generic, mask } => self.address(*name, *offset, *generic, *mask),
        }
    }

    fn address(&mut self, name: Name, addend: i64, generic: bool, mask: Option<u64>) -> Lowered {
        let byte = mask.map(|mask| byte_of(mask, name.span)).transpose()?;
        let size = if byte.is_some() { 1 } else { self.ty.bytes() as u8 };
        if byte.is_none() && size != 8 && size != 4 {
            return Err(invalid(name.span, format!("an address does not fit a value of type .{}", self.ty)));
        }
        let offset = self.at;
        self.put(&[0; 8][..usize::from(size)]);
        self.data.addresses.push(AddressIn { offset, size, name, addend, generic, byte });
        Ok(())
    }

    fn bits_of(&self, imm: Imm, span: Span) -> Lowered<u64> {
        match (self.ty, imm) {
            (ScalarType::F64, imm) => Ok(imm.to_f64_bits()),
            (ScalarType::F32, imm) => Ok(u64::from(imm.to_f32_bits())),
            (ty, Imm::F32(bits)) if ty.class() == TypeClass::Bits => Ok(u64::from(bits)),
            (ty, Imm::F64(bits)) if ty.class() == TypeClass::Bits => Ok(bits),
            (ty, imm) => {
                imm.int_bits().ok_or_else(|| unsupported(span, format!("a float constant in a variable of type .{ty}")))
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.data.bytes.extend_from_slice(bytes);
        self.at += bytes.len() as u64;
    }
}

/// `0xff00` is byte 1.
fn byte_of(mask: u64, span: Span) -> Lowered<u8> {
    let byte = mask.trailing_zeros() / 8;
    if byte < 8 && mask == 0xff << (8 * byte) {
        Ok(byte as u8)
    } else {
        Err(invalid(span, "the mask of an address must be 0xff, 0xff00, … : one byte"))
    }
}
