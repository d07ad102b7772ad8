//! `cp.async.bulk`, `cp.reduce.async.bulk`: copies of blocks of memory by the copy engine.

use crate::chapters::asynchronous::{
    bracketed, groups_left, in_halves, needs_clusters, shared_word, wait_for_groups, wide_words,
};
use crate::chapters::memory::fences;
use crate::error::Lowered;
use crate::function::uniform::{one_by_one, uniform};
use crate::function::{FnLower, operands, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D, Desc, Dst, Size, Src, UBase};
use oriole_isa::{BulkType, CopyDst, CopySrc, Field, Opcode as Sass, ShiftDir, ShiftType};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Instruction, ScalarType, Space, Word};

/// Element types of a bulk reduction.
const TYPES: [(ScalarType, BulkType); 11] = [
    (ScalarType::B32, BulkType::U32),
    (ScalarType::U32, BulkType::U32),
    (ScalarType::S32, BulkType::S32),
    (ScalarType::B64, BulkType::U64),
    (ScalarType::U64, BulkType::U64),
    (ScalarType::S64, BulkType::S64),
    (ScalarType::F16, BulkType::F16),
    (ScalarType::Bf16, BulkType::BF16),
    (ScalarType::F32, BulkType::F32),
    (ScalarType::F64, BulkType::F64),
    (ScalarType::B16, BulkType::F16),
];

/// The copy engine counts in units of this many bytes (a shift).
const UNIT_SHIFT: u32 = 4;

/// `cp.async.bulk…`, `cp.reduce.async.bulk…`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    match () {
        () if instruction.has(Word::CommitGroup) => end_group(cx),
        () if instruction.has(Word::WaitGroup) => wait(cx, instruction),
        () if instruction.has(Word::Prefetch) => prefetch(cx, instruction),
        () => copy(cx, instruction),
    }
}

/// `cp.async.bulk.commit_group;`
fn end_group(cx: &mut FnLower<'_, '_>) -> Lowered {
    cx.guard_by_branch()?;
    cx.emit(Sass::UTMACMDFLUSH, &[], &[])?;
    Ok(())
}

/// `cp.async.bulk.wait_group{.read} n;`
fn wait(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let left = groups_left(cx, instruction)?;
    wait_for_groups(cx, left)?;
    if instruction.has(Word::Read) { Ok(()) } else { fences::invalidate(cx) }
}

/// What follows the operands that all copies have: those that modifiers call for, in order.
pub(crate) struct Rest<'i> {
    operands: std::slice::Iter<'i, ast::Operand>,
}

impl<'i> Rest<'i> {
    /// The operands from number `from` on.
    pub(super) fn from(instruction: &'i Instruction, from: usize) -> Self {
        Rest { operands: instruction.operands.get(from..).unwrap_or_default().iter() }
    }

