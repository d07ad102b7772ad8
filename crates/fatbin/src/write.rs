//! Fatbinaries are written as `fatbinary` writes them.

use crate::compression::Compression;
use crate::entry::{ALIGNMENT, Entry, Flags, HEADER, Kind, PLACE, field};
use crate::module;
use oriole_cubin::{Cubin, CubinError, Suffix, Target};

/// The version of the form of entries, as all of CUDA 11 to 13.5 have it.
const ENTRY_VERSION: u16 = 0x101;
/// What `fatbinary` says of the form of cubins: the ABI's version of the ELF file, 7 and 8, as the minor number of version 1.
const CUBIN_VERSION: u16 = 1;
/// Where the version of the ABI is in an ELF file.
const ABI_VERSION: usize = 8;
/// The section of a cubin that a header repeats from this SM on.
const COMPAT: &str = ".nv.compat";
const COMPAT_SINCE: u32 = 100;

/// An image that goes into a fatbinary.
#[derive(Clone, Debug)]
pub struct NewImage {
    /// What it is.
    pub kind: Kind,
    /// What it is for.
    pub target: Target,
    /// Version of its form: the major and the minor number.
    pub version: (u16, u16),
    /// Facts; those of the target and of how it is packed are added.
    pub flags: Flags,
    /// The name of the source file, or nothing.
    pub name: String,
    /// The compiler's options, or a cubin's `.nv.compat`.
    pub options: Vec<u8>,
    /// The image: PTX with a zero behind it, or a cubin.
    pub bytes: Vec<u8>,
}

impl NewImage {
    /// A cubin, which says itself what it is for but for the suffix.
    ///
    /// # Errors
    /// The cubin cannot be read.
    pub fn cubin(bytes: Vec<u8>, target: Target) -> Result<NewImage, CubinError> {
        let cubin = Cubin::parse(&bytes)?;
        let compat = cubin.sections.iter().find(|section| section.name == COMPAT && target.sm >= COMPAT_SINCE);
        let options = compat.map(|section| section.data.clone()).unwrap_or_default();
        let flags = if options.is_empty() { Flags::empty() } else { Flags::HAS_COMPAT };
        let abi = bytes.get(ABI_VERSION).copied().unwrap_or_default();
        Ok(NewImage {
            kind: Kind::Cubin,
            target,
            version: (CUBIN_VERSION, abi.into()),
            flags: flags | Flags::ADDRESS_64 | Flags::LINUX,
            name: String::new(),
            options,
            bytes,
        })
    }

    /// PTX of this version, with the options for the compiler that takes it.
    pub fn ptx(text: &str, target: Target, version: (u16, u16), options: &str) -> NewImage {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        NewImage {
            kind: Kind::Ptx,
            target,
            version,
            flags: Flags::ADDRESS_64 | Flags::LINUX,
            name: String::new(),
            options: options.as_bytes().to_vec(),
            bytes,
        }
    }

