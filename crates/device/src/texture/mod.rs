//! Textures, surfaces and samplers: objects that a launch hands to a kernel beside its buffers.
//!
//! An [`Image`] is texels in device memory; a texture reads it through a [`Sampler`], a surface as it stands.
//! A kernel names objects by a 64-bit handle: bits 0–19 are the number of the texture or surface (from 1 on; 0
//! is none), bits 20–30 the number of a separate sampler, 0 for the texture's own; bit 31 says nothing.
//!
//! | file | what it does |
//! |---|---|
//! | `spec` | objects and samplers as text |
//! | `texel` | texels as numbers, and back |
//! | `sample` | the value of an image at a place: levels, filters, address modes, depth comparison |
//! | `cube` | the face and the place on it that a direction meets |
//! | `surface` | the place of an access to a surface |
//! | `property` | the numbers that stand for formats, address modes and filters |

pub mod cube;
pub mod property;
pub mod sample;
mod spec;
pub mod surface;
pub mod texel;

pub use spec::{ObjectSpec, parse_sampler};

use std::collections::BTreeMap;

/// Arrangement of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A row.
    D1,
    /// Rows.
    D2,
    /// Slices of rows.
    D3,
    /// Six square faces: +x, -x, +y, -y, +z, -z.
    Cube,
}

impl Shape {
    /// Coordinates that say a place; on a face for a cube.
    pub fn axes(self) -> usize {
        match self {
            Shape::D1 => 1,
            Shape::D2 | Shape::Cube => 2,
            Shape::D3 => 3,
        }
    }
}

/// What the numbers of a texel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Unsigned integers.
    Unsigned,
    /// Signed integers.
    Signed,
    /// Unsigned integers that stand for 0 to 1.
    UnsignedNormalized,
    /// Signed integers that stand for -1 to 1.
    SignedNormalized,
    /// Floats: of 16 or 32 bits.
    Float,
}

/// The format of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// What its numbers are.
    pub kind: Kind,
    /// Bits of each: 8, 16 or 32.
    pub bits: u32,
    /// Numbers: 1, 2 or 4.
    pub channels: u32,
}

impl Format {
    /// Bytes of a texel.
    pub fn bytes(self) -> u32 {
        self.bits / 8 * self.channels
    }

    /// Components are read as floats, which can be blended; otherwise as integers.
    pub fn is_float(self) -> bool {
        !matches!(self.kind, Kind::Unsigned | Kind::Signed)
    }
}

/// Texels in device memory: level after level, in each layer after layer (six faces each in a cube), slice
/// after slice, row after row, texel after texel, sample after sample, without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its arrangement.
    pub shape: Shape,
    /// The format of its texels.
    pub format: Format,
    /// Width, height and depth of level 0 in texels; 1 where the shape has no such axis.
    pub size: [u32; 3],
    /// Layers; `None` if it is no array.
    pub layers: Option<u32>,
    /// Levels of detail, each half as wide, high and deep as the one before.
    pub levels: u32,
    /// Samples of a texel.
    pub samples: u32,
    /// Address of its first texel.
    pub address: u64,
}

impl Image {
    /// Width, height and depth of a level.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        self.size.map(|size| size.checked_shr(level).unwrap_or(0).max(1))
    }

    /// Faces of a layer.
    fn faces(&self) -> u32 {
        if self.shape == Shape::Cube { 6 } else { 1 }
    }

    /// Layers of each level, faces counted as such.
    pub fn slices(&self) -> u32 {
        self.layers.unwrap_or(1).saturating_mul(self.faces())
    }

    /// The layer that a number means: the last one where it is greater.
    pub fn layer(&self, number: u32) -> u32 {
        number.min(self.layers.unwrap_or(1).saturating_sub(1))
    }

    /// Width, height and depth of a level as a query answers: of an array the layers stand in the place of a depth.
    pub fn dimensions(&self, level: u32) -> [u32; 3] {
        let [width, height, depth] = self.level_size(level);
        [width, height, self.layers.unwrap_or(depth)]
    }

    /// Bytes of one level.
    fn level_bytes(&self, level: u32) -> u64 {
        let texels =
            self.level_size(level).iter().fold(u64::from(self.slices()), |n, &size| n.saturating_mul(u64::from(size)));
        texels.saturating_mul(u64::from(self.samples)).saturating_mul(u64::from(self.format.bytes()))
    }

    /// Bytes of all levels.
    pub fn bytes(&self) -> u64 {
        (0..self.levels).fold(0, |bytes: u64, level| bytes.saturating_add(self.level_bytes(level)))
    }

    /// The address of a sample of a texel; `None` if there is no such level, slice, texel or sample.
    pub fn texel(&self, level: u32, slice: u32, at: [u32; 3], sample: u32) -> Option<u64> {
        let size = self.level_size(level);
        let exists = level < self.levels && slice < self.slices() && sample < self.samples;
        if !exists || at.iter().zip(size).any(|(&at, size)| at >= size) {
            return None;
        }
        let before: u64 = (0..level).map(|level| self.level_bytes(level)).sum();
        let [width, height, depth] = size.map(u64::from);
        let [x, y, z] = at.map(u64::from);
        let texel = ((u64::from(slice) * depth + z) * height + y) * width + x;
        let element = texel * u64::from(self.samples) + u64::from(sample);
        Some(self.address + before + element * u64::from(self.format.bytes()))
    }
}

/// What a coordinate outside of the image means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The image repeats. As `Clamp` for coordinates that are not normalised.
    Wrap,
    /// The image repeats, every other time mirrored. As `Clamp` for coordinates that are not normalised.
    Mirror,
    /// The nearest texel at the edge.
    Clamp,
    /// The border colour.
    Border,
}

