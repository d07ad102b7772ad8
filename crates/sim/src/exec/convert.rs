//! Conversions between formats, one value at a time.

use super::half::HalfOperand;
use super::host;
use super::lanewise::sources;
use super::rounding::{BFLOAT, Format, HALF, Rounding, SINGLE, integer_to_odd, narrow};
use crate::effect::{Compute, Unsupported};
use crate::lanes::{WARP, map};
use crate::operand::{Dst, Src};
use crate::state::State;
use oriole_isa::{Ffmt, Field, HalfB, Ifmt, Inst, Opcode, PartB, RndInt, Role};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match opcode {
        Opcode::F2F => float_to_float(inst),
        Opcode::F2I => float_to_integer(inst),
        Opcode::I2F | Opcode::I2FP => integer_to_float(inst),
        Opcode::FRND => round_to_integer(inst),
        Opcode::I2I => clamp_integer(inst),
        _ => return Ok(None),
    }))
}

/// Reads one value per lane.
type Read<T> = Box<dyn Fn(&State) -> [T; WARP] + Send + Sync>;
/// Writes one value per lane.
type Write<T> = Box<dyn Fn(&mut State, &[T; WARP]) + Send + Sync>;

/// The float source of a conversion, exactly.
fn float_source(inst: &Inst) -> Read<f64> {
    let b = Src::of(inst, Role::B);
    let at = if inst.get(Field::HALF_B) == HalfB::H1 { 16 } else { 0 };
    let half = |format: Format| -> Read<f64> {
        let half = HalfOperand::of(inst, at);
        Box::new(move |state| half.bits(state).map(|bits| format.widen(bits)))
    };
    let ftz = inst.get(Field::FTZ);
    match inst.get(Field::SRC_FMT) {
        Ffmt::F16 => half(HALF),
        Ffmt::BF16 => half(BFLOAT),
        Ffmt::F64 => {
            let b = b.with_high_immediate();
            Box::new(move |state| map(&b.f64_bits(state), f64::from_bits))
        }
        _ => Box::new(move |state| {
            let flush = |bits| if ftz { SINGLE.flush(bits) } else { bits };
            map(&b.f32_bits(state), |bits| f64::from(f32::from_bits(flush(bits))))
        }),
    }
}

/// The format of a code that is not `F64`.
fn narrow_format(code: Ffmt) -> Format {
    match code {
        Ffmt::F16 => HALF,
        Ffmt::BF16 => BFLOAT,
        _ => SINGLE,
    }
}

/// `F2F`. The result of a 16-bit format is in the low half, the high half is zero. Between singles and
/// doubles a NaN keeps its sign and the high bits of its payload; halves have but one NaN.
fn float_to_float(inst: &Inst) -> Compute {
    let (read, d, rounding) = (float_source(inst), Dst::of(inst, Role::D), Rounding::of(inst));
    let (from, to) = (inst.get(Field::SRC_FMT), inst.get(Field::DST_FMT));
    let from_half = matches!(from, Ffmt::F16 | Ffmt::BF16);
    if to == Ffmt::F64 {
        return host::compute(move |state: &mut State| {
            let value = read(state).map(|value| match value.is_nan() && from_half {
                true => NAN_OF_HALF,
                false => super::double::quiet(&[value.to_bits()], value),
            });
            d.set_wide(state, &value);
        });
    }
    let format = narrow_format(to);
    let flush = inst.get(Field::FTZ) && format == SINGLE;
    let keeps_nan = from == Ffmt::F64 && format == SINGLE;
    host::compute(move |state: &mut State| {
        let value = read(state).map(|value| {
            if keeps_nan && value.is_nan() {
                return narrow_nan(value);
            }
            let bits = narrow(value, format, rounding);
            if flush { format.flush(bits) } else { bits }
        });
        d.set(state, &value);
    })
}

/// The double that a NaN of 16 bits becomes: the NaN of single precision, widened.
const NAN_OF_HALF: u64 = 0x7fff_ffff_e000_0000;

/// The quiet NaN of single precision with the sign and the high bits of the payload of a double's.
fn narrow_nan(value: f64) -> u32 {
    let bits = value.to_bits();
    (bits >> 32) as u32 & 1 << 31 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x3f_ffff
}

/// A float rounded to an integral value by a code of `rnd_int`.
fn integral(code: RndInt) -> fn(f64) -> f64 {
    match code {
        RndInt::FLOOR => f64::floor,
        RndInt::CEIL => f64::ceil,
        RndInt::TRUNC => f64::trunc,
        _ => f64::round_ties_even,
    }
}

