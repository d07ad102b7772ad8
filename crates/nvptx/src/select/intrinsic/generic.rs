//! `llvm.*` on scalars and vectors: bits, integers, floats.

use crate::ir::{Call, InstId, Value};
use crate::machine::{Operand, VReg};
use crate::select::Error;
use crate::select::legal::Vt;
use crate::select::lower::Lower;
use crate::select::words::{Part, Word, Words};

fn in_reg(vt: Vt, reg: VReg) -> Word {
    Word { vt, part: Part::Reg(reg) }
}

/// The name before the types that overloading appends: `ctpop` of `ctpop.i32`.
fn base_name(name: &str) -> &str {
    let mut base = name;
    if name.starts_with("nvvm.") {
        return name;
    }
    while let Some((rest, last)) = base.rsplit_once('.') {
        let digits = last.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let typed = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_alphanumeric());
        if !typed {
            break;
        }
        base = rest;
    }
    base
}

impl Lower<'_> {
    /// True for intrinsics on packed vectors, which are done lane by lane.
    pub(in crate::select) fn is_lane_intrinsic(&self, call: &Call, vt: Vt) -> bool {
        let Some(name) = self.intrinsic_name(call) else { return false };
        !name.starts_with("nvvm.") && self.packed_float_form(base_name(name), vt).is_none()
    }

    /// The PTX name of an intrinsic that exists on pairs of halves.
    fn packed_float_form(&self, name: &str, vt: Vt) -> Option<&'static str> {
        if !matches!(vt.lane(), Vt::F16 | Vt::Bf16) || self.options.arch < 80 {
            return None;
        }
        match name {
            "fma" => Some("fma.rn"),
            "fabs" => Some("abs"),
            "maxnum" => Some("max"),
            "minnum" => Some("min"),
            "maximum" => Some("max.NaN"),
            "minimum" => Some("min.NaN"),
            _ => None,
        }
    }

    /// An intrinsic of LLVM's own; false when it is none that is known.
    pub(super) fn generic_intrinsic(
        &mut self,
        name: &str,
        call: &Call,
        inst: InstId,
        words: &[Word],
    ) -> Result<bool, Error> {
        let base = base_name(name);
        let args: Vec<Value> = call.args.to_vec();
        let ty = self.body[inst].ty;
        match base {
            "trap" | "ubsantrap" => {
                self.emit(format_args!("trap"), 0, [])?;
                return Ok(true);
            }
            "debugtrap" => {
                self.emit(format_args!("brkpt"), 0, [])?;
                return Ok(true);
            }
            "expect"
            | "expect.with.probability"
            | "launder.invariant.group"
            | "strip.invariant.group"
            | "annotation"
            | "ssa.copy"
            | "arithmetic.fence" => {
                let source = self.words_of(args[0])?;
                for (at, word) in words.iter().enumerate() {
                    if let Some(dst) = self.packed_dst(*word) {
                        self.reinterpret(dst, word.vt, source[at])?;
                    }
                }
                return Ok(true);
            }
            "nvvm.barrier0.popc" | "nvvm.barrier0.and" | "nvvm.barrier0.or" => {
                self.reducing_barrier(&base["nvvm.barrier0.".len()..], args[0], words)?;
                return Ok(true);
            }
            "is.constant" => {
                self.all_results(words, 0)?;
                return Ok(true);
            }
            "objectsize" => {
                let unknown = self.constant_of(args[1]).is_some_and(|c| matches!(c, crate::ir::Constant::Int(_, 1)));
                self.all_results(words, if unknown { 0 } else { u64::MAX })?;
                return Ok(true);
            }
            _ if base.starts_with("vector.reduce.") => {
                return self.reduce(&base["vector.reduce.".len()..], &args, words);
            }
            _ if base.ends_with(".with.overflow") => {
                return self.with_overflow(base, &args, words);
            }
            _ => {}
        }
        if let Some(nvvm) = base.strip_prefix("nvvm.").or_else(|| name.strip_prefix("nvvm.")) {
            return self.conversion_intrinsic(nvvm, &args, words);
        }
        let Some(&first) = args.first() else { return Ok(false) };
        let bits = self.ir.types.int_bits(self.ir.types.scalar(self.type_of(first))).unwrap_or(64);
        let scalar = self.ir.types.scalar(ty);
        let vt = crate::select::legal::scalar(&self.ir.types, &self.ir.layout, scalar)?.unwrap_or(Vt::I64);
        if words.iter().any(|word| word.vt.lanes() > 1)
            && let Some(form) = self.packed_float_form(base, vt)
        {
            return self.packed_float(form, &args, words);
        }
        let arity = elementwise_arity(base);
        if arity == 0 || args.len() < arity {
            return Ok(false);
        }
        let name = base.to_owned();
        self.each_element(ty, words, &args[..arity], |this, args, result| {
            this.element_intrinsic(&name, bits, args, result)
        })?;
        Ok(true)
    }

    /// A barrier that tells how many threads, or whether all or any, came with a number other than 0.
    fn reducing_barrier(&mut self, kind: &str, value: Value, words: &[Word]) -> Result<(), Error> {
        let &[result] = words else { return Err(Error::new("barriers with more than one result")) };
        let dst = self.result(result)?;
        let word = self.word(value)?;
        let operands = [self.reg(word)?.into(), Operand::Imm(0)];
        let set = self.value(format_args!("setp.ne.s32"), Vt::Pred, operands)?;
        let barrier = Operand::Imm(0);
        if kind == "popc" {
            return self.op(format_args!("bar.red.popc.u32"), dst, [barrier, set.into()]);
        }
        let told = self.value(format_args!("bar.red.{kind}.pred"), Vt::Pred, [barrier, set.into()])?;
        self.op(format_args!("selp.b32"), dst, [Operand::Imm(1), Operand::Imm(0), told.into()])
    }

    fn all_results(&mut self, words: &[Word], bits: u64) -> Result<(), Error> {
        for word in words {
            if let Some(dst) = self.dst(*word) {
                self.assign(dst, Word { vt: word.vt, part: Part::Bits(bits) })?;
            }
        }
        Ok(())
    }

    fn packed_float(&mut self, form: &str, args: &[Value], words: &[Word]) -> Result<bool, Error> {
        let args = args.iter().map(|&arg| self.words_of(arg)).collect::<Result<Vec<Words>, _>>()?;
        for (at, word) in words.iter().enumerate() {
            if let Some(dst) = self.packed_dst(*word) {
                let operands = args.iter().map(|words| self.src(words[at])).collect::<Result<Vec<_>, _>>()?;
                self.op(format_args!("{form}.{}", word.vt.typed(true)), dst, operands)?;
            }
        }
        Ok(true)
    }

    /// One element of an intrinsic.
    fn element_intrinsic(&mut self, name: &str, bits: u32, args: &[Words], result: &[Word]) -> Result<(), Error> {
        if result.len() != 1 || args[0].len() != 1 {
            return self.wide_intrinsic(name, bits, args, result);
        }
        let Some(dst) = self.dst(result[0]) else { return Ok(()) };
        let word = |at: usize| args[at][0];
        let a = word(0);
        if a.vt.is_float() {
            return self.float_intrinsic(name, args, result[0], dst);
        }
        match name {
            "ctpop" | "ctlz" | "cttz" | "bitreverse" | "bswap" => self.bit_intrinsic(name, bits, a, result[0], dst),
            "fshl" | "fshr" => self.funnel_shift(name == "fshl", bits, [a, word(1), word(2)], dst),
            "abs" => {
                let a = self.extended(a, bits, true)?;
                let src = self.src(a)?;
                self.op(format_args!("abs.{}", a.vt.typed(true)), dst, [src])
            }
            "smin" | "smax" | "umin" | "umax" => {
                let signed = name.starts_with('s');
                if a.vt == Vt::Pred {
                    // As signed numbers true is -1, so the larger of two is their conjunction.
                    let op = if (name == "umax") || (name == "smin") { "or" } else { "and" };
                    let operands = [self.reg(a)?.into(), self.reg(word(1))?.into()];
                    return self.op(format_args!("{op}.pred"), dst, operands);
                }
                let (a, b) = (self.extended(a, bits, signed)?, self.extended(word(1), bits, signed)?);
                let operands = [self.src(a)?, self.src(b)?];
                self.op(format_args!("{}.{}", &name[1..], a.vt.typed(signed)), dst, operands)
            }
            "sadd.sat" if bits == 32 => {
                let operands = [self.src(a)?, self.src(word(1))?];
                self.op(format_args!("add.sat.s32"), dst, operands)
            }
            "ssub.sat" if bits == 32 => {
                let operands = [self.src(a)?, self.src(word(1))?];
                self.op(format_args!("sub.sat.s32"), dst, operands)
            }
            "uadd.sat" | "usub.sat" | "sadd.sat" | "ssub.sat" => self.saturating(name, bits, a, word(1), dst),
            "scmp" | "ucmp" => self.three_way(name == "scmp", bits, a, word(1), result[0], dst),
            _ => Err(Error::new(format!("calls of `llvm.{name}` on integers"))),
        }
    }

    fn wide_intrinsic(&mut self, name: &str, bits: u32, args: &[Words], result: &[Word]) -> Result<(), Error> {
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
    fn bit_intrinsic(&mut self, name: &str, bits: u32, a: Word, result: Word, dst: VReg) -> Result<(), Error> {
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
    fn funnel_shift(&mut self, left: bool, bits: u32, args: [Word; 3], dst: VReg) -> Result<(), Error> {
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

    /// Saturating sums and differences of widths that PTX has none for.
    fn saturating(&mut self, name: &str, bits: u32, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
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
    fn three_way(&mut self, signed: bool, bits: u32, a: Word, b: Word, result: Word, dst: VReg) -> Result<(), Error> {
        let (a, b) = (self.extended(a, bits, signed)?, self.extended(b, bits, signed)?);
        let operands = [self.reg(a)?.into(), self.src(b)?];
        let t = a.vt.typed(signed);
        let less = self.value(format_args!("setp.lt.{t}"), Vt::Pred, operands.clone())?;
        let more = self.value(format_args!("setp.gt.{t}"), Vt::Pred, operands)?;
        let r = result.vt.untyped();
        let up = self.value(format_args!("selp.{r}"), result.vt, [Operand::Imm(1), Operand::Imm(0), more.into()])?;
        self.op(format_args!("selp.{r}"), dst, [Operand::Imm(-1), up.into(), less.into()])
    }

    /// Intrinsics on floating-point scalars.
    fn float_intrinsic(&mut self, name: &str, args: &[Words], result: Word, dst: VReg) -> Result<(), Error> {
        let a = args[0][0];
        let vt = a.vt;
        let half = matches!(vt, Vt::F16 | Vt::Bf16);
        let native = match name {
            "fma" | "fmuladd" => vt != Vt::Bf16 || self.options.arch >= 80,
            "fabs" => true,
            "maxnum" | "minnum" | "maximumnum" | "minimumnum" => !half || self.options.arch >= 80,
            "maximum" | "minimum" => vt != Vt::F64 && self.options.arch >= 80,
            _ => !half,
        };
        if half && !native {
            return self.half_intrinsic(name, args, result, dst);
        }
        let (t, ftz) = (vt.typed(true), self.ftz(vt));
        let rounding = |this: &mut Self, mode: &str| {
            let src = this.src(a)?;
            this.op(format_args!("cvt.{mode}{ftz}.{t}.{t}"), dst, [src])
        };
        match name {
            "fma" | "fmuladd" => self.fused_multiply_add("rn", a, args[1][0], args[2][0], dst),
            "fabs" if half && vt == Vt::Bf16 && self.options.arch < 80 || half && self.options.arch < 53 => {
                let operands = [self.bits_src(a)?, Operand::Imm(0x7FFF)];
                self.op(format_args!("and.b16"), dst, operands)
            }
            "fabs" => {
                let src = self.src(a)?;
                self.op(format_args!("abs{ftz}.{t}"), dst, [src])
            }
            "sqrt" => {
                let how = if vt == Vt::F32 && !self.options.prec_sqrt { "approx" } else { "rn" };
                let src = self.src(a)?;
                self.op(format_args!("sqrt.{how}{ftz}.{t}"), dst, [src])
            }
            "floor" => rounding(self, "rmi"),
            "ceil" => rounding(self, "rpi"),
            "trunc" => rounding(self, "rzi"),
            "rint" | "nearbyint" | "roundeven" => rounding(self, "rni"),
            "round" => self.round_half_away(a, dst),
            "maxnum" | "minnum" | "maximumnum" | "minimumnum" => {
                let operands = [self.src(a)?, self.src(args[1][0])?];
                self.op(format_args!("{}{ftz}.{t}", &name[..3]), dst, operands)
            }
            "maximum" | "minimum" if native => {
                let operands = [self.src(a)?, self.src(args[1][0])?];
                self.op(format_args!("{}.NaN{ftz}.{t}", &name[..3]), dst, operands)
            }
            "maximum" | "minimum" => self.propagating(&name[..3], a, args[1][0], dst),
            "copysign" => {
                let operands = [self.src(args[1][0])?, self.src(a)?];
                self.op(format_args!("copysign.{t}"), dst, operands)
            }
            "canonicalize" => {
                let one = Word { vt, part: Part::Bits(crate::select::float::one(vt)) };
                let operands = [self.src(a)?, self.src(one)?];
                self.op(format_args!("mul.rn{ftz}.{t}"), dst, operands)
            }
            "exp2" | "log2" | "sin" | "cos" if vt == Vt::F32 => {
                let op = if name == "exp2" {
                    "ex2"
                } else if name == "log2" {
                    "lg2"
                } else {
                    name
                };
                let src = self.src(a)?;
                self.op(format_args!("{op}.approx{ftz}.f32"), dst, [src])
            }
            _ => Err(Error::new(format!("calls of `llvm.{name}.{t}`"))),
        }
    }

    /// Halves by way of `float`; for a fused product that is exact up to one rounding only with `double`.
    fn half_intrinsic(&mut self, name: &str, args: &[Words], result: Word, dst: VReg) -> Result<(), Error> {
        if name == "copysign" {
            return self.half_copysign(args, dst);
        }
        if matches!(name, "fma" | "fmuladd") && result.vt == Vt::Bf16 {
            return Err(Error::new("fused products of `bfloat` before sm_80"));
        }
        let mut wide = Vec::with_capacity(args.len());
        for words in args {
            wide.push(Words::from_slice(&[self.half_to_float(words[0])?]));
        }
        let float = self.new_reg(Vt::F32);
        self.demand(Part::Reg(float));
        let word = in_reg(Vt::F32, float);
        self.float_intrinsic(name, &wide, word, float)?;
        self.float_to_half(word, result.vt, dst)
    }

    fn half_copysign(&mut self, args: &[Words], dst: VReg) -> Result<(), Error> {
        let (size, sign) = (self.bits_src(args[0][0])?, self.bits_src(args[1][0])?);
        let size = self.value(format_args!("and.b16"), Vt::I16, [size, Operand::Imm(0x7FFF)])?;
        let sign = self.value(format_args!("and.b16"), Vt::I16, [sign, Operand::Imm(-0x8000)])?;
        self.op(format_args!("or.b16"), dst, [size.into(), sign.into()])
    }

    /// Ties away from zero: x plus a half of its sign, rounded towards zero so that what is just below a half
    /// stays below one, and cut.
    fn round_half_away(&mut self, a: Word, dst: VReg) -> Result<(), Error> {
        let vt = a.vt;
        let t = vt.typed(true);
        let x = self.src(a)?;
        let half = if vt == Vt::F32 { Operand::F32(0x3F00_0000) } else { Operand::F64(0x3FE0_0000_0000_0000) };
        let signed = self.value(format_args!("copysign.{t}"), vt, [x.clone(), half])?;
        let sum = self.value(format_args!("add.rz.{t}"), vt, [x, signed.into()])?;
        self.op(format_args!("cvt.rzi.{t}.{t}"), dst, [sum.into()])
    }

    /// `maximum`, `minimum` without `.NaN`: a NaN in either operand wins, and -0 is less than +0, which `max`
    /// and `min` of PTX see to.
    fn propagating(&mut self, op: &str, a: Word, b: Word, dst: VReg) -> Result<(), Error> {
        let t = a.vt.typed(true);
        let operands: [Operand; 2] = [self.reg(a)?.into(), self.src(b)?];
        let best = self.value(format_args!("{op}.{t}"), a.vt, operands.clone())?;
        let sum = self.value(format_args!("add.rn.{t}"), a.vt, operands.clone())?;
        let is_nan = self.value(format_args!("setp.nan.{t}"), Vt::Pred, operands)?;
        self.op(format_args!("selp.{t}"), dst, [sum.into(), best.into(), is_nan.into()])
    }

    /// `vector.reduce.OP`: in order, as floating-point sums must be.
    fn reduce(&mut self, op: &str, args: &[Value], words: &[Word]) -> Result<bool, Error> {
        use crate::ir::{BinaryOp, InstFlags};
        let Some(&vector) = args.last() else { return Ok(false) };
        let &[result] = words else { return Err(Error::new("reductions of more than 64 bits")) };
        let Some(dst) = self.dst(result) else { return Ok(true) };
        let bits = self.ir.types.int_bits(self.ir.types.scalar(self.type_of(vector))).unwrap_or(64);
        let mut elements = self.elements(vector)?.into_iter().map(|words| words[0]).collect::<Vec<_>>();
        if args.len() == 2 {
            let start = self.word(args[0])?;
            elements.insert(0, start);
        }
        let mut sum = elements[0];
        let binary = match op {
            "fadd" | "fmul" | "add" | "mul" | "and" | "or" | "xor" => BinaryOp::from_name(op),
            _ => None,
        };
        if elements.len() == 1 {
            self.assign(dst, sum)?;
        }
        let last = elements.len();
        for (at, &element) in elements.iter().enumerate().skip(1) {
            let to = if at + 1 == last { dst } else { self.new_reg(result.vt) };
            self.demand(Part::Reg(to));
            match binary {
                Some(op) if op.is_float() => self.scalar_float(op, InstFlags::empty(), sum, element, to)?,
                Some(op) => self.scalar_binary(op, bits, sum, element, to)?,
                None => {
                    let name = match op {
                        "fmax" => "maxnum",
                        "fmin" => "minnum",
                        "fmaximum" => "maximum",
                        "fminimum" => "minimum",
                        other => other,
                    };
                    let args = [Words::from_slice(&[sum]), Words::from_slice(&[element])];
                    self.element_intrinsic(name, bits, &args, &[in_reg(result.vt, to)])?;
                }
            }
            sum = in_reg(result.vt, to);
        }
        Ok(true)
    }

    /// `uadd.with.overflow` and its like: the result, and whether it wrapped.
    fn with_overflow(&mut self, name: &str, args: &[Value], words: &[Word]) -> Result<bool, Error> {
        use crate::ir::BinaryOp;
        let &[result, flag] = words else { return Err(Error::new("overflow checks of more than 64 bits")) };
        let bits = self.ir.types.int_bits(self.type_of(args[0])).unwrap_or(64);
        let signed = name.starts_with('s');
        let op = match &name[1..4] {
            "add" => BinaryOp::Add,
            "sub" => BinaryOp::Sub,
            _ => BinaryOp::Mul,
        };
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

    /// `nvvm.d2i.rn`, `nvvm.ui2f.rz` and the like, halves of doubles, conversions between spaces.
    fn conversion_intrinsic(&mut self, name: &str, args: &[Value], words: &[Word]) -> Result<bool, Error> {
        let &[result] = words else { return Ok(false) };
        let Some(dst) = self.dst(result) else { return Ok(true) };
        match name {
            "lohi.i2d" => {
                let [low, high] = self.pair_of_words([args[0], args[1]])?;
                let items = [self.reg(low)?.into(), self.reg(high)?.into()];
                self.op(format_args!("mov.b64"), dst, [Operand::Vector(Box::new(items))])?;
                return Ok(true);
            }
            "d2i.lo" | "d2i.hi" => {
                let word = self.word(args[0])?;
                let src: Operand = self.reg(word)?.into();
                let items = if name == "d2i.lo" { [dst.into(), Operand::Sink] } else { [Operand::Sink, dst.into()] };
                self.emit(format_args!("mov.b64"), 1, [Operand::Vector(Box::new(items)), src])?;
                return Ok(true);
            }
            _ => {}
        }
        if let Some(rest) = name.strip_prefix("ptr.") {
            return self.pointer_intrinsic(rest, args[0], result, dst);
        }
        let mut parts = name.split('.');
        let (Some(pair), Some(mode)) = (parts.next(), parts.next()) else { return Ok(false) };
        let Some((from, to)) = pair.split_once('2') else { return Ok(false) };
        let ftz = if parts.next() == Some("ftz") { ".ftz" } else { "" };
        let (Some(from), Some(to)) = (conversion_type(from), conversion_type(to)) else { return Ok(false) };
        if !matches!(mode, "rn" | "rz" | "rm" | "rp") {
            return Ok(false);
        }
        let integral = if to.starts_with(['s', 'u']) { "i" } else { "" };
        let word = self.word(args[0])?;
        let src = self.src(word)?;
        self.op(format_args!("cvt.{mode}{integral}{ftz}.{to}.{from}"), dst, [src])?;
        Ok(true)
    }

    /// `ptr.gen.to.global` and the like.
    fn pointer_intrinsic(&mut self, name: &str, arg: Value, result: Word, dst: VReg) -> Result<bool, Error> {
        let Some((from, to)) = name.split_once(".to.") else { return Ok(false) };
        let to = to.split('.').next().unwrap_or(to);
        let space = |name: &str| if name == "constant" { "const".to_owned() } else { name.to_owned() };
        let word = self.word(arg)?;
        let src: Operand = self.reg(word)?.into();
        let t = if result.vt == Vt::I32 { "u32" } else { "u64" };
        match (from, to) {
            ("gen", to) => self.op(format_args!("cvta.to.{}.{t}", space(to)), dst, [src])?,
            (from, "gen") => self.op(format_args!("cvta.{}.{t}", space(from)), dst, [src])?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The PTX type of a letter group in `nvvm.d2i.rn`.
fn conversion_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "d" => "f64",
        "f" => "f32",
        "h" => "f16",
        "i" => "s32",
        "ui" => "u32",
        "ll" => "s64",
        "ull" => "u64",
        _ => return None,
    })
}

/// How many arguments of an intrinsic are taken element by element; 0 for those that are not.
fn elementwise_arity(name: &str) -> usize {
    match name {
        "ctpop" | "ctlz" | "cttz" | "bitreverse" | "bswap" | "abs" | "fabs" | "sqrt" | "floor" | "ceil" | "trunc"
        | "rint" | "nearbyint" | "roundeven" | "round" | "canonicalize" | "exp2" | "log2" | "sin" | "cos" => 1,
        "smin" | "smax" | "umin" | "umax" | "uadd.sat" | "usub.sat" | "sadd.sat" | "ssub.sat" | "maxnum" | "minnum"
        | "maximum" | "minimum" | "maximumnum" | "minimumnum" | "copysign" | "scmp" | "ucmp" => 2,
        "fshl" | "fshr" | "fma" | "fmuladd" => 3,
        _ => 0,
    }
}
