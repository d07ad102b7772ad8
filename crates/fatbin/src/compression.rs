//! How an image is packed in its entry.

use crate::error::Reason;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::borrow::Cow;
use std::io::Read;

/// How an image is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// A block of LZ4, without a frame: what CUDA 11 and 12 do, and `--compress-mode=speed`.
    Lz4,
    /// A frame of Zstandard: what CUDA 13 does, and the modes `size` and `balance`.
    Zstd,
}

/// Most bytes that an image may have when unpacked: a small file may claim any number.
pub const MOST_BYTES: u64 = 1 << 30;
/// A byte of LZ4 makes at most 255 (the format's run of length bytes).
const MOST_BY_LZ4: u64 = 255;

impl Compression {
    /// Its name, as `--list` says it.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
        }
    }

    /// Unpack bytes that become `size`.
    pub(crate) fn unpack(self, bytes: &[u8], size: u64) -> Result<Cow<'_, [u8]>, Reason> {
        if self == Compression::None {
            return Ok(Cow::Borrowed(bytes));
        }
        let packed = |error: String| Reason::Packed { method: self.name(), error };
        let most = if self == Compression::Lz4 { bytes.len() as u64 * MOST_BY_LZ4 } else { MOST_BYTES };
        if size > most.min(MOST_BYTES) {
            return Err(packed(format!("{} bytes do not become {size}", bytes.len())));
        }
        let unpacked = match self {
            Compression::Lz4 => lz4_flex::block::decompress(bytes, size as usize).map_err(|e| packed(e.to_string()))?,
            _ => unpack_zstd(bytes, size).map_err(packed)?,
        };
        if unpacked.len() as u64 == size {
            Ok(Cow::Owned(unpacked))
        } else {
            Err(packed(format!("{} bytes come out instead of {size}", unpacked.len())))
        }
    }

    /// Pack bytes.
    pub(crate) fn pack(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Compression::None => Cow::Borrowed(bytes),
            Compression::Lz4 => Cow::Owned(lz4_flex::block::compress(bytes)),
            Compression::Zstd => Cow::Owned(compress_to_vec(bytes, CompressionLevel::Fastest)),
        }
    }
}

/// One byte more than `size` is enough to see that there are too many.
fn unpack_zstd(bytes: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let decoder = StreamingDecoder::new(bytes).map_err(|error| error.to_string())?;
    let mut unpacked = Vec::new();
    decoder.take(size + 1).read_to_end(&mut unpacked).map_err(|error| error.to_string())?;
    Ok(unpacked)
}
