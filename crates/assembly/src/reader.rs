//! The text back to a file.

use crate::code::{assemble, parse_control};
use crate::elf::{File, HEADER_BYTES, SECTION_BYTES, SEGMENT_BYTES, Section, SectionHeader, Segment};
use crate::moved::Moves;
use object::LittleEndian as LE;
use object::elf::{self, Rel64, Rela64, Sym64};
use object::pod::{Pod, bytes_of, from_bytes};
use oriole_isa::{Arch, Control, code};
use std::collections::HashMap;

/// Files larger than this are refused: a number in the text is wrong.
const LARGEST: u64 = 1 << 30;
/// Bytes between the pieces of a file that the text does not give, for each piece. Cubins align theirs to 128 at most.
const LARGEST_PADDING: u64 = 1 << 16;
/// Bytes that all '.zero' lines of a text may make.
const MOST_ZEROS: u64 = 256 << 20;

/// Bytes of the largest header that a line makes.
const LARGEST_HEADER: usize = 64;

/// The text is no cubin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct AssemblyError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// An instruction or a word of a code section, as far as one pass tells.
enum Unit<'a> {
    Word(u128),
    Text(Control, &'a str),
}

/// A line of a code section that takes an instruction's place.
struct Line<'a> {
    number: usize,
    /// The address that the line says it had; none for lines that were added by hand.
    address: Option<u64>,
    unit: Unit<'a>,
}

/// What is being read.
enum Open<'a> {
    Nothing,
    Gap,
    Section { lines: Vec<Line<'a>>, labels: HashMap<&'a str, usize> },
}

struct Reader<'a> {
    file: File,
    arch: Option<Arch>,
    open: Open<'a>,
    moves: Vec<Moves>,
    /// Bytes of the '.zero' lines so far.
    zeros: u64,
}

/// The file, and which instructions are no longer where their addresses say.
pub(crate) fn read(text: &str) -> Result<(File, Vec<Moves>), AssemblyError> {
    let mut reader: Option<Reader<'_>> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let fail = |message: String| AssemblyError { line: number, message };
        let line = without_comment(line).trim();
        match (&mut reader, line.strip_prefix(".elf ")) {
            _ if line.is_empty() => {}
            (None, Some(fields)) => reader = Some(Reader::new(&Fields::parse(fields).map_err(fail)?).map_err(fail)?),
            (None, None) => {
                let message = "the text begins with no '.elf' line; 'oriole disasm --all' writes one";
                return Err(fail(message.to_owned()));
            }
            (Some(reader), _) => reader.line(number, line)?,
        }
    }
    let lines = text.lines().count();
    let mut reader =
        reader.ok_or_else(|| AssemblyError { line: lines, message: "there is no '.elf' line".to_owned() })?;
    reader.close()?;
    check_reach(&reader.file).map_err(|message| AssemblyError { line: lines, message })?;
    Ok((reader.file, reader.moves))
}

/// A number in the text must not make a file that is mostly gaps.
fn check_reach(file: &File) -> Result<(), String> {
    let sections = file.sections.iter().filter(|section| section.is_in_file());
    let sections = sections.map(|section| (section.header.sh_offset.get(LE), section.data.len() as u64));
    let gaps = file.gaps.iter().map(|(offset, bytes)| (*offset, bytes.len() as u64));
    let tables = [
        (0, HEADER_BYTES),
        (file.header.e_phoff.get(LE), file.segments.len() as u64 * SEGMENT_BYTES),
        (file.header.e_shoff.get(LE), file.sections.len() as u64 * SECTION_BYTES),
    ];
    let pieces: Vec<(u64, u64)> = sections.chain(gaps).chain(tables).collect();
    let contents: u64 = pieces.iter().map(|(_, size)| size).sum();
    let reach = pieces.iter().map(|(offset, size)| offset + size).max().unwrap_or(0).max(file.size);
    match reach <= contents + pieces.len() as u64 * LARGEST_PADDING {
        true => Ok(()),
        false => Err(format!("the file would have {reach} bytes, of which the text gives only {contents}")),
    }
}

/// The line up to `//`, unless that stands in a quoted string.
fn without_comment(line: &str) -> &str {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '/' if !quoted && line[at..].starts_with("//") => return &line[..at],
            _ => {}
        }
    }
    line
}

