//! Instructions of another width: products of which only a part is read, constants read word by word.

use super::fold::source;
use super::{Cx, Rewrite, mul_field};
use oriole_isa::{Field, Opcode, Role, mem_size, mul};
use oriole_ori::{BuildError, Inst, InstId, Operand, OperandKind};
use smallvec::smallvec;

/// A wide product whose upper word nobody reads becomes a 32-bit one.
pub(super) fn products(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(narrow_product(cx, inst))
}

fn narrow_product(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let wide = inst.opcode == Opcode::IMAD && mul_field(inst) == mul::WIDE && inst.get(Field::X) == 0;
    if !wide || source(inst, Role::PD)? != Operand::pt() {
        return None;
    }
    let d = source(inst, Role::D)?.as_whole_reg()?;
    let c = source(inst, Role::C)?;
    if cx.facts.reads((d, 1)) > 0 || cx.func.vregs[d].is_fixed() {
        return None;
    }
    let mut new = inst.clone();
    new.mods.remove(Field::Mul);
    new.mods.remove(Field::Sign);
    new.operands[inst.opcode.position(Role::D)?] = Operand::lo(d);
    if let Some(addend) = c.as_reg() {
        let whole = c.as_whole_reg().is_some() && cx.func.vregs[addend].components == 2 && !c.has_flags();
        new.operands[inst.opcode.position(Role::C)?] = whole.then(|| Operand::lo(addend))?;
    }
    cx.is_legal(&new).then(|| smallvec![new])
}

/// The two words of a pair that are neighbours in a constant bank are read by one LDC.
pub(super) fn constant_pair(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some((low, new)) = both_words(cx, inst) else { return Ok(None) };
    cx.replaced.insert(low);
    Ok(Some(smallvec![new]))
}

fn both_words(cx: &Cx<'_>, inst: &Inst) -> Option<(InstId, Inst)> {
    let (bank, high) = constant_word(inst)?;
    let (pair, lo) = cx.low_half(inst)?;
    let (low, first) = cx.def_of(lo)?;
    let (other, offset) = constant_word(first)?;
    let neighbours = bank == other && offset + 4 == high && offset % 8 == 0;
    if !neighbours || source(first, Role::D)? != lo || inst.guard().is_some() || !cx.may_sink(low, (pair, 0)) {
        return None;
    }
    let mut new = first.clone();
    new.mods.set(Field::MemSize, mem_size::B64);
    new.operands[first.opcode.position(Role::D)?] = Operand::reg(pair);
    cx.is_legal(&new).then_some((low, new))
}

/// Bank and offset of the word that an LDC without address register reads.
fn constant_word(inst: &Inst) -> Option<(u8, u32)> {
    let plain = inst.opcode == Opcode::LDC && inst.get(Field::MemSize) == mem_size::B32;
    match source(inst, Role::Bank)?.kind() {
        OperandKind::Const { bank, offset } if plain && source(inst, Role::Base)? == Operand::rz() => {
            Some((bank, offset))
        }
        _ => None,
    }
}
