//! What an object file has instead of known addresses: relocations, and names that others define.

use oriole_cubin::reloc::{self, RelocKind};
use oriole_cubin::{ExternVariable, Memory, ModuleSpec, Prototype, RelocSpec};
use oriole_isa::{Arch, Inst, Opcode, Role};
use oriole_ori::{
    Linkage, MemSpace, Module, Symbol, SymbolData, SymbolKind, SymbolPart, SymbolRef, UNIFIED_OFFSET, Variable,
};
use oriole_ptx::ast::{self, Block, ScalarType, Statement};
use std::collections::{BTreeSet, HashMap};

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

/// What the module leaves to others: functions that they can call or whose address is taken, variables
/// that they define.
pub(super) fn describe(module: &Module, ast: &ast::Module, spec: &mut ModuleSpec) {
    let taken = addressed_functions(module);
    let mut functions: HashMap<&str, &ast::Function> = HashMap::new();
    for function in ast.functions() {
        // Of a declaration and a definition the latter tells more.
        if function.body.is_some() || !functions.contains_key(ast.text(function.name)) {
            functions.insert(ast.text(function.name), function);
        }
    }
    for (symbol, data) in module.symbols.iter().filter(|(_, data)| is_function(data)) {
        let function = functions.get(data.name.as_str()).filter(|function| !function.is_entry);
        let Some(function) = function else { continue };
        let address_taken = taken.contains(&symbol);
        let exported = matches!(data.linkage, Linkage::Visible | Linkage::Weak);
        if address_taken || exported && function.body.is_some() {
            let text = prototype(&function.rets, &function.params);
            spec.prototypes.push(Prototype { function: data.name.clone(), text, address_taken });
        }
    }
    for function in &mut spec.functions {
        if let Some(block) = functions.get(function.name.as_str()).and_then(|function| function.body.as_ref()) {
            indirect_calls(&functions, ast, block, &mut function.indirect_calls);
        }
    }
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
        .flat_map(|func| func.symbol_refs().values())
        .filter(|reference| matches!(reference.part, SymbolPart::Low | SymbolPart::High));
    let in_data = module.symbols.values().filter_map(|data| match &data.kind {
        SymbolKind::Variable(variable) => Some(variable.relocs.iter().map(|reloc| reloc.symbol)),
        _ => None,
    });
    let named = in_code.map(|reference| reference.symbol).chain(in_data.flatten());
    named.filter(|symbol| is_function(&module.symbols[*symbol])).collect()
}

/// Prototypes of the calls through addresses in a block.
fn indirect_calls(
    functions: &HashMap<&str, &ast::Function>,
    ast: &ast::Module,
    block: &Block,
    found: &mut Vec<String>,
) {
    for statement in &block.statements {
        let text = match statement {
            Statement::Prototype(declared) => Some(prototype(&declared.rets, &declared.params)),
            Statement::CallTargets(list) => list.targets.first().and_then(|target| {
                let function = functions.get(ast.text(*target))?;
                Some(prototype(&function.rets, &function.params))
            }),
            Statement::Block(inner) => {
                indirect_calls(functions, ast, inner, found);
                None
            }
            _ => None,
        };
        let new = text.filter(|text| !found.contains(text));
        found.extend(new);
    }
}

/// As [`Prototype::text`] spells it.
fn prototype(rets: &[ast::Variable], params: &[ast::Variable]) -> String {
    let result = if rets.is_empty() { "v".to_owned() } else { rets.iter().map(letters).collect() };
    format!("#{result}{}", params.iter().map(letters).collect::<String>())
}

fn letters(variable: &ast::Variable) -> String {
    let elements: u64 = variable.dims.iter().map(|dim| dim.unwrap_or(0)).fold(1, u64::saturating_mul);
    let letter = match (variable.ty, variable.ty.bytes()) {
        (ScalarType::F32, _) => "f".to_owned(),
        (ScalarType::F64, _) => "d".to_owned(),
        (_, 1) => return format!("b{elements}"),
        (_, 8) => "l".to_owned(),
        (_, 4) => "i".to_owned(),
        (_, bytes) => format!("b{bytes}"),
    };
    if variable.dims.is_empty() { letter } else { format!("{letter}{elements}") }
}

/// Notes that `owner` calls the function that the relocation of a CALL names.
pub(super) fn note_callee(callees: &mut Vec<String>, relocation: &RelocSpec) {
    if relocation.symbol != UNIFIED_OFFSET && !callees.contains(&relocation.symbol) {
        callees.push(relocation.symbol.clone());
    }
}
