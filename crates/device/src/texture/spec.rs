//! Textures, surfaces and samplers as the command line gives them.

use super::{AddressMode, Comparison, Filter, Format, Image, Kind, Object, Sampler, Shape};
use crate::Memory;
use crate::argument_error::ArgumentError;
use crate::array::ArrayType;
use crate::buffer::Buffer;

/// A texture or surface as the command line gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectSpec {
    /// The image, without an address yet.
    pub image: Image,
    /// How it is read.
    pub sampler: Sampler,
    /// Its texels.
    pub buffer: Buffer,
}

impl ObjectSpec {
    /// Reads `SHAPE:SIZE:FORMAT[:OPTIONS]:BUFFER`, such as `2d:64x32:f32x1:linear,normalized:in:PATH`.
    pub fn parse(text: &str) -> Result<ObjectSpec, String> {
        let mut parts = text.splitn(4, ':');
        let mut next = |what: &str| parts.next().ok_or_else(|| format!("{what} is missing"));
        let shape = shape(next("the shape")?)?;
        let size = size(next("the size")?, shape)?;
        let format = format(next("the format")?)?;
        let rest = next("the buffer (in:PATH, out:PATH, inout:IN:OUT or zero)")?;
        let mut image = Image { shape, format, size, layers: None, levels: 1, samples: 1, address: 0 };
        let mut sampler = Sampler::default();
        let buffer = match rest.split_once(':') {
            Some((options, buffer)) if !BUFFERS.contains(&options) => {
                apply_options(options, &mut image, &mut sampler)?;
                buffer
            }
            _ => rest,
        };
        let buffer = parse_buffer(buffer, image.bytes())?;
        Ok(ObjectSpec { image, sampler, buffer })
    }

    /// Puts the texels into memory; the object, and what the buffer is for [`crate::argument::Bound::outputs`].
    pub(crate) fn place(&self, name: &str, memory: &mut Memory) -> Result<(Object, ArrayType), ArgumentError> {
        let (address, array) = self.buffer.place(name, memory)?;
        let object = Object { image: Image { address, ..self.image.clone() }, sampler: self.sampler.clone() };
        Ok((object, array))
    }
}

/// Reads the options of a sampler, such as `linear,normalized`.
pub fn parse_sampler(options: &str) -> Result<Sampler, String> {
    let mut sampler = Sampler::default();
    match options.split(',').find(|option| !option.is_empty() && !sampler_option(option, &mut sampler)) {
        Some(unknown) => Err(format!("'{unknown}' is no option of a sampler")),
        None => Ok(sampler),
    }
}

const BUFFERS: [&str; 4] = ["in", "out", "inout", "zero"];

fn shape(text: &str) -> Result<Shape, String> {
    match text {
        "1d" => Ok(Shape::D1),
        "2d" => Ok(Shape::D2),
        "3d" => Ok(Shape::D3),
        "cube" => Ok(Shape::Cube),
        _ => Err(format!("'{text}' is no shape (1d, 2d, 3d, cube)")),
    }
}

/// Largest extent of an image on any axis.
const LARGEST_EXTENT: u32 = 1 << 27;

fn size(text: &str, shape: Shape) -> Result<[u32; 3], String> {
    let bad = || format!("'{text}' is no size such as 64, 64x32 or 64x32x16 of this shape");
    let sizes: Option<Vec<u32>> = text.split('x').map(|size| size.parse().ok()).collect();
    let sizes = sizes.filter(|sizes| sizes.iter().all(|&size| (1..=LARGEST_EXTENT).contains(&size))).ok_or_else(bad)?;
    match (shape, sizes.as_slice()) {
        (Shape::D1, &[x]) => Ok([x, 1, 1]),
        (Shape::D2, &[x, y]) => Ok([x, y, 1]),
        (Shape::D3, &[x, y, z]) => Ok([x, y, z]),
        (Shape::Cube, &[x]) => Ok([x, x, 1]),
        _ => Err(bad()),
    }
}

/// Prefixes of formats; `u8x4`, `f16x1`, `un8x4`.
const KINDS: [(&str, Kind); 5] = [
    ("un", Kind::UnsignedNormalized),
    ("sn", Kind::SignedNormalized),
    ("u", Kind::Unsigned),
    ("s", Kind::Signed),
    ("f", Kind::Float),
];

