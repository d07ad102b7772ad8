//! Exchange among the threads of a warp: `shfl`, `vote`, `match`, `activemask`, `redux`, `elect`.

use crate::chapters::meeting;
use crate::error::{Lowered, unsupported};
use crate::function::ops::lut;
use crate::function::{FnLower, destinations, operands, ops, sources, uniform, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{A, B, C, D, PA, PD};
use oriole_isa::{
    Cmp, Credux, CreduxType, Field, MatchMode, MatchSize, Mods, Opcode as Sass, Redux, Role, Setting, Shfl, Vote,
};
use oriole_ori::{Inst, InstFlags, Operand, RegType};
use oriole_ptx::ast::{self, Instruction, Opcode, ScalarType, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[
    (Opcode::Shfl, shuffle),
    (Opcode::Vote, vote),
    (Opcode::Match, matching),
    (Opcode::Activemask, activemask),
    (Opcode::Redux, reduce),
    (Opcode::Elect, elect),
];

/// `bar.warp.sync mask`: the threads meet, and see what the others have written. It stays where they are together anyway.
pub(crate) fn meet(cx: &mut FnLower<'_, '_>, mask: &ast::Operand) -> Lowered {
    // Behind a branch all meet again; threads that pass a guarded wait by would stay apart from the others.
    cx.guard_by_branch()?;
    let mut inst = wait_for(cx, mask)?;
    inst.flags |= InstFlags::VOLATILE | InstFlags::MEMBERS;
    cx.emit_inst(inst)?;
    Ok(())
}

/// Emits the exchange that a `.sync` instruction is.
fn exchange_of(cx: &mut FnLower<'_, '_>, opcode: Sass, mods: &[Setting], operands: &[(Role, Operand)]) -> Lowered {
    let inst = cx.emit(opcode, mods, operands)?;
    cx.func.edit().update(inst, |inst| inst.flags |= InstFlags::MEMBERS);
    Ok(())
}

/// What the last operand of a `.sync` instruction says: these threads meet here.
///
/// Where the threads are together anyway slot 99 takes the WARPSYNC out.
pub(crate) fn converge(cx: &mut FnLower<'_, '_>, mask: &ast::Operand) -> Lowered {
    let inst = wait_for(cx, mask)?;
    cx.emit_inst(inst)?;
    Ok(())
}

/// All threads of the warp meet here: what `.sync.aligned` says.
pub(crate) fn converge_all(cx: &mut FnLower<'_, '_>) -> Lowered {
    let inst = wait_for_all(cx);
    cx.emit_inst(inst)?;
    Ok(())
}

fn wait_for(cx: &mut FnLower<'_, '_>, mask: &ast::Operand) -> Lowered<Inst> {
    if mask.imm().and_then(|imm| imm.int_bits()).is_some_and(|bits| bits as u32 == u32::MAX) {
        return Ok(wait_for_all(cx));
    }
    let mask = sources::src(cx, mask)?;
    let mut inst = Inst::neutral(Sass::WARPSYNC, Mods::new());
    inst.set_role(A, ops::in_reg(cx, mask)?);
    Ok(inst)
}

fn wait_for_all(cx: &FnLower<'_, '_>) -> Inst {
    let mut inst = Inst::neutral(Sass::WARPSYNC, Mods::new());
    if cx.has_with(Sass::WARPSYNC, Field::WARPSYNC_ALL.is(true)) {
        inst.mods.set(Field::WARPSYNC_ALL, true);
    } else {
        inst.set_role(A, Operand::imm(u32::MAX));
    }
    inst
}

/// Result and optional predicate of `d|p`.
fn results(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<(Operand, Operand)> {
    match operand {
        ast::Operand::Pair(pair) => Ok((destinations::dst(cx, &pair[0])?, destinations::dst_pred(cx, &pair[1])?)),
        single => Ok((destinations::dst(cx, single)?, Operand::pt())),
    }
}

/// `shfl.sync.mode.b32 d|p, a, b, c, mask;`
fn shuffle(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let modes = [(Word::Idx, Shfl::IDX), (Word::Up, Shfl::UP), (Word::Down, Shfl::DOWN), (Word::Bfly, Shfl::BFLY)];
    let mode = modes.iter().find(|(word, _)| instruction.has(*word)).ok_or_else(|| unknown(cx, instruction))?.1;
    let [_, value, lane, clamp, rest @ ..] = instruction.operands.as_slice() else {
        return Err(unknown(cx, instruction));
    };
    members(cx, instruction, rest.first(), |cx, _| {
        let value = sources::src(cx, value)?;
        let value = ops::in_reg(cx, value)?;
        let lane = shuffle_source(cx, lane, 0x1f)?;
        let clamp = shuffle_source(cx, clamp, 0x1fff)?;
        let (to, pred) = results(cx, operands::operand(instruction, 0)?)?;
        exchange_of(cx, Sass::SHFL, &[Field::SHFL.is(mode)], &[(D, to), (PD, pred), (A, value), (B, lane), (C, clamp)])
    })
}

/// Lane and clamp operands keep constants in fields of their own.
fn shuffle_source(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, mask: u32) -> Lowered<Operand> {
    if let Some(bits) = operand.imm().and_then(|imm| imm.int_bits()) {
        return Ok(Operand::imm(bits as u32 & mask));
    }
    let source = sources::src(cx, operand)?;
    ops::in_reg(cx, source)
}

/// The member mask of an instruction whose lanes may have different ones; `None` where it is a constant: then those that
/// execute the instruction together are its members.
fn mask_of_lanes(cx: &mut FnLower<'_, '_>, mask: &ast::Operand) -> Lowered<Option<Operand>> {
    if mask.imm().is_some() {
        return Ok(None);
    }
    let mask = sources::src(cx, mask)?;
    ops::in_reg(cx, mask).map(Some)
}

/// Waits for the members of the mask, where there is one, and emits their exchange; it gets what [`mask_of_lanes`] says. Members
/// that are at another instruction come together with these ([`meeting`]).
fn members(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    mask: Option<&ast::Operand>,
    exchange: impl FnOnce(&mut FnLower<'_, '_>, Option<Operand>) -> Lowered,
) -> Lowered {
    let Some(mask) = mask else { return exchange(cx, None) };
    meeting::exchange(cx, instruction, mask, |cx| {
        converge(cx, mask)?;
        let mask = mask_of_lanes(cx, mask)?;
        exchange(cx, mask)
    })
}

/// Emits what `exchange` emits for the lanes of one mask after the other, where they have different ones. Where all have the
/// same, [slot 71](../../../opt/src/passes/member_masks.rs) takes the loop out.
fn by_mask(
    cx: &mut FnLower<'_, '_>,
    mask: Option<Operand>,
    exchange: impl FnOnce(&mut FnLower<'_, '_>) -> Lowered,
) -> Lowered {
    let Some(mask) = mask else { return exchange(cx) };
    uniform::by_value(cx, &[mask], |cx, _, guard| {
        // Behind a branch, not under the guard: what is written there has no earlier value that would have to be kept in the loop.
        let (inside, after) = (cx.new_block()?, cx.new_block()?);
        match guard {
            Some(guard) => cx.branch(Operand::reg(guard.pred).with_not(!guard.negated), after, inside)?,
            None => cx.jump(inside),
        }
        cx.switch_to(inside);
        exchange(cx)?;
        cx.jump(after);
        cx.switch_to(after);
        Ok(())
    })
}

/// The members for which `pred` holds: those of the lanes that are here, under the mask.
fn members_where(cx: &mut FnLower<'_, '_>, pred: Operand, mask: Operand) -> Lowered<Operand> {
    let all = cx.temp()?;
    exchange_of(cx, Sass::VOTE, &[Field::VOTE.is(Vote::ANY)], &[(D, all), (PA, pred)])?;
    word_ops::logic(cx, lut::AND, all, mask)
}

/// `vote.sync.mode d, a, mask;`
fn vote(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let (to, source) = (operands::operand(instruction, 0)?, operands::operand(instruction, 1)?);
    members(cx, instruction, instruction.operands.get(2), |cx, mask| {
        let pred = sources::pred(cx, source)?;
        if instruction.has(Word::Ballot) {
            return ballot(cx, to, pred, mask);
        }
        let modes = [(Word::All, Vote::ALL), (Word::Any, Vote::ANY), (Word::Uni, Vote::EQ)];
        let mode = modes.iter().find(|(word, _)| instruction.has(*word)).ok_or_else(|| unknown(cx, instruction))?.1;
        vote_of(cx, to, pred, mask, mode)
    })
}

/// `vote.sync` of a predicate as the result.
fn vote_of(cx: &mut FnLower<'_, '_>, to: &ast::Operand, pred: Operand, mask: Option<Operand>, mode: Vote) -> Lowered {
    let Some(mask) = mask.filter(|_| mode != Vote::EQ) else {
        let to = destinations::dst_pred(cx, to)?;
        return by_mask(cx, mask, |cx| exchange_of(cx, Sass::VOTE, &[Field::VOTE.is(mode)], &[(PD, to), (PA, pred)]));
    };
    let (pred, comparison) = if mode == Vote::ALL { (pred.not(), Cmp::EQ) } else { (pred, Cmp::NE) };
    let members = members_where(cx, pred, mask)?;
    let to = destinations::dst_pred(cx, to)?;
    ops::isetp(cx, to, comparison, false, members, Operand::rz())
}

/// `vote.sync.ballot.b32`
fn ballot(cx: &mut FnLower<'_, '_>, to: &ast::Operand, pred: Operand, mask: Option<Operand>) -> Lowered {
    let Some(mask) = mask else {
        let to = destinations::dst(cx, to)?;
        return exchange_of(cx, Sass::VOTE, &[Field::VOTE.is(Vote::ANY)], &[(D, to), (PA, pred)]);
    };
    let members = members_where(cx, pred, mask)?;
    let to = destinations::dst(cx, to)?;
    ops::mov(cx, to, members)
}

/// `match.mode.sync.type d|p, a, mask;`
fn matching(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let mode = if instruction.has(Word::All) { MatchMode::ALL } else { MatchMode::ANY };
    let wide = instruction.last_type().is_some_and(|ty| ty.bits() == 64);
    let source = operands::operand(instruction, 1)?;
    let mask = operands::operand(instruction, 2)?;
    members(cx, instruction, Some(mask), |cx, mask| match_members(cx, instruction, mode, wide, (source, mask)))
}

/// `match` of a value among the members of a mask.
fn match_members(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    mode: MatchMode,
    wide: bool,
    (source, mask): (&ast::Operand, Option<Operand>),
) -> Lowered {
    let value = if wide {
        let value = sources::src64(cx, source)?;
        ops::in_pair(cx, value)?
    } else {
        let value = sources::src(cx, source)?;
        ops::in_reg(cx, value)?
    };
    let size = if wide { MatchSize::U64 } else { MatchSize::U32 };
    let mods = [Field::MATCH_MODE.is(mode), Field::MATCH_SIZE.is(size)];
    let (to, pred) = results(cx, operands::operand(instruction, 0)?)?;
    if let Some(mask) = mask.filter(|_| mode == MatchMode::ANY) {
        let same = cx.temp()?;
        exchange_of(cx, Sass::MATCH, &mods, &[(D, same), (A, value)])?;
        return word_ops::lop2(cx, to, lut::AND, same, mask);
    }
    by_mask(cx, mask, |cx| exchange_of(cx, Sass::MATCH, &mods, &[(D, to), (PD, pred), (A, value)]))
}

/// `activemask.b32 d;`
fn activemask(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let to = destinations::dst(cx, operands::operand(instruction, 0)?)?;
    cx.emit(Sass::VOTE, &[Field::VOTE.is(Vote::ANY)], &[(D, to), (PA, Operand::pt())])?;
    Ok(())
}

/// `redux.sync.op.type d, a, mask;`
fn reduce(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.last_type() == Some(ScalarType::F32) {
        return reduce_floats(cx, instruction);
    }
    let ops = [
        (Word::Add, Redux::SUM),
        (Word::Min, Redux::MIN),
        (Word::Max, Redux::MAX),
        (Word::And, Redux::AND),
        (Word::Or, Redux::OR),
        (Word::Xor, Redux::XOR),
    ];
    let op = ops.iter().find(|(word, _)| instruction.has(*word)).ok_or_else(|| unknown(cx, instruction))?.1;
    let ty = instruction
        .last_type()
        .filter(|ty| ty.bits() == 32 && !ty.is_float())
        .ok_or_else(|| unknown(cx, instruction))?;
    let mods = [Field::REDUX.is(op), Field::REDUX_SIGNED.is(ty.is_signed())];
    reduce_members(cx, instruction, Sass::REDUX, &mods, sources::src)
}

/// A reduction by `opcode` over the members, of what `read` makes of the source.
fn reduce_members(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    opcode: Sass,
    mods: &[Setting],
    read: fn(&mut FnLower<'_, '_>, &ast::Operand) -> Lowered<Operand>,
) -> Lowered {
    members(cx, instruction, Some(operands::operand(instruction, 2)?), |cx, mask| {
        let value = read(cx, operands::operand(instruction, 1)?)?;
        let value = ops::in_reg(cx, value)?;
        let to = destinations::dst(cx, operands::operand(instruction, 0)?)?;
        by_mask(cx, mask, |cx| {
            let all = Operand::reg(cx.temp_of(RegType::Ur)?);
            exchange_of(cx, opcode, mods, &[(D, all), (A, value)])?;
            ops::mov(cx, to, all)
        })
    })
}

/// `redux.sync.op{.abs}{.NaN}.f32 d, a, mask;`
fn reduce_floats(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let op = match (instruction.has(Word::Min), instruction.has(Word::Max), instruction.has(Word::Abs)) {
        (true, false, false) => Credux::MIN,
        (true, false, true) => Credux::MINABS,
        (false, true, false) => Credux::MAX,
        (false, true, true) => Credux::MAXABS,
        _ => return Err(unknown(cx, instruction)),
    };
    if !cx.has(Sass::CREDUX) {
        return Err(unknown(cx, instruction));
    }
    let mods =
        [Field::CREDUX.is(op), Field::CREDUX_TYPE.is(CreduxType::F32), Field::NAN.is(instruction.has(Word::NaN))];
    reduce_members(cx, instruction, Sass::CREDUX, &mods, sources::src_f32)
}

/// `elect.sync d|p, mask;`
fn elect(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if !cx.has(Sass::ELECT) {
        return Err(unsupported(instruction.opcode_span, format!("elect on {}", cx.arch())));
    }
    let ast::Operand::Pair(pair) = operands::operand(instruction, 0)? else { return Err(unknown(cx, instruction)) };
    members(cx, instruction, Some(operands::operand(instruction, 1)?), |cx, mask| {
        let pred = destinations::dst_pred(cx, &pair[1])?;
        if matches!(pair[0], ast::Operand::Sink(_)) {
            return by_mask(cx, mask, |cx| {
                cx.emit(Sass::ELECT, &[], &[(PD, pred)])?;
                Ok(())
            });
        }
        let to = destinations::dst(cx, &pair[0])?;
        by_mask(cx, mask, |cx| {
            let leader = Operand::reg(cx.temp_of(RegType::Ur)?);
            cx.emit(Sass::ELECT, &[], &[(PD, pred), (D, leader)])?;
            ops::mov(cx, to, leader)
        })
    })
}
