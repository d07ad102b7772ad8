//! Exchanges whose members may come to two different instructions of the same kind, in both arms of a branch for instance.
//!
//! Where all members are here, they exchange here. Where some are missing, the exchange is a call of a function that has nothing else in it: there
//! those of all places come together. ptxas does the same up to sm_89, and from sm_90 on with `WARPSYNC.COLLECTIVE`.

use crate::chapters::calls::call_library;
use crate::error::Lowered;
use crate::function::ops::lut;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::unknown;
use crate::module::meetings::Meeting;
use oriole_isa::Role::{D, PA};
use oriole_isa::{Cmp, Field, Opcode as Sass, Vote};
use oriole_ori::{InstFlags, Operand, RegType};
use oriole_ptx::ast::{self, Instruction, ScalarType};

/// Emits what `here` emits where it may meet nothing else, or for members that are all here.
pub(crate) fn exchange(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    mask: &ast::Operand,
    here: impl FnOnce(&mut FnLower<'_, '_>) -> Lowered,
) -> Lowered {
    let Some(meeting) = cx.meeting(instruction) else { return here(cx) };
    cx.guard_by_branch()?;
    let (aside, inside, after) = (cx.new_block()?, cx.new_block()?, cx.new_block()?);
    let missing = missing(cx, mask, meeting)?;
    cx.branch(missing, aside, inside)?;
    cx.switch_to(aside);
    elsewhere(cx, instruction)?;
    destinations::copy_back(cx)?;
    cx.jump(after);
    cx.switch_to(inside);
    here(cx)?;
    destinations::copy_back(cx)?;
    cx.jump(after);
    cx.switch_to(after);
    Ok(())
}

/// Whether some member is not here. Slot 71 asks which of these tests are needed, and knows those by their vote.
fn missing(cx: &mut FnLower<'_, '_>, mask: &ast::Operand, meeting: Meeting) -> Lowered<Operand> {
    let mask = sources::src(cx, mask)?;
    let present = cx.temp()?;
    let vote = cx.emit(Sass::VOTE, &[Field::VOTE.is(Vote::ANY)], &[(D, present), (PA, Operand::pt())])?;
    let in_function = if meeting == Meeting::InFunction { InstFlags::MEETING } else { InstFlags::empty() };
    cx.func.edit().update(vote, |inst| inst.flags |= InstFlags::ADDED | in_function);
    let absent = word_ops::logic(cx, lut::NOT_AND, present, mask)?;
    let missing = Operand::reg(cx.temp_of(RegType::P)?);
    ops::isetp(cx, missing, Cmp::NE, false, absent, Operand::rz())?;
    Ok(missing)
}

/// The exchange as a call of the library: `__oriole_` and the instruction's opcode and modifiers.
fn elsewhere(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let mut name = format!("__oriole_{}", instruction.opcode.as_str());
    for modifier in &instruction.modifiers {
        modifier.write(&cx.ast.symbols, &mut name).map_err(|_| unknown(cx, instruction))?;
    }
    let [result, arguments @ ..] = instruction.operands.as_slice() else { return Err(unknown(cx, instruction)) };
    let mut words = Vec::new();
    for (number, argument) in arguments.iter().enumerate() {
        let is_value = number == 0 && arguments.len() > 1;
        match instruction.last_type().filter(|_| is_value) {
            Some(ScalarType::Pred) => words.push(flag(cx, argument)?),
            Some(ScalarType::B32) if instruction.opcode == ast::Opcode::Vote => words.push(flag(cx, argument)?),
            Some(ScalarType::F32) => words.push(sources::src_f32(cx, argument)?),
            Some(ty) if ty.bits() == 64 => {
                let wide = sources::src64(cx, argument)?;
                words.extend([wide.lo, wide.hi]);
            }
            _ => words.push(sources::src(cx, argument)?),
        }
    }
    let found = call_library(cx, &name.replace('.', "_"), &words)?;
    let results = match result {
        ast::Operand::Pair(pair) => &pair[..],
        single => std::slice::from_ref(single),
    };
    for (number, (to, from)) in results.iter().zip(found).enumerate() {
        let is_pred = number == 1 || instruction.last_type() == Some(ScalarType::Pred);
        take(cx, to, from, is_pred)?;
    }
    Ok(())
}

/// A predicate as a word.
fn flag(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let pred = sources::pred(cx, operand)?;
    let word = cx.temp()?;
    word_ops::select(cx, word, Operand::imm(1), Operand::rz(), pred)?;
    Ok(word)
}

/// Takes a word as the result, or whether it is not zero.
fn take(cx: &mut FnLower<'_, '_>, to: &ast::Operand, from: Operand, is_pred: bool) -> Lowered {
    if is_pred {
        let to = destinations::dst_pred(cx, to)?;
        return ops::isetp(cx, to, Cmp::NE, false, from, Operand::rz());
    }
    let to = destinations::dst(cx, to)?;
    ops::mov(cx, to, from)
}
