//! Signs and absolute values that an instruction can take from its operands itself.
//!
//! `neg` and `abs` are sums with -0. Who reads such a sum reads its summand with the flags instead, if it makes nothing else of a NaN
//! than of another (arithmetic does not) and flushes what the sum flushes.

use super::{Cx, Rewrite, source};
use oriole_isa::{Field, FieldId, Opcode, Role};
use oriole_ori::{BuildError, Inst, Operand};
use smallvec::smallvec;

/// Those that compute with floats.
pub(super) const ARITHMETIC: [Opcode; 10] = [
    Opcode::FADD,
    Opcode::FMUL,
    Opcode::FFMA,
    Opcode::FSETP,
    Opcode::FMNMX,
    Opcode::MUFU,
    Opcode::DADD,
    Opcode::DMUL,
    Opcode::DFMA,
    Opcode::DSETP,
];

/// The first operand that is such a sum is its summand.
pub(super) fn taken(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let new = [Role::A, Role::B, Role::C].into_iter().find_map(|role| taken_at(cx, inst, role));
    Ok(new.map(|new| smallvec![new]))
}

fn taken_at(cx: &Cx<'_>, inst: &Inst, role: Role) -> Option<Inst> {
    let operand = source(inst, role)?;
    let sum = &cx.func[cx.full_definition(cx.func.first_named(operand)?)?];
    // This is asked of every source, and hardly one is a sum.
    if !matches!(sum.opcode, Opcode::FADD | Opcode::DADD) || sum.get(Field::SAT) || inst.get(Field::XORSIGN) {
        return None;
    }
    if cx.func.named(source(sum, Role::D)?) != cx.func.named(operand) {
        return None;
    }
    let (a, b) = (source(sum, Role::A)?, source(sum, Role::B)?);
    let nothing = Operand::rz().neg();
    let value = if a == nothing { b } else { a };
    let flushes_more = sum.raw(FieldId::Ftz) != 0 && inst.raw(FieldId::Ftz) == 0;
    if (a != nothing && b != nothing) || flushes_more || cx.func.named(value).is_empty() || !cx.is_stable(value) {
        return None;
    }
    let (negated, absolute) =
        if operand.is_abs() { (operand.is_neg(), true) } else { (operand.is_neg() != value.is_neg(), value.is_abs()) };
    let plain = value.plain();
    let plain = if absolute { plain.abs() } else { plain };
    let mut new = inst.clone();
    new.set_role(role, if negated { plain.neg() } else { plain });
    cx.legal_form(new)
}
