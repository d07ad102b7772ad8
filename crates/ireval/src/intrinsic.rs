//! `llvm.*`, but for those of NVPTX.

use crate::fault::Fault;
use crate::float::{self, Extremum, numbers, promised};
use crate::format::Format;
use crate::int_bits::{mask, signed};
use crate::machine::{Machine, Site, arg};
use crate::value::{Value, Width, each, known};
use crate::{cast, int, nvvm, scalar};
use oriole_nvptx::ir::{AddressSpace, BinaryOp, InstFlags, Module, TypeId};
use rustc_apfloat::Round;

type IntUnary = fn(u32, u128) -> u128;
type IntBinary = fn(u32, u128, u128) -> u128;
type IntTernary = fn(u32, u128, u128, u128) -> u128;
type FloatUnary = fn(Format, u128) -> u128;

/// Functions of one integer and its width.
const INT_UNARY: &[(&str, IntUnary)] = &[
    ("ctpop", |_, a| u128::from(a.count_ones())),
    ("bitreverse", |width, a| a.reverse_bits() >> (128 - width)),
    ("bswap", |width, a| a.swap_bytes() >> (128 - width)),
];

/// Functions of two integers.
const INT_BINARY: &[(&str, IntBinary)] = &[
    ("smax", |width, a, b| if signed(a, width) > signed(b, width) { a } else { b }),
    ("smin", |width, a, b| if signed(a, width) < signed(b, width) { a } else { b }),
    ("umax", |_, a, b| a.max(b)),
    ("umin", |_, a, b| a.min(b)),
    ("sadd.sat", |width, a, b| int::saturating(BinaryOp::Add, true, width, a, b)),
    ("uadd.sat", |width, a, b| int::saturating(BinaryOp::Add, false, width, a, b)),
    ("ssub.sat", |width, a, b| int::saturating(BinaryOp::Sub, true, width, a, b)),
    ("usub.sat", |width, a, b| int::saturating(BinaryOp::Sub, false, width, a, b)),
];

/// Functions of three integers.
const INT_TERNARY: &[(&str, IntTernary)] = &[
    ("fshl", int::funnel_left),
    ("fshr", |width, high, low, amount| {
        let amount = amount % u128::from(width);
        if amount == 0 { low } else { int::funnel_left(width, high, low, u128::from(width) - amount) }
    }),
];

/// `…with.overflow`: operation, whether it is signed.
const OVERFLOW: &[(&str, BinaryOp, bool)] = &[
    ("sadd.with.overflow", BinaryOp::Add, true),
    ("uadd.with.overflow", BinaryOp::Add, false),
    ("ssub.with.overflow", BinaryOp::Sub, true),
    ("usub.with.overflow", BinaryOp::Sub, false),
    ("smul.with.overflow", BinaryOp::Mul, true),
    ("umul.with.overflow", BinaryOp::Mul, false),
];

/// Functions of one number that are exact or rounded correctly.
const FLOAT_UNARY: &[(&str, FloatUnary)] = &[
    ("fabs", |format, a| a & !format.sign()),
    ("sqrt", Format::sqrt),
    ("floor", |format, a| format.round_to_integral(a, Round::TowardNegative)),
    ("ceil", |format, a| format.round_to_integral(a, Round::TowardPositive)),
    ("trunc", |format, a| format.round_to_integral(a, Round::TowardZero)),
    ("rint", |format, a| format.round_to_integral(a, Round::NearestTiesToEven)),
    ("nearbyint", |format, a| format.round_to_integral(a, Round::NearestTiesToEven)),
    ("roundeven", |format, a| format.round_to_integral(a, Round::NearestTiesToEven)),
    ("round", |format, a| format.round_to_integral(a, Round::NearestTiesToAway)),
    ("canonicalize", |_, a| a),
];

