//! Matrices between shared memory and the registers of a warp: `ldmatrix`, `stmatrix`, `movmatrix`.

use crate::chapters::memory::address;
use crate::chapters::memory::address::Addr;
use crate::chapters::tensor::fragment;
use crate::chapters::warp;
use crate::error::Lowered;
use crate::function::{FnLower, destinations, operands, ops, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, Base, D, Data, Offset};
use oriole_isa::{Field, MatrixCount, MatrixFormat, MatrixShape, Opcode as Sass, Role};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Instruction, ScalarType, Word};

/// A kind of move: rows and columns of one matrix, `.trans` and the type in memory as PTX has them; matrix
/// shape and format as SASS has them; registers per matrix.
type Row = (u16, u16, bool, ScalarType, MatrixShape, MatrixFormat, usize);

/// What LDSM loads.
const LOADS: [Row; 8] = [
    (8, 8, false, ScalarType::B16, MatrixShape::M88, MatrixFormat::E16, 1),
    (8, 8, true, ScalarType::B16, MatrixShape::MT88, MatrixFormat::E16, 1),
    (16, 16, true, ScalarType::B8, MatrixShape::MT1616, MatrixFormat::E8, 2),
    (16, 16, true, ScalarType::B6x16P32, MatrixShape::MT1616, MatrixFormat::U6, 2),
    (16, 16, true, ScalarType::B4x16P64, MatrixShape::MT1616, MatrixFormat::U4, 2),
    (8, 16, false, ScalarType::B6x16P32, MatrixShape::M816, MatrixFormat::U6, 1),
    (8, 16, false, ScalarType::B4x16P64, MatrixShape::M816, MatrixFormat::U4, 1),
    (8, 16, false, ScalarType::S4, MatrixShape::M816, MatrixFormat::S4, 1),
];

/// What STSM stores.
const STORES: [Row; 3] = [
    (8, 8, false, ScalarType::B16, MatrixShape::M88, MatrixFormat::E16, 1),
    (8, 8, true, ScalarType::B16, MatrixShape::MT88, MatrixFormat::E16, 1),
    (16, 8, true, ScalarType::B8, MatrixShape::MT168, MatrixFormat::E8, 1),
];

/// How many matrices one instruction moves.
const COUNTS: [(Word, MatrixCount, usize); 3] =
    [(Word::X1, MatrixCount::ONE, 1), (Word::X2, MatrixCount::TWO, 2), (Word::X4, MatrixCount::FOUR, 4)];

/// The move as an instruction without operands, and the registers it takes.
fn find(
    cx: &FnLower<'_, '_>,
    instruction: &Instruction,
    (opcode, register): (Sass, Role),
    rows: &[Row],
) -> Lowered<(Inst, usize)> {
    let shape = instruction.shape().ok_or_else(|| unknown(cx, instruction))?;
    let ty = instruction.last_type();
    let transposed = instruction.has(Word::Trans);
    let row = rows
        .iter()
        .find(|(m, n, trans, element, ..)| (*m, *n, *trans, Some(*element)) == (shape.m, shape.n, transposed, ty));
    let count = COUNTS.iter().find(|(word, ..)| instruction.has(*word));
    let (Some(row), Some((_, code, matrices))) = (row, count) else { return Err(unknown(cx, instruction)) };
    let (.., matrix, format, per_matrix) = *row;
    let fields = [Field::MATRIX_SHAPE.is(matrix), Field::MATRIX_FORMAT.is(format), Field::MATRIX_COUNT.is(*code)];
    let inst = fragment::form(cx, opcode, fields.into_iter().collect(), &[register]);
    Ok((inst.ok_or_else(|| unknown(cx, instruction))?, matrices * per_matrix))
}

/// The address in shared memory that an operand names.
fn shared_address(cx: &mut FnLower<'_, '_>, instruction: &Instruction, operand: &ast::Operand) -> Lowered<Addr> {
    let address = operand.address().ok_or_else(|| unknown(cx, instruction))?;
    address::resolve_shared(cx, instruction.space(), address)
}

/// `ldmatrix.sync.aligned.shape.num{.trans}{.ss}.type r, [p];`
pub(crate) fn load(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let (mut inst, registers) = find(cx, instruction, (Sass::LDSM, D), &LOADS)?;
    warp::converge_all(cx)?;
    let addr = shared_address(cx, instruction, operands::operand(instruction, 1)?)?;
    let (to, words) = fragment::fresh(cx, registers)?;
    inst.set_role(D, to);
    inst.set_role(Base, addr.base);
    inst.set_role(Offset, Operand::imm_signed(addr.offset));
    cx.emit_inst(inst)?;
    fragment::deliver(cx, operands::operand(instruction, 0)?, ScalarType::B32, &words)
}

/// `stmatrix.sync.aligned.shape.num{.trans}{.ss}.type [p], r;`
pub(crate) fn store(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let (mut inst, registers) = find(cx, instruction, (Sass::STSM, Data), &STORES)?;
    warp::converge_all(cx)?;
    let addr = shared_address(cx, instruction, operands::operand(instruction, 0)?)?;
    let words = fragment::words(cx, operands::operand(instruction, 1)?, ScalarType::B32, registers)?;
    let data = fragment::together(cx, &words)?;
    inst.set_role(Base, addr.base);
    inst.set_role(Offset, Operand::imm_signed(addr.offset));
    inst.set_role(Data, data);
    cx.emit_inst(inst)?;
    Ok(())
}

/// `movmatrix.sync.aligned.m8n8.trans.b16 d, a;`
pub(crate) fn transpose(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    warp::converge_all(cx)?;
    let source = sources::src(cx, operands::operand(instruction, 1)?)?;
    let source = ops::in_reg(cx, source)?;
    let to = destinations::dst(cx, operands::operand(instruction, 0)?)?;
    cx.emit(Sass::MOVM, &[], &[(D, to), (A, source)])?;
    Ok(())
}
