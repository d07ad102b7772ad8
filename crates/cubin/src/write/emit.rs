//! The planned sections and symbols as an ELF file.

use std::collections::HashMap;

use object::write::StringId;
use object::write::elf::{FileHeader, ProgramHeader, Rel, SectionHeader, SectionIndex, Sym, Writer};
use object::{Endianness, elf};

use super::plan::{Body, Link, Second, SectionPlan, SymbolTable};
use crate::error::WriteError;
use crate::model::{Binding, FileKind};
use crate::spec::ModuleSpec;
use crate::target::{ABI_VERSION_NEW, OSABI_CUDA_NEW, to_e_flags};

/// Alignment of program headers and of the tables.
const TABLE_ALIGN: u64 = 8;

/// A section with its place in the file.
struct Placed<'a> {
    plan: &'a SectionPlan,
    name: StringId,
    offset: u64,
}

pub(super) fn emit(
    module: &ModuleSpec,
    sections: &[SectionPlan],
    symbols: &SymbolTable,
) -> Result<Vec<u8>, WriteError> {
    let mut buffer = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut buffer);
    let index = reserve_indices(&mut writer, sections)?;
    let symbol_names: Vec<Option<StringId>> = symbols
        .symbols
        .iter()
        .map(|s| (s.kind != elf::STT_SECTION).then(|| writer.add_string(s.name.as_bytes())))
        .collect();
    let text_names: HashMap<&str, StringId> =
        sections.iter().flat_map(texts).map(|text| (text, writer.add_string(text.as_bytes()))).collect();
    writer.reserve_null_symbol_index();
    for symbol in &symbols.symbols {
        writer.reserve_symbol_index(symbol.section.as_deref().and_then(|s| index.get(s).copied()));
    }
    let section_names: Vec<StringId> = sections.iter().map(|s| writer.add_section_name(s.name.as_bytes())).collect();

    writer.reserve_file_header();
    writer.reserve_shstrtab().map_err(refused)?;
    writer.reserve_strtab().map_err(refused)?;
    writer.reserve_symtab();
    let places = sections.iter().zip(section_names).map(|(plan, name)| {
        let offset = reserve(&mut writer, plan);
        Placed { plan, name, offset }
    });
    let placed: Vec<Placed<'_>> = places.collect();
    writer.reserve_section_headers();
    let segments = match module.kind {
        FileKind::Executable => segments(&placed),
        FileKind::Relocatable => Vec::new(),
    };
    let header_segments = if segments.is_empty() { 0 } else { 2 };
    let segment_count = segments.len() as u32 + header_segments;
    let segment_offset = writer.reserved_len().next_multiple_of(TABLE_ALIGN);
    if segment_count > 0 {
        writer.reserve_program_headers(segment_count);
    }

    writer.write_file_header(&file_header(module)).map_err(refused)?;
    writer.write_shstrtab();
    writer.write_strtab();
    write_symbols(&mut writer, symbols, &symbol_names, &index);
    for section in &placed {
        write_body(&mut writer, section.plan, &text_names);
    }
    write_section_headers(&mut writer, &placed, symbols.first_global, &index);
    if segment_count > 0 {
        write_segments(&mut writer, segment_offset, segment_count, &segments);
    }
    Ok(buffer)
}

fn refused(error: object::write::Error) -> WriteError {
    WriteError::Elf(error.to_string())
}

/// The texts that the pairs of a section lead to.
fn texts(section: &SectionPlan) -> impl Iterator<Item = &str> {
    let pairs = match &section.body {
        Body::Pairs(pairs) => pairs.as_slice(),
        _ => &[],
    };
    pairs.iter().filter_map(|pair| match &pair.second {
        Second::Text(text) => Some(text.as_str()),
        Second::Number(_) => None,
    })
}

fn file_header(module: &ModuleSpec) -> FileHeader {
    FileHeader {
        os_abi: elf::OsAbi(OSABI_CUDA_NEW),
        abi_version: ABI_VERSION_NEW,
        e_type: match module.kind {
            FileKind::Executable => elf::ET_EXEC,
            FileKind::Relocatable => elf::ET_REL,
        },
        e_machine: elf::EM_CUDA,
        e_entry: 0,
        e_flags: elf::FileFlags(to_e_flags(module.target)),
    }
}

/// Numbers the sections: null, `.shstrtab`, `.strtab`, `.symtab`, then the planned ones. Symbols
/// are numbered later, in the order in which they are written.
fn reserve_indices<'a>(
    writer: &mut Writer<'_>,
    sections: &'a [SectionPlan],
) -> Result<HashMap<&'a str, SectionIndex>, WriteError> {
    writer.reserve_null_section_index();
    writer.reserve_shstrtab_section_index();
    writer.reserve_strtab_section_index();
    writer.reserve_symtab_section_index();
    let mut index = HashMap::new();
    for section in sections {
        let number = writer.reserve_section_index();
        if index.insert(section.name.as_str(), number).is_some() {
            return Err(WriteError::DuplicateSymbol(section.name.clone()));
        }
    }
    Ok(index)
}

/// Reserves the bytes of a section; gives their offset.
fn reserve(writer: &mut Writer<'_>, section: &SectionPlan) -> u64 {
    match &section.body {
        Body::Data(bytes) => writer.reserve(bytes.len() as u64, section.align),
        Body::NoBits(_) => writer.reserved_len(),
        Body::Pairs(_) => writer.reserve(section.size(), section.align),
        Body::Relocations(list) => writer.reserve_relocations(list.len(), section.sh_type == elf::SHT_RELA),
    }
}

