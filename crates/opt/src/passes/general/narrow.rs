//! Instructions of another width: products of which only a part is read, constants read word by word.

use super::source;
use super::{Cx, Rewrite, mov, mul_field};
use oriole_isa::{Arch, Field, MemSize, Mul, Opcode, Role};
use oriole_ori::{BuildError, Inst, InstId, Operand, OperandKind, VReg};
use smallvec::smallvec;

/// A wide product whose upper word nobody reads becomes a 32-bit one.
pub(super) fn products(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(narrow_product(cx, inst))
}

fn narrow_product(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let wide = inst.opcode == Opcode::IMAD && mul_field(inst) == Mul::WIDE && !inst.get(Field::X);
    if !wide || source(inst, Role::PD)? != Operand::pt() {
        return None;
    }
    let [lo, hi] = cx.pair(source(inst, Role::D)?)?;
    let c = source(inst, Role::C)?;
    if cx.reads(hi) > 0 {
        return None;
    }
    let mut new = inst.clone();
    new.mods.remove(Field::MUL);
    new.mods.remove(Field::SIGN);
    new.operands[inst.position(Role::D)?] = Operand::reg(lo);
    if c.as_tuple().is_some() {
        let addend = cx.pair(c).filter(|_| !c.has_flags())?[0];
        new.operands[inst.position(Role::C)?] = Operand::reg(addend);
    } else if c.is_reg() {
        return None;
    }
    cx.is_legal(&new).then(|| smallvec![new])
}

/// Two words that are neighbours in a constant bank are read by one LDC, if they belong together.
pub(super) fn constant_pair(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some((other, new)) = both_words(cx, inst) else { return Ok(None) };
    cx.replaced.insert(other);
    Ok(Some(smallvec![new]))
}

fn both_words(cx: &mut Cx<'_>, inst: &Inst) -> Option<(InstId, Inst)> {
    let (bank, offset) = constant_word(inst)?;
    let value = source(inst, Role::D)?.as_reg().filter(|value| cx.func.is_value(*value) && inst.guard().is_none())?;
    let home = |value: VReg| cx.func[value].home;
    let low = offset & !7;
    let neighbour = |other: &Inst| {
        let other_value = source(other, Role::D).and_then(Operand::as_reg).filter(|_| other.guard().is_none());
        let words = if offset == low { low + 4 } else { low };
        let of_one = other_value.is_some_and(|other| match offset == low {
            true => home(value) != 0 && home(other) == home(value) + 1,
            false => home(other) != 0 && home(value) == home(other) + 1,
        });
        of_one && constant_word(other) == Some((bank, words))
    };
    let (first, other) = cx.recent(neighbour)?;
    let partner = source(other, Role::D)?.as_reg()?;
    let mut new = inst.clone();
    new.mods.set(Field::MEM_SIZE, MemSize::B64);
    new.operands[inst.position(Role::Bank)?] = Operand::cbank(bank, low);
    let values = if offset == low { [value, partner] } else { [partner, value] };
    new.operands[inst.position(Role::D)?] = cx.func.tuple(&values);
    cx.is_legal(&new).then_some((first, new))
}

/// What LDC loads from a fixed place is a copy of the constant, where the target's other instructions read constant banks.
pub(super) fn loaded_constant(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(copies_of_constant(cx, inst))
}

fn copies_of_constant(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let OperandKind::Const { bank, offset } = source(inst, Role::Bank)?.kind() else { return None };
    let words = match inst.get(Field::MEM_SIZE) {
        MemSize::B32 => 1,
        MemSize::B64 => 2,
        _ => return None,
    };
    let values = cx.func.named(source(inst, Role::D)?);
    // From sm_90 on MOV alone does.
    let fixed = cx.arch < Arch::Sm90
        && source(inst, Role::Base)? == Operand::rz()
        && values.len() == words
        && inst.guard().is_none();
    let copy = |(value, k): (VReg, u32)| mov(value.into(), Operand::cbank(bank, offset + 4 * k));
    let copies: Rewrite = values.into_iter().zip(0..).map(copy).collect();
    (fixed && copies.iter().all(|copy| cx.is_legal(copy))).then_some(copies)
}

/// Bank and offset of the word that an LDC without address register reads.
fn constant_word(inst: &Inst) -> Option<(u8, u32)> {
    let plain = inst.opcode == Opcode::LDC && inst.get(Field::MEM_SIZE) == MemSize::B32;
    match source(inst, Role::Bank)?.kind() {
        OperandKind::Const { bank, offset } if plain && source(inst, Role::Base)? == Operand::rz() => {
            Some((bank, offset))
        }
        _ => None,
    }
}
