//! [`ModuleSpec`] to bytes.

mod emit;
mod frame;
mod info;
mod instructions;
mod layout;
mod lines;
mod plan;
mod relocations;
mod sections;
mod symbols;
mod variables;

use object::elf::{self, SectionFlags};

pub use layout::{param_base, reserved_shared, targets};

use crate::compat;
use crate::error::WriteError;
use crate::model::FileKind;
use crate::notes::{CUINFO, TKINFO};
use crate::reloc;
use crate::spec::{FunctionSpec, InnerFunctionSpec, ModuleSpec, ObjectKind, RelocSpec};
use layout::Layout;
use plan::{SHT_CUDA_CALLGRAPH, SHT_CUDA_HOST, SHT_CUDA_INFO, SHT_CUDA_PROTOTYPE, SectionPlan, SymbolTable};
use relocations::Relocator;
use sections::{
    ADDRESS_TABLE, DEBUG_FRAME, bank0_name, has_shared, in_object_file, shared_base, shared_name, text_name,
};
use variables::{CONSTANT, GLOBAL, GLOBAL_INIT, SHARED, VariableSection, Variables};

/// Section flags: constants and kernels' shared memory are memory, code can be executed,
/// variables can be written.
const CONSTANT_FLAGS: SectionFlags = elf::SHF_ALLOC;
const TEXT_FLAGS: SectionFlags = SectionFlags(elf::SHF_ALLOC.0 | elf::SHF_EXECINSTR.0);
const MEMORY_FLAGS: SectionFlags = SectionFlags(elf::SHF_ALLOC.0 | elf::SHF_WRITE.0);

/// Flags of `.note.nv.tkinfo` and `.note.nv.cuinfo`, as ptxas sets them.
const TKINFO_FLAGS: SectionFlags = SectionFlags(0x0200_0000);
const CUINFO_FLAGS: SectionFlags = SectionFlags(0x0100_0000);

/// Bytes to which code is aligned: a line of the instruction cache, as all files of ptxas 12 and 13 have it.
pub(crate) const TEXT_ALIGN: u64 = 128;
/// Alignments in bytes.
const BANK_ALIGN: u64 = 4;
/// Alignment of `.nv.host` (ptxas 13.0.88).
const HOST_ALIGN: u64 = 8;
const SHARED_ALIGN: u64 = 16;

/// Bytes of a word with numbers of objects.
const SLOT_BYTES: u32 = 4;

/// Bytes of an instruction.
const INSTRUCTION_BYTES: usize = 16;

/// Bytes of one address in it.
const ADDRESS_BYTES: u32 = 8;

/// Writes a module as a cubin. The same description gives the same bytes.
pub fn write(module: &ModuleSpec) -> Result<Vec<u8>, WriteError> {
    let unknown = || WriteError::UnknownTarget(module.target.to_string());
    let layout = layout::layout(module.target).ok_or_else(unknown)?;
    for function in &module.functions {
        check_function(layout, function)?;
    }
    let variables = Variables::new(module)?;
    let symbols = SymbolTable::new(symbols::collect(module, layout, &variables))?;
    let sections = all_sections(module, layout, &variables, &symbols)?;
    emit::emit(module, &sections, &symbols)
}

/// Refuses numbers that the format cannot hold.
fn check_function(layout: &Layout, function: &FunctionSpec) -> Result<(), WriteError> {
    let code = function.code.len();
    let params = info::param_bytes(function);
    let params_end = u64::from(layout.param_base(params)) + u64::from(params);
    let inner_end = |s: &InnerFunctionSpec| u64::from(s.offset) + u64::from(s.size);
    let registers = function.limits.max_registers.unwrap_or(0);
    let rules = [
        (code > 0 && code.is_multiple_of(INSTRUCTION_BYTES), "code is not whole instructions"),
        (function.registers <= 255, "more than 255 registers"),
        (registers <= 255, "register limit above 255"),
        (function.barriers <= 16, "more than 16 barriers"),
        (params_end <= 0xffff, "parameters do not fit into constant bank 0"),
        (function.inner_functions.iter().all(|s| inner_end(s) <= code as u64), "inner function outside the code"),
        (function.is_kernel || function.params.is_empty(), "only kernels have parameters here"),
        (function.object_slots.iter().all(|slot| slot.offset <= 0xffff), "objects do not fit into constant bank 0"),
        (function.shared_align == 0 || function.shared_align.is_power_of_two(), "shared alignment is no power of two"),
    ];
    match rules.iter().find(|rule| !rule.0) {
        Some((_, what)) => Err(WriteError::OutOfRange { owner: function.name.clone(), what: (*what).to_owned() }),
        None => Ok(()),
    }
}

