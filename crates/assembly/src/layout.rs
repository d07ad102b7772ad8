//! The pieces of a file put to their places.

use crate::elf::{File, SECTION_BYTES, SEGMENT_BYTES, Segment, covers_pieces};
use object::LittleEndian as LE;
use object::pod::bytes_of;

/// What grows makes the rest move by a multiple of this, so that every piece stays aligned.
const STEP: u64 = 128;

/// How far each piece of the file moves, by its offset before.
struct Shifts(Vec<(u64, u64)>);

impl Shifts {
    /// Sections whose contents outgrew their headers push what lies behind them.
    fn new(file: &File) -> Shifts {
        let mut grown: Vec<(u64, u64)> = file
            .sections
            .iter()
            .filter(|section| section.is_in_file())
            .map(|s| {
                let extra = (s.data.len() as u64).saturating_sub(s.header.sh_size.get(LE));
                (s.header.sh_offset.get(LE) + s.header.sh_size.get(LE), extra.next_multiple_of(STEP))
            })
            .filter(|(_, extra)| *extra > 0)
            .collect();
        grown.sort_unstable();
        let mut sum = 0;
        for (_, shift) in &mut grown {
            sum += *shift;
            *shift = sum;
        }
        Shifts(grown)
    }

    /// The new offset of what began at `offset`.
    fn start(&self, offset: u64) -> u64 {
        let before = self.0.partition_point(|(end, _)| *end <= offset);
        offset + before.checked_sub(1).map_or(0, |at| self.0[at].1)
    }
}

/// The bytes of the file.
pub(crate) fn bytes(mut file: File) -> Vec<u8> {
    let shifts = Shifts::new(&file);
    let mut out = Vec::new();
    for (offset, gap) in &file.gaps {
        put(&mut out, shifts.start(*offset), gap);
    }
    for segment in &mut file.segments {
        shift_segment(segment, &shifts);
    }
    for section in &mut file.sections {
        let offset = shifts.start(section.header.sh_offset.get(LE));
        section.header.sh_offset.set(LE, offset);
        if section.is_in_file() {
            section.header.sh_size.set(LE, section.data.len() as u64);
            put(&mut out, offset, &section.data);
        }
    }
    let header = &mut file.header;
    header.e_phoff.set(LE, shifts.start(header.e_phoff.get(LE)));
    header.e_shoff.set(LE, shifts.start(header.e_shoff.get(LE)));
    put(&mut out, 0, bytes_of(&file.header));
    for (index, segment) in file.segments.iter().enumerate() {
        put(&mut out, file.header.e_phoff.get(LE) + index as u64 * SEGMENT_BYTES, bytes_of(segment));
    }
    for (index, section) in file.sections.iter().enumerate() {
        put(&mut out, file.header.e_shoff.get(LE) + index as u64 * SECTION_BYTES, bytes_of(&section.header));
    }
    let size = shifts.start(file.size) as usize;
    if out.len() < size {
        out.resize(size, 0);
    }
    out
}

/// A segment moves with its first piece and grows with what it covers.
fn shift_segment(segment: &mut Segment, shifts: &Shifts) {
    let (offset, size) = (segment.p_offset.get(LE), segment.p_filesz.get(LE));
    let start = shifts.start(offset);
    let grown = if covers_pieces(segment) { shifts.start(offset + size) - start - size } else { 0 };
    segment.p_offset.set(LE, start);
    segment.p_filesz.set(LE, size + grown);
    segment.p_memsz.set(LE, segment.p_memsz.get(LE) + grown);
}

fn put(out: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = offset as usize;
    let end = start + bytes.len();
    if out.len() < end {
        out.resize(end, 0);
    }
    out[start..end].copy_from_slice(bytes);
}
