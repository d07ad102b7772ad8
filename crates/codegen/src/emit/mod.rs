//! Scheduled machine functions to a cubin's description: layout of a kernel's section, encoding, relocations.
//!
//! In a linked file a kernel's section holds its own code and, behind it, every function that it calls
//! in this module, so that calls and returns are relative and need no linker. In an object file every
//! function has a section of its own, and relocations stand for all addresses.

mod bank_two;
mod demands;
mod dwarf;
mod limits;
pub(crate) mod lines;
mod notes;
mod object;
mod objects;
mod placed;
mod prologue;
mod unused;

use crate::error::CompileError;
use crate::unwind;
use oriole_checkpoint::checkpoint;
use oriole_cubin::reloc::{self, RelocKind};
use oriole_cubin::{
    AddressSlot, Binding, Demands, FileKind, FunctionSpec, InnerFunctionSpec, Limits, ModuleSpec, RelocSpec, Target,
    TensorMemory, Unwind, VariableSpec,
};
use oriole_isa::{Arch, Control, Inst, KEPT_REGISTERS, Kinds, Opcode, RegFile, Role, Value, encode, special_registers};
use oriole_ori::{
    DataReloc, DataRelocKind, FuncId, Function, FunctionKind, INST_BYTES, Linkage, MachineCode, MachineInst, MemSpace,
    Module, SecondaryMap, SourceLoc, Symbol, SymbolData, SymbolKind, SymbolRef, UNIFIED_OFFSET, Variable,
};
use oriole_regalloc::ModuleAllocation;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Sections are filled with NOPs to a multiple of this many bytes.
const SECTION_ALIGN: usize = 128;

/// Code offset that stands for no function: no instruction begins there.
const NO_FUNCTION: i64 = 1;

/// The source line of each instruction of a kernel's section that has one: byte offset and line.
pub type LineTable = Vec<(u64, SourceLoc)>;

/// Describe the whole module for the cubin writer; beside it the line table of each section.
pub(crate) fn emit(
    target: Target,
    ast: &oriole_ptx::ast::Module,
    module: &Module,
    code: &SecondaryMap<FuncId, MachineCode>,
    allocation: &ModuleAllocation,
    kind: FileKind,
) -> Result<(ModuleSpec, BTreeMap<String, LineTable>), CompileError> {
    let mut spec = ModuleSpec::new(target);
    spec.kind = kind;
    let is_object = kind == FileKind::Relocatable;
    let mut lines = BTreeMap::new();
    let shared = Surroundings::new(module, code, allocation, is_object);
    let mut stack = StackNeeds::new(module, allocation);
    spec.externs = shared.externs.clone();
    for (id, func) in module.functions.iter().filter(|(_, f)| is_object || f.kind() == FunctionKind::Entry) {
        let mut table = LineTable::new();
        let members = if is_object { vec![id] } else { members(allocation, id) };
        let section = Section::new(module, &shared, code, members, is_object)?;
        let mut function = function_section(&section, allocation, id, &mut table)?;
        function.min_stack_size = stack.of(id);
        spec.functions.push(function);
        lines.insert(func.name().to_owned(), table);
    }
    for data in module.symbols.values().filter(|data| data.linkage != Linkage::External) {
        let SymbolKind::Variable(variable) = &data.kind else { continue };
        let list = match variable.space {
            MemSpace::Global => &mut spec.globals,
            MemSpace::Const => &mut spec.constants,
            MemSpace::Shared if is_object && variable.size > 0 => &mut spec.shared,
            _ => continue,
        };
        list.push(variable_spec(module, &data.name, data.linkage, variable, is_object));
    }
    if is_object {
        object::describe(module, ast, &mut spec);
    }
    objects::describe(module, &mut spec);
    let slot = |symbol: &Symbol| AddressSlot { symbol: module.symbols[*symbol].name.clone(), addend: 0 };
    spec.address_table = module.address_table.iter().map(slot).collect();
    Ok((spec, lines))
}

/// What each section asks of the module as a whole.
struct Surroundings {
    linkage: SecondaryMap<FuncId, Option<Linkage>>,
    /// Names of [`external_functions`].
    externs: Vec<String>,
    /// There is shared memory whose size a launch gives.
    dynamic_shared: bool,
    /// Where callers' frames are, by function.
    unwinds: SecondaryMap<FuncId, Unwind>,
}

impl Surroundings {
    fn new(
        module: &Module,
        code: &SecondaryMap<FuncId, MachineCode>,
        allocation: &ModuleAllocation,
        is_object: bool,
    ) -> Self {
        let mut unwinds = SecondaryMap::new();
        for id in module.functions.keys() {
            unwinds[id] = unwind::of_function(module, allocation, (id, &code[id]), is_object);
        }
        let mut linkage = SecondaryMap::new();
        for data in module.symbols.values() {
            if let SymbolKind::Function(id) = data.kind {
                linkage[id] = Some(data.linkage);
            }
        }
        Surroundings {
            linkage,
            externs: external_functions(module).map(|data| data.name.clone()).collect(),
            dynamic_shared: module.symbols.values().any(|data| is_dynamic_shared(&data.kind)),
            unwinds,
        }
    }
}

