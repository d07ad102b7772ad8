//! Scheduled Ori to a cubin's description: layout of a kernel's section, encoding, relocations.
//!
//! A kernel's section holds its own code and, behind it, every function that it calls in this
//! module, so that calls and returns are relative and need no linker.

use crate::error::CompileError;
use oriole_cubin::reloc::{self, RelocKind};
use oriole_cubin::{
    AddressSlot, Binding, FunctionSpec, InnerFunctionSpec, Limits, ModuleSpec, ParamSpec, RelocSpec, Target,
    VariableSpec,
};
use oriole_isa::{Arch, Control, Inst, Kinds, Opcode, RegFile, Role, Value, encode, special_registers};
use oriole_ori::{
    Block, DataRelocKind, FuncId, Function, FunctionKind, Linkage, MemSpace, Module, SecondaryMap, SourceLoc, Symbol,
    SymbolKind, SymbolRef, Variable,
};
use oriole_regalloc::ModuleAllocation;
use std::collections::BTreeMap;

/// Bytes of an instruction.
const INST_BYTES: i64 = 16;
/// Sections are filled with NOPs to a multiple of this many bytes.
const SECTION_ALIGN: usize = 128;

/// Code offset that stands for no function: no instruction begins there.
const NO_FUNCTION: i64 = 1;

/// The source line of each instruction of a kernel's section that has one: byte offset and line.
pub type LineTable = Vec<(u64, SourceLoc)>;

/// Describe the whole module for the cubin writer; beside it the line table of each kernel.
pub(crate) fn emit(
    module: &Module,
    allocation: &ModuleAllocation,
) -> Result<(ModuleSpec, BTreeMap<String, LineTable>), CompileError> {
    let mut spec = ModuleSpec::new(Target::new(module.arch.number()));
    let mut lines = BTreeMap::new();
    for (id, func) in module.functions.iter().filter(|(_, f)| f.kind == FunctionKind::Entry) {
        let mut table = LineTable::new();
        spec.functions.push(kernel(module, allocation, id, func, &mut table)?);
        lines.insert(func.name.clone(), table);
    }
    for data in module.symbols.values() {
        match &data.kind {
            SymbolKind::Variable(variable) => {
                let list = match variable.space {
                    MemSpace::Global => &mut spec.globals,
                    MemSpace::Const => &mut spec.constants,
                    _ => continue,
                };
                list.push(variable_spec(module, &data.name, data.linkage, variable));
            }
            SymbolKind::ExternalFunction => spec.externs.push(data.name.clone()),
            SymbolKind::Function(_) => {}
        }
    }
    let slot = |symbol: &Symbol| AddressSlot { symbol: module.symbols[*symbol].name.clone(), addend: 0 };
    spec.address_table = module.address_table.iter().map(slot).collect();
    Ok((spec, lines))
}

/// A kernel and the functions behind it in its section.
struct Section<'m> {
    module: &'m Module,
    arch: Arch,
    /// The functions with the byte address of their first instruction.
    functions: Vec<(FuncId, i64)>,
}

impl<'m> Section<'m> {
    fn new(module: &'m Module, allocation: &ModuleAllocation, kernel: FuncId) -> Self {
        let mut address = 0;
        let functions = members(module, allocation, kernel)
            .into_iter()
            .map(|id| {
                let start = address;
                address += code_bytes(&module.functions[id]);
                (id, start)
            })
            .collect();
        Section { module, arch: module.arch, functions }
    }

    fn address_of(&self, symbol: Symbol) -> Option<i64> {
        let id = self.module.function_of(symbol)?;
        self.functions.iter().find(|(f, _)| *f == id).map(|(_, address)| *address)
    }

    /// Bank 2: for each number of a function the offset of its copy in this section, none for 0 and for
    /// functions without a copy. Empty where the section has none of them.
    fn function_offsets(&self) -> Vec<u8> {
        let offsets = self.module.function_table.iter().map(|symbol| self.address_of(*symbol));
        if offsets.clone().all(|offset| offset.is_none()) {
            return Vec::new();
        }
        let slots = std::iter::once(None).chain(offsets);
        slots.flat_map(|offset| offset.unwrap_or(NO_FUNCTION).to_le_bytes()).collect()
    }
}

/// The kernel and all that it calls, each once. A call through an address may go to every function whose
/// address the module takes.
fn members(module: &Module, allocation: &ModuleAllocation, kernel: FuncId) -> Vec<FuncId> {
    let mut order: Vec<FuncId> = Vec::with_capacity(module.functions.len());
    let mut pending = std::collections::VecDeque::from([kernel]);
    while let Some(id) = pending.pop_front() {
        if !order.contains(&id) {
            order.push(id);
            pending.extend(&allocation.functions[id].callees);
        }
    }
    order
}

fn code_bytes(func: &Function) -> i64 {
    let count = func.iter_insts().filter(|(_, inst)| func.emits_code(*inst)).count();
    count as i64 * INST_BYTES
}

