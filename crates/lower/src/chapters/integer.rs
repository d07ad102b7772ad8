//! Integer arithmetic: sums, products, quotients, minima, absolute values.

use super::alu::{IntCmp, flag, lut, negated, sign_of};
use super::wide::{Carry, Halves};
use crate::error::{Lowered, invalid, unsupported};
use crate::function::{FnLower, Wide, WideDst};
use oriole_isa::{Field, Opcode, Role, vadd_type, vtype};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, ScalarType, Word};

impl From<WideDst> for Halves {
    fn from(d: WideDst) -> Halves {
        Halves { lo: d.lo, hi: d.hi }
    }
}

/// The width and signedness that an integer instruction works in.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntType {
    /// 16, 32 or 64.
    pub(super) bits: u32,
    /// `.sN`
    pub(super) signed: bool,
    /// Two 16-bit elements.
    pub(super) packed: bool,
}

/// The integer type of an instruction.
pub(super) fn int_type(inst: &Instruction) -> Lowered<IntType> {
    let ty = inst.last_type().ok_or_else(|| invalid(inst.span, "the instruction has no type"))?;
    let packed = matches!(ty, ScalarType::U16x2 | ScalarType::S16x2);
    match ty.bits() {
        16 | 32 | 64 if !ty.is_float() => Ok(IntType { bits: ty.bits(), signed: ty.is_signed(), packed }),
        _ => Err(invalid(inst.span, format!("the instruction has no form for type .{ty}"))),
    }
}

impl FnLower<'_, '_> {
    /// A 16- or 32-bit integer source extended to 32 bits.
    pub(super) fn int_src(&mut self, operand: &ast::Operand, ty: IntType) -> Lowered<Operand> {
        let value = self.src(operand)?;
        self.extended(value, ty.bits, ty.signed)
    }

    /// `add`, `sub`
    pub(super) fn int_add_sub(&mut self, inst: &Instruction, subtract: bool) -> Lowered {
        let ty = int_type(inst)?;
        let [d, a, b] = operands(inst)?;
        if ty.packed {
            return self.int_add_packed(inst, subtract);
        }
        if ty.bits == 64 {
            let (a, b) = (self.src64(a)?, self.src64(b)?);
            let d = self.dst64_direct(d)?.into();
            return if subtract {
                self.wide_sub(d, a, b, Carry::default())
            } else {
                self.wide_add(d, a, b, Carry::default())
            };
        }
        let (a, b) = (self.src(a)?, self.src(b)?);
        let d = self.dst(d)?;
        match (inst.has(Word::Sat), subtract) {
            (true, false) => self.add_saturated(d, a, b),
            (true, true) => self.sub_saturated(d, a, b),
            (false, false) => self.add(d, a, b),
            (false, true) => self.add(d, a, negated(b)),
        }
    }

    fn int_add_packed(&mut self, inst: &Instruction, subtract: bool) -> Lowered {
        if !self.has(Opcode::VIADD) || subtract {
            return Err(unsupported(inst.span, "packed 16-bit addition on this target"));
        }
        let [d, a, b] = operands(inst)?;
        let (a, b) = (self.src(a)?, self.src(b)?);
        let d = self.dst(d)?;
        self.op2(Opcode::VIADD, &[(Field::VaddType, vadd_type::X16X2)], d, a, b)
    }

    /// `d = a + b`, clamped to the signed range. The sum overflows where its sign differs from that of both operands.
    fn add_saturated(&mut self, d: Operand, a: Operand, b: Operand) -> Lowered {
        let sum = self.sum(a, b)?;
        self.clamp_overflow(d, (lut::A ^ lut::C) & (lut::B ^ lut::C), [a, b, sum])
    }

    /// `d = a - b`, clamped. The difference overflows where the operands' signs differ and its sign is not that of `a`.
    fn sub_saturated(&mut self, d: Operand, a: Operand, b: Operand) -> Lowered {
        let difference = self.sum(a, negated(b))?;
        self.clamp_overflow(d, (lut::A ^ lut::B) & (lut::A ^ lut::C), [a, b, difference])
    }

