//! What points into code whose instructions have moved.

use crate::elf::File;
use object::LittleEndian as LE;
use object::elf::{Rel64, Rela64, SHT_REL, SHT_RELA, SHT_SYMTAB, STT_SECTION, SectionType, Sym64};
use object::pod::slice_from_all_bytes_mut;
use oriole_cubin::nvinfo::{self, Shape, Value};

/// `sh_type` of `.nv.info` sections.
const SHT_CUDA_INFO: SectionType = SectionType(0x7000_0000);

/// Where the instructions of a section were and are.
pub(crate) struct Moves {
    /// Number of the section.
    pub(crate) section: usize,
    /// Address before and after, ascending.
    pub(crate) by_old: Vec<(u64, u64)>,
    /// Address after the last instruction.
    pub(crate) end: u64,
}

impl Moves {
    fn is_identity(&self) -> bool {
        self.by_old.iter().all(|(old, new)| old == new)
    }

    /// Where what was at `old` is: the instruction itself, or the next one if it is gone.
    fn new_place(&self, old: u64) -> u64 {
        let at = self.by_old.partition_point(|(address, _)| *address < old);
        self.by_old.get(at).map_or(self.end, |(_, new)| *new)
    }
}

/// Bring symbols, relocations and records of `.nv.info` to where the instructions are now.
pub(crate) fn follow(file: &mut File, moves: &[Moves]) {
    for moves in moves.iter().filter(|moves| !moves.is_identity()) {
        let old_size = file.sections[moves.section].header.sh_size.get(LE);
        for section in &mut file.sections {
            if section.header.sh_type.get(LE) == SHT_SYMTAB {
                symbols(&mut section.data, moves, old_size);
            }
        }
        for (kind, bytes) in [(SHT_REL, size_of::<Rel64<LE>>()), (SHT_RELA, size_of::<Rela64<LE>>())] {
            for index in file.sections_about(kind, moves.section) {
                relocations(&mut file.sections[index].data, bytes, moves);
            }
        }
        for index in file.sections_about(SHT_CUDA_INFO, moves.section) {
            records(&mut file.sections[index].data, moves);
        }
    }
}

/// Rows of that many bytes, of either kind: both begin with the offset, which may name a byte inside an
/// instruction. Data that is no number of rows stays.
fn relocations(data: &mut [u8], row_bytes: usize, moves: &Moves) {
    if !data.len().is_multiple_of(row_bytes) {
        return;
    }
    for row in data.chunks_exact_mut(row_bytes) {
        let Some(place) = row.first_chunk_mut::<8>() else { return };
        let offset = u64::from_le_bytes(*place);
        let inside = offset % 8;
        *place = (moves.new_place(offset - inside) + inside).to_le_bytes();
    }
}

fn symbols(data: &mut [u8], moves: &Moves, old_size: u64) {
    let Ok(symbols) = slice_from_all_bytes_mut::<Sym64<LE>>(data) else { return };
    let here = symbols.iter_mut().filter(|symbol| usize::from(symbol.st_shndx.get(LE).0) == moves.section);
    for symbol in here.filter(|symbol| symbol.st_type() != STT_SECTION) {
        let (start, size) = (symbol.st_value.get(LE), symbol.st_size.get(LE));
        let new_start = moves.new_place(start);
        if size > 0 {
            let end = start.saturating_add(size);
            let end = if end >= old_size { moves.end } else { moves.new_place(end) };
            symbol.st_size.set(LE, end.saturating_sub(new_start));
        }
        symbol.st_value.set(LE, new_start);
    }
}

/// Lists of instruction offsets in `.nv.info` records. Sections that are not such records stay.
fn records(data: &mut Vec<u8>, moves: &Moves) {
    let Ok(mut records) = nvinfo::decode(data, 0) else { return };
    for record in &mut records {
        let is_list = record.eiattr().is_some_and(|row| row.shape == Shape::CodeOffsets);
        if let (true, Value::Sized(bytes)) = (is_list, &mut record.value) {
            for word in bytes.as_chunks_mut::<4>().0 {
                *word = (moves.new_place(u64::from(u32::from_le_bytes(*word))) as u32).to_le_bytes();
            }
        }
    }
    if let Ok(bytes) = nvinfo::encode(&records) {
        *data = bytes;
    }
}
