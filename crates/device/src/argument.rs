//! Kernel arguments as the command line gives them: one `ARG` per parameter.
//!
//! [`Argument`] is what the text says; [`bind`] puts arguments into device memory and parameter
//! bytes, and [`Bound::outputs`] reads the results back.

use crate::array::{self, ArrayType, Demand, is_npy};
use crate::tensor_map::TensorMap;
use crate::texture::{ObjectSpec, Objects};
use crate::{Memory, tensor_argument};
use std::path::{Path, PathBuf};

/// No buffer may be larger, in bytes: the simulated memory is the host's.
const LARGEST_BUFFER: u64 = 4 << 30;

/// A buffer of device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// File with the first contents; zeros without one.
    pub input: Option<PathBuf>,
    /// Size in bytes; without one, the input's.
    pub size: Option<u64>,
    /// What the contents are said to be. A `.npy` file says it too, and must agree.
    pub demand: Option<Demand>,
    /// File that the contents are written to afterwards.
    pub output: Option<PathBuf>,
}

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

/// Why an argument cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentError {
    /// The text is no argument.
    #[error("argument '{text}': {reason}")]
    Syntax {
        /// The argument as given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The number of arguments is not the kernel's number of parameters.
    #[error("the kernel takes {expected} arguments, {given} were given")]
    Count {
        /// Parameters of the kernel.
        expected: usize,
        /// Arguments given.
        given: usize,
    },
    /// An argument's size is not its parameter's.
    #[error("argument {index} has {given} bytes, the kernel's parameter {expected}")]
    Size {
        /// Position from 0.
        index: usize,
        /// Bytes of the parameter.
        expected: u32,
        /// Bytes of the argument.
        given: usize,
    },
    /// A file has more bytes than what it is for.
    #[error("'{}' has {given} bytes, which do not fit into {size}", path.display())]
    FileSize {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        given: u64,
        /// Bytes that there is room for.
        size: u64,
    },
    /// A `.npy` file cannot be used.
    #[error("'{}': {reason}", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A tensor map is not possible.
    #[error("argument {index}: {reason}")]
    TensorMap {
        /// Position from 0.
        index: usize,
        /// Why.
        reason: String,
    },
    /// A file cannot be read.
    #[error("cannot read '{}': {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
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
    outputs: Vec<(PathBuf, u64, ArrayType)>,
    /// Parts of memory that have been given no contents (`out:`): address and size.
    pub undefined: Vec<(u64, u64)>,
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
}

