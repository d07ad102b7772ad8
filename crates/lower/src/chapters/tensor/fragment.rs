//! Fragments: a thread's part of a matrix, in consecutive registers.

use crate::error::{Lowered, invalid};
use crate::function::{FnLower, destinations, ops, param_words};
use oriole_isa::{Mods, Opcode as Sass, RegFile, Role};
use oriole_ori::{Inst, Operand, OperandKind, RegType, VReg};
use oriole_ptx::ast::{self, ScalarType};

/// Fragments of up to this many registers start at a multiple of their size, longer ones at a multiple of it.
const MAX_ALIGN: u8 = 8;

/// The 32-bit words of a list of registers `{%r0, %r1, …}` of elements of type `ty`; there must be `count`.
pub(crate) fn words(
    cx: &mut FnLower<'_, '_>,
    operand: &ast::Operand,
    ty: ScalarType,
    count: usize,
) -> Lowered<Vec<Operand>> {
    let register = register_type(ty);
    let mut words = Vec::with_capacity(count);
    for element in operand.elements() {
        words.extend(param_words::operand_words(cx, element, register)?);
    }
    check_count(operand, words.len(), count)?;
    Ok(words)
}

/// What a register of a fragment holds: a double, or 32 bits.
fn register_type(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::F64 | ScalarType::F32 => ty,
        _ => ScalarType::B32,
    }
}

fn check_count(operand: &ast::Operand, found: usize, needed: usize) -> Lowered {
    if found == needed {
        return Ok(());
    }
    Err(invalid(operand.span(), format!("the fragment takes {needed} registers of 32 bits, {found} are given")))
}

/// Puts words as an instruction's operand: in consecutive registers. Zeros are `RZ` where the instruction takes that, as
/// texture and surface instructions do not.
pub(crate) fn put(cx: &mut FnLower<'_, '_>, inst: &mut Inst, role: Role, words: &[Operand]) -> Lowered {
    let zeros = words.iter().all(|word| word.is_zero());
    let takes_zeros = inst.position(role).is_none_or(|at| inst.opcode.takes_zero_register(at, cx.arch()));
    let operand = if zeros && !takes_zeros { side_by_side(cx, words)? } else { together(cx, words)? };
    inst.set_role(role, operand);
    Ok(())
}

/// The words in consecutive registers: `RZ` where all are zero, the register itself where they are all of one.
pub(crate) fn together(cx: &mut FnLower<'_, '_>, words: &[Operand]) -> Lowered<Operand> {
    if words.iter().all(|word| word.is_zero()) {
        return Ok(Operand::rz());
    }
    if let [single] = words {
        return ops::in_reg(cx, *single);
    }
    if let Some(whole) = whole_register(cx, words) {
        return Ok(Operand::reg(whole));
    }
    side_by_side(cx, words)
}

/// Copies of the words in consecutive registers.
fn side_by_side(cx: &mut FnLower<'_, '_>, words: &[Operand]) -> Lowered<Operand> {
    let (fragment, places) = fresh(cx, words.len())?;
    for (place, word) in places.into_iter().zip(words) {
        ops::mov(cx, place, *word)?;
    }
    Ok(fragment)
}

/// The register whose components the words are, in order and all of them.
fn whole_register(cx: &FnLower<'_, '_>, words: &[Operand]) -> Option<VReg> {
    let first = words.first()?.as_reg()?;
    let data = &cx.func[first];
    let in_place = words.iter().enumerate().all(|(k, word)| match word.kind() {
        OperandKind::Reg(reg, piece) => {
            reg == first && !word.has_flags() && piece.range(data.components) == (k as u8..k as u8 + 1)
        }
        _ => false,
    });
    (in_place && usize::from(data.components) == words.len() && data.align >= align_of(data.components))
        .then_some(first)
}

/// The instruction with these modifiers and `RZ` in these places, where the target has it.
pub(crate) fn form(cx: &FnLower<'_, '_>, opcode: Sass, mods: Mods, registers: &[Role]) -> Option<Inst> {
    form_with(cx, opcode, mods, registers, &[])
}

/// As [`form`], with further operands.
pub(crate) fn form_with(
    cx: &FnLower<'_, '_>,
    opcode: Sass,
    mods: Mods,
    registers: &[Role],
    others: &[(Role, Operand)],
) -> Option<Inst> {
    let mut inst = Inst::neutral(opcode, mods);
    let registers = registers.iter().map(|role| (*role, Operand::rz()));
    for (role, operand) in registers.chain(others.iter().copied()) {
        inst.set_role(role, operand);
    }
    cx.func.is_legal(&inst, cx.arch()).then_some(inst)
}

/// `count` fresh consecutive registers, as one operand and word by word.
pub(crate) fn fresh(cx: &mut FnLower<'_, '_>, count: usize) -> Lowered<(Operand, Vec<Operand>)> {
    let components = u8::try_from(count).map_err(|_| invalid(cx.span, "the fragment takes too many registers"))?;
    let reg = match RegType::of_width(RegFile::R, components) {
        Some(RegType::Group) | None => {
            let made = cx.func.new_group(components, align_of(components));
            cx.built(made)?
        }
        Some(reg_type) => cx.temp_of(reg_type)?,
    };
    if components == 1 {
        return Ok((Operand::reg(reg), vec![Operand::reg(reg)]));
    }
    Ok((Operand::reg(reg), (0..components).map(|k| Operand::comp(reg, k)).collect()))
}

fn align_of(components: u8) -> u8 {
    components.min(MAX_ALIGN).next_power_of_two()
}

/// Copies words to a list of registers of elements of type `ty`; `_` takes its words too.
pub(crate) fn deliver(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, ty: ScalarType, words: &[Operand]) -> Lowered {
    let wide = ty == ScalarType::F64;
    let results = operand.elements();
    check_count(operand, results.len() * if wide { 2 } else { 1 }, words.len())?;
    if wide {
        for (result, halves) in results.iter().zip(words.chunks_exact(2)) {
            let to = destinations::dst64_direct(cx, result)?;
            ops::mov(cx, to.lo, halves[0])?;
            ops::mov(cx, to.hi, halves[1])?;
        }
        return Ok(());
    }
    for (result, word) in results.iter().zip(words) {
        if !matches!(result, ast::Operand::Sink(_)) {
            let to = destinations::dst(cx, result)?;
            ops::mov(cx, to, *word)?;
        }
    }
    Ok(())
}