/// The lesser or greater of two numbers.
const EXTREMA: &[(&str, Extremum)] = &[
    ("minnum", Extremum { max: false, nan_wins: false, zeros_ordered: false }),
    ("maxnum", Extremum { max: true, nan_wins: false, zeros_ordered: false }),
    ("minimum", Extremum { max: false, nan_wins: true, zeros_ordered: true }),
    ("maximum", Extremum { max: true, nan_wins: true, zeros_ordered: true }),
    ("minimumnum", Extremum { max: false, nan_wins: false, zeros_ordered: true }),
    ("maximumnum", Extremum { max: true, nan_wins: false, zeros_ordered: true }),
];

/// Reductions of the elements of a vector, each by a function of two.
const REDUCTIONS: &[(&str, &str)] = &[
    ("vector.reduce.smax", "smax"),
    ("vector.reduce.smin", "smin"),
    ("vector.reduce.umax", "umax"),
    ("vector.reduce.umin", "umin"),
    ("vector.reduce.fmax", "maxnum"),
    ("vector.reduce.fmin", "minnum"),
    ("vector.reduce.fmaximum", "maximum"),
    ("vector.reduce.fminimum", "minimum"),
];

/// Reductions by an operation; those of numbers have a start value.
const FOLDS: &[(&str, BinaryOp)] = &[
    ("vector.reduce.add", BinaryOp::Add),
    ("vector.reduce.mul", BinaryOp::Mul),
    ("vector.reduce.and", BinaryOp::And),
    ("vector.reduce.or", BinaryOp::Or),
    ("vector.reduce.xor", BinaryOp::Xor),
    ("vector.reduce.fadd", BinaryOp::FAdd),
    ("vector.reduce.fmul", BinaryOp::FMul),
];

/// What says something to an optimiser or debugger, and does nothing.
const SILENT: &[&str] = &[
    "lifetime.start",
    "lifetime.end",
    "invariant.end",
    "experimental.noalias.scope.decl",
    "donothing",
    "sideeffect",
    "dbg.value",
    "dbg.declare",
    "dbg.label",
    "dbg.assign",
    "prefetch",
    "pseudoprobe",
    "var.annotation",
];

/// What is its first argument.
const IDENTITIES: &[&str] = &[
    "expect",
    "expect.with.probability",
    "ssa.copy",
    "launder.invariant.group",
    "strip.invariant.group",
    "annotation",
    "ptr.annotation",
    "threadlocal.address",
];

/// The entry of a table for `name`, which may have types behind it: `smax.v4i32`.
pub(crate) fn look_up<'t, T>(table: &'t [T], name: &str, key: impl Fn(&T) -> &str) -> Option<&'t T> {
    let mut rest = name;
    loop {
        if let Some(entry) = table.iter().find(|entry| key(entry) == rest) {
            return Some(entry);
        }
        rest = rest.rsplit_once('.')?.0;
    }
}

/// The result of a call of a function that has no body.
pub(crate) fn evaluate(machine: &mut Machine<'_>, name: &str, site: &Site<'_>) -> Result<Option<Value>, Fault> {
    let unknown = || Fault::unsupported(format!("@{name} has no body and is no intrinsic known here"));
    let own = name.strip_prefix("llvm.").ok_or_else(unknown)?;
    if let Some(own) = own.strip_prefix("nvvm.") {
        return nvvm::evaluate(machine, own, site);
    }
    if own == "assume" {
        let holds = arg(site, 0)?.decides("an assumption")? & 1 == 1;
        return if holds { Ok(None) } else { Err(Fault::undefined("an assumption does not hold")) };
    }
    if own == "trap" || own == "debugtrap" || own == "ubsantrap" {
        return Err(Fault::undefined("a trap"));
    }
    if look_up(SILENT, own, |name| name).is_some() {
        return Ok(None);
    }
    if own.starts_with("mem") {
        return block_of_memory(machine, own, site)?.ok_or_else(unknown).map(|()| None);
    }
    if site.args.is_empty() {
        return Err(unknown());
    }
    for family in [integers, numbers_of, other] {
        if let Some(value) = family(machine.module, own, site)? {
            return Ok(Some(value));
        }
    }
    Err(unknown())
}