/// Functions that the run-time system or another module defines. A function whose number nothing but
/// data names has no code here and needs none.
fn external_functions(module: &Module) -> impl Iterator<Item = &SymbolData> {
    module.symbols.iter().filter_map(|(symbol, data)| {
        let external = data.kind == SymbolKind::ExternalFunction && data.name != UNIFIED_OFFSET;
        (external && !module.function_table.contains(&symbol)).then_some(data)
    })
}

/// The functions of a section: a kernel and those behind it, or any one of an object file.
struct Section<'m> {
    module: &'m Module,
    shared: &'m Surroundings,
    code: &'m SecondaryMap<FuncId, MachineCode>,
    arch: Arch,
    is_object: bool,
    /// Code before the first function.
    prologue: Vec<u8>,
    /// The functions with the byte address of their first instruction.
    functions: Vec<(FuncId, i64)>,
    addresses: FxHashMap<FuncId, i64>,
}

impl<'m> Section<'m> {
    fn new(
        module: &'m Module,
        shared: &'m Surroundings,
        code: &'m SecondaryMap<FuncId, MachineCode>,
        members: Vec<FuncId>,
        is_object: bool,
    ) -> Result<Self, CompileError> {
        let is_kernel = members.first().is_some_and(|id| module.functions[*id].kind() == FunctionKind::Entry);
        let prologue = if is_kernel { prologue::of_kernel(module.arch)? } else { Vec::new() };
        let mut address = prologue.len() as i64;
        let functions: Vec<_> = members
            .into_iter()
            .map(|id| {
                let start = address;
                address += code[id].bytes();
                (id, start)
            })
            .collect();
        let addresses = functions.iter().copied().collect();
        Ok(Section { module, shared, code, arch: module.arch, is_object, prologue, functions, addresses })
    }

    fn address_of(&self, symbol: Symbol) -> Option<i64> {
        let id = self.module.function_of(symbol)?;
        self.addresses.get(&id).copied()
    }

