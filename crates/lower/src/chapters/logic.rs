//! Logic and shifts: `and or xor not cnot lop3 shl shr shf prmt`.

use crate::chapters::integer::operands;
use crate::chapters::wide;
use crate::chapters::wide::Halves;
use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::word_ops::{IntCmp, flag};
use crate::function::{FnLower, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::{Field, Opcode, Role, prmt, shift_dir, shift_type};
use oriole_ori::{Operand, OperandKind};
use oriole_ptx::ast::{self, Instruction, Opcode as Ptx, ScalarType, Word};

/// The opcodes of this file.
pub(crate) const CHAPTER: Chapter = &[
    (Ptx::And, |f, inst| binary(f, inst, lut::AND)),
    (Ptx::Or, |f, inst| binary(f, inst, lut::OR)),
    (Ptx::Xor, |f, inst| binary(f, inst, lut::XOR)),
    (Ptx::Not, not),
    (Ptx::Cnot, cnot),
    (Ptx::Lop3, lop3),
    (Ptx::Shl, shl),
    (Ptx::Shr, shr),
    (Ptx::Shf, shf),
    (Ptx::Prmt, permute),
];

/// Modes of `prmt` and the values of the field.
const PRMT_MODES: [(Word, u8); 6] = [
    (Word::F4e, prmt::F4E),
    (Word::B4e, prmt::B4E),
    (Word::Rc8, prmt::RC8),
    (Word::Ecl, prmt::ECL),
    (Word::Ecr, prmt::ECR),
    (Word::Rc16, prmt::RC16),
];

fn kind(inst: &Instruction) -> Lowered<ScalarType> {
    inst.last_type().ok_or_else(|| invalid(inst.span, "the instruction has no type"))
}

fn binary(f: &mut FnLower<'_, '_>, inst: &Instruction, table: u8) -> Lowered {
    let [d, a, b] = operands(inst)?;
    match kind(inst)?.bits() {
        1 => {
            let (a, b) = (f.pred(a)?, f.pred(b)?);
            let d = f.dst_pred(d)?;
            f.logic_pred(d, a, b, table & lut::C)
        }
        64 => {
            let (a, b) = (f.src64(a)?, f.src64(b)?);
            let d: Halves = f.dst64_direct(d)?.into();
            wide::wide_logic(f, d, table, a, b)
        }
        _ => {
            let (a, b) = (f.src(a)?, f.src(b)?);
            let d = f.dst(d)?;
            word_ops::lop2(f, d, table, a, b)
        }
    }
}

fn not(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    match kind(inst)?.bits() {
        1 => {
            let a = f.pred(a)?;
            let d = f.dst_pred(d)?;
            f.mov_pred(d, a.not())
        }
        64 => {
            let a = f.src64(a)?;
            let d: Halves = f.dst64_direct(d)?.into();
            wide::wide_logic(f, d, lut::NOT_B, Wide::of_bits(0), a)
        }
        _ => {
            let a = f.src(a)?;
            let d = f.dst(d)?;
            word_ops::lop2(f, d, lut::NOT_B, Operand::rz(), a)
        }
    }
}

/// `d = a == 0 ? 1 : 0`
fn cnot(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a] = operands(inst)?;
    let bits = kind(inst)?.bits();
    let one = Operand::imm(1);
    if bits == 64 {
        let a = f.src64(a)?;
        let some = wide::wide_test(f, IntCmp::NE, a, Wide::of_bits(0))?;
        let d: Halves = f.dst64_direct(d)?.into();
        return wide::wide_select(f, d, Wide::of_bits(0), Wide::of_bits(1), some);
    }
    let a = f.src(a)?;
    let a = word_ops::extended(f, a, bits, false)?;
    let some = word_ops::test(f, IntCmp::NE, a, Operand::rz())?;
    let d = f.dst(d)?;
    word_ops::select(f, d, Operand::rz(), one, some)
}

/// `lop3.b32 d, a, b, c, table;` and `lop3.BoolOp.b32 d|p, a, b, c, table, q;`
fn lop3(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c, table] = operands(inst)?;
    let bits =
        table.imm().and_then(ast::Imm::int_bits).ok_or_else(|| invalid(table.span(), "the table is not a constant"))?;
    let table = Operand::imm(bits as u32 & 0xff);
    let (a, b, c) = (f.src(a)?, f.src(b)?, f.src(c)?);
    let sources = [(Role::A, a), (Role::B, b), (Role::C, c), (Role::Lut, table)];
    let ast::Operand::Pair(pair) = d else {
        let d = f.dst(d)?;
        f.emit(Opcode::LOP3, &[], &[&[(Role::D, d)], sources.as_slice()].concat())?;
        return Ok(());
    };
    let q = inst.operands.get(5).ok_or_else(|| invalid(inst.span, "the predicate operand is missing"))?;
    let q = f.pred(q)?;
    let (d, p) = (f.dst(&pair[0])?, f.dst_pred(&pair[1])?);
    let results = [(Role::D, d), (Role::PD, p), (Role::PA, q)];
    f.emit(Opcode::LOP3, &[flag(Field::Pand, inst.has(Word::And))], &[results.as_slice(), &sources].concat())?;
    Ok(())
}

