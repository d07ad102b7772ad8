//! An ELF file as its tables and the bytes between them, nothing interpreted.

use object::LittleEndian as LE;
use object::elf::{EM_CUDA, FileHeader64, PT_LOAD, ProgramHeader64, SectionHeader64, SectionType};
use object::pod::from_bytes;
use oriole_cubin::{CubinError, Target, takes_no_space};

pub(crate) type Header = FileHeader64<LE>;
pub(crate) type Segment = ProgramHeader64<LE>;
pub(crate) type SectionHeader = SectionHeader64<LE>;

/// Bytes of the three kinds of header.
pub(crate) const HEADER_BYTES: u64 = size_of::<Header>() as u64;
pub(crate) const SEGMENT_BYTES: u64 = size_of::<Segment>() as u64;
pub(crate) const SECTION_BYTES: u64 = size_of::<SectionHeader>() as u64;

/// One section.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) header: SectionHeader,
    pub(crate) name: String,
    /// Its contents; empty where it takes no space in the file.
    pub(crate) data: Vec<u8>,
}

impl Section {
    pub(crate) fn is_in_file(&self) -> bool {
        !takes_no_space(self.header.sh_type.get(LE).0)
    }

    /// The section holds instructions.
    pub(crate) fn is_code(&self) -> bool {
        self.name.starts_with(".text.") && self.is_in_file()
    }
}

/// A file in pieces.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) header: Header,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section>,
    /// Bytes that are not zero and belong to no table and no section, with their offsets.
    pub(crate) gaps: Vec<(u64, Vec<u8>)>,
    /// Bytes of the file.
    pub(crate) size: u64,
}

impl File {
    pub(crate) fn parse(bytes: &[u8]) -> Result<File, CubinError> {
        let header: Header = *at(bytes, 0, "the ELF header")?;
        let machine = header.e_machine.get(LE);
        if machine != EM_CUDA {
            return Err(CubinError::NotCuda { machine: machine.0 });
        }
        let count = |number: object::U16<LE>| u64::from(number.get(LE));
        let segments = table(bytes, header.e_phoff.get(LE), count(header.e_phnum), "the program headers")?;
        let headers: Vec<SectionHeader> =
            table(bytes, header.e_shoff.get(LE), count(header.e_shnum), "the section headers")?;
        let names = headers.get(usize::from(header.e_shstrndx.get(LE).0));
        let names = names.map_or(Ok(&[][..]), |names| contents(bytes, names))?;
        let sections = headers.iter().map(|header| {
            let data = contents(bytes, header)?.to_vec();
            Ok(Section { header: *header, name: string_at(names, header.sh_name.get(LE)), data })
        });
        let sections = sections.collect::<Result<Vec<_>, CubinError>>()?;
        let mut file = File { header, segments, sections, gaps: Vec::new(), size: bytes.len() as u64 };
        file.gaps = gaps(bytes, &file.pieces());
        Ok(file)
    }

    /// Offset and size of every table and section of the file.
    pub(crate) fn pieces(&self) -> Vec<(u64, u64)> {
        let mut pieces = vec![
            (0, HEADER_BYTES),
            (self.header.e_phoff.get(LE), self.segments.len() as u64 * SEGMENT_BYTES),
            (self.header.e_shoff.get(LE), self.sections.len() as u64 * SECTION_BYTES),
        ];
        let sections = self.sections.iter().filter(|section| section.is_in_file());
        pieces.extend(sections.map(|s| (s.header.sh_offset.get(LE), s.header.sh_size.get(LE))));
        pieces.retain(|(_, size)| *size > 0);
        pieces.sort_unstable();
        pieces
    }

    /// The target that the header names.
    pub(crate) fn target(&self) -> Target {
        Target::from_e_flags(self.header.e_flags.get(LE).0, self.header.e_ident.abi_version)
    }

    /// Numbers of the sections whose type is `kind` and that are about section `of`.
    pub(crate) fn sections_about(&self, kind: SectionType, of: usize) -> Vec<usize> {
        let about =
            |s: &Section| s.header.sh_type.get(LE) == kind && s.header.sh_info.get(LE) as usize & 0xff_ffff == of;
        (0..self.sections.len()).filter(|index| about(&self.sections[*index])).collect()
    }
}

/// Whether the segment's size follows from the pieces that it covers.
pub(crate) fn covers_pieces(segment: &Segment) -> bool {
    segment.p_type.get(LE) == PT_LOAD
}

fn malformed(offset: u64, what: &str) -> CubinError {
    CubinError::Malformed { offset, what: format!("{what} lies outside the file") }
}

fn at<'a, T: object::pod::Pod>(bytes: &'a [u8], offset: u64, what: &str) -> Result<&'a T, CubinError> {
    let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
    rest.and_then(|rest| from_bytes(rest).ok()).map(|(value, _)| value).ok_or_else(|| malformed(offset, what))
}

fn table<T: object::pod::Pod>(bytes: &[u8], offset: u64, count: u64, what: &str) -> Result<Vec<T>, CubinError> {
    let size = size_of::<T>() as u64;
    let place = |index: u64| offset.checked_add(index * size).ok_or_else(|| malformed(offset, what));
    (0..count).map(|index| at(bytes, place(index)?, what).copied()).collect()
}

fn contents<'a>(bytes: &'a [u8], header: &SectionHeader) -> Result<&'a [u8], CubinError> {
    if takes_no_space(header.sh_type.get(LE).0) {
        return Ok(&[]);
    }
    let offset = header.sh_offset.get(LE);
    let end = offset.checked_add(header.sh_size.get(LE));
    let range = usize::try_from(offset).ok().zip(end.and_then(|end| usize::try_from(end).ok()));
    range.and_then(|(start, end)| bytes.get(start..end)).ok_or_else(|| malformed(offset, "a section"))
}

/// The string at an offset of a string table.
pub(crate) fn string_at(table: &[u8], offset: u32) -> String {
    let rest = table.get(offset as usize..).unwrap_or(&[]);
    let end = rest.iter().position(|b| *b == 0).unwrap_or(rest.len());
    String::from_utf8_lossy(&rest[..end]).into_owned()
}

/// The runs between the pieces that hold something other than zeros.
fn gaps(bytes: &[u8], pieces: &[(u64, u64)]) -> Vec<(u64, Vec<u8>)> {
    let mut gaps = Vec::new();
    let mut end = 0;
    let all = bytes.len() as u64;
    for (start, size) in pieces.iter().copied().chain([(all, 0)]) {
        let gap = bytes.get(end as usize..start.min(all) as usize).unwrap_or(&[]);
        if gap.iter().any(|b| *b != 0) {
            gaps.push((end, gap.to_vec()));
        }
        end = end.max((start + size).min(all));
    }
    gaps
}