impl Buffer {
    fn parse<'a>(kind: &str, rest: &'a str) -> Result<Buffer, String> {
        let size = |text: &str| {
            let demand = Demand::parse(text);
            let array = demand.as_ref().and_then(Demand::array).and_then(|array| array.size());
            let bytes = if demand.is_some() { array } else { parse_size(text) };
            let wrong = || format!("'{text}' is no size: bytes, or an array such as f32[64,32] (up to 4 GiB)");
            bytes.map(|bytes| (Some(bytes), demand)).ok_or_else(wrong)
        };
        // `PATH:TYPE` where the path is a `.npy` file's, whose header is checked.
        let typed = |text: &'a str| match text.rsplit_once(':') {
            Some((paths, ty)) if paths.split(':').any(|path| is_npy(path.as_ref())) => match Demand::parse(ty) {
                Some(demand) => (paths, Some(demand)),
                None => (text, None),
            },
            _ => (text, None),
        };
        let path = |text: &str| match text {
            "" => Err(format!("'{kind}' needs a path")),
            _ => Ok(Some(PathBuf::from(text))),
        };
        let pair =
            |rest: &'a str| rest.rsplit_once(':').ok_or_else(|| format!("'{kind}' needs two parts after the colon"));
        Ok(match kind {
            "in" => {
                let (input, demand) = typed(rest);
                Buffer { input: path(input)?, size: None, demand, output: None }
            }
            "zero" => {
                let (size, demand) = size(rest)?;
                Buffer { input: None, size, demand, output: None }
            }
            "out" => {
                let (output, extent) = pair(rest)?;
                let (size, demand) = size(extent)?;
                Buffer { input: None, size, demand, output: path(output)? }
            }
            _ => {
                let (files, demand) = typed(rest);
                let (input, output) = pair(files)?;
                Buffer { input: path(input)?, size: None, demand, output: path(output)? }
            }
        })
    }

    /// A buffer of `bytes` bytes between files; `None` if it is too large.
    pub(crate) fn of_size(input: Option<&str>, output: Option<&str>, bytes: u64) -> Option<Buffer> {
        let path = |text: &str| PathBuf::from(text);
        (bytes <= LARGEST_BUFFER).then(|| Buffer {
            input: input.map(path),
            size: Some(bytes),
            demand: None,
            output: output.map(path),
        })
    }

    /// What the buffer is, and its first contents; zeros follow to its size.
    pub fn contents(&self) -> Result<(ArrayType, Vec<u8>), ArgumentError> {
        let named = self.demand.as_ref().and_then(Demand::array);
        let Some(path) = &self.input else {
            return Ok((named.unwrap_or(ArrayType::bytes(self.size.unwrap_or(0))), Vec::new()));
        };
        let file = read_file(path)?;
        let (array, contents) = if is_npy(path) {
            let wrong = |reason| ArgumentError::Array { path: path.clone(), reason };
            array::read(&file, self.demand.as_ref()).map_err(wrong)?
        } else {
            (named.unwrap_or(ArrayType::bytes(self.size.unwrap_or(file.len() as u64))), file)
        };
        let (given, size) = (contents.len() as u64, self.size.or(array.size()).unwrap_or(0));
        if given > size {
            return Err(ArgumentError::FileSize { path: path.clone(), given, size });
        }
        // A texture may have more texels than the file.
        Ok((if array.size() == Some(size) { array } else { ArrayType::bytes(size) }, contents))
    }

    pub(crate) fn place(&self, name: &str, memory: &mut Memory) -> Result<(u64, ArrayType), ArgumentError> {
        let (array, contents) = self.contents()?;
        let address = memory.allocate(name, self.size.or(array.size()).unwrap_or(0));
        memory.write(address, &contents);
        Ok((address, array))
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
            if buffer.input.is_none() && buffer.output.is_some() {
                self.undefined.push((address, array.size().unwrap_or(0)));
            }
            self.outputs.extend(buffer.output.clone().map(|path| (path, address, array)));
            Ok(address.to_le_bytes())
        };
        match argument {
            Argument::Value(bytes) => Ok(bytes.clone()),
            Argument::Object(spec) => {
                let handle = self.place_object(&format!("argument {index}"), spec, memory)?;
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

    /// Puts a texture or surface into memory; its handle.
    pub fn place_object(&mut self, name: &str, spec: &ObjectSpec, memory: &mut Memory) -> Result<u64, ArgumentError> {
        let (object, array) = spec.place(name, memory)?;
        self.outputs.extend(spec.buffer.output.clone().map(|path| (path, object.image.address, array)));
        Ok(self.objects.add(object))
    }

    /// The output files and what belongs into them now, in the order of the arguments.
    pub fn outputs(&self, memory: &Memory) -> Result<Vec<(PathBuf, Vec<u8>)>, ArgumentError> {
        let file = |(path, address, array): &(PathBuf, u64, ArrayType)| {
            let contents = array.size().and_then(|size| memory.read(*address, size)).unwrap_or_default();
            let file = array.file(path, contents);
            let wrong = |error: std::io::Error| ArgumentError::Array { path: path.clone(), reason: error.to_string() };
            Ok((path.clone(), file.map_err(wrong)?))
        };
        self.outputs.iter().map(file).collect()
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, ArgumentError> {
    std::fs::read(path).map_err(|source| ArgumentError::File { path: path.to_owned(), source })
}

fn parse_size(text: &str) -> Option<u64> {
    parse_unsigned(text).filter(|&size| size <= LARGEST_BUFFER)
}

fn parse_unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
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
