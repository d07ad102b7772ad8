use super::*;

/// The words of a map after the instructions that ptxas makes of `tensormap.replace`, one by one.
struct Replaced([u32; BYTES / 4]);

impl Replaced {
    fn merge(&mut self, byte: usize, mask: u32, value: u32) {
        self.0[byte / 4] = self.0[byte / 4] & !mask | value & mask;
    }

    fn global_address(&mut self, address: u64) {
        (self.0[0], self.0[1]) = (address as u32, (address >> 32) as u32);
    }

    fn global_dim(&mut self, dim: usize, size: u32) {
        self.0[(0x20 + 4 * dim) / 4] = size.wrapping_sub(1);
    }

    fn global_stride(&mut self, dim: usize, stride: u64) {
        self.0[(0xc + 4 * dim) / 4] = (stride >> 4) as u32;
        self.merge(0x1c, 0xf << (4 * dim), ((stride >> 36) as u32) << (4 * dim));
    }

    fn box_dim(&mut self, dim: usize, size: u32) {
        match dim {
            0 => self.merge(0x34, 0xff00_0000, size.wrapping_sub(1) << 24),
            _ => self.merge(0x38, 0xff << (8 * (dim - 1)), size.wrapping_sub(1) << (8 * (dim - 1))),
        }
    }

    fn element_stride(&mut self, dim: usize, stride: u32) {
        self.merge(0x34, 7 << (3 * dim), stride.wrapping_sub(1) << (3 * dim));
    }

    fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes.chunks_exact_mut(4).zip(self.0).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
        bytes
    }
}

fn tiled() -> TensorMap {
    TensorMap {
        address: 0x7_1234_5670,
        element: Element::F32,
        rank: 3,
        dims: [100, 50, 7, 1, 1],
        strides: [400, 0xab_cdef_0120, 0, 0],
        shape: Shape::Tile([32, 16, 2, 1, 1]),
        element_strides: [1, 2, 8, 1, 1],
        swizzle: Swizzle::B128,
        fill: Fill::Nan,
    }
}

#[test]
fn fields_are_where_the_instructions_of_ptxas_put_them() {
    let map = tiled();
    let mut replaced = Replaced([0; BYTES / 4]);
    // What no `tensormap.replace` writes: 32 by 8 by 1 floats are moved; eight rows of 128 bytes are a swizzle.
    replaced.merge(0x40, u32::MAX, 32 * 8 * 4);
    replaced.merge(0x48, u32::MAX, 8 * 128);
    replaced.global_address(map.address);
    replaced.merge(0x8, 0x70, 2 << 4);
    replaced.merge(0x8, 0x780, 7 << 7);
    replaced.merge(0x8, 0x6000, 3 << 13);
    replaced.merge(0x8, 0x8000, 1 << 15);
    for dim in 0..3 {
        replaced.global_dim(dim, map.dims[dim] as u32);
        replaced.box_dim(dim, [32, 16, 2][dim]);
        replaced.element_stride(dim, map.element_strides[dim]);
    }
    for dim in 0..2 {
        replaced.global_stride(dim, map.strides[dim]);
    }
    assert_eq!(map.encode(), Ok(replaced.bytes()));
    assert_eq!(TensorMap::decode(&replaced.bytes()), Ok(map));
}

#[test]
fn im2col_maps_come_back() {
    for (rank, lower, upper) in
        [(3, [-32768, 0, 0], [32767, 0, 0]), (4, [-1, -128, 0], [127, -2, 0]), (5, [-16, 3, -1], [15, -4, 0])]
    {
        let shape = Shape::Im2col { lower, upper, channels: 64, pixels: 1000 };
        let dims = std::array::from_fn(|i| if i < rank { 64 } else { 1 });
        let strides = std::array::from_fn(|i| if i + 1 < rank { 4096 << (4 * i) } else { 0 });
        let map = TensorMap { element: Element::F16, rank, dims, strides, shape, element_strides: [1; 5], ..tiled() };
        let bytes = map.encode().expect("a proper map");
        assert_eq!(TensorMap::decode(&bytes), Ok(map));
    }
}

#[test]
fn improper_maps_are_refused() {
    let refuse = |change: fn(&mut TensorMap)| {
        let mut map = tiled();
        map.encode().expect("the base case is proper");
        change(&mut map);
        map.encode().expect_err("the change makes it improper").to_string()
    };
    assert!(refuse(|map| map.address += 8).contains("multiple of 16"));
    assert!(refuse(|map| map.rank = 6).contains("not 6"));
    assert!(refuse(|map| map.strides[0] = 408).contains("stride"));
    assert!(refuse(|map| map.shape = Shape::Tile([257; 5])).contains("1 and 256"));
    assert!(refuse(|map| map.shape = Shape::Tile([33, 1, 1, 1, 1])).contains("132 bytes"));
    assert!(refuse(|map| map.shape = Shape::Tile([64, 1, 1, 1, 1])).contains("swizzle"));
    assert!(refuse(|map| map.element_strides[1] = 9).contains("element stride"));
    let im2col = |map: &mut TensorMap| {
        map.shape = Shape::Im2col { lower: [-40000, 0, 0], upper: [0; 3], channels: 32, pixels: 1 };
    };
    assert!(refuse(im2col).contains("corner"));
    assert!(TensorMap::decode(&[0; BYTES]).is_err());
    assert!(TensorMap::decode(&[0xff; BYTES]).is_err());
}

