//! Texels in memory, and as numbers.

use super::super::rounding::{HALF, Rounding, narrow};
use crate::effect::Env;
use crate::halt::Halt;
use crate::lanes::WARP;
use crate::space::{Place, Words};
use oriole_device::Access;
use oriole_device::texture::{Format, Image, Kind};

/// Which texel of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Level of detail.
    pub(super) level: u32,
    /// Layer, or layer and face of a cube.
    pub(super) slice: u32,
    /// Column, row, slice of a volume.
    pub(super) at: [u32; 3],
    /// Sample.
    pub(super) sample: u32,
}

/// The components of a texel as an instruction gives them: integers, or the bits of singles. Components that the
/// format lacks are 0, the last one 1; a texel that is not there is all 0.
pub(super) fn read(env: &mut Env<'_>, image: &Image, position: Position, lane: usize) -> Result<[u32; 4], Halt> {
    let Position { level, slice, at, sample } = position;
    match image.texel(level, slice, at, sample) {
        Some(address) => {
            let (place, size) = (Place::Global(address), image.format.bytes());
            env.report(Access::Read, size, 1 << lane, &[place; WARP]);
            let words = env.spaces.load(place, size, lane);
            Ok(decode(image.format, words.map_err(|kind| Halt::fault(lane, kind))?))
        }
        None => Ok([0; 4]),
    }
}

/// Whether components are singles.
pub(super) fn is_float(format: Format) -> bool {
    !matches!(format.kind, Kind::Unsigned | Kind::Signed)
}

/// A texel's components from its words.
pub(super) fn decode(format: Format, words: Words) -> [u32; 4] {
    let one = if is_float(format) { 1f32.to_bits() } else { 1 };
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
        Kind::Float => HALF.widen(element),
    };
    (value as f32).to_bits()
}

/// The bytes of a texel from its components.
pub(super) fn encode(format: Format, components: [u32; 4]) -> Words {
    let mut words = [0; 4];
    for (n, &value) in components.iter().enumerate().take(format.channels as usize) {
        let bit = n as u32 * format.bits;
        let mask = u32::MAX >> (32 - format.bits);
        words[(bit / 32) as usize] |= (element(format, value) & mask) << (bit % 32);
    }
    words
}

/// One number of a texel from a component.
fn element(format: Format, value: u32) -> u32 {
    let most = u32::MAX >> (32 - format.bits);
    let single = f64::from(f32::from_bits(value));
    match format.kind {
        Kind::Unsigned => value.min(most),
        Kind::Signed => (value as i32).clamp(!((most >> 1) as i32), (most >> 1) as i32) as u32,
        Kind::UnsignedNormalized => (single.clamp(0.0, 1.0) * f64::from(most)).round_ties_even() as u32,
        Kind::SignedNormalized => (single.clamp(-1.0, 1.0) * f64::from(most >> 1)).round_ties_even() as i32 as u32,
        Kind::Float if format.bits == 16 => narrow(single, HALF, Rounding::Nearest),
        Kind::Float => value,
    }
}
