//! Address folding: a constant that was added to an address goes into the offset of the access.
//!
//! Addresses of 64 bits: base and offset add up exactly, modulo 2^64. Addresses of 32 bits (shared and
//! local memory): modulo 2^32. Those of shared memory may multiply their base, as ptxas has them do before sm_90.

use super::identities::sum_of;
use super::wide::{WideSum, plain_summands};
use super::{Cx, Rewrite, constant, source};
use oriole_isa::{Arch, BaseScale, BaseSize, Field, LdcMode, Mul, Opcode, Role, ShiftDir};
use oriole_ori::{BuildError, Inst, Operand, OperandKind, RegType, VReg};
use smallvec::smallvec;

/// Base registers and their offsets.
const ADDRESSES: [(Role, Role); 2] = [(Role::Base, Role::Offset), (Role::SBase, Role::SOffset)];

/// The instruction sets with which ptxas scales the bases of shared addresses.
const SCALING: [Arch; 4] = [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89];

/// A base that more read keeps its register: each of them would look at all others.
const MOST_READERS: u32 = 256;

/// The rule.
pub(super) fn offsets(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let folded = ADDRESSES.into_iter().find_map(|(base, offset)| folded(cx, inst, base, offset));
    Ok(folded.or_else(|| in_bank(cx, inst)))
}

/// What was added to a place in a constant bank goes into the offset there, as far as the instruction has room for it.
fn in_bank(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let (base, OperandKind::Const { bank, offset }) = (source(inst, Role::Base)?, source(inst, Role::Bank)?.kind())
    else {
        return None;
    };
    if inst.opcode != Opcode::LDC || inst.get(Field::LDC_MODE) != LdcMode::LINEAR {
        return None;
    }
    let (base, added) = narrow_address(cx, base)?;
    let sum = i64::from(offset) + added;
    let mut new = inst.clone();
    new.set_role(Role::Base, base);
    new.set_role(Role::Bank, Operand::cbank(bank, u32::try_from(sum).ok()?));
    cx.is_legal(&new).then(|| smallvec![new])
}

fn folded(cx: &mut Cx<'_>, inst: &Inst, base: Role, offset: Role) -> Option<Rewrite> {
    let (base_at, offset_at) = (inst.position(base)?, inst.position(offset)?);
    if !has_wide_base(inst) {
        return None;
    }
    let OperandKind::Imm(old, _) = inst.operands[offset_at].kind() else { return None };
    let (new_base, added) = match inst.width(base_at) {
        2 => wide_base(cx, inst.operands[base_at])?,
        _ => narrow_address(cx, inst.operands[base_at])?,
    };
    let sum = i64::from(old as i32).checked_add(added)?;
    if sum < -cx.offset_limit || sum >= cx.offset_limit {
        return None;
    }
    let mut new = inst.clone();
    new.operands[base_at] = new_base;
    new.operands[offset_at] = Operand::imm_signed(i32::try_from(sum).ok()?);
    cx.is_legal(&new).then(|| smallvec![new])
}

/// Steps that are looked through.
const MOST_STEPS: usize = 16;

/// What a 64-bit value is the sum of, in one step or several: a base in registers and a constant.
pub(super) fn constant_part(cx: &mut Cx<'_>, value: Operand) -> Option<(Operand, i64)> {
    let (mut base, mut total) = (value, 0i64);
    for _ in 0..MOST_STEPS {
        let Some((next, added)) = wide_base(cx, base).filter(|(next, _)| next.as_tuple().is_some()) else { break };
        (base, total) = (next, total.wrapping_add(added));
    }
    (base != value && total != 0).then_some((base, total))
}

/// Whether an instruction reads a pair as the base of an access alone, and its offset takes so much more.
pub(super) fn takes_offset(cx: &Cx<'_>, user: &Inst, pair: [VReg; 2], more: i64) -> bool {
    let reads_of = |operand: Operand| cx.func.named(operand).iter().any(|value| pair.contains(value));
    ADDRESSES.into_iter().any(|(base, offset)| {
        let (Some(at), Some(offset)) = (user.position(base), source(user, offset)) else { return false };
        let OperandKind::Imm(old, _) = offset.kind() else { return false };
        let sum = i64::from(old as i32).saturating_add(more);
        let whole = user.width(at) == 2 && cx.pair(user.operands[at]) == Some(pair);
        let alone = user.uses().all(|(place, operand)| place == at || !reads_of(operand));
        whole && alone && has_wide_base(user) && (-cx.offset_limit..cx.offset_limit).contains(&sum)
    })
}