    /// `d = c`, or the far end of the range where the sign bit of `table(a, b, c)` tells of an overflow.
    fn clamp_overflow(&mut self, d: Operand, table: u8, [a, b, c]: [Operand; 3]) -> Lowered {
        let signs = self.temp()?;
        self.lop3(signs, a, b, c, table)?;
        let overflow = self.test(IntCmp::LT_S, signs, Operand::rz())?;
        let limit = self.temp()?;
        self.shift_right(true, limit, c, Operand::imm(31))?;
        let limit = self.logic(lut::XOR, limit, Operand::imm(0x8000_0000))?;
        self.select(d, limit, c, overflow)
    }

    /// `mul`
    pub(super) fn int_mul(&mut self, inst: &Instruction) -> Lowered {
        let ty = int_type(inst)?;
        let [d, a, b] = operands(inst)?;
        self.multiply(inst, ty, d, [a, b], None)
    }

    /// `mad`
    pub(super) fn int_mad(&mut self, inst: &Instruction) -> Lowered {
        let ty = int_type(inst)?;
        let [d, a, b, c] = operands(inst)?;
        self.multiply(inst, ty, d, [a, b], Some(c))
    }

    fn multiply(
        &mut self,
        inst: &Instruction,
        ty: IntType,
        d: &ast::Operand,
        factors: [&ast::Operand; 2],
        addend: Option<&ast::Operand>,
    ) -> Lowered {
        let (wide, hi) = (inst.has(Word::Wide), inst.has(Word::Hi));
        match ty.bits {
            64 => self.multiply64(ty, hi, d, factors, addend),
            32 if wide => self.multiply_wide(ty, d, factors, addend),
            32 if hi => self.multiply_hi(inst, ty, d, factors, addend),
            _ => self.multiply_lo(ty, hi, wide, d, factors, addend),
        }
    }

    /// 32 bits of a product that fits: low words, and everything of 16 bits.
    fn multiply_lo(
        &mut self,
        ty: IntType,
        hi: bool,
        wide: bool,
        d: &ast::Operand,
        [a, b]: [&ast::Operand; 2],
        addend: Option<&ast::Operand>,
    ) -> Lowered {
        let whole = wide || hi;
        let factor = |f: &mut Self, x| if whole { f.int_src(x, ty) } else { f.src(x) };
        let (a, b) = (factor(self, a)?, factor(self, b)?);
        let c = addend.map(|c| self.src(c)).transpose()?.unwrap_or(Operand::rz());
        let d = self.dst(d)?;
        if !hi {
            return self.imad(d, a, b, c);
        }
        let product = self.temp()?;
        self.imad(product, a, b, Operand::rz())?;
        let top = if c.is_zero() { d } else { self.temp()? };
        self.shift_right(ty.signed, top, product, Operand::imm(16))?;
        if c.is_zero() { Ok(()) } else { self.add(d, top, c) }
    }

    fn multiply_wide(
        &mut self,
        ty: IntType,
        d: &ast::Operand,
        [a, b]: [&ast::Operand; 2],
        addend: Option<&ast::Operand>,
    ) -> Lowered {
        let (a, b) = (self.src(a)?, self.src(b)?);
        let c = match addend {
            Some(c) => {
                let c = self.src64(c)?;
                self.in_pair(c)?
            }
            None => Operand::rz(),
        };
        let d = self.dst64_direct(d)?;
        self.imad_wide(ty.signed, d.whole(), a, b, c)
    }

    fn multiply_hi(
        &mut self,
        inst: &Instruction,
        ty: IntType,
        d: &ast::Operand,
        [a, b]: [&ast::Operand; 2],
        addend: Option<&ast::Operand>,
    ) -> Lowered {
        let (a, b) = (self.src(a)?, self.src(b)?);
        let c = addend.map(|c| self.src(c)).transpose()?;
        let d = self.dst(d)?;
        let Some(c) = c else {
            return self.imad_hi(ty.signed, d, a, b, Operand::rz());
        };
        let top = self.temp()?;
        self.imad_hi(ty.signed, top, a, b, Operand::rz())?;
        if inst.has(Word::Sat) { self.add_saturated(d, top, c) } else { self.add(d, top, c) }
    }

