//! Results of which only a part is read.

use super::fold::source;
use super::{Cx, Rewrite, mul_field};
use oriole_isa::{Field, Opcode, Role, mul};
use oriole_ori::{BuildError, Inst, Operand};
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
