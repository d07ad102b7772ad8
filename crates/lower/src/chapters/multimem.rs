//! `multimem`: accesses to multicast addresses, which stand for the same place in the memory of several devices.
//!
//! Stores, reductions and bulk copies are those of global memory: the address makes them reach every device. Only the load
//! that combines what the devices hold is an instruction of its own.

use crate::chapters::asynchronous::bulk;
use crate::chapters::atomics::operation;
use crate::chapters::memory;
use crate::chapters::memory::access::Shape;
use crate::chapters::memory::{access, address, fences, manner};
use crate::error::Lowered;
use crate::function::{FnLower, descriptor, operands};
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{Base, D, Data, Offset};
use oriole_isa::{AtomOp, AtomType, Field, Opcode as Sass};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{Address, Instruction, Opcode, ScalarType, Scope, Semantics, Space, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Multimem, lower)];

/// Element type, bytes in all, the type of a combining load, of a reduction.
///
/// A reduction of singles flushes denormals, a combining load does not; LDGMC has words of 32 bits without sign
/// under another name.
const TYPES: [(ScalarType, u32, AtomType, AtomType); 22] = {
    use ScalarType::{B32, B64, Bf16, E4m3, E5m2, F16, F32, F64, S32, S64, U32, U64};
    [
        (U32, 4, AtomType::B32, AtomType::U32),
        (B32, 4, AtomType::B32, AtomType::U32),
        (S32, 4, AtomType::S32, AtomType::S32),
        (U64, 8, AtomType::U64, AtomType::U64),
        (B64, 8, AtomType::U64, AtomType::U64),
        (S64, 8, AtomType::S64, AtomType::S64),
        (F16, 4, AtomType::F16X2, AtomType::F16X2),
        (F16, 8, AtomType::F16X4, AtomType::F16X4),
        (F16, 16, AtomType::F16X8, AtomType::F16X8),
        (Bf16, 4, AtomType::BF16X2, AtomType::BF16X2),
        (Bf16, 8, AtomType::BF16X4, AtomType::BF16X4),
        (Bf16, 16, AtomType::BF16X8, AtomType::BF16X8),
        (F32, 4, AtomType::F32_IEEE, AtomType::F32),
        (F32, 8, AtomType::F32X2_IEEE, AtomType::F32X2),
        (F32, 16, AtomType::F32X4_IEEE, AtomType::F32X4),
        (F64, 8, AtomType::F64, AtomType::F64),
        (E5m2, 4, AtomType::E5M2X4, AtomType::E5M2X4),
        (E5m2, 8, AtomType::E5M2X8, AtomType::E5M2X8),
        (E5m2, 16, AtomType::E5M2X16, AtomType::E5M2X16),
        (E4m3, 4, AtomType::E4M3X4, AtomType::E4M3X4),
        (E4m3, 8, AtomType::E4M3X8, AtomType::E4M3X8),
        (E4m3, 16, AtomType::E4M3X16, AtomType::E4M3X16),
    ]
};

/// `multimem.ld_reduce`, `multimem.st{.async}`, `multimem.red{.async}`, `multimem.cp{.reduce}.async.bulk`
fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if !cx.has(Sass::LDGMC) {
        return Err(unknown(cx, instruction));
    }
    match () {
        () if instruction.has(Word::Cp) => bulk::lower(cx, instruction),
        () if instruction.has(Word::LdReduce) => load(cx, instruction),
        () if instruction.has(Word::St) => memory::store(cx, instruction),
        () if instruction.has(Word::Red) => reduce(cx, instruction),
        () => Err(unknown(cx, instruction)),
    }
}

