//! Conversions whose results share a register.

use super::lanewise::{flag, int3};
use super::rounding::{BFLOAT, E4M3, E5M2, Format, HALF, Rounding, SINGLE, TENSOR, narrow};
use super::{Compute, Unsupported};
use oriole_isa::{Field, Inst, Opcode, clamp, half_b, half_c, ifmt, nfmt, pack, pack_dst, pack_src, part_c, rnd_int};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match opcode {
        Opcode::F2FP => floats(inst)?,
        Opcode::F2IP => floats_to_bytes(inst)?,
        Opcode::I2IP => integers(inst),
        _ => return Ok(None),
    }))
}

/// How `F2FP` converts one number.
#[derive(Clone, Copy)]
struct Conversion {
    from: Format,
    to: Format,
    rounding: Rounding,
    relu: bool,
    satfinite: bool,
}

impl Conversion {
    fn of(inst: &Inst) -> Self {
        let from = match inst.get(Field::PackSrc) {
            pack_src::F16 => HALF,
            pack_src::BF16 => BFLOAT,
            pack_src::E4M3 => E4M3,
            pack_src::E5M2 => E5M2,
            _ => SINGLE,
        };
        let to = match inst.get(Field::PackDst) {
            pack_dst::BF16 => BFLOAT,
            pack_dst::TF32 => TENSOR,
            pack_dst::E4M3 => E4M3,
            pack_dst::E5M2 => E5M2,
            _ => HALF,
        };
        let [relu, satfinite] = [Field::Relu, Field::Satfinite].map(|field| flag(inst, field));
        Conversion { from, to, rounding: Rounding::of(inst), relu, satfinite }
    }

    /// The bits of the number that `bits` are in the source format.
    #[inline]
    fn apply(&self, bits: u32) -> u32 {
        let value = self.from.widen(bits);
        if self.relu && value <= 0.0 {
            return 0;
        }
        let result = narrow(value, self.to, self.rounding);
        let magnitude = result & (self.to.sign() - 1);
        if self.satfinite && !value.is_nan() && magnitude > self.to.greatest() {
            return result & self.to.sign() | self.to.greatest();
        }
        result
    }
}

/// `F2FP`.
fn floats(inst: &Inst) -> Result<Compute, Unsupported> {
    let each = Conversion::of(inst);
    let half = if inst.get(Field::HalfB) == half_b::H1 { 16 } else { 0 };
    Ok(match inst.get(Field::Pack) {
        pack::PACK_AB => single_sources(inst, move |a, b, _| each.apply(a) << 16 | each.apply(b)),
        // The 19 bits of a tf32 are the high ones of a single.
        pack::PACK_B => single_sources(inst, move |_, b, _| each.apply(b) << 13),
        pack::MERGE_C => single_sources(inst, move |_, b, c| c << 16 | each.apply(b)),
        pack::PACK_AB_MERGE_C => single_sources(inst, move |a, b, c| c << 16 | each.apply(a) << 8 | each.apply(b)),
        pack::UNPACK_B => int3(inst, move |_, b, _| {
            let bytes = b >> half;
            each.apply(bytes >> 8 & 0xff) << 16 | each.apply(bytes & 0xff)
        }),
        pack::UNPACK_B_MERGE_C => {
            int3(inst, move |_, b, c| c << 16 | each.apply(b >> 16) << 8 | each.apply(b & 0xffff))
        }
        other => return Err(Unsupported(format!("packing {other} of F2FP"))),
    })
}

/// `D = f(A, B, C)`, where `A` and `B` are singles, which have no signs here.
fn single_sources(inst: &Inst, f: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static) -> Compute {
    super::lanewise::single3(inst, f)
}

/// `F2IP`: bytes from `A` and `B` below a half of `C`.
fn floats_to_bytes(inst: &Inst) -> Result<Compute, Unsupported> {
    let round: fn(f32) -> f32 = match inst.get(Field::RndInt) {
        rnd_int::FLOOR => f32::floor,
        rnd_int::CEIL => f32::ceil,
        rnd_int::TRUNC => f32::trunc,
        _ => f32::round_ties_even,
    };
    let (signed, relu) = (inst.get(Field::DstInt) == ifmt::S8, flag(inst, Field::Relu));
    if !flag(inst, Field::Ntz) {
        return Err(Unsupported("F2IP without .NTZ".into()));
    }
    let at = if inst.get(Field::HalfC) == half_c::H1 { 16 } else { 0 };
    let byte = move |bits: u32| {
        let value = round(f32::from_bits(bits));
        let value = if relu && value < 0.0 { 0.0 } else { value };
        // Conversions of the host clamp, and make zero of a NaN.
        u32::from(if signed { value as i8 as u8 } else { value as u8 })
    };
    Ok(single_sources(inst, move |a, b, c| (c >> at) << 16 | byte(a) << 8 | byte(b)))
}

/// `I2IP`: narrow integers from `A` and `B` below the low bits of `C`.
fn integers(inst: &Inst) -> Compute {
    let (width, signed) = match inst.get(Field::DstNarrow) {
        nfmt::U8 => (8, false),
        nfmt::S8 => (8, true),
        nfmt::U16 => (16, false),
        nfmt::S16 => (16, true),
        nfmt::U2 => (2, false),
        nfmt::S2 => (2, true),
        nfmt::U4 => (4, false),
        _ => (4, true),
    };
    let (saturate, positive) = match inst.get(Field::Clamp) {
        clamp::SAT => (true, false),
        clamp::SATRELU => (true, true),
        _ => (false, false),
    };
    let greatest = if signed { (1i32 << (width - 1)) - 1 } else { (1i32 << width) - 1 };
    let least = if signed && !positive { -greatest - 1 } else { 0 };
    let field = (1u32 << width) - 1;
    let element = move |v: u32| if saturate { (v as i32).clamp(least, greatest) as u32 & field } else { v & field };
    let at = if inst.get(Field::PartC) == part_c::H1 { 16 } else { 0 };
    int3(inst, move |a, b, c| (c >> at).unbounded_shl(2 * width) | element(a) << width | element(b))
}
