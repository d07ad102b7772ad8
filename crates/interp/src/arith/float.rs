//! Floating point, all formats with arithmetic: sums, products, quotients, roots, minima, signs, classes.
//!
//! NaN results are the one NaN of the format, but for f64, where the first NaN among the sources stays,
//! made quiet.

use oriole_ptx::ast::{Instruction, Opcode, Rounding, ScalarType, Word};
use rustc_apfloat::ieee::Quad;
use rustc_apfloat::{Float, Round};
use smallvec::{SmallVec, smallvec};

use super::format::{Format, odd, square_root};
use super::function::{Arithmetic, Bits, Compiled, Results, Unsupported, elements, low, type_of, unsupported};

/// Exact and correctly rounded instructions; approximations are elsewhere.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    let Some(ty) = inst.ty(0) else { return Ok(None) };
    let Some(format) = arithmetic_format(elements(ty).0) else { return Ok(None) };
    if let Some(operation) = operation(inst) {
        let rule = Rule::of(inst, operation, format)?;
        return match inst.ty(1) {
            Some(_) if inst.ty(2).is_some() => pairs_of_formats(inst, rule, ty).map(Some),
            Some(narrow) => mixed(inst, rule, narrow).map(Some),
            None => Ok(Some(rule.arithmetic(ty))),
        };
    }
    let ftz = inst.has(Word::Ftz);
    Ok(Some(match inst.opcode {
        Opcode::Min | Opcode::Max => minimum_or_maximum(inst, ty, format),
        Opcode::Abs => Arithmetic::lanewise(ty, move |[a]| format.magnitude(canonical(format, ftz, a))),
        Opcode::Neg => Arithmetic::lanewise(ty, move |[a]| negated(format, canonical(format, ftz, a))),
        Opcode::Copysign => Arithmetic::function(ty, [ty; 2], move |[a, b]| format.magnitude(b) | a & format.sign()),
        Opcode::Testp => class_test(inst, ty, format)?,
        _ => return Ok(None),
    }))
}

/// The format of a type that arithmetic works on.
pub(super) fn arithmetic_format(ty: ScalarType) -> Option<Format> {
    Some(match ty {
        ScalarType::F16 => Format::F16,
        ScalarType::Bf16 => Format::Bf16,
        ScalarType::F32 => Format::F32,
        ScalarType::F64 => Format::F64,
        _ => return None,
    })
}

/// What IEEE 754 defines to be correctly rounded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Add,
    Sub,
    Mul,
    /// `a * b + c`
    Fma,
    Div,
    /// `1 / a`
    Rcp,
    Sqrt,
}

/// The operation of an instruction that rounds correctly.
fn operation(inst: &Instruction) -> Option<Operation> {
    let rounded = inst.rounding().is_some();
    Some(match inst.opcode {
        Opcode::Add => Operation::Add,
        Opcode::Sub => Operation::Sub,
        Opcode::Mul => Operation::Mul,
        Opcode::Fma | Opcode::Mad => Operation::Fma,
        Opcode::Div if rounded => Operation::Div,
        Opcode::Rcp if rounded => Operation::Rcp,
        Opcode::Sqrt if rounded => Operation::Sqrt,
        _ => return None,
    })
}

/// What happens to a rounded result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    Nothing,
    /// `.sat`: into [0, 1]; NaN and -0 become +0.
    Sat,
    /// `.relu`: negative values and -0 become +0, NaN stays.
    Relu,
}

impl Finish {
    /// As the modifiers say.
    pub(super) fn of(inst: &Instruction) -> Finish {
        match (inst.has(Word::Sat), inst.has(Word::Relu)) {
            (true, _) => Finish::Sat,
            (false, true) => Finish::Relu,
            (false, false) => Finish::Nothing,
        }
    }

