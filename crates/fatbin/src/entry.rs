//! An entry of a fatbinary: a header, and an image behind it.

use crate::compression::Compression;
use crate::error::{FatbinError, Reason};
use crate::extent::without_padding;
use oriole_cubin::{Suffix, Target};
use std::borrow::Cow;
use std::ops::Range;

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// PTX, as text.
    Ptx,
    /// A cubin.
    Cubin,
    /// Intermediate code for optimisation at link time.
    Lto,
    /// Another, by its number.
    Other(u16),
}

impl Kind {
    /// Kinds with the numbers that entries have for them.
    const NUMBERS: [(u16, Kind); 3] = [(1, Kind::Ptx), (2, Kind::Cubin), (8, Kind::Lto)];

    fn from_number(number: u16) -> Kind {
        Kind::NUMBERS.iter().find(|(known, _)| *known == number).map_or(Kind::Other(number), |(_, kind)| *kind)
    }

    pub(crate) fn number(self) -> u16 {
        match self {
            Kind::Other(number) => number,
            known => Kind::NUMBERS.iter().find(|(_, kind)| *kind == known).map_or(0, |(number, _)| *number),
        }
    }
}

bitflags::bitflags! {
    /// Facts about an image. Bits without a name here are kept as they are.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flags: u64 {
        /// Addresses have 64 bits.
        const ADDRESS_64 = 0x1;
        /// Compiled for a debugger (`-g`).
        const DEBUG = 0x2;
        /// The host is Linux.
        const LINUX = 0x10;
        /// Packed by LZ4.
        const LZ4 = 0x2000;
        /// Packed by Zstandard.
        const ZSTD = 0x8000;
        /// LTO code under a key.
        const OBFUSCATED = 0x1_0000;
        /// For one architecture alone: `sm_90a`.
        const ARCH_SPECIFIC = 0x10_0000;
        /// For a family: `sm_100f`.
        const FAMILY_SPECIFIC = 0x20_0000;
        /// [`Entry::options`] is the cubin's section `.nv.compat`: from sm_100 on.
        const HAS_COMPAT = 0x100_0000;
        const _ = !0;
    }
}

/// Bytes of an entry's header without its texts.
pub(crate) const HEADER: usize = 64;
/// Bytes between which entries, images and texts begin.
pub(crate) const ALIGNMENT: usize = 8;
/// Bytes of the place and the size that stand before the options' text.
pub(crate) const PLACE: usize = 8;

/// Where the fields of a header are.
pub(crate) mod field {
    pub(crate) const KIND: usize = 0;
    pub(crate) const VERSION: usize = 2;
    pub(crate) const HEADER_SIZE: usize = 4;
    pub(crate) const PADDED_SIZE: usize = 8;
    /// Zero where the image is not packed.
    pub(crate) const PACKED_SIZE: usize = 16;
    pub(crate) const OPTIONS: usize = 20;
    pub(crate) const MINOR: usize = 24;
    pub(crate) const MAJOR: usize = 26;
    pub(crate) const SM: usize = 28;
    pub(crate) const NAME: usize = 32;
    pub(crate) const NAME_SIZE: usize = 36;
    pub(crate) const FLAGS: usize = 40;
    /// Zero where the image is not packed.
    pub(crate) const UNPACKED_SIZE: usize = 56;
}

/// An entry.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// What the image is.
    pub kind: Kind,
    /// What the image is for.
    pub target: Target,
    /// Version of the image's form, such as PTX's 9.0: the major and the minor number.
    pub version: (u16, u16),
    /// Facts.
    pub flags: Flags,
    /// The name of the source file, if `fatbinary --ident` was given one; empty otherwise.
    pub name: Cow<'a, str>,
    /// Of PTX and LTO code the options of the compiler that ought to take it; of a cubin, where [`Flags::HAS_COMPAT`] says so, its
    /// section `.nv.compat`.
    pub options: &'a [u8],
    /// Where the entry is in the file, with its header and what it is padded with.
    pub range: Range<usize>,
    /// The header and the image as they are.
    pub(crate) bytes: &'a [u8],
    /// The image as it is.
    stored: &'a [u8],
    /// Bytes that it becomes.
    unpacked_size: u64,
}

