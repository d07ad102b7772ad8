//! Legal types: what each IR type becomes in registers.
//!
//! An IR value is a list of *words*. A scalar of up to 64 bits is one word; an
//! `i128` is two of 64 bits; structures and arrays are the words of their
//! fields one after the other. Vectors of 16-bit and 8-bit elements are packed
//! to what [`RegClass::Int32Half`] holds, four bytes a word, with the elements
//! that are left over as scalars; all other vectors are scalars.
//!
//! Integers of odd widths live in the next wider register. What stands above
//! their width is not defined: it is cleared or sign-filled where it matters.

use smallvec::SmallVec;

use super::error::Error;
use crate::ir::{DataLayout, Type, TypeId, Types};
use crate::machine::{Operand, RegClass};

/// The type of one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Vt {
    /// `i1`
    Pred,
    /// `i2` to `i8`, in 16 bits
    I8,
    /// `i9` to `i16`
    I16,
    /// `i17` to `i32`
    I32,
    /// `i33` to `i64`, and a half of an `i128`
    I64,
    /// `half`
    F16,
    /// `bfloat`
    Bf16,
    /// `float`
    F32,
    /// `double`
    F64,
    /// two `half`s
    F16x2,
    /// two `bfloat`s
    Bf16x2,
    /// two 16-bit integers
    I16x2,
    /// four bytes
    I8x4,
}

impl Vt {
    /// The register class.
    pub(crate) const fn class(self) -> RegClass {
        match self {
            Vt::Pred => RegClass::Int1,
            Vt::I8 | Vt::I16 => RegClass::Int16,
            Vt::I32 => RegClass::Int32,
            Vt::I64 => RegClass::Int64,
            Vt::F16 | Vt::Bf16 => RegClass::Int16Half,
            Vt::F32 => RegClass::Float32,
            Vt::F64 => RegClass::Float64,
            Vt::F16x2 | Vt::Bf16x2 | Vt::I16x2 | Vt::I8x4 => RegClass::Int32Half,
        }
    }

    /// Width in memory, in bytes.
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Vt::Pred | Vt::I8 => 1,
            Vt::I16 | Vt::F16 | Vt::Bf16 => 2,
            Vt::I32 | Vt::F32 | Vt::F16x2 | Vt::Bf16x2 | Vt::I16x2 | Vt::I8x4 => 4,
            Vt::I64 | Vt::F64 => 8,
        }
    }

    /// Width of the register, in bits.
    pub(crate) const fn bits(self) -> u32 {
        self.class().info().width
    }

    /// The type of each lane of a packed word; the type itself for scalars.
    pub(crate) const fn lane(self) -> Vt {
        match self {
            Vt::F16x2 => Vt::F16,
            Vt::Bf16x2 => Vt::Bf16,
            Vt::I16x2 => Vt::I16,
            Vt::I8x4 => Vt::I8,
            scalar => scalar,
        }
    }

    /// The number of lanes; 1 for scalars.
    pub(crate) const fn lanes(self) -> usize {
        match self {
            Vt::F16x2 | Vt::Bf16x2 | Vt::I16x2 => 2,
            Vt::I8x4 => 4,
            _ => 1,
        }
    }

    /// The packed type of which this is the lane.
    const fn packed(self) -> Option<Vt> {
        match self {
            Vt::F16 => Some(Vt::F16x2),
            Vt::Bf16 => Some(Vt::Bf16x2),
            Vt::I16 => Some(Vt::I16x2),
            Vt::I8 => Some(Vt::I8x4),
            _ => None,
        }
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Vt::F16 | Vt::Bf16 | Vt::F32 | Vt::F64)
    }

    /// `pred`, `b16`, `b32`, `b64`: the type of a register of this width.
    pub(crate) const fn untyped(self) -> &'static str {
        match self.bits() {
            1 => "pred",
            16 => "b16",
            32 => "b32",
            _ => "b64",
        }
    }

    /// `u16`, `s32`, `f64`, `bf16`, `f16x2`: the type of arithmetic.
    pub(crate) const fn typed(self, signed: bool) -> &'static str {
        match (self, signed) {
            (Vt::Pred, _) => "pred",
            (Vt::I8 | Vt::I16, false) => "u16",
            (Vt::I8 | Vt::I16, true) => "s16",
            (Vt::I32, false) => "u32",
            (Vt::I32, true) => "s32",
            (Vt::I64, false) => "u64",
            (Vt::I64, true) => "s64",
            (Vt::F16, _) => "f16",
            (Vt::Bf16, _) => "bf16",
            (Vt::F32, _) => "f32",
            (Vt::F64, _) => "f64",
            (Vt::F16x2, _) => "f16x2",
            (Vt::Bf16x2, _) => "bf16x2",
            (Vt::I16x2, false) => "u16x2",
            (Vt::I16x2, true) => "s16x2",
            (Vt::I8x4, _) => "b32",
        }
    }

    /// The type of an access to memory: `u8`, `b16`, `f32`…
    pub(crate) const fn memory(self) -> &'static str {
        match self {
            Vt::Pred | Vt::I8 => "b8",
            Vt::F32 => "f32",
            Vt::F64 => "f64",
            other => other.untyped(),
        }
    }

    /// The integer type that holds `bits` bits.
    pub(crate) const fn int(bits: u32) -> Option<Vt> {
        match bits {
            1 => Some(Vt::Pred),
            2..=8 => Some(Vt::I8),
            9..=16 => Some(Vt::I16),
            17..=32 => Some(Vt::I32),
            33..=64 => Some(Vt::I64),
            _ => None,
        }
    }
}