/// All sections behind the symbol table, in the order of the file.
fn all_sections(
    module: &ModuleSpec,
    layout: &Layout,
    variables: &Variables<'_>,
    symbols: &SymbolTable,
) -> Result<Vec<SectionPlan>, WriteError> {
    let mut relocator = Relocator { layout, kind: module.kind, symbols, sections: Vec::new() };
    let program = program_sections(module, layout, variables, &mut relocator)?;
    let (mut frames, addresses) = frame::debug_frame(&module.functions);
    let rest = relocator.take(DEBUG_FRAME, &mut frames, 0, &addresses)?;
    relocator.add_section(DEBUG_FRAME, rest);
    let mut out = vec![SectionPlan::data(DEBUG_FRAME.to_owned(), SectionFlags(0), 1, frames)];
    out.extend(notes(module, layout, symbols)?);
    for (name, mut bytes, relocations) in lines::sections(module)? {
        let rest = relocator.take(&name, &mut bytes, 0, &relocations)?;
        relocator.add_section(&name, rest);
        out.push(SectionPlan::data(name, SectionFlags(0), 1, bytes));
    }
    let call_graph = info::call_graph(module, symbols)?;
    out.push(SectionPlan::pairs(".nv.callgraph", SHT_CUDA_CALLGRAPH, call_graph));
    let prototypes = info::prototypes(module, symbols, false)?;
    if !prototypes.is_empty() {
        out.push(SectionPlan::pairs(".nv.prototype", SHT_CUDA_PROTOTYPE, prototypes));
    }
    out.append(&mut relocator.sections);
    out.extend(program);
    if module.kind == FileKind::Relocatable {
        for section in &mut out {
            section.sh_type = in_object_file(&section.name).map_or(section.sh_type, |row| row.sh_type);
        }
    }
    Ok(out)
}

/// The sections that describe the others. Readers expect `.note.nv.cuinfo` to be section number 6
/// (cuobjdump refuses a file of sm_90 and later where it is not): it is the third that we plan.
fn notes(module: &ModuleSpec, layout: &Layout, symbols: &SymbolTable) -> Result<Vec<SectionPlan>, WriteError> {
    let note = |name: &str, flags, bytes| {
        let plan = SectionPlan::data(name.to_owned(), flags, 4, bytes);
        SectionPlan { sh_type: elf::SHT_NOTE, ..plan }
    };
    let mut out = vec![
        note(TKINFO.section, TKINFO_FLAGS, info::tool_note(module)),
        note(CUINFO.section, CUINFO_FLAGS, info::target_note(module)),
    ];
    out.push(SectionPlan::table(".nv.info".to_owned(), SHT_CUDA_INFO, info::module_info(layout, module, symbols)?));
    if let Some(fastpath) = layout.compat {
        let bytes = info::compat(module, fastpath)?;
        let compat = SectionPlan::data(".nv.compat".to_owned(), SectionFlags(0), 4, bytes);
        out.push(SectionPlan { sh_type: compat::SHT_CUDA_COMPAT, ..compat });
    }
    for function in &module.functions {
        let bytes = info::function_info(layout, function, symbols)?;
        let plan = SectionPlan::table(format!(".nv.info.{}", function.name), SHT_CUDA_INFO, bytes);
        out.push(plan.about(text_name(function)));
    }
    if let Some(host) = &module.host {
        let plan = SectionPlan::data(".nv.host".to_owned(), SectionFlags::default(), HOST_ALIGN, host.clone());
        out.push(SectionPlan { sh_type: SHT_CUDA_HOST, ..plan });
    }
    Ok(out)
}

/// The sections that are in memory when the program runs.
fn program_sections(
    module: &ModuleSpec,
    layout: &Layout,
    variables: &Variables<'_>,
    relocator: &mut Relocator<'_>,
) -> Result<Vec<SectionPlan>, WriteError> {
    let mut out = constant_sections(module, variables, relocator)?;
    if layout.bank0_first {
        out.extend(bank0_sections(module, layout, relocator)?);
    }
    for function in &module.functions {
        let mut code = function.code.clone();
        let rest = relocator.take(&function.name, &mut code, 0, &function.relocations)?;
        let name = text_name(function);
        relocator.add_section(&name, rest);
        let symbol = relocator.symbols.need(&function.name, &function.name)?;
        let registers = if layout.registers_in_header { function.registers << 24 } else { 0 };
        let text = SectionPlan::data(name, TEXT_FLAGS, TEXT_ALIGN, code);
        out.push(SectionPlan { link: plan::Link::Symtab, info: registers | symbol, ..text });
    }
    if !variables.initialised.is_empty() {
        out.push(variable_section(GLOBAL_INIT, &variables.initialised, MEMORY_FLAGS, relocator)?);
    }
    for function in module.functions.iter().filter(|f| has_shared(f)) {
        let size = u64::from(shared_base(module, layout)) + u64::from(function.shared_size);
        let align = u64::from(function.shared_align).max(SHARED_ALIGN);
        let plan = SectionPlan::nobits(shared_name(function), MEMORY_FLAGS, align, size);
        out.push(plan.about(text_name(function)));
    }
    if !variables.shared.is_empty() {
        let section = &variables.shared;
        out.push(SectionPlan::nobits(SHARED.to_owned(), MEMORY_FLAGS, section.align, section.size));
    }
    if let Some(size) = layout.reserved_section {
        let size = size + if symbols::has_tensor_book(module) { symbols::TENSOR_BOOK_SIZE } else { 0 };
        out.push(SectionPlan::nobits(symbols::SHARED_RESERVED.to_owned(), MEMORY_FLAGS, 1, size));
    }
    if !variables.zeroed.is_empty() {
        let section = &variables.zeroed;
        out.push(SectionPlan::nobits(GLOBAL.to_owned(), MEMORY_FLAGS, section.align, section.size));
    }
    if !layout.bank0_first {
        out.extend(bank0_sections(module, layout, relocator)?);
    }
    Ok(out)
}