/// `F2I`: out of range gives the nearest integer of the type; a NaN gives zero with `.NTZ`, else the
/// integer with only its top bit set.
fn float_to_integer(inst: &Inst) -> Compute {
    let (read, d) = (float_source(inst), Dst::of(inst, Role::D));
    let round = integral(inst.get(Field::RND_INT));
    let (convert, width): (fn(f64) -> u64, u32) = match inst.get(Field::DST_INT) {
        Ifmt::U8 => (|v| u64::from(v as u8), 8),
        Ifmt::S8 => (|v| v as i8 as u64, 8),
        Ifmt::U16 => (|v| u64::from(v as u16), 16),
        Ifmt::S16 => (|v| v as i16 as u64, 16),
        Ifmt::U32 => (|v| u64::from(v as u32), 32),
        Ifmt::U64 => (|v| v as u64, 64),
        Ifmt::S64 => (|v| v as i64 as u64, 64),
        _ => (|v| v as i32 as u64, 32),
    };
    let nan = if inst.get(Field::NTZ) { 0 } else { 1u64 << (width - 1) };
    host::compute(move |state: &mut State| {
        let value = read(state).map(|value| if value.is_nan() { nan } else { convert(round(value)) });
        match width {
            64 => d.set_wide(state, &value),
            _ => d.set(state, &value.map(|v| v as u32)),
        }
    })
}

/// The integer source of a conversion.
fn integer_source(inst: &Inst) -> Read<i128> {
    let (b, wide) = (Src::of(inst, Role::B), Src::of(inst, Role::B).with_high_immediate());
    let at = match inst.get(Field::PART_B) {
        PartB::B1 => 8,
        PartB::B2 => 16,
        PartB::B3 => 24,
        PartB::H1 => 16,
        _ => 0,
    };
    let narrow = |f: fn(u32) -> i128| -> Read<i128> { Box::new(move |state| b.int(state).map(|v| f(v >> at))) };
    match inst.get(Field::SRC_INT) {
        Ifmt::U8 => narrow(|v| i128::from(v as u8)),
        Ifmt::S8 => narrow(|v| i128::from(v as i8)),
        Ifmt::U16 => narrow(|v| i128::from(v as u16)),
        Ifmt::S16 => narrow(|v| i128::from(v as i16)),
        Ifmt::U32 => narrow(i128::from),
        Ifmt::U64 => Box::new(move |state| wide.wide_bits(state).map(i128::from)),
        Ifmt::S64 => Box::new(move |state| wide.wide_bits(state).map(|v| i128::from(v as i64))),
        _ => narrow(|v| i128::from(v as i32)),
    }
}

/// An integer as a double, in any rounding mode.
fn integer_to_double(value: i128, rounding: Rounding) -> f64 {
    let nearest = value as f64;
    let rest = value - nearest as i128;
    let down = rounding == Rounding::Down || rounding == Rounding::Zero && value > 0;
    let up = rounding == Rounding::Up || rounding == Rounding::Zero && value < 0;
    match rest.signum() {
        1 if up => nearest.next_up(),
        -1 if down => nearest.next_down(),
        _ => nearest,
    }
}

/// `I2F` and `I2FP`.
fn integer_to_float(inst: &Inst) -> Compute {
    let (read, rounding) = (integer_source(inst), Rounding::of(inst));
    let write = float_destination(inst, rounding);
    host::compute(move |state: &mut State| {
        let value = read(state);
        write(state, &value);
    })
}

/// Writes integers in the float format of the result.
fn float_destination(inst: &Inst, rounding: Rounding) -> Write<i128> {
    let d = Dst::of(inst, Role::D);
    match inst.get(Field::DST_FMT) {
        Ffmt::F64 => Box::new(move |state, value| {
            d.set_wide(state, &value.map(|v| integer_to_double(v, rounding).to_bits()));
        }),
        code => {
            let format = narrow_format(code);
            Box::new(move |state, value| d.set(state, &value.map(|v| narrow(integer_to_odd(v), format, rounding))))
        }
    }
}

/// `FRND`.
fn round_to_integer(inst: &Inst) -> Compute {
    let (read, d) = (float_source(inst), Dst::of(inst, Role::D));
    let round = integral(inst.get(Field::RND_INT));
    match inst.get(Field::SRC_FMT) {
        Ffmt::F64 => host::compute(move |state: &mut State| {
            let value = read(state).map(|value| super::double::quiet(&[value.to_bits()], round(value)));
            d.set_wide(state, &value);
        }),
        code => {
            let format = narrow_format(code);
            host::compute(move |state: &mut State| {
                let value = read(state).map(|value| narrow(round(value), format, Rounding::Nearest));
                d.set(state, &value);
            })
        }
    }
}

/// `I2I`: a signed word clamped to the range of a narrower type.
fn clamp_integer(inst: &Inst) -> Compute {
    let (d, _, b, _) = sources(inst);
    let (least, greatest) = match inst.get(Field::DST_INT) {
        Ifmt::U8 => (0, 0xff),
        Ifmt::S8 => (-0x80, 0x7f),
        Ifmt::U16 => (0, 0xffff),
        _ => (-0x8000, 0x7fff),
    };
    host::compute(move |state: &mut State| {
        let value = b.int(state).map(|v| (v as i32).clamp(least, greatest) as u32);
        d.set(state, &value);
    })
}
