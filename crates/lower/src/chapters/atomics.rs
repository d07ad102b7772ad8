//! Atomic operations: `atom`, `red`.
//!
//! What the memory system has is one instruction; the rest is a loop around compare-and-swap.

pub(crate) mod cas_loop;
pub(crate) mod combine;
pub(crate) mod vector;

use crate::chapters::memory;
use crate::chapters::memory::address;
use crate::chapters::memory::address::{Addr, Target};
use crate::error::Lowered;
use crate::function::FnLower;
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{Base, D, Data, Data2, Offset};
use oriole_isa::{Field, Opcode as Sass, atom_op, atom_type};
use oriole_ori::{Inst, Operand, RegType};
use oriole_ptx::ast::{self, Instruction, Opcode, ScalarType, Scope, Semantics, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Atom, atom), (Opcode::Red, atom)];

/// One atomic operation.
pub(crate) struct Atomic<'i> {
    op: Word,
    ty: ScalarType,
    addr: Addr,
    scope: Scope,
    /// [`Field::Mem`]: ordering and scope.
    mem: u8,
    /// Where the old value goes; `None` for `red`.
    result: Option<&'i ast::Operand>,
    /// The second operand, and the third of `cas`.
    values: &'i [ast::Operand],
}

/// The operations and what SASS calls them.
const OPERATIONS: [(Word, u8); 10] = [
    (Word::Add, atom_op::ADD),
    (Word::Min, atom_op::MIN),
    (Word::Max, atom_op::MAX),
    (Word::Inc, atom_op::INC),
    (Word::Dec, atom_op::DEC),
    (Word::And, atom_op::AND),
    (Word::Or, atom_op::OR),
    (Word::Xor, atom_op::XOR),
    (Word::Exch, atom_op::EXCH),
    (Word::Cas, atom_op::CAS),
];

/// The operation that an instruction names, and what SASS calls it.
pub(crate) fn operation(instruction: &Instruction) -> Option<(Word, u8)> {
    OPERATIONS.iter().copied().find(|(word, _)| instruction.has(*word))
}

/// `atom{.sem}{.scope}{.space}.op.type d, [a], b{, c};` and `red`.
fn atom(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::MbarrierCompleteTxBytes) {
        return crate::chapters::asynchronous::remote::reduce(cx, instruction);
    }
    let op = operation(instruction).map(|(word, _)| word);
    let (Some(op), Some(ty)) = (op, instruction.last_type()) else { return Err(unknown(cx, instruction)) };
    let first = usize::from(instruction.opcode == Opcode::Atom);
    let Some(address) = cx.operand(instruction, first)?.address() else { return Err(unknown(cx, instruction)) };
    let wanted = if op == Word::Cas { 2 } else { 1 };
    let values = instruction.operands.get(first + 1..first + 1 + wanted).ok_or_else(|| unknown(cx, instruction))?;
    let result = instruction.operands.first().filter(|operand| first == 1 && !matches!(operand, ast::Operand::Sink(_)));
    let space = instruction.space();
    let scope = instruction.scope().unwrap_or(Scope::Gpu);
    let semantics = instruction.semantics().unwrap_or(Semantics::Relaxed);
    let fences = [Semantics::AcqRel, Semantics::Sc].contains(&semantics);
    let is_vector = instruction.vector().is_some();
    let needs_loop = !is_vector && !is_native(cx, op, ty, address::target_of(cx, space, address)?);
    if needs_loop {
        cx.guard_by_branch()?;
    }
    let addr = address::resolve(cx, space, address)?;
    let mem = memory::strong(cx, instruction, scope);
    let atomic = Atomic { op, ty, addr, scope, mem, result, values };
    if fences || memory::has_semantics(instruction, Semantics::Release) {
        memory::release_fence(cx, scope)?;
    }
    if is_vector {
        vector::lower(cx, instruction, &atomic)?;
    } else if needs_loop {
        cas_loop::lower(cx, instruction, &atomic)?;
    } else {
        native(cx, instruction, &atomic)?;
    }
    if (fences || semantics == Semantics::Acquire) && addr.target != Target::Shared {
        memory::acquire_fence(cx, scope)?;
    }
    Ok(())
}

/// Whether one instruction does it.
fn is_native(cx: &FnLower<'_, '_>, op: Word, ty: ScalarType, target: Target) -> bool {
    let swap = matches!(op, Word::Exch | Word::Cas);
    match (target, ty.bits()) {
        (_, 16) => false,
        (_, 128) => swap,
        (Target::Shared, 32) => !ty.is_float(),
        (Target::Shared, _) => swap,
        (Target::Generic, 32) => !ty.is_float(),
        (Target::Generic, _) => op == Word::Cas,
        _ if ty == ScalarType::Bf16x2 => op == Word::Add && cx.has_with(Sass::REDG, Field::AtomType, atom_type::BF16X2),
        _ if ty.is_float() => op == Word::Add,
        _ => true,
    }
}

