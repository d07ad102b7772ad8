//! Functions, put together from symbols, section headers and `.nv.info`.

use std::collections::HashMap;

use super::tables::{Budget, Tables};
use crate::error::CubinError;
use crate::model::{Function, Limits, Param, ParamArea, Section, SectionKind, Symbol, SymbolIndex, SymbolKind};
use crate::nvinfo::{self, Attribute, Value, number};

/// `st_other` bit of a symbol that can be launched.
pub(crate) const STO_CUDA_ENTRY: u8 = 0x10;

/// Numbers that the module's `.nv.info` gives per symbol, by attribute number.
struct SymbolNumbers(HashMap<(u8, SymbolIndex), u32>);

impl SymbolNumbers {
    fn new(info: &[Attribute]) -> Self {
        let mut map = HashMap::new();
        for attribute in info {
            for pair in attribute.as_words().chunks_exact(2) {
                map.insert((attribute.number, pair[0] as usize), pair[1]);
            }
        }
        SymbolNumbers(map)
    }

    fn get(&self, attribute: u8, symbol: SymbolIndex) -> Option<u32> {
        self.0.get(&(attribute, symbol)).copied()
    }
}

/// Sections by name; the first of equal names counts.
struct ByName<'a>(HashMap<&'a str, usize>);

impl<'a> ByName<'a> {
    fn new(sections: &'a [Section]) -> Self {
        let named = sections.iter().enumerate().rev();
        ByName(named.map(|(i, s)| (s.name.as_str(), i)).collect())
    }

    fn get(&self, prefix: &str, name: &str) -> Option<usize> {
        self.0.get(format!("{prefix}{name}").as_str()).copied()
    }
}

/// All functions that have code, in the order of their symbols.
pub(super) fn collect(tables: &Tables, info: &[Attribute], budget: &mut Budget) -> Result<Vec<Function>, CubinError> {
    let numbers = SymbolNumbers::new(info);
    let names = ByName::new(&tables.sections);
    let mut out = Vec::new();
    for (index, symbol) in tables.symbols.iter().enumerate() {
        let Some(section) = symbol.section.filter(|_| symbol.kind == SymbolKind::Function) else { continue };
        if tables.sections[section].kind == SectionKind::Text {
            let info = names.get(".nv.info.", &symbol.name).map(|i| &tables.sections[i]);
            budget.take(info.map_or(0, |s| s.data.len()), info.map_or(0, |s| s.file_offset))?;
            out.push(function(tables, &numbers, &names, index, symbol, section)?);
        }
    }
    inherit(&mut out);
    Ok(out)
}

fn function(
    tables: &Tables,
    numbers: &SymbolNumbers,
    names: &ByName<'_>,
    index: SymbolIndex,
    symbol: &Symbol,
    section: usize,
) -> Result<Function, CubinError> {
    let text = &tables.sections[section];
    let end = symbol.value.checked_add(symbol.size);
    if end.is_none_or(|end| end > text.data.len() as u64) {
        let what = format!("function `{}` reaches past the end of `{}`", symbol.name, text.name);
        return Err(CubinError::Malformed { offset: text.file_offset, what });
    }
    let info = match names.get(".nv.info.", &symbol.name).map(|i| &tables.sections[i]) {
        Some(section) => nvinfo::decode(&section.data, section.file_offset)?,
        None => Vec::new(),
    };
    let notes = Notes(&info);
    let shared_section = names.get(".nv.shared.", &symbol.name);
    let frame_size = numbers.get(number::FRAME_SIZE, index).unwrap_or(0);
    let owns_section = symbol.value == 0;
    let header_registers = text.sh_info >> TEXT_INFO_REGISTERS_SHIFT;
    let header_barriers = (text.sh_flags >> TEXT_FLAGS_BARRIERS_SHIFT) as u32 & TEXT_FLAGS_BARRIERS_MASK;
    Ok(Function {
        name: symbol.name.clone(),
        symbol: index,
        section,
        offset: symbol.value,
        size: symbol.size,
        is_kernel: symbol.other & STO_CUDA_ENTRY != 0,
        registers: numbers.get(number::REGCOUNT, index).unwrap_or(if owns_section { header_registers } else { 0 }),
        barriers: notes.number(number::NUM_BARRIERS).unwrap_or(if owns_section { header_barriers } else { 0 }),
        frame_size,
        min_stack_size: numbers.get(number::MIN_STACK_SIZE, index).unwrap_or(frame_size),
        max_stack_size: numbers.get(number::MAX_STACK_SIZE, index),
        params: notes.params(),
        param_area: notes.param_area(),
        shared_size: shared_section.map_or(0, |i| tables.sections[i].size),
        shared_section,
        limits: notes.limits(),
        info,
    })
}

/// Registers stand in the top byte of a text section's `sh_info` (up to sm_89).
const TEXT_INFO_REGISTERS_SHIFT: u32 = 24;
/// Barriers stand in a text section's `sh_flags` (CUDA 12 and before).
const TEXT_FLAGS_BARRIERS_SHIFT: u32 = 20;
const TEXT_FLAGS_BARRIERS_MASK: u32 = 0x7f;