    /// Applies it.
    pub(super) fn apply(self, format: Format, value: Bits) -> Bits {
        let negative = value & format.sign() != 0;
        match self {
            Finish::Nothing => value,
            Finish::Sat if negative || format.is_nan(value) => 0,
            Finish::Sat => value.min(format.one()),
            Finish::Relu if format.is_nan(value) => format.nan(),
            Finish::Relu if negative => 0,
            Finish::Relu => value,
        }
    }
}

/// The direction that a modifier names; none means to nearest, ties to even.
pub(super) fn direction(inst: &Instruction) -> Result<Round, Unsupported> {
    Ok(match inst.rounding() {
        None | Some(Rounding::Rn | Rounding::Rni) => Round::NearestTiesToEven,
        Some(Rounding::Rz | Rounding::Rzi) => Round::TowardZero,
        Some(Rounding::Rm | Rounding::Rmi) => Round::TowardNegative,
        Some(Rounding::Rp | Rounding::Rpi) => Round::TowardPositive,
        Some(Rounding::Rna) => Round::NearestTiesToAway,
        Some(other @ Rounding::Rs) => return unsupported(inst, format_args!("with `.{other}`")),
    })
}

/// A correctly rounded operation with all its modifiers.
#[derive(Clone, Copy)]
struct Rule {
    operation: Operation,
    format: Format,
    round: Round,
    ftz: bool,
    oob: bool,
    finish: Finish,
}

impl Rule {
    fn of(inst: &Instruction, operation: Operation, format: Format) -> Result<Rule, Unsupported> {
        Ok(Rule {
            operation,
            format,
            round: direction(inst)?,
            ftz: inst.has(Word::Ftz),
            oob: inst.has(Word::Oob),
            finish: Finish::of(inst),
        })
    }

    /// The instruction whose sources and result have type `ty`.
    fn arithmetic(self, ty: ScalarType) -> Arithmetic {
        match self.operation {
            Operation::Rcp | Operation::Sqrt => Arithmetic::lanewise(ty, move |[a]| self.apply([a, 0, 0])),
            Operation::Fma => Arithmetic::lanewise(ty, move |sources| self.apply(sources)),
            _ => Arithmetic::lanewise(ty, move |[a, b]| self.apply([a, b, 0])),
        }
    }

    /// The result for one element; sources that the operation lacks are zero.
    fn apply(self, mut sources: [Bits; 3]) -> Bits {
        if self.oob && sources.iter().any(|&source| self.format.magnitude(source) == OOB_NAN) {
            return 0;
        }
        if self.ftz {
            sources = sources.map(|source| self.format.flushed(source));
        }
        let result = self.rounded(sources);
        self.finish.apply(self.format, if self.ftz { self.format.flushed(result) } else { result })
    }

    fn rounded(self, mut sources: [Bits; 3]) -> Bits {
        if self.format == Format::F64 {
            // A difference is the sum with the negated value, NaN or not.
            if self.operation == Operation::Sub && self.format.is_nan(sources[1]) {
                sources[1] ^= self.format.sign();
            }
            if let Some(nan) = sources.into_iter().find(|&source| self.format.is_nan(source)) {
                return nan | 1 << 51;
            }
        }
        match (self.round, self.format) {
            // What the host computes is the same, and faster.
            (Round::NearestTiesToEven, Format::F32) => {
                let result = self.operation.on_f32(sources.map(|source| f32::from_bits(source as u32)));
                if result.is_nan() { self.format.nan() } else { result.to_bits().into() }
            }
            (Round::NearestTiesToEven, Format::F64) => {
                let result = self.operation.on_f64(sources.map(|source| f64::from_bits(source as u64)));
                if result.is_nan() { self.format.nan() } else { result.to_bits().into() }
            }
            _ => self.exactly(sources),
        }
    }

    fn exactly(self, sources: [Bits; 3]) -> Bits {
        self.of_numbers(sources.map(|source| self.format.decode(source)))
    }

