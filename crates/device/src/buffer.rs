//! Buffers of device memory as the command line gives them.

use crate::Memory;
use crate::argument_error::ArgumentError;
use crate::array::{self, ArrayType, Demand, is_npy};
use crate::input;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// No buffer may be larger, in bytes: the simulated memory is the host's.
const LARGEST_BUFFER: u64 = 4 << 30;

/// What is in a buffer before the launch. Zeros follow to its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Zeros, which count as written.
    Zeros,
    /// Nothing that anybody has written; zeros in fact.
    Undefined,
    /// A file's.
    File(
        /// Its path.
        PathBuf,
    ),
    /// These.
    Bytes(
        /// Little-endian, the last index fastest.
        Arc<[u8]>,
    ),
}

/// A buffer of device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What is in it before the launch.
    pub first: Contents,
    /// Size in bytes; without one, the input's.
    pub size: Option<u64>,
    /// What the contents are said to be. A `.npy` file says it too, and must agree.
    pub demand: Option<Demand>,
    /// File that the contents are written to afterwards.
    pub output: Option<PathBuf>,
}

impl Buffer {
    /// Reads a buffer of that kind (`in`, `out`, `inout`, `zero`) from what follows the colon.
    pub(crate) fn parse<'a>(kind: &str, rest: &'a str) -> Result<Buffer, String> {
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
            _ => Ok(PathBuf::from(text)),
        };
        let pair = |rest: &'a str, form: &str| rest.rsplit_once(':').ok_or_else(|| format!("expected {form}"));
        Ok(match kind {
            "in" => {
                let (input, demand) = typed(rest);
                Buffer { first: Contents::File(path(input)?), size: None, demand, output: None }
            }
            "zero" => {
                let (size, demand) = size(rest)?;
                Buffer { first: Contents::Zeros, size, demand, output: None }
            }
            "out" => {
                let (output, extent) = pair(rest, "out:PATH:SIZE, such as out:c.bin:4096 or out:c.npy:f32[1024]")?;
                let (size, demand) = size(extent)?;
                Buffer { first: Contents::Undefined, size, demand, output: Some(path(output)?) }
            }
            _ => {
                let (files, demand) = typed(rest);
                let (input, output) = pair(files, "inout:PATH:OUT, the file to read and the file to write")?;
                Buffer { first: Contents::File(path(input)?), size: None, demand, output: Some(path(output)?) }
            }
        })
    }

    /// A buffer of `bytes` bytes between files; `None` if it is too large.
    pub(crate) fn of_size(input: Option<&str>, output: Option<&str>, bytes: u64) -> Option<Buffer> {
        (bytes <= LARGEST_BUFFER).then(|| Buffer {
            first: input.map_or(Contents::Zeros, |path| Contents::File(path.into())),
            size: Some(bytes),
            demand: None,
            output: output.map(PathBuf::from),
        })
    }

    /// The file that it comes from.
    pub fn input(&self) -> Option<&Path> {
        match &self.first {
            Contents::File(path) => Some(path),
            Contents::Zeros | Contents::Undefined | Contents::Bytes(_) => None,
        }
    }

    /// What the buffer is, and its first contents; zeros follow to its size.
    pub fn contents(&self) -> Result<(ArrayType, Vec<u8>), ArgumentError> {
        self.contents_within(LARGEST_BUFFER)
    }

    /// The same, where no more than so many bytes may be read.
    fn contents_within(&self, most: u64) -> Result<(ArrayType, Vec<u8>), ArgumentError> {
        let named = self.demand.as_ref().and_then(Demand::array);
        let path = match &self.first {
            Contents::File(path) => path,
            Contents::Bytes(bytes) => {
                return Ok((named.unwrap_or(ArrayType::bytes(bytes.len() as u64)), bytes.to_vec()));
            }
            Contents::Zeros | Contents::Undefined => {
                return Ok((named.unwrap_or(ArrayType::bytes(self.size.unwrap_or(0))), Vec::new()));
            }
        };
        let file = input::read_file(path, most.min(LARGEST_BUFFER));
        let file = file.map_err(|source| ArgumentError::File { path: path.clone(), source })?;
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

    /// Puts the buffer into memory: its address, and what it is.
    pub(crate) fn place(&self, name: &str, memory: &mut Memory) -> Result<(u64, ArrayType), ArgumentError> {
        let (array, contents) = self.contents_within(memory.quota().limit())?;
        let address = memory.allocate(name, self.size.or(array.size()).unwrap_or(0));
        memory.write(address, &contents);
        Ok((address, array))
    }
}

fn parse_size(text: &str) -> Option<u64> {
    parse_unsigned(text).filter(|&size| size <= LARGEST_BUFFER)
}

/// A number, in hexadecimal after `0x`.
pub(crate) fn parse_unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
