//! Integer arithmetic up to 64 bits.

use super::bits::has_odd_part;
use super::error::Error;
use super::legal::Vt;
use super::lower::Lower;
use super::word_table::{Part, Word, Words};
use crate::ir::{BinaryOp, CastOp, InstFlags, Op, TypeId, Value};
use crate::machine::{Operand, VReg};

impl Lower<'_> {
    /// A binary operation on integers or vectors of them.
    pub(super) fn integer_binary(
        &mut self,
        op: BinaryOp,
        flags: InstFlags,
        args: [Value; 2],
        ty: TypeId,
        words: &[Word],
    ) -> Result<(), Error> {
        let scalar = self.ir.types.scalar(ty);
        let bits = self.ir.types.int_bits(scalar).unwrap_or(64);
        if let [word] = words
            && word.vt.lanes() == 1
            && let Some(dst) = self.dst(*word)
            && self.fused(op, flags, args, bits, word.vt, dst)?
        {
            return Ok(());
        }
        let packed =
            words.iter().any(|word| word.vt.lanes() > 1) && !matches!(words, [w, ..] if self.is_from_lanes(*w));
        if packed {
            return self.packed_binary(op, args, words);
        }
        self.each_element(ty, words, &args, |this, args, result| match result {
            [word] => match this.dst(*word) {
                Some(dst) => this.scalar_binary(op, bits, args[0][0], args[1][0], dst),
                None => Ok(()),
            },
            _ => this.wide_binary(op, bits, &args[0], &args[1], result),
        })
    }

    pub(super) fn is_from_lanes(&self, word: Word) -> bool {
        matches!(word.part, Part::Reg(reg) if self.words.from_lanes[reg])
    }

    /// Bitwise operations, and sums of pairs, on packed words; the elements left over as scalars.
    fn packed_binary(&mut self, op: BinaryOp, args: [Value; 2], words: &[Word]) -> Result<(), Error> {
        let (a, b) = (self.words_of(args[0])?, self.words_of(args[1])?);
        for (at, word) in words.iter().enumerate() {
            let Some(dst) = self.dst(*word) else { continue };
            if word.vt.lanes() == 1 {
                self.scalar_binary(op, word.vt.bytes() * 8, a[at], b[at], dst)?;
                continue;
            }
            match op {
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                    let operands = [self.bits_src(a[at])?, self.bits_src(b[at])?];
                    self.op(format_args!("{}.b32", op.as_str()), dst, operands)?;
                }
                _ => {
                    let operands = [self.src(a[at])?, self.src(b[at])?];
                    self.op(format_args!("{}.{}", op.as_str(), word.vt.typed(false)), dst, operands)?;
                }
            }
        }
        Ok(())
    }

    /// One operation on scalars of `bits` bits.
    pub(super) fn scalar_binary(&mut self, op: BinaryOp, bits: u32, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
        use BinaryOp::*;
        let vt = a.vt;
        if vt == Vt::Pred {
            return self.predicate_binary(op, a, b, dst);
        }
        let (s, u) = (vt.typed(true), vt.typed(false));
        match op {
            Sub if matches!(a.part, Part::Bits(0)) => {
                let b = self.src(b)?;
                self.op(format_args!("neg.{s}"), dst, [b])
            }
            Add | Sub => {
                let operands = [self.src(a)?, self.src(b)?];
                self.op(format_args!("{}.{s}", op.as_str()), dst, operands)
            }
            Mul => {
                let operands = [self.src(a)?, self.src(b)?];
                self.op(format_args!("mul.lo.{s}"), dst, operands)
            }
            SDiv | SRem | UDiv | URem => {
                let signed = matches!(op, SDiv | SRem);
                let (a, b) = (self.extended(a, bits, signed)?, self.extended(b, bits, signed)?);
                let operands = [self.src(a)?, self.src(b)?];
                let name = if matches!(op, SDiv | UDiv) { "div" } else { "rem" };
                self.op(format_args!("{name}.{}", if signed { s } else { u }), dst, operands)
            }
            Shl | LShr | AShr => {
                let a = match op {
                    Shl => a,
                    _ => self.extended(a, bits, op == AShr)?,
                };
                let amount = self.shift_amount(b, bits)?;
                let operands = [self.src(a)?, amount];
                match op {
                    Shl => self.op(format_args!("shl.{}", vt.untyped()), dst, operands),
                    LShr => self.op(format_args!("shr.{u}"), dst, operands),
                    _ => self.op(format_args!("shr.{s}"), dst, operands),
                }
            }
            Xor if self.is_all_ones(b, bits) => {
                let a = self.src(a)?;
                self.op(format_args!("not.{}", vt.untyped()), dst, [a])
            }
            _ => {
                let operands = [self.src(a)?, self.src(b)?];
                self.op(format_args!("{}.{}", op.as_str(), vt.untyped()), dst, operands)
            }
        }
    }

    fn is_all_ones(&self, word: Word, bits: u32) -> bool {
        matches!(word.part, Part::Bits(value) if value == u64::MAX >> (64 - bits.clamp(1, 64)))
    }

    /// Arithmetic modulo 2 on predicates.
    fn predicate_binary(&mut self, op: BinaryOp, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
        use BinaryOp::*;
        match op {
            Xor | Add | Sub if matches!(b.part, Part::Bits(1)) => {
                let a = self.reg(a)?;
                self.op(format_args!("not.pred"), dst, [a.into()])
            }
            And | Mul | Or | Xor | Add | Sub => {
                let name = match op {
                    And | Mul => "and",
                    Or => "or",
                    _ => "xor",
                };
                let operands = [self.reg(a)?.into(), self.reg(b)?.into()];
                self.op(format_args!("{name}.pred"), dst, operands)
            }
            // A shift by anything but 0, and a division by anything but 1, has no meaning.
            Shl | LShr | AShr | UDiv | SDiv => self.assign(dst, a),
            _ => self.assign(dst, Word { vt: Vt::Pred, part: Part::Bits(0) }),
        }
    }

    /// A shift amount: PTX takes 32 bits whatever is shifted.
    pub(super) fn shift_amount(&mut self, word: Word, bits: u32) -> Result<Operand, Error> {
        match word.part {
            Part::Bits(amount) => Ok(Operand::Imm(amount.min(255) as i64)),
            _ if word.vt == Vt::I32 => {
                let word = self.extended(word, bits, false)?;
                self.src(word)
            }
            _ => {
                let word = self.extended(word, bits, false)?;
                let amount = self.src(word)?;
                Ok(self.value(format_args!("cvt.u32.{}", word.vt.typed(false)), Vt::I32, [amount])?.into())
            }
        }
    }

    /// The word with the bits above `bits` cleared, or filled with the sign.
    pub(super) fn extended(&mut self, word: Word, bits: u32, signed: bool) -> Result<Word, Error> {
        let width = word.vt.bits();
        if bits >= width {
            return Ok(word);
        }
        let part = match word.part {
            Part::Undef => Part::Bits(0),
            Part::Bits(value) if signed => {
                Part::Bits((((value << (64 - bits)) as i64) >> (64 - bits)) as u64 & (u64::MAX >> (64 - width)))
            }
            Part::Bits(value) => Part::Bits(value & (u64::MAX >> (64 - bits))),
            Part::Reg(reg) if !signed && self.upper_is_zero(reg, bits) => word.part,
            _ => {
                let src = self.src(word)?;
                let (t, vt) = (word.vt, word.vt);
                let reg = match (signed, bits, width) {
                    (true, 8 | 16 | 32, _) => self.value(format_args!("cvt.{}.s{bits}", t.typed(true)), vt, [src])?,
                    (true, ..) => {
                        let amount = Operand::Imm(i64::from(width - bits));
                        let high = self.value(format_args!("shl.{}", t.untyped()), vt, [src, amount.clone()])?;
                        self.value(format_args!("shr.{}", t.typed(true)), vt, [high.into(), amount])?
                    }
                    (false, ..) => {
                        let mask = self.constant(vt, u64::MAX >> (64 - bits));
                        self.value(format_args!("and.{}", t.untyped()), vt, [src, mask])?
                    }
                };
                Part::Reg(reg)
            }
        };
        Ok(Word { vt: word.vt, part })
    }

    /// True when the register's bits above `bits` are known to be 0.
    fn upper_is_zero(&self, reg: VReg, bits: u32) -> bool {
        if self.words.is_lane(reg) {
            // Bytes are taken out with zeros above; of what is narrower, a lane is as it was packed.
            return bits == 8;
        }
        let Some(inst) = self.words.definer(reg) else { return false };
        match &self.body[inst].op {
            Op::Load { .. } => {
                let ty = self.body[inst].ty;
                self.ir.types.int_bits(ty).is_some() || !has_odd_part(&self.ir.types, ty)
            }
            Op::Cast(CastOp::ZExt, _, value) => {
                let from = self.type_of(*value);
                self.ir.types.int_bits(from).is_some_and(|from| matches!(from, 1 | 8 | 16 | 32) || from <= bits)
            }
            Op::Binary(BinaryOp::And, _, [_, mask]) => {
                let mask = mask.constant().and_then(|id| self.ir.constants.as_int(id));
                mask.is_some_and(|mask| mask <= (u128::MAX >> (128 - bits)))
            }
            _ => false,
        }
    }

    /// Operations that take over their operands: `mad`, `mul.wide`, `bfe`. False when nothing fits.
    fn fused(
        &mut self,
        op: BinaryOp,
        flags: InstFlags,
        args: [Value; 2],
        bits: u32,
        vt: Vt,
        dst: VReg,
    ) -> Result<bool, Error> {
        if self.options.level == 0 || bits != vt.bits() {
            return Ok(false);
        }
        match op {
            BinaryOp::Mul | BinaryOp::Shl => {
                let Some((name, a, b)) = self.wide_product(op, args, vt)? else { return Ok(false) };
                self.op(format_args!("mul.wide.{name}"), dst, [a, b])?;
                Ok(true)
            }
            BinaryOp::Add | BinaryOp::Or if op == BinaryOp::Add || flags.contains(InstFlags::DISJOINT) => {
                self.fused_add(args, vt, dst)
            }
            BinaryOp::And => self.bit_field(args, vt, dst),
            _ => Ok(false),
        }
    }

    /// `a * b + c`, where the product has no other use.
    fn fused_add(&mut self, args: [Value; 2], vt: Vt, dst: VReg) -> Result<bool, Error> {
        for (product, other) in [(args[0], args[1]), (args[1], args[0])] {
            let Some((_, Op::Binary(op @ (BinaryOp::Mul | BinaryOp::Shl), _, factors))) = self.single_use(product)
            else {
                continue;
            };
            let (op, factors) = (*op, *factors);
            if let Some((name, a, b)) = self.wide_product(op, factors, vt)? {
                let c = self.arg(other)?;
                self.op(format_args!("mad.wide.{name}"), dst, [a, b, c])?;
                return Ok(true);
            }
            if op == BinaryOp::Mul && vt != Vt::Pred && vt != Vt::I8 {
                let operands = [self.arg(factors[0])?, self.arg(factors[1])?, self.arg(other)?];
                self.op(format_args!("mad.lo.{}", vt.typed(true)), dst, operands)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A product of two extended operands of half the width, or of one and a constant: the type of
    /// `mul.wide` and its operands.
    pub(super) fn wide_product(
        &mut self,
        op: BinaryOp,
        args: [Value; 2],
        vt: Vt,
    ) -> Result<Option<(&'static str, Operand, Operand)>, Error> {
        let (half, half_bits) = match vt {
            Vt::I64 => (Vt::I32, 32),
            Vt::I32 => (Vt::I16, 16),
            _ => return Ok(None),
        };
        // Only the first operand of a shift is a factor.
        let orders = [args, [args[1], args[0]]];
        for &[a, b] in &orders[..if op == BinaryOp::Shl { 1 } else { 2 }] {
            let Some((signed, value)) = self.extension_of(a, half_bits) else { continue };
            let constant = b.constant().and_then(|id| self.ir.constants.as_int(id));
            let name = half.typed(signed);
            let factor = match (op, constant) {
                (BinaryOp::Shl, Some(amount)) if amount < u128::from(half_bits) - 1 => Some(1i64 << amount),
                (BinaryOp::Mul, Some(value)) => factor_of(value, half_bits, signed),
                _ => None,
            };
            if let Some(factor) = factor {
                return Ok(Some((name, self.arg(value)?, Operand::Imm(factor))));
            }
            if op == BinaryOp::Mul
                && let Some((other_signed, other)) = self.extension_of(b, half_bits)
                && other_signed == signed
            {
                return Ok(Some((name, self.arg(value)?, self.arg(other)?)));
            }
        }
        Ok(None)
    }

    /// `sext` (true) or `zext` (false) from an integer of exactly `bits` bits. A `zext nneg` may be
    /// either; it counts as signed, which is what addresses mostly are.
    pub(super) fn extension_of(&self, value: Value, bits: u32) -> Option<(bool, Value)> {
        match self.body.def_op(value)? {
            Op::Cast(op @ (CastOp::SExt | CastOp::ZExt), flags, inner) => {
                let fits = self.ir.types.int_bits(self.type_of(*inner)) == Some(bits);
                fits.then_some((*op == CastOp::SExt || flags.contains(InstFlags::NNEG), *inner))
            }
            _ => None,
        }
    }

    /// `(x >> c) & mask` of a mask of low ones.
    fn bit_field(&mut self, args: [Value; 2], vt: Vt, dst: VReg) -> Result<bool, Error> {
        let mask = args[1].constant().and_then(|id| self.ir.constants.as_int(id));
        let Some(mask) = mask.filter(|mask| mask & (mask + 1) == 0 && *mask != 0) else { return Ok(false) };
        if !matches!(vt, Vt::I32 | Vt::I64) {
            return Ok(false);
        }
        let Some((_, Op::Binary(BinaryOp::LShr, _, [value, amount]))) = self.single_use(args[0]) else {
            return Ok(false);
        };
        let value = *value;
        let amount = amount.constant().and_then(|id| self.ir.constants.as_int(id));
        let Some(amount) = amount.filter(|amount| *amount < u128::from(vt.bits())) else { return Ok(false) };
        let length = mask.count_ones().min(vt.bits() - amount as u32);
        let operands = [self.arg(value)?, Operand::Imm(amount as i64), Operand::Imm(i64::from(length))];
        self.op(format_args!("bfe.{}", vt.typed(false)), dst, operands)?;
        Ok(true)
    }

    /// A word as another type of the same register class.
    pub(super) fn retyped(&self, word: Word, vt: Vt) -> Word {
        Word { vt, part: word.part }
    }

    /// The single word of each of two values.
    pub(super) fn pair_of_words(&mut self, args: [Value; 2]) -> Result<[Word; 2], Error> {
        Ok([self.word(args[0])?, self.word(args[1])?])
    }

    /// All words of two values.
    pub(super) fn both_words(&mut self, args: [Value; 2]) -> Result<[Words; 2], Error> {
        Ok([self.words_of(args[0])?, self.words_of(args[1])?])
    }
}

/// A 64-bit (32-bit) constant as the second factor of `mul.wide` of 32 (16) bits.
fn factor_of(value: u128, half_bits: u32, signed: bool) -> Option<i64> {
    let whole = half_bits * 2;
    let value = ((value << (128 - whole)) as i128) >> (128 - whole);
    let limit = 1i128 << half_bits;
    let fits = if signed { (-limit / 2..limit / 2).contains(&value) } else { (0..limit).contains(&value) };
    fits.then_some(value as i64)
}
