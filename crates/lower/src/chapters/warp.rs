//! Exchange among the threads of a warp: `shfl`, `vote`, `match`, `activemask`, `redux`, `elect`.

use crate::error::{Lowered, unsupported};
use crate::function::FnLower;
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{A, B, C, D, PA, PD};
use oriole_isa::{Field, Opcode as Sass, credux, credux_type, match_mode, match_size, redux, shfl, vote};
use oriole_ori::{Operand, RegType};
use oriole_ptx::ast::{self, Instruction, Opcode, ScalarType, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[
    (Opcode::Shfl, shuffle),
    (Opcode::Vote, ballot),
    (Opcode::Match, matching),
    (Opcode::Activemask, activemask),
    (Opcode::Redux, reduce),
    (Opcode::Elect, elect),
];

/// What the last operand of a `.sync` instruction says: these threads meet here.
///
/// Where the threads are together anyway the optimiser takes the WARPSYNC out.
pub(crate) fn converge(cx: &mut FnLower<'_, '_>, mask: &ast::Operand) -> Lowered {
    let full = mask.imm().and_then(|imm| imm.int_bits()).is_some_and(|bits| bits as u32 == u32::MAX);
    if full {
        return converge_all(cx);
    }
    let mask = cx.src(mask)?;
    let mask = cx.in_reg(mask)?;
    cx.emit(Sass::WARPSYNC, &[], &[(A, mask)])?;
    Ok(())
}

/// All threads of the warp meet here: what `.sync.aligned` says.
pub(crate) fn converge_all(cx: &mut FnLower<'_, '_>) -> Lowered {
    if cx.has_with(Sass::WARPSYNC, Field::WarpsyncAll, 1) {
        cx.emit(Sass::WARPSYNC, &[(Field::WarpsyncAll, 1)], &[])?;
    } else {
        cx.emit(Sass::WARPSYNC, &[], &[(A, Operand::imm(u32::MAX))])?;
    }
    Ok(())
}

/// Result and optional predicate of `d|p`.
fn results(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<(Operand, Operand)> {
    match operand {
        ast::Operand::Pair(pair) => Ok((cx.dst(&pair[0])?, cx.dst_pred(&pair[1])?)),
        single => Ok((cx.dst(single)?, Operand::pt())),
    }
}

/// `shfl.sync.mode.b32 d|p, a, b, c, mask;`
fn shuffle(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let modes = [(Word::Idx, shfl::IDX), (Word::Up, shfl::UP), (Word::Down, shfl::DOWN), (Word::Bfly, shfl::BFLY)];
    let mode = modes.iter().find(|(word, _)| instruction.has(*word)).ok_or_else(|| unknown(cx, instruction))?.1;
    let [_, value, lane, clamp, rest @ ..] = instruction.operands.as_slice() else {
        return Err(unknown(cx, instruction));
    };
    if let Some(mask) = rest.first() {
        converge(cx, mask)?;
    }
    let value = cx.src(value)?;
    let value = cx.in_reg(value)?;
    let lane = shuffle_source(cx, lane, 0x1f)?;
    let clamp = shuffle_source(cx, clamp, 0x1fff)?;
    let (to, pred) = results(cx, cx.operand(instruction, 0)?)?;
    cx.emit(Sass::SHFL, &[(Field::Shfl, mode)], &[(D, to), (PD, pred), (A, value), (B, lane), (C, clamp)])?;
    Ok(())
}

/// Lane and clamp operands keep constants in fields of their own.
fn shuffle_source(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, mask: u32) -> Lowered<Operand> {
    if let Some(bits) = operand.imm().and_then(|imm| imm.int_bits()) {
        return Ok(Operand::imm(bits as u32 & mask));
    }
    let source = cx.src(operand)?;
    cx.in_reg(source)
}

/// `vote.sync.mode d, a, mask;`
fn ballot(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let (to, source) = (cx.operand(instruction, 0)?, cx.operand(instruction, 1)?);
    if let Some(mask) = instruction.operands.get(2) {
        converge(cx, mask)?;
    }
    let pred = cx.pred(source)?;
    if instruction.has(Word::Ballot) {
        let to = cx.dst(to)?;
        cx.emit(Sass::VOTE, &[(Field::Vote, vote::ANY)], &[(D, to), (PA, pred)])?;
        return Ok(());
    }
    let modes = [(Word::All, vote::ALL), (Word::Any, vote::ANY), (Word::Uni, vote::EQ)];
    let mode = modes.iter().find(|(word, _)| instruction.has(*word)).ok_or_else(|| unknown(cx, instruction))?.1;
    let to = cx.dst_pred(to)?;
    cx.emit(Sass::VOTE, &[(Field::Vote, mode)], &[(PD, to), (PA, pred)])?;
    Ok(())
}

/// `match.mode.sync.type d|p, a, mask;`
fn matching(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let mode = if instruction.has(Word::All) { match_mode::ALL } else { match_mode::ANY };
    let wide = instruction.last_type().is_some_and(|ty| ty.bits() == 64);
    let source = cx.operand(instruction, 1)?;
    converge(cx, cx.operand(instruction, 2)?)?;
    let value = if wide {
        let value = cx.src64(source)?;
        cx.in_pair(value)?
    } else {
        let value = cx.src(source)?;
        cx.in_reg(value)?
    };
    let size = if wide { match_size::U64 } else { match_size::U32 };
    let (to, pred) = results(cx, cx.operand(instruction, 0)?)?;
    cx.emit(Sass::MATCH, &[(Field::MatchMode, mode), (Field::MatchSize, size)], &[(D, to), (PD, pred), (A, value)])?;
    Ok(())
}

/// `activemask.b32 d;`
fn activemask(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let to = cx.dst(cx.operand(instruction, 0)?)?;
    cx.emit(Sass::VOTE, &[(Field::Vote, vote::ANY)], &[(D, to), (PA, Operand::pt())])?;
    Ok(())
}

/// `redux.sync.op.type d, a, mask;`
fn reduce(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.last_type() == Some(ScalarType::F32) {
        return reduce_floats(cx, instruction);
    }
    let ops = [
        (Word::Add, redux::SUM),
        (Word::Min, redux::MIN),
        (Word::Max, redux::MAX),
        (Word::And, redux::AND),
        (Word::Or, redux::OR),
        (Word::Xor, redux::XOR),
    ];
    let op = ops.iter().find(|(word, _)| instruction.has(*word)).ok_or_else(|| unknown(cx, instruction))?.1;
    let ty = instruction
        .last_type()
        .filter(|ty| ty.bits() == 32 && !ty.is_float())
        .ok_or_else(|| unknown(cx, instruction))?;
    converge(cx, cx.operand(instruction, 2)?)?;
    let value = cx.src(cx.operand(instruction, 1)?)?;
    let value = cx.in_reg(value)?;
    let all = Operand::reg(cx.temp_of(RegType::Ur)?);
    let mods = [(Field::Redux, op), (Field::ReduxSigned, u8::from(ty.is_signed()))];
    cx.emit(Sass::REDUX, &mods, &[(D, all), (A, value)])?;
    let to = cx.dst(cx.operand(instruction, 0)?)?;
    cx.mov(to, all)
}

/// `redux.sync.op{.abs}{.NaN}.f32 d, a, mask;`
fn reduce_floats(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let op = match (instruction.has(Word::Min), instruction.has(Word::Max), instruction.has(Word::Abs)) {
        (true, false, false) => credux::MIN,
        (true, false, true) => credux::MINABS,
        (false, true, false) => credux::MAX,
        (false, true, true) => credux::MAXABS,
        _ => return Err(unknown(cx, instruction)),
    };
    if !cx.has(Sass::CREDUX) {
        return Err(unknown(cx, instruction));
    }
    converge(cx, cx.operand(instruction, 2)?)?;
    let value = cx.src_f32(cx.operand(instruction, 1)?)?;
    let value = cx.in_reg(value)?;
    let all = Operand::reg(cx.temp_of(RegType::Ur)?);
    let mods = [
        (Field::Credux, op),
        (Field::CreduxType, credux_type::F32),
        (Field::Nan, u8::from(instruction.has(Word::NaN))),
    ];
    cx.emit(Sass::CREDUX, &mods, &[(D, all), (A, value)])?;
    let to = cx.dst(cx.operand(instruction, 0)?)?;
    cx.mov(to, all)
}

/// `elect.sync d|p, mask;`
fn elect(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if !cx.has(Sass::ELECT) {
        return Err(unsupported(instruction.opcode_span, format!("elect on {}", cx.arch())));
    }
    converge(cx, cx.operand(instruction, 1)?)?;
    let ast::Operand::Pair(pair) = cx.operand(instruction, 0)? else { return Err(unknown(cx, instruction)) };
    let pred = cx.dst_pred(&pair[1])?;
    if matches!(pair[0], ast::Operand::Sink(_)) {
        cx.emit(Sass::ELECT, &[], &[(PD, pred)])?;
        return Ok(());
    }
    let leader = Operand::reg(cx.temp_of(RegType::Ur)?);
    cx.emit(Sass::ELECT, &[], &[(PD, pred), (D, leader)])?;
    let to = cx.dst(&pair[0])?;
    cx.mov(to, leader)
}