/// Device functions inside a kernel's section run with the kernel's registers and barriers.
fn inherit(functions: &mut [Function]) {
    let owners: HashMap<usize, (u32, u32)> = functions
        .iter()
        .filter(|f| f.offset == 0 && f.registers != 0)
        .map(|f| (f.section, (f.registers, f.barriers)))
        .collect();
    for function in functions.iter_mut().filter(|f| f.registers == 0) {
        if let Some(&(registers, barriers)) = owners.get(&function.section) {
            function.registers = registers;
            function.barriers = barriers;
        }
    }
}

/// The records of one function.
struct Notes<'a>(&'a [Attribute]);

impl Notes<'_> {
    fn find(&self, number: u8) -> Option<&Attribute> {
        self.0.iter().find(|a| a.number == number)
    }

    fn number(&self, number: u8) -> Option<u32> {
        self.find(number)?.as_words().first().copied()
    }

    fn shape(&self, number: u8) -> Option<[u32; 3]> {
        self.find(number)?.as_words().first_chunk().copied()
    }

    fn params(&self) -> Vec<Param> {
        let records = self.0.iter().filter(|a| a.number == number::KPARAM_INFO || a.number == number::KPARAM_INFO_V2);
        let mut params: Vec<Param> = records.filter_map(param).collect();
        params.sort_by_key(|p| p.ordinal);
        params
    }

    fn param_area(&self) -> Option<ParamArea> {
        let words = self.find(number::PARAM_CBANK)?.as_words();
        let place = *words.get(1)?;
        let size = self.number(number::CBANK_PARAM_SIZE).unwrap_or(place >> 16);
        Some(ParamArea { bank: 0, base: place & 0xffff, size })
    }

    fn languages(&self) -> Vec<u8> {
        let words = self.find(number::LANGUAGE).map(|attribute| attribute.as_words()).unwrap_or_default();
        words.iter().filter_map(|word| u8::try_from(*word).ok()).collect()
    }

    fn limits(&self) -> Limits {
        Limits {
            max_threads: self.shape(number::MAX_THREADS),
            required_threads: self.shape(number::REQNTID),
            max_registers: self.number(number::MAXREG_COUNT),
            cluster: self.shape(number::CTA_PER_CLUSTER),
            max_cluster_rank: self.number(number::MAX_CLUSTER_RANK),
            explicit_cluster: self.find(number::EXPLICIT_CLUSTER).is_some(),
            min_per_cta_memory: None,
            languages: self.languages(),
        }
    }
}

/// A parameter record: index word, then ordinal and offset, then flags and size.
fn param(attribute: &Attribute) -> Option<Param> {
    let Value::Sized(_) = attribute.value else { return None };
    let words = attribute.as_words();
    let (&place, &word) = (words.get(1)?, words.get(2)?);
    let large = attribute.number == number::KPARAM_INFO_V2;
    let size = if large { word & PARAM_V2_SIZE_MASK } else { word >> PARAM_SIZE_SHIFT };
    Some(Param { ordinal: place as u16, offset: place >> 16, size })
}

/// Size of a parameter in the third word of its record; below it stand the bank and flags.
pub(crate) const PARAM_SIZE_SHIFT: u32 = 18;
/// In a record of the second version, which kernels with more than 4 KB of parameters have, the
/// size is the low half of the word.
const PARAM_V2_SIZE_MASK: u32 = 0xffff;

/// The lists of `.nv.callgraph`.
#[derive(Default)]
pub(super) struct CallGraph {
    /// Callers and callees.
    pub(super) direct: Vec<(SymbolIndex, SymbolIndex)>,
    /// Functions whose address is taken.
    pub(super) address_taken: Vec<SymbolIndex>,
    /// Functions that call through addresses.
    pub(super) indirect: Vec<SymbolIndex>,
}

impl CallGraph {
    /// Each list is led by a pair with a negative second word, its number: -1 direct calls, -2 functions whose address
    /// is taken, -3 those that call through one. The second word of the latter two is the place of a prototype.
    pub(super) fn read(tables: &Tables) -> Result<Self, CubinError> {
        let mut graph = CallGraph::default();
        let Some(section) = tables.sections.iter().find(|s| s.name == ".nv.callgraph") else { return Ok(graph) };
        let mut list = 0;
        for (i, pair) in section.data.chunks_exact(8).enumerate() {
            let word = |at: usize| u32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
            let (first, second) = (word(0) as usize, word(4));
            if (second as i32) < 0 {
                list = second as i32;
                continue;
            }
            let last = if list == -1 { first.max(second as usize) } else { first };
            if (-3..=-1).contains(&list) && last >= tables.symbols.len() {
                let what = "call graph names a symbol that does not exist".to_owned();
                return Err(CubinError::Malformed { offset: section.file_offset.saturating_add(8 * i as u64), what });
            }
            match list {
                -1 => graph.direct.push((first, second as usize)),
                -2 => graph.address_taken.push(first),
                -3 => graph.indirect.push(first),
                _ => {}
            }
        }
        Ok(graph)
    }
}