/// The type of an argument's elements.
fn scalar_type(module: &Module, site: &Site<'_>, index: usize) -> Result<TypeId, Fault> {
    let ty = site.types.get(index).ok_or_else(|| Fault::invalid("too few arguments"))?;
    Ok(module.types.scalar(*ty))
}

/// Functions of integers.
fn integers(module: &Module, name: &str, site: &Site<'_>) -> Result<Option<Value>, Fault> {
    let Ok(Width { bits: width, format: None }) = Width::of(module, scalar_type(module, site, 0)?) else {
        return Ok(None);
    };
    let whole = |value: u128| Value::Bits(value & mask(width));
    if let Some((_, f)) = look_up(INT_UNARY, name, |entry| entry.0) {
        return each([arg(site, 0)?], &mut |a| Ok(known(a, |[a]| whole(f(width, a))))).map(Some);
    }
    if let Some((_, f)) = look_up(INT_BINARY, name, |entry| entry.0) {
        return each([arg(site, 0)?, arg(site, 1)?], &mut |pair| Ok(known(pair, |[a, b]| whole(f(width, a, b)))))
            .map(Some);
    }
    if let Some((_, f)) = look_up(INT_TERNARY, name, |entry| entry.0) {
        let operands = [arg(site, 0)?, arg(site, 1)?, arg(site, 2)?];
        return each(operands, &mut |all| Ok(known(all, |[a, b, c]| whole(f(width, a, b, c))))).map(Some);
    }
    if let Some(&(_, op, sign)) = look_up(OVERFLOW, name, |entry| entry.0) {
        let operands = [arg(site, 0)?, arg(site, 1)?];
        let value = each(operands, &mut |pair| {
            Ok(known(pair, |[a, b]| Value::Bits(int::with_overflow(op, sign, width, a, b).0)))
        })?;
        let flag = each(operands, &mut |pair| {
            Ok(known(pair, |[a, b]| Value::bool(int::with_overflow(op, sign, width, a, b).1)))
        })?;
        return Ok(Some(Value::Many(vec![value, flag])));
    }
    if let Some(op) = ["sshl.sat", "ushl.sat"].iter().position(|&op| name.starts_with(op)) {
        let f = |[a, b]: [u128; 2]| match b < u128::from(width) {
            true => whole(int::saturating(BinaryOp::Shl, op == 0, width, a, b)),
            false => Value::POISON,
        };
        return each([arg(site, 0)?, arg(site, 1)?], &mut |pair| Ok(known(pair, f))).map(Some);
    }
    count_or_abs(name, width, site)
}

/// `ctlz`, `cttz` and `abs`, with a flag that makes one argument poison; `ucmp` and `scmp`.
fn count_or_abs(name: &str, width: u32, site: &Site<'_>) -> Result<Option<Value>, Fault> {
    let base = name.split('.').next().unwrap_or_default();
    let smallest = 1u128 << (width - 1);
    if matches!(base, "ucmp" | "scmp") {
        // The result has a width of its own: -1 is all ones; the caller's type cuts them.
        return Err(Fault::unsupported(format!("llvm.{base}")));
    }
    if !matches!(base, "ctlz" | "cttz" | "abs") {
        return Ok(None);
    }
    let strict = arg(site, 1)?.decides("a flag of an intrinsic")? & 1 == 1;
    each([arg(site, 0)?], &mut |a| {
        Ok(known(a, |[a]| match base {
            "abs" if a == smallest && strict => Value::POISON,
            "abs" => Value::Bits(signed(a, width).unsigned_abs() & mask(width)),
            _ if a == 0 && strict => Value::POISON,
            _ if a == 0 => Value::Bits(u128::from(width)),
            "ctlz" => Value::Bits(u128::from(a.leading_zeros() - (128 - width))),
            _ => Value::Bits(u128::from(a.trailing_zeros())),
        }))
    })
    .map(Some)
}

