//! The tables of ELF: header, sections, symbols, relocations.

use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, SectionTable, Sym};

use crate::compat;
use crate::error::CubinError;
use crate::model::{Binding, FileKind, Relocation, Section, SectionKind, Symbol, SymbolKind};
use crate::reloc::RelocKind;
use crate::target::Target;

type Header = elf::FileHeader64<LittleEndian>;
type Sections<'a> = SectionTable<'a, Header>;

const ENDIAN: LittleEndian = LittleEndian;

/// What is copied out of a file may be this many times as long as the file, and some bytes more.
/// In an honest file nothing overlaps but names; a damaged one must not fill the memory.
const COPIES: u64 = 4;
const SPARE: u64 = 1 << 20;

/// How many bytes may still be copied out of the file.
pub(super) struct Budget(u64);

impl Budget {
    fn new(file: &[u8]) -> Self {
        Budget((file.len() as u64).saturating_mul(COPIES).saturating_add(SPARE))
    }

    /// Takes `length` bytes for what is at `offset` in the file.
    pub(super) fn take(&mut self, length: usize, offset: u64) -> Result<(), CubinError> {
        let too_much = || CubinError::Malformed { offset, what: "too many names or sections overlap".to_owned() };
        self.0 = self.0.checked_sub(length as u64).ok_or_else(too_much)?;
        Ok(())
    }
}

/// Symbol type of a variable in an object file that is still to be linked.
pub(crate) const STT_CUDA_OBJECT: elf::SymbolType = elf::SymbolType(13);

/// `st_other` bit of a variable in shared memory, in such a file.
pub(crate) const STO_CUDA_SHARED: u8 = 0x40;

/// Section types of object files that have a size but no contents, as `SHT_NOBITS` in linked ones:
/// `.nv.global`, `.nv.local.*`, `.nv.shared.*`.
const NO_CONTENTS: [u32; 3] = [0x7000_0007, 0x7000_0009, 0x7000_000a];

/// Whether sections of this type stand for memory and have no contents in the file.
pub fn takes_no_space(sh_type: u32) -> bool {
    sh_type == elf::SHT_NOBITS.0 || NO_CONTENTS.contains(&sh_type)
}

/// What ELF itself says about a cubin.
pub(super) struct Tables {
    pub(super) target: Target,
    pub(super) kind: FileKind,
    pub(super) e_flags: u32,
    pub(super) abi_version: u8,
    pub(super) os_abi: u8,
    pub(super) sections: Vec<Section>,
    pub(super) symbols: Vec<Symbol>,
    pub(super) relocations: Vec<Relocation>,
}

impl From<object::read::Error> for CubinError {
    fn from(error: object::read::Error) -> Self {
        CubinError::Elf(error.to_string())
    }
}

/// Reads the tables; gives what may still be copied out of the file.
pub(super) fn read(bytes: &[u8]) -> Result<(Tables, Budget), CubinError> {
    let header = Header::parse(bytes)?;
    header.endian()?;
    let machine = header.e_machine(ENDIAN);
    if machine != elf::EM_CUDA {
        return Err(CubinError::NotCuda { machine: machine.0 });
    }
    let kind = match header.e_type(ENDIAN) {
        elf::ET_EXEC => FileKind::Executable,
        elf::ET_REL => FileKind::Relocatable,
        other => return Err(CubinError::Elf(format!("file type {other} is neither ET_EXEC nor ET_REL"))),
    };
    let table = header.sections(ENDIAN, bytes)?;
    let mut budget = Budget::new(bytes);
    let sections = sections(&table, bytes, &mut budget)?;
    let symbols = symbols(&table, bytes, &sections, &mut budget)?;
    let relocations = relocations(&table, bytes, sections.len(), symbols.len())?;
    let e_flags = header.e_flags(ENDIAN).0;
    let (abi_version, os_abi) = (header.e_ident().abi_version, header.e_ident().os_abi.0);
    let compat = sections.iter().find(|s| s.sh_type == compat::SHT_CUDA_COMPAT.0);
    let suffix = match compat {
        Some(section) => compat::suffix(&section.data, section.file_offset)?,
        None => None,
    };
    let mut target = Target::from_e_flags(e_flags, abi_version);
    target.suffix = suffix.unwrap_or(target.suffix);
    Ok((Tables { target, kind, e_flags, abi_version, os_abi, sections, symbols, relocations }, budget))
}

fn sections(table: &Sections<'_>, bytes: &[u8], budget: &mut Budget) -> Result<Vec<Section>, CubinError> {
    let mut out = Vec::with_capacity(table.len());
    for header in table.iter() {
        let name = String::from_utf8_lossy(table.section_name(ENDIAN, header)?).into_owned();
        let sh_type = header.sh_type(ENDIAN);
        let data = if takes_no_space(sh_type.0) { &[] } else { header.data(ENDIAN, bytes)? };
        let file_offset = header.sh_offset(ENDIAN);
        budget.take(name.len() + data.len(), file_offset)?;
        let sh_flags = header.sh_flags(ENDIAN);
        let sh_info = header.sh_info(ENDIAN);
        let linked = sh_flags.contains(elf::SHF_INFO_LINK) || sh_type == elf::SHT_REL || sh_type == elf::SHT_RELA;
        let target = usize::try_from(sh_info).ok().filter(|&i| linked && i < table.len());
        out.push(Section {
            kind: section_kind(&name),
            name,
            sh_type: sh_type.0,
            sh_flags: sh_flags.0,
            sh_link: header.sh_link(ENDIAN),
            sh_info,
            size: header.sh_size(ENDIAN),
            align: header.sh_addralign(ENDIAN).max(1),
            file_offset,
            data: data.to_vec(),
            target,
        });
    }
    Ok(out)
}

