//! DWARF: line tables of the source and of the PTX, and a compile unit with its functions.
//!
//! `.debug_line` leads from code to the source files, `.nv_debug_line_sass` in the same form to the
//! lines of `.nv_debug_ptx_txt`. Each section of code is a sequence that starts at its symbol.

use gimli::write::{
    Address, AttributeValue, DwarfUnit, EndianVec, LineProgram, LineString, RelocateWriter, Relocation,
    RelocationTarget, Sections, Writer,
};
use gimli::{Encoding, Format, LineEncoding, LittleEndian, SectionId, constants};

use crate::error::WriteError;
use crate::model::FileKind;
use crate::reloc;
use crate::spec::{DebugSpec, FunctionLines, LineRow, ModuleSpec, RelocSpec};

/// As ptxas writes them.
const ENCODING: Encoding = Encoding { format: Format::Dwarf32, version: 2, address_size: 8 };
const LINE_ENCODING: LineEncoding = LineEncoding {
    minimum_instruction_length: 1,
    maximum_operations_per_instruction: 1,
    default_is_stmt: true,
    line_base: -5,
    line_range: 14,
};

const LINE: &str = ".debug_line";
const INFO: &str = ".debug_info";
const ABBREV: &str = ".debug_abbrev";
const PTX_LINE: &str = ".nv_debug_line_sass";
const PTX_TEXT: &str = ".nv_debug_ptx_txt";

/// A section: name, contents, relocations.
type Section = (String, Vec<u8>, Vec<RelocSpec>);

/// Names of the sections that [`sections`] gives.
pub(super) fn section_names(module: &ModuleSpec) -> Vec<String> {
    let Some(debug) = &module.debug else { return Vec::new() };
    let made: &[&str] = match debug.compile_unit {
        Some(_) => &[LINE, INFO, ABBREV, PTX_LINE, PTX_TEXT],
        None => &[LINE, PTX_LINE, PTX_TEXT],
    };
    let given = debug.sections.iter().map(|section| section.name.as_str());
    made.iter().copied().chain(given).map(str::to_owned).collect()
}

/// The debug sections, none where the module has no debug information.
pub(super) fn sections(module: &ModuleSpec) -> Result<Vec<Section>, WriteError> {
    let Some(debug) = &module.debug else { return Ok(Vec::new()) };
    let mut unit = DwarfUnit::new(ENCODING);
    unit.unit.line_program = source_program(debug);
    let mut out = Vec::new();
    if let Some(name) = &debug.compile_unit {
        describe_functions(&mut unit, module, debug, name);
        let mut written = Sections::new(Recorder::default());
        unit.write(&mut written).map_err(refused)?;
        let parts = [(LINE, written.debug_line.0), (INFO, written.debug_info.0), (ABBREV, written.debug_abbrev.0)];
        out.extend(parts.map(|(section, recorder)| recorder.finish(section, module, debug)));
    } else {
        out.push(program_bytes(&unit.unit.line_program)?.finish(LINE, module, debug));
    }
    out.push(program_bytes(&ptx_program(debug))?.finish(PTX_LINE, module, debug));
    let mut text: Vec<u8> = Vec::with_capacity(debug.ptx.len() + 1);
    for line in debug.ptx.lines() {
        text.extend(line.bytes().filter(|byte| *byte != 0));
        text.push(0);
    }
    out.push((PTX_TEXT.to_owned(), text, Vec::new()));
    let given = debug.sections.iter().cloned();
    out.extend(given.map(|section| (section.name, section.bytes, section.relocations)));
    Ok(out)
}

fn refused(error: gimli::write::Error) -> WriteError {
    WriteError::Elf(format!("debug information: {error}"))
}

/// From code to lines of the source files.
fn source_program(debug: &DebugSpec) -> LineProgram {
    let mut program = empty_program();
    let root = program.default_directory();
    let mut files = Vec::new();
    for path in &debug.files {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = if folder.is_empty() { root } else { program.add_directory(line_string(folder)) };
        files.push(program.add_file(line_string(name), directory, None));
    }
    for function in &debug.functions {
        let mut last = None;
        add_sequence(&mut program, debug, function, |program, row| {
            if row.source == last {
                return false;
            }
            last = row.source;
            let Some(place) = row.source else { return false };
            let Some(file) = files.get(place.file as usize) else { return false };
            let to = program.row();
            (to.file, to.line, to.column) = (*file, u64::from(place.line), u64::from(place.column));
            true
        });
    }
    program
}

/// From code to lines of the PTX text.
fn ptx_program(debug: &DebugSpec) -> LineProgram {
    let mut program = empty_program();
    // Rows have to name a file that there is: `nvdisasm -gp` ends by a segmentation fault where they do not.
    let root = program.default_directory();
    let file = program.add_file(line_string(PTX_TEXT), root, None);
    for function in &debug.functions {
        add_sequence(&mut program, debug, function, |program, row| {
            program.row().file = file;
            program.row().line = u64::from(row.ptx_line);
            true
        });
    }
    program
}

fn empty_program() -> LineProgram {
    LineProgram::new(ENCODING, LINE_ENCODING, line_string("."), None, line_string("."), None)
}