fn format(text: &str) -> Result<Format, String> {
    let bad = || format!("'{text}' is no format: u, s, un, sn or f, then 8, 16 or 32, then x1, x2 or x4");
    let (kind, rest) =
        KINDS.iter().find_map(|(prefix, kind)| Some((*kind, text.strip_prefix(prefix)?))).ok_or_else(bad)?;
    let (bits, channels) = rest.split_once('x').ok_or_else(bad)?;
    let (bits, channels) = (bits.parse().map_err(|_| bad())?, channels.parse().map_err(|_| bad())?);
    let most = if matches!(kind, Kind::UnsignedNormalized | Kind::SignedNormalized) { 16 } else { 32 };
    let least = if kind == Kind::Float { 16 } else { 8 };
    let exists = [8, 16, 32].contains(&bits) && (least..=most).contains(&bits) && [1, 2, 4].contains(&channels);
    if exists { Ok(Format { kind, bits, channels }) } else { Err(bad()) }
}

fn apply_options(options: &str, image: &mut Image, sampler: &mut Sampler) -> Result<(), String> {
    for option in options.split(',') {
        let number = |text: &str| text.parse().ok().filter(|n| (1..=65536).contains(n));
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match (key, number(value)) {
            ("layers", Some(layers)) => image.layers = Some(layers),
            ("levels", Some(levels)) if levels <= 32 => image.levels = levels,
            ("samples", Some(samples)) if samples <= 32 => image.samples = samples,
            _ if sampler_option(option, sampler) => {}
            _ => return Err(format!("'{option}' is no option of a texture")),
        }
    }
    Ok(())
}

/// Applies one option; `false` if there is none of that name.
fn sampler_option(option: &str, sampler: &mut Sampler) -> bool {
    match option {
        "nearest" => sampler.filter = Filter::Nearest,
        "linear" => sampler.filter = Filter::Linear,
        "mip" => sampler.mip_filter = Filter::Linear,
        "normalized" => sampler.normalized = true,
        "wrap" => sampler.address = AddressMode::Wrap,
        "mirror" => sampler.address = AddressMode::Mirror,
        "clamp" => sampler.address = AddressMode::Clamp,
        "border" => sampler.address = AddressMode::Border,
        "le" => sampler.comparison = Comparison::LessEqual,
        "ge" => sampler.comparison = Comparison::GreaterEqual,
        _ => return false,
    }
    true
}

fn parse_buffer(text: &str, bytes: u64) -> Result<Buffer, String> {
    let (kind, path) = text.split_once(':').unwrap_or((text, ""));
    let (input, output) = match kind {
        "zero" if path.is_empty() => (None, None),
        "in" if !path.is_empty() => (Some(path), None),
        "out" if !path.is_empty() => (None, Some(path)),
        "inout" => {
            let (input, output) = path.split_once(':').ok_or("'inout' needs two paths")?;
            (Some(input), Some(output))
        }
        _ => return Err(format!("'{text}' is no buffer (in:PATH, out:PATH, inout:IN:OUT, zero)")),
    };
    Buffer::of_size(input, output, bytes).ok_or_else(|| format!("{bytes} bytes are too many for an image"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_says_what_an_image_is() {
        let spec = ObjectSpec::parse("2d:64x32:un8x4:linear,wrap,normalized,layers=3,levels=2:zero").expect("a spec");
        assert_eq!(spec.image.size, [64, 32, 1]);
        assert_eq!(spec.image.format, Format { kind: Kind::UnsignedNormalized, bits: 8, channels: 4 });
        assert_eq!((spec.image.layers, spec.image.levels), (Some(3), 2));
        assert_eq!(spec.image.bytes(), 3 * 4 * (64 * 32 + 32 * 16));
        assert_eq!((spec.sampler.filter, spec.sampler.address), (Filter::Linear, AddressMode::Wrap));
        assert!(spec.sampler.normalized);
        for bad in [
            "2d:64:f32x1:zero",
            "5d:1:u8x1:zero",
            "1d:4:f8x1:zero",
            "1d:4:un32x1:zero",
            "1d:0:u8x1:zero",
            "1d:4:u8x3:zero",
            "1d:4:u8x1:soft:zero",
            "1d:4:u8x1:in:",
            "1d:4:u8x1",
            "1d:99999999999:u8x1:zero",
            "3d:134217728x134217728x134217728:u32x4:zero",
        ] {
            ObjectSpec::parse(bad).expect_err(bad);
        }
    }
}
