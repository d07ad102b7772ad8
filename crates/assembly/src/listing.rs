//! A file as text.

use crate::bytes::write_bytes;
use crate::code;
use crate::elf::{File, Section, string_at};
use object::LittleEndian as LE;
use object::elf::{Rel64, Rela64, SHT_REL, SHT_RELA, SHT_STRTAB, SHT_SYMTAB, Sym64};
use object::pod::slice_from_all_bytes;
use oriole_cubin::reloc::RelocKind;
use oriole_isa::Arch;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The whole file.
pub(crate) fn text(file: &File) -> String {
    let mut out = String::new();
    let target = file.target();
    let arch = Arch::of_capability(target.sm);
    let _ = writeln!(out, "// {target}: made by 'oriole disasm --all', read by 'oriole asm'");
    header(&mut out, file);
    for segment in &file.segments {
        let _ = writeln!(
            out,
            "\t.segment type={:#x} flags={:#x} offset={:#x} vaddr={:#x} paddr={:#x} filesz={:#x} memsz={:#x} align={:#x}",
            segment.p_type.get(LE),
            segment.p_flags.get(LE),
            segment.p_offset.get(LE),
            segment.p_vaddr.get(LE),
            segment.p_paddr.get(LE),
            segment.p_filesz.get(LE),
            segment.p_memsz.get(LE),
            segment.p_align.get(LE),
        );
    }
    for (offset, bytes) in &file.gaps {
        let _ = writeln!(out, "\t.gap offset={offset:#x}");
        write_bytes(&mut out, bytes);
    }
    for (index, section) in file.sections.iter().enumerate() {
        section_header(&mut out, section);
        contents(&mut out, file, index, arch);
    }
    out
}

fn header(out: &mut String, file: &File) {
    let header = &file.header;
    let ident: String = object::pod::bytes_of(header)[..16].iter().map(|b| format!("{b:02x}")).collect();
    let _ = writeln!(
        out,
        "\t.elf ident={ident} type={:#x} machine={:#x} version={:#x} entry={:#x} flags={:#x} phoff={:#x} shoff={:#x} \
         ehsize={:#x} phentsize={:#x} phnum={:#x} shentsize={:#x} shnum={:#x} shstrndx={:#x} size={:#x}",
        header.e_type.get(LE),
        header.e_machine.get(LE),
        header.e_version.get(LE),
        header.e_entry.get(LE),
        header.e_flags.get(LE),
        header.e_phoff.get(LE),
        header.e_shoff.get(LE),
        header.e_ehsize.get(LE),
        header.e_phentsize.get(LE),
        header.e_phnum.get(LE),
        header.e_shentsize.get(LE),
        header.e_shnum.get(LE),
        header.e_shstrndx.get(LE),
        file.size,
    );
}

fn section_header(out: &mut String, section: &Section) {
    let header = &section.header;
    let _ = writeln!(
        out,
        "\n\t.section {:?} name={:#x} type={:#x} flags={:#x} addr={:#x} offset={:#x} size={:#x} link={:#x} info={:#x} \
         align={:#x} entsize={:#x}",
        section.name,
        header.sh_name.get(LE),
        header.sh_type.get(LE),
        header.sh_flags.get(LE),
        header.sh_addr.get(LE),
        header.sh_offset.get(LE),
        header.sh_size.get(LE),
        header.sh_link.get(LE),
        header.sh_info.get(LE),
        header.sh_addralign.get(LE),
        header.sh_entsize.get(LE),
    );
}

