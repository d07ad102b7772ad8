//! The vocabulary of the arithmetic chapters: 32-bit SASS operations on operands.
//!
//! Methods that take `d` write there; the others give a fresh temporary.

use crate::error::Lowered;
use crate::function::FnLower;
use oriole_isa::{Field, Opcode, Role, bop, cmp, mul, shift_dir, shift_type, sign};
use oriole_ori::{InstFlags, Operand, OperandKind, RegType};
use oriole_ptx::ast::Instruction;

/// `LOP3` tables of three operands, from the patterns of the operands themselves.
pub(super) mod lut {
    /// Pattern of the first operand.
    pub(crate) const A: u8 = 0xf0;
    /// Pattern of the second operand.
    pub(crate) const B: u8 = 0xcc;
    /// Pattern of the third operand.
    pub(crate) const C: u8 = 0xaa;
    /// `a & b`
    pub(crate) const AND: u8 = A & B;
    /// `a | b`
    pub(crate) const OR: u8 = A | B;
    /// `a ^ b`
    pub(crate) const XOR: u8 = A ^ B;
    /// `~b`
    pub(crate) const NOT_B: u8 = !B;
    /// `b` where `a` has ones, else `c`.
    pub(crate) const SELECT: u8 = (A & B) | (!A & C);
}

/// A comparison: SASS's `cmp` and whether the operands are signed.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntCmp {
    /// Value of [`Field::Cmp`].
    pub(super) cmp: u8,
    /// Signed operands.
    pub(super) signed: bool,
}

impl IntCmp {
    /// Equal.
    pub(super) const EQ: IntCmp = IntCmp::unsigned(cmp::EQ);
    /// Not equal.
    pub(super) const NE: IntCmp = IntCmp::unsigned(cmp::NE);
    /// Unsigned, greater or equal.
    pub(super) const GE_U: IntCmp = IntCmp::unsigned(cmp::GE);
    /// Signed, less.
    pub(super) const LT_S: IntCmp = IntCmp { cmp: cmp::LT, signed: true };

    /// An unsigned comparison.
    pub(super) const fn unsigned(cmp: u8) -> IntCmp {
        IntCmp { cmp, signed: false }
    }

    /// The values of its fields.
    pub(super) fn fields(self) -> [(Field, u8); 2] {
        [(Field::Cmp, self.cmp), (Field::Sign, sign_of(self.signed))]
    }
}

/// Value of [`Field::Sign`].
pub(super) fn sign_of(signed: bool) -> u8 {
    if signed { sign::S32 } else { sign::U32 }
}

/// A flag field's value.
pub(super) fn flag(field: Field, on: bool) -> (Field, u8) {
    (field, u8::from(on))
}

/// The two's complement of an operand, as an operand of IADD3: constants are negated here.
pub(super) fn negated(operand: Operand) -> Operand {
    match operand.kind() {
        OperandKind::Imm(bits, _) => Operand::imm(bits.wrapping_neg()),
        OperandKind::Rz => operand,
        _ => operand.neg(),
    }
}

/// The complement of an operand, as an operand of IADD3.X: constants are inverted here.
pub(super) fn inverted(operand: Operand) -> Operand {
    match operand.kind() {
        OperandKind::Imm(bits, _) => Operand::imm(!bits),
        OperandKind::Rz => Operand::imm(u32::MAX),
        _ => operand.not(),
    }
}

