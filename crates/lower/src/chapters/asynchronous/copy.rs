//! `cp.async`: a thread's copy of 4, 8 or 16 bytes from global to shared memory, and groups of such copies.

use crate::chapters::asynchronous::{address_of, groups_left, wait_for_groups};
use crate::chapters::memory::address::Addr;
use crate::chapters::memory::{address, manner};
use crate::error::Lowered;
use crate::function::descriptor::descriptor;
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::{FnLower, bindings, operands, ops, sources};
use crate::handler::unknown;
use oriole_isa::Role::{Base, Desc, Offset, PA, SBase, SOffset};
use oriole_isa::{Field, MemSize, Opcode as Sass};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Instruction, ScalarType, Space, Word};

/// Sizes in bytes and what SASS calls them.
const SIZES: [(u64, MemSize); 3] = [(4, MemSize::B32), (8, MemSize::B64), (16, MemSize::B128)];

/// `cp.async.ca|cg…`, `cp.async.commit_group`, `cp.async.wait_group n`, `cp.async.wait_all`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::CommitGroup) {
        return end_group(cx);
    }
    if instruction.has(Word::WaitAll) {
        end_group(cx)?;
        return wait_for_groups(cx, 0);
    }
    if instruction.has(Word::WaitGroup) {
        let left = groups_left(cx, instruction)?;
        return wait_for_groups(cx, left);
    }
    copy(cx, instruction)
}

/// The copies so far are a group.
fn end_group(cx: &mut FnLower<'_, '_>) -> Lowered {
    cx.emit(Sass::LDGDEPBAR, &[], &[])?;
    Ok(())
}

/// `cp.async.op.shared.global [dst], [src], size{, src_size | ignore}{, policy};`
///
/// The policy is a hint that is not passed on.
fn copy(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let bytes = operands::operand(instruction, 2)?.imm().and_then(|imm| imm.int_bits());
    let size = SIZES.iter().find(|(size, _)| Some(*size) == bytes).ok_or_else(|| unknown(cx, instruction))?;
    let hints = usize::from(instruction.has(Word::L2CacheHint));
    let rest = instruction.operands.get(3..instruction.operands.len() - hints).unwrap_or_default();
    let to = address::resolve_shared(cx, instruction.space(), address_of(cx, instruction, 0)?)?;
    let from = address::resolve(cx, Some(Space::Global), address_of(cx, instruction, 1)?)?;
    let source = source(cx, from, size.0, rest.first())?;
    let mut inst = Inst::neutral(Sass::LDGSTS, Default::default());
    inst.mods.set(Field::MEM_SIZE, size.1);
    inst.mods.set(Field::BYPASS, instruction.has(Word::Cg));
    inst.mods.set(Field::LTC, manner::prefetch_size(instruction));
    inst.mods.set(Field::ZFILL, source.fills);
    inst.set_role(SBase, to.base);
    inst.set_role(SOffset, Operand::imm_signed(to.offset));
    inst.set_role(Base, source.base);
    inst.set_role(Offset, Operand::imm_signed(source.offset));
    inst.set_role(Desc, descriptor());
    inst.set_role(PA, source.is_read);
    cx.emit_inst(inst)?;
    Ok(())
}

/// What a copy reads.
struct Source {
    base: Operand,
    offset: i32,
    /// The address is that many bytes too high as are to be zero.
    fills: bool,
    /// A predicate; where it is false all bytes are zero.
    is_read: Operand,
}

/// The source of a copy of `size` bytes of which `part` says how many are read (or a predicate: none).
///
/// LDGSTS.ZFILL takes the low bits of the address for the number of zeros at the end.
fn source(cx: &mut FnLower<'_, '_>, from: Addr, size: u64, part: Option<&ast::Operand>) -> Lowered<Source> {
    let whole = Source { base: from.base, offset: from.offset, fills: false, is_read: Operand::pt() };
    let Some(part) = part else { return Ok(whole) };
    if bindings::declared_type(cx, part)? == Some(ScalarType::Pred) || matches!(part, ast::Operand::Not(..)) {
        let ignored = sources::pred(cx, part)?;
        return Ok(Source { is_read: ignored.not(), ..whole });
    }
    match part.imm().and_then(|imm| imm.int_bits()) {
        Some(0) => Ok(Source { is_read: Operand::pt().not(), ..whole }),
        Some(read) if read >= size => Ok(whole),
        Some(read) => Ok(Source { offset: from.offset + (size - read) as i32, fills: true, ..whole }),
        None => {
            let read = sources::src(cx, part)?;
            let read = ops::in_reg(cx, read)?;
            let is_read = cx.temp_pred()?;
            ops::is_nonzero(cx, is_read, read)?;
            let zeros = cx.temp()?;
            ops::add(cx, zeros, read.neg(), Operand::imm(size as u32))?;
            let low = cx.temp()?;
            ops::lop3(cx, low, zeros, Operand::imm(size as u32 - 1), Operand::rz(), lut::AND)?;
            let moved = cx.temp64()?;
            let base = whole.base.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
            ops::add64(cx, moved, base, Wide::of_halves(low, Operand::rz()))?;
            Ok(Source { base: Operand::reg(moved), offset: whole.offset, fills: true, is_read })
        }
    }
}
