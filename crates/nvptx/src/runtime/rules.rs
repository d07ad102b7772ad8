//! Which instructions are replaced, by which function of the library.

use super::request::Request;
use super::target::Target;
use super::template::{self, Template, Words};
use super::{atomic, constrained, mathematics, memory, narrow, predicated};
use crate::analysis::View;
use crate::ir::{BinaryOp, Call, CastOp, InstId, Op, Type, TypeId, Value};

/// The widest integers that selection computes with in one word.
const WORD: u32 = 64;
/// The widest integers there are.
const WIDEST: u32 = 128;

/// What replaces an instruction, if selection does not take it.
pub(super) fn request(view: View<'_>, inst: InstId, target: Target) -> Option<Request> {
    let ty = view.module.types.scalar(view.body[inst].ty);
    match &view.body[inst].op {
        Op::Binary(BinaryOp::FRem, _, args) => float_remainder(view, ty, args),
        Op::Binary(op @ (BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem), _, args) => {
            division(view, *op, ty, args)
        }
        Op::Cast(op @ (CastOp::FpToUi | CastOp::FpToSi), _, value) => float_to_wide(view, *op, *value, ty),
        Op::Cast(op @ (CastOp::UiToFp | CastOp::SiToFp), _, value) => wide_to_float(view, *op, *value, ty, target),
        Op::AtomicRmw { .. } | Op::CmpXchg { .. } => atomic::request(view, inst, target),
        Op::Call(call) => {
            let name = view.callee(call)?.name.strip_prefix("llvm.")?;
            memory::request(view, name, call)
                .or_else(|| predicated::request(view, name, call, view.body[inst].ty))
                .or_else(|| narrow::request(view, name, call, view.body[inst].ty))
                .or_else(|| constrained::request(view, name, call, view.body[inst].ty))
                .or_else(|| mathematics::request(view, name, call, ty, target))
                .or_else(|| intrinsic(view, name, call, ty))
        }
        _ => None,
    }
}

/// An integer type that is wider than a word, or not.
fn bits_of(view: View<'_>, ty: TypeId) -> Option<u32> {
    view.module.types.int_bits(ty).filter(|&bits| bits <= WIDEST)
}

fn division(view: View<'_>, op: BinaryOp, ty: TypeId, args: &[Value; 2]) -> Option<Request> {
    let bits = bits_of(view, ty).filter(|&bits| bits > WORD)?;
    let signed = matches!(op, BinaryOp::SDiv | BinaryOp::SRem);
    let request = Request::new(format!("oriole.{}.i128", op.as_str()), template::DIVIDE, Words::new(), args.to_vec());
    if bits == WIDEST {
        return Some(request);
    }
    let extend = if signed { CastOp::SExt } else { CastOp::ZExt };
    Some(request.with_casts(Some((extend, TypeId::I128))).with_back(Some((TypeId::I128, CastOp::Trunc))))
}

fn float_remainder(view: View<'_>, ty: TypeId, args: &[Value; 2]) -> Option<Request> {
    let own = if ty == TypeId::DOUBLE { TypeId::DOUBLE } else { TypeId::FLOAT };
    let name = view.module.types.text(own);
    let words = Format::of(own)?.words(&name);
    let request = Request::new(format!("oriole.frem.{name}"), template::REMAINDER, words, args.to_vec());
    through(request, ty, own)
}

/// Lets a function on `own` serve `ty`: itself, or a narrower float.
fn through(request: Request, ty: TypeId, own: TypeId) -> Option<Request> {
    Format::of(ty)?;
    if ty == own {
        return Some(request);
    }
    let mut request = request.with_back(Some((own, CastOp::FpTrunc)));
    // Arguments of other types, such as exponents, come behind.
    request.casts = vec![None; request.args.len()];
    request.casts[0] = Some((CastOp::FpExt, own));
    if request.function.contains("frem") {
        request.casts[1] = request.casts[0];
    }
    Some(request)
}

