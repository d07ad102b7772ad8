//! Arithmetic on four floats of 8 bits and less: `QADD4`, `QMUL4`, `QFMA4`.
//!
//! No chip was asked what becomes of NaNs and of too great results: NaNs are 0x7f, as conversions make them, and beyond the greatest
//! number there is infinity, or NaN in the format without one; with `.SATFINITE` the greatest number.

use super::host;
use super::rounding::{E2M1, E2M3, E3M2, E4M3, E5M2, Format, Rounding, narrow, sum_to_odd};
use crate::effect::{Compute, Unsupported};
use crate::lanes::{Lanes, map};
use crate::operand::{Dst, Src};
use crate::state::State;
use oriole_isa::{Field, Inst, Opcode, Quarter, Quarters, Role};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    let result = if inst.get(Field::QUARTER_D) == Quarter::E4M3 { Quarter::E4M3 } else { Quarter::E5M2 };
    let a = || Source::of(inst, Role::A, inst.get(Field::QUARTER_A), inst.get(Field::QUARTERS_A));
    let b = |format| Source::of(inst, Role::B, format, inst.get(Field::QUARTERS_B));
    let sources = match opcode {
        Opcode::QADD4 => [Some(a()?), None, Some(b(result)?)],
        Opcode::QMUL4 => [Some(a()?), Some(b(inst.get(Field::QUARTER_B))?), None],
        Opcode::QFMA4 => {
            let c = Source::of(inst, Role::C, result, inst.get(Field::QUARTERS_C))?;
            [Some(a()?), Some(b(inst.get(Field::QUARTER_B))?), Some(c)]
        }
        _ => return Ok(None),
    };
    let to = if result == Quarter::E4M3 { E4M3 } else { E5M2 };
    let (d, satfinite) = (Dst::of(inst, Role::D), inst.get(Field::SATFINITE));
    Ok(Some(host::compute(move |state: &mut State| {
        let mut word: Lanes = [0; 32];
        for element in 0..4 {
            let [a, b, c] =
                sources.each_ref().map(|source| source.as_ref().map(|source| source.values(state, element)));
            for lane in 0..32 {
                let [a, b, c] = [&a, &b, &c].map(|values| values.map(|values| values[lane]));
                word[lane] |= fused(a.unwrap_or(1.0), b.unwrap_or(1.0), c, to, satfinite) << (8 * element);
            }
        }
        d.set(state, &word);
    })))
}

/// `a * b + c` rounded once. Products of these formats are exact in doubles.
fn fused(a: f64, b: f64, c: Option<f64>, to: Format, satfinite: bool) -> u32 {
    let product = a * b;
    let sum = c.map_or(product, |c| sum_to_odd(product, c, Rounding::Nearest));
    let bits = narrow(sum, to, Rounding::Nearest);
    let is_beyond = !sum.is_nan() && bits & !to.sign() > to.greatest();
    match () {
        () if is_beyond && satfinite => bits & to.sign() | to.greatest(),
        () if to.is_nan(bits) => narrow(f64::NAN, to, Rounding::Nearest),
        () => bits,
    }
}

/// Four elements of an operand.
struct Source {
    source: Src,
    /// None: powers of two.
    format: Option<Format>,
    /// The lowest bit of each element, the low element first, and how many bits each has.
    places: [u32; 4],
    width: u32,
}

impl Source {
    fn of(inst: &Inst, role: Role, format: Quarter, quarters: Quarters) -> Result<Source, Unsupported> {
        let source = Src::of(inst, role);
        let (places, stride) = match quarters {
            Quarters::B3210 => ([0, 8, 16, 24], 8),
            Quarters::B0 => ([0; 4], 8),
            Quarters::B1 => ([8; 4], 8),
            Quarters::B2 => ([16; 4], 8),
            Quarters::B3 => ([24; 4], 8),
            Quarters::N3210 => ([0, 4, 8, 12], 4),
            Quarters::N7654 => ([16, 20, 24, 28], 4),
            _ => ([0, 8, 16, 24], 4),
        };
        let (number, width) = match format {
            Quarter::E5M2 => (Some(E5M2), 8),
            Quarter::E4M3 => (Some(E4M3), 8),
            Quarter::E3M2 => (Some(E3M2), 6),
            Quarter::E2M3 => (Some(E2M3), 6),
            Quarter::E2M1 => (Some(E2M1), 4),
            _ => (None, 8),
        };
        let is_signed = source.absolute() || source.negated();
        if (width == 4) != (stride == 4) || number.is_none() && is_signed {
            return Err(Unsupported(format!("{} with an operand that no code is seen to have", inst.opcode.name())));
        }
        Ok(Source { source, format: number, places, width })
    }

    /// An element in each lane.
    fn values(&self, state: &State, element: usize) -> [f64; 32] {
        let (at, mask) = (self.places[element], (1 << self.width) - 1);
        map(&self.source.bits(state), |word| {
            let bits = word >> at & mask;
            let Some(format) = self.format else {
                return if bits == 0xff { f64::NAN } else { libm::exp2(f64::from(bits) - 127.0) };
            };
            let keep = if self.source.absolute() { !format.sign() } else { u32::MAX };
            let flip = if self.source.negated() { format.sign() } else { 0 };
            format.widen(bits & keep ^ flip)
        })
    }
}
