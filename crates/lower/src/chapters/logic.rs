//! Logic and shifts: `and or xor not cnot lop3 shl shr shf prmt`.

use crate::chapters::integer::operands;
use crate::chapters::wide;
use crate::chapters::wide::Halves;
use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::word_ops::IntCmp;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::{Field, Opcode, Prmt, Role, ShiftDir, ShiftType};
use oriole_ori::{Operand, OperandKind};
use oriole_ptx::ast::{self, Instruction, Opcode as Ptx, ScalarType, Word};

/// The opcodes of this file.
pub(crate) const CHAPTER: Chapter = &[
    (Ptx::And, |cx, inst| binary(cx, inst, lut::AND)),
    (Ptx::Or, |cx, inst| binary(cx, inst, lut::OR)),
    (Ptx::Xor, |cx, inst| binary(cx, inst, lut::XOR)),
    (Ptx::Not, not),
    (Ptx::Cnot, cnot),
    (Ptx::Lop3, lop3),
    (Ptx::Shl, shl),
    (Ptx::Shr, shr),
    (Ptx::Shf, shf),
    (Ptx::Prmt, permute),
];

/// Modes of `prmt` and the values of the field.
const PRMT_MODES: [(Word, Prmt); 6] = [
    (Word::F4e, Prmt::F4E),
    (Word::B4e, Prmt::B4E),
    (Word::Rc8, Prmt::RC8),
    (Word::Ecl, Prmt::ECL),
    (Word::Ecr, Prmt::ECR),
    (Word::Rc16, Prmt::RC16),
];

fn kind(inst: &Instruction) -> Lowered<ScalarType> {
    inst.last_type().ok_or_else(|| invalid(inst.span, "the instruction has no type"))
}

fn binary(cx: &mut FnLower<'_, '_>, inst: &Instruction, table: u8) -> Lowered {
    let [d, a, b] = operands(inst)?;
    match kind(inst)?.bits() {
        1 => {
            let (a, b) = (sources::pred(cx, a)?, sources::pred(cx, b)?);
            let d = destinations::dst_pred(cx, d)?;
            ops::logic_pred(cx, d, a, b, table & lut::C)
        }
        64 => {
            let (a, b) = (sources::src64(cx, a)?, sources::src64(cx, b)?);
            let d: Halves = destinations::dst64_direct(cx, d)?.into();
            wide::wide_logic(cx, d, table, a, b)
        }
        _ => {
            let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
            let d = destinations::dst(cx, d)?;
            word_ops::lop2(cx, d, table, a, b)
        }
    }
}

fn not(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    match kind(inst)?.bits() {
        1 => {
            let a = sources::pred(cx, a)?;
            let d = destinations::dst_pred(cx, d)?;
            ops::mov_pred(cx, d, a.not())
        }
        64 => {
            let a = sources::src64(cx, a)?;
            let d: Halves = destinations::dst64_direct(cx, d)?.into();
            wide::wide_logic(cx, d, lut::NOT_B, Wide::of_bits(0), a)
        }
        _ => {
            let a = sources::src(cx, a)?;
            let d = destinations::dst(cx, d)?;
            word_ops::lop2(cx, d, lut::NOT_B, Operand::rz(), a)
        }
    }
}

/// `d = a == 0 ? 1 : 0`
fn cnot(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let bits = kind(inst)?.bits();
    let one = Operand::imm(1);
    if bits == 64 {
        let a = sources::src64(cx, a)?;
        let some = wide::wide_test(cx, IntCmp::NE, a, Wide::of_bits(0))?;
        let d: Halves = destinations::dst64_direct(cx, d)?.into();
        return wide::wide_select(cx, d, Wide::of_bits(0), Wide::of_bits(1), some);
    }
    let a = sources::src(cx, a)?;
    let a = word_ops::extended(cx, a, bits, false)?;
    let some = word_ops::test(cx, IntCmp::NE, a, Operand::rz())?;
    let d = destinations::dst(cx, d)?;
    word_ops::select(cx, d, Operand::rz(), one, some)
}

/// `lop3.b32 d, a, b, c, table;` and `lop3.BoolOp.b32 d|p, a, b, c, table, q;`
fn lop3(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c, table] = operands(inst)?;
    let bits =
        table.imm().and_then(ast::Imm::int_bits).ok_or_else(|| invalid(table.span(), "the table is not a constant"))?;
    let table = Operand::imm(bits as u32 & 0xff);
    let (a, b, c) = (sources::src(cx, a)?, sources::src(cx, b)?, sources::src(cx, c)?);
    let sources = [(Role::A, a), (Role::B, b), (Role::C, c), (Role::Lut, table)];
    let ast::Operand::Pair(pair) = d else {
        let d = destinations::dst(cx, d)?;
        cx.emit(Opcode::LOP3, &[], &[&[(Role::D, d)], sources.as_slice()].concat())?;
        return Ok(());
    };
    let q = inst.operands.get(5).ok_or_else(|| invalid(inst.span, "the predicate operand is missing"))?;
    let q = sources::pred(cx, q)?;
    let (d, p) = (destinations::dst(cx, &pair[0])?, destinations::dst_pred(cx, &pair[1])?);
    let results = [(Role::D, d), (Role::PD, p), (Role::PA, q)];
    cx.emit(Opcode::LOP3, &[Field::PAND.is(inst.has(Word::And))], &[results.as_slice(), &sources].concat())?;
    Ok(())
}

