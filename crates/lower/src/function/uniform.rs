//! Instructions of the uniform datapath act once for a warp, on uniform registers; in PTX every thread has
//! operands and an effect of its own. So the active threads take turns.

use crate::error::Lowered;
use crate::function::emit::guard_of;
use crate::function::ops::lut;
use crate::function::{FnLower, ops};
use oriole_isa::Role::{A, B, D, PD};
use oriole_isa::{Opcode as Sass, RegFile};
use oriole_ori::{Guard, Operand, RegType, VReg};

/// Emits what `turn` emits so that it runs once for every active thread, with that thread alone.
///
/// ```text
/// header: ELECT p; @!p BRA latch
///         …                       only the elected thread
/// latch:  @!p BRA header
/// ```
///
/// The elected thread waits at the latch for the others, so that each round elects another.
pub(crate) fn one_by_one(cx: &mut FnLower<'_, '_>, turn: impl FnOnce(&mut FnLower<'_, '_>) -> Lowered) -> Lowered {
    cx.guard_by_branch()?;
    let (header, body) = (cx.new_block()?, cx.new_block()?);
    let (latch, after) = (cx.new_block()?, cx.new_block()?);
    cx.jump(header);
    cx.switch_to(header);
    let elected = cx.variable(RegType::P)?;
    cx.emit(Sass::ELECT, &[], &[(PD, elected)])?;
    cx.branch(elected.not(), latch, body)?;
    cx.switch_to(body);
    turn(cx)?;
    cx.jump(latch);
    cx.switch_to(latch);
    cx.branch(elected.not(), header, after)?;
    cx.switch_to(after);
    Ok(())
}

/// The words in consecutive uniform registers, aligned to the next power of two: the values of the one
/// active thread.
pub(crate) fn uniform(cx: &mut FnLower<'_, '_>, words: &[Operand]) -> Lowered<Operand> {
    let group = group(cx, words.len())?;
    for (k, word) in words.iter().enumerate() {
        let word = in_reg(cx, *word)?;
        to_uniform(cx, component(cx, group, k), word, Operand::pt())?;
    }
    Ok(Operand::reg(group))
}

/// Emits what `turn` emits so that it runs once for every value that `words` have among the active threads, with
/// the threads that have it: `turn` gets the words in consecutive uniform registers, and the guard that lets
/// these threads through.
///
/// ```text
/// header: R2UR p, UR, word        p: the thread's word is not that of the first active thread
///         @!p …
///         @p BRA header
/// ```
///
/// Threads that agree, as they do in most programs, go through once.
pub(crate) fn by_value(
    cx: &mut FnLower<'_, '_>,
    words: &[Operand],
    turn: impl FnOnce(&mut FnLower<'_, '_>, Operand, Option<Guard>) -> Lowered,
) -> Lowered {
    cx.guard_by_branch()?;
    let (header, after) = (cx.new_block()?, cx.new_block()?);
    let words = words.iter().map(|word| in_reg(cx, *word)).collect::<Lowered<Vec<Operand>>>()?;
    cx.jump(header);
    cx.switch_to(header);
    let group = group(cx, words.len())?;
    let mut differs: Option<Operand> = None;
    for (k, word) in words.into_iter().enumerate() {
        let here = cx.temp_pred()?;
        to_uniform(cx, component(cx, group, k), word, here)?;
        if constant(word).is_none() {
            differs = Some(differs.map_or(Ok(here), |before| either(cx, before, here))?);
        }
    }
    let differs = differs.unwrap_or(Operand::pt().not());
    turn(cx, Operand::reg(group), guard_of(differs.not()))?;
    cx.branch(differs, header, after)?;
    cx.switch_to(after);
    Ok(())
}

fn either(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand) -> Lowered<Operand> {
    let to = cx.temp_pred()?;
    ops::logic_pred(cx, to, a, b, lut::OR)?;
    Ok(to)
}

/// `count` consecutive uniform registers, aligned to the next power of two.
pub(crate) fn group(cx: &mut FnLower<'_, '_>, count: usize) -> Lowered<VReg> {
    let count = count as u8;
    match RegType::of_width(RegFile::UR, count) {
        Some(RegType::UrGroup) | None => {
            let made = cx.func.new_uniform_group(count, count.next_power_of_two());
            cx.built(made)
        }
        Some(reg_type) => cx.temp_of(reg_type),
    }
}

/// Register `k` of a group.
pub(crate) fn component(cx: &FnLower<'_, '_>, group: VReg, k: usize) -> Operand {
    if cx.func[group].components == 1 { Operand::reg(group) } else { Operand::comp(group, k as u8) }
}

/// What is no constant, in a register.
fn in_reg(cx: &mut FnLower<'_, '_>, word: Operand) -> Lowered<Operand> {
    if constant(word).is_some() { Ok(word) } else { ops::in_reg(cx, word) }
}

/// `to` = the word of the first active thread; `differs`: the thread's own is not that.
fn to_uniform(cx: &mut FnLower<'_, '_>, to: Operand, word: Operand, differs: Operand) -> Lowered {
    match constant(word) {
        Some(bits) => cx.emit(Sass::UMOV, &[], &[(D, to), (B, Operand::imm(bits))])?,
        None => cx.emit(Sass::R2UR, &[], &[(PD, differs), (D, to), (A, word)])?,
    };
    Ok(())
}

/// The bits of an immediate or of RZ.
pub(crate) fn constant(operand: Operand) -> Option<u32> {
    if operand.is_zero() { Some(0) } else { operand.as_imm() }
}