/// `NAME=VALUE` pairs of a directive.
struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Fields<'a> {
    fn parse(text: &'a str) -> Result<Fields<'a>, String> {
        let pair = |word: &'a str| word.split_once('=').ok_or_else(|| format!("expected NAME=VALUE, not '{word}'"));
        text.split_whitespace().map(pair).collect::<Result<_, _>>().map(Fields)
    }

    fn text(&self, name: &str) -> Result<&'a str, String> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v).ok_or_else(|| format!("'{name}=' is missing"))
    }

    fn number<T: TryFrom<u64>>(&self, name: &str) -> Result<T, String> {
        let text = self.text(name)?;
        parse_number(text)
            .and_then(|value| T::try_from(value).ok())
            .ok_or_else(|| format!("'{text}' is no value of '{name}'"))
    }

    /// A place or size in the file.
    fn extent(&self, name: &str) -> Result<u64, String> {
        let value = self.number(name)?;
        if value > LARGEST { Err(format!("'{name}' is larger than any file")) } else { Ok(value) }
    }
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A header or row of zeros; every such type of ELF is bytes without invariants.
fn blank<T: Pod>() -> Result<T, String> {
    let zeros = [0; LARGEST_HEADER];
    from_bytes(&zeros).map(|(value, _)| *value).map_err(|()| "a header larger than any of ELF".to_owned())
}

fn hex_bytes(text: &str) -> Result<Vec<u8>, String> {
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    bytes.filter(|_| rest.is_empty()).ok_or_else(|| format!("'{text}' is not hexadecimal"))
}

impl<'a> Reader<'a> {
    fn new(fields: &Fields<'_>) -> Result<Reader<'a>, String> {
        let size = fields.extent("size")?;
        let mut bytes = [0; 64];
        let ident = hex_bytes(fields.text("ident")?)?;
        bytes[..16].copy_from_slice(ident.get(..16).ok_or("'ident' is shorter than 16 bytes")?);
        let (header, _) = from_bytes(&bytes).map_err(|()| "no room for a header")?;
        let mut file = File { header: *header, segments: Vec::new(), sections: Vec::new(), gaps: Vec::new(), size };
        let header = &mut file.header;
        header.e_type.set(LE, elf::FileType(fields.number("type")?));
        header.e_machine.set(LE, elf::Machine(fields.number("machine")?));
        header.e_version.set(LE, fields.number("version")?);
        header.e_entry.set(LE, fields.number("entry")?);
        header.e_flags.set(LE, elf::FileFlags(fields.number("flags")?));
        header.e_phoff.set(LE, fields.extent("phoff")?);
        header.e_shoff.set(LE, fields.extent("shoff")?);
        header.e_ehsize.set(LE, fields.number("ehsize")?);
        header.e_phentsize.set(LE, fields.number("phentsize")?);
        header.e_phnum.set(LE, fields.number("phnum")?);
        header.e_shentsize.set(LE, fields.number("shentsize")?);
        header.e_shnum.set(LE, fields.number("shnum")?);
        header.e_shstrndx.set(LE, elf::SymbolSection(fields.number("shstrndx")?));
        let arch = Arch::of_capability(file.target().sm);
        Ok(Reader { file, arch, open: Open::Nothing, moves: Vec::new(), zeros: 0 })
    }

    fn line(&mut self, number: usize, line: &'a str) -> Result<(), AssemblyError> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let done = match word {
            ".segment" => self.segment(rest),
            ".section" => self.close().map(|()| self.section(rest))?,
            ".gap" => self.gap(rest),
            ".bytes" => hex_bytes(rest).and_then(|bytes| self.extend(&bytes)),
            ".zero" => self.zeros(rest),
            ".string" => self.string(rest),
            ".symbol" => self.symbol(rest),
            ".reloc" => self.relocation(rest),
            _ => self.code_line(number, line),
        };
        done.map_err(|message| AssemblyError { line: number, message })
    }

