//! `llvm.*` on floats.

use crate::ir::{InstFlags, Value};
use crate::machine::{Operand, VReg};
use crate::select::error::Error;
use crate::select::legal::Vt;
use crate::select::lower::Lower;
use crate::select::word_table::{Part, Word, Words, in_reg};

impl Lower<'_> {
    /// The PTX name of an intrinsic that exists on pairs of halves.
    pub(super) fn packed_float_form(&self, name: &str, vt: Vt) -> Option<&'static str> {
        if let Some(form) = self.half_approximation(name, vt.lane()) {
            return Some(form);
        }
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

    /// The PTX name of an approximation that exists on halves.
    fn half_approximation(&self, name: &str, lane: Vt) -> Option<&'static str> {
        const FORMS: [(&str, Vt, u32, &str); 4] = [
            ("tanh.approx", Vt::F16, 75, "tanh.approx"),
            ("tanh.approx", Vt::Bf16, 90, "tanh.approx"),
            ("ex2.approx", Vt::F16, 75, "ex2.approx"),
            ("ex2.approx", Vt::Bf16, 90, "ex2.approx.ftz"),
        ];
        let found = FORMS.iter().find(|(of, ty, since, _)| *of == name && *ty == lane && self.options.arch >= *since);
        found.map(|(.., form)| *form)
    }

    pub(super) fn packed_float(&mut self, form: &str, args: &[Value], words: &[Word]) -> Result<bool, Error> {
        let args = args.iter().map(|&arg| self.words_of(arg)).collect::<Result<Vec<Words>, _>>()?;
        for (at, word) in words.iter().enumerate() {
            if let Some(dst) = self.packed_dst(*word) {
                let operands = args.iter().map(|words| self.src(words[at])).collect::<Result<Vec<_>, _>>()?;
                self.op(format_args!("{form}.{}", word.vt.typed(true)), dst, operands)?;
            }
        }
        Ok(true)
    }

    /// Intrinsics on floating-point scalars.
    pub(super) fn float_intrinsic(&mut self, name: &str, args: &[Words], result: Word, dst: VReg) -> Result<(), Error> {
        let a = args[0][0];
        let vt = a.vt;
        let half = matches!(vt, Vt::F16 | Vt::Bf16);
        if matches!(name, "lrint" | "llrint" | "lround" | "llround") {
            return self.rounded_integer(name.ends_with("round"), a, result, dst);
        }
        if let Some(form) = self.half_approximation(name, vt) {
            let src = self.src(a)?;
            return self.op(format_args!("{form}.{}", vt.typed(true)), dst, [src]);
        }
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
            "exp2" if vt == Vt::F32 => {
                let src = self.src(a)?;
                self.op(format_args!("ex2.approx{ftz}.f32"), dst, [src])
            }
            _ if name.ends_with(".approx") && vt == Vt::F32 => {
                let src = self.src(a)?;
                self.op(format_args!("{name}{ftz}.f32"), dst, [src])
            }
            _ => Err(no_function(name, vt)),
        }
    }

    /// `lrint` and `lround`: to an integer, ties to the even one or away from zero.
    fn rounded_integer(&mut self, away: bool, a: Word, result: Word, dst: VReg) -> Result<(), Error> {
        let a = if matches!(a.vt, Vt::F16 | Vt::Bf16) { self.half_to_float(a)? } else { a };
        let (t, ftz) = (a.vt.typed(true), self.ftz(a.vt));
        let (mode, source) = if away {
            let whole = self.new_reg(a.vt);
            self.demand(Part::Reg(whole));
            self.round_half_away(a, whole)?;
            ("rzi", whole.into())
        } else {
            ("rni", self.src(a)?)
        };
        self.op(format_args!("cvt.{mode}{ftz}.{}.{t}", result.vt.typed(true)), dst, [source])
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
}

/// Functions that are one instruction where an approximation of `float` will do; what it is called in PTX.
const APPROXIMATIONS: [(&str, &str); 6] = [
    ("sin", "sin.approx"),
    ("cos", "cos.approx"),
    ("log2", "lg2.approx"),
    ("exp2", "ex2.approx"),
    ("tanh", "tanh.approx"),
    ("sqrt", "sqrt.approx"),
];

/// The approximation that stands for an intrinsic with these flags on elements of a type.
pub(super) fn approximation(name: &str, flags: InstFlags, element: Vt) -> Option<&'static str> {
    let rough = flags.contains(InstFlags::APPROX_FUNC) && element != Vt::F64;
    let found = APPROXIMATIONS.iter().find(|(of, _)| rough && *of == name);
    found.map(|(_, approximation)| *approximation)
}

/// A function that only a library has.
fn no_function(name: &str, vt: Vt) -> Error {
    let letter = if vt == Vt::F64 { "" } else { "f" };
    let t = vt.typed(true);
    Error::new(format!("calls of `llvm.{name}.{t}` (libdevice has it as `__nv_{name}{letter}`)"))
}
