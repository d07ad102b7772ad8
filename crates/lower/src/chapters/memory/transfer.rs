//! The load or store instruction of a resolved address.

use crate::chapters::memory::access::Shape;
use crate::chapters::memory::address::{Addr, Target};
use crate::chapters::memory::manner::Manner;
use crate::error::{Lowered, unsupported};
use crate::function::{FnLower, descriptor};
use oriole_isa::Role::{Bank, Base, D, Data, Offset};
use oriole_isa::{Field, Opcode as Sass};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{Instruction, ScalarType};

/// The load instruction of a resolved address.
pub(crate) fn load_inst(cx: &FnLower<'_, '_>, shape: &Shape, addr: &Addr, to: Operand, manner: &Manner) -> Inst {
    let opcode = match addr.target {
        Target::Global => Sass::LDG,
        Target::Generic => Sass::LD,
        Target::Shared => Sass::LDS,
        Target::Local => Sass::LDL,
        Target::Constant(_) => Sass::LDC,
    };
    let mut inst = Inst::neutral(opcode, Default::default());
    inst.mods.set(Field::MEM_SIZE, shape.mem_size());
    inst.set_role(D, to);
    inst.set_role(Base, addr.base);
    match addr.target {
        Target::Constant(bank) => inst.set_role(Bank, Operand::cbank(bank, addr.offset as u32)),
        _ => inst.set_role(Offset, Operand::imm_signed(addr.offset)),
    }
    if addr.target.is_coherent() {
        descriptor::describe(cx, &mut inst);
    }
    manner.apply(&mut inst);
    inst
}

/// The store instruction of a resolved address.
pub(crate) fn store_inst(
    cx: &mut FnLower<'_, '_>,
    shape: &Shape,
    addr: &Addr,
    data: Operand,
    manner: &Manner,
) -> Lowered<Inst> {
    let opcode = match addr.target {
        Target::Global => Sass::STG,
        Target::Generic => Sass::ST,
        Target::Shared => Sass::STS,
        Target::Local => Sass::STL,
        Target::Constant(_) => return Err(unsupported(cx.span, "a store to constant memory")),
    };
    let mut inst = Inst::neutral(opcode, Default::default());
    inst.mods.set(Field::MEM_SIZE, shape.mem_size());
    inst.set_role(Base, addr.base);
    inst.set_role(Offset, Operand::imm_signed(addr.offset));
    inst.set_role(Data, data);
    if addr.target.is_coherent() {
        descriptor::describe(cx, &mut inst);
    }
    manner.apply(&mut inst);
    Ok(inst)
}

/// `to` = 1, 2, 4, 8 or 16 bytes at an address, in as many registers as they take.
pub(crate) fn load_bytes(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    bytes: u32,
    addr: &Addr,
    to: Operand,
) -> Lowered {
    let manner = Manner::of(cx, instruction);
    let inst = load_inst(cx, &Shape { ty: ScalarType::U8, count: bytes }, addr, to, &manner);
    cx.emit_inst(inst)?;
    Ok(())
}

/// 1, 2, 4, 8 or 16 bytes at an address = `data`.
pub(crate) fn store_bytes(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    bytes: u32,
    addr: &Addr,
    data: Operand,
) -> Lowered {
    let manner = Manner::of(cx, instruction);
    let inst = store_inst(cx, &Shape { ty: ScalarType::U8, count: bytes }, addr, data, &manner)?;
    cx.emit_inst(inst)?;
    Ok(())
}
