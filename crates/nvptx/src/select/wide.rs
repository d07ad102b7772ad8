//! Integers of 65 to 128 bits, in two words of 64: low, then high.

use super::error::Error;
use super::legal::Vt;
use super::lower::Lower;
use super::word_table::{Part, Word, Words};
use crate::ir::{BinaryOp, Call, IntPredicate};
use crate::machine::{Operand, VReg};

const WORD: Vt = Vt::I64;

fn in_reg(reg: VReg) -> Word {
    Word { vt: WORD, part: Part::Reg(reg) }
}

fn zero() -> Word {
    Word { vt: WORD, part: Part::Bits(0) }
}

/// When the first of two is the one that a minimum or maximum chooses.
fn wide_choice(op: &str) -> Option<IntPredicate> {
    Some(match op {
        "smin" => IntPredicate::Slt,
        "smax" => IntPredicate::Sgt,
        "umin" => IntPredicate::Ult,
        "umax" => IntPredicate::Ugt,
        _ => return None,
    })
}

impl Lower<'_> {
    /// A binary operation on integers of more than 64 bits.
    pub(super) fn wide_binary(
        &mut self,
        op: BinaryOp,
        bits: u32,
        a: &[Word],
        b: &[Word],
        results: &[Word],
    ) -> Result<(), Error> {
        use BinaryOp::*;
        let (&[low_a, high_a], &[low_b, high_b], &[low, high]) = (a, b, results) else {
            return Err(Error::new("integers of more than 128 bits"));
        };
        let (low, high) = (self.result(low)?, self.result(high)?);
        match op {
            And | Or | Xor => {
                for (dst, a, b) in [(low, low_a, low_b), (high, high_a, high_b)] {
                    let operands = [self.src(a)?, self.src(b)?];
                    self.op(format_args!("{}.b64", op.as_str()), dst, operands)?;
                }
                Ok(())
            }
            Add | Sub => {
                let name = op.as_str();
                let first = [self.reg(low_a)?.into(), self.reg(low_b)?.into()];
                let second = [self.reg(high_a)?.into(), self.reg(high_b)?.into()];
                self.op(format_args!("{name}.cc.s64"), low, first)?;
                self.op(format_args!("{name}c.cc.s64"), high, second)
            }
            Mul => self.wide_multiply([low_a, high_a], [low_b, high_b], low, high),
            Shl | LShr | AShr => {
                let a =
                    if op == Shl { [low_a, high_a] } else { self.wide_extended([low_a, high_a], bits, op == AShr)? };
                match low_b.part {
                    Part::Bits(amount) => self.wide_shift_constant(op, a, amount.min(127) as u32, low, high),
                    _ => self.wide_shift(op, a, low_b, low, high),
                }
            }
            UDiv | SDiv | URem | SRem => {
                // The passes before selection have made calls of them.
                Err(Error::new("divisions of integers of more than 64 bits"))
            }
            _ => Err(Error::new(format!("`{}` instructions of more than 64 bits", op.as_str()))),
        }
    }

    /// Clears the bits above `bits`, or fills them with the sign.
    pub(super) fn wide_extended(&mut self, words: [Word; 2], bits: u32, signed: bool) -> Result<[Word; 2], Error> {
        if bits >= 128 {
            return Ok(words);
        }
        let above = 128 - bits;
        let high = self.src(words[1])?;
        let high = if signed {
            let up = self.value(format_args!("shl.b64"), WORD, [high, Operand::Imm(above.into())])?;
            self.value(format_args!("shr.s64"), WORD, [up.into(), Operand::Imm(above.into())])?
        } else {
            self.value(format_args!("and.b64"), WORD, [high, Operand::Imm((u64::MAX >> above) as i64)])?
        };
        Ok([words[0], in_reg(high)])
    }

    /// `vector.reduce.OP` of integers of more than 64 bits; false for everything else.
    pub(super) fn wide_reduction(&mut self, name: &str, call: &Call, words: &[Word]) -> Result<bool, Error> {
        let (&[low, high], &[vector]) = (words, call.args.as_slice()) else { return Ok(false) };
        let Some((op, _)) = name.strip_prefix("vector.reduce.").and_then(|rest| rest.split_once('.')) else {
            return Ok(false);
        };
        let Some(bits) = self.ir.types.int_bits(self.ir.types.scalar(self.type_of(vector))) else { return Ok(false) };
        let elements = self.elements(vector)?;
        let Some(&[first_low, first_high]) = elements.first().map(|words| words.as_slice()) else { return Ok(false) };
        let mut sum: [Word; 2] = [first_low, first_high];
        for element in &elements[1..] {
            let next = [self.new_reg(WORD), self.new_reg(WORD)];
            next.into_iter().for_each(|reg| self.demand(Part::Reg(reg)));
            let results = next.map(in_reg);
            match (BinaryOp::from_name(op), wide_choice(op)) {
                (Some(op), _) => self.wide_binary(op, bits, &sum, element, &results)?,
                (None, Some(predicate)) => {
                    let first = self.new_reg(Vt::Pred);
                    self.demand(Part::Reg(first));
                    self.wide_compare(predicate, &Words::from_slice(&sum), element, bits, first)?;
                    for at in 0..2 {
                        self.select_words(next[at], sum[at], element[at], first)?;
                    }
                }
                _ => return Ok(false),
            }
            sum = results;
        }
        for (word, sum) in [low, high].into_iter().zip(sum) {
            if let Some(dst) = self.dst(word) {
                self.assign(dst, sum)?;
            }
        }
        Ok(true)
    }

    /// low = a0*b0; high = hi(a0*b0) + a0*b1 + a1*b0
    fn wide_multiply(&mut self, a: [Word; 2], b: [Word; 2], low: VReg, high: VReg) -> Result<(), Error> {
        let (a0, a1) = (self.src(a[0])?, self.src(a[1])?);
        let (b0, b1) = (self.src(b[0])?, self.src(b[1])?);
        let top = self.value(format_args!("mul.hi.u64"), WORD, [a0.clone(), b0.clone()])?;
        let sum = self.value(format_args!("mad.lo.s64"), WORD, [a0.clone(), b1, top.into()])?;
        self.op(format_args!("mad.lo.s64"), high, [a1, b0.clone(), sum.into()])?;
        self.op(format_args!("mul.lo.s64"), low, [a0, b0])
    }

    fn wide_shift_constant(
        &mut self,
        op: BinaryOp,
        a: [Word; 2],
        amount: u32,
        low: VReg,
        high: VReg,
    ) -> Result<(), Error> {
        if amount == 0 {
            self.assign(low, a[0])?;
            return self.assign(high, a[1]);
        }
        let imm = |n: u32| Operand::Imm(i64::from(n));
        let signed = op == BinaryOp::AShr;
        let right = if signed { "s64" } else { "u64" };
        let (a0, a1) = (self.src(a[0])?, self.src(a[1])?);
        match (op == BinaryOp::Shl, amount) {
            (true, 64..) => {
                self.op(format_args!("shl.b64"), high, [a0, imm(amount - 64)])?;
                self.assign(low, zero())
            }
            (true, _) => {
                let up = self.value(format_args!("shl.b64"), WORD, [a1, imm(amount)])?;
                let over = self.value(format_args!("shr.u64"), WORD, [a0.clone(), imm(64 - amount)])?;
                self.op(format_args!("or.b64"), high, [up.into(), over.into()])?;
                self.op(format_args!("shl.b64"), low, [a0, imm(amount)])
            }
            (false, 64..) => {
                self.op(format_args!("shr.{right}"), low, [a1.clone(), imm(amount - 64)])?;
                if signed { self.op(format_args!("shr.s64"), high, [a1, imm(63)]) } else { self.assign(high, zero()) }
            }
            (false, _) => {
                let down = self.value(format_args!("shr.u64"), WORD, [a0, imm(amount)])?;
                let over = self.value(format_args!("shl.b64"), WORD, [a1.clone(), imm(64 - amount)])?;
                self.op(format_args!("or.b64"), low, [down.into(), over.into()])?;
                self.op(format_args!("shr.{right}"), high, [a1, imm(amount)])
            }
        }
    }

    /// PTX clamps shifts at the width, so the bits that go from one word to the other need no
    /// comparison: `x >> (64 - n)` is 0 for n = 0, and `x << (n - 64)` is 0 for n < 64 as the amount,
    /// unsigned, is huge then.
    fn wide_shift(&mut self, op: BinaryOp, a: [Word; 2], amount: Word, low: VReg, high: VReg) -> Result<(), Error> {
        let amount = self.src(amount)?;
        let n = self.value(format_args!("cvt.u32.u64"), Vt::I32, [amount])?;
        let rest = self.value(format_args!("sub.s32"), Vt::I32, [Operand::Imm(64), n.into()])?;
        let beyond = self.value(format_args!("sub.s32"), Vt::I32, [n.into(), Operand::Imm(64)])?;
        let (a0, a1) = (self.src(a[0])?, self.src(a[1])?);
        if op == BinaryOp::Shl {
            let up = self.value(format_args!("shl.b64"), WORD, [a1, n.into()])?;
            let over = self.value(format_args!("shr.u64"), WORD, [a0.clone(), rest.into()])?;
            let far = self.value(format_args!("shl.b64"), WORD, [a0.clone(), beyond.into()])?;
            let near = self.value(format_args!("or.b64"), WORD, [up.into(), over.into()])?;
            self.op(format_args!("or.b64"), high, [near.into(), far.into()])?;
            return self.op(format_args!("shl.b64"), low, [a0, n.into()]);
        }
        let right = if op == BinaryOp::AShr { "s64" } else { "u64" };
        let down = self.value(format_args!("shr.u64"), WORD, [a0, n.into()])?;
        let over = self.value(format_args!("shl.b64"), WORD, [a1.clone(), rest.into()])?;
        let near = self.value(format_args!("or.b64"), WORD, [down.into(), over.into()])?;
        // The sign would come out of a clamped arithmetic shift, so this one is selected.
        let far = self.value(format_args!("shr.{right}"), WORD, [a1.clone(), beyond.into()])?;
        let is_far = self.value(format_args!("setp.gt.u32"), Vt::Pred, [n.into(), Operand::Imm(63)])?;
        self.op(format_args!("selp.b64"), low, [far.into(), near.into(), is_far.into()])?;
        self.op(format_args!("shr.{right}"), high, [a1, n.into()])
    }

    /// A comparison of two words each, as a predicate.
    pub(super) fn wide_compare(
        &mut self,
        predicate: IntPredicate,
        a: &Words,
        b: &Words,
        bits: u32,
        dst: VReg,
    ) -> Result<(), Error> {
        let signed = predicate.is_signed();
        let a = self.wide_extended([a[0], a[1]], bits, signed)?;
        let b = self.wide_extended([b[0], b[1]], bits, signed)?;
        if matches!(predicate, IntPredicate::Eq | IntPredicate::Ne) {
            let mut differences = [None; 2];
            for (slot, (a, b)) in differences.iter_mut().zip(a.into_iter().zip(b)) {
                let operands = [self.src(a)?, self.src(b)?];
                *slot = Some(self.value(format_args!("xor.b64"), WORD, operands)?);
            }
            let operands = differences.into_iter().flatten().map(Operand::from).collect::<Vec<_>>();
            let any = self.value(format_args!("or.b64"), WORD, operands)?;
            let name = predicate.as_str();
            return self.op(format_args!("setp.{name}.s64"), dst, [any.into(), Operand::Imm(0)]);
        }
        // a < b is the borrow of a - b, and the other orders follow by exchange and negation.
        let (a, b, negate) = match predicate {
            IntPredicate::Ult | IntPredicate::Slt => (a, b, false),
            IntPredicate::Ugt | IntPredicate::Sgt => (b, a, false),
            IntPredicate::Uge | IntPredicate::Sge => (a, b, true),
            _ => (b, a, true),
        };
        let [low_a, low_b] = [self.src(a[0])?, self.src(b[0])?];
        let [high_a, high_b] = [self.src(a[1])?, self.src(b[1])?];
        let t = if signed { "s64" } else { "u64" };
        let (low, high) = if negate { ("ge", "gt") } else { ("lt", "lt") };
        let low = self.value(format_args!("setp.{low}.u64"), Vt::Pred, [low_a, low_b])?;
        let equal = self.value(format_args!("setp.eq.{t}"), Vt::Pred, [high_a.clone(), high_b.clone()])?;
        let tie = self.value(format_args!("and.pred"), Vt::Pred, [low.into(), equal.into()])?;
        let high = self.value(format_args!("setp.{high}.{t}"), Vt::Pred, [high_a, high_b])?;
        self.op(format_args!("or.pred"), dst, [high.into(), tie.into()])
    }
}