    /// The entry: the header with its texts, and the image packed so, or plain where packing does not make it smaller.
    pub fn entry(&self, compression: Compression) -> Vec<u8> {
        let packed = compression.pack(&self.bytes);
        let (compression, stored) = match packed {
            packed if packed.len() < self.bytes.len() => (compression, packed),
            _ => (Compression::None, self.bytes.as_slice().into()),
        };
        let (header_size, name_at, options_at) = self.layout();
        let mut entry = vec![0; HEADER];
        put(&mut entry, field::KIND, &self.kind.number().to_le_bytes());
        put(&mut entry, field::VERSION, &ENTRY_VERSION.to_le_bytes());
        put(&mut entry, field::HEADER_SIZE, &(header_size as u32).to_le_bytes());
        put(&mut entry, field::PADDED_SIZE, &(stored.len().next_multiple_of(ALIGNMENT) as u64).to_le_bytes());
        put(&mut entry, field::OPTIONS, &(options_at as u32).to_le_bytes());
        put(&mut entry, field::MINOR, &self.version.1.to_le_bytes());
        put(&mut entry, field::MAJOR, &self.version.0.to_le_bytes());
        put(&mut entry, field::SM, &self.target.sm.to_le_bytes());
        put(&mut entry, field::NAME, &(name_at as u32).to_le_bytes());
        put(&mut entry, field::NAME_SIZE, &(self.name.len() as u32).to_le_bytes());
        put(&mut entry, field::FLAGS, &(self.flags | own_flags(self.target, compression)).bits().to_le_bytes());
        if compression != Compression::None {
            put(&mut entry, field::PACKED_SIZE, &(stored.len() as u32).to_le_bytes());
            put(&mut entry, field::UNPACKED_SIZE, &(self.bytes.len() as u64).to_le_bytes());
        }
        if name_at != 0 {
            entry.extend(self.name.as_bytes());
            pad(&mut entry, true);
        }
        if options_at != 0 {
            entry.extend(((options_at + PLACE) as u32).to_le_bytes());
            entry.extend((self.options.len() as u32).to_le_bytes());
            let has_compat = self.flags.contains(Flags::HAS_COMPAT);
            entry.extend(has_compat.then_some(0_u8));
            entry.extend(&self.options);
            pad(&mut entry, !has_compat);
        }
        entry.extend(&*stored);
        pad(&mut entry, false);
        entry
    }

    /// Bytes of the header with its texts, and where the name and the options are, 0 where there are none. PTX has a place for options
    /// always.
    fn layout(&self) -> (usize, usize, usize) {
        let ended = |size: usize| (size + 1).next_multiple_of(ALIGNMENT);
        let has_name = !self.name.is_empty();
        let has_options = !self.options.is_empty() || self.kind == Kind::Ptx;
        let behind_name = HEADER + if has_name { ended(self.name.len()) } else { 0 };
        let header_size = behind_name + if has_options { PLACE + ended(self.options.len()) } else { 0 };
        (header_size, if has_name { HEADER } else { 0 }, if has_options { behind_name } else { 0 })
    }
}

impl Entry<'_> {
    /// The entry as it is in its file, for another fatbinary.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }
}

/// A fatbinary of these entries ([`NewImage::entry`], [`Entry::bytes`]).
pub fn write<'e>(entries: impl IntoIterator<Item = &'e [u8]>) -> Vec<u8> {
    let mut out = vec![0; module::HEADER];
    for entry in entries {
        out.extend(entry);
    }
    let size = (out.len() - module::HEADER) as u64;
    put(&mut out, module::field::MAGIC, &module::MAGIC.to_le_bytes());
    put(&mut out, module::field::VERSION, &module::VERSION.to_le_bytes());
    put(&mut out, module::field::HEADER_SIZE, &(module::HEADER as u16).to_le_bytes());
    put(&mut out, module::field::SIZE, &size.to_le_bytes());
    out
}

/// The flags that say the target's suffix and how the image is packed.
fn own_flags(target: Target, compression: Compression) -> Flags {
    let suffix = match target.suffix {
        Suffix::None => Flags::empty(),
        Suffix::Arch => Flags::ARCH_SPECIFIC,
        Suffix::Family => Flags::FAMILY_SPECIFIC,
    };
    let packed = match compression {
        Compression::None => Flags::empty(),
        Compression::Lz4 => Flags::LZ4,
        Compression::Zstd => Flags::ZSTD,
    };
    suffix | packed
}

/// Set a field of the header, which is there.
fn put(header: &mut [u8], place: usize, value: &[u8]) {
    header[place..place + value.len()].copy_from_slice(value);
}

/// Zeros up to the next place where something may begin; a text is ended by one at least.
fn pad(bytes: &mut Vec<u8>, is_text: bool) {
    let size = (bytes.len() + usize::from(is_text)).next_multiple_of(ALIGNMENT);
    bytes.resize(size, 0);
}
