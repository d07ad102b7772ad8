//! Vector atomics of sm_90: several floats side by side, each by itself atomic.

use crate::chapters::atomics::operation::{Atomic, OPERATIONS, as_asked, atomic_inst};
use crate::chapters::memory::access::{Shape, gather, landing};
use crate::chapters::memory::address::Target;
use crate::error::Lowered;
use crate::function::FnLower;
use crate::handler::unknown;
use oriole_isa::Role::{D, Data};
use oriole_isa::{AtomType, Field, Opcode as Sass};
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, ScalarType};

/// Element kind, bytes in all, the type as SASS has it.
const TYPES: [(ScalarType, u32, AtomType); 8] = [
    (ScalarType::F32, 8, AtomType::F32X2),
    (ScalarType::F32, 16, AtomType::F32X4),
    (ScalarType::F16, 4, AtomType::F16X2),
    (ScalarType::F16, 8, AtomType::F16X4),
    (ScalarType::F16, 16, AtomType::F16X8),
    (ScalarType::Bf16, 4, AtomType::BF16X2),
    (ScalarType::Bf16, 8, AtomType::BF16X4),
    (ScalarType::Bf16, 16, AtomType::BF16X8),
];

/// `atom.global.add.v2.f32 {d, e}, [a], {b, c};` and its like.
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction, atomic: &Atomic<'_>) -> Lowered {
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let element = match atomic.ty {
        ScalarType::F16x2 => ScalarType::F16,
        ScalarType::Bf16x2 => ScalarType::Bf16,
        ty => ty,
    };
    let ty = TYPES
        .iter()
        .find(|(ty, bytes, _)| *ty == element && *bytes == shape.bytes())
        .map(|(.., code)| as_asked(instruction, *code));
    let op = OPERATIONS.iter().find(|(word, _)| *word == atomic.op).map(|(_, code)| *code);
    let (Some(ty), Some(op), true) = (ty, op, cx.has_with(Sass::REDG, Field::ATOM_TYPE.is(AtomType::F32X2))) else {
        return Err(unknown(cx, instruction));
    };
    let opcode = match (atomic.addr.target, atomic.result) {
        (Target::Global, None) => Sass::REDG,
        (Target::Global, Some(_)) => Sass::ATOMG,
        (Target::Generic, _) => Sass::ATOM,
        _ => return Err(unknown(cx, instruction)),
    };
    let data = gather(cx, &shape, &atomic.values[0])?;
    let mut inst = atomic_inst(cx, atomic, opcode, op, ty);
    inst.set_role(Data, data);
    let Some(result) = atomic.result else {
        inst.set_role(D, Operand::rz());
        cx.emit_inst(inst)?;
        return Ok(());
    };
    let mut to = landing(cx, &shape, result)?;
    inst.set_role(D, to.register());
    cx.emit_inst(inst)?;
    to.distribute(cx, &shape)
}
