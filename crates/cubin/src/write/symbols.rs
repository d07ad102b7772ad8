//! The symbols of a module.

use object::elf::{self, SymbolType};

use super::layout::Layout;
use super::plan::SymbolPlan;
use super::sections::{
    ADDRESS_TABLE, DEBUG_FRAME, bank0_name, has_shared, in_object_file, shared_base, shared_name, text_name,
};
use super::variables::{SHARED, Variables};
use crate::model::{Binding, FileKind};
use crate::notes::{CUINFO, TKINFO};
use crate::read::{STO_CUDA_ENTRY, STO_CUDA_SHARED, STT_CUDA_OBJECT};
use crate::spec::{ExternVariable, FunctionSpec, Memory, ModuleSpec, ObjectKind, ObjectSpec, VariableSpec};

/// Section of the shared memory that the system keeps, and the names that stand for it on
/// targets that keep some.
pub(super) const SHARED_RESERVED: &str = ".nv.shared.reserved.0";
const RESERVED_OFFSET: &str = ".nv.reservedSmem.offset0";
const RESERVED_ALIAS: &str = "__nv_reservedSMEM_offset_0_alias";
/// `st_other` of the alias, as ptxas writes it.
const RESERVED_ALIAS_OTHER: u8 = 0xa0;
/// The book of the block's tensor memory in that part, and where the part ends.
const TENSOR_BOOK: &str = "__nv_reservedSMEM_tcgen05_partition";
const RESERVED_CAP: &str = ".nv.reservedSmem.cap";
/// Bytes of the book.
pub(super) const TENSOR_BOOK_SIZE: u64 = 0x20;
/// What linkers add to an address that is called (`oriole_ori::UNIFIED_OFFSET`), from sm_90 on.
const UNIFIED_OFFSET: &str = "__UFT_OFFSET";
const UNIFIED_OFFSET_SIZE: u64 = 8;
/// `st_size` of a number of the driver: a word.
const DRIVER_VALUE_SIZE: u64 = 4;
/// `st_size` of the offset: a word.
const RESERVED_OFFSET_SIZE: u64 = 4;

/// All symbols, in no order yet.
pub(super) fn collect(module: &ModuleSpec, layout: &Layout, variables: &Variables<'_>) -> Vec<SymbolPlan> {
    let mut out =
        Vec::from([DEBUG_FRAME, TKINFO.section, CUINFO.section].map(|n| SymbolPlan::of_section(n.to_owned())));
    for function in &module.functions {
        function_symbols(&mut out, shared_base(module, layout), function);
    }
    for (section, list) in variables.sections() {
        if list.is_empty() {
            continue;
        }
        out.push(SymbolPlan::of_section(section.to_owned()));
        // Shared memory is laid out by the linker, from sizes and alignments.
        let value = |variable: &VariableSpec, offset: u64| if section == SHARED { variable.align } else { offset };
        out.extend(list.placed.iter().map(|(variable, offset)| SymbolPlan {
            name: variable.name.clone(),
            kind: elf::STT_OBJECT,
            binding: variable.binding,
            other: 0,
            section: Some(section.to_owned()),
            value: value(variable, *offset),
            size: variable.size,
        }));
    }
    if !module.address_table.is_empty() {
        out.push(SymbolPlan::of_section(ADDRESS_TABLE.to_owned()));
    }
    out.push(SymbolPlan::of_section(".nv.callgraph".to_owned()));
    if layout.reserved_shared > 0 {
        out.extend(reserved_symbols(layout));
    }
    if has_tensor_book(module) {
        out.extend(tensor_book_symbols(layout));
    }
    let value = |name: &String| undefined(name, elf::STT_OBJECT, Binding::Weak, DRIVER_VALUE_SIZE);
    out.extend(module.driver_values.iter().map(value));
    out.extend(module.objects.iter().map(object));
    out.extend(module.externs.iter().map(|name| undefined(name, elf::STT_FUNC, Binding::Global, 0)));
    out.extend(super::lines::section_names(module).into_iter().map(SymbolPlan::of_section));
    if module.kind == FileKind::Relocatable {
        if layout.reserved_shared > 0 {
            out.push(undefined(UNIFIED_OFFSET, elf::STT_OBJECT, Binding::Weak, UNIFIED_OFFSET_SIZE));
        }
        out.iter_mut().for_each(mark_variable);
        out.extend(module.extern_variables.iter().map(external_variable));
    }
    out
}

/// A symbol that another file defines.
fn undefined(name: &str, kind: SymbolType, binding: Binding, size: u64) -> SymbolPlan {
    SymbolPlan { name: name.to_owned(), kind, binding, other: 0, section: None, value: 0, size }
}