    fn of_numbers(self, [a, b, c]: [Quad; 3]) -> Bits {
        let one = self.format.decode(self.format.one());
        let at = |round| match self.operation {
            Operation::Add => a.add_r(b, round),
            Operation::Sub => a.sub_r(b, round),
            Operation::Mul => a.mul_r(b, round),
            Operation::Fma => a.mul_add_r(b, c, round),
            Operation::Div => a.div_r(b, round),
            Operation::Rcp => one.div_r(a, round),
            Operation::Sqrt => rustc_apfloat::Status::OK.and(square_root(a)),
        };
        let result = odd(at(Round::TowardZero));
        // A zero is exact here, and its sign may depend on the direction.
        let result = if result.is_zero() { at(self.round).value } else { result };
        self.format.encode(result, self.round)
    }
}

impl Operation {
    fn on_f32(self, [a, b, c]: [f32; 3]) -> f32 {
        match self {
            Operation::Add => a + b,
            Operation::Sub => a - b,
            Operation::Mul => a * b,
            Operation::Fma => a.mul_add(b, c),
            Operation::Div => a / b,
            Operation::Rcp => 1.0 / a,
            Operation::Sqrt => a.sqrt(),
        }
    }

    fn on_f64(self, [a, b, c]: [f64; 3]) -> f64 {
        match self {
            Operation::Add => a + b,
            Operation::Sub => a - b,
            Operation::Mul => a * b,
            Operation::Fma => a.mul_add(b, c),
            Operation::Div => a / b,
            Operation::Rcp => 1.0 / a,
            Operation::Sqrt => a.sqrt(),
        }
    }
}

/// The half-precision NaN, of either sign, that stands for an element outside a tensor; `fma.oob` gives
/// zero for it. NVIDIA does not publish the value: it is what others have measured that tensor copies fill in.
const OOB_NAN: Bits = 0x7ff7;

/// `add.f32.f16` and its like: the factors, or the first term, are of a narrower format, the rest is f32.
fn mixed(inst: &Instruction, rule: Rule, narrow: ScalarType) -> Result<Arithmetic, Unsupported> {
    let wide = ScalarType::F32;
    let from = match arithmetic_format(narrow) {
        Some(from @ (Format::F16 | Format::Bf16)) if rule.format == Format::F32 => from,
        _ => return unsupported(inst, format_args!("of types `{}` and `{narrow}`", type_of(inst, 0)?)),
    };
    let widened = move |value| Format::F32.encode(from.decode(value), Round::NearestTiesToEven);
    Ok(match rule.operation {
        Operation::Fma => {
            Arithmetic::function(wide, [narrow, narrow, wide], move |[a, b, c]| rule.apply([widened(a), widened(b), c]))
        }
        _ => Arithmetic::function(wide, [narrow, wide], move |[a, c]| rule.apply([widened(a), c, 0])),
    })
}

/// `add.f32x2.f16x2.f32x2` and its like: pairs of elements, each operand of a format of its own. What is computed of the
/// numbers is exact, and rounded once.
fn pairs_of_formats(inst: &Instruction, rule: Rule, result: ScalarType) -> Result<Arithmetic, Unsupported> {
    let mut formats = [rule.format; 3];
    let mut sources = SmallVec::new();
    for (ty, format) in inst.types().skip(1).zip(&mut formats) {
        match (arithmetic_format(elements(ty).0), elements(ty).1) {
            (Some(found), 2) => *format = found,
            _ => return unsupported(inst, format_args!("with a source of type `{ty}`")),
        }
        sources.push(ty);
    }
    let width = rule.format.width();
    Ok(Arithmetic {
        sources,
        destinations: smallvec![result],
        run: Box::new(move |given| {
            let element = |lane: u32| {
                let mut numbers = [Quad::ZERO; 3];
                for ((number, format), value) in numbers.iter_mut().zip(formats).zip(given.values) {
                    let bits = low(*value >> (lane * format.width()), format.width());
                    *number = format.decode(if rule.ftz { format.flushed(bits) } else { bits });
                }
                let value = rule.of_numbers(numbers);
                if rule.ftz { rule.format.flushed(value) } else { value }
            };
            Results { values: smallvec![element(1) << width | element(0)], carry: None }
        }),
    })
}

