//! `llvm.*` on integers.

use crate::ir::{BinaryOp, Value};
use crate::machine::{Operand, VReg};
use crate::select::error::Error;
use crate::select::legal::Vt;
use crate::select::lower::Lower;
use crate::select::word_table::{Part, Word, Words, in_reg};

/// The checks of overflow: name, whether signed, and the operation.
const OVERFLOW_CHECKS: [(&str, bool, BinaryOp); 6] = [
    ("uadd.with.overflow", false, BinaryOp::Add),
    ("sadd.with.overflow", true, BinaryOp::Add),
    ("usub.with.overflow", false, BinaryOp::Sub),
    ("ssub.with.overflow", true, BinaryOp::Sub),
    ("umul.with.overflow", false, BinaryOp::Mul),
    ("smul.with.overflow", true, BinaryOp::Mul),
];

impl Lower<'_> {
    pub(super) fn wide_intrinsic(
        &mut self,
        name: &str,
        bits: u32,
        args: &[Words],
        result: &[Word],
    ) -> Result<(), Error> {
        use crate::ir::IntPredicate;
        let predicate = match name {
            "smin" => IntPredicate::Slt,
            "smax" => IntPredicate::Sgt,
            "umin" => IntPredicate::Ult,
            "umax" => IntPredicate::Ugt,
            _ => return Err(Error::new(format!("calls of `llvm.{name}` on more than 64 bits"))),
        };
        let first = self.new_reg(Vt::Pred);
        self.demand(Part::Reg(first));
        self.wide_compare(predicate, &args[0], &args[1], bits, first)?;
        for (at, word) in result.iter().enumerate() {
            if let Some(dst) = self.dst(*word) {
                self.select_words(dst, args[0][at], args[1][at], first)?;
            }
        }
        Ok(())
    }

    /// Counting and turning of bits. PTX has them for 32 and 64 bits; narrower ones are widened.
    pub(super) fn bit_intrinsic(
        &mut self,
        name: &str,
        bits: u32,
        a: Word,
        result: Word,
        dst: VReg,
    ) -> Result<(), Error> {
        let wide = a.vt.bits() == 64;
        let vt = if wide { Vt::I64 } else { Vt::I32 };
        let width = vt.bits();
        let a = self.extended(a, bits, false)?;
        let source = match a.vt.bits() {
            16 => {
                let src = self.src(a)?;
                in_reg(Vt::I32, self.value(format_args!("cvt.u32.u16"), Vt::I32, [src])?)
            }
            _ => a,
        };
        let src = self.src(source)?;
        let t = vt.untyped();
        // The result of `popc` and `clz` has 32 bits whatever is counted.
        let counted = |this: &mut Self, count: VReg, back: u32| -> Result<(), Error> {
            let count = match back {
                0 => count,
                _ => this.value(format_args!("sub.s32"), Vt::I32, [count.into(), Operand::Imm(back.into())])?,
            };
            match result.vt.bits() {
                64 => this.op(format_args!("cvt.u64.u32"), dst, [count.into()]),
                16 => this.op(format_args!("cvt.u16.u32"), dst, [count.into()]),
                _ => this.redirect_last(dst),
            }
        };
        match name {
            "ctpop" => {
                let count = self.value(format_args!("popc.{t}"), Vt::I32, [src])?;
                counted(self, count, 0)
            }
            "ctlz" => {
                let count = self.value(format_args!("clz.{t}"), Vt::I32, [src])?;
                counted(self, count, width - bits)
            }
            "cttz" => {
                // A bit above the width stops the count of a zero there.
                let src = match bits < width {
                    true => {
                        let stop = self.constant(vt, 1 << bits);
                        self.value(format_args!("or.{t}"), vt, [src, stop])?.into()
                    }
                    false => src,
                };
                let turned = self.value(format_args!("brev.{t}"), vt, [src])?;
                let count = self.value(format_args!("clz.{t}"), Vt::I32, [turned.into()])?;
                counted(self, count, 0)
            }
            "bitreverse" => {
                let turned = self.value(format_args!("brev.{t}"), vt, [src])?;
                self.shifted_down(turned, vt, width - bits, result, dst)
            }
            _ => self.swap_bytes(source, bits, result, dst),
        }
    }

    fn shifted_down(&mut self, reg: VReg, vt: Vt, by: u32, result: Word, dst: VReg) -> Result<(), Error> {
        let reg = match by {
            0 => reg,
            _ => self.value(format_args!("shr.{}", vt.typed(false)), vt, [reg.into(), Operand::Imm(by.into())])?,
        };
        match result.vt.bits() {
            16 => self.op(format_args!("cvt.u16.u32"), dst, [reg.into()]),
            _ => self.redirect_last(dst),
        }
    }

    fn swap_bytes(&mut self, source: Word, bits: u32, result: Word, dst: VReg) -> Result<(), Error> {
        let prmt = |this: &mut Self, reg: Operand| {
            this.value(format_args!("prmt.b32"), Vt::I32, [reg, Operand::Imm(0), Operand::Imm(0x0123)])
        };
        if source.vt.bits() == 64 {
            let (low, high) = (self.new_reg(Vt::I32), self.new_reg(Vt::I32));
            let halves = Operand::Vector(Box::new([low.into(), high.into()]));
            let src: Operand = self.reg(source)?.into();
            self.emit(format_args!("mov.b64"), 1, [halves, src])?;
            let (low, high) = (prmt(self, low.into())?, prmt(self, high.into())?);
            let turned = Operand::Vector(Box::new([high.into(), low.into()]));
            if bits == 64 {
                return self.op(format_args!("mov.b64"), dst, [turned]);
            }
            let whole = self.value(format_args!("mov.b64"), Vt::I64, [turned])?;
            return self.op(format_args!("shr.u64"), dst, [whole.into(), Operand::Imm(i64::from(64 - bits))]);
        }
        let src = self.reg(source)?.into();
        let turned = prmt(self, src)?;
        self.shifted_down(turned, Vt::I32, 32 - bits, result, dst)
    }

    /// `fshl`, `fshr`: the amount counts modulo the width.
    pub(super) fn funnel_shift(&mut self, left: bool, bits: u32, args: [Word; 3], dst: VReg) -> Result<(), Error> {
        let [high, low, amount] = args;
        let vt = high.vt;
        if bits == 32 {
            let form = if left { "shf.l.wrap.b32" } else { "shf.r.wrap.b32" };
            let operands = [self.src(low)?, self.src(high)?, self.src(amount)?];
            return self.op(format_args!("{form}"), dst, operands);
        }
        if bits != vt.bits() || !bits.is_power_of_two() {
            return Err(Error::new(format!("funnel shifts of {bits} bits")));
        }
        if let (Vt::I64, Part::Bits(amount)) = (vt, amount.part) {
            return self.funnel_by_words(left, [high, low], amount as u32 % 64, dst);
        }
        let (u, b) = (vt.typed(false), vt.untyped());
        let whole = bits - 1;
        let (by, rest) = match amount.part {
            Part::Bits(n) => {
                let n = n as u32 & whole;
                // The other part is shifted by one first, so that an amount of 0 takes nothing of it.
                (Operand::Imm(n.into()), Operand::Imm((whole - n).into()))
            }
            _ => {
                let n = self.shift_amount(amount, bits)?;
                let n = self.value(format_args!("and.b32"), Vt::I32, [n, Operand::Imm(whole.into())])?;
                let rest = self.value(format_args!("xor.b32"), Vt::I32, [n.into(), Operand::Imm(whole.into())])?;
                (n.into(), rest.into())
            }
        };
        let (high, low) = (self.src(high)?, self.src(low)?);
        let one = Operand::Imm(1);
        let (a, b_part) = if left {
            let a = self.value(format_args!("shl.{b}"), vt, [high, by])?;
            let half = self.value(format_args!("shr.{u}"), vt, [low, one])?;
            (a, self.value(format_args!("shr.{u}"), vt, [half.into(), rest])?)
        } else {
            let a = self.value(format_args!("shr.{u}"), vt, [low, by])?;
            let half = self.value(format_args!("shl.{b}"), vt, [high, one])?;
            (a, self.value(format_args!("shl.{b}"), vt, [half.into(), rest])?)
        };
        self.op(format_args!("or.{b}"), dst, [a.into(), b_part.into()])
    }

    /// A funnel shift of 64 bits by a constant: each half of the result comes from two neighbouring halves of the
    /// operands.
    fn funnel_by_words(&mut self, left: bool, [high, low]: [Word; 2], amount: u32, dst: VReg) -> Result<(), Error> {
        if amount == 0 {
            return self.assign(dst, if left { high } else { low });
        }
        let amount = if left { amount } else { 64 - amount };
        let halves = |this: &mut Self, word: Word| -> Result<[Operand; 2], Error> {
            let parts = [this.demanded_reg(Vt::I32), this.demanded_reg(Vt::I32)];
            let parts: [Operand; 2] = parts.map(Operand::from);
            let src = this.src(word)?;
            this.emit(format_args!("mov.b64"), 1, [Operand::Vector(parts.to_vec().into()), src])?;
            Ok(parts)
        };
        let [c, d] = halves(self, high)?;
        let [a, b] = if high == low { [c.clone(), d.clone()] } else { halves(self, low)? };
        let [first, second, third] = if amount < 32 { [d, c, b] } else { [c, b, a] };
        let shifted = |this: &mut Self, upper: &Operand, lower: &Operand| -> Result<Operand, Error> {
            let by = Operand::Imm(i64::from(amount % 32));
            let operands = [lower.clone(), upper.clone(), by];
            Ok(this.value(format_args!("shf.l.wrap.b32"), Vt::I32, operands)?.into())
        };
        let [upper, lower] = match amount % 32 {
            0 => [first, second],
            _ => [shifted(self, &first, &second)?, shifted(self, &second, &third)?],
        };
        self.op(format_args!("mov.b64"), dst, [Operand::Vector(vec![lower, upper].into())])
    }

    /// Saturating sums and differences of widths that PTX has none for.
    pub(super) fn saturating(&mut self, name: &str, bits: u32, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
        let signed = name.starts_with('s');
        let add = name.ends_with("add.sat");
        let (a, b) = (self.extended(a, bits, signed)?, self.extended(b, bits, signed)?);
        let vt = a.vt;
        let (t, s) = (vt.typed(signed), vt.typed(true));
        let (max, min) = match signed {
            true => ((1u64 << (bits - 1)) - 1, (1u64 << (bits - 1)).wrapping_neg()),
            false => (u64::MAX >> (64 - bits), 0),
        };
        let (max, min) = (self.constant(vt, max), self.constant(vt, min));
        let (x, y) = (self.src(a)?, self.src(b)?);
        match (signed, add) {
            // y is cut to what keeps the result in range. x + y saturates when y > max - x, so y is cut to that; x - y takes at most x away.
            (false, true) => {
                let room = self.value(format_args!("sub.{s}"), vt, [max, x.clone()])?;
                let cut = self.value(format_args!("min.{t}"), vt, [y, room.into()])?;
                self.op(format_args!("add.{s}"), dst, [x, cut.into()])
            }
            (false, false) => {
                let cut = self.value(format_args!("min.{t}"), vt, [y, x.clone()])?;
                self.op(format_args!("sub.{s}"), dst, [x, cut.into()])
            }
            (true, true) => {
                let zero = Operand::Imm(0);
                let up = self.value(format_args!("max.{t}"), vt, [x.clone(), zero.clone()])?;
                let down = self.value(format_args!("min.{t}"), vt, [x.clone(), zero])?;
                let high = self.value(format_args!("sub.{s}"), vt, [max, up.into()])?;
                let low = self.value(format_args!("sub.{s}"), vt, [min, down.into()])?;
                let cut = self.value(format_args!("min.{t}"), vt, [y, high.into()])?;
                let cut = self.value(format_args!("max.{t}"), vt, [cut.into(), low.into()])?;
                self.op(format_args!("add.{s}"), dst, [x, cut.into()])
            }
            // x - y is in range for y from max(x, -1) - max to min(x, -1) - min, neither of which wraps.
            (true, false) => {
                let minus_one = self.constant(vt, u64::MAX);
                let up = self.value(format_args!("max.{t}"), vt, [x.clone(), minus_one.clone()])?;
                let down = self.value(format_args!("min.{t}"), vt, [x.clone(), minus_one])?;
                let low = self.value(format_args!("sub.{s}"), vt, [up.into(), max])?;
                let high = self.value(format_args!("sub.{s}"), vt, [down.into(), min])?;
                let cut = self.value(format_args!("min.{t}"), vt, [y, high.into()])?;
                let cut = self.value(format_args!("max.{t}"), vt, [cut.into(), low.into()])?;
                self.op(format_args!("sub.{s}"), dst, [x, cut.into()])
            }
        }
    }

    /// -1, 0 or 1 as a is less than, equal to or greater than b.
    pub(super) fn three_way(
        &mut self,
        signed: bool,
        bits: u32,
        a: Word,
        b: Word,
        result: Word,
        dst: VReg,
    ) -> Result<(), Error> {
        let (a, b) = (self.extended(a, bits, signed)?, self.extended(b, bits, signed)?);
        let operands = [self.reg(a)?.into(), self.src(b)?];
        let t = a.vt.typed(signed);
        let less = self.value(format_args!("setp.lt.{t}"), Vt::Pred, operands.clone())?;
        let more = self.value(format_args!("setp.gt.{t}"), Vt::Pred, operands)?;
        let r = result.vt.untyped();
        let up = self.value(format_args!("selp.{r}"), result.vt, [Operand::Imm(1), Operand::Imm(0), more.into()])?;
        self.op(format_args!("selp.{r}"), dst, [Operand::Imm(-1), up.into(), less.into()])
    }

    /// `uadd.with.overflow` and its like: the result, and whether it wrapped.
    pub(super) fn with_overflow(&mut self, name: &str, args: &[Value], words: &[Word]) -> Result<bool, Error> {
        let Some(&(_, signed, op)) = OVERFLOW_CHECKS.iter().find(|(known, ..)| *known == name) else {
            return Ok(false);
        };
        let &[result, flag] = words else { return Err(Error::new("overflow checks of more than 64 bits")) };
        let bits = self.ir.types.int_bits(self.type_of(args[0])).unwrap_or(64);
        let [a, b] = self.pair_of_words([args[0], args[1]])?;
        let (a, b) = (self.extended(a, bits, signed)?, self.extended(b, bits, signed)?);
        let vt = a.vt;
        let dst = self.result(result)?;
        self.demand(Part::Reg(dst));
        self.scalar_binary(op, bits, a, b, dst)?;
        let Some(flag) = self.dst(flag) else { return Ok(true) };
        let (s, t) = (vt.typed(true), vt.typed(signed));
        let exact = self.extended(in_reg(vt, dst), bits, signed)?;
        if bits < vt.bits() && op != BinaryOp::Mul || bits * 2 <= vt.bits() {
            // The register holds the whole result: it wrapped when cutting changes it.
            let operands = [self.reg(exact)?.into(), dst.into()];
            self.op(format_args!("setp.ne.{s}"), flag, operands)?;
            return Ok(true);
        }
        let (x, y): (Operand, Operand) = (self.reg(a)?.into(), self.src(b)?);
        match (op, signed) {
            (BinaryOp::Add, false) => self.op(format_args!("setp.lt.{t}"), flag, [dst.into(), x])?,
            (BinaryOp::Sub, false) => self.op(format_args!("setp.lt.{t}"), flag, [x, y])?,
            (BinaryOp::Add | BinaryOp::Sub, true) => {
                // Signs: of x and the result, and of y (equal to x's for a sum, not so for a difference).
                let b_type = vt.untyped();
                let first = self.value(format_args!("xor.{b_type}"), vt, [x.clone(), dst.into()])?;
                let second = match op {
                    BinaryOp::Add => self.value(format_args!("xor.{b_type}"), vt, [y, dst.into()])?,
                    _ => self.value(format_args!("xor.{b_type}"), vt, [x, y])?,
                };
                let both = self.value(format_args!("and.{b_type}"), vt, [first.into(), second.into()])?;
                self.op(format_args!("setp.lt.{s}"), flag, [both.into(), Operand::Imm(0)])?;
            }
            (_, false) if bits == vt.bits() => {
                let high = self.value(format_args!("mul.hi.{t}"), vt, [x, y])?;
                self.op(format_args!("setp.ne.{s}"), flag, [high.into(), Operand::Imm(0)])?;
            }
            (_, true) if bits == vt.bits() => {
                let high = self.value(format_args!("mul.hi.{t}"), vt, [x, y])?;
                let sign = Operand::Imm(i64::from(bits) - 1);
                let fill = self.value(format_args!("shr.{s}"), vt, [dst.into(), sign])?;
                self.op(format_args!("setp.ne.{s}"), flag, [high.into(), fill.into()])?;
            }
            _ => return Err(Error::new(format!("overflow checks of products of {bits} bits"))),
        }
        Ok(true)
    }
}