/// The contents by the section's type; as bytes where they do not have the type's shape.
fn contents(out: &mut String, file: &File, index: usize, arch: Option<Arch>) {
    let section = &file.sections[index];
    let data = &section.data;
    match section.header.sh_type.get(LE) {
        _ if data.is_empty() => {}
        SHT_STRTAB if data.ends_with(&[0]) => strings(out, data),
        SHT_SYMTAB => match slice_from_all_bytes::<Sym64<LE>>(data) {
            Ok(symbols) => symbols.iter().for_each(|symbol| self::symbol(out, file, index, symbol)),
            Err(()) => write_bytes(out, data),
        },
        SHT_REL => match slice_from_all_bytes::<Rel64<LE>>(data) {
            Ok(rows) => {
                rows.iter().for_each(|row| relocation(out, file, index, row.r_offset.get(LE), row.r_info.get(LE), None))
            }
            Err(()) => write_bytes(out, data),
        },
        SHT_RELA => match slice_from_all_bytes::<Rela64<LE>>(data) {
            Ok(rows) => rows.iter().for_each(|row| {
                relocation(out, file, index, row.r_offset.get(LE), row.r_info.get(LE), Some(row.r_addend.get(LE)));
            }),
            Err(()) => write_bytes(out, data),
        },
        _ => {
            let arch = arch.filter(|_| section.is_code());
            if !arch.is_some_and(|arch| code::write(out, data, arch, &names_in(file, index))) {
                write_bytes(out, data);
            }
        }
    }
}

/// A string table: every string with the zero that ends it.
fn strings(out: &mut String, data: &[u8]) {
    let mut at = 0;
    for string in data[..data.len() - 1].split(|b| *b == 0) {
        match std::str::from_utf8(string) {
            Ok(text) => drop(writeln!(out, "\t.string {text:?} // {at:#x}")),
            Err(_) => {
                write_bytes(out, string);
                let _ = writeln!(out, "\t.zero 1");
            }
        }
        at += string.len() + 1;
    }
}

fn symbol(out: &mut String, file: &File, table: usize, symbol: &Sym64<LE>) {
    let _ = writeln!(
        out,
        "\t.symbol name={:#x} info={:#x} other={:#x} section={:#x} value={:#x} size={:#x} // {}",
        symbol.st_name.get(LE),
        symbol.st_info,
        symbol.st_other,
        symbol.st_shndx.get(LE),
        symbol.st_value.get(LE),
        symbol.st_size.get(LE),
        symbol_name(file, table, symbol),
    );
}

fn relocation(out: &mut String, file: &File, table: usize, offset: u64, info: u64, addend: Option<i64>) {
    let (number, kind) = (info >> 32, info as u32);
    let addend = addend.map_or_else(String::new, |addend| format!(" addend={addend}"));
    let kind_name = RelocKind::by_number(kind).map_or("unknown type", |kind| kind.name);
    let symbols = file.sections[table].header.sh_link.get(LE) as usize;
    let name = symbols_of(file, symbols).get(number as usize).map(|symbol| symbol_name(file, symbols, symbol));
    let _ = writeln!(
        out,
        "\t.reloc offset={offset:#x} type={kind:#x} symbol={number:#x}{addend} // {kind_name} {}",
        name.unwrap_or_default()
    );
}

/// The rows of a symbol table; none if the section is no table.
pub(crate) fn symbols_of(file: &File, table: usize) -> &[Sym64<LE>] {
    let section = file.sections.get(table).filter(|section| section.header.sh_type.get(LE) == SHT_SYMTAB);
    section.and_then(|section| slice_from_all_bytes(&section.data).ok()).unwrap_or(&[])
}

fn symbol_name(file: &File, table: usize, symbol: &Sym64<LE>) -> String {
    let strings = file.sections[table].header.sh_link.get(LE) as usize;
    file.sections.get(strings).map_or_else(String::new, |strings| string_at(&strings.data, symbol.st_name.get(LE)))
}

/// Names of the symbols that lie in a section, by offset. Section symbols have none of their own.
fn names_in(file: &File, section: usize) -> BTreeMap<u64, Vec<String>> {
    let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for table in 0..file.sections.len() {
        let here = symbols_of(file, table).iter().filter(|symbol| usize::from(symbol.st_shndx.get(LE).0) == section);
        for symbol in here.filter(|symbol| symbol.st_type() != object::elf::STT_SECTION) {
            names.entry(symbol.st_value.get(LE)).or_default().push(symbol_name(file, table, symbol));
        }
    }
    names
}