/// What a section is, from its name.
fn section_kind(name: &str) -> SectionKind {
    const PREFIXES: &[(&str, SectionKind)] = &[
        (".text.", SectionKind::Text),
        (".nv.shared.reserved.", SectionKind::SharedReserved),
        (".nv.shared.", SectionKind::Shared),
        (".nv_debug.shared", SectionKind::Shared),
        (".nv.local.", SectionKind::Local),
        (".nv.info.", SectionKind::Info),
        (".debug_", SectionKind::Debug),
        (".nv_debug_", SectionKind::Debug),
    ];
    match name {
        ".nv.global" => return SectionKind::Global,
        ".nv.global.init" => return SectionKind::GlobalInit,
        ".nv.info" => return SectionKind::Info,
        _ => {}
    }
    if let Some(rest) = name.strip_prefix(".nv.constant") {
        let number = rest.split('.').next().unwrap_or(rest);
        if let Ok(bank) = number.parse() {
            return SectionKind::Constant { bank };
        }
    }
    let row = PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix));
    row.map_or(SectionKind::Other, |(_, kind)| kind.clone())
}

fn symbols(
    table: &Sections<'_>,
    bytes: &[u8],
    sections: &[Section],
    budget: &mut Budget,
) -> Result<Vec<Symbol>, CubinError> {
    let entries = table.symbols(ENDIAN, bytes, elf::SHT_SYMTAB)?;
    let mut out = Vec::with_capacity(entries.len());
    for (index, entry) in entries.enumerate() {
        let section = entries.symbol_section(ENDIAN, entry, index)?.map(|s| s.0);
        if section.is_some_and(|s| s >= sections.len()) {
            return Err(CubinError::Elf(format!("symbol {} is in a section that does not exist", index.0)));
        }
        let kind = match entry.st_type() {
            elf::STT_NOTYPE => SymbolKind::NoType,
            elf::STT_OBJECT | STT_CUDA_OBJECT => SymbolKind::Object,
            elf::STT_FUNC => SymbolKind::Function,
            elf::STT_SECTION => SymbolKind::Section,
            other => SymbolKind::Other(other.0),
        };
        let binding = match entry.st_bind() {
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Global,
        };
        let name = match (kind, section) {
            (SymbolKind::Section, Some(section)) => sections[section].name.clone(),
            _ => String::from_utf8_lossy(entries.symbol_name(ENDIAN, entry)?).into_owned(),
        };
        budget.take(name.len(), 0)?;
        let (other, value, size) = (entry.st_other().0, entry.st_value(ENDIAN), entry.st_size(ENDIAN));
        let is_common = entry.st_shndx(ENDIAN) == elf::SHN_COMMON;
        out.push(Symbol { name, kind, binding, other, section, value, size, is_common });
    }
    Ok(out)
}

fn relocations(
    table: &Sections<'_>,
    bytes: &[u8],
    section_count: usize,
    symbol_count: usize,
) -> Result<Vec<Relocation>, CubinError> {
    let mut out = Vec::new();
    for header in table.iter() {
        let first = out.len();
        let section = header.info_link(ENDIAN).0;
        if let Some((entries, _)) = header.rel(ENDIAN, bytes)? {
            out.extend(entries.iter().map(|entry| {
                let (number, symbol) = (entry.r_type(ENDIAN).0, entry.r_sym(ENDIAN));
                relocation(section, entry.r_offset(ENDIAN), number, symbol, None)
            }));
        }
        if let Some((entries, _)) = header.rela(ENDIAN, bytes)? {
            out.extend(entries.iter().map(|entry| {
                let (number, symbol) = (entry.r_type(ENDIAN, false).0, entry.r_sym(ENDIAN, false));
                relocation(section, entry.r_offset(ENDIAN), number, symbol, Some(entry.r_addend(ENDIAN)))
            }));
        }
        let valid = |r: &Relocation| r.section < section_count && r.symbol < symbol_count;
        if !out[first..].iter().all(valid) {
            let what = "relocation names a section or symbol that does not exist".to_owned();
            return Err(CubinError::Malformed { offset: header.sh_offset(ENDIAN), what });
        }
    }
    Ok(out)
}

fn relocation(section: usize, offset: u64, number: u32, symbol: u32, addend: Option<i64>) -> Relocation {
    let symbol = usize::try_from(symbol).unwrap_or(usize::MAX);
    Relocation { section, offset, number, kind: RelocKind::by_number(number), symbol, addend }
}
