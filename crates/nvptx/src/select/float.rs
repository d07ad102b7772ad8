//! Floating-point arithmetic.

use super::error::Error;
use super::legal::Vt;
use super::lower::Lower;
use super::options::FpContract;
use super::word_table::{Part, Word};
use crate::ir::{BinaryOp, InstFlags, InstId, Op, Value};
use crate::machine::{Operand, VReg};

/// The bits of 1.0 of a type.
pub(super) const fn one(vt: Vt) -> u64 {
    match vt {
        Vt::F16 => 0x3C00,
        Vt::Bf16 => 0x3F80,
        Vt::F16x2 => 0x3C00_3C00,
        Vt::Bf16x2 => 0x3F80_3F80,
        Vt::F32 => 0x3F80_0000,
        _ => 0x3FF0_0000_0000_0000,
    }
}

/// The bits of -0.0 of a type.
const fn minus_zero(vt: Vt) -> u64 {
    match vt {
        Vt::F16 | Vt::Bf16 => 0x8000,
        Vt::F16x2 | Vt::Bf16x2 => 0x8000_8000,
        Vt::F32 => 0x8000_0000,
        _ => 1 << 63,
    }
}

/// The bits of -1.0 of a `bfloat` or a pair of them.
const fn minus_one(vt: Vt) -> u64 {
    one(vt) | minus_zero(vt)
}