fn float_to_wide(view: View<'_>, op: CastOp, value: Value, ty: TypeId) -> Option<Request> {
    let bits = bits_of(view, ty).filter(|&bits| bits > WORD)?;
    let from = view.module.types.scalar(view.ty(value));
    Format::of(from)?;
    let cast = (from != TypeId::DOUBLE).then_some((CastOp::FpExt, TypeId::DOUBLE));
    let back = (bits < WIDEST).then_some((TypeId::I128, CastOp::Trunc));
    let name = format!("oriole.{}.i128", op.as_str());
    Some(Request::new(name, template::TO_WIDE, Words::new(), vec![value]).with_casts(cast).with_back(back))
}

fn wide_to_float(view: View<'_>, op: CastOp, value: Value, ty: TypeId, target: Target) -> Option<Request> {
    let from = view.module.types.scalar(view.ty(value));
    let bits = bits_of(view, from)?;
    // Before sm_90 there is no conversion of 64 bits to `bfloat`.
    let narrow = ty == TypeId::BFLOAT && target.arch < 90 && (33..=WORD).contains(&bits);
    if bits <= WORD && !narrow {
        return None;
    }
    let (width, wide) = if narrow { (WORD, TypeId::I64) } else { (WIDEST, TypeId::I128) };
    // A `half` is infinite long before a `float` has to be rounded.
    let own = if ty == TypeId::HALF { TypeId::FLOAT } else { ty };
    let (format, name) = (Format::of(own)?, view.module.types.text(own));
    let half = width / 2;
    let mut words = format.words(&name);
    words.push(("W", width.to_string()));
    words.push(("H", half.to_string()));
    words.push(("LAST", (width - 1).to_string()));
    words.push(("POWER", (u64::from(half) + format.bias()).to_string()));
    let extend = if op == CastOp::SiToFp { CastOp::SExt } else { CastOp::ZExt };
    let request =
        Request::new(format!("oriole.{}.i{width}.{name}", op.as_str()), template::FROM_WIDE, words, vec![value]);
    Some(
        request
            .with_casts((bits < width).then_some((extend, wide)))
            .with_back((own != ty).then_some((own, CastOp::FpTrunc))),
    )
}

/// Intrinsics by their names, without `llvm.`.
fn intrinsic(view: View<'_>, name: &str, call: &Call, ty: TypeId) -> Option<Request> {
    let &first = call.args.first()?;
    let from = view.module.types.scalar(view.ty(first));
    let is = |stem: &str| name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.'));
    if let Some(kind) = ["fptoui.sat", "fptosi.sat"].into_iter().find(|kind| is(kind)) {
        return saturating(view, kind, first, from, ty);
    }
    if let Some(format) = Format::of(from) {
        return on_float(view, format, &is, call, from);
    }
    let bits = bits_of(view, from)?;
    let fixed = FIXED_POINT.into_iter().find(|kind| is(kind));
    // `.sat` is a name of its own, not a type behind one.
    if let Some(kind) = fixed.filter(|kind| bits <= WORD && name.contains(".sat") == kind.ends_with(".sat")) {
        let own = view.module.types.text(from);
        let function = format!("oriole.{kind}.{own}");
        return Some(Request::new(function, template::FIXED, integer_words(&own, bits), call.args.to_vec()));
    }
    let stem = INTEGER_INTRINSICS.iter().find(|(stem, ..)| is(stem)).filter(|(_, _, has)| !has(bits));
    let &(stem, template, _) = stem?;
    let template = match template {
        template::PRODUCT if bits == WIDEST => template::PRODUCT128,
        own => own,
    };
    let own = view.module.types.text(from);
    let mut function = format!("oriole.{stem}.{own}");
    let mut words = integer_words(&own, bits);
    if template == template::COMPARE {
        let result = view.module.types.text(ty);
        function = format!("oriole.{stem}.{result}.{own}");
        words.push(("R", result));
    }
    // The last argument of `ctlz`, `cttz` and `abs` says what may be undefined.
    let count = if matches!(stem, "ctlz" | "cttz" | "abs") { 1 } else { call.args.len() };
    Some(Request::new(function, template, words, call.args[..count].to_vec()))
}