/// A source of `abs` and `neg`: flushed if asked for, and with the NaN of the format.
fn canonical(format: Format, ftz: bool, value: Bits) -> Bits {
    match () {
        () if ftz && format.is_subnormal(value) => value & format.sign(),
        () if format != Format::F64 && format.is_nan(value) => format.nan(),
        () => value,
    }
}

/// The value with the other sign; the one NaN of a format has no other.
fn negated(format: Format, value: Bits) -> Bits {
    if format != Format::F64 && format.is_nan(value) { value } else { value ^ format.sign() }
}

/// `min` and `max` with two or three sources.
#[derive(Clone, Copy)]
struct Extremum {
    format: Format,
    greatest: bool,
    /// `.NaN`: a NaN source makes the result NaN; without, the other source is the result.
    nan: bool,
    /// `.abs`: of the magnitudes.
    abs: bool,
    /// `.xorsign`: the result takes the product of the signs.
    xorsign: bool,
    ftz: bool,
}

impl Extremum {
    fn of(self, a: Bits, b: Bits) -> Bits {
        let sign = (a ^ b) & self.format.sign();
        let [a, b] = [a, b].map(|source| {
            let source = if self.ftz { self.format.flushed(source) } else { source };
            if self.abs { self.format.magnitude(source) } else { source }
        });
        let chosen = match [a, b].map(|source| self.format.is_nan(source)) {
            [true, true] => return self.format.nan(),
            [true, false] | [false, true] if self.nan => return self.format.nan(),
            [true, false] => b,
            [false, true] => a,
            [false, false] if (self.key(a) < self.key(b)) != self.greatest => a,
            [false, false] => b,
        };
        if self.xorsign { chosen | sign } else { chosen }
    }

    /// Orders like the values, with -0 below +0.
    fn key(self, value: Bits) -> i128 {
        let magnitude = self.format.magnitude(value) as i128;
        if value & self.format.sign() == 0 { magnitude } else { -1 - magnitude }
    }
}

fn minimum_or_maximum(inst: &Instruction, ty: ScalarType, format: Format) -> Arithmetic {
    let rule = Extremum {
        format,
        greatest: inst.opcode == Opcode::Max,
        nan: inst.has(Word::NaN),
        abs: inst.has(Word::Abs),
        xorsign: inst.has(Word::Xorsign),
        ftz: inst.has(Word::Ftz),
    };
    if inst.operands.len() > 3 {
        return Arithmetic::lanewise(ty, move |[a, b, c]| rule.of(rule.of(a, b), c));
    }
    Arithmetic::lanewise(ty, move |[a, b]| rule.of(a, b))
}

/// `testp`.
fn class_test(inst: &Instruction, ty: ScalarType, format: Format) -> Result<Arithmetic, Unsupported> {
    type Test = fn(Format, Bits) -> bool;
    const TESTS: [(Word, Test); 6] = [
        (Word::Finite, |format, a| format.magnitude(a) < format.infinity()),
        (Word::Infinite, |format, a| format.magnitude(a) == format.infinity()),
        (Word::Number, |format, a| !format.is_nan(a)),
        (Word::Notanumber, Format::is_nan),
        // Zero counts as normal.
        (Word::Normal, |format, a| format.magnitude(a) < format.infinity() && !format.is_subnormal(a)),
        (Word::Subnormal, Format::is_subnormal),
    ];
    let Some((_, test)) = TESTS.into_iter().find(|(word, _)| inst.has(*word)) else {
        return unsupported(inst, "without a class");
    };
    Ok(Arithmetic::function(ScalarType::Pred, [ty], move |[a]| test(format, a).into()))
}
