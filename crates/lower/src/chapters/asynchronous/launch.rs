//! `clusterlaunchcontrol`: the work of blocks that were not launched yet.

use crate::chapters::asynchronous::{address_of, shared_word};
use crate::error::Lowered;
use crate::function::ops::lut;
use crate::function::uniform::{one_by_one, uniform};
use crate::function::{FnLower, destinations, operands, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::Role::UBase;
use oriole_isa::{Cmp, Field, Opcode as Sass, WorkCast};
use oriole_ori::{Operand, VReg};
use oriole_ptx::ast::{self, Instruction, Space, Word};

/// The word of the answer that tells, in its lowest bit, whether a launch was cancelled.
const CANCELED: u8 = 2;

/// `clusterlaunchcontrol.try_cancel`, `.query_cancel`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    match () {
        () if !cx.has(Sass::UGETNEXTWORKID) => Err(unknown(cx, instruction)),
        () if instruction.has(Word::TryCancel) => cancel(cx, instruction),
        () if instruction.has(Word::IsCanceled) => is_canceled(cx, instruction),
        () => first_block(cx, instruction),
    }
}

/// `clusterlaunchcontrol.try_cancel.async{.ss}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128 [a], [mbar];`
fn cancel(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let answer = shared_word(cx, Some(Space::Shared), address_of(cx, instruction, 0)?)?;
    let mbarrier = shared_word(cx, Some(Space::Shared), address_of(cx, instruction, 1)?)?;
    let to_all = instruction.has(Word::MulticastClusterAll);
    let cast = if to_all { WorkCast::BROADCAST } else { WorkCast::SELFCAST };
    one_by_one(cx, |cx| {
        let base = uniform(cx, &[answer, mbarrier])?;
        cx.emit(Sass::UGETNEXTWORKID, &[Field::WORK_CAST.is(cast)], &[(UBase, base)])?;
        Ok(())
    })
}

/// The register of the answer, which is the last operand.
fn answer(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered<VReg> {
    sources::quad_register(cx, operands::operand(instruction, 1)?)
}

/// `clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer;`
fn is_canceled(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let answer = answer(cx, instruction)?;
    let bit = cx.temp()?;
    ops::lop3(cx, bit, Operand::comp(answer, CANCELED), Operand::imm(1), Operand::rz(), lut::AND)?;
    let to = destinations::dst_pred(cx, operands::operand(instruction, 0)?)?;
    ops::isetp(cx, to, Cmp::NE, false, bit, Operand::rz())
}

/// `clusterlaunchcontrol.query_cancel.get_first_ctaid{::x|::y|::z}.b32.b128 d, answer;`, `….v4.b32.b128 {x, y, z, _}, …`.
/// The answer has 32 bits for x, 16 each for y and z.
fn first_block(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let answer = answer(cx, instruction)?;
    let result = operands::operand(instruction, 0)?;
    let single = [Word::GetFirstCtaidX, Word::GetFirstCtaidY, Word::GetFirstCtaidZ];
    if let Some(dimension) = single.iter().position(|word| instruction.has(*word)) {
        return coordinate(cx, answer, dimension, result);
    }
    // What the fourth element gets is unspecified: nothing.
    result.elements().iter().take(3).enumerate().try_for_each(|(at, to)| coordinate(cx, answer, at, to))
}

/// `result` = a coordinate of the first block of the cluster that was cancelled.
fn coordinate(cx: &mut FnLower<'_, '_>, answer: VReg, dimension: usize, result: &ast::Operand) -> Lowered {
    if matches!(result, ast::Operand::Sink(_)) {
        return Ok(());
    }
    let to = destinations::dst(cx, result)?;
    let [x, yz] = [0, 1].map(|word| Operand::comp(answer, word));
    match dimension {
        0 => ops::mov(cx, to, x),
        1 => ops::lop3(cx, to, yz, Operand::imm(0xffff), Operand::rz(), lut::AND),
        _ => word_ops::shift_right(cx, false, to, yz, Operand::imm(16)),
    }
}
