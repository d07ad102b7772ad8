//! Kernel arguments as the command line gives them: one `ARG` per parameter.
//!
//! [`Argument`] is what the text says; [`bind`] puts arguments into device memory and parameter
//! bytes, and [`Bound::outputs`] reads the results back.

pub use crate::argument_error::ArgumentError;
pub use crate::buffer::{Buffer, Contents};

use crate::array::ArrayType;
use crate::buffer::parse_unsigned;
use crate::tensor_map::TensorMap;
use crate::texture::{ObjectSpec, Objects};
use crate::{Memory, tensor_argument};
use std::path::PathBuf;

/// One kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A scalar, little-endian.
    Value(
        /// Its bytes.
        Vec<u8>,
    ),
    /// An aggregate passed by value, with the addresses of buffers at some offsets.
    Aggregate {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Byte offsets and the buffers whose 8-byte addresses are put there.
        buffers: Vec<(usize, Buffer)>,
    },
    /// The address of a buffer.
    Buffer(Buffer),
    /// The handle of a texture or surface.
    Object(ObjectSpec),
    /// A tensor map, passed by value.
    TensorMap {
        /// The map, but for the address.
        map: TensorMap,
        /// The tensor.
        buffer: Buffer,
    },
}

/// Place of one parameter in the parameter bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Byte offset.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// Arguments in device memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    /// The parameter bytes, for [`crate::Launch::params`].
    pub params: Vec<u8>,
    /// Textures and surfaces among the arguments.
    pub objects: Objects,
    buffers: Vec<Placed>,
    /// Parts of memory that have been given no contents (`out:`): address and size.
    pub undefined: Vec<(u64, u64)>,
}

/// A buffer in device memory.
#[derive(Clone, Debug, PartialEq)]
struct Placed {
    /// Number of the argument that it belongs to; none of what a variable of the module is bound to.
    argument: Option<usize>,
    address: u64,
    array: ArrayType,
    /// The file that it is written to.
    output: Option<PathBuf>,
}

impl Argument {
    /// Reads one `ARG`; the forms are those of `oriole run`.
    pub fn parse(text: &str) -> Result<Argument, ArgumentError> {
        let fail = |reason: String| ArgumentError::Syntax { text: text.to_owned(), reason };
        let (kind, rest) =
            text.split_once(':').ok_or_else(|| fail("expected KIND:…, such as u32:7 or in:PATH".into()))?;
        match kind {
            "bytes" => aggregate(rest).map_err(fail),
            "tensormap" => tensor_map(rest).map_err(fail),
            "in" | "out" | "inout" | "zero" => Buffer::parse(kind, rest).map(Argument::Buffer).map_err(fail),
            "tex" | "surf" => ObjectSpec::parse(rest).map(Argument::Object).map_err(fail),
            _ => scalar(kind, rest).map(Argument::Value).map_err(fail),
        }
    }
}

impl Argument {
    /// Bytes of the parameter that it is for.
    pub fn size(&self) -> usize {
        match self {
            Argument::Value(bytes) | Argument::Aggregate { bytes, .. } => bytes.len(),
            Argument::Buffer(_) | Argument::Object(_) => size_of::<u64>(),
            Argument::TensorMap { .. } => crate::tensor_map::BYTES,
        }
    }

    /// The buffers that the argument has in device memory, in order.
    pub fn buffers(&self) -> Vec<&Buffer> {
        match self {
            Argument::Value(_) => Vec::new(),
            Argument::Aggregate { buffers, .. } => buffers.iter().map(|(_, buffer)| buffer).collect(),
            Argument::Buffer(buffer) | Argument::TensorMap { buffer, .. } => vec![buffer],
            Argument::Object(spec) => vec![&spec.buffer],
        }
    }

    /// The same, to be changed.
    pub fn buffers_mut(&mut self) -> Vec<&mut Buffer> {
        match self {
            Argument::Value(_) => Vec::new(),
            Argument::Aggregate { buffers, .. } => buffers.iter_mut().map(|(_, buffer)| buffer).collect(),
            Argument::Buffer(buffer) | Argument::TensorMap { buffer, .. } => vec![buffer],
            Argument::Object(spec) => vec![&mut spec.buffer],
        }
    }
}

/// Puts the arguments into `memory` and lays out the parameter bytes; `slots` are the kernel's
/// parameters in order.
pub fn bind(arguments: &[Argument], slots: &[Slot], memory: &mut Memory) -> Result<Bound, ArgumentError> {
    if arguments.len() != slots.len() {
        return Err(ArgumentError::Count { expected: slots.len(), given: arguments.len() });
    }
    let mut bound = Bound::default();
    for (index, (argument, slot)) in arguments.iter().zip(slots).enumerate() {
        let bytes = bound.place(index, argument, memory)?;
        if bytes.len() != slot.size as usize {
            return Err(ArgumentError::Size { index, expected: slot.size, given: bytes.len() });
        }
        let end = slot.offset as usize + bytes.len();
        if bound.params.len() < end {
            bound.params.resize(end, 0);
        }
        bound.params[slot.offset as usize..end].copy_from_slice(&bytes);
    }
    Ok(bound)
}