/// The access, and the types of a combining load and of a reduction of it.
fn shape(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered<(Shape, AtomType, AtomType)> {
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let element = match shape.ty {
        ScalarType::F16x2 => ScalarType::F16,
        ScalarType::Bf16x2 => ScalarType::Bf16,
        ScalarType::E5m2x2 | ScalarType::E5m2x4 => ScalarType::E5m2,
        ScalarType::E4m3x2 | ScalarType::E4m3x4 => ScalarType::E4m3,
        ty => ty,
    };
    let row = TYPES.into_iter().find(|(ty, bytes, ..)| (*ty, *bytes) == (element, shape.bytes()));
    row.map(|(_, _, load, reduction)| (shape, load, reduction)).ok_or_else(|| unknown(cx, instruction))
}

/// `op` on the address of operand `at`, without data. A multicast address is always one of global memory.
fn access(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    at: usize,
    opcode: Sass,
    op_and_type: (AtomOp, AtomType),
) -> Lowered<Inst> {
    let (op, ty) = op_and_type;
    let address: &Address = operands::operand(instruction, at)?.address().ok_or_else(|| unknown(cx, instruction))?;
    if !cx.has_with(opcode, Field::ATOM_OP.is(op)) || !cx.has_with(opcode, Field::ATOM_TYPE.is(ty)) {
        return Err(unknown(cx, instruction));
    }
    let addr = address::resolve(cx, Some(Space::Global), address)?;
    let mut inst = Inst::neutral(opcode, [Field::ATOM_OP.is(op), Field::ATOM_TYPE.is(ty)].into_iter().collect());
    inst.set_role(Base, addr.base);
    inst.set_role(Offset, Operand::imm_signed(addr.offset));
    Ok(inst)
}

/// `multimem.ld_reduce{.sem}{.scope}{.global}.op{.acc::prec}{.vec}.type d, [a];`
fn load(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let (shape, ty, _) = shape(cx, instruction)?;
    let op = combination(cx, instruction)?;
    let mut inst = access(cx, instruction, 1, Sass::LDGMC, (op, ty))?;
    let mut to = access::landing(cx, &shape, operands::operand(instruction, 0)?)?;
    inst.set_role(D, to.register());
    cx.emit_inst(inst)?;
    to.distribute(cx, &shape)?;
    if instruction.semantics() == Some(Semantics::Acquire) {
        // Other devices write what is read here, whatever the scope: ptxas does so for blocks too.
        fences::invalidate(cx)?;
    }
    Ok(())
}

/// What a load combines the values of all devices by.
fn combination(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered<AtomOp> {
    let (_, op) = operation::operation(instruction).ok_or_else(|| unknown(cx, instruction))?;
    Ok(match () {
        // One code under two names: since sm_100 it is for 8-bit floats too.
        () if instruction.has(Word::AccF32) && cx.has_with(Sass::LDGMC, Field::ATOM_OP.is(AtomOp::F32ADD)) => {
            AtomOp::F32ADD
        }
        () if instruction.has(Word::AccF32) || instruction.has(Word::AccF16) => AtomOp::HPADD,
        () => op,
    })
}

/// Operation and type of a combining load of `bytes` bytes of elements of a type.
pub(crate) fn combining(
    cx: &FnLower<'_, '_>,
    instruction: &Instruction,
    element: ScalarType,
    bytes: u32,
) -> Lowered<(AtomOp, AtomType)> {
    let op = combination(cx, instruction)?;
    let ty = TYPES.iter().find(|(ty, size, ..)| (*ty, *size) == (element, bytes)).map(|(_, _, load, _)| *load);
    let known = ty.filter(|ty| cx.has_with(Sass::LDGMC, Field::ATOM_TYPE.is(*ty)));
    known.map(|ty| (op, ty)).ok_or_else(|| unknown(cx, instruction))
}

/// `multimem.red{.sem}{.scope}{.global}.op{.vec}.type [a], b;`
fn reduce(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let (shape, _, ty) = shape(cx, instruction)?;
    let (_, op) = operation::operation(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let scope = instruction.scope().unwrap_or(Scope::Sys);
    let mut inst = access(cx, instruction, 0, Sass::REDG, (op, ty))?;
    inst.mods.set(Field::MEM, manner::strength(cx, scope));
    descriptor::describe(cx, &mut inst);
    let data = access::gather(cx, &shape, operands::operand(instruction, 1)?)?;
    inst.set_role(Data, data);
    if instruction.semantics() == Some(Semantics::Release) {
        fences::release_fence(cx, scope)?;
    }
    cx.emit_inst(inst)?;
    Ok(())
}
