//! Intrinsics on `i1`, whose arithmetic is logic: as a signed number, true is -1.

use super::error::Error;
use super::lower::Lower;
use super::word_table::{Part, Word};
use crate::ir::{BinaryOp, Call, TypeId, Value};

/// What a result is of the operands `a` and `b`.
#[derive(Clone, Copy)]
enum Logic {
    A,
    B,
    NotA,
    And,
    Or,
    Xor,
    /// `a` without `b`
    OnlyA,
    /// `b` without `a`
    OnlyB,
    False,
}

/// What is done with each element: the intrinsic without its type, how many operands it has, and the rule.
const ELEMENTS: &[(&str, usize, Logic)] = &[
    ("ctpop", 1, Logic::A),
    ("bitreverse", 1, Logic::A),
    ("abs", 1, Logic::A),
    ("ctlz", 1, Logic::NotA),
    ("cttz", 1, Logic::NotA),
    // The amount counts modulo 1.
    ("fshl", 2, Logic::A),
    ("fshr", 2, Logic::B),
    ("uadd.sat", 2, Logic::Or),
    ("sadd.sat", 2, Logic::Or),
    ("usub.sat", 2, Logic::OnlyA),
    ("ssub.sat", 2, Logic::OnlyA),
];

/// Results, and whether they wrapped.
const OVERFLOWS: &[(&str, Logic, Logic)] = &[
    ("uadd.with.overflow", Logic::Xor, Logic::And),
    ("sadd.with.overflow", Logic::Xor, Logic::And),
    ("usub.with.overflow", Logic::Xor, Logic::OnlyB),
    ("ssub.with.overflow", Logic::Xor, Logic::OnlyB),
    ("umul.with.overflow", Logic::And, Logic::False),
    ("smul.with.overflow", Logic::And, Logic::And),
];

/// What reductions do with two elements.
const REDUCTIONS: &[(&str, BinaryOp)] = &[
    ("vector.reduce.add", BinaryOp::Xor),
    ("vector.reduce.mul", BinaryOp::And),
    ("vector.reduce.smax", BinaryOp::And),
    ("vector.reduce.umin", BinaryOp::And),
    ("vector.reduce.smin", BinaryOp::Or),
    ("vector.reduce.umax", BinaryOp::Or),
];

impl Lower<'_> {
    /// A call of an intrinsic on `i1`; false for those of other types, and those that know predicates.
    pub(super) fn truth_intrinsic(&mut self, name: &str, call: &Call, words: &[Word]) -> Result<bool, Error> {
        let Some(&first) = call.args.first() else { return Ok(false) };
        if self.ir.types.scalar(self.type_of(first)) != TypeId::I1 {
            return Ok(false);
        }
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        if let Some(&(_, count, logic)) = ELEMENTS.iter().find(|(own, ..)| *own == stem) {
            let args: Vec<Value> = call.args.iter().take(count).copied().collect();
            self.each_element(self.type_of(first), words, &args, |this, args, result| {
                let b = args.get(1).map_or(args[0][0], |words| words[0]);
                this.logic(logic, args[0][0], b, result[0])
            })?;
            return Ok(true);
        }
        if let Some(&(_, value, flag)) = OVERFLOWS.iter().find(|(own, ..)| *own == stem) {
            let &[second] = &call.args[1..] else { return Ok(false) };
            let (a, b) = (self.elements(first)?, self.elements(second)?);
            // The results come first, then the flags.
            for (at, result) in words.iter().enumerate() {
                let (lane, logic) = if at < a.len() { (at, value) } else { (at - a.len(), flag) };
                self.logic(logic, a[lane][0], b[lane][0], *result)?;
            }
            return Ok(true);
        }
        if let (Some(&(_, op)), [result]) = (REDUCTIONS.iter().find(|(own, _)| *own == stem), words) {
            self.reduce_predicates(op, first, *result)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn logic(&mut self, logic: Logic, a: Word, b: Word, result: Word) -> Result<(), Error> {
        let Some(dst) = self.dst(result) else { return Ok(()) };
        let vt = result.vt;
        let op = match logic {
            Logic::A => return self.assign(dst, a),
            Logic::B => return self.assign(dst, b),
            Logic::False => return self.assign(dst, Word { vt, part: Part::Bits(0) }),
            Logic::NotA => {
                let a = self.reg(a)?;
                return self.op(format_args!("not.pred"), dst, [a.into()]);
            }
            Logic::OnlyA | Logic::OnlyB => {
                let (a, b) = if matches!(logic, Logic::OnlyA) { (a, b) } else { (b, a) };
                let (a, b) = (self.reg(a)?, self.reg(b)?);
                let other = self.value(format_args!("not.pred"), vt, [b.into()])?;
                return self.op(format_args!("and.pred"), dst, [a.into(), other.into()]);
            }
            Logic::And => "and",
            Logic::Or => "or",
            Logic::Xor => "xor",
        };
        let operands = [self.reg(a)?.into(), self.reg(b)?.into()];
        self.op(format_args!("{op}.pred"), dst, operands)
    }

    fn reduce_predicates(&mut self, op: BinaryOp, vector: Value, result: Word) -> Result<(), Error> {
        let Some(dst) = self.dst(result) else { return Ok(()) };
        let elements = self.elements(vector)?;
        let mut sum = elements[0][0];
        for element in &elements[1..] {
            let operands = [self.reg(sum)?.into(), self.reg(element[0])?.into()];
            let next = self.value(format_args!("{}.pred", op.as_str()), result.vt, operands)?;
            sum = Word { vt: result.vt, part: Part::Reg(next) };
        }
        self.assign(dst, sum)
    }
}