/// One word of a type: what it is and where it lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) vt: Vt,
    /// Bytes from the start of the value.
    pub(crate) offset: u64,
}

pub(crate) type Pieces = SmallVec<[Piece; 4]>;

/// How many words a value may have: larger aggregates belong in memory.
const MAX_WORDS: usize = 4096;

/// The words of a type.
pub(crate) fn pieces(types: &Types, layout: &DataLayout, ty: TypeId) -> Result<Pieces, Error> {
    let mut out = Pieces::new();
    collect(types, layout, ty, 0, &mut out)?;
    Ok(out)
}

/// The words of a type as parameters and results hold them: as memory does, but for vectors of odd integers, whose
/// elements memory holds without gaps. Values that have such a vector are one word after the other, each aligned.
pub(crate) fn param_pieces(types: &Types, layout: &DataLayout, ty: TypeId) -> Result<Pieces, Error> {
    let mut out = pieces(types, layout, ty)?;
    if has_bit_packed_part(types, ty) {
        let mut end = 0;
        for piece in &mut out {
            let size = u64::from(piece.vt.bytes());
            piece.offset = u64::next_multiple_of(end, size);
            end = piece.offset + size;
        }
    }
    Ok(out)
}

/// The bytes of a parameter of a type, where they are more than in memory (see [`param_pieces`]).
pub(crate) fn spread_size(types: &Types, layout: &DataLayout, ty: TypeId) -> Option<u64> {
    let spread = has_bit_packed_part(types, ty).then(|| param_pieces(types, layout, ty).ok()).flatten()?;
    spread.last().map(|piece| piece.offset + u64::from(piece.vt.bytes()))
}

fn has_bit_packed_part(types: &Types, ty: TypeId) -> bool {
    match &types[ty] {
        Type::Array(element, _) => has_bit_packed_part(types, *element),
        Type::Struct { fields, .. } => fields.iter().any(|&field| has_bit_packed_part(types, field)),
        _ => is_bit_packed(types, ty),
    }
}

/// True when the elements of a vector lie in memory as in no register: they are no whole bytes, or three.
pub(crate) fn is_bit_packed(types: &Types, ty: TypeId) -> bool {
    let bits = types.as_vector(ty).and_then(|(element, _)| types.int_bits(element));
    bits.is_some_and(|bits| bits < 8 || !bits.is_power_of_two())
}

