//! The vocabulary of the arithmetic chapters: 32-bit SASS operations on operands.
//!
//! Functions that take `d` write there; the others give a fresh temporary.

use crate::error::Lowered;
use crate::function::ops::{lut, sign_of};
use crate::function::{FnLower, ops};
use oriole_isa::{Bop, Cmp, Field, Mul, Opcode, Role, Setting, ShiftDir, ShiftType};
use oriole_ori::{InstFlags, Operand, OperandKind, RegType};
use oriole_ptx::ast::Instruction;

/// A comparison: SASS's `cmp` and whether the operands are signed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntCmp {
    /// Value of [`Field::CMP`].
    pub(crate) cmp: Cmp,
    /// Signed operands.
    pub(crate) signed: bool,
}

impl IntCmp {
    /// Equal.
    pub(crate) const EQ: IntCmp = IntCmp::unsigned(Cmp::EQ);
    /// Not equal.
    pub(crate) const NE: IntCmp = IntCmp::unsigned(Cmp::NE);
    /// Unsigned, greater or equal.
    pub(crate) const GE_U: IntCmp = IntCmp::unsigned(Cmp::GE);
    /// Signed, less.
    pub(crate) const LT_S: IntCmp = IntCmp { cmp: Cmp::LT, signed: true };

    /// An unsigned comparison.
    pub(crate) const fn unsigned(cmp: Cmp) -> IntCmp {
        IntCmp { cmp, signed: false }
    }

    /// The values of its fields.
    pub(crate) fn fields(self) -> [Setting; 2] {
        [Field::CMP.is(self.cmp), Field::SIGN.is(sign_of(self.signed))]
    }
}

/// The two's complement of an operand, as an operand of IADD3: constants are negated here.
pub(crate) fn negated(operand: Operand) -> Operand {
    match operand.kind() {
        OperandKind::Imm(bits, _) => Operand::imm(bits.wrapping_neg()),
        OperandKind::Rz => operand,
        _ => operand.neg(),
    }
}

/// The complement of an operand, as an operand of IADD3.X: constants are inverted here.
pub(crate) fn inverted(operand: Operand) -> Operand {
    match operand.kind() {
        OperandKind::Imm(bits, _) => Operand::imm(!bits),
        OperandKind::Rz => Operand::imm(u32::MAX),
        _ => operand.not(),
    }
}

/// Emits with operand D, A, B, C.
pub(crate) fn op3(
    cx: &mut FnLower<'_, '_>,
    op: Opcode,
    fields: &[Setting],
    d: Operand,
    [a, b, c]: [Operand; 3],
) -> Lowered {
    cx.emit(op, fields, &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::C, c)])?;
    Ok(())
}

/// Emits with operands D, A, B.
pub(crate) fn op2(
    cx: &mut FnLower<'_, '_>,
    op: Opcode,
    fields: &[Setting],
    d: Operand,
    a: Operand,
    b: Operand,
) -> Lowered {
    cx.emit(op, fields, &[(Role::D, d), (Role::A, a), (Role::B, b)])?;
    Ok(())
}

/// Emits a float product or sum with operands D, A, B. Where PTX names no rounding, optimisation may make
/// one instruction of both.
pub(crate) fn open_op2(
    cx: &mut FnLower<'_, '_>,
    inst: &Instruction,
    op: Opcode,
    fields: &[Setting],
    d: Operand,
    [a, b]: [Operand; 2],
) -> Lowered {
    let id = cx.emit(op, fields, &[(Role::D, d), (Role::A, a), (Role::B, b)])?;
    if inst.rounding().is_none() {
        cx.func.edit().update(id, |inst| inst.flags |= InstFlags::CONTRACTS);
    }
    Ok(())
}

/// Emits with operands D, B.
pub(crate) fn op1(cx: &mut FnLower<'_, '_>, op: Opcode, fields: &[Setting], d: Operand, b: Operand) -> Lowered {
    cx.emit(op, fields, &[(Role::D, d), (Role::B, b)])?;
    Ok(())
}