/// True for widths up to a word.
const fn fits(bits: u32) -> bool {
    bits <= WORD
}

/// True for the widths of registers.
const fn is_register(bits: u32) -> bool {
    matches!(bits, 1 | 8 | 16 | 32 | 64)
}

/// True for the widths of registers, and for `i1`, where it shifts nothing.
const fn has_funnel_shift(bits: u32) -> bool {
    matches!(bits, 1 | 16 | 32 | 64)
}

/// Products and quotients of fixed-point numbers, longer names first.
const FIXED_POINT: [&str; 6] = ["smul.fix.sat", "umul.fix.sat", "smul.fix", "umul.fix", "sdiv.fix", "udiv.fix"];

const fn never(_: u32) -> bool {
    false
}

/// An intrinsic on integers, where its function is, and the widths that need none.
type IntegerIntrinsic = (&'static str, Template, fn(u32) -> bool);

const INTEGER_INTRINSICS: &[IntegerIntrinsic] = &[
    ("ctpop", template::WIDE, fits),
    ("ctlz", template::WIDE, fits),
    ("cttz", template::WIDE, fits),
    ("bitreverse", template::WIDE, fits),
    ("bswap", template::WIDE, fits),
    ("fshl", template::INTEGER, has_funnel_shift),
    ("fshr", template::INTEGER, has_funnel_shift),
    ("abs", template::INTEGER, fits),
    ("uadd.sat", template::INTEGER, fits),
    ("usub.sat", template::INTEGER, fits),
    ("sadd.sat", template::INTEGER, fits),
    ("ssub.sat", template::INTEGER, fits),
    ("ushl.sat", template::INTEGER, never),
    ("sshl.sat", template::INTEGER, never),
    ("uadd.with.overflow", template::INTEGER, fits),
    ("usub.with.overflow", template::INTEGER, fits),
    ("sadd.with.overflow", template::INTEGER, fits),
    ("ssub.with.overflow", template::INTEGER, fits),
    ("umul.with.overflow", template::PRODUCT, is_register),
    ("smul.with.overflow", template::PRODUCT, is_register),
    ("ucmp", template::COMPARE, fits),
    ("scmp", template::COMPARE, fits),
];

fn integer_words(name: &str, bits: u32) -> Words {
    let high = bits.saturating_sub(WORD);
    let stop = if (1..WORD).contains(&high) { 1u64 << high } else { 0 };
    vec![
        ("T", name.to_owned()),
        ("B", bits.to_string()),
        ("LAST", (bits - 1).to_string()),
        ("HIGH", high.to_string()),
        ("ABOVE", WORD.saturating_sub(high).to_string()),
        ("STOP", stop.to_string()),
    ]
}

/// `2^power` in LLVM's spelling, which is that of a `double` for `float` too.
fn power_of_two(power: i64, float: bool) -> String {
    let beyond = if float { 127 } else { 1023 };
    let exponent = if power > beyond { 0x7FF } else { (1023 + power) as u64 };
    format!("0x{:016X}", exponent << 52)
}

fn saturating(view: View<'_>, kind: &str, value: Value, from: TypeId, ty: TypeId) -> Option<Request> {
    let bits = bits_of(view, ty)?;
    Format::of(from)?;
    let own = if from == TypeId::DOUBLE { TypeId::DOUBLE } else { TypeId::FLOAT };
    let (to, name) = (view.module.types.text(ty), view.module.types.text(own));
    let mut words = integer_words(&to, bits);
    let power = |power: u32| power_of_two(power.into(), own == TypeId::FLOAT);
    words.push(("LIMIT", power(bits)));
    words.push(("HALF", power(bits - 1)));
    words.push(("NEGATIVE", power(bits - 1).replacen("0x3", "0xB", 1).replacen("0x4", "0xC", 1)));
    words.push(("F", name.clone()));
    let request = Request::new(format!("oriole.{kind}.{to}.{name}"), template::SATURATE, words, vec![value]);
    Some(request.with_casts((own != from).then_some((CastOp::FpExt, own))))
}

/// Intrinsics on floats.
fn on_float(view: View<'_>, format: Format, is: &dyn Fn(&str) -> bool, call: &Call, from: TypeId) -> Option<Request> {
    let args = call.args.to_vec();
    let name = view.module.types.text(from);
    if is("is.fpclass") {
        let function = format!("oriole.is.fpclass.{name}");
        return Some(Request::new(function, template::CLASSIFY, format.words(&name), args));
    }
    if is("frexp") {
        let fields = view.module.types[view.result_type(call)].clone();
        let known = matches!(&fields, Type::Struct { fields, .. } if **fields == [from, TypeId::I32]);
        let function = format!("oriole.frexp.{name}");
        return known.then(|| Request::new(function, template::CLASSIFY, format.words(&name), args));
    }
    let kind = ["ldexp", "powi"].into_iter().find(|kind| is(kind))?;
    if view.module.types.scalar(view.ty(*args.get(1)?)) != TypeId::I32 {
        return None;
    }
    // A narrow result is rounded once more, which for a scaled `bfloat` only `double` leaves without effect.
    let own = match (kind, from) {
        (_, TypeId::FLOAT | TypeId::DOUBLE) => from,
        ("powi", _) => TypeId::FLOAT,
        _ => TypeId::DOUBLE,
    };
    let (format, name) = (Format::of(own)?, view.module.types.text(own));
    let request = Request::new(format!("oriole.{kind}.{name}"), template::POWER, format.scale_words(&name, own), args);
    through(request, from, own)
}

/// How a floating-point type is put together.
#[derive(Clone, Copy)]
struct Format {
    /// Bits of the significand without the leading one.
    fraction: u32,
    /// Bits of the exponent.
    exponent: u32,
}

impl Format {
    fn of(ty: TypeId) -> Option<Format> {
        let (fraction, exponent) = match ty {
            TypeId::HALF => (10, 5),
            TypeId::BFLOAT => (7, 8),
            TypeId::FLOAT => (23, 8),
            TypeId::DOUBLE => (52, 11),
            _ => return None,
        };
        Some(Format { fraction, exponent })
    }

    fn bias(self) -> u64 {
        (1 << (self.exponent - 1)) - 1
    }

    fn words(self, name: &str) -> Words {
        let Format { fraction, exponent } = self;
        let bits = 1 + fraction + exponent;
        let sign = 1u64 << (bits - 1);
        let inf = ((1u64 << exponent) - 1) << fraction;
        let number = |value: u64| value.to_string();
        vec![
            ("T", name.to_owned()),
            ("I", format!("i{bits}")),
            ("M", fraction.to_string()),
            ("E", exponent.to_string()),
            ("SIGN", number(sign)),
            ("ABS", number(sign - 1)),
            ("INF", number(inf)),
            ("NAN", number(inf | 1 << (fraction - 1))),
            ("MASK", number((1 << fraction) - 1)),
            ("ONE", number(1 << fraction)),
            ("BIAS", number(self.bias() - 1)),
            ("HALF", number((self.bias() - 1) << fraction)),
        ]
    }

    /// Those and the steps by which numbers are scaled.
    fn scale_words(self, name: &str, own: TypeId) -> Words {
        let mut words = self.words(name);
        let bias = self.bias() as i64;
        let step = bias - 1 - i64::from(self.fraction + 1);
        let power = |power: i64| power_of_two(power, own == TypeId::FLOAT);
        words.push(("MAX", bias.to_string()));
        words.push(("MIN", (1 - bias).to_string()));
        words.push(("STEP", step.to_string()));
        words.push(("TOP", power(bias)));
        words.push(("BOTTOM", power(-step)));
        words
    }
}