fn shl(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, count] = operands(inst)?;
    let count = sources::src(cx, count)?;
    if kind(inst)?.bits() == 64 {
        let a = sources::src64(cx, a)?;
        if let Some(n) = constant(count) {
            return shl_constant(cx, d, a, n);
        }
        let d = destinations::dst64(cx, d, &[a, Wide::of_halves(count, count)])?.into();
        return wide::wide_shl(cx, d, a, count);
    }
    let a = sources::src(cx, a)?;
    let d = destinations::dst(cx, d)?;
    word_ops::shift_left(cx, d, a, count)
}

fn constant(count: Operand) -> Option<u32> {
    if count.is_zero() { Some(0) } else { count.as_imm() }
}

/// A constant count needs one word only from 32 on.
fn shl_constant(cx: &mut FnLower<'_, '_>, d: &ast::Operand, a: Wide, n: u32) -> Lowered {
    let d: Halves = destinations::dst64(cx, d, &[a])?.into();
    match n {
        0 => {
            ops::mov(cx, d.lo, a.lo)?;
            ops::mov(cx, d.hi, a.hi)
        }
        1..=31 => wide::wide_shl(cx, d, a, Operand::imm(n)),
        32 => {
            ops::mov(cx, d.hi, a.lo)?;
            ops::mov(cx, d.lo, Operand::rz())
        }
        33..=63 => {
            word_ops::shift_left(cx, d.hi, a.lo, Operand::imm(n - 32))?;
            ops::mov(cx, d.lo, Operand::rz())
        }
        _ => {
            ops::mov(cx, d.lo, Operand::rz())?;
            ops::mov(cx, d.hi, Operand::rz())
        }
    }
}

fn shr(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, count] = operands(inst)?;
    let ty = kind(inst)?;
    let count = sources::src(cx, count)?;
    if ty.bits() == 64 {
        let a = sources::src64(cx, a)?;
        let d: Halves = destinations::dst64(cx, d, &[a, Wide::of_halves(count, count)])?.into();
        return match constant(count) {
            Some(n @ 32..=63) if ty.is_signed() => {
                word_ops::shift_right(cx, true, d.lo, a.hi, Operand::imm(n - 32))?;
                word_ops::shift_right(cx, true, d.hi, a.hi, Operand::imm(31))
            }
            Some(n @ 32..=63) => {
                word_ops::shift_right(cx, false, d.lo, a.hi, Operand::imm(n - 32))?;
                ops::mov(cx, d.hi, Operand::rz())
            }
            _ => wide::wide_shr(cx, ty.is_signed(), d, a, count),
        };
    }
    let a = sources::src(cx, a)?;
    let a = word_ops::extended(cx, a, ty.bits(), ty.is_signed())?;
    let d = destinations::dst(cx, d)?;
    word_ops::shift_right(cx, ty.is_signed(), d, a, count)
}

/// `shf.{l,r}.{clamp,wrap}.b32 d, a, b, c`: the pair b:a shifted by c.
fn shf(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, count] = operands(inst)?;
    let left = inst.has(Word::L);
    let (a, b, count) = (sources::src(cx, a)?, sources::src(cx, b)?, sources::src(cx, count)?);
    let fields = [
        Field::SHIFT_DIR.is(if left { ShiftDir::L } else { ShiftDir::R }),
        Field::SHIFT_TYPE.is(ShiftType::U32),
        Field::WRAP.is(inst.has(Word::Wrap)),
        Field::HI.is(left),
    ];
    let d = destinations::dst(cx, d)?;
    word_ops::op3(cx, Opcode::SHF, &fields, d, [a, count, b])
}

fn permute(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, selector] = operands(inst)?;
    let mode = PRMT_MODES.iter().find(|(word, _)| inst.has(*word)).map_or(Prmt::IDX, |(_, value)| *value);
    if inst.words().next().is_some() && mode == Prmt::IDX {
        return Err(unknown(cx, inst));
    }
    let (a, b, selector) = (sources::src(cx, a)?, sources::src(cx, b)?, sources::src(cx, selector)?);
    // The selector's other nibbles mean nothing to PTX.
    let selector = match selector.kind() {
        OperandKind::Imm(bits, _) => Operand::imm(bits & 0xffff),
        _ => selector,
    };
    let d = destinations::dst(cx, d)?;
    word_ops::op3(cx, Opcode::PRMT, &[Field::PRMT.is(mode)], d, [a, selector, b])
}