/// How texels make a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The nearest one.
    Nearest,
    /// Those around the place, weighted.
    Linear,
}

/// How a depth compares with a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The depth is less or equal.
    LessEqual,
    /// The depth is greater or equal.
    GreaterEqual,
}

/// How a texture is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampler {
    /// What coordinates outside of the image mean, on all axes.
    pub address: AddressMode,
    /// Within a level.
    pub filter: Filter,
    /// Between levels.
    pub mip_filter: Filter,
    /// Coordinates from 0 to 1 span the image; otherwise they count texels.
    pub normalized: bool,
    /// The colour outside with [`AddressMode::Border`].
    pub border: [f32; 4],
    /// For reads that compare with a depth.
    pub comparison: Comparison,
}

impl Default for Sampler {
    /// The nearest texel by its number, clamped to the image.
    fn default() -> Self {
        Sampler {
            address: AddressMode::Clamp,
            filter: Filter::Nearest,
            mip_filter: Filter::Nearest,
            normalized: false,
            border: [0.0; 4],
            comparison: Comparison::LessEqual,
        }
    }
}

/// An image with the sampler that reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The texels.
    pub image: Image,
    /// How a texture reads them.
    pub sampler: Sampler,
}

/// The objects of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    objects: Vec<Object>,
    samplers: Vec<Sampler>,
    names: BTreeMap<String, u32>,
}

/// First bit of a sampler's number in a handle.
const SAMPLER_SHIFT: u32 = 20;
/// A bit that ptxas 13.0.88 sets for sm_75 to sm_89 in the handle of a variable whose address the program takes. It names nothing.
const OF_A_VARIABLE: u32 = 1 << 31;

impl Objects {
    /// Adds an object; its handle.
    pub fn add(&mut self, object: Object) -> u64 {
        self.objects.push(object);
        self.objects.len() as u64
    }

    /// Adds a sampler by itself; its number.
    pub fn add_sampler(&mut self, sampler: Sampler) -> u32 {
        self.samplers.push(sampler);
        self.samplers.len() as u32
    }

    /// Lets the variable `name` of a module (`.texref`, `.surfref`, `.samplerref`) mean the object or sampler
    /// of that number.
    pub fn bind(&mut self, name: &str, number: u32) {
        self.names.insert(name.to_owned(), number);
    }

    /// The number that a variable of the module means.
    pub fn bound(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    /// The image that a handle names, and the sampler to read it with. `separate` is the number of a sampler
    /// that is given beside the handle, 0 for none.
    pub fn lookup(&self, handle: u32, separate: u32) -> Option<(&Image, &Sampler)> {
        let (handle, separate) = (handle & !OF_A_VARIABLE, separate & !(OF_A_VARIABLE >> SAMPLER_SHIFT));
        let number = handle & ((1 << SAMPLER_SHIFT) - 1);
        let object = self.objects.get((number as usize).checked_sub(1)?)?;
        let sampler = match handle >> SAMPLER_SHIFT {
            0 => separate,
            given => given,
        };
        match (sampler as usize).checked_sub(1) {
            None => Some((&object.image, &object.sampler)),
            Some(index) => self.samplers.get(index).map(|sampler| (&object.image, sampler)),
        }
    }

    /// All objects, in the order of their numbers from 1 on.
    pub fn all(&self) -> &[Object] {
        &self.objects
    }

    /// All samplers, in the order of their numbers from 1 on.
    pub fn samplers(&self) -> &[Sampler] {
        &self.samplers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texels_lie_behind_each_other() {
        let mut image = ObjectSpec::parse("3d:4x3x2:u16x2:levels=2:zero").expect("a spec").image;
        image.address = 0x1000;
        assert_eq!(image.texel(0, 0, [1, 2, 1], 0), Some(0x1000 + 4 * (1 + 4 * (2 + 3))));
        assert_eq!(image.texel(1, 0, [1, 0, 0], 0), Some(0x1000 + 4 * 24 + 4));
        for outside in [[4, 0, 0], [0, 3, 0], [0, 0, 2]] {
            assert_eq!(image.texel(0, 0, outside, 0), None);
        }
        assert_eq!(
            [image.texel(2, 0, [0; 3], 0), image.texel(0, 1, [0; 3], 0), image.texel(0, 0, [0; 3], 1)],
            [None; 3]
        );
    }

    #[test]
    fn handles_name_objects_and_samplers() {
        let spec = ObjectSpec::parse("1d:4:u8x1:zero").expect("a spec");
        let mut objects = Objects::default();
        let object = Object { image: spec.image, sampler: spec.sampler };
        assert_eq!(objects.add(object), 1);
        let linear = parse_sampler("linear").expect("a sampler");
        assert_eq!(objects.add_sampler(linear), 1);
        let filter = |handle, separate| objects.lookup(handle, separate).map(|(_, sampler)| sampler.filter);
        assert_eq!(filter(1, 0), Some(Filter::Nearest));
        assert_eq!((filter(1 | 1 << 20, 0), filter(1, 1)), (Some(Filter::Linear), Some(Filter::Linear)));
        assert_eq!((filter(0, 0), filter(2, 0), filter(1, 2)), (None, None, None));
        let of_a_variable = OF_A_VARIABLE >> SAMPLER_SHIFT;
        assert_eq!(filter(1 | OF_A_VARIABLE, of_a_variable), Some(Filter::Nearest));
        assert_eq!(filter(1 | OF_A_VARIABLE, of_a_variable | 1), Some(Filter::Linear));
    }
}
