//! One atomic operation: what SASS calls it, its instruction, its values and result.

use crate::chapters::memory::address::{Addr, Target};
use crate::error::Lowered;
use crate::function::{FnLower, descriptor, destinations, ops, sources};
use crate::handler::unknown;
use oriole_isa::Role::{Base, Offset};
use oriole_isa::{AtomOp, AtomType, Field, Mem, Opcode as Sass};
use oriole_ori::{Inst, Operand, RegType};
use oriole_ptx::ast::{self, Instruction, ScalarType, Scope, Word};

/// One atomic operation.
pub(crate) struct Atomic<'i> {
    pub(crate) op: Word,
    pub(crate) ty: ScalarType,
    pub(crate) addr: Addr,
    pub(crate) scope: Scope,
    /// [`Field::MEM`]: ordering and scope.
    pub(crate) mem: Mem,
    /// Where the old value goes; `None` for `red`.
    pub(crate) result: Option<&'i ast::Operand>,
    /// The second operand, and the third of `cas`.
    pub(crate) values: &'i [ast::Operand],
}

/// The operations and what SASS calls them.
pub(crate) const OPERATIONS: [(Word, AtomOp); 10] = [
    (Word::Add, AtomOp::ADD),
    (Word::Min, AtomOp::MIN),
    (Word::Max, AtomOp::MAX),
    (Word::Inc, AtomOp::INC),
    (Word::Dec, AtomOp::DEC),
    (Word::And, AtomOp::AND),
    (Word::Or, AtomOp::OR),
    (Word::Xor, AtomOp::XOR),
    (Word::Exch, AtomOp::EXCH),
    (Word::Cas, AtomOp::CAS),
];

/// The operation that an instruction names, and what SASS calls it.
pub(crate) fn operation(instruction: &Instruction) -> Option<(Word, AtomOp)> {
    OPERATIONS.iter().copied().find(|(word, _)| instruction.has(*word))
}

/// Whether one instruction does it.
pub(crate) fn is_native(cx: &FnLower<'_, '_>, op: Word, ty: ScalarType, target: Target) -> bool {
    let swap = matches!(op, Word::Exch | Word::Cas);
    match (target, ty.bits()) {
        (_, 16) => false,
        (_, 128) => swap,
        (Target::Shared, 32) => !ty.is_float(),
        (Target::Shared, _) => swap,
        (Target::Generic, 32) => !ty.is_float(),
        (Target::Generic, _) => op == Word::Cas,
        _ if ty == ScalarType::Bf16x2 => {
            op == Word::Add && cx.has_with(Sass::REDG, Field::ATOM_TYPE.is(AtomType::BF16X2))
        }
        _ if ty.is_float() => op == Word::Add,
        _ => true,
    }
}

/// The type as SASS has it.
pub(crate) fn type_code(op: Word, ty: ScalarType) -> Option<AtomType> {
    let ordered = matches!(op, Word::Min | Word::Max);
    Some(match (ty, ty.bits()) {
        (ScalarType::F32, _) => AtomType::F32,
        (ScalarType::F64, _) => AtomType::F64,
        (ScalarType::F16x2, _) => AtomType::F16X2,
        (ScalarType::Bf16x2, _) => AtomType::BF16X2,
        (ScalarType::S32, _) if ordered => AtomType::S32,
        (ScalarType::S64, _) if ordered => AtomType::S64,
        (_, 32) => AtomType::U32,
        (_, 64) => AtomType::U64,
        (_, 128) => AtomType::B128,
        _ => return None,
    })
}

/// Operation and type as SASS has them.
pub(crate) fn codes(
    cx: &FnLower<'_, '_>,
    instruction: &Instruction,
    atomic: &Atomic<'_>,
) -> Lowered<(AtomOp, AtomType)> {
    let op = OPERATIONS.iter().find(|(word, _)| *word == atomic.op).map(|(_, code)| *code);
    let ty = type_code(atomic.op, atomic.ty).map(|ty| as_asked(instruction, ty));
    op.zip(ty).ok_or_else(|| unknown(cx, instruction))
}

/// Types of singles that flush subnormals, and those that keep them.
const SINGLES: [(AtomType, AtomType); 3] = [
    (AtomType::F32, AtomType::F32_IEEE),
    (AtomType::F32X2, AtomType::F32X2_IEEE),
    (AtomType::F32X4, AtomType::F32X4_IEEE),
];

/// The type, of singles the one that keeps subnormals where `.noftz` asks for it.
pub(crate) fn as_asked(instruction: &Instruction, ty: AtomType) -> AtomType {
    let kept = SINGLES.iter().find(|(flushed, _)| *flushed == ty && instruction.has(Word::Noftz));
    kept.map_or(ty, |(_, kept)| *kept)
}

/// An atomic instruction on the address, without result and values.
pub(crate) fn atomic_inst(cx: &FnLower<'_, '_>, atomic: &Atomic<'_>, opcode: Sass, op: AtomOp, ty: AtomType) -> Inst {
    let mut inst = Inst::neutral(opcode, [Field::ATOM_OP.is(op), Field::ATOM_TYPE.is(ty)].into_iter().collect());
    inst.set_role(Base, atomic.addr.base);
    inst.set_role(Offset, Operand::imm_signed(atomic.addr.offset));
    if atomic.addr.target != Target::Shared {
        inst.mods.set(Field::MEM, atomic.mem);
        // The compare-and-swap forms have no place for the descriptor.
        if op != AtomOp::CAS {
            descriptor::describe(cx, &mut inst);
        }
    }
    inst
}

/// A value in a register of the type's width.
pub(crate) fn value_of(cx: &mut FnLower<'_, '_>, ty: ScalarType, value: &ast::Operand) -> Lowered<Operand> {
    match ty.bits() {
        64 => {
            let wide = if ty == ScalarType::F64 { sources::src_f64(cx, value)? } else { sources::src64(cx, value)? };
            ops::in_pair(cx, wide)
        }
        128 => Ok(Operand::reg(sources::quad_register(cx, value)?)),
        _ => {
            let narrow = if ty == ScalarType::F32 { sources::src_f32(cx, value)? } else { sources::src(cx, value)? };
            ops::in_reg(cx, narrow)
        }
    }
}

/// The register that takes the old value.
pub(crate) fn result_register(
    cx: &mut FnLower<'_, '_>,
    ty: ScalarType,
    result: &ast::Operand,
) -> Lowered<oriole_ori::VReg> {
    match ty.bits() {
        64 => Ok(destinations::dst64_direct(cx, result)?.pair),
        128 => destinations::dst128(cx, result),
        _ => match destinations::dst(cx, result)?.as_reg() {
            Some(reg) => Ok(reg),
            None => cx.temp_of(RegType::R),
        },
    }
}