    fn multiply64(
        &mut self,
        ty: IntType,
        hi: bool,
        d: &ast::Operand,
        [a, b]: [&ast::Operand; 2],
        addend: Option<&ast::Operand>,
    ) -> Lowered {
        let (a, b) = (self.src64(a)?, self.src64(b)?);
        let c = addend.map(|c| self.src64(c)).transpose()?;
        if !hi {
            let d = self.dst64(d, &[a, b])?.into();
            return self.wide_mad_lo(d, a, b, c);
        }
        let Some(c) = c else {
            let d = self.dst64(d, &[a, b])?.into();
            return self.wide_mul_hi(ty.signed, d, a, b);
        };
        let (top, top_d) = self.temp_wide()?;
        self.wide_mul_hi(ty.signed, top_d, a, b)?;
        let d = self.dst64_direct(d)?.into();
        self.wide_add(d, top, c, Carry::default())
    }

    /// `mul24`, `mad24`
    pub(super) fn int_mul24(&mut self, inst: &Instruction) -> Lowered {
        let ty = int_type(inst)?;
        let [d, a, b] = operands(inst)?;
        let mut factors = [Operand::rz(); 2];
        for (factor, source) in factors.iter_mut().zip([a, b]) {
            let value = self.src(source)?;
            *factor = self.temp()?;
            self.op2(Opcode::SGXT, &[(Field::Sign, sign_of(ty.signed))], *factor, value, Operand::imm(24))?;
        }
        let [a, b] = factors;
        let c = inst.operands.get(3).map(|c| self.src(c)).transpose()?.unwrap_or(Operand::rz());
        let d = self.dst(d)?;
        if !inst.has(Word::Hi) {
            return self.imad(d, a, b, c);
        }
        let (product, _) = self.temp_wide()?;
        let whole = self.in_pair(product)?;
        self.imad_wide(ty.signed, whole, a, b, Operand::rz())?;
        let top = self.temp()?;
        let words = [product.lo, Operand::imm(16), product.hi];
        self.funnel(top, words, oriole_isa::shift_dir::R, oriole_isa::shift_type::U64, false)?;
        if inst.has(Word::Sat) { self.add_saturated(d, top, c) } else { self.add(d, top, c) }
    }

    /// `min`, `max`
    pub(super) fn int_minmax(&mut self, inst: &Instruction, least: bool) -> Lowered {
        let ty = int_type(inst)?;
        let [d, a, b] = operands(inst)?;
        if ty.packed || inst.has(Word::Relu) {
            return self.int_minmax_vector(inst, ty, least);
        }
        if ty.bits == 64 {
            let (a, b) = (self.src64(a)?, self.src64(b)?);
            let d = self.dst64_direct(d)?.into();
            return self.wide_minmax(ty.signed, least, d, a, b);
        }
        let (mut a, mut b) = (self.int_src(a, ty)?, self.int_src(b, ty)?);
        if let Some(c) = inst.operands.get(3) {
            let both = self.temp()?;
            self.imnmx(ty.signed, least, both, a, b)?;
            (a, b) = (both, self.int_src(c, ty)?);
        }
        let d = self.dst(d)?;
        self.imnmx(ty.signed, least, d, a, b)
    }