fn write_body(writer: &mut Writer<'_>, section: &SectionPlan, text_names: &HashMap<&str, StringId>) {
    match &section.body {
        Body::Data(bytes) if bytes.is_empty() => {}
        Body::Data(bytes) => {
            writer.write_align(section.align);
            writer.write(bytes);
        }
        Body::NoBits(_) => {}
        Body::Pairs(pairs) => {
            writer.write_align(section.align);
            for pair in pairs {
                let second = match &pair.second {
                    Second::Number(number) => *number,
                    Second::Text(text) => writer.string_offset(text_names.get(text.as_str()).copied()),
                };
                writer.write(&pair.first.to_le_bytes());
                writer.write(&second.to_le_bytes());
            }
        }
        Body::Relocations(list) => {
            writer.write_align_relocation();
            for r in list {
                let rel = Rel {
                    r_offset: r.offset,
                    r_sym: r.symbol,
                    r_type: elf::RelocationType(r.kind.number),
                    r_addend: r.addend,
                };
                writer.write_relocation(section.sh_type == elf::SHT_RELA, &rel);
            }
        }
    }
}

fn write_symbols(
    writer: &mut Writer<'_>,
    symbols: &SymbolTable,
    names: &[Option<StringId>],
    index: &HashMap<&str, SectionIndex>,
) {
    writer.write_null_symbol();
    for (symbol, name) in symbols.symbols.iter().zip(names) {
        let bind = match symbol.binding {
            Binding::Local => elf::STB_LOCAL,
            Binding::Global => elf::STB_GLOBAL,
            Binding::Weak => elf::STB_WEAK,
        };
        writer.write_symbol(&Sym {
            st_name: writer.string_offset(*name),
            section: symbol.section.as_deref().and_then(|s| index.get(s)).map(|index| index.0),
            st_info: elf::SymbolInfo::new(bind, symbol.kind),
            st_other: elf::SymbolOther(symbol.other),
            st_shndx: elf::SHN_UNDEF,
            st_value: symbol.value,
            st_size: symbol.size,
        });
    }
}

fn write_section_headers(
    writer: &mut Writer<'_>,
    placed: &[Placed<'_>],
    first_global: u32,
    index: &HashMap<&str, SectionIndex>,
) {
    let symtab = writer.symtab_index().0;
    writer.write_null_section_header();
    writer.write_shstrtab_section_header();
    writer.write_strtab_section_header();
    writer.write_symtab_section_header(first_global);
    for section in placed {
        let plan = section.plan;
        let about = plan.about.as_deref().and_then(|name| index.get(name)).map(|i| i.0);
        let size = match &plan.body {
            Body::Relocations(list) => plan.entry_size * list.len() as u64,
            Body::Data(_) | Body::NoBits(_) | Body::Pairs(_) => plan.size(),
        };
        writer.write_section_header(&SectionHeader {
            sh_name: writer.section_name_offset(Some(section.name)),
            sh_type: plan.sh_type,
            sh_flags: plan.flags,
            sh_addr: 0,
            sh_offset: section.offset,
            sh_size: size,
            sh_link: if plan.link == Link::Symtab { symtab } else { 0 },
            sh_info: about.unwrap_or(plan.info),
            sh_addralign: plan.align,
            sh_entsize: plan.entry_size,
        });
    }
}

/// A run of sections that are loaded with the same rights.
struct Segment {
    flags: elf::ProgramFlags,
    offset: u64,
    file_size: u64,
    memory_size: u64,
}

/// The runs of neighbouring sections in memory.
fn segments(placed: &[Placed<'_>]) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::new();
    for section in placed.iter().filter(|s| s.plan.flags.contains(elf::SHF_ALLOC)) {
        let plan = section.plan;
        let mut flags = elf::PF_R;
        if plan.flags.contains(elf::SHF_EXECINSTR) {
            flags |= elf::PF_X;
        }
        if plan.flags.contains(elf::SHF_WRITE) {
            flags |= elf::PF_W;
        }
        if out.last().is_none_or(|last| last.flags != flags) {
            out.push(Segment { flags, offset: section.offset, file_size: 0, memory_size: 0 });
        }
        let Some(last) = out.last_mut() else { continue };
        match &plan.body {
            Body::NoBits(size) => {
                let start = last.memory_size.checked_next_multiple_of(plan.align);
                last.memory_size = start.unwrap_or(u64::MAX).saturating_add(*size);
            }
            Body::Data(_) | Body::Relocations(_) | Body::Pairs(_) => {
                last.file_size = section.offset + plan.size() - last.offset;
                last.memory_size = last.file_size;
            }
        }
    }
    out
}

fn write_segments(writer: &mut Writer<'_>, offset: u64, count: u32, segments: &[Segment]) {
    writer.write_align_program_headers();
    let entry = size_of::<elf::ProgramHeader64<Endianness>>() as u64;
    let own = Segment {
        flags: elf::PF_R,
        offset,
        file_size: entry * u64::from(count),
        memory_size: entry * u64::from(count),
    };
    let loads = std::iter::once(&own).chain(segments).map(|s| (elf::PT_LOAD, s));
    for (p_type, segment) in std::iter::once((elf::PT_PHDR, &own)).chain(loads) {
        writer.write_program_header(&ProgramHeader {
            p_type,
            p_flags: segment.flags,
            p_offset: segment.offset,
            p_vaddr: 0,
            p_paddr: 0,
            p_filesz: segment.file_size,
            p_memsz: segment.memory_size,
            p_align: TABLE_ALIGN,
        });
    }
}
