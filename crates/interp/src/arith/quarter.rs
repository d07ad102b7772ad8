//! `add`, `sub`, `mul`, `fma` of four floats of 8 bits and less, each operand of a format of its own (PTX 9.4).
//!
//! What is computed of the numbers is exact, and rounded once to nearest. The text of the manual on NaNs and on results that are too great was
//! not found: they are what `cvt` makes of them where it has such results, and infinity, or NaN in `.e4m3`, where it has not.

use oriole_ptx::ast::{Instruction, Opcode, ScalarType, Word};
use rustc_apfloat::ieee::Quad;
use rustc_apfloat::{Float, Round};
use smallvec::{SmallVec, smallvec};

use super::format::{Format, odd};
use super::function::{Arithmetic, Bits, Compiled, Results, low, unsupported};

/// The instructions with `.e4m3x4` or `.e5m2x4` as the result.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    let (result, format) = match inst.ty(0) {
        Some(ty @ ScalarType::E4m3x4) => (ty, Format::E4m3),
        Some(ty @ ScalarType::E5m2x4) => (ty, Format::E5m2),
        _ => return Ok(None),
    };
    let function: fn([Quad; 3]) -> Quad = match inst.opcode {
        Opcode::Add => |[a, b, _]| once(|round| a.add_r(b, round)),
        Opcode::Sub => |[a, b, _]| once(|round| a.sub_r(b, round)),
        Opcode::Mul => |[a, b, _]| once(|round| a.mul_r(b, round)),
        Opcode::Fma => |[a, b, c]| once(|round| a.mul_add_r(b, c, round)),
        _ => return Ok(None),
    };
    let mut sources: SmallVec<[ScalarType; 4]> = inst.types().skip(1).collect();
    if inst.opcode != Opcode::Mul {
        sources.push(result);
    }
    let Some(elements) = sources.iter().map(|ty| Elements::of(*ty)).collect::<Option<SmallVec<[Elements; 4]>>>() else {
        return unsupported(inst, "with sources of these types");
    };
    let satfinite = inst.has(Word::Satfinite);
    Ok(Some(Arithmetic {
        sources,
        destinations: smallvec![result],
        run: Box::new(move |given| {
            let element = |lane: u32| {
                let mut numbers = [Quad::ZERO; 3];
                for ((number, elements), value) in numbers.iter_mut().zip(&elements).zip(given.values) {
                    *number = elements.number(*value, lane);
                }
                let exact = function(numbers);
                if satfinite { format.encode(exact, Round::NearestTiesToEven) } else { format.encode_unbounded(exact) }
            };
            Results { values: smallvec![(0..4).fold(0, |word, lane| word | element(lane) << (8 * lane))], carry: None }
        }),
    }))
}

/// The exact result rounded to odd; a zero is exact, and its sign is that of rounding to nearest.
fn once(at: impl Fn(Round) -> rustc_apfloat::StatusAnd<Quad>) -> Quad {
    let result = odd(at(Round::TowardZero));
    if result.is_zero() { at(Round::NearestTiesToEven).value } else { result }
}

/// How four elements stand in a source.
#[derive(Clone, Copy)]
struct Elements {
    /// None: powers of two, `.ue8m0`.
    format: Option<Format>,
    /// Bits from one element to the next.
    stride: u32,
}

impl Elements {
    fn of(ty: ScalarType) -> Option<Elements> {
        let (format, stride) = match ty {
            ScalarType::E4m3x4 => (Some(Format::E4m3), 8),
            ScalarType::E5m2x4 => (Some(Format::E5m2), 8),
            ScalarType::E2m3x4 => (Some(Format::E2m3), 8),
            ScalarType::E3m2x4 => (Some(Format::E3m2), 8),
            ScalarType::E2m1p4x4 => (Some(Format::E2m1), 8),
            ScalarType::E2m1x4 => (Some(Format::E2m1), 4),
            ScalarType::Ue8m0x4 => (None, 8),
            _ => return None,
        };
        Some(Elements { format, stride })
    }

    fn number(self, word: Bits, lane: u32) -> Quad {
        let bits = word >> (lane * self.stride);
        match (self.format, low(bits, 8)) {
            (Some(format), _) => format.decode(low(bits, format.width())),
            (None, 0xff) => Quad::NAN,
            (None, exponent) => Quad::from_u128(1).value.scalbn(exponent as i32 - 127),
        }
    }
}
