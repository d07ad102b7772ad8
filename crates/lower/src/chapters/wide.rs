//! 64-bit integers by halves.

use super::alu::{IntCmp, flag, inverted, lut, negated};
use crate::error::Lowered;
use crate::function::{FnLower, Wide};
use oriole_isa::{Field, Opcode, Role, bop, cmp, shift_dir, shift_type};
use oriole_ori::{Operand, RegType, VReg};

/// The halves of a destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Halves {
    /// Lower 32 bits.
    pub(super) lo: Operand,
    /// Upper 32 bits.
    pub(super) hi: Operand,
}

impl Halves {
    /// The halves of a pair.
    pub(super) fn of(pair: VReg) -> Halves {
        Halves { lo: Operand::lo(pair), hi: Operand::hi(pair) }
    }
}

/// Carries of a chain of additions: predicates, or absent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carry {
    /// Added to the lowest word.
    pub(super) input: Option<Operand>,
    /// Takes the carry of the highest word.
    pub(super) output: Option<Operand>,
}

impl FnLower<'_, '_> {
    /// A fresh pair and its halves.
    pub(super) fn temp_wide(&mut self) -> Lowered<(Wide, Halves)> {
        let pair = self.temp_of(RegType::Pair)?;
        Ok((Wide::of_pair(pair), Halves::of(pair)))
    }

    /// `d = a + b` with carries in and out, 32 bits.
    pub(super) fn add_carry(&mut self, d: Operand, a: Operand, b: Operand, carry: Carry) -> Lowered {
        let mut operands = vec![(Role::D, d), (Role::A, a), (Role::B, b)];
        operands.extend(carry.output.map(|p| (Role::PD, p)));
        operands.extend(carry.input.map(|p| (Role::PA, p)));
        self.emit(Opcode::IADD3, &[flag(Field::X, carry.input.is_some())], &operands)?;
        Ok(())
    }

    /// `d = a - b` with "no borrow" predicates in and out, 32 bits.
    pub(super) fn sub_carry(&mut self, d: Operand, a: Operand, b: Operand, carry: Carry) -> Lowered {
        match (carry.input, carry.output) {
            (Some(_), _) => self.add_carry(d, a, inverted(b), carry),
            (None, None) => self.add(d, a, negated(b)),
            // The carry of a + ~b + 1 is "no borrow" for every b, but not that of a + (-b) for a constant.
            (None, Some(_)) => {
                let b = self.in_reg(b)?;
                match b.is_zero() {
                    true => self.add_carry(d, a, inverted(b), Carry { input: Some(Operand::pt()), ..carry }),
                    false => self.add_carry(d, a, b.neg(), carry),
                }
            }
        }
    }

    /// `d = a + b`, 64 bits.
    pub(super) fn wide_add(&mut self, d: Halves, a: Wide, b: Wide, carry: Carry) -> Lowered {
        let middle = self.temp_pred()?;
        self.add_carry(d.lo, a.lo, b.lo, Carry { input: carry.input, output: Some(middle) })?;
        self.add_carry(d.hi, a.hi, b.hi, Carry { input: Some(middle), output: carry.output })
    }

    /// `d = a - b`, 64 bits.
    pub(super) fn wide_sub(&mut self, d: Halves, a: Wide, b: Wide, carry: Carry) -> Lowered {
        if let (Some(bits), None, None) = (b.bits(), carry.input, carry.output) {
            return self.wide_add(d, a, Wide::of_bits(bits.wrapping_neg()), carry);
        }
        let middle = self.temp_pred()?;
        self.sub_carry(d.lo, a.lo, b.lo, Carry { input: carry.input, output: Some(middle) })?;
        self.sub_carry(d.hi, a.hi, b.hi, Carry { input: Some(middle), output: carry.output })
    }

    /// `d = -a`, 64 bits.
    pub(super) fn wide_neg(&mut self, d: Halves, a: Wide) -> Lowered {
        self.wide_sub(d, Wide::of_bits(0), a, Carry::default())
    }

    /// `d = p ? a : b`, 64 bits.
    pub(super) fn wide_select(&mut self, d: Halves, a: Wide, b: Wide, p: Operand) -> Lowered {
        self.select(d.lo, a.lo, b.lo, p)?;
        self.select(d.hi, a.hi, b.hi, p)
    }

    /// `d = table(a, b)`, 64 bits.
    pub(super) fn wide_logic(&mut self, d: Halves, table: u8, a: Wide, b: Wide) -> Lowered {
        self.lop2(d.lo, table, a.lo, b.lo)?;
        self.lop2(d.hi, table, a.hi, b.hi)
    }

    /// `pd = a cmp b`, 64 bits.
    pub(super) fn wide_test(&mut self, compare: IntCmp, a: Wide, b: Wide) -> Lowered<Operand> {
        let p = self.temp_pred()?;
        self.wide_setp(compare, [p, Operand::pt()], a, b, (bop::AND, Operand::pt()))?;
        Ok(p)
    }