/// A fresh 64-bit register as an operand.
pub(crate) fn temp_pair(cx: &mut FnLower<'_, '_>) -> Lowered<Operand> {
    Ok(Operand::reg(cx.temp_of(RegType::Pair)?))
}

/// `a + b`
pub(crate) fn sum(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand) -> Lowered<Operand> {
    let d = cx.temp()?;
    ops::add(cx, d, a, b)?;
    Ok(d)
}

/// `d = a * b + c`
pub(crate) fn imad(cx: &mut FnLower<'_, '_>, d: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
    op3(cx, Opcode::IMAD, &[], d, [a, b, c])
}

/// `d = high word of (a * b + c)`, `c` a pair or RZ.
pub(crate) fn imad_hi(
    cx: &mut FnLower<'_, '_>,
    signed: bool,
    d: Operand,
    a: Operand,
    b: Operand,
    c: Operand,
) -> Lowered {
    op3(cx, Opcode::IMAD, &[Field::MUL.is(Mul::HI), Field::SIGN.is(sign_of(signed))], d, [a, b, c])
}

/// `d = a * b + c`, `d` and `c` pairs (`c` may be RZ).
pub(crate) fn imad_wide(
    cx: &mut FnLower<'_, '_>,
    signed: bool,
    d: Operand,
    a: Operand,
    b: Operand,
    c: Operand,
) -> Lowered {
    op3(cx, Opcode::IMAD, &[Field::MUL.is(Mul::WIDE), Field::SIGN.is(sign_of(signed))], d, [a, b, c])
}

/// `d = table(a, b)`, bit by bit.
pub(crate) fn lop2(cx: &mut FnLower<'_, '_>, d: Operand, table: u8, a: Operand, b: Operand) -> Lowered {
    let (a, b) = if matches!(a.kind(), OperandKind::Imm(..)) && symmetric(table) { (b, a) } else { (a, b) };
    ops::lop3(cx, d, a, b, Operand::rz(), table)
}

/// `table(a, b)` of two operands in a temporary.
pub(crate) fn logic(cx: &mut FnLower<'_, '_>, table: u8, a: Operand, b: Operand) -> Lowered<Operand> {
    let d = cx.temp()?;
    lop2(cx, d, table, a, b)?;
    Ok(d)
}

/// `d = value << count`; counts above 31 give zero.
pub(crate) fn shift_left(cx: &mut FnLower<'_, '_>, d: Operand, value: Operand, count: Operand) -> Lowered {
    funnel(cx, d, [value, count, Operand::rz()], ShiftDir::L, ShiftType::U32, false)
}

/// `d = value >> count`, logical or arithmetic; counts above 31 give zero, or the sign.
pub(crate) fn shift_right(
    cx: &mut FnLower<'_, '_>,
    signed: bool,
    d: Operand,
    value: Operand,
    count: Operand,
) -> Lowered {
    let kind = if signed { ShiftType::S32 } else { ShiftType::U32 };
    funnel(cx, d, [Operand::rz(), count, value], ShiftDir::R, kind, true)
}

/// `SHF`: operands A (low word), B (count), C (high word).
pub(crate) fn funnel(
    cx: &mut FnLower<'_, '_>,
    d: Operand,
    [a, b, c]: [Operand; 3],
    dir: ShiftDir,
    kind: ShiftType,
    hi: bool,
) -> Lowered {
    let fields = [Field::SHIFT_DIR.is(dir), Field::SHIFT_TYPE.is(kind), Field::HI.is(hi)];
    op3(cx, Opcode::SHF, &fields, d, [a, b, c])
}

/// `d = p ? a : b`
pub(crate) fn select(cx: &mut FnLower<'_, '_>, d: Operand, a: Operand, b: Operand, p: Operand) -> Lowered {
    // A must be a register, B need not.
    let swap = matches!(a.kind(), OperandKind::Imm(..) | OperandKind::Const { .. }) && !a.is_zero();
    let (a, b, p) = if swap { (b, a, p.not()) } else { (a, b, p) };
    cx.emit(Opcode::SEL, &[], &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::PA, p)])?;
    Ok(())
}