#[test]
fn swizzles_exchange_units_inside_of_their_span() {
    // PTX, "swizzling modes": in 128 bytes, unit j of row i of 128 bytes goes to unit i ^ j.
    for (row, unit) in (0..8).flat_map(|row| (0..8).map(move |unit| (row, unit))) {
        assert_eq!(Swizzle::B128.apply(row * 128 + unit * 16 + 5), row * 128 + (unit ^ row) * 16 + 5);
        // In 64 and 32 bytes, the rows of 128 bytes change 4 and 2 units between them.
        assert_eq!(Swizzle::B64.apply(row * 128 + unit * 16), row * 128 + (unit ^ row & 3) * 16);
        assert_eq!(Swizzle::B32.apply(row * 128 + unit * 16), row * 128 + (unit ^ row & 1) * 16);
    }
}

fn numbers<T: std::str::FromStr>(text: &str) -> Vec<T> {
    text.split(',').filter_map(|number| number.parse().ok()).collect()
}

fn filled<T: Copy, const N: usize>(values: &[T], rest: T) -> [T; N] {
    std::array::from_fn(|i| values.get(i).copied().unwrap_or(rest))
}

/// The map that a row of the driver's describes.
fn described(columns: &[&str]) -> TensorMap {
    let dims: Vec<u64> = numbers(columns[1]);
    let shape: Vec<&str> = columns[6].split(' ').collect();
    let shape = match shape[..] {
        ["box", sizes] => Shape::Tile(filled(&numbers(sizes), 1)),
        ["im2col", lower, upper, channels, pixels] => Shape::Im2col {
            lower: filled(&numbers(lower), 0),
            upper: filled(&numbers(upper), 0),
            channels: channels.parse().unwrap(),
            pixels: pixels.parse().unwrap(),
        },
        _ => panic!("the shape {shape:?}"),
    };
    let is_named = |element: &&(&str, Element)| format!("{:?}", element.1) == columns[0];
    let swizzle = Swizzle::ALL.into_iter().find(|swizzle| format!("{swizzle:?}") == columns[4]).unwrap();
    TensorMap {
        address: u64::from_str_radix(&columns[7][2..], 16).unwrap(),
        element: ELEMENTS.iter().find(is_named).unwrap().1,
        rank: dims.len(),
        dims: filled(&dims, 1),
        strides: filled(&numbers(columns[2]), 0),
        shape,
        element_strides: filled(&numbers(columns[3]), 1),
        swizzle,
        fill: if columns[5] == "Nan" { Fill::Nan } else { Fill::Zero },
    }
}

#[test]
fn maps_are_those_of_the_driver() {
    let rows = include_str!("tensor_maps.tsv").lines().skip(3);
    let mut count = 0;
    for row in rows {
        let columns: Vec<&str> = row.split('\t').collect();
        let map = described(&columns);
        let mut bytes = [0; BYTES];
        for (at, byte) in bytes.iter_mut().enumerate().take(columns[8].len() / 2) {
            *byte = u8::from_str_radix(&columns[8][2 * at..2 * at + 2], 16).unwrap();
        }
        assert_eq!(map.encode().unwrap(), bytes, "{row}");
        assert_eq!(TensorMap::decode(&bytes).unwrap(), map, "{row}");
        count += 1;
    }
    assert_eq!(count, 76, "the table has become another");
}

/// The words that the host code of a matrix product writes (`tileiras` 13.5.37, sm_90, section `.nv.host`), for 128 rows of 96 halves.
#[test]
fn maps_of_host_code_are_read() {
    for head in [0x0004_4312_u32, 0x0024_4312] {
        let mut bytes = [0; BYTES];
        for (word, value) in [(0, 0x1000), (2, head), (3, 192 >> 4), (8, 95), (9, 127), (13, 0x1f00_0000), (14, 0x7f)] {
            bytes[4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
        }
        let map = TensorMap::decode(&bytes).unwrap();
        assert_eq!((map.address, map.element, map.rank, map.swizzle), (0x1000, Element::F16, 2, Swizzle::B64));
        assert_eq!((map.dims, map.strides[0]), ([96, 128, 1, 1, 1], 192));
        assert_eq!(map.shape, Shape::Tile([32, 128, 1, 1, 1]));
    }
}