    fn segment(&mut self, text: &str) -> Result<(), String> {
        let fields = Fields::parse(text)?;
        let mut segment: Segment = blank()?;
        segment.p_type.set(LE, elf::ProgramType(fields.number("type")?));
        segment.p_flags.set(LE, elf::ProgramFlags(fields.number("flags")?));
        segment.p_offset.set(LE, fields.extent("offset")?);
        segment.p_vaddr.set(LE, fields.number("vaddr")?);
        segment.p_paddr.set(LE, fields.number("paddr")?);
        segment.p_filesz.set(LE, fields.extent("filesz")?);
        segment.p_memsz.set(LE, fields.extent("memsz")?);
        segment.p_align.set(LE, fields.number("align")?);
        self.file.segments.push(segment);
        Ok(())
    }

    fn section(&mut self, text: &str) -> Result<(), String> {
        let (name, fields) = quoted(text)?;
        let fields = Fields::parse(fields)?;
        let mut header: SectionHeader = blank()?;
        header.sh_name.set(LE, fields.number("name")?);
        header.sh_type.set(LE, elf::SectionType(fields.number("type")?));
        header.sh_flags.set(LE, elf::SectionFlags(fields.number("flags")?));
        header.sh_addr.set(LE, fields.number("addr")?);
        header.sh_offset.set(LE, fields.extent("offset")?);
        header.sh_size.set(LE, fields.number("size")?);
        header.sh_link.set(LE, fields.number("link")?);
        header.sh_info.set(LE, fields.number("info")?);
        header.sh_addralign.set(LE, fields.number("align")?);
        header.sh_entsize.set(LE, fields.number("entsize")?);
        let section = Section { header, name, data: Vec::new() };
        if section.is_in_file() {
            fields.extent("size")?;
        }
        self.file.sections.push(section);
        self.open = Open::Section { lines: Vec::new(), labels: HashMap::new() };
        Ok(())
    }

    fn gap(&mut self, text: &str) -> Result<(), String> {
        self.file.gaps.push((Fields::parse(text)?.extent("offset")?, Vec::new()));
        self.open = Open::Gap;
        Ok(())
    }

    /// Bytes for the section or gap that is open.
    fn extend(&mut self, bytes: &[u8]) -> Result<(), String> {
        let data = match (&self.open, self.file.gaps.last_mut(), self.file.sections.last_mut()) {
            (Open::Gap, Some((_, data)), _) => data,
            (Open::Section { .. }, _, Some(section)) if section.is_in_file() => &mut section.data,
            _ => return Err("there is no section for contents here".to_owned()),
        };
        if (data.len() + bytes.len()) as u64 > LARGEST {
            return Err("the section is larger than any file".to_owned());
        }
        data.extend_from_slice(bytes);
        Ok(())
    }

    fn zeros(&mut self, text: &str) -> Result<(), String> {
        let count = parse_number(text).filter(|count| *count <= LARGEST);
        let count = count.ok_or_else(|| format!("'{text}' is no number of bytes"))?;
        self.zeros += count;
        if self.zeros > MOST_ZEROS {
            return Err(format!("'.zero' lines make more than {MOST_ZEROS} bytes"));
        }
        self.extend(&vec![0; count as usize])
    }

    fn string(&mut self, text: &str) -> Result<(), String> {
        let (string, rest) = quoted(text)?;
        if !rest.is_empty() {
            return Err(format!("'{rest}' follows the string"));
        }
        self.extend(string.as_bytes())?;
        self.extend(&[0])
    }

    fn symbol(&mut self, text: &str) -> Result<(), String> {
        let fields = Fields::parse(text)?;
        let mut symbol: Sym64<LE> = blank()?;
        symbol.st_name.set(LE, fields.number("name")?);
        symbol.st_info = elf::SymbolInfo(fields.number("info")?);
        symbol.st_other = elf::SymbolOther(fields.number("other")?);
        symbol.st_shndx.set(LE, elf::SymbolSection(fields.number("section")?));
        symbol.st_value.set(LE, fields.number("value")?);
        symbol.st_size.set(LE, fields.number("size")?);
        self.extend(bytes_of(&symbol))
    }

