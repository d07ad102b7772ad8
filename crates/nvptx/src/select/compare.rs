//! Comparisons: `setp`.

use super::error::Error;
use super::legal::Vt;
use super::lower::Lower;
use super::word_table::{Part, Word};
use crate::ir::{FloatPredicate, IntPredicate, Value};
use crate::machine::{Operand, VReg};

impl Lower<'_> {
    /// `icmp` of integers, pointers and vectors of them.
    pub(super) fn compare_integers(
        &mut self,
        predicate: IntPredicate,
        args: [Value; 2],
        words: &[Word],
    ) -> Result<(), Error> {
        let ty = self.type_of(args[0]);
        let bits = self.ir.types.int_bits(self.ir.types.scalar(ty)).unwrap_or(64);
        let results: Vec<Word> = words.to_vec();
        let (a, b) = (self.elements(args[0])?, self.elements(args[1])?);
        for (at, result) in results.into_iter().enumerate() {
            let Some(dst) = self.dst(result) else { continue };
            match (a[at].as_slice(), b[at].as_slice()) {
                (&[a], &[b]) => self.scalar_compare(predicate, bits, a, b, dst)?,
                _ => {
                    let (a, b) = (a[at].clone(), b[at].clone());
                    self.wide_compare(predicate, &a, &b, bits, dst)?;
                }
            }
        }
        Ok(())
    }

    fn scalar_compare(&mut self, predicate: IntPredicate, bits: u32, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
        if a.vt == Vt::Pred {
            return self.predicate_compare(predicate, a, b, dst);
        }
        // A constant is easier to read, and folded by the hardware, as the second operand.
        let (predicate, a, b) = match a.part {
            Part::Bits(_) => (predicate.swapped(), b, a),
            _ => (predicate, a, b),
        };
        let signed = predicate.is_signed();
        let (a, b) = (self.extended(a, bits, signed)?, self.extended(b, bits, signed)?);
        let (name, is_signed) = match predicate {
            IntPredicate::Eq => ("eq", true),
            IntPredicate::Ne => ("ne", true),
            IntPredicate::Ugt => ("gt", false),
            IntPredicate::Uge => ("ge", false),
            IntPredicate::Ult => ("lt", false),
            IntPredicate::Ule => ("le", false),
            IntPredicate::Sgt => ("gt", true),
            IntPredicate::Sge => ("ge", true),
            IntPredicate::Slt => ("lt", true),
            IntPredicate::Sle => ("le", true),
        };
        let operands = [self.reg(a)?.into(), self.src(b)?];
        self.op(format_args!("setp.{name}.{}", a.vt.typed(is_signed)), dst, operands)
    }

    /// Comparisons of `i1`; as a signed number, true is less than false.
    fn predicate_compare(&mut self, predicate: IntPredicate, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
        use IntPredicate::*;
        let (a, b) = (self.reg(a)?, self.reg(b)?);
        // With a < b as !a & b, all orders follow by exchange and negation.
        let (name, first, second, negate) = match predicate {
            Eq => ("xor", a, b, true),
            Ne => ("xor", a, b, false),
            Ult | Sgt => ("and", a, b, false),
            Ugt | Slt => ("and", b, a, false),
            Uge | Sle => ("and", a, b, true),
            Ule | Sge => ("and", b, a, true),
        };
        let first = match name {
            "and" => self.value(format_args!("not.pred"), Vt::Pred, [first.into()])?,
            _ => first,
        };
        if !negate {
            return self.op(format_args!("{name}.pred"), dst, [first.into(), second.into()]);
        }
        let inner = self.value(format_args!("{name}.pred"), Vt::Pred, [first.into(), second.into()])?;
        self.op(format_args!("not.pred"), dst, [inner.into()])
    }

    /// `fcmp`
    pub(super) fn compare_floats(
        &mut self,
        predicate: FloatPredicate,
        args: [Value; 2],
        words: &[Word],
    ) -> Result<(), Error> {
        let results: Vec<Word> = words.to_vec();
        let (a, b) = (self.elements(args[0])?, self.elements(args[1])?);
        for (at, result) in results.into_iter().enumerate() {
            if let Some(dst) = self.dst(result) {
                self.scalar_float_compare(predicate, a[at][0], b[at][0], dst)?;
            }
        }
        Ok(())
    }

    fn scalar_float_compare(&mut self, predicate: FloatPredicate, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
        use FloatPredicate::*;
        let name = match predicate {
            False | True => {
                let bits = u64::from(predicate == True);
                return self.assign(dst, Word { vt: Vt::Pred, part: Part::Bits(bits) });
            }
            Oeq => "eq",
            Ogt => "gt",
            Oge => "ge",
            Olt => "lt",
            Ole => "le",
            One => "ne",
            Ord => "num",
            Ueq => "equ",
            Ugt => "gtu",
            Uge => "geu",
            Ult => "ltu",
            Ule => "leu",
            Une => "neu",
            Uno => "nan",
        };
        let (a, b) = (self.comparable(a)?, self.comparable(b)?);
        let operands: [Operand; 2] = [self.reg(a)?.into(), self.src(b)?];
        let ftz = self.ftz(a.vt);
        self.op(format_args!("setp.{name}{ftz}.{}", a.vt.typed(true)), dst, operands)
    }

    /// `bfloat` is compared as such from sm_90 on, before as `float`.
    fn comparable(&mut self, word: Word) -> Result<Word, Error> {
        match word.vt {
            Vt::Bf16 if self.options.arch < 90 => self.widened_bf16(word),
            _ => Ok(word),
        }
    }
}
