//! Short forms of the instructions that many chapters need.

use crate::error::Lowered;
use crate::function::FnLower;
use crate::function::operands::Wide;
use oriole_isa::Role::{A, B, Bank, C, D, Lut, PA, PB, PC, PD, PD2};

use oriole_isa::{Field, Opcode, bop, cmp, mem_size, shift_dir, shift_type};
use oriole_ori::{Operand, OperandKind, VReg};

/// `LOP3` tables of three operands, from the patterns of the operands themselves.
pub(crate) mod lut {
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

impl FnLower<'_, '_> {
    /// `to = from`, for 32-bit values.
    pub(crate) fn mov(&mut self, to: Operand, from: Operand) -> Lowered {
        if matches!(from.kind(), OperandKind::Const { .. }) && !self.reads_constants() {
            return self.load_constant(to, from);
        }
        self.emit(Opcode::MOV, &[], &[(D, to), (B, from)])?;
        Ok(())
    }

    /// `to = from`, for pairs.
    pub(crate) fn mov64(&mut self, to: VReg, from: Wide) -> Lowered {
        self.mov(Operand::lo(to), from.lo)?;
        self.mov(Operand::hi(to), from.hi)
    }

    /// `to = from`, for predicates.
    pub(crate) fn mov_pred(&mut self, to: Operand, from: Operand) -> Lowered {
        self.logic_pred(to, from, Operand::pt(), lut::AND)
    }

    /// `to = table(a, b)`, for predicates; `table` as for LOP3.
    pub(crate) fn logic_pred(&mut self, to: Operand, a: Operand, b: Operand, table: u8) -> Lowered {
        let operands = [(PD, to), (PA, a), (PB, b), (PC, Operand::pt()), (Lut, Operand::imm(u32::from(table)))];
        self.emit(Opcode::PLOP3, &[], &operands)?;
        Ok(())
    }

    /// `to = a + b`, for 32-bit integers.
    pub(crate) fn add(&mut self, to: Operand, a: Operand, b: Operand) -> Lowered {
        self.emit(Opcode::IADD3, &[], &[(D, to), (A, a), (B, b)])?;
        Ok(())
    }

    /// `to = a + b`, for 64-bit integers.
    pub(crate) fn add64(&mut self, to: VReg, a: Wide, b: Wide) -> Lowered {
        let carry = self.temp_pred()?;
        self.emit(Opcode::IADD3, &[], &[(D, Operand::lo(to)), (PD, carry), (A, a.lo), (B, b.lo)])?;
        self.emit(Opcode::IADD3, &[(Field::X, 1)], &[(D, Operand::hi(to)), (A, a.hi), (B, b.hi), (PA, carry)])?;
        Ok(())
    }

    /// `to = a * b + c`, the lower 32 bits.
    pub(crate) fn multiply_add(&mut self, to: Operand, a: Operand, b: Operand, c: Operand) -> Lowered {
        self.emit(Opcode::IMAD, &[], &[(D, to), (A, a), (B, b), (C, c)])?;
        Ok(())
    }

    /// `to = a - b`, for 64-bit integers.
    pub(crate) fn sub64(&mut self, to: VReg, a: Wide, b: Wide) -> Lowered {
        let carry = self.temp_pred()?;
        let (low, high) = (self.in_reg(b.lo)?, self.in_reg(b.hi)?);
        self.emit(Opcode::IADD3, &[], &[(D, Operand::lo(to)), (PD, carry), (A, a.lo), (B, low.neg())])?;
        self.emit(Opcode::IADD3, &[(Field::X, 1)], &[(D, Operand::hi(to)), (A, a.hi), (B, high.not()), (PA, carry)])?;
        Ok(())
    }

    /// `to = table(a, b, c)` bit by bit; `table` as [`lut`] has it.
    pub(crate) fn lop3(&mut self, to: Operand, a: Operand, b: Operand, c: Operand, table: u8) -> Lowered {
        self.emit(Opcode::LOP3, &[], &[(D, to), (A, a), (B, b), (C, c), (Lut, Operand::imm(u32::from(table)))])?;
        Ok(())
    }