/// Functions of floating-point numbers.
fn numbers_of(module: &Module, name: &str, site: &Site<'_>) -> Result<Option<Value>, Fault> {
    let Some(format) = Format::of(&module.types[scalar_type(module, site, 0)?]) else { return Ok(None) };
    let flags = site.call.flags;
    if let Some((_, f)) = look_up(FLOAT_UNARY, name, |entry| entry.0) {
        return each([arg(site, 0)?], &mut |operand| {
            let one = |[a]: [u128; 1]| promised(flags, format, &[a], format.result(f(format, a)));
            Ok(numbers(format, operand).map_or_else(|unknown| unknown, one))
        })
        .map(Some);
    }
    if let Some((_, extremum)) = look_up(EXTREMA, name, |entry| entry.0) {
        return each([arg(site, 0)?, arg(site, 1)?], &mut |pair| extremum.of(format, pair)).map(Some);
    }
    // Whether `fmuladd` rounds once is open; NVPTX makes one instruction of it.
    if look_up(&["fma", "fmuladd"], name, |name| name).is_some() {
        let operands = [arg(site, 0)?, arg(site, 1)?, arg(site, 2)?];
        return each(operands, &mut |all| {
            let fused = |[a, b, c]: [u128; 3]| {
                promised(flags, format, &[a, b, c], format.result(format.fma(a, b, c, Round::NearestTiesToEven)))
            };
            Ok(numbers(format, all).map_or_else(|unknown| unknown, fused))
        })
        .map(Some);
    }
    if name.starts_with("copysign") {
        return each([arg(site, 0)?, arg(site, 1)?], &mut |[magnitude, sign]| {
            // The sign of a NaN is any.
            let sign = if matches!(sign, Value::Nan) { &Value::OPEN } else { sign };
            let copied = |[a, b]: [u128; 2]| format.result(a & !format.sign() | b & format.sign());
            Ok(numbers(format, [magnitude, sign]).map_or_else(|unknown| unknown, copied))
        })
        .map(Some);
    }
    if let Some(sign) = ["fptoui.sat", "fptosi.sat"].iter().position(|&op| name.starts_with(op)) {
        let to = Width::of(module, module.types.scalar(site.ret))?.bits;
        return each([arg(site, 0)?], &mut |[a]| Ok(cast::saturate(format, to, sign == 1, a))).map(Some);
    }
    if name.starts_with("is.fpclass") {
        let classes = arg(site, 1)?.decides("the classes asked for")?;
        return each([arg(site, 0)?], &mut |[a]| {
            Ok(match a {
                // Which of the two kinds of NaN it is, is open only if one is asked for.
                Value::Nan if classes & 3 == 1 || classes & 3 == 2 => Value::OPEN,
                a => numbers(format, [a])
                    .map_or_else(|unknown| unknown, |[a]| Value::bool(class(format, a) & classes != 0)),
            })
        })
        .map(Some);
    }
    Ok(None)
}

/// The bit of `llvm.is.fpclass` that a number has.
fn class(format: Format, a: u128) -> u128 {
    let negative = a & format.sign() != 0;
    // How far the class lies from the zeros, which are bits 5 and 6.
    let distance = match () {
        () if format.is_nan(a) => return if format.is_signaling(a) { 1 } else { 2 },
        () if format.is_infinite(a) => 3,
        () if format.is_zero(a) => 0,
        () if format.is_subnormal(a) => 1,
        () => 2,
    };
    if negative { 1 << (5 - distance) } else { 1 << (6 + distance) }
}