    /// `pd[0] = (a cmp b) bop c`, `pd[1] = !(a cmp b) bop c`, 64 bits.
    pub(super) fn wide_setp(
        &mut self,
        compare: IntCmp,
        [pd, pd2]: [Operand; 2],
        a: Wide,
        b: Wide,
        (bop, c): (u8, Operand),
    ) -> Lowered {
        let low = self.test(IntCmp::unsigned(compare.cmp), a.lo, b.lo)?;
        let [cmp, sign] = compare.fields();
        self.emit(
            Opcode::ISETP,
            &[cmp, sign, (Field::Bop, bop), flag(Field::Ex, true)],
            &[(Role::PD, pd), (Role::PD2, pd2), (Role::A, a.hi), (Role::B, b.hi), (Role::PA, c), (Role::PB, low)],
        )?;
        Ok(())
    }

    /// `d = least ? min(a, b) : max(a, b)`, 64 bits.
    pub(super) fn wide_minmax(&mut self, signed: bool, least: bool, d: Halves, a: Wide, b: Wide) -> Lowered {
        let which = if least { cmp::LT } else { cmp::GT };
        let p = self.wide_test(IntCmp { cmp: which, signed }, a, b)?;
        self.wide_select(d, a, b, p)
    }

    /// `d = value << count`; counts above 63 give zero. `d` may not be the pair of `value`.
    pub(super) fn wide_shl(&mut self, d: Halves, value: Wide, count: Operand) -> Lowered {
        self.funnel(d.hi, [value.lo, count, value.hi], shift_dir::L, shift_type::U64, true)?;
        self.shift_left(d.lo, value.lo, count)
    }

    /// `d = value >> count`; counts above 63 give zero, or the sign. `d` may not be the pair of `value`.
    pub(super) fn wide_shr(&mut self, signed: bool, d: Halves, value: Wide, count: Operand) -> Lowered {
        let kind = if signed { shift_type::S64 } else { shift_type::U64 };
        self.funnel(d.lo, [value.lo, count, value.hi], shift_dir::R, kind, false)?;
        self.shift_right(signed, d.hi, value.hi, count)
    }

    /// `d = low 64 bits of (a * b + c)`.
    pub(super) fn wide_mad_lo(&mut self, d: Halves, a: Wide, b: Wide, c: Option<Wide>) -> Lowered {
        let c = match c {
            Some(c) => self.in_pair(c)?,
            None => Operand::rz(),
        };
        let product = self.temp_of(RegType::Pair)?;
        let cross = self.temp()?;
        self.imad_wide(false, Operand::reg(product), a.lo, b.lo, c)?;
        self.imad(cross, a.hi, b.lo, Operand::hi(product))?;
        self.imad(d.hi, a.lo, b.hi, cross)?;
        self.mov(d.lo, Operand::lo(product))
    }

    /// `d = high 64 bits of the 128-bit product a * b`.
    pub(super) fn wide_mul_hi(&mut self, signed: bool, d: Halves, a: Wide, b: Wide) -> Lowered {
        if !signed {
            return self.wide_mul_hi_unsigned(d, a, b);
        }
        // The signed product is the unsigned one less b where a is negative and a where b is.
        let (plain, plain_d) = self.temp_wide()?;
        self.wide_mul_hi_unsigned(plain_d, a, b)?;
        let (b_part, b_part_d) = self.temp_wide()?;
        self.where_negative(b_part_d, b, a.hi)?;
        let (a_part, a_part_d) = self.temp_wide()?;
        self.where_negative(a_part_d, a, b.hi)?;
        let (partial, partial_d) = self.temp_wide()?;
        self.wide_sub(partial_d, plain, b_part, Carry::default())?;
        self.wide_sub(d, partial, a_part, Carry::default())
    }

    /// `d = value` where `sign` is negative, else 0.
    fn where_negative(&mut self, d: Halves, value: Wide, sign: Operand) -> Lowered {
        let mask = self.temp()?;
        self.shift_right(true, mask, sign, Operand::imm(31))?;
        self.lop2(d.lo, lut::AND, mask, value.lo)?;
        self.lop2(d.hi, lut::AND, mask, value.hi)
    }

    /// Schoolbook multiplication: no partial sum exceeds 64 bits.
    fn wide_mul_hi_unsigned(&mut self, d: Halves, a: Wide, b: Wide) -> Lowered {
        let low = self.temp_of(RegType::Pair)?;
        self.imad_wide(false, Operand::reg(low), a.lo, b.lo, Operand::rz())?;
        let carried = self.zero_extended(Operand::hi(low))?;
        let first = self.temp_of(RegType::Pair)?;
        self.imad_wide(false, Operand::reg(first), a.lo, b.hi, carried)?;
        let carried = self.zero_extended(Operand::lo(first))?;
        let second = self.temp_of(RegType::Pair)?;
        self.imad_wide(false, Operand::reg(second), a.hi, b.lo, carried)?;
        let carried = self.zero_extended(Operand::hi(first))?;
        let top = self.temp_of(RegType::Pair)?;
        self.imad_wide(false, Operand::reg(top), a.hi, b.hi, carried)?;
        let rest = Wide::of_halves(Operand::hi(second), Operand::rz());
        self.wide_add(d, Wide::of_pair(top), rest, Carry::default())
    }

    /// A pair with the given low word and a zero high word.
    pub(super) fn zero_extended(&mut self, low: Operand) -> Lowered<Operand> {
        let pair = self.temp_of(RegType::Pair)?;
        self.mov(Operand::lo(pair), low)?;
        self.mov(Operand::hi(pair), Operand::rz())?;
        Ok(Operand::reg(pair))
    }
}
