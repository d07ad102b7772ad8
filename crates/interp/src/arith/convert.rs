//! `cvt` between integers and floats of all widths; packed and narrow formats are in
//! [`convert_packed`](super::convert_packed).

use oriole_ptx::ast::{Instruction, Opcode, Rounding, ScalarType, Word};
use rustc_apfloat::ieee::Quad;
use rustc_apfloat::{Float, Round};

use super::convert_packed;
use super::float::{Finish, arithmetic_format, direction};
use super::format::Format;
use super::function::{Arithmetic, Bits, Compiled, Unsupported, low, number, saturated, type_of};

/// `cvt` and `cvt.pack`.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    if inst.opcode != Opcode::Cvt {
        return Ok(None);
    }
    let (to, from) = (type_of(inst, 0)?, type_of(inst, 1)?);
    if inst.has(Word::Pack) {
        return convert_packed::pack_integers(inst, to, from).map(Some);
    }
    let narrow = [Word::Satfinite, Word::Relu, Word::Pzo].into_iter().any(|word| inst.has(word));
    let conversion = match (arithmetic_format(to), arithmetic_format(from)) {
        _ if narrow => None,
        (Some(format), Some(source)) => Some(float_to_float(inst, (to, format), (from, source))?),
        (Some(format), None) if from.is_integer() => Some(integer_to_float(inst, (to, format), from)?),
        (None, Some(source)) if to.is_integer() => Some(float_to_integer(inst, to, (from, source))?),
        (None, None) if to.is_integer() && from.is_integer() => Some(integer_to_integer(inst, to, from)),
        _ => None,
    };
    match conversion {
        Some(conversion) => Ok(Some(conversion)),
        None => convert_packed::compile(inst, to, from).map(Some),
    }
}

fn integer_to_integer(inst: &Instruction, to: ScalarType, from: ScalarType) -> Arithmetic {
    let sat = inst.has(Word::Sat);
    Arithmetic::function(to, [from], move |[a]| {
        let value = number(a, from.bits(), from.is_signed());
        (if sat { saturated(value, to.bits(), to.is_signed()) } else { value }) as Bits
    })
}

fn integer_to_float(
    inst: &Instruction,
    (to, format): (ScalarType, Format),
    from: ScalarType,
) -> Result<Arithmetic, Unsupported> {
    let (round, finish) = (direction(inst)?, Finish::of(inst));
    Ok(Arithmetic::function(to, [from], move |[a]| {
        let value = Quad::from_i128(number(a, from.bits(), from.is_signed())).value;
        finish.apply(format, format.encode(value, round))
    }))
}

/// Out of range is the nearest integer in range. NaN is zero, but 2^(n-1) where f64 or 64 bits take part.
fn float_to_integer(
    inst: &Instruction,
    to: ScalarType,
    (from, source): (ScalarType, Format),
) -> Result<Arithmetic, Unsupported> {
    let round = direction(inst)?;
    let ftz = inst.has(Word::Ftz);
    let (width, signed) = (to.bits(), to.is_signed());
    let nan = if source == Format::F64 || width == 64 { 1 << (width - 1) } else { 0 };
    Ok(Arithmetic::function(to, [from], move |[a]| {
        let a = if ftz { source.flushed(a) } else { a };
        if source.is_nan(a) {
            return nan;
        }
        saturated(source.decode(a).to_i128_r(128, round, &mut false).value, width, signed) as Bits
    }))
}

fn float_to_float(
    inst: &Instruction,
    (to, format): (ScalarType, Format),
    (from, source): (ScalarType, Format),
) -> Result<Arithmetic, Unsupported> {
    let (round, finish) = (direction(inst)?, Finish::of(inst));
    let integral = matches!(inst.rounding(), Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi));
    let ftz = inst.has(Word::Ftz);
    // The manual flushes the source of `cvt.ftz.f16.f32` too; ptxas's code does not.
    let (ftz_source, ftz_result) =
        (ftz && source == Format::F32 && format != Format::F16, ftz && format == Format::F32);
    // Nothing to do: even a signalling NaN stays as it is. Halves go through an addition.
    let moves = source == format && matches!(format, Format::F32 | Format::F64);
    if moves && !integral && !ftz && finish == Finish::Nothing {
        return Ok(Arithmetic::function(to, [from], |[a]| a));
    }
    Ok(Arithmetic::function(to, [from], move |[a]| {
        let a = if ftz_source { source.flushed(a) } else { a };
        if source.is_nan(a) {
            return finish.apply(
                format,
                match source {
                    Format::Bf16 if ftz => format.nan(),
                    Format::F32 if ftz => nan(format, source, source.nan()),
                    _ => nan(format, source, a),
                },
            );
        }
        let value = source.decode(a);
        let value = if integral { value.round_to_integral(round).value } else { value };
        let result = format.encode(value, round);
        finish.apply(format, if ftz_result { flushed(format, value, round, result) } else { result })
    }))
}

/// A result that is below the normal numbers when it is rounded with unlimited exponent becomes zero.
fn flushed(format: Format, value: Quad, round: Round, result: Bits) -> Bits {
    /// Far enough from both ends of all formats.
    const AWAY: i32 = 64;
    let scaled = format.encode(value.scalbn(AWAY), round);
    let least = format.encode(format.decode(format.least_normal()).scalbn(AWAY), round);
    if format.magnitude(scaled) < least { result & format.sign() } else { result }
}

/// The NaN that a conversion gives: between f32 and f64, and from f64 to an integral f64, sign and payload stay, as far as
/// they fit; from and to halves, and from f32 to f32, it is the one NaN, in f64 that of f32. `cvt.f32.bf16` moves the bits.
fn nan(format: Format, source: Format, a: Bits) -> Bits {
    let sign = if a & source.sign() == 0 { 0 } else { format.sign() };
    match (source, format) {
        (Format::F32, Format::F64) => sign | format.infinity() | 1 << 51 | low(a, 23) << 29,
        (Format::F64, Format::F32) => sign | format.infinity() | 1 << 22 | low(a, 52) >> 29,
        (Format::F64, Format::F64) => a | 1 << 51,
        (Format::Bf16, Format::F32) => a << 16,
        (Format::F16 | Format::Bf16, Format::F64) => nan(format, Format::F32, Format::F32.nan()),
        _ => format.nan(),
    }
}