/// A name for a table: neither empty nor with a zero byte, which the form cannot hold.
fn line_string(text: &str) -> LineString {
    let bytes: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
    LineString::String(if bytes.is_empty() { b".".to_vec() } else { bytes })
}

/// The rows of one function; `fill` says whether a row has a place and puts it in.
fn add_sequence(
    program: &mut LineProgram,
    debug: &DebugSpec,
    function: &FunctionLines,
    mut fill: impl FnMut(&mut LineProgram, &LineRow) -> bool,
) {
    let symbol = debug.functions.iter().position(|f| f.symbol == function.symbol).unwrap_or(0);
    let mut begun = false;
    let mut end = 0;
    for row in function.rows.iter().filter(|row| row.offset <= function.size) {
        // The library refuses offsets that go back.
        if row.offset < end || !fill(program, row) {
            continue;
        }
        if !begun {
            program.begin_sequence(Some(Address::Symbol { symbol, addend: 0 }));
            begun = true;
        }
        program.row().address_offset = row.offset;
        program.generate_row();
        end = row.offset;
    }
    if begun {
        program.end_sequence(function.size);
    }
}

/// `DW_TAG_compile_unit` with a `DW_TAG_subprogram` for each function.
fn describe_functions(unit: &mut DwarfUnit, module: &ModuleSpec, debug: &DebugSpec, name: &str) {
    let text = |text: &str| AttributeValue::String(text.bytes().filter(|byte| *byte != 0).collect());
    let unit = &mut unit.unit;
    let root = unit.root();
    let entry = unit.get_mut(root);
    entry.set(constants::DW_AT_producer, text(concat!("oriole ", env!("CARGO_PKG_VERSION"))));
    entry.set(constants::DW_AT_language, AttributeValue::Language(constants::DW_LANG_C_plus_plus));
    entry.set(constants::DW_AT_name, text(debug.files.first().map_or(name, String::as_str)));
    for (symbol, lines) in debug.functions.iter().enumerate() {
        let section = module.functions.iter().find(|function| function.name == lines.symbol);
        let inner = section.map(|function| function.inner_functions.as_slice()).unwrap_or_default();
        let own_end = inner.iter().map(|inner| u64::from(inner.offset)).min().unwrap_or(lines.size);
        let ranges = inner.iter().map(|i| (i.name.as_str(), u64::from(i.offset), u64::from(i.size)));
        for (name, start, size) in std::iter::once((lines.symbol.as_str(), 0, own_end)).chain(ranges) {
            let child = unit.add(root, constants::DW_TAG_subprogram);
            let entry = unit.get_mut(child);
            let at = |offset: u64| AttributeValue::Address(Address::Symbol { symbol, addend: offset as i64 });
            entry.set(constants::DW_AT_name, text(name));
            entry.set(constants::DW_AT_external, AttributeValue::Flag(true));
            entry.set(constants::DW_AT_low_pc, at(start));
            entry.set(constants::DW_AT_high_pc, at(start + size));
        }
    }
}

fn program_bytes(program: &LineProgram) -> Result<Recorder, WriteError> {
    let mut section = gimli::write::DebugLine(Recorder::default());
    let mut strings = gimli::write::StringTable::default();
    let mut line_strings = gimli::write::LineStringTable::default();
    program.write(&mut section, ENCODING, &mut line_strings, &mut strings).map_err(refused)?;
    Ok(section.0)
}

/// Bytes and the places where addresses go.
#[derive(Clone, Debug)]
struct Recorder {
    bytes: EndianVec<LittleEndian>,
    relocations: Vec<Relocation>,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder { bytes: EndianVec::new(LittleEndian), relocations: Vec::new() }
    }
}

impl RelocateWriter for Recorder {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &Self::Writer {
        &self.bytes
    }

    fn writer_mut(&mut self) -> &mut Self::Writer {
        &mut self.bytes
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }
}

impl Recorder {
    /// The section with relocations to symbols. Offsets into other debug sections need them only in an
    /// object file; in a linked one they are known.
    fn finish(mut self, section: &'static str, module: &ModuleSpec, debug: &DebugSpec) -> Section {
        let mut out = Vec::new();
        for relocation in std::mem::take(&mut self.relocations) {
            let symbol = match relocation.target {
                RelocationTarget::Symbol(index) => debug.functions[index].symbol.clone(),
                RelocationTarget::Section(id) if module.kind == FileKind::Relocatable => name_of(id).to_owned(),
                RelocationTarget::Section(_) => {
                    // The place was written with zeros, so that it can be written again.
                    let _ = self.bytes.write_udata_at(relocation.offset, relocation.addend as u64, relocation.size);
                    continue;
                }
            };
            let kind = if relocation.size == 8 { &reloc::R64 } else { &reloc::R32 };
            out.push(RelocSpec { offset: relocation.offset as u32, kind, symbol, addend: relocation.addend });
        }
        (section.to_owned(), self.bytes.into_vec(), out)
    }
}

fn name_of(section: SectionId) -> &'static str {
    match section {
        SectionId::DebugAbbrev => ABBREV,
        SectionId::DebugInfo => INFO,
        _ => LINE,
    }
}
