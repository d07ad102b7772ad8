//! A fatbinary: a header, and entries.

use crate::entry::{Entry, u16_at, u64_at};
use crate::error::{FatbinError, Reason};
use std::ops::Range;

/// How a fatbinary begins.
pub(crate) const MAGIC: u32 = 0xba55_ed50;
/// The version of the form.
pub(crate) const VERSION: u16 = 1;
/// Bytes of its header.
pub(crate) const HEADER: usize = 16;

/// Where the fields of the header are.
pub(crate) mod field {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 4;
    pub(crate) const HEADER_SIZE: usize = 6;
    pub(crate) const SIZE: usize = 8;
}

/// In which section of a host file a fatbinary is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// `.nv_fatbin`, or the file itself: code that a driver loads.
    #[default]
    Loaded,
    /// `__nv_relfatbin`: code for a linker, which may have been linked.
    Relocatable,
}

/// A fatbinary: the same code for several targets, of which a driver takes one.
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    /// The archive's member that it is in.
    pub member: Option<String>,
    /// In which section it is.
    pub linkage: Linkage,
    /// Where it is in the file.
    pub range: Range<usize>,
    /// Its images.
    pub entries: Vec<Entry<'a>>,
}

impl<'a> Module<'a> {
    /// Whether bytes begin as a fatbinary does.
    pub fn is_fatbinary(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC.to_le_bytes())
    }

    /// Read the fatbinary with which `bytes` begin, which are at `offset` of the file.
    pub(crate) fn read(bytes: &'a [u8], offset: usize) -> Result<Module<'a>, FatbinError> {
        let short = |what, needed| FatbinError::new(offset, Reason::Short { what, needed, there: bytes.len() });
        let header: &[u8; HEADER] =
            bytes.first_chunk().ok_or_else(|| short("header of the fatbinary", HEADER as u64))?;
        let refused = |what, place, value| FatbinError::new(offset + place, Reason::Field { what, value });
        let version = u16_at(header, field::VERSION);
        if version != VERSION {
            return Err(refused("version of the fatbinary", field::VERSION, version.into()));
        }
        let header_size = u16_at(header, field::HEADER_SIZE);
        if usize::from(header_size) < HEADER {
            return Err(refused("size of the fatbinary's header", field::HEADER_SIZE, header_size.into()));
        }
        let needed = u64::from(header_size).saturating_add(u64_at(header, field::SIZE));
        let all = usize::try_from(needed).ok().and_then(|size| bytes.get(..size));
        let all = all.ok_or_else(|| short("fatbinary", needed))?;
        let mut entries = Vec::new();
        let mut at = usize::from(header_size);
        while at < all.len() {
            let entry = Entry::read(&all[at..], offset + at)?;
            at += entry.bytes.len();
            entries.push(entry);
        }
        Ok(Module { range: offset..offset + all.len(), entries, ..Module::default() })
    }

    /// All fatbinaries of bytes at `offset` of the file, one behind the other with zeros between them, as linkers leave them.
    pub(crate) fn read_all(bytes: &'a [u8], offset: usize) -> Result<Vec<Module<'a>>, FatbinError> {
        let mut modules = Vec::new();
        let mut at = 0;
        while let Some(next) = next_word(bytes, at) {
            at = next;
            let module = Module::read(&bytes[at..], offset + at)?;
            at += module.range.len();
            modules.push(module);
        }
        Ok(modules)
    }
}

/// Where the next fatbinary begins, from `at` on: the first word that is not zero. Must be the magic number.
fn next_word(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let zeros = rest.iter().take_while(|byte| **byte == 0).count();
    // A fatbinary begins with a byte that is not zero.
    (zeros < rest.len()).then_some(at + zeros)
}