fn kernel(
    module: &Module,
    allocation: &ModuleAllocation,
    id: FuncId,
    func: &Function,
    lines: &mut LineTable,
) -> Result<FunctionSpec, CompileError> {
    let section = Section::new(module, allocation, id);
    let mut spec = FunctionSpec::kernel(func.name.clone(), Vec::new(), 0);
    for (member, start) in &section.functions {
        let body = &module.functions[*member];
        function_code(&section, body, *start, &mut spec, lines)?;
        if *member != id {
            let name = format!("${}${}", func.name, body.name);
            spec.inner_functions.push(InnerFunctionSpec {
                name,
                offset: *start as u32,
                size: code_bytes(body) as u32,
                frame_size: body.frame.size(),
            });
        }
    }
    finish_section(module.arch, &mut spec.code)?;
    spec.literals = section.function_offsets();
    let bodies = || section.functions.iter().map(|(f, _)| &module.functions[*f]);
    spec.registers =
        section.functions.iter().map(|(f, _)| highest_register(&allocation.functions[*f].own.used)).max().unwrap_or(0);
    spec.barriers = bodies().map(|f| f.attributes.barriers).max().unwrap_or(0);
    spec.frame_size = func.frame.size();
    spec.min_stack_size = stack_need(module, allocation, id, &mut Vec::new());
    spec.params = func.params.iter().map(|p| ParamSpec { offset: p.offset, size: p.size }).collect();
    spec.shared_size = func.attributes.shared_bytes;
    spec.uses_dynamic_shared = module.symbols.values().any(|data| is_dynamic_shared(&data.kind));
    spec.uses_ctaid_z = bodies().any(reads_ctaid_z);
    spec.callees = module
        .symbols
        .values()
        .filter(|d| matches!(d.kind, SymbolKind::ExternalFunction))
        .map(|d| d.name.clone())
        .collect();
    let attributes = &func.attributes;
    spec.limits = Limits {
        max_threads: attributes.maxntid,
        required_threads: attributes.reqntid,
        max_registers: attributes.maxnreg,
        cluster: attributes.cluster,
        max_cluster_rank: attributes.max_cluster_rank,
        explicit_cluster: attributes.explicit_cluster,
    };
    Ok(spec)
}

fn is_dynamic_shared(kind: &SymbolKind) -> bool {
    matches!(kind, SymbolKind::Variable(v) if v.space == MemSpace::Shared && v.size == 0)
}

/// One more than the highest R register.
fn highest_register(used: &oriole_ori::RegMask) -> u32 {
    (0..255u16).rev().find(|n| used.contains(RegFile::R, *n)).map_or(0, |n| u32::from(n) + 1)
}

/// Bytes of stack that a function and its deepest chain of callees take. A cycle of calls counts once:
/// how deep it goes is not known.
fn stack_need(module: &Module, allocation: &ModuleAllocation, id: FuncId, path: &mut Vec<FuncId>) -> u32 {
    if path.contains(&id) {
        return 0;
    }
    path.push(id);
    let callees = &allocation.functions[id].callees;
    let deepest = callees.iter().map(|c| stack_need(module, allocation, *c, path)).max().unwrap_or(0);
    path.pop();
    module.functions[id].frame.size() + deepest
}

fn reads_ctaid_z(func: &Function) -> bool {
    let Some(ctaid_z) = special_registers::all().iter().find(|r| r.name == "SR_CTAID.Z") else { return false };
    let wanted = oriole_ori::OperandKind::Special(ctaid_z.number);
    func.iter_insts().any(|(_, inst)| func.insts[inst].operands.iter().any(|o| o.kind() == wanted))
}

fn function_code(
    section: &Section<'_>,
    func: &Function,
    start: i64,
    spec: &mut FunctionSpec,
    lines: &mut LineTable,
) -> Result<(), CompileError> {
    let addresses = block_addresses(func, start);
    let mut pc = start;
    for (_, id) in func.iter_insts() {
        if !func.emits_code(id) {
            continue;
        }
        let fault = |reason: String| CompileError::Internal { function: func.name.clone(), reason };
        let machine = func.machine_inst(id, |block| addresses[block]).map_err(|e| fault(e.to_string()))?;
        let mut inst = machine.inst;
        for (operand, reference) in machine.relocs {
            resolve(section, &mut inst, operand, reference).map_err(fault)?;
        }
        settle_code_addresses(&mut inst);
        let word = encode(&inst, section.arch, pc as u64)
            .map_err(|e| fault(format!("'{}' at {pc:#x} has no encoding: {e}", inst.display(section.arch))))?;
        note_places(&inst, pc, spec);
        // The library's own routines have no line in the user's source.
        if let Some(loc) = func.insts[id].loc.expand().filter(|_| func.kind != FunctionKind::Internal) {
            lines.push((pc as u64, func.locs[loc]));
        }
        spec.code.extend_from_slice(&word.to_le_bytes());
        pc += INST_BYTES;
    }
    Ok(())
}

fn block_addresses(func: &Function, start: i64) -> SecondaryMap<Block, i64> {
    let mut addresses = SecondaryMap::new();
    let mut pc = start;
    for block in &func.layout {
        addresses[*block] = pc;
        pc += func.block_insts(*block).iter().filter(|i| func.emits_code(**i)).count() as i64 * INST_BYTES;
    }
    addresses
}