    /// For each number of a function the offset of its copy in this section, none for 0 and for
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
pub(crate) fn members(allocation: &ModuleAllocation, kernel: FuncId) -> Vec<FuncId> {
    let mut order = vec![kernel];
    let mut known = FxHashSet::from_iter([kernel]);
    let mut next = 0;
    while let Some(id) = order.get(next).copied() {
        let callees = allocation.functions[id].callees.iter().copied();
        order.extend(callees.filter(|callee| known.insert(*callee)));
        next += 1;
    }
    order
}

/// The section of the function `id`, its first one.
fn function_section(
    section: &Section<'_>,
    allocation: &ModuleAllocation,
    id: FuncId,
    lines: &mut LineTable,
) -> Result<FunctionSpec, CompileError> {
    let (module, func) = (section.module, &section.module.functions[id]);
    let mut spec = FunctionSpec::kernel(func.name().to_owned(), section.prologue.clone(), 0);
    spec.is_kernel = func.kind() == FunctionKind::Entry;
    spec.binding = match section.shared.linkage[id] {
        Some(Linkage::Weak) => Binding::Weak,
        Some(linkage) if !spec.is_kernel => binding_of(linkage),
        _ => Binding::Global,
    };
    for (member, start) in &section.functions {
        let body = &module.functions[*member];
        function_code(section, *member, *start, &mut spec, lines)?;
        if *member != id {
            let name = format!("${}${}", func.name(), body.name());
            spec.inner_functions.push(InnerFunctionSpec {
                name,
                offset: *start as u32,
                size: section.code[*member].bytes() as u32,
                frame_size: body.frame().size(),
                unwind: section.shared.unwinds[*member].clone(),
            });
        }
    }
    spec.unwind = section.shared.unwinds[id].clone();
    // The prologue ahead of a kernel's first instruction leaves the stack alone.
    spec.unwind.rows.iter_mut().for_each(|row| row.offset += section.prologue.len() as u32);
    finish_section(module.arch, &mut spec.code)?;
    spec.literals = bank_two::contents(section, func);
    let bodies = || section.functions.iter().map(|(f, _)| &module.functions[*f]);
    let allocated = section.functions.iter().map(|(f, _)| &allocation.functions[*f].own.used);
    // What the code names stands there already; calls may need more.
    spec.registers = allocated.map(|used| highest_register(used, RegFile::R)).max().unwrap_or(0).max(spec.registers);
    if let Some(at_entry) = allocation.functions[id].own.at_entry {
        spec.registers = at_entry;
    } else {
        spec.registers = (spec.registers + KEPT_REGISTERS).min(module.arch.sm().max_registers_per_thread);
    }
    spec.barriers = bodies().map(|f| f.attributes().barriers).max().unwrap_or(0);
    spec.frame_size = func.frame().size();
    spec.params = func.params().iter().map(objects::parameter).collect();
    spec.object_slots = objects::slots(module, bodies);
    spec.shared_size = func.attributes().shared_bytes;
    spec.uses_dynamic_shared = !section.is_object && section.shared.dynamic_shared;
    spec.uses_ctaid_z = bodies().any(reads_ctaid_z);
    spec.tensor_memory = bodies().filter_map(tensor_memory).reduce(|a, b| TensorMemory {
        accessed: a.accessed || b.accessed,
        blocks: a.blocks.max(b.blocks),
        allocated: a.allocated || b.allocated,
    });
    if !section.is_object {
        spec.callees = section.shared.externs.clone();
    }
    notes::describe(section, &mut spec);
    if bodies().any(|body| body.attributes().replaces_tensor_map) {
        spec.demands.tensor_maps |= Demands::REPLACES_TENSOR_MAPS;
    }
    let attributes = func.attributes();
    spec.limits = Limits {
        max_threads: attributes.maxntid,
        required_threads: attributes.reqntid,
        max_registers: limits::registers(attributes, module.arch.sm(), spec.registers),
        cluster: attributes.cluster,
        max_cluster_rank: attributes.max_cluster_rank,
        explicit_cluster: attributes.explicit_cluster,
        min_per_cta_memory: attributes.min_per_cta_memory,
        languages: attributes.languages.clone(),
    };
    Ok(spec)
}

fn tensor_memory(func: &Function) -> Option<TensorMemory> {
    let attributes = func.attributes();
    let used = attributes.tensor_memory || attributes.tensor_book;
    used.then_some(TensorMemory {
        accessed: attributes.tensor_memory,
        blocks: attributes.tensor_blocks,
        allocated: attributes.tensor_book,
    })
}

fn is_dynamic_shared(kind: &SymbolKind) -> bool {
    matches!(kind, SymbolKind::Variable(v) if v.space == MemSpace::Shared && v.size == 0)
}

/// One more than the highest register of the file.
pub(crate) fn highest_register(used: &oriole_ori::RegMask, file: RegFile) -> u32 {
    (0..255u16).rev().find(|n| used.contains(file, *n)).map_or(0, |n| u32::from(n) + 1)
}

/// Bytes of stack that functions and their deepest chains of callees take.
struct StackNeeds<'m> {
    module: &'m Module,
    allocation: &'m ModuleAllocation,
    known: SecondaryMap<FuncId, Option<u32>>,
    /// On the path from the function that was asked for to the one that is looked at.
    on_path: SecondaryMap<FuncId, bool>,
}

impl<'m> StackNeeds<'m> {
    fn new(module: &'m Module, allocation: &'m ModuleAllocation) -> Self {
        StackNeeds { module, allocation, known: SecondaryMap::new(), on_path: SecondaryMap::new() }
    }

    /// The need of a function. A cycle of calls counts once: how deep it goes is not known.
    fn of(&mut self, id: FuncId) -> u32 {
        self.with_cycles(id).0
    }

    /// The need, and whether some cycle through the path was cut below: then it is that of this path alone.
    fn with_cycles(&mut self, id: FuncId) -> (u32, bool) {
        if let Some(need) = self.known[id] {
            return (need, false);
        }
        if std::mem::replace(&mut self.on_path[id], true) {
            return (0, true);
        }
        let allocation = self.allocation;
        let callees = allocation.functions[id].callees.iter().map(|callee| self.with_cycles(*callee));
        let (deepest, cut) = callees.fold((0, false), |(most, any), (need, cut)| (most.max(need), any | cut));
        self.on_path[id] = false;
        let need = self.module.functions[id].frame().size() + deepest;
        if !cut {
            self.known[id] = Some(need);
        }
        (need, cut)
    }
}

fn reads_ctaid_z(func: &Function) -> bool {
    let Some(ctaid_z) = special_registers::all().iter().find(|r| r.name == "SR_CTAID.Z") else { return false };
    let wanted = oriole_ori::OperandKind::Special(ctaid_z.number);
    func.iter_insts().any(|(_, inst)| func[inst].operands.iter().any(|o| o.kind() == wanted))
}

