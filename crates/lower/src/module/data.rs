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

/// Initial values beyond this many bytes are refused: their zeros would fill the memory.
const LARGEST_INITIALISED: u64 = 1 << 30;

/// The initial value of `variable`; empty when it has none.
pub(crate) fn of(variable: &Variable) -> Lowered<Data> {
    let mut data = Data::default();
    let Some(init) = &variable.init else { return Ok(data) };
    let mut dims: Vec<u64> = variable.dims.iter().map(|d| d.unwrap_or(0)).collect();
    dims.extend(variable.vector.map(|v| v.len() as u64));
    Writer { data: &mut data, ty: variable.ty }.value(init, &dims, 0)?;
    Ok(data)
}

struct Writer<'d> {
    data: &'d mut Data,
    ty: ScalarType,
}

impl Writer<'_> {
    /// Writes `init` at byte `at`; `dims` are the dimensions still to be walked, outermost first.
    fn value(&mut self, init: &Init, dims: &[u64], at: u64) -> Lowered {
        match init {
            Init::List(items, span) => {
                let inner = dims.get(1..).unwrap_or(&[]);
                let elements = inner.iter().try_fold(1u64, |product, n| product.checked_mul(*n));
                let step = elements.and_then(|n| n.checked_mul(u64::from(self.ty.bytes())));
                let step = step.ok_or_else(|| invalid(*span, "the array is too large"))?;
                if dims.first().is_some_and(|&n| n != 0 && items.len() as u64 > n) {
                    return Err(invalid(*span, "more initial values than the array has elements"));
                }
                for (index, item) in items.iter().enumerate() {
                    let place = step.checked_mul(index as u64).and_then(|offset| at.checked_add(offset));
                    let place = place.filter(|place| *place < LARGEST_INITIALISED);
                    self.value(item, inner, place.ok_or_else(|| invalid(*span, "the array is too large"))?)?;
                }
                Ok(())
            }
            Init::Imm(imm, span) => {
                let bits = self.bits_of(*imm, *span)?;
                self.put(at, &bits.to_le_bytes()[..self.ty.bytes().min(8) as usize]);
                Ok(())
            }
            Init::Text(text, _) => {
                self.put(at, text.as_bytes());
                Ok(())
            }
            Init::Address { name, offset, generic, mask } => self.address(*name, *offset, *generic, *mask, at),
        }
    }

    fn address(&mut self, name: Name, addend: i64, generic: bool, mask: Option<u64>, at: u64) -> Lowered {
        let byte = mask.map(|mask| byte_of(mask, name.span)).transpose()?;
        let size = if byte.is_some() { 1 } else { self.ty.bytes() as u8 };
        if byte.is_none() && size != 8 && size != 4 {
            return Err(invalid(name.span, format!("an address does not fit a value of type .{}", self.ty)));
        }
        self.put(at, &vec![0; usize::from(size)]);
        self.data.addresses.push(AddressIn { offset: at, size, name, addend, generic, byte });
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

    fn put(&mut self, at: u64, bytes: &[u8]) {
        let start = at as usize;
        let end = start + bytes.len();
        if self.data.bytes.len() < end {
            self.data.bytes.resize(end, 0);
        }
        self.data.bytes[start..end].copy_from_slice(bytes);
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