fn shl(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, count] = operands(inst)?;
    let count = f.src(count)?;
    if kind(inst)?.bits() == 64 {
        let a = f.src64(a)?;
        if let Some(n) = constant(count) {
            return shl_constant(f, d, a, n);
        }
        let d = f.dst64(d, &[a, Wide::of_halves(count, count)])?.into();
        return wide::wide_shl(f, d, a, count);
    }
    let a = f.src(a)?;
    let d = f.dst(d)?;
    word_ops::shift_left(f, d, a, count)
}

fn constant(count: Operand) -> Option<u32> {
    if count.is_zero() { Some(0) } else { count.as_imm() }
}

/// A constant count needs one word only from 32 on.
fn shl_constant(f: &mut FnLower<'_, '_>, d: &ast::Operand, a: Wide, n: u32) -> Lowered {
    let d: Halves = f.dst64(d, &[a])?.into();
    match n {
        0 => {
            f.mov(d.lo, a.lo)?;
            f.mov(d.hi, a.hi)
        }
        1..=31 => wide::wide_shl(f, d, a, Operand::imm(n)),
        32 => {
            f.mov(d.hi, a.lo)?;
            f.mov(d.lo, Operand::rz())
        }
        33..=63 => {
            word_ops::shift_left(f, d.hi, a.lo, Operand::imm(n - 32))?;
            f.mov(d.lo, Operand::rz())
        }
        _ => {
            f.mov(d.lo, Operand::rz())?;
            f.mov(d.hi, Operand::rz())
        }
    }
}

fn shr(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, count] = operands(inst)?;
    let ty = kind(inst)?;
    let count = f.src(count)?;
    if ty.bits() == 64 {
        let a = f.src64(a)?;
        let d: Halves = f.dst64(d, &[a, Wide::of_halves(count, count)])?.into();
        return match constant(count) {
            Some(n @ 32..=63) if ty.is_signed() => {
                word_ops::shift_right(f, true, d.lo, a.hi, Operand::imm(n - 32))?;
                word_ops::shift_right(f, true, d.hi, a.hi, Operand::imm(31))
            }
            Some(n @ 32..=63) => {
                word_ops::shift_right(f, false, d.lo, a.hi, Operand::imm(n - 32))?;
                f.mov(d.hi, Operand::rz())
            }
            _ => wide::wide_shr(f, ty.is_signed(), d, a, count),
        };
    }
    let a = f.src(a)?;
    let a = word_ops::extended(f, a, ty.bits(), ty.is_signed())?;
    let d = f.dst(d)?;
    word_ops::shift_right(f, ty.is_signed(), d, a, count)
}

/// `shf.{l,r}.{clamp,wrap}.b32 d, a, b, c`: the pair b:a shifted by c.
fn shf(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, count] = operands(inst)?;
    let left = inst.has(Word::L);
    let (a, b, count) = (f.src(a)?, f.src(b)?, f.src(count)?);
    let fields = [
        (Field::ShiftDir, if left { shift_dir::L } else { shift_dir::R }),
        (Field::ShiftType, shift_type::U32),
        flag(Field::Wrap, inst.has(Word::Wrap)),
        flag(Field::Hi, left),
    ];
    let d = f.dst(d)?;
    word_ops::op3(f, Opcode::SHF, &fields, d, [a, count, b])
}

fn permute(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, selector] = operands(inst)?;
    let mode = PRMT_MODES.iter().find(|(word, _)| inst.has(*word)).map_or(prmt::IDX, |(_, value)| *value);
    if inst.words().next().is_some() && mode == prmt::IDX {
        return Err(unknown(f, inst));
    }
    let (a, b, selector) = (f.src(a)?, f.src(b)?, f.src(selector)?);
    // The selector's other nibbles mean nothing to PTX.
    let selector = match selector.kind() {
        OperandKind::Imm(bits, _) => Operand::imm(bits & 0xffff),
        _ => selector,
    };
    let d = f.dst(d)?;
    word_ops::op3(f, Opcode::PRMT, &[(Field::Prmt, mode)], d, [a, selector, b])
}
