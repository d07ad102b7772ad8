//! Line tables: which line of the source, or of the PTX, an instruction comes from.
//!
//! The tables are DWARF's. Their addresses are relocations to symbols, which a loader would apply: here an address becomes
//! the section of the symbol and the offset in it.

use crate::model::{Cubin, Relocation, Section, SectionIndex};
use gimli::{
    AttributeValue, ColumnType, DebugLine, DebugLineOffset, DebugLineStr, DebugStr, Dwarf, EndianSlice,
    LineProgramHeader, LittleEndian, Reader as _, RelocateReader,
};
use std::collections::{BTreeMap, HashMap};

/// What the lines of a table are lines of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Of the source files, as the PTX's `.loc` names them (`.debug_line`).
    Source,
    /// Of the PTX (`.nv_debug_line_sass`), whose text is in the cubin too: [`Cubin::ptx_of`].
    Ptx,
}

/// Name of the file that lines of the PTX are said to be in: that of the section with its text, as nvdisasm says it.
const PTX_TEXT: &str = ".nv_debug_ptx_txt";
/// Bits of an address that are the offset in a section; above them is the section's index.
const OFFSET_BITS: u32 = 40;
/// As every compiler of cubins writes it.
const ADDRESS_BYTES: u8 = 8;

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine<'a> {
    /// The file, with its folder as far as the table says it.
    pub file: &'a str,
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1; 0 where it is not known.
    pub column: u32,
}

/// A table that has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineTable {
    files: Vec<String>,
    /// By section, ascending in their offsets.
    rows: BTreeMap<SectionIndex, Vec<Row>>,
}

/// Where a line begins: it goes on up to the next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    offset: u64,
    /// Nothing where a sequence ends, and for code that belongs to no line.
    place: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    file: usize,
    line: u32,
    column: u32,
}

impl LineTable {
    /// The line of the instruction at a byte offset of a section.
    pub fn at(&self, section: SectionIndex, offset: u64) -> Option<SourceLine<'_>> {
        let rows = self.rows.get(&section)?;
        let next = rows.partition_point(|row| row.offset <= offset);
        let Place { file, line, column } = rows.get(next.checked_sub(1)?)?.place?;
        Some(SourceLine { file: self.files.get(file)?, line, column })
    }

    /// The same for an offset in the section of a function, as a simulator counts.
    pub fn in_code_of(&self, cubin: &Cubin, function: &str, offset: u64) -> Option<SourceLine<'_>> {
        let is_its = |section: &Section| section.name.strip_prefix(".text.") == Some(function);
        self.at(cubin.sections.iter().position(is_its)?, offset)
    }

    /// Nothing is known of any instruction.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Cubin {
    /// One of the file's line tables; an empty one where it has none.
    ///
    /// # Errors
    /// The table is damaged: in DWARF's words.
    pub fn line_table(&self, kind: LineKind) -> Result<LineTable, String> {
        let name = match kind {
            LineKind::Source => ".debug_line",
            LineKind::Ptx => ".nv_debug_line_sass",
        };
        let Some(index) = self.sections.iter().position(|section| section.name == name) else {
            return Ok(LineTable::default());
        };
        read(self, index, kind).map_err(|error| format!("section {name}: {error}"))
    }

    /// The text of the file that lines of [`LineKind::Ptx`] name: the PTX that the cubin has in it.
    pub fn ptx_of(&self, file: &str) -> Option<String> {
        let section = self.sections.iter().find(|section| section.name == PTX_TEXT && file == PTX_TEXT)?;
        // A zero ends each line.
        Some(String::from_utf8_lossy(&section.data).replace('\0', "\n"))
    }
}

/// What stands at the places that relocations patch: section and offset as one number, by place.
#[derive(Clone, Debug)]
struct Addresses<'a>(&'a HashMap<u64, (u64, bool)>);

impl gimli::read::Relocate for Addresses<'_> {
    fn relocate_address(&self, offset: usize, value: u64) -> gimli::Result<u64> {
        // Without a relocation the value names no section.
        let Some((address, adds)) = self.0.get(&(offset as u64)) else { return Ok(0) };
        Ok(if *adds { address.wrapping_add(value) } else { *address })
    }

    fn relocate_offset(&self, _: usize, value: usize) -> gimli::Result<usize> {
        Ok(value)
    }
}

type Reader<'a> = RelocateReader<EndianSlice<'a, LittleEndian>, Addresses<'a>>;