/// `a cmp b` as a predicate.
pub(crate) fn test(cx: &mut FnLower<'_, '_>, compare: IntCmp, a: Operand, b: Operand) -> Lowered<Operand> {
    let p = cx.temp_pred()?;
    ops::isetp(cx, p, compare.cmp, compare.signed, a, b)?;
    Ok(p)
}

/// `d = least ? min(a, b) : max(a, b)`
pub(crate) fn imnmx(
    cx: &mut FnLower<'_, '_>,
    signed: bool,
    least: bool,
    d: Operand,
    a: Operand,
    b: Operand,
) -> Lowered {
    let which = Operand::pt().with_not(!least);
    let operands = [(Role::D, d), (Role::A, a), (Role::B, b), (Role::PA, which)];
    if cx.has(Opcode::VIMNMX) {
        let kind = if signed { oriole_isa::Vtype::S32 } else { oriole_isa::Vtype::U32 };
        cx.emit(Opcode::VIMNMX, &[Field::VTYPE.is(kind)], &operands)?;
    } else {
        cx.emit(Opcode::IMNMX, &[Field::SIGN.is(sign_of(signed))], &operands)?;
    }
    Ok(())
}

/// `d = table(a, b, c)` of predicates.
pub(crate) fn plop3(cx: &mut FnLower<'_, '_>, d: Operand, table: u8, [a, b, c]: [Operand; 3]) -> Lowered {
    let lut = Operand::imm(u32::from(table));
    cx.emit(Opcode::PLOP3, &[], &[(Role::PD, d), (Role::PA, a), (Role::PB, b), (Role::PC, c), (Role::Lut, lut)])?;
    Ok(())
}

/// `table(a, b)` of predicates in a temporary.
pub(crate) fn pred_logic(cx: &mut FnLower<'_, '_>, table: u8, a: Operand, b: Operand) -> Lowered<Operand> {
    let d = cx.temp_pred()?;
    plop3(cx, d, table & lut::C, [a, b, Operand::pt()])?;
    Ok(d)
}

/// The value extended to 32 bits from its low `bits`.
pub(crate) fn extended(cx: &mut FnLower<'_, '_>, value: Operand, bits: u32, signed: bool) -> Lowered<Operand> {
    if bits >= 32 || value.is_zero() {
        return Ok(value);
    }
    let shift = 32 - bits;
    if let OperandKind::Imm(raw, _) = value.kind() {
        let top = raw << shift;
        return Ok(Operand::imm(if signed { ((top as i32) >> shift) as u32 } else { top >> shift }));
    }
    let d = cx.temp()?;
    extend_to(cx, d, value, bits, signed)?;
    Ok(d)
}

/// `d` = the value extended to 32 bits from its low 8 or 16 bits.
pub(crate) fn extend_to(cx: &mut FnLower<'_, '_>, d: Operand, value: Operand, bits: u32, signed: bool) -> Lowered {
    match (bits, signed) {
        (8, true) => ops::prmt(cx, d, value, 0x8880, Operand::rz()),
        (16, true) => ops::prmt(cx, d, value, 0x9910, Operand::rz()),
        (16, false) => ops::prmt(cx, d, value, 0x5410, Operand::rz()),
        _ => lop2(cx, d, lut::AND, value, Operand::imm(u32::MAX >> (32 - bits))),
    }
}

/// Whether a table of two operands treats them alike.
const fn symmetric(table: u8) -> bool {
    table == lut::AND || table == lut::OR || table == lut::XOR
}

/// Value of [`Field::BOP`] for the combination `.and`, `.or`, `.xor` of a comparison.
pub(crate) fn bop_of(word: Option<oriole_ptx::ast::Word>) -> Bop {
    use oriole_ptx::ast::Word;
    match word {
        Some(Word::Or) => Bop::OR,
        Some(Word::Xor) => Bop::XOR,
        _ => Bop::AND,
    }
}
