//! Texels as numbers, and back.

use super::{Format, Image, Kind};
use half::f16;

/// The bits of the NaN that conversions to halves give.
const HALF_NAN: u32 = 0x7fff;

/// Which texel of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Level of detail.
    pub level: u32,
    /// Layer, or layer and face of a cube.
    pub slice: u32,
    /// Column, row, slice of a volume.
    pub at: [u32; 3],
    /// Sample.
    pub sample: u32,
}

/// A texel as instructions name it by numbers, which may be outside of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Level of detail; led back to one that exists.
    pub level: i32,
    /// Layer; the last one stands for those behind it.
    pub layer: u32,
    /// Column, row, slice of a volume.
    pub at: [i32; 3],
    /// How many of them count.
    pub axes: usize,
    /// Places outside mean the nearest texel inside; otherwise they have none.
    pub clamped: bool,
    /// Sample.
    pub sample: u32,
}

impl Numbered {
    /// The position in the image.
    #[must_use]
    pub fn position(&self, image: &Image) -> Position {
        let level = (self.level.max(0) as u32).min(image.levels.saturating_sub(1));
        let size = image.level_size(level);
        let mut at = [0; 3];
        for axis in 0..self.axes {
            let last = i32::try_from(size[axis] - 1).unwrap_or(i32::MAX);
            let place = self.at[axis];
            at[axis] =
                if self.clamped { place.clamp(0, last) as u32 } else { u32::try_from(place).unwrap_or(u32::MAX) };
        }
        Position { level, slice: image.layer(self.layer), at, sample: self.sample }
    }
}

/// The components of a texel as an instruction gives them: integers, or the bits of singles. Components that the
/// format lacks are 0, the last one 1; a texel that is not there is all 0. `load` gives the bytes at an address, of
/// which there are so many.
///
/// # Errors
/// Those of `load`.
pub fn read<E>(
    image: &Image,
    position: Position,
    load: impl FnOnce(u64, u32) -> Result<[u32; 4], E>,
) -> Result<[u32; 4], E> {
    let Position { level, slice, at, sample } = position;
    match image.texel(level, slice, at, sample) {
        Some(address) => Ok(decode(image.format, load(address, image.format.bytes())?)),
        None => Ok([0; 4]),
    }
}

/// A texel's components from its words.
#[must_use]
pub fn decode(format: Format, words: [u32; 4]) -> [u32; 4] {
    let one = if format.is_float() { 1f32.to_bits() } else { 1 };
    std::array::from_fn(|n| {
        if n as u32 >= format.channels {
            return if n == 3 { one } else { 0 };
        }
        let bit = n as u32 * format.bits;
        let element = words[(bit / 32) as usize] >> (bit % 32) & (u32::MAX >> (32 - format.bits));
        component(format, element)
    })
}

/// One number of a texel.
fn component(format: Format, element: u32) -> u32 {
    let unused = 32 - format.bits;
    let signed = (element << unused) as i32 >> unused;
    let most = u32::MAX >> unused;
    let value = match format.kind {
        Kind::Unsigned => return element,
        Kind::Signed => return signed as u32,
        Kind::Float if format.bits == 32 => return element,
        Kind::UnsignedNormalized => f64::from(element) / f64::from(most),
        // The least number stands for -1 too.
        Kind::SignedNormalized => (f64::from(signed) / f64::from(most >> 1)).max(-1.0),
        Kind::Float => f16::from_bits(element as u16).to_f64(),
    };
    (value as f32).to_bits()
}

/// The bytes of a texel from its components.
#[must_use]
pub fn encode(format: Format, components: [u32; 4]) -> [u32; 4] {
    let mut words = [0; 4];
    for (n, &value) in components.iter().enumerate().take(format.channels as usize) {
        let bit = n as u32 * format.bits;
        let mask = u32::MAX >> (32 - format.bits);
        words[(bit / 32) as usize] |= (element(format, value) & mask) << (bit % 32);
    }
    words
}

/// One number of a texel from a component: integers are clamped to those that there are.
fn element(format: Format, value: u32) -> u32 {
    let most = u32::MAX >> (32 - format.bits);
    let single = f64::from(f32::from_bits(value));
    match format.kind {
        Kind::Unsigned => value.min(most),
        Kind::Signed => (value as i32).clamp(!((most >> 1) as i32), (most >> 1) as i32) as u32,
        Kind::UnsignedNormalized => (single.clamp(0.0, 1.0) * f64::from(most)).round_ties_even() as u32,
        Kind::SignedNormalized => (single.clamp(-1.0, 1.0) * f64::from(most >> 1)).round_ties_even() as i32 as u32,
        Kind::Float if format.bits == 16 => half_of(value),
        Kind::Float => value,
    }
}

/// The half that is nearest to a single, by the bits of both.
#[must_use]
pub fn half_of(single: u32) -> u32 {
    let single = f32::from_bits(single);
    if single.is_nan() { HALF_NAN } else { u32::from(f16::from_f32(single).to_bits()) }
}
