//! Constant bank 2 of a kernel: offsets of functions, tables of jumps, constants of 64 bits.

use super::Section;
use oriole_ori::{CodeTable, Function, INST_BYTES, JumpTable};

/// What stands in the bank of the section's first function.
pub(super) fn contents(section: &Section<'_>, func: &Function) -> Vec<u8> {
    let mut bytes = if section.is_object { Vec::new() } else { section.function_offsets() };
    let tables = section.functions.iter().flat_map(|(id, _)| &section.code[*id].tables);
    for table in tables {
        let words = table.targets.iter().flat_map(|target| target.to_le_bytes());
        let (start, end) =
            (table.offset as usize, (table.offset + JumpTable::WORD * table.targets.len() as u32) as usize);
        bytes.resize(bytes.len().max(end), 0);
        bytes.splice(start..end, words);
    }
    let literals = func.literals();
    if !literals.values.is_empty() {
        bytes.resize(bytes.len().max(literals.base as usize), 0);
        bytes.extend(literals.values.iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes
}

/// What `.nv.info` says of a jump: its place, a zero, how many targets, their places.
pub(super) fn record(table: &CodeTable, start: i64) -> Vec<u32> {
    let place = |offset: i64| (start + offset) as u32;
    let head = [place(i64::from(table.branch) * INST_BYTES), 0, table.targets.len() as u32];
    head.into_iter().chain(table.targets.iter().map(|target| place(i64::from(*target)))).collect()
}