/// Reductions, and what looks at pointers.
fn other(module: &Module, name: &str, site: &Site<'_>) -> Result<Option<Value>, Fault> {
    if let Some((_, by)) = look_up(REDUCTIONS, name, |entry| entry.0) {
        let elements = arg(site, 0)?.elements()?;
        let mut rest = elements.iter();
        let first = rest.next().cloned().ok_or_else(|| Fault::invalid("an empty vector"))?;
        let ty = scalar_type(module, site, 0)?;
        return rest
            .try_fold(first, |so_far, next| {
                let pair = Site { call: site.call, args: vec![so_far, next.clone()], types: vec![ty, ty], ret: ty };
                let made = match integers(module, by, &pair)? {
                    Some(value) => Some(value),
                    None => numbers_of(module, by, &pair)?,
                };
                made.ok_or_else(|| Fault::invalid(format!("llvm.{name} of other elements")))
            })
            .map(Some);
    }
    if let Some(&(_, op)) = look_up(FOLDS, name, |entry| entry.0) {
        let (start, vector) =
            if op.is_float() { (Some(arg(site, 0)?.clone()), arg(site, 1)?) } else { (None, arg(site, 0)?) };
        let ty = scalar_type(module, site, 0)?;
        let mut elements = start.into_iter().chain(vector.elements()?.iter().cloned());
        let first = elements.next().ok_or_else(|| Fault::invalid("an empty vector"))?;
        return elements.try_fold(first, |a, b| scalar::binary(module, op, InstFlags::empty(), ty, [&a, &b])).map(Some);
    }
    if look_up(IDENTITIES, name, |name| name).is_some() {
        return arg(site, 0).cloned().map(Some);
    }
    if name.starts_with("ptrmask") {
        // The mask has the width of an index, which is that of the pointer here.
        return each([arg(site, 0)?, arg(site, 1)?], &mut |pair| Ok(known(pair, |[a, b]| Value::Bits(a & b))))
            .map(Some);
    }
    if name.starts_with("is.constant") {
        return Ok(Some(Value::OPEN));
    }
    if name.starts_with("ldexp") {
        let format = scalar::format(module, site.ret)?;
        let width = Width::of(module, scalar_type(module, site, 1)?)?.bits;
        return each([arg(site, 0)?, arg(site, 1)?], &mut |pair| {
            let scaled = |[a, exponent]: [u128; 2]| {
                let exponent = signed(exponent, width).clamp(-100_000, 100_000) as i32;
                format.result(format.scale(a, exponent))
            };
            Ok(float::numbers(format, pair).map_or_else(|unknown| unknown, scaled))
        })
        .map(Some);
    }
    Ok(None)
}

/// `memcpy`, `memmove` and `memset`; nothing if it is another.
fn block_of_memory(machine: &mut Machine<'_>, name: &str, site: &Site<'_>) -> Result<Option<()>, Fault> {
    let space = |index: usize| -> Result<AddressSpace, Fault> {
        let ty = site.types.get(index).ok_or_else(|| Fault::invalid("too few arguments"))?;
        machine.module.types.address_space(*ty).ok_or_else(|| Fault::invalid("an address that is no pointer"))
    };
    let len = arg(site, 2)?.decides("the length of a block of memory")? as u64;
    let to = arg(site, 0)?.decides("an address")? as u64;
    if len == 0 {
        return Ok(Some(()));
    }
    if name.starts_with("memset") {
        let to_space = space(0)?;
        let value = arg(site, 1)?;
        // Asked for before so much is made.
        machine.memory.read(to_space, to, len)?;
        let (byte, state) = match value {
            Value::Bits(bits) => (*bits as u8, crate::memory::State::KNOWN),
            Value::Unknown(why) => (0, crate::memory::State::unknown(*why)),
            _ => return Err(Fault::invalid("a memset of no byte")),
        };
        machine.memory.write(to_space, to, &vec![byte; len as usize], &vec![state; len as usize])?;
        return Ok(Some(()));
    }
    if !(name.starts_with("memcpy") || name.starts_with("memmove")) {
        return Ok(None);
    }
    let from = arg(site, 1)?.decides("an address")? as u64;
    let (to_space, from_space) = (space(0)?, space(1)?);
    let (to_generic, from_generic) = (crate::memory::generic(to_space, to)?, crate::memory::generic(from_space, from)?);
    let overlap = to_generic != from_generic && to_generic.abs_diff(from_generic) < len;
    if overlap && name.starts_with("memcpy") {
        return Err(Fault::undefined("a memcpy of what overlaps"));
    }
    let (bytes, states) = machine.memory.read(from_space, from, len)?;
    let (bytes, states) = (bytes.to_vec(), states.to_vec());
    machine.memory.write(to_space, to, &bytes, &states)?;
    Ok(Some(()))
}