fn read(cubin: &Cubin, index: SectionIndex, kind: LineKind) -> gimli::Result<LineTable> {
    let (addresses, none) = (addresses_in(cubin, index), HashMap::new());
    let reader = |data| RelocateReader::new(EndianSlice::new(data, LittleEndian), Addresses(&none));
    let named = |name: &str| cubin.sections.iter().find(|section| section.name == name).map_or(&[][..], |s| &s.data);
    let strings = Dwarf {
        debug_str: DebugStr::from(reader(named(".debug_str"))),
        debug_line_str: DebugLineStr::from(reader(named(".debug_line_str"))),
        ..Dwarf::load(|_| Ok::<_, gimli::Error>(reader(&[])))?
    };
    let data = cubin.sections.get(index).map_or(&[][..], |section| &section.data);
    let section = DebugLine::from(RelocateReader::new(EndianSlice::new(data, LittleEndian), Addresses(&addresses)));
    let (mut table, mut at) = (Builder::new(kind), 0);
    while at < data.len() {
        let program = section.program(DebugLineOffset(at), ADDRESS_BYTES, None, None)?;
        // The length does not count the bytes that hold it.
        at += program.header().unit_length() + usize::from(program.header().format().initial_length_size());
        let mut rows = program.rows();
        while let Some((header, row)) = rows.next_row()? {
            let place = (!row.end_sequence()).then(|| table.place(&strings, header, row)).flatten();
            table.add(row.address(), place);
        }
        table.files_of_unit.clear();
    }
    Ok(table.finish())
}

/// Of the places in a section that symbols of sections are put into: the address, and whether what stands there counts.
fn addresses_in(cubin: &Cubin, index: SectionIndex) -> HashMap<u64, (u64, bool)> {
    let here = cubin.relocations.iter().filter(|relocation| relocation.section == index);
    let address = |relocation: &Relocation| {
        let symbol = cubin.symbols.get(relocation.symbol)?;
        let base = (symbol.section? as u64) << OFFSET_BITS;
        let offset = symbol.value.wrapping_add_signed(relocation.addend.unwrap_or(0));
        Some((relocation.offset, (base.wrapping_add(offset), relocation.addend.is_none())))
    };
    here.filter_map(address).collect()
}

/// A table while it is read.
struct Builder {
    kind: LineKind,
    table: LineTable,
    /// The files of the unit that is read: number there, and here.
    files_of_unit: HashMap<u64, Option<usize>>,
}

impl Builder {
    fn new(kind: LineKind) -> Builder {
        let files = if kind == LineKind::Ptx { vec![PTX_TEXT.to_owned()] } else { Vec::new() };
        Builder { kind, table: LineTable { files, rows: BTreeMap::new() }, files_of_unit: HashMap::new() }
    }

    fn place(
        &mut self,
        strings: &Dwarf<Reader<'_>>,
        header: &LineProgramHeader<Reader<'_>>,
        row: &gimli::LineRow,
    ) -> Option<Place> {
        let number = row.file_index();
        let file = match self.kind {
            LineKind::Ptx => 0,
            LineKind::Source => match self.files_of_unit.get(&number) {
                Some(known) => (*known)?,
                None => {
                    let file = file_name(strings, header, number).map(|name| self.file(name));
                    self.files_of_unit.insert(number, file);
                    file?
                }
            },
        };
        let column = match row.column() {
            ColumnType::LeftEdge => 0,
            ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
        };
        Some(Place { file, line: u32::try_from(row.line()?.get()).ok()?, column })
    }

    /// The number of a file in the table.
    fn file(&mut self, name: String) -> usize {
        let files = &mut self.table.files;
        files.iter().position(|file| *file == name).unwrap_or_else(|| {
            files.push(name);
            files.len() - 1
        })
    }

    fn add(&mut self, address: u64, place: Option<Place>) {
        let (section, offset) = ((address >> OFFSET_BITS) as usize, address & ((1 << OFFSET_BITS) - 1));
        // No code is in the section of no name, which an address without a relocation is in.
        if section != 0 {
            self.table.rows.entry(section).or_default().push(Row { offset, place });
        }
    }

    fn finish(mut self) -> LineTable {
        for rows in self.table.rows.values_mut() {
            // Where one sequence ends another may begin: its first row counts. Of rows of a sequence the last counts.
            rows.sort_by_key(|row| (row.offset, row.place.is_some()));
        }
        self.table
    }
}

/// Folder and name of a file.
fn file_name(strings: &Dwarf<Reader<'_>>, header: &LineProgramHeader<Reader<'_>>, number: u64) -> Option<String> {
    let text = |value: AttributeValue<Reader<'_>>| {
        let text = strings.attr_line_string(value).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    };
    let file = header.file(number)?;
    let name = text(file.path_name())?;
    let folder = file.directory(header).and_then(text).filter(|folder| !folder.is_empty() && !name.starts_with('/'));
    Some(folder.map_or_else(|| name.clone(), |folder| format!("{}/{name}", folder.trim_end_matches('/'))))
}
