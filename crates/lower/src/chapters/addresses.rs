//! Address conversion and queries: `cvta`, `isspacep`, `mapa`, `getctarank`; `prefetch`.

use crate::chapters::memory::address;
use crate::error::{Lowered, unsupported};
use crate::function::generic::{from_generic, to_generic, window};
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::{FnLower, destinations, operands, ops, place, shared, sources};
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{Base, D, Offset, PD};
use oriole_isa::{CctlOp, Cmp, Field, MemSize, Opcode as Sass, QspcSpace};
use oriole_ori::{Inst, InstFlags, Operand};
use oriole_ptx::ast::{self, Instruction, Opcode, Space, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[
    (Opcode::Cvta, cvta),
    (Opcode::Isspacep, isspacep),
    (Opcode::Mapa, mapa),
    (Opcode::Getctarank, cta_rank),
    (Opcode::Prefetch, prefetch),
    (Opcode::Prefetchu, prefetch),
    (Opcode::Discard, prefetch),
    (Opcode::Applypriority, prefetch),
];

/// `cvta.space d, a;` and `cvta.to.space d, a;`
fn cvta(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let space = instruction.space().ok_or_else(|| unknown(cx, instruction))?;
    let (to, from) = (operands::operand(instruction, 0)?, operands::operand(instruction, 1)?);
    let source = sources::src64(cx, from)?;
    let result =
        if instruction.has(Word::To) { from_generic(cx, space, source)? } else { to_generic(cx, space, source)? };
    let dst = destinations::dst64(cx, to, &[result])?;
    ops::mov64(cx, dst.pair, result)
}

/// `isspacep.space p, a;`
fn isspacep(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let space = instruction.space().ok_or_else(|| unknown(cx, instruction))?;
    let (to, from) = (operands::operand(instruction, 0)?, operands::operand(instruction, 1)?);
    let address = sources::src64(cx, from)?;
    let inside = match space {
        Space::Global => {
            let window = query(cx, QspcSpace::G, address)?;
            let constant = in_constants(cx, address)?;
            let both = cx.temp_pred()?;
            ops::logic_pred(cx, both, window, constant.not(), lut::AND)?;
            both
        }
        Space::Local => query(cx, QspcSpace::L, address)?,
        Space::Shared | Space::SharedCta => query(cx, QspcSpace::S, address)?,
        Space::SharedCluster if shared::has_clusters(cx) => query(cx, QspcSpace::D, address)?,
        Space::SharedCluster => query(cx, QspcSpace::S, address)?,
        Space::Const => in_constants(cx, address)?,
        space if place::is_parameter(Some(space)) => in_parameters(cx, address)?,
        _ => return Err(unknown(cx, instruction)),
    };
    let to = destinations::dst_pred(cx, to)?;
    ops::mov_pred(cx, to, inside)
}

/// Asks the memory system which window the address is in.
fn query(cx: &mut FnLower<'_, '_>, space: QspcSpace, address: Wide) -> Lowered<Operand> {
    let base = ops::in_pair(cx, address)?;
    let pred = cx.temp_pred()?;
    cx.emit(Sass::QSPC, &[Field::QSPC_SPACE.is(space)], &[(PD, pred), (Base, base)])?;
    Ok(pred)
}

/// Whether the address is among the `.const` variables.
fn in_constants(cx: &mut FnLower<'_, '_>, address: Wide) -> Lowered<Operand> {
    let bytes = cx.module.constant_bytes();
    if bytes == 0 {
        return Ok(Operand::pt().not());
    }
    let (base, _) = window(cx, Space::Const)?;
    within(cx, address, base, Wide::of_bits(bytes))
}

/// Whether the address is among the kernel's parameters.
fn in_parameters(cx: &mut FnLower<'_, '_>, address: Wide) -> Lowered<Operand> {
    let bank = &cx.arch().sm().bank0;
    let start = cx.temp64()?;
    let end = cx.temp64()?;
    match (bank.parameter_window, bank.parameter_window_end, bank.bank_window, bank.parameter_end) {
        (Some(first), Some(last), ..) => {
            ops::read_constant64(cx, start, 0, u32::from(first))?;
            ops::read_constant64(cx, end, 0, u32::from(last))?;
        }
        (_, _, Some(window), Some(last)) => {
            let base = cx.temp64()?;
            ops::read_constant64(cx, base, 0, u32::from(window))?;
            ops::add64(cx, start, Wide::of_pair(base), Wide::of_bits(u64::from(bank.parameters)))?;
            let length = cx.temp()?;
            ops::read_constant(cx, length, 0, u32::from(last))?;
            ops::add64(cx, end, Wide::of_pair(base), Wide::of_halves(length, Operand::rz()))?;
        }
        _ => return Err(unsupported(cx.span, "isspacep.param")),
    }
    let size = cx.temp64()?;
    ops::sub64(cx, size, Wide::of_pair(end), Wide::of_pair(start))?;
    within(cx, address, Wide::of_pair(start), Wide::of_pair(size))
}

/// `start <= address < start + size`
fn within(cx: &mut FnLower<'_, '_>, address: Wide, start: Wide, size: Wide) -> Lowered<Operand> {
    let distance = cx.temp64()?;
    ops::sub64(cx, distance, address, start)?;
    let pred = cx.temp_pred()?;
    ops::isetp64(cx, pred, Cmp::LT, false, Wide::of_pair(distance), size)?;
    Ok(pred)
}

/// Levels and what CCTL prefetches for them.
const PREFETCHES: [(Word, CctlOp); 4] = [
    (Word::L1, CctlOp::PF1),
    (Word::L2, CctlOp::PF2),
    (Word::L2EvictLast, CctlOp::PML2),
    (Word::L2EvictNormal, CctlOp::PF2),
];

/// `prefetch.space.level [a];`, `discard.L2 [a], size;`, `applypriority.L2::evict_normal [a], size;`
fn prefetch(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::Async) {
        return crate::chapters::asynchronous::priority(cx, instruction);
    }
    if instruction.has(Word::Tensormap) {
        return crate::chapters::asynchronous::tensormap::prefetch(cx, instruction);
    }
    let level = match instruction.opcode {
        Opcode::Discard => Some(CctlOp::RML2),
        Opcode::Applypriority => Some(CctlOp::DML2),
        _ => PREFETCHES.iter().find(|(word, _)| instruction.has(*word)).map(|(_, op)| *op),
    };
    let Some(address) = operands::operand(instruction, 0)?.address() else { return Err(unknown(cx, instruction)) };
    if instruction.has(Word::ValidAddr) {
        return touch(cx, address);
    }
    let level = level.ok_or_else(|| unknown(cx, instruction))?;
    let addr = address::resolve(cx, instruction.space(), address)?;
    let opcode = match addr.target {
        address::Target::Local => Sass::CCTLL,
        address::Target::Global | address::Target::Generic => Sass::CCTL,
        _ => return Err(unknown(cx, instruction)),
    };
    cx.emit(opcode, &[Field::CCTL_OP.is(level)], &[(Base, addr.base), (Offset, Operand::imm_signed(addr.offset))])?;
    Ok(())
}

