//! Values as bytes in memory, and `bitcast`.

use crate::fault::Fault;
use crate::int_bits::mask;
use crate::memory::{Memory, State, whole_nan};
use crate::value::{Unknown, Value, Width, splat};
use oriole_nvptx::ir::{AddressSpace, Module, Type, TypeId};

/// Bits that a `bitcast`, or a vector whose elements are no whole bytes, may have.
const MAX_CAST_BITS: u64 = 1 << 16;

/// Reads a value of type `ty`.
pub(crate) fn load(
    module: &Module,
    memory: &Memory,
    ty: TypeId,
    space: AddressSpace,
    address: u64,
) -> Result<Value, Fault> {
    let size = module.layout.store_size(&module.types, ty);
    let (bytes, states) = memory.read(space, address, size)?;
    decode(module, ty, bytes, states)
}

/// Writes a value of type `ty`. Padding becomes `undef`.
pub(crate) fn store(
    module: &Module,
    memory: &mut Memory,
    ty: TypeId,
    value: &Value,
    space: AddressSpace,
    address: u64,
) -> Result<(), Fault> {
    let size = module.layout.store_size(&module.types, ty);
    // Asked for first: the size may be anything.
    memory.read(space, address, size)?;
    let mut image = Image::new(size as usize);
    encode(module, ty, value, &mut image, 0)?;
    memory.write(space, address, &image.bytes, &image.states)
}

struct Image {
    bytes: Vec<u8>,
    states: Vec<State>,
}

impl Image {
    fn new(size: usize) -> Image {
        Image { bytes: vec![0; size], states: vec![State::unknown(Unknown::Undef); size] }
    }

    fn put(&mut self, at: usize, bits: u128, states: impl Iterator<Item = State>) {
        let places = self.bytes.iter_mut().zip(&mut self.states).skip(at);
        for (((byte, state), value), new) in places.zip(bits.to_le_bytes()).zip(states) {
            (*byte, *state) = (value, new);
        }
    }
}

/// The bytes of an element of a vector; `None` when elements are packed bit by bit.
fn element_bytes(module: &Module, element: TypeId) -> Option<usize> {
    let bits = module.layout.bits(&module.types, element);
    bits.is_multiple_of(8).then_some(bits as usize / 8)
}

fn encode(module: &Module, ty: TypeId, value: &Value, image: &mut Image, at: usize) -> Result<(), Fault> {
    match &module.types[ty] {
        Type::Vector(element, _) if element_bytes(module, *element).is_none() => {
            let bits = to_bits(module, ty, value)?;
            for (index, chunk) in bits.chunks(8).enumerate() {
                let why = chunk.iter().filter_map(|bit| bit.err().map(Piece::why)).max();
                let byte = chunk.iter().rev().fold(0, |all, bit| all << 1 | u128::from(*bit == Ok(true)));
                image.put(at + index, byte, std::iter::once(why.map_or(State::KNOWN, State::unknown)));
            }
            Ok(())
        }
        Type::Vector(..) | Type::Array(..) | Type::Struct { .. } => {
            for (index, part) in value.elements()?.iter().enumerate() {
                let index = index as u64;
                let inner = module.types.element(ty, index).ok_or_else(|| Fault::invalid("too many elements"))?;
                let offset = module.layout.element_offset(&module.types, ty, index) as usize;
                encode(module, inner, part, image, at + offset)?;
            }
            Ok(())
        }
        _ => {
            let width = Width::of(module, ty)?;
            let bytes = width.bits.div_ceil(8) as usize;
            match (value, width.format) {
                (Value::Bits(bits), _) => image.put(at, *bits, std::iter::repeat_n(State::KNOWN, bytes)),
                (Value::Nan, Some(format)) => {
                    image.put(at, format.quiet_nan(), (0..bytes as u8).map(|index| State::nan(format, index)));
                }
                (Value::Unknown(why), _) => image.put(at, 0, std::iter::repeat_n(State::unknown(*why), bytes)),
                _ => return Err(Fault::invalid("a value of another type is stored")),
            }
            Ok(())
        }
    }
}

