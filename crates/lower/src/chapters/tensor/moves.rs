//! Matrices between shared memory and the registers of a warp: `ldmatrix`, `stmatrix`, `movmatrix`.

use crate::chapters::memory::address;
use crate::chapters::memory::address::Addr;
use crate::chapters::tensor::fragment;
use crate::chapters::warp;
use crate::error::Lowered;
use crate::function::FnLower;
use crate::handler::unknown;
use oriole_isa::Role::{A, Base, D, Data, Offset};
use oriole_isa::{Field, Opcode as Sass, Role, matrix_count, matrix_format, matrix_shape};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Instruction, ScalarType, Word};

/// A kind of move: rows and columns of one matrix, `.trans` and the type in memory as PTX has them; matrix
/// shape and format as SASS has them; registers per matrix.
type Row = (u16, u16, bool, ScalarType, u8, u8, usize);

/// What LDSM loads.
const LOADS: [Row; 7] = [
    (8, 8, false, ScalarType::B16, matrix_shape::M88, matrix_format::E16, 1),
    (8, 8, true, ScalarType::B16, matrix_shape::MT88, matrix_format::E16, 1),
    (16, 16, true, ScalarType::B8, matrix_shape::MT1616, matrix_format::E8, 2),
    (16, 16, true, ScalarType::B6x16P32, matrix_shape::MT1616, matrix_format::U6, 2),
    (16, 16, true, ScalarType::B4x16P64, matrix_shape::MT1616, matrix_format::U4, 2),
    (8, 16, false, ScalarType::B6x16P32, matrix_shape::M816, matrix_format::U6, 1),
    (8, 16, false, ScalarType::B4x16P64, matrix_shape::M816, matrix_format::U4, 1),
];

/// What STSM stores.
const STORES: [Row; 3] = [
    (8, 8, false, ScalarType::B16, matrix_shape::M88, matrix_format::E16, 1),
    (8, 8, true, ScalarType::B16, matrix_shape::MT88, matrix_format::E16, 1),
    (16, 8, true, ScalarType::B8, matrix_shape::MT168, matrix_format::E8, 1),
];

/// How many matrices one instruction moves.
const COUNTS: [(Word, u8, usize); 3] =
    [(Word::X1, matrix_count::ONE, 1), (Word::X2, matrix_count::TWO, 2), (Word::X4, matrix_count::FOUR, 4)];

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
    let fields = [(Field::MatrixShape, matrix), (Field::MatrixFormat, format), (Field::MatrixCount, *code)];
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
    let addr = shared_address(cx, instruction, cx.operand(instruction, 1)?)?;
    let (to, words) = fragment::fresh(cx, registers)?;
    inst.set_role(D, to);
    inst.set_role(Base, addr.base);
    inst.set_role(Offset, Operand::imm_signed(addr.offset));
    cx.emit_inst(inst)?;
    fragment::deliver(cx, cx.operand(instruction, 0)?, ScalarType::B32, &words)
}

/// `stmatrix.sync.aligned.shape.num{.trans}{.ss}.type [p], r;`
pub(crate) fn store(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let (mut inst, registers) = find(cx, instruction, (Sass::STSM, Data), &STORES)?;
    warp::converge_all(cx)?;
    let addr = shared_address(cx, instruction, cx.operand(instruction, 0)?)?;
    let words = fragment::words(cx, cx.operand(instruction, 1)?, ScalarType::B32, registers)?;
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
    let source = cx.src(cx.operand(instruction, 1)?)?;
    let source = cx.in_reg(source)?;
    let to = cx.dst(cx.operand(instruction, 0)?)?;
    cx.emit(Sass::MOVM, &[], &[(D, to), (A, source)])?;
    Ok(())
}