    /// The forms with packed elements or `.relu`, which sm_90 brought.
    fn int_minmax_vector(&mut self, inst: &Instruction, ty: IntType, least: bool) -> Lowered {
        if !self.has(Opcode::VIMNMX) {
            return Err(unsupported(inst.span, "packed or .relu integer min and max on this target"));
        }
        let [d, a, b] = operands(inst)?;
        let (a, b) = (self.src(a)?, self.src(b)?);
        let kind = match (ty.packed, ty.signed) {
            (true, true) => vtype::S16X2,
            (true, false) => vtype::U16X2,
            (false, true) => vtype::S32,
            (false, false) => vtype::U32,
        };
        let fields = [(Field::Vtype, kind), flag(Field::Relu, inst.has(Word::Relu))];
        let which = Operand::pt().with_not(!least);
        let d = self.dst(d)?;
        self.emit(Opcode::VIMNMX, &fields, &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::PA, which)])?;
        Ok(())
    }

    /// `neg`
    pub(super) fn int_neg(&mut self, inst: &Instruction) -> Lowered {
        let [d, a] = operands(inst)?;
        if int_type(inst)?.bits == 64 {
            let a = self.src64(a)?;
            let d = self.dst64_direct(d)?.into();
            return self.wide_neg(d, a);
        }
        let a = self.src(a)?;
        let d = self.dst(d)?;
        self.add(d, Operand::rz(), negated(a))
    }

    /// `abs`
    pub(super) fn int_abs(&mut self, inst: &Instruction) -> Lowered {
        let ty = int_type(inst)?;
        let [d, a] = operands(inst)?;
        if ty.bits == 64 {
            let a = self.src64(a)?;
            let d = self.dst64_direct(d)?.into();
            let negative = self.test(IntCmp::LT_S, a.hi, Operand::rz())?;
            let (opposite, opposite_d) = self.temp_wide()?;
            self.wide_neg(opposite_d, a)?;
            return self.wide_select(d, opposite, a, negative);
        }
        let a = self.int_src(a, ty)?;
        let d = self.dst(d)?;
        self.op1(Opcode::IABS, &[], d, a)
    }

    /// `|a|`, and whether `a` is negative.
    pub(super) fn wide_abs(&mut self, a: Wide) -> Lowered<(Wide, Operand)> {
        let negative = self.test(IntCmp::LT_S, a.hi, Operand::rz())?;
        let (opposite, opposite_d) = self.temp_wide()?;
        self.wide_neg(opposite_d, a)?;
        let (magnitude, magnitude_d) = self.temp_wide()?;
        self.wide_select(magnitude_d, opposite, a, negative)?;
        Ok((magnitude, negative))
    }

    /// `sad`: `|a - b| + c`
    pub(super) fn int_sad(&mut self, inst: &Instruction) -> Lowered {
        let ty = int_type(inst)?;
        let [d, a, b, c] = operands(inst)?;
        if ty.bits == 64 {
            let (a, b, c) = (self.src64(a)?, self.src64(b)?, self.src64(c)?);
            let p = self.wide_test(IntCmp { cmp: oriole_isa::cmp::GE, signed: ty.signed }, a, b)?;
            let (forward, forward_d) = self.temp_wide()?;
            self.wide_sub(forward_d, a, b, Carry::default())?;
            let (back, back_d) = self.temp_wide()?;
            self.wide_sub(back_d, b, a, Carry::default())?;
            let (distance, distance_d) = self.temp_wide()?;
            self.wide_select(distance_d, forward, back, p)?;
            let d = self.dst64_direct(d)?.into();
            return self.wide_add(d, distance, c, Carry::default());
        }
        let (a, b, c) = (self.int_src(a, ty)?, self.int_src(b, ty)?, self.src(c)?);
        if !self.has(Opcode::VABSDIFF) {
            let (least, most) = (self.temp()?, self.temp()?);
            self.imnmx(ty.signed, true, least, a, b)?;
            self.imnmx(ty.signed, false, most, a, b)?;
            let d = self.dst(d)?;
            return self.op3(Opcode::IADD3, &[], d, [most, least.neg(), c]);
        }
        let d = self.dst(d)?;
        self.op3(Opcode::VABSDIFF, &[(Field::Sign, sign_of(ty.signed))], d, [a, b, c])
    }
}

/// The operands of an instruction, which needs exactly so many (or more).
pub(super) fn operands<const N: usize>(inst: &Instruction) -> Lowered<[&ast::Operand; N]> {
    let found = inst.operands.get(..N).and_then(|list| <&[ast::Operand; N]>::try_from(list).ok());
    found.map(|list| list.each_ref()).ok_or_else(|| invalid(inst.span, format!("the instruction needs {N} operands")))
}