impl<'a> Entry<'a> {
    /// Read the entry with which `bytes` begin, which are at `offset` of the file.
    pub(crate) fn read(bytes: &'a [u8], offset: usize) -> Result<Entry<'a>, FatbinError> {
        let at = |place: usize, reason| FatbinError::new(offset + place, reason);
        let short = |what, needed| at(0, Reason::Short { what, needed, there: bytes.len() });
        let header: &[u8; HEADER] = bytes.first_chunk().ok_or_else(|| short("header of an entry", HEADER as u64))?;
        let header_size = u64::from(u32_at(header, field::HEADER_SIZE));
        if header_size < HEADER as u64 {
            let reason = Reason::Field { what: "size of an entry's header", value: header_size };
            return Err(at(field::HEADER_SIZE, reason));
        }
        let padded = u64_at(header, field::PADDED_SIZE);
        let needed = header_size.saturating_add(padded);
        let all = usize::try_from(needed).ok().and_then(|size| bytes.get(..size));
        let all = all.ok_or_else(|| short("entry", needed))?;
        // Both are sums or parts of sums that fit.
        let (texts, padded_image) = all.split_at(header_size as usize);
        let flags = Flags::from_bits_retain(u64_at(header, field::FLAGS));
        let compression = compression(flags);
        let packed = u32_at(header, field::PACKED_SIZE) as usize;
        let stored = match compression {
            Compression::None => padded_image,
            _ => padded_image.get(..packed).ok_or_else(|| {
                at(field::PACKED_SIZE, Reason::Field { what: "size of the packed image", value: packed as u64 })
            })?,
        };
        let unpacked_size = match compression {
            Compression::None => padded,
            _ => u64_at(header, field::UNPACKED_SIZE),
        };
        let (name, name_size) = (u32_at(header, field::NAME), u32_at(header, field::NAME_SIZE));
        Ok(Entry {
            kind: Kind::from_number(u16_at(header, field::KIND)),
            target: Target { sm: u32_at(header, field::SM), suffix: suffix(flags) },
            version: (u16_at(header, field::MAJOR), u16_at(header, field::MINOR)),
            flags,
            name: text(texts, name, name_size)
                .map(String::from_utf8_lossy)
                .ok_or_else(|| at(field::NAME, Reason::Field { what: "place of the name", value: name.into() }))?,
            options: options(texts, u32_at(header, field::OPTIONS), flags).ok_or_else(|| {
                let value = u32_at(header, field::OPTIONS).into();
                at(field::OPTIONS, Reason::Field { what: "place of the options", value })
            })?,
            range: offset..offset + all.len(),
            bytes: all,
            stored,
            unpacked_size,
        })
    }

    /// A whole file that is a cubin, as an entry.
    pub(crate) fn of_cubin(bytes: &'a [u8], target: Target) -> Entry<'a> {
        Entry {
            kind: Kind::Cubin,
            target,
            version: (0, 0),
            flags: Flags::ADDRESS_64 | Flags::LINUX,
            name: Cow::Borrowed(""),
            options: &[],
            range: 0..bytes.len(),
            bytes,
            stored: bytes,
            unpacked_size: bytes.len() as u64,
        }
    }

    /// How the image is packed.
    pub fn compression(&self) -> Compression {
        compression(self.flags)
    }

    /// Bytes of the image in the file.
    pub fn stored_size(&self) -> usize {
        self.stored.len()
    }

    /// Bytes of the image when it is unpacked, as the entry says; with what pads it, if it is not packed.
    pub fn unpacked_size(&self) -> u64 {
        self.unpacked_size
    }

    /// The image: a cubin, or the text of PTX without the zeros that end it.
    ///
    /// # Errors
    /// It does not unpack, has more than [`MOST_BYTES`](crate::MOST_BYTES), or is obfuscated.
    pub fn image(&self) -> Result<Cow<'a, [u8]>, FatbinError> {
        let image_at = self.range.start + self.bytes.len().saturating_sub(self.stored.len());
        if self.flags.contains(Flags::OBFUSCATED) {
            return Err(FatbinError::new(image_at, Reason::Obfuscated));
        }
        let unpacked = self.compression().unpack(self.stored, self.unpacked_size);
        let unpacked = unpacked.map_err(|reason| FatbinError::new(image_at, reason))?;
        Ok(match (self.kind, unpacked) {
            (Kind::Ptx, text) => without_zeros(text),
            (Kind::Cubin, Cow::Borrowed(padded)) => Cow::Borrowed(without_padding(padded)),
            (_, image) => image,
        })
    }

    /// The compiler's options, of PTX and LTO code.
    pub fn options_text(&self) -> Cow<'a, str> {
        match self.kind {
            Kind::Ptx | Kind::Lto => String::from_utf8_lossy(self.options),
            Kind::Cubin | Kind::Other(_) => Cow::Borrowed(""),
        }
    }