/// `prefetch{.global}.L1::32B.valid_addr [a];`: a load of one byte that nobody wants, as ptxas has it.
fn touch(cx: &mut FnLower<'_, '_>, address: &ast::Address) -> Lowered {
    let addr = address::resolve(cx, Some(Space::Global), address)?;
    let mut inst = Inst::neutral(Sass::LDG, [Field::MEM_SIZE.is(MemSize::U8)].into_iter().collect());
    inst.set_role(D, Operand::rz());
    inst.set_role(Base, addr.base);
    inst.set_role(Offset, Operand::imm_signed(addr.offset));
    inst.flags |= InstFlags::VOLATILE;
    cx.emit_inst(inst)?;
    Ok(())
}

/// `mapa.space.type d, a, b;`: the address of the same place in block `b` of the cluster.
fn mapa(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    on_clusters(cx, instruction)?;
    let rank = sources::src(cx, operands::operand(instruction, 2)?)?;
    let rank = ops::in_reg(cx, rank)?;
    let (to, from) = (operands::operand(instruction, 0)?, operands::operand(instruction, 1)?);
    /// PRMT selector: byte 0 of the second source becomes byte 3.
    const RANK_ON_TOP: u32 = 0x4210;
    if instruction.last_type().is_some_and(|ty| ty.bits() == 64) {
        let address = sources::src64(cx, from)?;
        let low = ops::in_reg(cx, address.lo)?;
        let to = destinations::dst64_direct(cx, to)?;
        ops::prmt(cx, to.lo, low, RANK_ON_TOP, rank)?;
        return ops::mov(cx, to.hi, address.hi);
    }
    let address = sources::src(cx, from)?;
    let address = ops::in_reg(cx, address)?;
    let to = destinations::dst(cx, to)?;
    ops::prmt(cx, to, address, RANK_ON_TOP, rank)
}

/// `getctarank.space.type d, a;`: the block that an address belongs to.
fn cta_rank(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    on_clusters(cx, instruction)?;
    let from = operands::operand(instruction, 1)?;
    let wide = instruction.last_type().is_some_and(|ty| ty.bits() == 64);
    let address = if wide { sources::src64(cx, from)?.lo } else { sources::src(cx, from)? };
    let address = ops::in_reg(cx, address)?;
    let to = destinations::dst(cx, operands::operand(instruction, 0)?)?;
    ops::prmt(cx, to, address, 0x4443, Operand::rz())
}

fn on_clusters(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if shared::has_clusters(cx) { Ok(()) } else { Err(unknown(cx, instruction)) }
}
