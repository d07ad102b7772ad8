//! Tables of what `txq` and `suq` ask of textures, samplers and surfaces: a driver keeps them in global memory,
//! and code reads them there. The layout is read off ptxas's code for each query.

use oriole_device::texture::{Image, Objects, Sampler, property};

/// Bytes of an entry of each table: textures, samplers, surfaces.
const ENTRY: [usize; 3] = [0x40, 0x20, 0x40];

/// Symbols that code multiplies the number of an object with, and the table that each belongs to.
const SYMBOLS: [(&str, usize); 4] = [
    (".nv.unified.texrefDescSize", 0),
    (".nv.independent.texrefDescSize", 0),
    (".nv.independent.samplerrefDescSize", 1),
    (".nv.surfrefDescSize", 2),
];

/// The value of a symbol that stands for the size of an entry.
pub(crate) fn entry_size(symbol: &str) -> Option<u64> {
    SYMBOLS.iter().find(|(name, _)| *name == symbol).map(|(_, table)| ENTRY[*table] as u64)
}

/// The three tables; entry 0 of each is that of no object.
pub(crate) fn tables(objects: &Objects) -> [Vec<u8>; 3] {
    let textures = objects.all().iter().map(|object| {
        let mut entry = sampler_words(&object.sampler, 0xc);
        entry.push((0x1c, u32::from(object.sampler.normalized)));
        entry.extend(image_words(&object.image, [0x20, 0x24, 0x28]));
        entry.extend([(0x2c, object.image.levels), (0x30, object.image.samples)]);
        entry
    });
    let samplers = objects.samplers().iter().map(|sampler| {
        let mut entry = sampler_words(sampler, 0);
        entry.push((0x10, u32::from(!sampler.normalized)));
        entry
    });
    let surfaces = objects.all().iter().map(|object| image_words(&object.image, [0xc, 0x10, 0x1c]).to_vec());
    [table(ENTRY[0], textures), table(ENTRY[1], samplers), table(ENTRY[2], surfaces)]
}

/// Entries of `size` bytes from words at offsets.
fn table(size: usize, entries: impl Iterator<Item = Vec<(usize, u32)>>) -> Vec<u8> {
    let mut bytes = vec![0; size];
    for entry in entries {
        let start = bytes.len();
        bytes.resize(start + size, 0);
        for (offset, word) in entry {
            bytes[start + offset..start + offset + 4].copy_from_slice(&word.to_le_bytes());
        }
    }
    bytes
}

/// The address modes of three axes and the filter, from `start` on: numbered as the PTX manual lists them.
fn sampler_words(sampler: &Sampler, start: usize) -> Vec<(usize, u32)> {
    let (mode, filter) = (property::address_mode(sampler.address), property::filter_mode(sampler.filter));
    vec![(start, mode), (start + 4, mode), (start + 8, mode), (start + 12, filter)]
}

/// The type of a channel, the order of the channels and the number of layers, with the constants that the PTX
/// manual gives in "Channel Data Type and Channel Order Fields".
fn image_words(image: &Image, [data_type, order, layers]: [usize; 3]) -> [(usize, u32); 3] {
    let (code, channels) = (property::channel_data_type(image.format), property::channel_order(image.format));
    [(data_type, code), (order, channels), (layers, image.layers.unwrap_or(0))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_device::texture::{Object, ObjectSpec, parse_sampler};

    #[test]
    fn entries_hold_the_constants_of_the_manual() {
        let mut objects = Objects::default();
        for spec in ["2d:4x4:un8x4:linear,normalized,levels=2:zero", "1d:4:f16x1:layers=7,border:zero"] {
            let spec = ObjectSpec::parse(spec).expect("a spec");
            objects.add(Object { image: spec.image, sampler: spec.sampler });
        }
        objects.add_sampler(parse_sampler("wrap").expect("a sampler"));
        let tables = tables(&objects);
        let word = |table: usize, entry: usize, at: usize| {
            let at = ENTRY[table] * entry + at;
            u32::from_le_bytes(std::array::from_fn(|i| tables[table][at + i]))
        };
        // CL_UNORM_INT8, CL_RGBA, then CL_HALF_FLOAT, CL_R.
        assert_eq!([word(0, 1, 0x20), word(0, 1, 0x24), word(0, 1, 0x1c), word(0, 1, 0x2c)], [0x10d2, 0x10b5, 1, 2]);
        assert_eq!([word(2, 2, 0xc), word(2, 2, 0x10), word(2, 2, 0x1c)], [0x10dd, 0x10b0, 7]);
        assert_eq!([word(0, 1, 0x18), word(0, 2, 0xc), word(1, 1, 0), word(1, 1, 0x10)], [1, 4, 0, 1]);
    }
}
