//! Exchange among the threads of a warp: `shfl`, `vote`, `match`, `activemask`, `redux`, `elect`.

use crate::chapters::meeting;
use crate::error::{Lowered, unsupported};
use crate::function::ops::lut;
use crate::function::{FnLower, destinations, operands, ops, sources, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{A, B, C, D, PA, PD};
use oriole_isa::{
    Cmp, Credux, CreduxType, Field, MatchMode, MatchSize, Mods, Opcode as Sass, Redux, RegFile, Role, Setting, Shfl,
    Vote, WarpsyncMode,
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

/// Who exchanges at a `.sync` instruction, besides that all members wait for each other.
#[derive(Clone, Copy)]
enum Members {
    /// All lanes that execute it together: its mask is a constant, or it has none.
    Here,
    /// The lanes of one mask, which the lanes hold in this register. Others may be there.
    Among(Operand),
    /// The lanes of one mask, and no others: behind `WARPSYNC.EXCLUSIVE`.
    Alone,
}

impl Members {
    /// Emits the exchange that a `.sync` instruction is.
    fn exchange(
        self,
        cx: &mut FnLower<'_, '_>,
        opcode: Sass,
        mods: &[Setting],
        operands: &[(Role, Operand)],
    ) -> Lowered {
        let inst = cx.emit(opcode, mods, operands)?;
        cx.func.edit().update(inst, |inst| inst.flags |= InstFlags::MEMBERS | self.flags());
        Ok(())
    }

    /// What is noted at the instructions that differ from mask to mask.
    fn flags(self) -> InstFlags {
        if matches!(self, Members::Here) { InstFlags::empty() } else { InstFlags::BY_MASK }
    }

    /// `to` = what the exchange has left in a uniform register. The lanes of the next mask overwrite that, so the copy stays where it is.
    fn take(self, cx: &mut FnLower<'_, '_>, to: Operand, uniform: Operand) -> Lowered {
        let mut copy = Inst::copy(RegFile::R, to, uniform);
        if matches!(self, Members::Alone) {
            copy.flags |= self.flags() | InstFlags::VOLATILE;
        }
        cx.emit_inst(copy)?;
        Ok(())
    }

    /// The members for which `pred` holds.
    fn ballot(self, cx: &mut FnLower<'_, '_>, pred: Operand) -> Lowered<Operand> {
        let all = cx.temp()?;
        self.exchange(cx, Sass::VOTE, &[Field::VOTE.is(Vote::ANY)], &[(D, all), (PA, pred)])?;
        match self {
            Members::Among(mask) => word_ops::logic(cx, lut::AND, all, mask),
            Members::Here | Members::Alone => Ok(all),
        }
    }
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

pub(crate) fn wait_for_all(cx: &FnLower<'_, '_>) -> Inst {
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
    members(cx, instruction, rest.first(), Telling::Needless, |cx, wait| {
        let value = sources::src(cx, value)?;
        let value = ops::in_reg(cx, value)?;
        let lane = shuffle_source(cx, lane, 0x1f)?;
        let clamp = shuffle_source(cx, clamp, 0x1fff)?;
        let members = wait.here(cx)?;
        let (to, pred) = results(cx, operands::operand(instruction, 0)?)?;
        let operands = [(D, to), (PD, pred), (A, value), (B, lane), (C, clamp)];
        members.exchange(cx, Sass::SHFL, &[Field::SHFL.is(mode)], &operands)
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

/// How an exchange tells its members from other lanes, where they have different masks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Telling {
    /// Not at all: each lane gets something of one member alone.
    Needless,
    /// Its result can be put under the mask.
    ByResult,
    /// It can, where `WARPSYNC` cannot let the lanes of one mask execute alone.
    AtWorst,
    /// The lanes of one mask execute it alone.
    Alone,
}

/// Waits for the members of the mask, where there is one, and emits their exchange; `wait` does so where the exchange says. Members
/// that are at another instruction come together with these ([`meeting`]).
fn members(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    mask: Option<&ast::Operand>,
    telling: Telling,
    exchange: impl FnOnce(&mut FnLower<'_, '_>, Wait) -> Lowered,
) -> Lowered {
    let Some(mask) = mask else { return exchange(cx, Wait { wait: None, members: Members::Here }) };
    meeting::exchange(cx, instruction, mask, |cx| {
        let wait = Wait::new(cx, mask, telling)?;
        exchange(cx, wait)
    })
}

/// The wait that comes right before an exchange.
struct Wait {
    wait: Option<Inst>,
    members: Members,
}

impl Wait {
    fn new(cx: &mut FnLower<'_, '_>, mask: &ast::Operand, telling: Telling) -> Lowered<Wait> {
        if mask.imm().is_some() || telling == Telling::Needless {
            return Ok(Wait { wait: Some(wait_for(cx, mask)?), members: Members::Here });
        }
        // Threads of one mask go on without those that a guard keeps away, and all meet behind the branch.
        cx.guard_by_branch()?;
        let mut wait = wait_for(cx, mask)?;
        let mask = wait.operand(A).unwrap_or_default();
        if !cx.has_with(Sass::WARPSYNC, Field::WARPSYNC_MODE.is(WarpsyncMode::EXCLUSIVE)) {
            return Ok(Wait { wait: Some(wait), members: Members::Among(mask) });
        }
        wait.mods.set(Field::WARPSYNC_MODE, WarpsyncMode::EXCLUSIVE);
        let members = if telling == Telling::ByResult { Members::Among(mask) } else { Members::Alone };
        if matches!(members, Members::Alone) {
            // Also where all threads of the warp are together.
            wait.flags |= InstFlags::VOLATILE;
        }
        Ok(Wait { wait: Some(wait), members })
    }

    /// Emits it.
    fn here(self, cx: &mut FnLower<'_, '_>) -> Lowered<Members> {
        if let Some(wait) = self.wait {
            cx.emit_inst(wait)?;
        }
        Ok(self.members)
    }
}

/// `vote.sync.mode d, a, mask;`
fn vote(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let (to, source) = (operands::operand(instruction, 0)?, operands::operand(instruction, 1)?);
    let mask = instruction.operands.get(2);
    if instruction.has(Word::Ballot) {
        return members(cx, instruction, mask, Telling::ByResult, |cx, wait| {
            let pred = sources::pred(cx, source)?;
            let members = wait.here(cx)?;
            let Members::Among(_) = members else {
                let to = destinations::dst(cx, to)?;
                return members.exchange(cx, Sass::VOTE, &[Field::VOTE.is(Vote::ANY)], &[(D, to), (PA, pred)]);
            };
            let ballot = members.ballot(cx, pred)?;
            let to = destinations::dst(cx, to)?;
            ops::mov(cx, to, ballot)
        });
    }
    let modes = [(Word::All, Vote::ALL), (Word::Any, Vote::ANY), (Word::Uni, Vote::EQ)];
    let mode = modes.iter().find(|(word, _)| instruction.has(*word)).ok_or_else(|| unknown(cx, instruction))?.1;
    let telling = if mode == Vote::EQ { Telling::AtWorst } else { Telling::ByResult };
    members(cx, instruction, mask, telling, |cx, wait| {
        let pred = sources::pred(cx, source)?;
        let members = wait.here(cx)?;
        let Members::Among(_) = members else {
            let to = destinations::dst_pred(cx, to)?;
            return members.exchange(cx, Sass::VOTE, &[Field::VOTE.is(mode)], &[(PD, to), (PA, pred)]);
        };
        vote_among(cx, to, pred, members, mode)
    })
}

/// `vote.sync` of a predicate as the result, made of ballots.
fn vote_among(cx: &mut FnLower<'_, '_>, to: &ast::Operand, pred: Operand, members: Members, mode: Vote) -> Lowered {
    let (pred, comparison) = if mode == Vote::ALL { (pred.not(), Cmp::EQ) } else { (pred, Cmp::NE) };
    let ballot = members.ballot(cx, pred)?;
    if mode != Vote::EQ {
        let to = destinations::dst_pred(cx, to)?;
        return ops::isetp(cx, to, comparison, false, ballot, Operand::rz());
    }
    let all = members.ballot(cx, Operand::pt())?;
    let (none, every) = (cx.temp_pred()?, cx.temp_pred()?);
    ops::isetp(cx, none, Cmp::EQ, false, ballot, Operand::rz())?;
    ops::isetp(cx, every, Cmp::EQ, false, ballot, all)?;
    let to = destinations::dst_pred(cx, to)?;
    ops::logic_pred(cx, to, none, every, lut::OR)
}

/// `match.mode.sync.type d|p, a, mask;`
fn matching(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let all = instruction.has(Word::All);
    let wide = instruction.last_type().is_some_and(|ty| ty.bits() == 64);
    let source = operands::operand(instruction, 1)?;
    let mask = operands::operand(instruction, 2)?;
    let telling = if all { Telling::AtWorst } else { Telling::ByResult };
    members(cx, instruction, Some(mask), telling, |cx, wait| {
        let value = if wide {
            let value = sources::src64(cx, source)?;
            ops::in_pair(cx, value)?
        } else {
            let value = sources::src(cx, source)?;
            ops::in_reg(cx, value)?
        };
        let size = Field::MATCH_SIZE.is(if wide { MatchSize::U64 } else { MatchSize::U32 });
        let members = wait.here(cx)?;
        let (to, pred) = results(cx, operands::operand(instruction, 0)?)?;
        let Members::Among(mask) = members else {
            let mode = Field::MATCH_MODE.is(if all { MatchMode::ALL } else { MatchMode::ANY });
            return members.exchange(cx, Sass::MATCH, &[mode, size], &[(D, to), (PD, pred), (A, value)]);
        };
        let same = cx.temp()?;
        let any = Field::MATCH_MODE.is(MatchMode::ANY);
        members.exchange(cx, Sass::MATCH, &[any, size], &[(D, same), (A, value)])?;
        if all { match_all(cx, (to, pred), members, same) } else { word_ops::lop2(cx, to, lut::AND, same, mask) }
    })
}

/// `match.all` of the lanes that have the same value as each.
fn match_all(cx: &mut FnLower<'_, '_>, (to, pred): (Operand, Operand), members: Members, same: Operand) -> Lowered {
    let all = members.ballot(cx, Operand::pt())?;
    let others = word_ops::logic(cx, lut::NOT_AND, same, all)?;
    let alike = cx.temp_pred()?;
    ops::isetp(cx, alike, Cmp::EQ, false, others, Operand::rz())?;
    word_ops::select(cx, to, all, Operand::rz(), alike)?;
    if pred.as_reg().is_some() { ops::logic_pred(cx, pred, alike, alike, lut::OR) } else { Ok(()) }
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
    members(cx, instruction, Some(operands::operand(instruction, 2)?), Telling::Alone, |cx, wait| {
        let value = read(cx, operands::operand(instruction, 1)?)?;
        let value = ops::in_reg(cx, value)?;
        let to = destinations::dst(cx, operands::operand(instruction, 0)?)?;
        let members = wait.here(cx)?;
        let all = Operand::reg(cx.temp_of(RegType::Ur)?);
        members.exchange(cx, opcode, mods, &[(D, all), (A, value)])?;
        members.take(cx, to, all)
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
    members(cx, instruction, Some(operands::operand(instruction, 1)?), Telling::Alone, |cx, wait| {
        let pred = destinations::dst_pred(cx, &pair[1])?;
        let members = wait.here(cx)?;
        let leader = match pair[0] {
            ast::Operand::Sink(_) => None,
            _ => Some(Operand::reg(cx.temp_of(RegType::Ur)?)),
        };
        let elect = cx.emit(Sass::ELECT, &[], &[(PD, pred), (D, leader.unwrap_or(Operand::urz()))])?;
        cx.func.edit().update(elect, |inst| inst.flags |= members.flags());
        match leader {
            Some(leader) => {
                let to = destinations::dst(cx, &pair[0])?;
                members.take(cx, to, leader)
            }
            None => Ok(()),
        }
    })
}
