//! `tcgen05.ld`, `tcgen05.st`: a warp's lanes of tensor memory, between it and registers.

use crate::chapters::asynchronous::address_of;
use crate::chapters::tensor::fragment;
use crate::chapters::tensor::tcgen05::tensor_address;
use crate::chapters::warp;
use crate::error::Lowered;
use crate::function::uniform::uniform;
use crate::function::{FnLower, operands};
use crate::handler::unknown;
use oriole_isa::Role::{D, D2, Data, Mask, Offset, UBase};
use oriole_isa::{FenceSpace, Field, Opcode as Sass, TmNum, TmShape, TmStat, TmType};
use oriole_ori::{Operand, RegType};
use oriole_ptx::ast::{Instruction, ScalarType, Sparsity, Word};

/// Shapes: what SASS calls them, registers of one repetition.
const SHAPES: [(Word, TmShape, usize); 4] = [
    (Word::D16x64b, TmShape::DP16B64, 1),
    (Word::D16x128b, TmShape::DP16B128, 2),
    (Word::D16x256b, TmShape::DP16B256, 4),
    (Word::D32x32b, TmShape::DP32B32, 1),
];

/// Numbers of repetitions.
const REPETITIONS: [(Word, TmNum, usize); 8] = [
    (Word::X1, TmNum::X1, 1),
    (Word::X2, TmNum::X2, 2),
    (Word::X4, TmNum::X4, 4),
    (Word::X8, TmNum::X8, 8),
    (Word::X16, TmNum::X16, 16),
    (Word::X32, TmNum::X32, 32),
    (Word::X64, TmNum::X64, 64),
    (Word::X128, TmNum::X128, 128),
];

/// Every scoreboard of a warp.
const ALL_SCOREBOARDS: u32 = 0x3f;

/// One instruction's part of an access: its shape, the columns between its address and the operand's.
type Part = (TmShape, Operand);

/// What an access moves.
struct Shape {
    parts: Vec<Part>,
    repetitions: TmNum,
    registers: usize,
}

/// The shape; `.16x32bx2` is of two parts, one for each half of the warp, the second so many columns further. A load of
/// one half leaves the registers of the other as they are.
fn shape_of(cx: &FnLower<'_, '_>, instruction: &Instruction, apart: usize) -> Lowered<Shape> {
    let times = REPETITIONS.iter().find(|(word, ..)| instruction.has(*word));
    let &(_, repetitions, times) = times.ok_or_else(|| unknown(cx, instruction))?;
    if let Some(&(_, shape, each)) = SHAPES.iter().find(|(word, ..)| instruction.has(*word)) {
        return Ok(Shape { parts: vec![(shape, Operand::imm(0))], repetitions, registers: each * times });
    }
    let columns = operands::operand(instruction, apart)?.imm().and_then(|imm| imm.int_bits());
    match columns {
        Some(columns) if instruction.has(Word::D16x32bx2) => {
            let second = Operand::imm(columns as u32);
            let parts = vec![(TmShape::DP16B32_LOW, Operand::imm(0)), (TmShape::DP16B32_HIGH, second)];
            Ok(Shape { parts, repetitions, registers: times })
        }
        _ => Err(unknown(cx, instruction)),
    }
}

/// `tcgen05.ld.sync.aligned.shape.num{.pack::16b}.b32 {…}, [taddr]{, apart};`
pub(crate) fn load(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::Spcompress) {
        return load_sparse(cx, instruction);
    }
    if instruction.has(Word::Red) {
        return load_with_statistic(cx, instruction);
    }
    cx.guard_by_branch()?;
    warp::converge_all(cx)?;
    let shape = shape_of(cx, instruction, 2)?;
    let at = tensor_address(cx, address_of(cx, instruction, 1)?)?;
    let at = uniform(cx, &[at])?;
    let packed = instruction.has(Word::Pack16b);
    let (to, words) = fragment::fresh(cx, shape.registers)?;
    for (code, offset) in &shape.parts {
        let mods = [Field::TM_SHAPE.is(*code), Field::TM_NUM.is(shape.repetitions), Field::TM_PACK.is(packed)];
        cx.emit(Sass::LDTM, &mods, &[(D, to), (UBase, at), (Offset, *offset)])?;
    }
    fragment::deliver(cx, operands::operand(instruction, 0)?, ScalarType::B32, &words)
}