    /// Whether the code is for a linker (`nvcc -dc`), as the compiler's options say of PTX.
    pub fn is_relocatable(&self) -> bool {
        let is_option = |word: &str| matches!(word, "--compile-only" | "-c");
        self.options_text().split_ascii_whitespace().any(is_option)
    }
}

fn without_zeros(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let size = text.len() - text.iter().rev().take_while(|byte| **byte == 0).count();
    match text {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..size]),
        Cow::Owned(mut bytes) => {
            bytes.truncate(size);
            Cow::Owned(bytes)
        }
    }
}

fn compression(flags: Flags) -> Compression {
    if flags.contains(Flags::ZSTD) {
        Compression::Zstd
    } else if flags.contains(Flags::LZ4) {
        Compression::Lz4
    } else {
        Compression::None
    }
}

fn suffix(flags: Flags) -> Suffix {
    if flags.contains(Flags::ARCH_SPECIFIC) {
        Suffix::Arch
    } else if flags.contains(Flags::FAMILY_SPECIFIC) {
        Suffix::Family
    } else {
        Suffix::None
    }
}

/// A text of the header, which begins at `place`; nothing where that is 0.
fn text(header: &[u8], place: u32, size: u32) -> Option<&[u8]> {
    if place == 0 {
        return Some(&[]);
    }
    header.get(place as usize..)?.get(..size as usize)
}

/// The options: at `place` stand where they begin and how many bytes they have. A cubin's `.nv.compat` stands behind an empty text.
fn options(header: &[u8], place: u32, flags: Flags) -> Option<&[u8]> {
    if place == 0 {
        return Some(&[]);
    }
    let there: &[u8; PLACE] = header.get(place as usize..)?.first_chunk()?;
    let behind_text = u32::from(flags.contains(Flags::HAS_COMPAT));
    text(header, u32_at(there, 0).saturating_add(behind_text), u32_at(there, 4))
}

/// The number at a place that is in the bytes.
pub(crate) fn u16_at<const N: usize>(bytes: &[u8; N], place: usize) -> u16 {
    u16::from_le_bytes([bytes[place], bytes[place + 1]])
}

/// The same of four bytes.
pub(crate) fn u32_at<const N: usize>(bytes: &[u8; N], place: usize) -> u32 {
    u32::from(u16_at(bytes, place)) | u32::from(u16_at(bytes, place + 2)) << 16
}

/// The same of eight bytes.
pub(crate) fn u64_at<const N: usize>(bytes: &[u8; N], place: usize) -> u64 {
    u64::from(u32_at(bytes, place)) | u64::from(u32_at(bytes, place + 4)) << 32
}