fn function_code(
    section: &Section<'_>,
    id: FuncId,
    start: i64,
    spec: &mut FunctionSpec,
    lines: &mut LineTable,
) -> Result<(), CompileError> {
    let (func, code) = (&section.module.functions[id], &section.code[id]);
    let fault = |reason: String| CompileError::Internal { function: func.name().to_owned(), reason };
    spec.registers = spec.registers.max(code.registers);
    let place = |at: u32| start + i64::from(at) * INST_BYTES;
    let first = spec.code.len();
    spec.code.extend(code.words.iter().flat_map(|word| word.to_le_bytes()));
    for (at, machine) in &code.open {
        checkpoint(8);
        let word = open_word(section, MachineCode::placed(machine, start), place(*at), spec).map_err(fault)?;
        let offset = first + *at as usize * INST_BYTES as usize;
        spec.code[offset..][..INST_BYTES as usize].copy_from_slice(&word.to_le_bytes());
    }
    spec.jumps.extend(code.tables.iter().flat_map(|table| bank_two::record(table, start)));
    spec.exits.extend(code.exits.iter().map(|at| place(*at) as u32));
    // The library's own routines have no line in the user's source.
    if func.kind() != FunctionKind::Internal {
        lines.extend(code.locs.iter().map(|(at, loc)| (place(*at) as u64, func[*loc])));
    }
    Ok(())
}

/// The word of an instruction that names addresses: those of symbols are put in, or left to the linker.
fn open_word(section: &Section<'_>, machine: MachineInst, pc: i64, spec: &mut FunctionSpec) -> Result<u128, String> {
    let mut inst = machine.inst;
    for (operand, reference) in machine.relocs {
        let driver = section.module.symbols[reference.symbol].kind == SymbolKind::DriverValue;
        if section.is_object || driver {
            leave_to_linker(section.module, &mut inst, operand, reference, pc, spec);
        } else {
            resolve(section, &mut inst, operand, reference)?;
        }
    }
    settle_code_addresses(&mut inst, section.is_object);
    let absolute = inst.opcode == Opcode::CALL && inst.get(oriole_isa::Field::CALL_MODE) == oriole_isa::CallMode::ABS;
    if absolute {
        spec.syscalls.push(pc as u32);
    }
    encode(&inst, section.arch, pc as u64)
        .map_err(|e| format!("'{}' at {pc:#x} has no encoding: {e}", inst.display(section.arch)))
}

/// The address of a symbol is the linker's: note where it goes.
fn leave_to_linker(
    module: &Module,
    inst: &mut Inst,
    operand: usize,
    reference: SymbolRef,
    pc: i64,
    spec: &mut FunctionSpec,
) {
    inst.operands[operand].value = Value::Imm(0);
    let relocation = RelocSpec {
        offset: pc as u32,
        kind: object::code_relocation(module, inst, operand, reference),
        symbol: module.symbols[reference.symbol].name.clone(),
        addend: reference.addend,
    };
    if inst.opcode == Opcode::CALL {
        object::note_callee(&mut spec.callees, &relocation);
    }
    spec.relocations.push(relocation);
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
/// start of the section; in an object file they are addresses.
fn settle_code_addresses(inst: &mut Inst, is_object: bool) {
    for (operand, spec) in inst.operands.iter_mut().zip(inst.opcode.signature()) {
        if let Value::Label(address) = operand.value
            && !spec.kinds.contains(Kinds::LABEL)
        {
            operand.value = Value::Imm(address as u64 & 0xffff_ffff);
        }
    }
    let counts_from_start =
        !is_object && (inst.opcode == Opcode::RET || inst.opcode == Opcode::CALL && is_relative_indirect(inst));
    if let Some(target) = inst.opcode.position(Role::Target).filter(|_| counts_from_start) {
        inst.operands[target].value = Value::Label(0);
    }
}

fn is_relative_indirect(call: &Inst) -> bool {
    let base = call.opcode.position(Role::Base).map(|at| call.operands[at].value);
    call.get(oriole_isa::Field::CALL_MODE) == oriole_isa::CallMode::REL && base.is_some_and(|base| base != Value::None)
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

fn binding_of(linkage: Linkage) -> Binding {
    match linkage {
        Linkage::Internal => Binding::Local,
        Linkage::Weak => Binding::Weak,
        Linkage::Visible | Linkage::Common | Linkage::External => Binding::Global,
    }
}

fn variable_spec(module: &Module, name: &str, linkage: Linkage, variable: &Variable, is_object: bool) -> VariableSpec {
    let kind = |r: &DataReloc| {
        let byte = match r.kind {
            DataRelocKind::Byte(n) => Some(n),
            _ => None,
        };
        let unified = is_object.then(|| object::unified_data(module, r.symbol, byte, r.size)).flatten();
        unified.unwrap_or_else(|| data_relocation(r.kind, r.size))
    };
    let relocations = variable
        .relocs
        .iter()
        .map(|r| RelocSpec {
            offset: r.offset as u32,
            kind: kind(r),
            symbol: module.symbols[r.symbol].name.clone(),
            addend: r.addend,
        })
        .collect();
    VariableSpec {
        name: name.to_owned(),
        binding: binding_of(linkage),
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