/// Whether a base counts as it is.
fn has_wide_base(inst: &Inst) -> bool {
    let narrow = inst.opcode.has_field(Field::BASE_SIZE) && inst.get(Field::BASE_SIZE) != BaseSize::X64;
    !is_scaled(inst) && !narrow
}

/// Whether the general register of an address counts several times.
pub(crate) fn is_scaled(inst: &Inst) -> bool {
    inst.opcode.has_field(Field::BASE_SCALE) && inst.get(Field::BASE_SCALE) != BaseScale::X1
}

/// What a 64-bit base is the sum of: another base and a constant.
pub(super) fn wide_base(cx: &mut Cx<'_>, base: Operand) -> Option<(Operand, i64)> {
    let [low, high] = cx.pair(base)?;
    let (lo, hi) = (Operand::reg(low), Operand::reg(high));
    if let (Some(low), Some(high)) = (cx.copied(lo).and_then(constant), cx.copied(hi).and_then(constant)) {
        return Some((Operand::rz(), (u64::from(low) | u64::from(high) << 32) as i64));
    }
    let sum = cx.def_of(hi)?;
    let sum = WideSum::ending(cx, sum, Some(lo))?;
    let [x, c] = sum.summands(cx)?;
    let (x, c) = if wide_constant(x).is_some() { (c, x) } else { (x, c) };
    let value = wide_constant(c)?;
    let stable = cx.is_stable(x.0) && cx.is_stable(x.1);
    // A base in a constant bank has registers if somebody else needs them.
    let in_register = |word: Operand| cx.defs.word(word).map_or(word, Operand::reg);
    let x = (in_register(x.0), in_register(x.1));
    let new = cx.wide_of(x).filter(|new| stable && new.as_tuple().is_some())?;
    Some((new, value))
}

fn wide_constant((lo, hi): (Operand, Operand)) -> Option<i64> {
    Some((u64::from(constant(lo)?) | u64::from(constant(hi)?) << 32) as i64)
}

/// What a 32-bit base is the sum of: another base and a constant.
fn narrow_address(cx: &Cx<'_>, base: Operand) -> Option<(Operand, i64)> {
    if let Some(bits) = cx.copied(base).and_then(constant) {
        return Some((Operand::rz(), i64::from(bits as i32)));
    }
    let sum = cx.def_of(base)?;
    if sum.opcode != Opcode::IADD3 || sum.get(Field::X) || source(sum, Role::C)? != Operand::rz() {
        return None;
    }
    if source(sum, Role::D)? != base {
        return None;
    }
    let (x, c) = (source(sum, Role::A)?, source(sum, Role::B)?);
    let is_register = matches!(x.kind(), OperandKind::Reg(..) | OperandKind::Phys { .. }) && !x.has_flags();
    let value = constant(c)?;
    (is_register && cx.is_stable(x)).then_some((x, i64::from(value as i32)))
}

/// Where a 32-bit base is the sum of two registers and a constant for the sake of addresses alone, the constant goes into their
/// offsets: what is at different distances from the same place then has one base.
pub(super) fn three_summands(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some((base_at, offset_at, summands, total)) = sum_of_three(cx, inst) else { return Ok(None) };
    let base = cx.func.new_vreg(RegType::R)?;
    let sum = sum_of(Operand::reg(base), summands);
    let mut new = inst.clone();
    new.operands[base_at] = Operand::reg(base);
    new.operands[offset_at] = Operand::imm_signed(total);
    Ok((cx.is_legal(&sum) && cx.is_legal(&new)).then(|| smallvec![sum, new]))
}