    /// With an addend a row of RELA, else of REL.
    fn relocation(&mut self, text: &str) -> Result<(), String> {
        let fields = Fields::parse(text)?;
        let (symbol, kind): (u32, u32) = (fields.number("symbol")?, fields.number("type")?);
        let info = u64::from(symbol) << 32 | u64::from(kind);
        let mut row: Rela64<LE> = blank()?;
        row.r_offset.set(LE, fields.number("offset")?);
        row.r_info.set(LE, info);
        let Ok(addend) = fields.text("addend") else {
            return self.extend(&bytes_of(&row)[..size_of::<Rel64<LE>>()]);
        };
        row.r_addend.set(LE, addend.parse().map_err(|_| format!("'{addend}' is no value of 'addend'"))?);
        self.extend(bytes_of(&row))
    }

    /// `[/*ADDRESS*/] [CONTROL] TEXT ;`, `[/*ADDRESS*/] .word HEX` or `LABEL:`.
    fn code_line(&mut self, number: usize, line: &'a str) -> Result<(), String> {
        let Open::Section { lines, labels } = &mut self.open else {
            return Err(format!("expected a directive, not '{line}'"));
        };
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, lines.len());
            return Ok(());
        }
        let (address, rest) = match line.strip_prefix("/*") {
            Some(rest) => {
                let (digits, rest) = rest.split_once("*/").ok_or("'/*' without '*/'")?;
                let address = u64::from_str_radix(digits, 16).map_err(|_| format!("'{digits}' is no address"))?;
                (Some(address), rest.trim())
            }
            None => (None, line),
        };
        let unit = match rest.strip_prefix(".word ") {
            Some(word) => Unit::Word(
                u128::from_str_radix(word.trim().trim_start_matches("0x"), 16)
                    .map_err(|_| format!("'{word}' is no word"))?,
            ),
            None => {
                let text = rest.strip_suffix(';').ok_or("an instruction ends with ';'")?.trim_end();
                let (first, tail) = text.split_once(' ').unwrap_or((text, ""));
                match parse_control(first) {
                    Some(control) => Unit::Text(control, tail),
                    None => Unit::Text(Control::NONE, text),
                }
            }
        };
        lines.push(Line { number, address, unit });
        Ok(())
    }

    /// Assemble the code of the section that ends here, in front of bytes that followed it.
    fn close(&mut self) -> Result<(), AssemblyError> {
        let Open::Section { lines, labels } = std::mem::replace(&mut self.open, Open::Nothing) else { return Ok(()) };
        let index = self.file.sections.len() - 1;
        let Some(first) = lines.first() else { return Ok(()) };
        let fail = |line: usize, message: String| AssemblyError { line, message };
        let arch = self.arch.ok_or_else(|| fail(first.number, "the target's instructions are not known".to_owned()))?;
        let resolve = |name: &str| labels.get(name).map(|index| code::address(*index, arch) as i64);
        let mut words = Vec::with_capacity(lines.len());
        let mut moves = Moves { section: index, by_old: Vec::new(), end: code::address(lines.len(), arch) };
        for (position, line) in lines.iter().enumerate() {
            let pc = code::address(position, arch);
            words.push(match line.unit {
                Unit::Word(word) => word,
                Unit::Text(control, text) => {
                    assemble(text, control, pc, arch, &resolve).map_err(|message| fail(line.number, message))?
                }
            });
            moves.by_old.extend(line.address.map(|old| (old, pc)));
        }
        moves.by_old.sort_unstable();
        let data = &mut self.file.sections[index].data;
        let mut all = code::bytes(&words, arch);
        all.append(data);
        *data = all;
        self.moves.push(moves);
        Ok(())
    }
}

/// A string in quotes, as `{:?}` writes it, and what follows it.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let inner = text.strip_prefix('"').ok_or("expected a string in quotes")?;
    let mut string = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((string, inner[at + 1..].trim())),
            '\\' => string.push(escape(&mut chars).ok_or("unknown escape in a string")?),
            c => string.push(c),
        }
    }
    Err("the string does not end".to_owned())
}

/// The character after a backslash.
fn escape(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    Some(match chars.next()?.1 {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        'u' => {
            chars.next().filter(|(_, c)| *c == '{')?;
            let digits: String = chars.map(|(_, c)| c).take_while(|c| *c != '}').collect();
            char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
        }
        c @ ('"' | '\'' | '\\') => c,
        _ => return None,
    })
}