impl Bound {
    fn place(&mut self, index: usize, argument: &Argument, memory: &mut Memory) -> Result<Vec<u8>, ArgumentError> {
        let mut place = |name: String, buffer: &Buffer| {
            let (address, array) = buffer.place(&name, memory)?;
            if buffer.first == Contents::Undefined {
                self.undefined.push((address, array.size().unwrap_or(0)));
            }
            self.buffers.push(Placed { argument: Some(index), address, array, output: buffer.output.clone() });
            Ok(address.to_le_bytes())
        };
        match argument {
            Argument::Value(bytes) => Ok(bytes.clone()),
            Argument::Object(spec) => {
                let handle = self.place_image(Some(index), &format!("argument {index}"), spec, memory)?;
                Ok(handle.to_le_bytes().into())
            }
            Argument::Buffer(buffer) => place(format!("argument {index}"), buffer).map(Vec::from),
            Argument::Aggregate { bytes, buffers } => {
                let mut bytes = bytes.clone();
                for (offset, buffer) in buffers {
                    let address = place(format!("argument {index} at offset {offset}"), buffer)?;
                    bytes[*offset..offset + 8].copy_from_slice(&address);
                }
                Ok(bytes)
            }
            Argument::TensorMap { map, buffer } => {
                let address = u64::from_le_bytes(place(format!("argument {index}"), buffer)?);
                let map = TensorMap { address, ..*map };
                map.encode()
                    .map(Vec::from)
                    .map_err(|error| ArgumentError::TensorMap { index, reason: error.to_string() })
            }
        }
    }

    /// Puts a texture or surface that a variable of the module is to mean into memory; its handle.
    pub fn place_object(&mut self, name: &str, spec: &ObjectSpec, memory: &mut Memory) -> Result<u64, ArgumentError> {
        self.place_image(None, name, spec, memory)
    }

    fn place_image(
        &mut self,
        argument: Option<usize>,
        name: &str,
        spec: &ObjectSpec,
        memory: &mut Memory,
    ) -> Result<u64, ArgumentError> {
        let (object, array) = spec.place(name, memory)?;
        let address = object.image.address;
        self.buffers.push(Placed { argument, address, array, output: spec.buffer.output.clone() });
        Ok(self.objects.add(object))
    }

    /// The output files and what belongs into them now, in the order of the arguments.
    pub fn outputs(&self, memory: &Memory) -> Result<Vec<(PathBuf, Vec<u8>)>, ArgumentError> {
        let file = |(path, placed): (&PathBuf, &Placed)| {
            let lost = || ArgumentError::Array { path: path.clone(), reason: "its memory cannot be read".to_owned() };
            Ok((path.clone(), placed.array.file(path, placed.contents(memory).ok_or_else(lost)?)))
        };
        self.buffers.iter().filter_map(|placed| Some((placed.output.as_ref()?, placed))).map(file).collect()
    }

    /// What is now in the (first) buffer of an argument, by its position from 0; none where it has none.
    pub fn contents(&self, argument: usize, memory: &Memory) -> Option<(ArrayType, Vec<u8>)> {
        let placed = self.buffers.iter().find(|placed| placed.argument == Some(argument))?;
        Some((placed.array.clone(), placed.contents(memory)?))
    }
}

impl Placed {
    fn contents(&self, memory: &Memory) -> Option<Vec<u8>> {
        memory.read(self.address, self.array.size()?)
    }
}

/// `bytes:HEX@OFF=in:PATH…`, after the first colon.
fn aggregate(rest: &str) -> Result<Argument, String> {
    let parts = split_embedded(rest);
    let bytes = parse_hex(parts[0]).ok_or_else(|| format!("'{}' is no string of hexadecimal byte pairs", parts[0]))?;
    let mut buffers = Vec::new();
    for part in &parts[1..] {
        let (offset, buffer) = part.split_once('=').ok_or_else(|| format!("'@{part}' is not @OFFSET=BUFFER"))?;
        let offset = parse_unsigned(offset)
            .and_then(|offset| usize::try_from(offset).ok())
            .ok_or_else(|| format!("'{offset}' is no offset"))?;
        if offset.checked_add(8).is_none_or(|end| end > bytes.len()) {
            return Err(format!("an address at offset {offset} does not fit into {} bytes", bytes.len()));
        }
        buffers.push((offset, embedded_buffer(buffer)?));
    }
    Ok(Argument::Aggregate { bytes, buffers })
}