/// `tcgen05.ld.red.sync.aligned.shape.num.op{.abs}{.NaN}.type {…}, statistic, [taddr]{, apart};`
fn load_with_statistic(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if !cx.has(Sass::LDTM_STAT) {
        return Err(unknown(cx, instruction));
    }
    cx.guard_by_branch()?;
    warp::converge_all(cx)?;
    let shape = shape_of(cx, instruction, 3)?;
    let at = tensor_address(cx, address_of(cx, instruction, 2)?)?;
    let at = uniform(cx, &[at])?;
    let ty = instruction.last_type().ok_or_else(|| unknown(cx, instruction))?;
    let kind = match ty {
        ScalarType::F32 => TmType::F32,
        ScalarType::S32 => TmType::S32,
        _ => TmType::U32,
    };
    let (to, words) = fragment::fresh(cx, shape.registers)?;
    let best = Operand::reg(cx.temp_of(RegType::R)?);
    for (code, offset) in &shape.parts {
        let mods = [
            Field::TM_SHAPE.is(*code),
            Field::TM_NUM.is(shape.repetitions),
            Field::TM_STAT.is(choice(instruction)),
            Field::TM_TYPE.is(kind),
            Field::TM_NAN.is(instruction.has(Word::NaN)),
        ];
        cx.emit(Sass::LDTM_STAT, &mods, &[(D2, best), (D, to), (UBase, at), (Offset, *offset)])?;
    }
    fragment::deliver(cx, operands::operand(instruction, 0)?, ScalarType::B32, &words)?;
    fragment::deliver(cx, operands::operand(instruction, 1)?, ty, &[best])
}

/// Which values are chosen.
fn choice(instruction: &Instruction) -> TmStat {
    match (instruction.has(Word::Min), instruction.has(Word::Abs)) {
        (false, false) => TmStat::MAX,
        (false, true) => TmStat::MAXABS,
        (true, false) => TmStat::MIN,
        (true, true) => TmStat::MINABS,
    }
}

/// `tcgen05.ld{.red}.spcompress.sync.aligned.32x32b.num.op.sp::2:4{.abs}{.NaN}.f32.b2 {places}, {kept}{, statistic}, [taddr];`
fn load_sparse(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let sparsity = Sparsity::of(instruction).filter(|_| cx.has(Sass::LDTM_SPARSIFY));
    let sparsity = sparsity.ok_or_else(|| unknown(cx, instruction))?;
    cx.guard_by_branch()?;
    warp::converge_all(cx)?;
    let with_statistic = instruction.has(Word::Red);
    let shape = shape_of(cx, instruction, 0)?;
    let at = tensor_address(cx, address_of(cx, instruction, if with_statistic { 3 } else { 2 })?)?;
    let at = uniform(cx, &[at])?;
    let places = sparsity.place_registers();
    let (to, kept) = fragment::fresh(cx, sparsity.kept_registers())?;
    let (described, description) = fragment::fresh(cx, places + usize::from(with_statistic))?;
    let mods = [
        Field::WITH_STAT.is(with_statistic),
        Field::TM_NUM.is(shape.repetitions),
        Field::TM_STAT.is(choice(instruction)),
        Field::TM_NAN.is(instruction.has(Word::NaN)),
    ];
    cx.emit(Sass::LDTM_SPARSIFY, &mods, &[(D2, described), (D, to), (UBase, at)])?;
    let (places, statistic) = description.split_at(places);
    fragment::deliver(cx, operands::operand(instruction, 0)?, ScalarType::B32, places)?;
    fragment::deliver(cx, operands::operand(instruction, 1)?, ScalarType::B32, &kept)?;
    if with_statistic {
        fragment::deliver(cx, operands::operand(instruction, 2)?, ScalarType::F32, statistic)?;
    }
    Ok(())
}

/// `tcgen05.st.sync.aligned.shape.num{.unpack::16b}.b32 [taddr], {…}{, apart};`
pub(crate) fn store(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    warp::converge_all(cx)?;
    // The number of columns stands before the registers.
    let split = instruction.has(Word::D16x32bx2);
    let shape = shape_of(cx, instruction, 1)?;
    let at = tensor_address(cx, address_of(cx, instruction, 0)?)?;
    let at = uniform(cx, &[at])?;
    let values = operands::operand(instruction, if split { 2 } else { 1 })?;
    let words = fragment::words(cx, values, ScalarType::B32, shape.registers)?;
    let data = fragment::together(cx, &words)?;
    let expanded = instruction.has(Word::Unpack16b);
    for (code, offset) in &shape.parts {
        let mods = [Field::TM_SHAPE.is(*code), Field::TM_NUM.is(shape.repetitions), Field::TM_EXPAND.is(expanded)];
        cx.emit(Sass::STTM, &mods, &[(UBase, at), (Offset, *offset), (Data, data)])?;
    }
    Ok(())
}

/// `tcgen05.wait::ld.sync.aligned;`: what was loaded is in its registers.
pub(crate) fn wait_for_loads(cx: &mut FnLower<'_, '_>) -> Lowered {
    cx.emit(Sass::DEPBAR, &[], &[(Mask, Operand::imm(ALL_SCOREBOARDS))])?;
    Ok(())
}

/// `tcgen05.wait::st.sync.aligned;`
pub(crate) fn wait_for_stores(cx: &mut FnLower<'_, '_>) -> Lowered {
    cx.emit(Sass::FENCE, &[Field::FENCE_SPACE.is(FenceSpace::T)], &[])?;
    Ok(())
}
