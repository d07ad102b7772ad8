//! How long a cubin is: an entry that is not packed says it with its padding.

use crate::entry::ALIGNMENT;
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};

/// A cubin without the zeros with which it has been padded.
pub(crate) fn without_padding(bytes: &[u8]) -> &[u8] {
    let size = extent(bytes).and_then(|extent| usize::try_from(extent).ok()).unwrap_or(bytes.len());
    match bytes.split_at_checked(size) {
        Some((cubin, padding)) if padding.len() < ALIGNMENT && padding.iter().all(|byte| *byte == 0) => cubin,
        _ => bytes,
    }
}

/// Where an ELF file ends: the last of its sections and tables.
fn extent(bytes: &[u8]) -> Option<u64> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let endian = LittleEndian;
    let table = |offset: u64, size: u16, count: u16| offset.checked_add(u64::from(size) * u64::from(count));
    let segments = table(header.e_phoff(endian), header.e_phentsize(endian), header.e_phnum(endian))?;
    let sections = table(header.e_shoff(endian), header.e_shentsize(endian), header.e_shnum(endian))?;
    let ends = header.section_headers(endian, bytes).ok()?.iter().filter_map(|section| {
        let (offset, size) = section.file_range(endian)?;
        offset.checked_add(size)
    });
    Some(ends.fold(segments.max(sections), u64::max))
}