/// The type as SASS has it.
pub(crate) fn type_code(op: Word, ty: ScalarType) -> Option<u8> {
    let ordered = matches!(op, Word::Min | Word::Max);
    Some(match (ty, ty.bits()) {
        (ScalarType::F32, _) => atom_type::F32,
        (ScalarType::F64, _) => atom_type::F64,
        (ScalarType::F16x2, _) => atom_type::F16X2,
        (ScalarType::Bf16x2, _) => atom_type::BF16X2,
        (ScalarType::S32, _) if ordered => atom_type::S32,
        (ScalarType::S64, _) if ordered => atom_type::S64,
        (_, 32) => atom_type::U32,
        (_, 64) => atom_type::U64,
        (_, 128) => atom_type::B128,
        _ => return None,
    })
}

/// Operation and type as SASS has them.
fn codes(cx: &FnLower<'_, '_>, instruction: &Instruction, atomic: &Atomic<'_>) -> Lowered<(u8, u8)> {
    let op = OPERATIONS.iter().find(|(word, _)| *word == atomic.op).map(|(_, code)| *code);
    op.zip(type_code(atomic.op, atomic.ty)).ok_or_else(|| unknown(cx, instruction))
}

/// One atomic instruction.
fn native(cx: &mut FnLower<'_, '_>, instruction: &Instruction, atomic: &Atomic<'_>) -> Lowered {
    let (op, ty) = codes(cx, instruction, atomic)?;
    let mut values = Vec::new();
    for value in atomic.values {
        values.push(value_of(cx, atomic.ty, value)?);
    }
    let no_result = atomic.result.is_none() && atomic.op != Word::Exch;
    let opcode = match atomic.addr.target {
        Target::Global if no_result && atomic.op != Word::Cas => Sass::REDG,
        Target::Global => Sass::ATOMG,
        Target::Generic => Sass::ATOM,
        Target::Shared => Sass::ATOMS,
        Target::Local | Target::Constant(_) => return Err(unknown(cx, instruction)),
    };
    let result = match atomic.result {
        None => Operand::rz(),
        Some(result) => Operand::reg(result_register(cx, atomic.ty, result)?),
    };
    let mut inst = atomic_inst(cx, atomic, opcode, op, ty);
    inst.set_role(D, result);
    inst.set_role(Data, values[0]);
    if let Some(second) = values.get(1) {
        inst.set_role(Data2, *second);
    }
    cx.emit_inst(inst)?;
    Ok(())
}

/// An atomic instruction on the address, without result and values.
fn atomic_inst(cx: &FnLower<'_, '_>, atomic: &Atomic<'_>, opcode: Sass, op: u8, ty: u8) -> Inst {
    let mut inst = Inst::neutral(opcode, [(Field::AtomOp, op), (Field::AtomType, ty)].into_iter().collect());
    inst.set_role(Base, atomic.addr.base);
    inst.set_role(Offset, Operand::imm_signed(atomic.addr.offset));
    if atomic.addr.target != Target::Shared {
        inst.mods.set(Field::Mem, atomic.mem);
        // The compare-and-swap forms have no place for the descriptor.
        if op != atom_op::CAS {
            cx.describe(&mut inst);
        }
    }
    inst
}

/// A value in a register of the type's width.
pub(crate) fn value_of(cx: &mut FnLower<'_, '_>, ty: ScalarType, value: &ast::Operand) -> Lowered<Operand> {
    match ty.bits() {
        64 => {
            let wide = if ty == ScalarType::F64 { cx.src_f64(value)? } else { cx.src64(value)? };
            cx.in_pair(wide)
        }
        128 => Ok(Operand::reg(cx.quad_register(value)?)),
        _ => {
            let narrow = if ty == ScalarType::F32 { cx.src_f32(value)? } else { cx.src(value)? };
            cx.in_reg(narrow)
        }
    }
}

/// The register that takes the old value.
fn result_register(cx: &mut FnLower<'_, '_>, ty: ScalarType, result: &ast::Operand) -> Lowered<oriole_ori::VReg> {
    match ty.bits() {
        64 => Ok(cx.dst64_direct(result)?.pair),
        128 => cx.dst128(result),
        _ => match cx.dst(result)?.as_reg() {
            Some(reg) => Ok(reg),
            None => cx.temp_of(RegType::R),
        },
    }
}
