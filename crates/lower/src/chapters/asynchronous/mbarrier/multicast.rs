//! `.multicast::cluster::32b` of mbarriers: what happens to the mbarrier at the same place of each block of the cluster that a mask has.
//! Only the instruction for warps takes the mask, so that the threads take turns. Source: code of ptxas 13.5.37.

use crate::chapters::asynchronous::mbarrier::{constant, notes, release};
use crate::chapters::asynchronous::{address_of, shared_word};
use crate::error::Lowered;
use crate::function::uniform::{one_by_one, uniform};
use crate::function::{FnLower, operands, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, UBase};
use oriole_isa::{Field, Opcode as Sass, SyncsCount, SyncsOp, SyncsResult};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{Instruction, Word};

/// `mbarrier.arrive{_drop}{.expect_tx} _, [m]{, count}, blocks;`
pub(super) fn arrive(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let count = if instruction.operands.len() > 3 { Some(operands::operand(instruction, 2)?) } else { None };
    let counted = count.map(|count| sources::src(cx, count)).transpose()?.unwrap_or(Operand::rz());
    let steps: &[SyncsCount] = match count {
        Some(_) if instruction.has(Word::ExpectTx) => &[SyncsCount::A0TR, SyncsCount::A1T0],
        Some(_) if constant(instruction, 2) != Some(1) => &[SyncsCount::ART0],
        _ => &[SyncsCount::A1T0],
    };
    release(cx, instruction)?;
    operate(cx, instruction, 1, counted, steps)
}

/// `mbarrier.expect_tx [m], bytes, blocks;` and `mbarrier.complete_tx`
pub(super) fn transaction(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let bytes = sources::src(cx, operands::operand(instruction, 1)?)?;
    let count = if instruction.has(Word::ExpectTx) { SyncsCount::A0TR } else { SyncsCount::A0TX };
    operate(cx, instruction, 0, bytes, &[count])
}

/// The steps, each with the operand `counted`, at the mbarriers that operand `n` names in the blocks of the last one.
fn operate(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    n: usize,
    counted: Operand,
    steps: &[SyncsCount],
) -> Lowered {
    if !cx.has_with(Sass::SYNCSU_WARP, Field::MULTICAST.is(true)) {
        return Err(unknown(cx, instruction));
    }
    cx.guard_by_branch()?;
    let place = shared_word(cx, instruction.space(), address_of(cx, instruction, n)?)?;
    let blocks = instruction.operands.last().ok_or_else(|| unknown(cx, instruction))?;
    let blocks = sources::src(cx, blocks)?;
    one_by_one(cx, |cx| {
        let pair = uniform(cx, &[place, counted])?;
        let blocks = uniform(cx, &[blocks])?;
        for count in steps {
            let fields = [
                Field::SYNCS_OP.is(SyncsOp::ARRIVE),
                Field::SYNCS_RESULT.is(SyncsResult::RED),
                Field::SYNCS_COUNT.is(*count),
                Field::MULTICAST.is(true),
                // What is expected is no arrival.
                Field::OPTOUT.is(instruction.has(Word::ArriveDrop) && *count != SyncsCount::A0TR),
            ];
            let mut inst = Inst::neutral(Sass::SYNCSU_WARP, fields.into_iter().collect());
            inst.set_role(UBase, pair);
            inst.set_role(A, blocks);
            inst.flags |= notes(instruction);
            cx.emit_inst(inst)?;
        }
        Ok(())
    })
}