/// Put in the address of a symbol that the section or the module's layout knows.
fn resolve(section: &Section<'_>, inst: &mut Inst, operand: usize, reference: SymbolRef) -> Result<(), String> {
    let data = &section.module.symbols[reference.symbol];
    let value = &mut inst.operands[operand].value;
    if let Some(address) = section.address_of(reference.symbol) {
        *value = Value::Label(address + reference.addend);
        return Ok(());
    }
    if let SymbolKind::Variable(Variable { offset: Some(offset), .. }) = &data.kind {
        let address = (*offset as i64).wrapping_add(reference.addend);
        *value = Value::Imm(address as u64 & 0xffff_ffff);
        return Ok(());
    }
    Err(format!("the address of '{}' is not known when code is emitted", data.name))
}

/// A code address in an operand that takes no label (`MOV R20, return point`) is a plain number: the
/// byte offset in the section. The bases of RET and of a relative CALL through a register count from the
/// start of the section.
fn settle_code_addresses(inst: &mut Inst) {
    for (operand, spec) in inst.operands.iter_mut().zip(inst.opcode.signature()) {
        if let Value::Label(address) = operand.value
            && !spec.kinds.contains(Kinds::LABEL)
        {
            operand.value = Value::Imm(address as u64 & 0xffff_ffff);
        }
    }
    let counts_from_start = inst.opcode == Opcode::RET || inst.opcode == Opcode::CALL && is_relative_indirect(inst);
    if let Some(target) = inst.opcode.position(Role::Target).filter(|_| counts_from_start) {
        inst.operands[target].value = Value::Label(0);
    }
}

fn is_relative_indirect(call: &Inst) -> bool {
    let base = call.opcode.position(Role::Base).map(|at| call.operands[at].value);
    call.get(oriole_isa::Field::CallMode) == oriole_isa::call_mode::REL && base.is_some_and(|base| base != Value::None)
}

fn note_places(inst: &Inst, pc: i64, spec: &mut FunctionSpec) {
    if inst.opcode == Opcode::EXIT {
        spec.exits.push(pc as u32);
    }
    let absolute = inst.opcode == Opcode::CALL && inst.get(oriole_isa::Field::CallMode) == oriole_isa::call_mode::ABS;
    if absolute {
        spec.syscalls.push(pc as u32);
    }
}

/// A branch to itself, so that nothing runs off the end, then NOPs.
fn finish_section(arch: Arch, code: &mut Vec<u8>) -> Result<(), CompileError> {
    let fault = |e: oriole_isa::EncodeError| CompileError::Internal { function: String::new(), reason: e.to_string() };
    let pc = code.len() as u64;
    let mut stop = Inst::new(Opcode::BRA);
    if let Some(target) = Opcode::BRA.position(Role::Target) {
        stop.operands[target].value = Value::Label(pc as i64);
    }
    stop.control = Control { stall: 0, ..Control::NONE };
    code.extend_from_slice(&encode(&stop, arch, pc).map_err(fault)?.to_le_bytes());
    while !code.len().is_multiple_of(SECTION_ALIGN) {
        let word = encode(&Inst::new(Opcode::NOP), arch, code.len() as u64).map_err(fault)?;
        code.extend_from_slice(&word.to_le_bytes());
    }
    Ok(())
}

fn variable_spec(module: &Module, name: &str, linkage: Linkage, variable: &Variable) -> VariableSpec {
    let binding = match linkage {
        Linkage::Internal => Binding::Local,
        Linkage::Weak => Binding::Weak,
        Linkage::Visible | Linkage::Common | Linkage::External => Binding::Global,
    };
    let relocations = variable
        .relocs
        .iter()
        .map(|r| RelocSpec {
            offset: r.offset as u32,
            kind: data_relocation(r.kind, r.size),
            symbol: module.symbols[r.symbol].name.clone(),
            addend: r.addend,
        })
        .collect();
    VariableSpec {
        name: name.to_owned(),
        binding,
        size: variable.size,
        align: u64::from(variable.align),
        offset: variable.offset.filter(|_| variable.space == MemSpace::Const),
        init: variable.init.clone(),
        relocations,
    }
}

/// By number of the byte, lowest first.
static BYTE_RELOCATIONS: [&RelocKind; 8] = [
    &reloc::R8_0,
    &reloc::R8_8,
    &reloc::R8_16,
    &reloc::R8_24,
    &reloc::R8_32,
    &reloc::R8_40,
    &reloc::R8_48,
    &reloc::R8_56,
];

fn data_relocation(kind: DataRelocKind, size: u8) -> &'static RelocKind {
    match (kind, size) {
        (DataRelocKind::Generic, 8) => &reloc::G64,
        (DataRelocKind::Generic, _) => &reloc::G32,
        (DataRelocKind::Address, 8) => &reloc::R64,
        (DataRelocKind::Address, _) => &reloc::R32,
        (DataRelocKind::Byte(n), _) => BYTE_RELOCATIONS[usize::from(n & 7)],
    }
}
