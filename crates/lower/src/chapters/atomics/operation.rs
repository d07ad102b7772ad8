//! One atomic operation: what SASS calls it, its instruction, its values and result.

use crate::chapters::memory::address::{Addr, Target};
use crate::error::Lowered;
use crate::function::FnLower;
use crate::handler::unknown;
use oriole_isa::Role::{Base, Offset};
use oriole_isa::{Field, Opcode as Sass, atom_op, atom_type};
use oriole_ori::{Inst, Operand, RegType};
use oriole_ptx::ast::{self, Instruction, ScalarType, Scope, Word};

/// One atomic operation.
pub(crate) struct Atomic<'i> {
    pub(crate) op: Word,
    pub(crate) ty: ScalarType,
    pub(crate) addr: Addr,
    pub(crate) scope: Scope,
    /// [`Field::Mem`]: ordering and scope.
    pub(crate) mem: u8,
    /// Where the old value goes; `None` for `red`.
    pub(crate) result: Option<&'i ast::Operand>,
    /// The second operand, and the third of `cas`.
    pub(crate) values: &'i [ast::Operand],
}

/// The operations and what SASS calls them.
pub(crate) const OPERATIONS: [(Word, u8); 10] = [
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
pub(crate) fn codes(cx: &FnLower<'_, '_>, instruction: &Instruction, atomic: &Atomic<'_>) -> Lowered<(u8, u8)> {
    let op = OPERATIONS.iter().find(|(word, _)| *word == atomic.op).map(|(_, code)| *code);
    op.zip(type_code(atomic.op, atomic.ty)).ok_or_else(|| unknown(cx, instruction))
}

/// An atomic instruction on the address, without result and values.
pub(crate) fn atomic_inst(cx: &FnLower<'_, '_>, atomic: &Atomic<'_>, opcode: Sass, op: u8, ty: u8) -> Inst {
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
pub(crate) fn result_register(
    cx: &mut FnLower<'_, '_>,
    ty: ScalarType,
    result: &ast::Operand,
) -> Lowered<oriole_ori::VReg> {
    match ty.bits() {
        64 => Ok(cx.dst64_direct(result)?.pair),
        128 => cx.dst128(result),
        _ => match cx.dst(result)?.as_reg() {
            Some(reg) => Ok(reg),
            None => cx.temp_of(RegType::R),
        },
    }
}
