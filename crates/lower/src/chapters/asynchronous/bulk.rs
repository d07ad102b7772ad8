//! `cp.async.bulk`, `cp.reduce.async.bulk`: copies of blocks of memory by the copy engine. Those of `multimem` are the same: the
//! address makes them reach every device.

use crate::chapters::asynchronous::{
    bracketed, groups_left, in_halves, needs_clusters, shared_word, wait_for_groups, wide_words,
};
use crate::chapters::memory::{fences, manner};
use crate::error::Lowered;
use crate::function::uniform::{one_by_one, uniform};
use crate::function::{FnLower, operands, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D, Desc, Dst, Size, Src, UBase};
use oriole_isa::{BulkType, CopyDst, CopySrc, Field, Mem, Opcode as Sass, ShiftDir, ShiftType, Validity};
use oriole_ori::{Inst, InstFlags, Operand};
use oriole_ptx::ast::{self, Instruction, Opcode, ScalarType, Scope, Space, Word};

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

/// `cp.async.bulk…`, `cp.reduce.async.bulk…`, and both after `multimem`
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

    /// Leaves out how many bytes at both ends of the source may be out of bounds: the copy engine looks at none.
    fn skip_ignored(&mut self, cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
        let is_there = instruction.has(Word::IgnoreOob);
        self.next_if(cx, instruction, is_there)?;
        self.next_if(cx, instruction, is_there).map(|_| ())
    }

    /// The mbarrier that counts the bytes of the copy: its shared address.
    pub(super) fn mbarrier(&mut self, cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Operand> {
        let operand = self.next_if(cx, instruction, true)?;
        shared_word(cx, Some(Space::Shared), bracketed(cx, instruction, operand)?)
    }

    /// The mask of the blocks that get the copy, if it is for several.
    pub(super) fn multicast(&mut self, cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Blocks> {
        const NARROW: [Word; 2] = [Word::MulticastCluster, Word::MulticastCluster16b];
        let is_wide = instruction.has(Word::MulticastCluster32b);
        let is_multicast = is_wide || NARROW.iter().any(|word| instruction.has(*word));
        Ok(match self.next_if(cx, instruction, is_multicast)? {
            None => Blocks::Own,
            Some(mask) if is_wide => Blocks::Wide(sources::src(cx, mask)?),
            Some(mask) => Blocks::Narrow(sources::src(cx, mask)?),
        })
    }

    /// The mask of the bytes of each unit that are written, if the copy has one.
    pub(super) fn byte_mask(
        &mut self,
        cx: &mut FnLower<'_, '_>,
        instruction: &Instruction,
    ) -> Lowered<Option<Operand>> {
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

/// The blocks of the cluster that a copy goes to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Blocks {
    /// The one of the address.
    Own,
    /// Those of a mask of 16 bits.
    Narrow(Operand),
    /// Those of a mask of 32 bits, which has a register of its own.
    Wide(Operand),
}

impl Blocks {
    /// The mask of 16 bits.
    pub(super) fn narrow(self) -> Option<Operand> {
        if let Blocks::Narrow(mask) = self { Some(mask) } else { None }
    }

    /// The mask of 32 bits.
    pub(super) fn wide(self) -> Option<Operand> {
        if let Blocks::Wide(mask) = self { Some(mask) } else { None }
    }

    /// Says in a copy that its mask is wide, if it is.
    pub(super) fn mark_wide(self, inst: &mut Inst) {
        if self.wide().is_some() {
            inst.mods.set(Field::MULTICAST32, true);
        }
    }
}

/// Which data of a copy are reported to the mbarrier.
const VALIDITY: [(Word, Validity); 5] = [
    (Word::MbarrierReportValidityPer16bytes80000000, Validity::F32),
    (Word::MbarrierReportValidityPer16bytes8000, Validity::F16),
    (Word::MbarrierReportValidityPer16bytes80, Validity::F8),
    (Word::MbarrierReportValidityPer16bytes8, Validity::F4),
    (Word::MbarrierReportValidityPerElementFf, Validity::FF),
];

/// Says in a copy what it reports, if anything.
pub(super) fn mark_validity(instruction: &Instruction, inst: &mut Inst) {
    if let Some((_, validity)) = VALIDITY.iter().find(|(word, _)| instruction.has(*word)) {
        inst.mods.set(Field::VALIDITY, *validity);
    }
}

/// `cp{.reduce}.async.bulk.dst.src… [dst], [src], size{, left, right}{, [mbar]}{, blocks}{, policy}{, byte mask};`
fn copy(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let mut spaces = instruction.spaces();
    let (to_space, from_space) = (spaces.next(), spaces.next());
    let to = crate::chapters::asynchronous::address_of(cx, instruction, 0)?;
    let from = crate::chapters::asynchronous::address_of(cx, instruction, 1)?;
    let bytes = sources::src(cx, operands::operand(instruction, 2)?)?;
    let mut rest = Rest::from(instruction, 3);
    rest.skip_ignored(cx, instruction)?;
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
    let size = match blocks {
        Blocks::Wide(mask) => vec![units(cx, bytes)?, mask],
        _ => vec![size_word(cx, bytes, blocks.narrow().or(byte_mask))?],
    };
    let mut inst = engine_inst(cx, instruction)?;
    if instruction.has(Word::IgnoreOob) {
        inst.flags |= InstFlags::OTHER_KIND;
    }
    inst.mods.set(Field::COPY_DST, if to_global { CopyDst::G } else { CopyDst::S });
    if inst.opcode == Sass::UBLKCP {
        inst.mods.set(Field::COPY_SRC, if from_global { CopySrc::G } else { CopySrc::S });
        inst.mods.set(Field::MULTICAST, blocks.narrow().is_some());
        blocks.mark_wide(&mut inst);
        mark_validity(instruction, &mut inst);
        inst.mods.set(Field::BYTE_MASK, byte_mask.is_some());
    }
    one_by_one(cx, |cx| {
        inst.set_role(Dst, uniform(cx, &to)?);
        inst.set_role(Src, uniform(cx, &from)?);
        inst.set_role(Size, uniform(cx, &size)?);
        finish(cx, inst, policy)
    })
}

/// The instruction of a copy or a reduction, without operands and spaces.
pub(super) fn engine_inst(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Inst> {
    let mem = strength(instruction).map_or(Mem::WEAK, |scope| manner::strength(cx, scope));
    if !instruction.has(Word::Reduce) && !instruction.has(Word::TryRed) {
        return Ok(Inst::neutral(Sass::UBLKCP, [Field::MEM.is(mem)].into_iter().collect()));
    }
    let op = crate::chapters::atomics::operation::operation(instruction);
    let ty = TYPES.iter().find(|(ty, _)| Some(*ty) == instruction.last_type());
    let ((_, op), (_, ty)) = op.zip(ty).ok_or_else(|| unknown(cx, instruction))?;
    let fields = [Field::ATOM_OP.is(op), Field::BULK_TYPE.is(*ty), Field::MEM.is(mem)];
    Ok(Inst::neutral(Sass::UBLKRED, fields.into_iter().collect()))
}

/// The scope in which the accesses are strong, if they are. ptxas has the whole system for a reduction of `multimem` without a scope,
/// and says nothing of one of `cp.reduce`, which means the same.
fn strength(instruction: &Instruction) -> Option<Scope> {
    let reaches_all = instruction.opcode == Opcode::Multimem && instruction.has(Word::Reduce);
    instruction.scope().or_else(|| reaches_all.then_some(Scope::Sys))
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

/// A size in units of the copy engine.
pub(super) fn units(cx: &mut FnLower<'_, '_>, bytes: Operand) -> Lowered<Operand> {
    if let Some(bytes) = crate::function::uniform::constant(bytes) {
        return Ok(Operand::imm(bytes >> UNIT_SHIFT));
    }
    let to = cx.temp()?;
    let mods = [Field::SHIFT_DIR.is(ShiftDir::R), Field::SHIFT_TYPE.is(ShiftType::U32), Field::HI.is(true)];
    let operands = [(D, to), (A, Operand::rz()), (B, Operand::imm(UNIT_SHIFT)), (C, bytes)];
    cx.emit(Sass::SHF, &mods, &operands)?;
    Ok(to)
}

/// Size and mask, of blocks or of bytes, in one word.
pub(super) fn size_word(cx: &mut FnLower<'_, '_>, bytes: Operand, mask: Option<Operand>) -> Lowered<Operand> {
    let units = units(cx, bytes)?;
    in_halves(cx, units, mask.unwrap_or(Operand::rz()))
}
