//! Textures, surfaces, samplers and tensor maps of a program: lines of a table, and how a launch gets them.

use oriole_device::argument::Argument;
use oriole_device::tensor_map::TensorMap;
use oriole_device::texture::{self, Image, ObjectSpec, Objects, Sampler, parse_sampler};

/// A buffer of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// What the kernel reads.
    In,
    /// What it writes.
    Out,
}

/// A place in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    buffer: Buffer,
    offset: u64,
}

/// What a launch gives to a kernel beside the addresses of its buffers.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A texture or surface that a variable of that name means.
    Image {
        /// The variable.
        name: String,
        /// Where its texels are.
        place: Place,
        /// Its shape and format.
        image: Box<Image>,
        /// How a texture is read.
        sampler: Sampler,
    },
    /// A sampler that a variable of that name means.
    Sampler {
        /// The variable.
        name: String,
        /// How textures are read with it.
        sampler: Sampler,
    },
    /// A tensor map, the next parameter.
    Map {
        /// Where the tensor is.
        place: Place,
        /// The map, without an address yet.
        map: Box<TensorMap>,
    },
}

impl Object {
    /// The tensor map, without an address.
    pub(crate) fn map(&self) -> Option<TensorMap> {
        if let Object::Map { map, .. } = self { Some(TensorMap::clone(map)) } else { None }
    }

    /// Reads what follows the keyword `texture`, `surface`, `sampler` or `tensor`; an error says what is wrong.
    pub(crate) fn parse(keyword: &str, rest: &str) -> Result<Object, String> {
        let (first, rest) = rest.split_once(' ').ok_or("a name or a place, and what it is")?;
        match keyword {
            "sampler" => Ok(Object::Sampler { name: first.to_owned(), sampler: parse_sampler(rest)? }),
            "tensor" => {
                let argument = Argument::parse(&format!("tensormap:{rest}=zero:16")).map_err(|why| why.to_string())?;
                let Argument::TensorMap { map, .. } = argument else { return Err("a tensor map".to_owned()) };
                Ok(Object::Map { place: place(first)?, map: Box::new(map) })
            }
            _ => {
                let (at, spec) = rest.split_once(' ').ok_or("a name, a place and a format")?;
                let ObjectSpec { image, sampler, .. } = ObjectSpec::parse(&format!("{spec}:zero"))?;
                Ok(Object::Image { name: first.to_owned(), place: place(at)?, image: Box::new(image), sampler })
            }
        }
    }
}

/// `in+64`, `out+0`.
fn place(text: &str) -> Result<Place, String> {
    let wrong = || format!("`{text}` is no place, such as in+64");
    let (buffer, offset) = text.split_once('+').ok_or_else(wrong)?;
    let buffer = match buffer {
        "in" => Buffer::In,
        "out" => Buffer::Out,
        _ => return Err(wrong()),
    };
    Ok(Place { buffer, offset: offset.parse().map_err(|_| wrong())? })
}

/// Makes the objects for buffers at these addresses: tensor maps become arguments behind the others.
///
/// # Errors
/// A tensor map that cannot be encoded.
pub(crate) fn bind(
    objects: &[Object],
    [input, output]: [u64; 2],
    arguments: &mut Vec<Vec<u8>>,
) -> Result<Objects, String> {
    let address = |place: &Place| {
        let start = if place.buffer == Buffer::In { input } else { output };
        start + place.offset
    };
    let mut bound = Objects::default();
    for object in objects {
        match object {
            Object::Image { name, place, image, sampler } => {
                let image = Image { address: address(place), ..Image::clone(image) };
                let number = bound.add(texture::Object { image, sampler: sampler.clone() });
                bound.bind(name, number as u32);
            }
            Object::Sampler { name, sampler } => {
                let number = bound.add_sampler(sampler.clone());
                bound.bind(name, number);
            }
            Object::Map { place, map } => {
                let map = TensorMap { address: address(place), ..TensorMap::clone(map) };
                arguments.push(map.encode().map_err(|error| error.to_string())?.to_vec());
            }
        }
    }
    Ok(bound)
}
