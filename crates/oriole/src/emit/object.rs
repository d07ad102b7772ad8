//! What an object file has instead of known addresses: relocations, and names that others define.

use oriole_cubin::reloc::{self, RelocKind};
use oriole_cubin::{ExternVariable, Memory, ModuleSpec, RelocSpec};
use oriole_isa::{Arch, Inst, Opcode, Role};
use oriole_ori::{
    Callee, FuncId, Function, Linkage, MemSpace, Module, Symbol, SymbolData, SymbolKind, SymbolPart, SymbolRef,
    UNIFIED_OFFSET, Variable,
};
use std::collections::BTreeSet;

/// The relocation for an operand of `inst` that stands for part of a symbol's address.
pub(super) fn code_relocation(
    module: &Module,
    inst: &Inst,
    operand: usize,
    reference: SymbolRef,
) -> &'static RelocKind {
    let data = &module.symbols[reference.symbol];
    let unified = module.arch >= Arch::Sm90 && is_function(data);
    match (inst.opcode, reference.part) {
        (Opcode::CALL, _) if inst.opcode.position(Role::Offset) == Some(operand) => &reloc::ABS56_16_34,
        (Opcode::CALL, _) if module.arch >= Arch::Sm90 => &reloc::ABS55_16_34,
        (Opcode::CALL, _) => &reloc::ABS47_34,
        (_, SymbolPart::High) if unified => &reloc::UNIFIED32_HI_32,
        (_, SymbolPart::High) => &reloc::ABS32_HI_32,
        (_, SymbolPart::Low) if unified => &reloc::UNIFIED32_LO_32,
        (_, SymbolPart::Low) => &reloc::ABS32_LO_32,
        (_, SymbolPart::Relative | SymbolPart::Whole) => match &data.kind {
            SymbolKind::Variable(Variable { space: MemSpace::Const, .. }) => &reloc::ABS16_32,
            _ => &reloc::ABS32_32,
        },
    }
}

/// The relocation in data for the address of a function, where linked programs share functions.
pub(super) fn unified_data(module: &Module, symbol: Symbol, byte: Option<u8>, size: u8) -> Option<&'static RelocKind> {
    let applies = module.arch >= Arch::Sm90 && is_function(&module.symbols[symbol]);
    applies.then(|| match (byte, size) {
        (Some(n), _) => UNIFIED_BYTES[usize::from(n & 7)],
        (None, 8) => &reloc::UNIFIED,
        (None, _) => &reloc::UNIFIED_32,
    })
}

/// By number of the byte, lowest first.
static UNIFIED_BYTES: [&RelocKind; 8] = [
    &reloc::UNIFIED_8_0,
    &reloc::UNIFIED_8_8,
    &reloc::UNIFIED_8_16,
    &reloc::UNIFIED_8_24,
    &reloc::UNIFIED_8_32,
    &reloc::UNIFIED_8_40,
    &reloc::UNIFIED_8_48,
    &reloc::UNIFIED_8_56,
];

fn is_function(data: &SymbolData) -> bool {
    matches!(data.kind, SymbolKind::Function(_) | SymbolKind::ExternalFunction)
}

/// What the module leaves to others: functions whose address is taken, variables defined elsewhere.
pub(super) fn describe(module: &Module, spec: &mut ModuleSpec) {
    let name = |symbol: Symbol| module.symbols[symbol].name.clone();
    spec.address_taken = addressed_functions(module).into_iter().map(name).collect();
    for data in module.symbols.values() {
        let SymbolKind::Variable(variable) = &data.kind else { continue };
        // Dynamic shared memory has no size: the launch gives it one.
        let dynamic = variable.space == MemSpace::Shared && variable.size == 0;
        if data.linkage == Linkage::External || dynamic {
            let memory = match variable.space {
                MemSpace::Shared => Memory::Shared,
                MemSpace::Const => Memory::Constant,
                _ => Memory::Global,
            };
            spec.extern_variables.push(ExternVariable { name: data.name.clone(), memory, size: variable.size });
        }
    }
}

/// Functions named by data or by code other than calls.
fn addressed_functions(module: &Module) -> BTreeSet<Symbol> {
    let in_code = module
        .functions
        .values()
        .flat_map(|func| func.symrefs.values())
        .filter(|reference| matches!(reference.part, SymbolPart::Low | SymbolPart::High));
    let in_data = module.symbols.values().filter_map(|data| match &data.kind {
        SymbolKind::Variable(variable) => Some(variable.relocs.iter().map(|reloc| reloc.symbol)),
        _ => None,
    });
    let named = in_code.map(|reference| reference.symbol).chain(in_data.flatten());
    named.filter(|symbol| is_function(&module.symbols[*symbol])).collect()
}

/// The function calls through addresses.
pub(super) fn calls_indirectly(module: &Module, id: FuncId) -> bool {
    let func: &Function = &module.functions[id];
    let called = func.iter_insts().filter_map(|(_, inst)| func.insts[inst].call.expand());
    let mut indirect = called.filter(|call| func.calls[*call].callee == Callee::Indirect);
    indirect.next().is_some()
}

/// Notes that `owner` calls the function that the relocation of a CALL names.
pub(super) fn note_callee(callees: &mut Vec<String>, relocation: &RelocSpec) {
    if relocation.symbol != UNIFIED_OFFSET && !callees.contains(&relocation.symbol) {
        callees.push(relocation.symbol.clone());
    }
}