/// `st_type` of a texture, sampler or surface.
pub(super) fn object_type(kind: ObjectKind) -> SymbolType {
    SymbolType(match kind {
        ObjectKind::Texture => 10,
        ObjectKind::Sampler => 11,
        ObjectKind::Surface => 12,
    })
}

/// A texture, sampler or surface: one of the module is undefined, a parameter stands at its kernel.
fn object(object: &ObjectSpec) -> SymbolPlan {
    let symbol = undefined(&object.name, object_type(object.kind), Binding::Global, 0);
    match &object.kernel {
        Some(kernel) => SymbolPlan { binding: Binding::Local, section: Some(format!(".text.{kernel}")), ..symbol },
        None => symbol,
    }
}

fn external_variable(variable: &ExternVariable) -> SymbolPlan {
    let other = match variable.memory {
        Memory::Global => 0x20,
        Memory::Shared => STO_CUDA_SHARED,
        Memory::Constant => 0x80,
    };
    let symbol = undefined(&variable.name, STT_CUDA_OBJECT, Binding::Global, variable.size);
    SymbolPlan { other, ..symbol }
}

/// In an object file variables have a symbol type of their own, and say which memory they are in.
fn mark_variable(symbol: &mut SymbolPlan) {
    let row = symbol.section.as_deref().and_then(in_object_file);
    if let Some(row) = row.filter(|_| symbol.kind == elf::STT_OBJECT) {
        symbol.kind = STT_CUDA_OBJECT;
        symbol.other |= row.other;
    }
}

/// The symbols of a function, of its sections and of what is in them.
fn function_symbols(out: &mut Vec<SymbolPlan>, shared_base: u32, function: &FunctionSpec) {
    out.push(SymbolPlan::of_section(text_name(function)));
    if function.is_kernel {
        out.push(SymbolPlan::of_section(bank0_name(function)));
    }
    if has_shared(function) {
        out.push(SymbolPlan::of_section(shared_name(function)));
        out.extend(function.shared_symbols.iter().map(|s| {
            let range = (u64::from(shared_base) + u64::from(s.offset), u64::from(s.size));
            inner(&s.name, elf::STT_OBJECT, shared_name(function), range)
        }));
    }
    out.extend(function.inner_functions.iter().map(|f| {
        let range = (u64::from(f.offset), u64::from(f.size));
        inner(&f.name, elf::STT_FUNC, text_name(function), range)
    }));
    out.push(SymbolPlan {
        name: function.name.clone(),
        kind: elf::STT_FUNC,
        binding: function.binding,
        other: if function.is_kernel { STO_CUDA_ENTRY } else { 0 },
        section: Some(text_name(function)),
        value: 0,
        size: function.code.len() as u64,
    });
}

/// A local name for a range (offset and size in bytes) of a section.
fn inner(name: &str, kind: SymbolType, section: String, (value, size): (u64, u64)) -> SymbolPlan {
    let section = Some(section);
    SymbolPlan { name: name.to_owned(), kind, binding: Binding::Local, other: 0, section, value, size }
}

fn reserved_symbols(layout: &Layout) -> [SymbolPlan; 2] {
    let value = layout.reserved_section.unwrap_or(0);
    let offset = undefined(RESERVED_OFFSET, elf::STT_OBJECT, Binding::Weak, RESERVED_OFFSET_SIZE);
    let alias = SymbolPlan {
        name: RESERVED_ALIAS.to_owned(),
        kind: elf::STT_NOTYPE,
        other: RESERVED_ALIAS_OTHER,
        section: Some(SHARED_RESERVED.to_owned()),
        size: 0,
        binding: Binding::Weak,
        value,
    };
    [SymbolPlan { value, ..offset }, alias]
}

/// Whether a kernel allocates tensor memory.
pub(super) fn has_tensor_book(module: &ModuleSpec) -> bool {
    module.functions.iter().filter_map(|function| function.tensor_memory).any(|memory| memory.allocated)
}

fn tensor_book_symbols(layout: &Layout) -> [SymbolPlan; 2] {
    let cap = undefined(RESERVED_CAP, elf::STT_OBJECT, Binding::Weak, RESERVED_OFFSET_SIZE);
    let book = SymbolPlan {
        name: TENSOR_BOOK.to_owned(),
        kind: elf::STT_OBJECT,
        binding: Binding::Weak,
        other: 0,
        section: Some(SHARED_RESERVED.to_owned()),
        value: layout.reserved_section.unwrap_or(0),
        size: TENSOR_BOOK_SIZE,
    };
    [book, SymbolPlan { value: u64::from(layout.reserved_shared), ..cap }]
}