    /// `to = pred ? a : b`
    pub(crate) fn sel(&mut self, to: Operand, pred: Operand, a: Operand, b: Operand) -> Lowered {
        self.emit(Opcode::SEL, &[], &[(D, to), (A, a), (B, b), (PA, pred)])?;
        Ok(())
    }

    /// `to` = four bytes of `b:a` (`a` has numbers 0–3), chosen by the nibbles of `selector`.
    pub(crate) fn prmt(&mut self, to: Operand, a: Operand, selector: u32, b: Operand) -> Lowered {
        self.emit(Opcode::PRMT, &[], &[(D, to), (A, a), (B, Operand::imm(selector)), (C, b)])?;
        Ok(())
    }

    /// `to = a cmp b`, for 32-bit integers; `comparison` from [`cmp`].
    pub(crate) fn isetp(&mut self, to: Operand, comparison: u8, signed: bool, a: Operand, b: Operand) -> Lowered {
        let mods = [(Field::Cmp, comparison), (Field::Sign, u8::from(signed)), (Field::Bop, bop::AND)];
        self.emit(Opcode::ISETP, &mods, &[(PD, to), (PD2, Operand::pt()), (A, a), (B, b)])?;
        Ok(())
    }

    /// `to = a cmp b`, for 64-bit integers.
    pub(crate) fn isetp64(&mut self, to: Operand, comparison: u8, signed: bool, a: Wide, b: Wide) -> Lowered {
        let low = self.temp_pred()?;
        self.isetp(low, comparison, false, a.lo, b.lo)?;
        let mods = [(Field::Cmp, comparison), (Field::Sign, u8::from(signed)), (Field::Bop, bop::AND), (Field::Ex, 1)];
        self.emit(Opcode::ISETP, &mods, &[(PD, to), (PD2, Operand::pt()), (A, a.hi), (B, b.hi), (PB, low)])?;
        Ok(())
    }

    /// `to = a != 0`
    pub(crate) fn is_nonzero(&mut self, to: Operand, a: Operand) -> Lowered {
        self.isetp(to, cmp::NE, false, a, Operand::rz())
    }

    /// Fills the upper half of a pair with the sign of its lower half.
    pub(crate) fn extend_sign(&mut self, pair: VReg) -> Lowered {
        let mods = [(Field::ShiftDir, shift_dir::R), (Field::ShiftType, shift_type::S32), (Field::Hi, 1)];
        let operands = [(D, Operand::hi(pair)), (A, Operand::rz()), (B, Operand::imm(31)), (C, Operand::lo(pair))];
        self.emit(Opcode::SHF, &mods, &operands)?;
        Ok(())
    }

    // ---- constants ----

    /// `to` = the 32 bits at `c[bank][offset]`.
    pub(crate) fn read_constant(&mut self, to: Operand, bank: u8, offset: u32) -> Lowered {
        self.mov(to, Operand::cbank(bank, offset))
    }

    /// `to` = the 64 bits at `c[bank][offset]`.
    pub(crate) fn read_constant64(&mut self, to: VReg, bank: u8, offset: u32) -> Lowered {
        if !self.reads_constants() && offset.is_multiple_of(8) {
            let mods = [(Field::MemSize, mem_size::B64)];
            self.emit(Opcode::LDC, &mods, &[(D, Operand::reg(to)), (Bank, Operand::cbank(bank, offset))])?;
            return Ok(());
        }
        self.read_constant(Operand::lo(to), bank, offset)?;
        self.read_constant(Operand::hi(to), bank, offset + 4)
    }

    /// `to` = the 32 bits at a constant-bank operand, where arithmetic cannot read it.
    pub(crate) fn load_constant(&mut self, to: Operand, from: Operand) -> Lowered {
        self.emit(Opcode::LDC, &[], &[(D, to), (Bank, from)])?;
        Ok(())
    }
}