    /// The next operand, if `called_for`.
    pub(super) fn next_if(
        &mut self,
        cx: &FnLower<'_, '_>,
        instruction: &Instruction,
        called_for: bool,
    ) -> Lowered<Option<&'i ast::Operand>> {
        if !called_for {
            return Ok(None);
        }
        self.operands.next().map(Some).ok_or_else(|| unknown(cx, instruction))
    }

    /// The mbarrier that counts the bytes of the copy: its shared address.
    pub(super) fn mbarrier(&mut self, cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Operand> {
        let operand = self.next_if(cx, instruction, true)?;
        shared_word(cx, Some(Space::Shared), bracketed(cx, instruction, operand)?)
    }

    /// The mask of the blocks that get the copy, if it is for several.
    pub(super) fn multicast(
        &mut self,
        cx: &mut FnLower<'_, '_>,
        instruction: &Instruction,
    ) -> Lowered<Option<Operand>> {
        let mask = self.next_if(cx, instruction, instruction.has(Word::MulticastCluster))?;
        mask.map(|mask| sources::src(cx, mask)).transpose()
    }

    /// The mask of the bytes of each unit that are written, if the copy has one.
    fn byte_mask(&mut self, cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Option<Operand>> {
        let mask = self.next_if(cx, instruction, instruction.has(Word::CpMask))?;
        mask.map(|mask| sources::src(cx, mask)).transpose()
    }

    /// The policy of the L2 cache, as two words, if there is one.
    pub(super) fn policy(
        &mut self,
        cx: &mut FnLower<'_, '_>,
        instruction: &Instruction,
    ) -> Lowered<Option<[Operand; 2]>> {
        let policy = self.next_if(cx, instruction, instruction.has(Word::L2CacheHint))?;
        let Some(policy) = policy else { return Ok(None) };
        let policy = sources::src64(cx, policy)?;
        Ok(Some([policy.lo, policy.hi]))
    }
}

/// `cp{.reduce}.async.bulk.dst.src… [dst], [src], size{, [mbar]}{, blocks}{, policy}{, byte mask};`
fn copy(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let mut spaces = instruction.spaces();
    let (to_space, from_space) = (spaces.next(), spaces.next());
    let to = crate::chapters::asynchronous::address_of(cx, instruction, 0)?;
    let from = crate::chapters::asynchronous::address_of(cx, instruction, 1)?;
    let bytes = sources::src(cx, operands::operand(instruction, 2)?)?;
    let mut rest = Rest::from(instruction, 3);
    let (to_global, from_global) = (to_space == Some(Space::Global), from_space == Some(Space::Global));
    let to = if to_global {
        wide_words(cx, to_space, to)?
    } else {
        [shared_word(cx, to_space, to)?, rest.mbarrier(cx, instruction)?]
    };
    let from = match from_global {
        true => wide_words(cx, from_space, from)?.to_vec(),
        false => vec![shared_word(cx, from_space, from)?],
    };
    let blocks = rest.multicast(cx, instruction)?;
    let policy = rest.policy(cx, instruction)?;
    let byte_mask = rest.byte_mask(cx, instruction)?;
    let size = size_word(cx, bytes, blocks.or(byte_mask))?;
    let mut inst = engine_inst(cx, instruction)?;
    inst.mods.set(Field::COPY_DST, if to_global { CopyDst::G } else { CopyDst::S });
    if inst.opcode == Sass::UBLKCP {
        inst.mods.set(Field::COPY_SRC, if from_global { CopySrc::G } else { CopySrc::S });
        inst.mods.set(Field::MULTICAST, blocks.is_some());
        inst.mods.set(Field::BYTE_MASK, byte_mask.is_some());
    }
    one_by_one(cx, |cx| {
        inst.set_role(Dst, uniform(cx, &to)?);
        inst.set_role(Src, uniform(cx, &from)?);
        inst.set_role(Size, uniform(cx, &[size])?);
        finish(cx, inst, policy)
    })
}

/// The instruction of a copy or a reduction, without operands and spaces.
fn engine_inst(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Inst> {
    if !instruction.has(Word::Reduce) {
        return Ok(Inst::neutral(Sass::UBLKCP, Default::default()));
    }
    let op = crate::chapters::atomics::operation::operation(instruction);
    let ty = TYPES.iter().find(|(ty, _)| Some(*ty) == instruction.last_type());
    let ((_, op), (_, ty)) = op.zip(ty).ok_or_else(|| unknown(cx, instruction))?;
    Ok(Inst::neutral(Sass::UBLKRED, [Field::ATOM_OP.is(op), Field::BULK_TYPE.is(*ty)].into_iter().collect()))
}

/// `cp.async.bulk.prefetch.L2.global{.L2::evict_last} [src], size{, policy};`, `applypriority.async.bulk{.global}… [a], size;`
pub(super) fn prefetch(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let from = wide_words(cx, Some(Space::Global), crate::chapters::asynchronous::address_of(cx, instruction, 0)?)?;
    let bytes = sources::src(cx, operands::operand(instruction, 1)?)?;
    let size = size_word(cx, bytes, None)?;
    let policy = Rest::from(instruction, 2).policy(cx, instruction)?;
    let control = super::l2_control(cx, Sass::UBLKPF, instruction)?;
    let mut inst = Inst::neutral(Sass::UBLKPF, control.into_iter().collect());
    one_by_one(cx, |cx| {
        inst.set_role(Src, uniform(cx, &from)?);
        inst.set_role(Size, uniform(cx, &[size])?);
        finish(cx, inst, policy)
    })
}

/// `st.bulk{.weak}{.shared::cta} [a], size, 0;`: zeros.
pub(crate) fn clear(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    /// UMEMSETS counts in units of this many bytes (a shift).
    const UNIT_SHIFT: u32 = 3;
    if !cx.has(Sass::UMEMSETS) {
        return Err(unknown(cx, instruction));
    }
    cx.guard_by_branch()?;
    let at = shared_word(cx, instruction.space(), crate::chapters::asynchronous::address_of(cx, instruction, 0)?)?;
    let bytes = sources::src64(cx, operands::operand(instruction, 1)?)?.lo;
    let units = match crate::function::uniform::constant(bytes) {
        Some(bytes) => Operand::imm(bytes >> UNIT_SHIFT),
        None => {
            let (bytes, units) = (ops::in_reg(cx, bytes)?, cx.temp()?);
            word_ops::shift_right(cx, false, units, bytes, Operand::imm(UNIT_SHIFT))?;
            units
        }
    };
    one_by_one(cx, |cx| {
        let (base, size) = (uniform(cx, &[at])?, uniform(cx, &[units])?);
        cx.emit(Sass::UMEMSETS, &[], &[(UBase, base), (Size, size)])?;
        Ok(())
    })
}

/// Emits an instruction of the copy engine, with the policy if there is one.
pub(crate) fn finish(cx: &mut FnLower<'_, '_>, mut inst: Inst, policy: Option<[Operand; 2]>) -> Lowered {
    if let Some(policy) = policy {
        inst.set_role(Desc, uniform(cx, &policy)?);
    }
    cx.emit_inst(inst)?;
    Ok(())
}

/// Size and mask, of blocks or of bytes, in one word.
fn size_word(cx: &mut FnLower<'_, '_>, bytes: Operand, mask: Option<Operand>) -> Lowered<Operand> {
    let units = match crate::function::uniform::constant(bytes) {
        Some(bytes) => Operand::imm(bytes >> UNIT_SHIFT),
        None => {
            let to = cx.temp()?;
            let mods = [Field::SHIFT_DIR.is(ShiftDir::R), Field::SHIFT_TYPE.is(ShiftType::U32), Field::HI.is(true)];
            let operands = [(D, to), (A, Operand::rz()), (B, Operand::imm(UNIT_SHIFT)), (C, bytes)];
            cx.emit(Sass::SHF, &mods, &operands)?;
            to
        }
    };
    in_halves(cx, units, mask.unwrap_or(Operand::rz()))
}
