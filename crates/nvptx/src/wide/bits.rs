//! Shifts, counts and orders of bits.

use super::LIMB;
use super::library::call_of;
use super::limbs::{Limbs, Writer};
use crate::ir::{BinaryOp, CastOp, IntPredicate, TypeId, Value};

impl Writer<'_> {
    /// A shift of an integer of `bits` bits; amounts from `bits` on have no meaning.
    pub(super) fn shift(&mut self, op: BinaryOp, a: &[Value], amount: Value, bits: u32) -> Limbs {
        let signed = op == BinaryOp::AShr;
        let a = if op == BinaryOp::Shl { a.to_vec() } else { self.extended(a, bits, signed) };
        let fill = match (signed, a.last()) {
            (true, Some(&top)) => self.sign(top),
            _ => self.int(0),
        };
        // A right shift is a left shift of the limbs in the other order.
        let left = op == BinaryOp::Shl;
        let mut limbs: Limbs = if left { a } else { a.into_iter().rev().collect() };
        let six = self.int(LIMB.ilog2().into());
        let limbs_to_move = self.binary(BinaryOp::LShr, amount, six);
        let mut step = 1;
        while step < limbs.len() {
            let bit = self.int(step as u64);
            let is_set = self.binary(BinaryOp::And, limbs_to_move, bit);
            let zero = self.int(0);
            let is_set = self.compare(IntPredicate::Ne, is_set, zero);
            let moved: Limbs =
                (0..limbs.len()).map(|at| at.checked_sub(step).map_or(fill, |from| limbs[from])).collect();
            limbs = self.choose(is_set, &moved, &limbs);
            step *= 2;
        }
        let limbs = self.shift_within(&limbs, amount, fill, left);
        if left { limbs } else { limbs.into_iter().rev().collect() }
    }

    /// The part of a shift below a limb; `limbs` in the order in which bits go.
    fn shift_within(&mut self, limbs: &[Value], amount: Value, fill: Value, left: bool) -> Limbs {
        let last = self.int((LIMB - 1).into());
        let amount = self.binary(BinaryOp::And, amount, last);
        let rest = self.binary(BinaryOp::Xor, amount, last);
        let one = self.int(1);
        let (out, back) = if left { (BinaryOp::Shl, BinaryOp::LShr) } else { (BinaryOp::LShr, BinaryOp::Shl) };
        let mut before = fill;
        let mut shifted = Limbs::new();
        for &limb in limbs {
            let own = self.binary(out, limb, amount);
            // In two steps: together they are 64 when the amount is 0.
            let over = self.binary(back, before, one);
            let over = self.binary(back, over, rest);
            shifted.push(self.binary(BinaryOp::Or, own, over));
            before = limb;
        }
        shifted
    }

    /// A call of `llvm.NAME.i64`, with a second argument `false` where it takes a `flag`.
    fn intrinsic(&mut self, name: &str, arg: Value, flag: bool) -> Value {
        let params = [TypeId::I64, TypeId::I1];
        let no: Value = self.module.constants.bool(false).into();
        let count = 1 + usize::from(flag);
        let args = [arg, no][..count].iter().copied().collect();
        let op = call_of(self.module, &format!("llvm.{name}.i64"), &params[..count], TypeId::I64, args);
        self.push(op, TypeId::I64)
    }

    /// A small number as an integer of as many limbs as `like`.
    fn number(&mut self, value: Value, like: &[Value]) -> Limbs {
        let zero = self.int(0);
        let mut limbs = vec![zero; like.len()];
        limbs[0] = value;
        limbs
    }

    /// `ctpop`
    pub(super) fn population(&mut self, a: &[Value], bits: u32) -> Limbs {
        let limbs = self.extended(a, bits, false);
        let zero = self.int(0);
        let count = limbs.iter().fold(zero, |sum, &limb| {
            let count = self.intrinsic("ctpop", limb, false);
            self.binary(BinaryOp::Add, sum, count)
        });
        self.number(count, a)
    }

    /// `cttz`; `bits` for 0.
    pub(super) fn trailing_zeros(&mut self, a: &[Value], bits: u32) -> Limbs {
        let limbs = self.extended(a, bits, false);
        let count =
            self.zeros("cttz", limbs.iter().enumerate().rev().map(|(at, &limb)| (LIMB * at as u32, limb)), bits);
        self.number(count, a)
    }

    /// `ctlz`; `bits` for 0.
    pub(super) fn leading_zeros(&mut self, a: &[Value], bits: u32) -> Limbs {
        let limbs = self.extended(a, bits, false);
        // Of the highest limb bits above the width count, too.
        let unused = limbs.len() as u32 * LIMB - bits;
        let high = limbs.len() - 1;
        let places = limbs.iter().enumerate().map(|(at, &limb)| (LIMB * (high - at) as u32, limb));
        let count = self.zeros("ctlz", places, bits + unused);
        let unused = self.int(unused.into());
        let count = self.binary(BinaryOp::Sub, count, unused);
        self.number(count, a)
    }

    /// Zeros up to the first bit that is set, in the last of `limbs` that is not 0; each with the number of bits before it.
    fn zeros(&mut self, name: &str, limbs: impl Iterator<Item = (u32, Value)>, none: u32) -> Value {
        let zero = self.int(0);
        let mut count = self.int(none.into());
        for (before, limb) in limbs {
            let own = self.intrinsic(name, limb, true);
            let before = self.int(before.into());
            let own = self.binary(BinaryOp::Add, own, before);
            let is_zero = self.compare(IntPredicate::Eq, limb, zero);
            count = self.select(is_zero, count, own);
        }
        count
    }

    /// `bswap` or `bitreverse`: limbs in the other order, each turned round, then shifted down to the width.
    pub(super) fn reversed(&mut self, name: &str, a: &[Value], bits: u32) -> Limbs {
        let turned: Limbs = a.iter().rev().map(|&limb| self.intrinsic(name, limb, false)).collect();
        let whole = a.len() as u32 * LIMB;
        let amount = self.int((whole - bits).into());
        self.shift(BinaryOp::LShr, &turned, amount, whole)
    }

    /// A narrower integer as one of 64 bits or, where it has more, as two limbs.
    pub(super) fn limbs_of_narrow(&mut self, value: Value, bits: u32, signed: bool) -> Limbs {
        let op = if signed { CastOp::SExt } else { CastOp::ZExt };
        if bits <= LIMB {
            return vec![self.cast(op, value, TypeId::I64)];
        }
        let value = self.cast(op, value, TypeId::I128);
        self.halves(value).to_vec()
    }
}