/// The places of a base and its offset in an access, the registers whose sum with a constant the base is, and the offset from their
/// sum.
fn sum_of_three(cx: &Cx<'_>, inst: &Inst) -> Option<(usize, usize, [Operand; 2], i32)> {
    // What is put ahead of an instruction has its guard, and the new sum no old value.
    if inst.guard().is_some() {
        return None;
    }
    ADDRESSES.into_iter().find_map(|(base, offset)| {
        let (base_at, offset_at) = (inst.position(base)?, inst.position(offset)?);
        let place = inst.operands[base_at];
        let summands = plain_summands(cx.def_of(place)?)?;
        let (constants, registers): (Vec<Operand>, Vec<Operand>) =
            summands.into_iter().partition(|summand| constant(*summand).is_some());
        let (&[added], Ok(registers)) = (constants.as_slice(), <[Operand; 2]>::try_from(registers)) else {
            return None;
        };
        let added = i64::from(constant(added)? as i32);
        let total = |inst: &Inst| {
            let known = source(inst, offset)?.as_imm()? as i32;
            let total = i64::from(known) + added;
            (-cx.offset_limit..cx.offset_limit).contains(&total).then_some(total as i32)
        };
        let takes = |user: &Inst| has_wide_base(user) && total(user).is_some();
        let stable = registers.iter().all(|register| cx.is_stable(*register));
        let fits = stable && is_for_bases(cx, place, base, takes)?;
        fits.then_some((base_at, offset_at, registers, total(inst)?))
    })
}

/// Whether a register is read by few, and by each as the base of an access alone, of one that `takes` what is to become of it.
fn is_for_bases(cx: &Cx<'_>, base: Operand, role: Role, takes: impl Fn(&Inst) -> bool) -> Option<bool> {
    let (lists, reg) = (cx.func.def_use()?, base.as_reg()?);
    let is_base = |user: &Inst| {
        let alone = user.uses().filter(|(_, operand)| *operand == base).count() == 1;
        alone && source(user, role) == Some(base) && takes(user)
    };
    Some(lists.count(reg) <= MOST_READERS && lists.users(reg).all(|user| is_base(&cx.func[user])))
}

/// A base that is a multiple of a register for the sake of shared addresses alone is that register, scaled.
pub(super) fn scaled(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(scaled_base(cx, inst).map(|new| smallvec![new]))
}

fn scaled_base(cx: &Cx<'_>, inst: &Inst) -> Option<Inst> {
    let takes = |inst: &Inst| inst.opcode.has_field(Field::BASE_SCALE) && inst.get(Field::BASE_SCALE) == BaseScale::X1;
    if !SCALING.contains(&cx.arch.set()) || !takes(inst) {
        return None;
    }
    let base = source(inst, Role::Base)?;
    let (value, factor, added) = multiple(cx.def_of(base)?)?;
    let scale = match factor {
        4 => BaseScale::X4,
        8 => BaseScale::X8,
        16 => BaseScale::X16,
        _ => return None,
    };
    let alone = is_for_bases(cx, base, Role::Base, takes)?;
    // A counter of a loop is written where the access has read it: the product, made early, lets it go on.
    let counter = cx.defs.changes_in_loop(cx.func, value.as_reg()?);
    let offset = source(inst, Role::Offset)?.as_imm()? as i32;
    let sum = i64::from(offset) + i64::from(added as i32);
    if !alone
        || counter
        || !cx.is_stable(value)
        || value.has_flags()
        || sum < -cx.offset_limit
        || sum >= cx.offset_limit
    {
        return None;
    }
    let mut new = inst.clone();
    new.mods.set(Field::BASE_SCALE, scale);
    new.set_role(Role::Base, value);
    new.set_role(Role::Offset, Operand::imm_signed(i32::try_from(sum).ok()?));
    cx.is_legal(&new).then_some(new)
}

/// The register, the factor and the constant of which an instruction gives product and sum.
fn multiple(inst: &Inst) -> Option<(Operand, u32, u32)> {
    let (a, b, c) = (source(inst, Role::A)?, source(inst, Role::B)?, source(inst, Role::C)?);
    match inst.opcode {
        Opcode::SHF if inst.get(Field::SHIFT_DIR) == ShiftDir::L && !inst.get(Field::HI) && c.is_zero() => {
            Some((a, 1_u32.checked_shl(constant(b)?)?, 0))
        }
        Opcode::IMAD if inst.get(Field::MUL) == Mul::LO && !inst.get(Field::X) => Some((a, constant(b)?, constant(c)?)),
        _ => None,
    }
}