fn collect(types: &Types, layout: &DataLayout, ty: TypeId, offset: u64, out: &mut Pieces) -> Result<(), Error> {
    if out.len() > MAX_WORDS {
        return Err(Error::new(format!("values of more than {MAX_WORDS} words (`{}`)", types.text(ty))));
    }
    match &types[ty] {
        Type::Vector(element, len) => {
            let lane = scalar(types, layout, *element)?;
            let bytes = u64::from(lane.map_or(16, Vt::bytes));
            let packed = lane.and_then(Vt::packed);
            let mut at = 0;
            while at < u64::from(*len) {
                if out.len() > MAX_WORDS {
                    return Err(Error::new(format!("values of more than {MAX_WORDS} words (`{}`)", types.text(ty))));
                }
                match packed {
                    Some(vt) if u64::from(*len) - at >= vt.lanes() as u64 => {
                        out.push(Piece { vt, offset: offset + at * bytes });
                        at += vt.lanes() as u64;
                    }
                    _ => {
                        collect(types, layout, *element, offset + at * bytes, out)?;
                        at += 1;
                    }
                }
            }
        }
        Type::Array(element, len) => {
            let size = layout.size(types, *element);
            if *len > MAX_WORDS as u64 {
                return Err(Error::new(format!("values of more than {MAX_WORDS} words (`{}`)", types.text(ty))));
            }
            for at in 0..*len {
                collect(types, layout, *element, offset + at * size, out)?;
            }
        }
        Type::Struct { fields, packed } => {
            for (index, &field) in fields.iter().enumerate() {
                let start = layout.field_offset(types, fields, *packed, index);
                collect(types, layout, field, offset + start, out)?;
            }
        }
        Type::Void | Type::Label | Type::Metadata | Type::Token => {}
        _ => match scalar(types, layout, ty)? {
            Some(vt) => out.push(Piece { vt, offset }),
            None => {
                out.push(Piece { vt: Vt::I64, offset });
                out.push(Piece { vt: Vt::I64, offset: offset + 8 });
            }
        },
    }
    Ok(())
}

/// The word of a scalar type; `None` for integers of 65 to 128 bits, which have two.
pub(crate) fn scalar(types: &Types, layout: &DataLayout, ty: TypeId) -> Result<Option<Vt>, Error> {
    Ok(Some(match &types[ty] {
        Type::Int(65..=128) => return Ok(None),
        Type::Int(bits) => Vt::int(*bits).ok_or_else(|| Error::new(format!("integers of {bits} bits (`i{bits}`)")))?,
        Type::Pointer(space) if layout.pointer_bits(*space) == 32 => Vt::I32,
        Type::Pointer(_) => Vt::I64,
        Type::Half => Vt::F16,
        Type::BFloat => Vt::Bf16,
        Type::Float => Vt::F32,
        Type::Double => Vt::F64,
        _ => return Err(Error::new(format!("values of type `{}`", types.text(ty)))),
    }))
}

/// A constant as an operand of a type: floats by their bits, integers sign-extended.
pub(super) fn immediate(vt: Vt, bits: u64) -> Operand {
    match vt {
        Vt::Pred => Operand::Imm((bits & 1) as i64),
        // An `i8` may have been extended to the 16 bits of its register.
        Vt::I8 | Vt::I16 => Operand::Imm(i64::from(bits as i16)),
        Vt::F16 | Vt::Bf16 => Operand::Imm(i64::from(bits as u16)),
        Vt::I32 | Vt::F16x2 | Vt::Bf16x2 | Vt::I16x2 | Vt::I8x4 => Operand::Imm(i64::from(bits as i32)),
        Vt::I64 => Operand::Imm(bits as i64),
        Vt::F32 => Operand::F32(bits as u32),
        Vt::F64 => Operand::F64(bits),
    }
}