impl Lower<'_> {
    /// `.ftz` where subnormals of `float` are flushed.
    pub(super) fn ftz(&self, vt: Vt) -> &'static str {
        if vt == Vt::F32 && self.flushes { ".ftz" } else { "" }
    }

    /// `.rn` where a product or sum must not be fused with its neighbour.
    fn rounding(&self, flags: InstFlags) -> &'static str {
        if self.may_fuse(flags) { "" } else { ".rn" }
    }

    fn may_fuse(&self, flags: InstFlags) -> bool {
        self.options.level > 0
            && match self.options.fp_contract {
                FpContract::Off => false,
                FpContract::On => flags.contains(InstFlags::CONTRACT),
                FpContract::Fast => true,
            }
    }

    /// A binary operation on floats or vectors of them.
    pub(super) fn float_binary(
        &mut self,
        op: BinaryOp,
        flags: InstFlags,
        args: [Value; 2],
        words: &[Word],
        inst: InstId,
    ) -> Result<(), Error> {
        if matches!(op, BinaryOp::FAdd | BinaryOp::FSub) && self.may_fuse(flags) && self.fuse(op, args, words)? {
            return Ok(());
        }
        if op == BinaryOp::FDiv && self.options.level > 0 && self.inverse_root(flags, args, words)? {
            return Ok(());
        }
        let scalar = self.ir.types.scalar(self.body[inst].ty);
        let vt = super::legal::scalar(&self.ir.types, &self.ir.layout, scalar)?.unwrap_or(Vt::F64);
        if words.iter().any(|word| word.vt.lanes() > 1) && self.has_packed(op, vt) {
            let [a, b] = self.both_words(args)?;
            for (at, word) in words.iter().enumerate() {
                if let Some(dst) = self.dst(*word) {
                    self.scalar_float(op, flags, a[at], b[at], dst)?;
                }
            }
            return Ok(());
        }
        self.each_element(self.body[inst].ty, words, &args, |this, args, result| match this.dst(result[0]) {
            Some(dst) => this.scalar_float(op, flags, args[0][0], args[1][0], dst),
            None => Ok(()),
        })
    }

    /// A product without other uses and a sum become one `fma`.
    fn fuse(&mut self, op: BinaryOp, args: [Value; 2], words: &[Word]) -> Result<bool, Error> {
        let Some(vt) = words.first().map(|word| word.vt) else { return Ok(false) };
        if matches!(vt, Vt::Bf16 | Vt::Bf16x2) && self.options.arch < 80
            || words.iter().any(|w| self.is_made_of_lanes(*w))
        {
            return Ok(false);
        }
        for (product, other, product_first) in [(args[0], args[1], true), (args[1], args[0], false)] {
            let Some((_, Op::Binary(BinaryOp::FMul, flags, factors))) = self.single_use(product) else { continue };
            if !self.may_fuse(*flags) {
                continue;
            }
            let factors = *factors;
            let [a, b] = self.both_words(factors)?;
            let c = self.words_of(other)?;
            for (at, word) in words.iter().enumerate() {
                let Some(dst) = self.dst(*word) else { continue };
                // a*b - c negates c, and c - a*b a factor: the one that is a constant, if one is.
                let (mut a, mut b, mut c) = (a[at], b[at], c[at]);
                if op == BinaryOp::FSub {
                    match (product_first, b.part) {
                        (true, _) => c = self.negated(c)?,
                        (false, Part::Bits(_)) => b = self.negated(b)?,
                        (false, _) => a = self.negated(a)?,
                    }
                }
                self.fused_multiply_add("rn", a, b, c, dst)?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// 1 over a square root without other uses, where both may be approximations, is `rsqrt`.
    fn inverse_root(&mut self, flags: InstFlags, [one_of, root]: [Value; 2], words: &[Word]) -> Result<bool, Error> {
        let exact = |flags: InstFlags, asked: bool| asked && !flags.contains(InstFlags::APPROX_FUNC);
        if words.iter().any(|word| word.vt != Vt::F32) || exact(flags, self.options.prec_div) {
            return Ok(false);
        }
        let Some((_, Op::Call(call))) = self.single_use(root) else { return Ok(false) };
        let is_root = self.intrinsic_name(call).is_some_and(|name| name.starts_with("sqrt."));
        let &[square] = call.args.as_slice() else { return Ok(false) };
        if !is_root || exact(call.flags, self.options.prec_sqrt) {
            return Ok(false);
        }
        if self.words_of(one_of)?.iter().any(|word| word.part != Part::Bits(one(Vt::F32))) {
            return Ok(false);
        }
        let square = self.words_of(square)?;
        let ftz = self.ftz(Vt::F32);
        for (at, word) in words.iter().enumerate() {
            if let Some(dst) = self.dst(*word) {
                let src = self.src(square[at])?;
                self.op(format_args!("rsqrt.approx{ftz}.f32"), dst, [src])?;
            }
        }
        Ok(true)
    }

    fn is_made_of_lanes(&self, word: Word) -> bool {
        matches!(word.part, Part::Reg(reg) if self.words.from_lanes[reg])
    }

    /// `fma` of any type that PTX has one of.
    pub(super) fn fused_multiply_add(
        &mut self,
        rounding: &str,
        a: Word,
        b: Word,
        c: Word,
        dst: VReg,
    ) -> Result<(), Error> {
        let ftz = self.ftz(a.vt);
        let operands = [self.src(a)?, self.src(b)?, self.src(c)?];
        self.op(format_args!("fma.{rounding}{ftz}.{}", a.vt.typed(true)), dst, operands)
    }

    /// The word with its sign changed.
    pub(super) fn negated(&mut self, word: Word) -> Result<Word, Error> {
        let part = match word.part {
            Part::Bits(bits) => Part::Bits(bits ^ minus_zero(word.vt)),
            _ => {
                let dst = self.new_reg(word.vt);
                self.demand(Part::Reg(dst));
                self.negate(word, dst)?;
                Part::Reg(dst)
            }
        };
        Ok(Word { vt: word.vt, part })
    }

    fn negate(&mut self, word: Word, dst: VReg) -> Result<(), Error> {
        let native = match word.vt.lane() {
            Vt::F16 | Vt::Bf16 => self.has_packed_negate(word.vt.lane()),
            _ => true,
        };
        let ftz = self.ftz(word.vt);
        if native {
            let src = self.src(word)?;
            return self.op(format_args!("neg{ftz}.{}", word.vt.typed(true)), dst, [src]);
        }
        let operands = [self.bits_src(word)?, self.constant(word.vt, minus_zero(word.vt))];
        self.op(format_args!("xor.{}", word.vt.untyped()), dst, operands)
    }

    /// `fneg`
    pub(super) fn float_negate(&mut self, value: Value, words: &[Word]) -> Result<(), Error> {
        if words.iter().any(|word| self.is_made_of_lanes(*word)) {
            let ty = self.type_of(value);
            return self.each_element(ty, words, &[value], |this, args, result| match this.dst(result[0]) {
                Some(dst) => this.negate(args[0][0], dst),
                None => Ok(()),
            });
        }
        let args = self.words_of(value)?;
        for (at, word) in words.iter().enumerate() {
            if let Some(dst) = self.dst(*word) {
                self.negate(args[at], dst)?;
            }
        }
        Ok(())
    }

    /// One operation on scalars, or on packed words where PTX has it.
    pub(super) fn scalar_float(
        &mut self,
        op: BinaryOp,
        flags: InstFlags,
        a: Word,
        b: Word,
        dst: VReg,
    ) -> Result<(), Error> {
        match (op, a.vt) {
            (BinaryOp::FRem, _) => Err(Error::new("remainders of floating-point numbers")),
            (BinaryOp::FDiv, Vt::F16 | Vt::Bf16) => self.through_float(op, flags, a, b, dst),
            (BinaryOp::FDiv, _) => self.divide(flags, a, b, dst),
            (_, Vt::Bf16 | Vt::Bf16x2) if self.options.arch < 80 => self.through_float(op, flags, a, b, dst),
            (_, Vt::Bf16 | Vt::Bf16x2) if self.options.arch < 90 => self.bf16_by_fma(op, a, b, dst),
            _ => {
                let name = &op.as_str()[1..];
                let (ftz, rounding) = (self.ftz(a.vt), self.rounding(flags));
                let operands = [self.src(a)?, self.src(b)?];
                self.op(format_args!("{name}{rounding}{ftz}.{}", a.vt.typed(true)), dst, operands)
            }
        }
    }

    /// sm_80 has only the `fma` of `bfloat`: x + y = x*1 + y, x - y = y*(-1) + x, x*y = x*y + (-0).
    fn bf16_by_fma(&mut self, op: BinaryOp, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
        let constant = |bits: u64| Word { vt: a.vt, part: Part::Bits(bits) };
        let (x, y, z) = match op {
            BinaryOp::FAdd => (a, constant(one(a.vt)), b),
            BinaryOp::FSub => (b, constant(minus_one(a.vt)), a),
            _ => (a, b, constant(minus_zero(a.vt))),
        };
        self.fused_multiply_add("rn", x, y, z, dst)
    }

    /// Halves by way of `float`, whose 24 bits are enough for the second rounding to change nothing.
    fn through_float(&mut self, op: BinaryOp, flags: InstFlags, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
        let (x, y) = (self.half_to_float(a)?, self.half_to_float(b)?);
        let wide = self.new_reg(Vt::F32);
        self.demand(Part::Reg(wide));
        self.scalar_float(op, flags, x, y, wide)?;
        self.float_to_half(Word { vt: Vt::F32, part: Part::Reg(wide) }, a.vt, dst)
    }

    /// Division: of `float` as exact as the options and flags ask, of `double` always exact.
    fn divide(&mut self, flags: InstFlags, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
        let (t, ftz) = (a.vt.typed(true), self.ftz(a.vt));
        let loose = a.vt == Vt::F32
            && (!self.options.prec_div || flags.intersects(InstFlags::APPROX_FUNC | InstFlags::ALLOW_RECIPROCAL));
        let reciprocal = a.part == Part::Bits(one(a.vt));
        let divisor = self.src(b)?;
        if reciprocal {
            let how = if loose { "approx" } else { "rn" };
            return self.op(format_args!("rcp.{how}{ftz}.{t}"), dst, [divisor]);
        }
        let dividend = self.src(a)?;
        let how = match (loose, flags.contains(InstFlags::APPROX_FUNC)) {
            (true, true) => "approx",
            (true, false) => "full",
            _ => "rn",
        };
        self.op(format_args!("div.{how}{ftz}.{t}"), dst, [dividend, divisor])
    }

    /// A `half` or `bfloat` as a `float`.
    pub(super) fn half_to_float(&mut self, word: Word) -> Result<Word, Error> {
        if word.vt == Vt::Bf16 && self.options.arch < 90 {
            return self.widened_bf16(word);
        }
        let src: Operand = self.reg(word)?.into();
        let reg = self.value(format_args!("cvt.f32.{}", word.vt.typed(true)), Vt::F32, [src])?;
        Ok(Word { vt: Vt::F32, part: Part::Reg(reg) })
    }

    /// A `bfloat` is the upper half of the `float` of the same value.
    pub(super) fn widened_bf16(&mut self, word: Word) -> Result<Word, Error> {
        let part = match word.part {
            Part::Bits(bits) => Part::Bits(bits << 16),
            _ => {
                let high = self.reg(word)?;
                let low = self.value(format_args!("mov.b16"), Vt::I16, [Operand::Imm(0)])?;
                let halves = Operand::Vector(Box::new([low.into(), high.into()]));
                Part::Reg(self.value(format_args!("mov.b32"), Vt::F32, [halves])?)
            }
        };
        Ok(Word { vt: Vt::F32, part })
    }

    /// A `float` rounded to a `half` or `bfloat`.
    pub(super) fn float_to_half(&mut self, word: Word, to: Vt, dst: VReg) -> Result<(), Error> {
        if to == Vt::Bf16 && self.options.arch < 80 {
            return self.round_bf16(word, dst);
        }
        let src = self.src(word)?;
        self.op(format_args!("cvt.rn.{}.f32", to.typed(true)), dst, [src])
    }

    /// Rounding to `bfloat` without an instruction for it: to nearest, ties to even; NaNs stay NaNs.
    fn round_bf16(&mut self, word: Word, dst: VReg) -> Result<(), Error> {
        let float = self.reg(word)?;
        let bits = self.value(format_args!("mov.b32"), Vt::I32, [float.into()])?;
        let field = [bits.into(), Operand::Imm(16), Operand::Imm(1)];
        let odd = self.value(format_args!("bfe.u32"), Vt::I32, field)?;
        let half = self.value(format_args!("add.s32"), Vt::I32, [bits.into(), Operand::Imm(0x7FFF)])?;
        let rounded = self.value(format_args!("add.s32"), Vt::I32, [half.into(), odd.into()])?;
        let quiet = self.value(format_args!("or.b32"), Vt::I32, [bits.into(), Operand::Imm(0x40_0000)])?;
        let is_nan = self.value(format_args!("setp.nan.f32"), Vt::Pred, [float.into(), float.into()])?;
        let kept = [quiet.into(), rounded.into(), is_nan.into()];
        let kept = self.value(format_args!("selp.b32"), Vt::I32, kept)?;
        let parts = Operand::Vector(Box::new([Operand::Sink, dst.into()]));
        self.emit(format_args!("mov.b32"), 1, [parts, kept.into()])
    }
}