impl FnLower<'_, '_> {
    /// Emits with operand D, A, B, C.
    pub(super) fn op3(&mut self, op: Opcode, fields: &[(Field, u8)], d: Operand, [a, b, c]: [Operand; 3]) -> Lowered {
        self.emit(op, fields, &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::C, c)])?;
        Ok(())
    }

    /// Emits with operands D, A, B.
    pub(super) fn op2(&mut self, op: Opcode, fields: &[(Field, u8)], d: Operand, a: Operand, b: Operand) -> Lowered {
        self.emit(op, fields, &[(Role::D, d), (Role::A, a), (Role::B, b)])?;
        Ok(())
    }

    /// Emits a float product or sum with operands D, A, B. Where PTX names no rounding, optimisation may make
    /// one instruction of both.
    pub(super) fn open_op2(
        &mut self,
        inst: &Instruction,
        op: Opcode,
        fields: &[(Field, u8)],
        d: Operand,
        [a, b]: [Operand; 2],
    ) -> Lowered {
        let id = self.emit(op, fields, &[(Role::D, d), (Role::A, a), (Role::B, b)])?;
        if inst.rounding().is_none() {
            self.func.insts[id].flags |= InstFlags::CONTRACTS;
        }
        Ok(())
    }

    /// Emits with operands D, B.
    pub(super) fn op1(&mut self, op: Opcode, fields: &[(Field, u8)], d: Operand, b: Operand) -> Lowered {
        self.emit(op, fields, &[(Role::D, d), (Role::B, b)])?;
        Ok(())
    }

    /// A fresh 64-bit register as an operand.
    pub(super) fn temp_pair(&mut self) -> Lowered<Operand> {
        Ok(Operand::reg(self.temp_of(RegType::Pair)?))
    }

    /// `a + b`
    pub(super) fn sum(&mut self, a: Operand, b: Operand) -> Lowered<Operand> {
        let d = self.temp()?;
        self.add(d, a, b)?;
        Ok(d)
    }

    /// `d = a * b + c`
    pub(super) fn imad(&mut self, d: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
        self.op3(Opcode::IMAD, &[], d, [a, b, c])
    }

    /// `d = high word of (a * b + c)`, `c` a pair or RZ.
    pub(super) fn imad_hi(&mut self, signed: bool, d: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
        self.op3(Opcode::IMAD, &[(Field::Mul, mul::HI), (Field::Sign, sign_of(signed))], d, [a, b, c])
    }

    /// `d = a * b + c`, `d` and `c` pairs (`c` may be RZ).
    pub(super) fn imad_wide(&mut self, signed: bool, d: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
        self.op3(Opcode::IMAD, &[(Field::Mul, mul::WIDE), (Field::Sign, sign_of(signed))], d, [a, b, c])
    }

    /// `d = table(a, b)`, bit by bit.
    pub(super) fn lop2(&mut self, d: Operand, table: u8, a: Operand, b: Operand) -> Lowered {
        let (a, b) = if matches!(a.kind(), OperandKind::Imm(..)) && symmetric(table) { (b, a) } else { (a, b) };
        self.lop3(d, a, b, Operand::rz(), table)
    }

    /// `table(a, b)` of two operands in a temporary.
    pub(super) fn logic(&mut self, table: u8, a: Operand, b: Operand) -> Lowered<Operand> {
        let d = self.temp()?;
        self.lop2(d, table, a, b)?;
        Ok(d)
    }

    /// `d = value << count`; counts above 31 give zero.
    pub(super) fn shift_left(&mut self, d: Operand, value: Operand, count: Operand) -> Lowered {
        self.funnel(d, [value, count, Operand::rz()], shift_dir::L, shift_type::U32, false)
    }

    /// `d = value >> count`, logical or arithmetic; counts above 31 give zero, or the sign.
    pub(super) fn shift_right(&mut self, signed: bool, d: Operand, value: Operand, count: Operand) -> Lowered {
        let kind = if signed { shift_type::S32 } else { shift_type::U32 };
        self.funnel(d, [Operand::rz(), count, value], shift_dir::R, kind, true)
    }

    /// `SHF`: operands A (low word), B (count), C (high word).
    pub(super) fn funnel(&mut self, d: Operand, [a, b, c]: [Operand; 3], dir: u8, kind: u8, hi: bool) -> Lowered {
        let fields = [(Field::ShiftDir, dir), (Field::ShiftType, kind), flag(Field::Hi, hi)];
        self.op3(Opcode::SHF, &fields, d, [a, b, c])
    }

    /// `d = p ? a : b`
    pub(super) fn select(&mut self, d: Operand, a: Operand, b: Operand, p: Operand) -> Lowered {
        // A must be a register, B need not.
        let swap = matches!(a.kind(), OperandKind::Imm(..) | OperandKind::Const { .. }) && !a.is_zero();
        let (a, b, p) = if swap { (b, a, p.not()) } else { (a, b, p) };
        self.emit(Opcode::SEL, &[], &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::PA, p)])?;
        Ok(())
    }

    /// `a cmp b` as a predicate.
    pub(super) fn test(&mut self, compare: IntCmp, a: Operand, b: Operand) -> Lowered<Operand> {
        let p = self.temp_pred()?;
        self.isetp(p, compare.cmp, compare.signed, a, b)?;
        Ok(p)
    }

    /// `d = least ? min(a, b) : max(a, b)`
    pub(super) fn imnmx(&mut self, signed: bool, least: bool, d: Operand, a: Operand, b: Operand) -> Lowered {
        let which = Operand::pt().with_not(!least);
        let operands = [(Role::D, d), (Role::A, a), (Role::B, b), (Role::PA, which)];
        if self.has(Opcode::VIMNMX) {
            let kind = if signed { oriole_isa::vtype::S32 } else { oriole_isa::vtype::U32 };
            self.emit(Opcode::VIMNMX, &[(Field::Vtype, kind)], &operands)?;
        } else {
            self.emit(Opcode::IMNMX, &[(Field::Sign, sign_of(signed))], &operands)?;
        }
        Ok(())
    }

    /// `d = table(a, b, c)` of predicates.
    pub(super) fn plop3(&mut self, d: Operand, table: u8, [a, b, c]: [Operand; 3]) -> Lowered {
        let lut = Operand::imm(u32::from(table));
        self.emit(Opcode::PLOP3, &[], &[(Role::PD, d), (Role::PA, a), (Role::PB, b), (Role::PC, c), (Role::Lut, lut)])?;
        Ok(())
    }

    /// `table(a, b)` of predicates in a temporary.
    pub(super) fn pred_logic(&mut self, table: u8, a: Operand, b: Operand) -> Lowered<Operand> {
        let d = self.temp_pred()?;
        self.plop3(d, table & lut::C, [a, b, Operand::pt()])?;
        Ok(d)
    }

    /// The value extended to 32 bits from its low `bits`.
    pub(super) fn extended(&mut self, value: Operand, bits: u32, signed: bool) -> Lowered<Operand> {
        if bits >= 32 || value.is_zero() {
            return Ok(value);
        }
        let shift = 32 - bits;
        if let OperandKind::Imm(raw, _) = value.kind() {
            let top = raw << shift;
            return Ok(Operand::imm(if signed { ((top as i32) >> shift) as u32 } else { top >> shift }));
        }
        let d = self.temp()?;
        self.extend_to(d, value, bits, signed)?;
        Ok(d)
    }

    /// `d` = the value extended to 32 bits from its low 8 or 16 bits.
    pub(super) fn extend_to(&mut self, d: Operand, value: Operand, bits: u32, signed: bool) -> Lowered {
        match (bits, signed) {
            (8, true) => self.prmt(d, value, 0x8880, Operand::rz()),
            (16, true) => self.prmt(d, value, 0x9910, Operand::rz()),
            (16, false) => self.prmt(d, value, 0x5410, Operand::rz()),
            _ => self.lop2(d, lut::AND, value, Operand::imm(u32::MAX >> (32 - bits))),
        }
    }
}

/// Whether a table of two operands treats them alike.
const fn symmetric(table: u8) -> bool {
    table == lut::AND || table == lut::OR || table == lut::XOR
}

/// Value of [`Field::Bop`] for the combination `.and`, `.or`, `.xor` of a comparison.
pub(super) fn bop_of(word: Option<oriole_ptx::ast::Word>) -> u8 {
    use oriole_ptx::ast::Word;
    match word {
        Some(Word::Or) => bop::OR,
        Some(Word::Xor) => bop::XOR,
        _ => bop::AND,
    }
}