fn decode(module: &Module, ty: TypeId, bytes: &[u8], states: &[State]) -> Result<Value, Fault> {
    match &module.types[ty] {
        Type::Vector(element, _) if element_bytes(module, *element).is_none() => {
            let bit = |at: usize| {
                states[at / 8].why().map_or(Ok(bytes[at / 8] >> (at % 8) & 1 == 1), |why| Err(Piece::Unknown(why)))
            };
            let count = module.layout.bits(&module.types, ty);
            let bits: Vec<Bit> = (0..count.min(MAX_CAST_BITS) as usize).map(bit).collect();
            from_bits(module, ty, &mut bits.as_slice())
        }
        Type::Vector(..) | Type::Array(..) | Type::Struct { .. } => {
            let shape = splat(module, ty, &Value::POISON)?;
            let part = |index: usize| {
                let inner = module.types.element(ty, index as u64).ok_or_else(|| Fault::invalid("no such element"))?;
                let offset = module.layout.element_offset(&module.types, ty, index as u64) as usize;
                let end = offset + module.layout.store_size(&module.types, inner) as usize;
                let outside = || Fault::invalid("an element outside of its type");
                let (bytes, states) = (bytes.get(offset..end), states.get(offset..end));
                decode(module, inner, bytes.ok_or_else(outside)?, states.ok_or_else(outside)?)
            };
            (0..shape.elements()?.len()).map(part).collect::<Result<_, _>>().map(Value::Many)
        }
        _ => {
            let width = Width::of(module, ty)?;
            if let (Some((format, _)), Some(own)) = (whole_nan(states), width.format)
                && format == own
            {
                return Ok(Value::Nan);
            }
            if let Some(why) = states.iter().filter_map(|state| state.why()).max() {
                return Ok(Value::Unknown(why));
            }
            let bits = bytes.iter().rev().fold(0, |all, &byte| all << 8 | u128::from(byte));
            // An `i5` that was not stored as one.
            Ok(if bits & !width.mask() == 0 { Value::Bits(bits) } else { Value::OPEN })
        }
    }
}

/// A bit that is not known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Piece {
    Unknown(Unknown),
    /// This bit of a NaN.
    Nan(crate::format::Format, u32),
}

impl Piece {
    fn why(self) -> Unknown {
        match self {
            Piece::Unknown(why) => why,
            Piece::Nan(..) => Unknown::Open,
        }
    }
}

type Bit = Result<bool, Piece>;

/// The bits of a scalar or vector, those of the first element first.
fn to_bits(module: &Module, ty: TypeId, value: &Value) -> Result<Vec<Bit>, Fault> {
    if module.layout.bits(&module.types, ty) > MAX_CAST_BITS {
        return Err(Fault::unsupported("bits of a very long vector"));
    }
    if let Type::Vector(element, _) = &module.types[ty] {
        let parts = value.elements()?.iter().map(|part| to_bits(module, *element, part));
        return Ok(parts.collect::<Result<Vec<_>, _>>()?.concat());
    }
    let width = Width::of(module, ty)?;
    let bit = |at: u32| match (value, width.format) {
        (Value::Bits(bits), _) => Ok(Ok(bits >> at & 1 == 1)),
        (Value::Unknown(why), _) => Ok(Err(Piece::Unknown(*why))),
        (Value::Nan, Some(format)) => Ok(Err(Piece::Nan(format, at))),
        _ => Err(Fault::invalid("bits of a value of another type")),
    };
    (0..width.bits).map(bit).collect()
}

/// Takes the bits of a value of type `ty` from the front.
fn from_bits(module: &Module, ty: TypeId, bits: &mut &[Bit]) -> Result<Value, Fault> {
    if let Type::Vector(element, len) = &module.types[ty] {
        if u64::from(*len) > MAX_CAST_BITS {
            return Err(Fault::unsupported("a very long vector"));
        }
        return (0..*len).map(|_| from_bits(module, *element, bits)).collect::<Result<_, _>>().map(Value::Many);
    }
    let width = Width::of(module, ty)?;
    let (own, rest) = bits.split_at_checked(width.bits as usize).ok_or_else(|| Fault::invalid("too few bits"))?;
    *bits = rest;
    if let Some(format) = width.format
        && own.iter().zip(0..).all(|(bit, at)| *bit == Err(Piece::Nan(format, at)))
    {
        return Ok(Value::Nan);
    }
    if let Some(why) = own.iter().filter_map(|bit| bit.err().map(Piece::why)).max() {
        return Ok(Value::Unknown(why));
    }
    Ok(Value::Bits(own.iter().rev().fold(0, |all, bit| all << 1 | u128::from(*bit == Ok(true))) & mask(width.bits)))
}

/// `bitcast`
pub(crate) fn bitcast(module: &Module, from: TypeId, to: TypeId, value: &Value) -> Result<Value, Fault> {
    if from == to {
        return Ok(value.clone());
    }
    if let (Value::Bits(_), false) = (value, matches!(module.types[to], Type::Vector(..))) {
        return if Width::of(module, from)?.bits == Width::of(module, to)?.bits {
            Ok(value.clone())
        } else {
            Err(Fault::invalid("a bitcast to another width"))
        };
    }
    let bits = to_bits(module, from, value)?;
    let mut rest = bits.as_slice();
    let result = from_bits(module, to, &mut rest)?;
    if rest.is_empty() { Ok(result) } else { Err(Fault::invalid("a bitcast to another width")) }
}