/// `tensormap:DESCRIPTION=BUFFER`, after the first colon.
fn tensor_map(rest: &str) -> Result<Argument, String> {
    let (description, buffer) = rest.split_once('=').ok_or("a tensor map needs =BUFFER after its description")?;
    Ok(Argument::TensorMap { map: tensor_argument::parse(description)?, buffer: embedded_buffer(buffer)? })
}

/// A buffer inside of another argument, with its kind.
fn embedded_buffer(text: &str) -> Result<Buffer, String> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match kind {
        "in" | "out" | "inout" | "zero" => Buffer::parse(kind, rest),
        _ => Err(format!("'{kind}' is no kind of buffer (in, out, inout, zero)")),
    }
}

/// Splits at each `@` that starts `@OFFSET=`; an `@` inside of a path stays.
fn split_embedded(rest: &str) -> Vec<&str> {
    let starts_part =
        |at: usize| rest[at + 1..].split_once('=').is_some_and(|(offset, _)| parse_unsigned(offset).is_some());
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in rest.match_indices('@') {
        if starts_part(at) {
            parts.push(&rest[from..at]);
            from = at + 1;
        }
    }
    parts.push(&rest[from..]);
    parts
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

/// A value such as `u32:7`, after the colon.
fn scalar(kind: &str, text: &str) -> Result<Vec<u8>, String> {
    let bits = || kind[1..].parse::<u32>().ok().filter(|bits| [8, 16, 32, 64].contains(bits));
    let unknown = || format!("'{kind}' is no kind of argument");
    if kind == "bf16" {
        return float(text, 16, 8).map(|bits| bits.to_le_bytes()[..2].to_vec());
    }
    let class = kind.chars().next().ok_or_else(unknown)?;
    if !class.is_ascii() {
        return Err(unknown());
    }
    let bits = bits().ok_or_else(unknown)?;
    let value = match class {
        'u' | 's' | 'b' => integer(text, bits)?,
        'f' if bits == 64 => parse_float(text)?.to_bits(),
        // Through double first would round twice: the standard library rounds decimals once.
        'f' if bits == 32 => u64::from(parse_float32(text)?.to_bits()),
        'f' if bits == 16 => float(text, 16, 5)?,
        _ => return Err(unknown()),
    };
    Ok(value.to_le_bytes()[..bits as usize / 8].to_vec())
}

/// An integer of `bits` bits; negative numbers in two's complement whatever the class.
fn integer(text: &str, bits: u32) -> Result<u64, String> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let magnitude = parse_unsigned(digits).ok_or_else(|| format!("'{text}' is no integer"))?;
    let largest = u64::MAX >> (64 - bits);
    let fits = if negative { magnitude <= largest / 2 + 1 } else { magnitude <= largest };
    if !fits {
        return Err(format!("{text} does not fit into {bits} bits"));
    }
    Ok(if negative { magnitude.wrapping_neg() & largest } else { magnitude })
}

fn parse_float(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("'{text}' is no number"))
}

fn parse_float32(text: &str) -> Result<f32, String> {
    text.parse().map_err(|_| format!("'{text}' is no number"))
}

/// A float of `bits` bits with `exponent` bits of exponent, from decimal, rounded to nearest even.
fn float(text: &str, bits: u32, exponent: u32) -> Result<u64, String> {
    let value = parse_float(text)?;
    let fraction = bits - 1 - exponent;
    let bias = (1i64 << (exponent - 1)) - 1;
    let sign = u64::from(value.is_sign_negative()) << (bits - 1);
    let infinity = ((1u64 << exponent) - 1) << fraction;
    if value.is_nan() {
        return Ok(infinity | 1 << (fraction - 1));
    }
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return Ok(sign);
    }
    // Exponent of the value's last place in the target format, subnormals included.
    let power = ((magnitude.to_bits() >> 52) as i64 - 1023).max(1 - bias) - i64::from(fraction);
    // Exact: powers of two, and the quotient is below 2^(fraction + 1) or becomes infinity.
    let scaled = magnitude * 2f64.powi((-power) as i32);
    if !scaled.is_finite() || scaled >= 2f64.powi(fraction as i32 + 2) {
        return Ok(sign | infinity);
    }
    let steps = scaled.round_ties_even() as u64;
    // Steps of the least exponent run on into the exponent field, as the format intends.
    let base = ((power + i64::from(fraction) + bias - 1) as u64) << fraction;
    Ok(sign | (base + steps).min(infinity))
}

#[cfg(test)]
#[path = "argument_tests.rs"]
mod tests;