/// Banks 3 and 4 of the module, bank 2 of kernels.
fn constant_sections(
    module: &ModuleSpec,
    variables: &Variables<'_>,
    relocator: &mut Relocator<'_>,
) -> Result<Vec<SectionPlan>, WriteError> {
    let mut out = Vec::new();
    if !variables.constants.is_empty() {
        out.push(variable_section(CONSTANT, &variables.constants, CONSTANT_FLAGS, relocator)?);
    }
    if !module.address_table.is_empty() {
        let slots = (0u32..).zip(&module.address_table).map(|(i, slot)| RelocSpec {
            offset: ADDRESS_BYTES * i,
            kind: &reloc::R64,
            symbol: slot.symbol.clone(),
            addend: slot.addend,
        });
        let slots: Vec<RelocSpec> = slots.collect();
        let mut bytes = vec![0; ADDRESS_BYTES as usize * slots.len()];
        let rest = relocator.take(ADDRESS_TABLE, &mut bytes, 0, &slots)?;
        relocator.add_section(ADDRESS_TABLE, rest);
        out.push(SectionPlan::data(ADDRESS_TABLE.to_owned(), CONSTANT_FLAGS, u64::from(ADDRESS_BYTES), bytes));
    }
    for function in module.functions.iter().filter(|f| !f.literals.is_empty()) {
        let name = format!(".nv.constant2.{}", function.name);
        let plan = SectionPlan::data(name, CONSTANT_FLAGS, BANK_ALIGN, function.literals.clone());
        out.push(plan.about(text_name(function)));
    }
    Ok(out)
}

/// Bank 0 of every kernel: what the driver fills in, then the parameters and the numbers of objects; zeros in
/// the file.
fn bank0_sections(
    module: &ModuleSpec,
    layout: &Layout,
    relocator: &mut Relocator<'_>,
) -> Result<Vec<SectionPlan>, WriteError> {
    let mut out = Vec::new();
    for function in module.functions.iter().filter(|f| f.is_kernel) {
        let bytes = info::param_bytes(function);
        let params = layout.param_base(bytes) + bytes;
        let slots = function.object_slots.iter().map(|slot| slot.offset.saturating_add(SLOT_BYTES)).max();
        let mut bytes = vec![0; params.max(slots.unwrap_or(0)) as usize];
        let relocations = slot_relocations(module, layout, function);
        let rest = relocator.take(&function.name, &mut bytes, 0, &relocations)?;
        relocator.add_section(&bank0_name(function), rest);
        let plan = SectionPlan::data(bank0_name(function), CONSTANT_FLAGS, BANK_ALIGN, bytes);
        out.push(plan.about(text_name(function)));
    }
    Ok(out)
}

/// What puts the numbers of objects into the words of a kernel's bank 0.
fn slot_relocations(module: &ModuleSpec, layout: &Layout, function: &FunctionSpec) -> Vec<RelocSpec> {
    let kind_of = |name: &String| module.objects.iter().find(|object| object.name == *name).map(|object| object.kind);
    let objects = function.object_slots.iter().flat_map(|slot| slot.objects.iter().map(|name| (slot.offset, name)));
    let relocation = |(offset, name): (u32, &String)| {
        let kind = match kind_of(name)? {
            ObjectKind::Texture => &reloc::TEX_HEADER_INDEX,
            ObjectKind::Surface => &reloc::SURF_HEADER_INDEX,
            ObjectKind::Sampler if layout.samplers_apart => &reloc::SAMP_HEADER_INDEX_0,
            ObjectKind::Sampler => &reloc::SAMP_HEADER_INDEX,
        };
        Some(RelocSpec { offset, kind, symbol: name.clone(), addend: 0 })
    };
    objects.filter_map(relocation).collect()
}

/// A section of variables with contents, with its relocations.
fn variable_section(
    name: &str,
    section: &VariableSection<'_>,
    flags: SectionFlags,
    relocator: &mut Relocator<'_>,
) -> Result<SectionPlan, WriteError> {
    let mut bytes = section.bytes();
    let mut rest = Vec::new();
    for (variable, offset) in &section.placed {
        rest.extend(relocator.take(&variable.name, &mut bytes, *offset, &variable.relocations)?);
    }
    relocator.add_section(name, rest);
    Ok(SectionPlan::data(name.to_owned(), flags, section.align, bytes))
}
