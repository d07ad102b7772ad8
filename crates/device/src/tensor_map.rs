//! Tensor maps: the 128 bytes that describe a tensor in global memory and the box of it that one tensor
//! copy moves (`CUtensorMap`).
//!
//! The layout is the driver's: `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col` of 580.159 on an H200 made these maps, each with
//! one thing other than the first (`src/tensor_maps.tsv`), and ptxas's code for `tensormap.replace` (13.0.88) writes to the same
//! places. Bits of a word are counted from 0:
//!
//! | byte | content |
//! |---|---|
//! | 0 | address of the tensor, 64 bits |
//! | 8 | bits 0–3: 0 tiled, 1 im2col, 2 tiled by host code |
//! | 8 | bits 4–6: dimensions less one; 7–10: element type; 11–12: interleave; 13–14: swizzle; 15: fill |
//! | 8 | bit 16: the singles of element types 7 and 8 are TensorFloat-32; 17–18: promotion to lines of the second-level cache |
//! | 12, 16, 20, 24 | low words of the strides of dimensions 1 to 4, in 16 bytes |
//! | 28 | four times four bits: bits 32–35 of these strides |
//! | 32 … 48 | sizes of the five dimensions, less one |
//! | 52 | five times three bits: element strides less one |
//! | 52 | bits 24–31: size of the box in dimension 0 (im2col: channels per pixel), less one |
//! | 56 | tiled: sizes of the box in dimensions 1 to 4 less one, a byte each |
//! | 56 | im2col: corners of the pixel box, the lower ones in the low half, the upper ones in the high half; for 1, 2, 3 of them 16, 8, 5 bits each |
//! | 60 | im2col: pixels per column less one, 16 bits |
//! | 64 | bytes that one copy moves |
//! | 72 | bytes after which the swizzle comes again: eight rows of it; 16 without one |
//!
//! The rest is zero.
//!
//! CUDA Tile's host code, which its compiler puts into the cubin and which makes maps without the driver (`tileiras` 13.5.37, section
//! `.nv.host`), writes others: kind 2, tiled; bit 21 of byte 8 for tensors of 2^17 bytes or more; bytes 64 and 72 are zero.

/// Bytes of a tensor map.
pub const BYTES: usize = 128;
/// The kinds of maps.
const TILED: u32 = 0;
const IM2COL: u32 = 1;
const TILED_BY_HOST_CODE: u32 = 2;
/// What a map of the last kind says of a tensor of 2^17 bytes or more.
const IS_LARGE: u32 = 1 << 21;
/// Rows of a swizzle's span until it comes again, and what stands in their place without a swizzle: the unit of 16 bytes.
const SWIZZLED_ROWS: u32 = 8;
const UNSWIZZLED: u32 = 16;
/// Most dimensions of a tensor.
pub const MAX_RANK: usize = 5;

/// Types of the elements, in the order of their numbers (PTX, `tensormap.replace`, `.elemtype`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 8-bit integers.
    U8,
    /// 16-bit integers.
    U16,
    /// 32-bit integers without sign.
    U32,
    /// 32-bit integers with sign.
    S32,
    /// 64-bit integers without sign.
    U64,
    /// 64-bit integers with sign.
    S64,
    /// Halves.
    F16,
    /// Singles.
    F32,
    /// Singles whose denormals are flushed in reductions.
    F32Ftz,
    /// Doubles.
    F64,
    /// bfloat16.
    Bf16,
    /// TensorFloat-32, in 32 bits.
    Tf32,
    /// TensorFloat-32 whose denormals are flushed.
    Tf32Ftz,
}

/// Names on the command line, in the order of the numbers.
const ELEMENTS: [(&str, Element); 13] = [
    ("u8", Element::U8),
    ("u16", Element::U16),
    ("u32", Element::U32),
    ("s32", Element::S32),
    ("u64", Element::U64),
    ("s64", Element::S64),
    ("f16", Element::F16),
    ("f32", Element::F32),
    ("f32.ftz", Element::F32Ftz),
    ("f64", Element::F64),
    ("bf16", Element::Bf16),
    ("tf32", Element::Tf32),
    ("tf32.ftz", Element::Tf32Ftz),
];

/// Where singles, plain and flushed, and TensorFloat-32, plain and flushed, start among the elements.
const SINGLES: u32 = 7;
const TENSOR_FLOATS: u32 = 11;

impl Element {
    /// The type of that name, such as `f16`.
    pub fn named(name: &str) -> Option<Element> {
        ELEMENTS.iter().find(|(known, _)| *known == name).map(|(_, element)| *element)
    }

    /// Size in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Element::U8 => 1,
            Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::U64 | Element::S64 | Element::F64 => 8,
            _ => 4,
        }
    }

    /// What [`Fill::Nan`] puts in the place of elements outside of the tensor; zero for integers.
    ///
    /// The bits are chosen: the manual only says that it is a NaN of its own.
    pub fn nan(self) -> u64 {
        match self {
            Element::F16 | Element::Bf16 => 0x7fff,
            Element::F32 | Element::F32Ftz | Element::Tf32 | Element::Tf32Ftz => 0x7fff_ffff,
            Element::F64 => 0x7fff_ffff_ffff_ffff,
            _ => 0,
        }
    }
}

/// How the 16-byte units of rows are spread over the banks of shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swizzle {
    /// As they come.
    #[default]
    None,
    /// In 32 bytes: address bit 4 is changed by bit 7.
    B32,
    /// In 64 bytes: address bits 4–5 by bits 7–8.
    B64,
    /// In 128 bytes: address bits 4–6 by bits 7–9.
    B128,
}

impl Swizzle {
    const ALL: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];

    /// Where the byte for shared address `address` goes.
    pub fn apply(self, address: u32) -> u32 {
        let mask = match self {
            Swizzle::None => 0,
            Swizzle::B32 => 0x10,
            Swizzle::B64 => 0x30,
            Swizzle::B128 => 0x70,
        };
        address ^ (address >> 3 & mask)
    }

    /// Bytes that a row of the box may have at most.
    fn span(self) -> Option<u32> {
        match self {
            Swizzle::None => None,
            Swizzle::B32 => Some(32),
            Swizzle::B64 => Some(64),
            Swizzle::B128 => Some(128),
        }
    }
}

/// What elements outside of the tensor are loaded as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Zero.
    #[default]
    Zero,
    /// A NaN, see [`Element::nan`].
    Nan,
}

/// What one copy moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A box, in elements by dimension (element strides not counted out).
    Tile(
        /// 1 to 256 in each dimension.
        [u32; MAX_RANK],
    ),
    /// Pixels in the order in which a convolution reads them. Dimension 0 of the tensor has the
    /// channels, the last one the images, those between are the space, innermost first.
    Im2col {
        /// First pixel of the bounding box in each spatial dimension.
        lower: [i32; 3],
        /// Last pixel of the bounding box, from the last of the tensor.
        upper: [i32; 3],
        /// Channels of each pixel, 1 to 256.
        channels: u32,
        /// Pixels that one copy moves, 1 to 1024.
        pixels: u32,
    },
}

/// A tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Address of the tensor, a multiple of 16.
    pub address: u64,
    /// Type of the elements.
    pub element: Element,
    /// Number of dimensions, 1 to 5.
    pub rank: usize,
    /// Elements in each dimension, up to 2^32; 1 from `rank` on.
    pub dims: [u64; MAX_RANK],
    /// Bytes from one element to the next in dimensions 1 and on, multiples of 16 below 2^40.
    pub strides: [u64; MAX_RANK - 1],
    /// What one copy moves.
    pub shape: Shape,
    /// Every how manieth element is moved, by dimension, 1 to 8; in dimension 0 every one is.
    pub element_strides: [u32; MAX_RANK],
    /// How shared memory is swizzled.
    pub swizzle: Swizzle,
    /// What is outside of the tensor.
    pub fill: Fill,
}

/// Why there is no such tensor map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TensorMapError(
    /// What is wrong.
    pub String,
);

fn error<T>(what: impl Into<String>) -> Result<T, TensorMapError> {
    Err(TensorMapError(what.into()))
}

/// Bits of each corner of an im2col box with that number of spatial dimensions.
fn corner_bits(spatial: usize) -> u32 {
    match spatial {
        1 => 16,
        2 => 8,
        _ => 5,
    }
}

/// The place in [`ELEMENTS`] of the element type `code`; `None` for the packed types of sm_100.
fn element_number(code: u32, tensor_float: u32) -> Option<usize> {
    match (code, tensor_float) {
        (_, 0) if code < TENSOR_FLOATS => Some(code as usize),
        (SINGLES | 8, 1) => Some((code - SINGLES + TENSOR_FLOATS) as usize),
        _ => None,
    }
}

impl TensorMap {
    /// Spatial dimensions of an im2col copy.
    pub fn spatial(&self) -> usize {
        self.rank.saturating_sub(2)
    }

    /// Bytes that one copy moves: of a box every so manieth element in each dimension.
    fn copied_bytes(&self) -> u64 {
        let elements: u64 = match self.shape {
            Shape::Tile(sizes) => {
                let steps = self.element_strides[..self.rank].iter().enumerate();
                steps.map(|(i, step)| u64::from(if i == 0 { sizes[i] } else { sizes[i].div_ceil(*step) })).product()
            }
            Shape::Im2col { channels, pixels, .. } => u64::from(channels) * u64::from(pixels),
        };
        elements * u64::from(self.element.bytes())
    }

    /// Bytes of one row in shared memory: what a copy moves in dimension 0.
    pub fn row_bytes(&self) -> u32 {
        let elements = match self.shape {
            Shape::Tile(sizes) => sizes[0],
            Shape::Im2col { channels, .. } => channels,
        };
        elements * self.element.bytes()
    }

    /// Checks the rules of the driver's encoder (CUDA driver API, `cuTensorMapEncodeTiled`, `…Im2col`).
    pub fn check(&self) -> Result<(), TensorMapError> {
        let used = ..self.rank.min(MAX_RANK);
        if !(1..=MAX_RANK).contains(&self.rank) {
            return error(format!("a tensor has 1 to {MAX_RANK} dimensions, not {}", self.rank));
        }
        if !self.address.is_multiple_of(16) {
            return error(format!("the tensor's address {:#x} is no multiple of 16", self.address));
        }
        if self.dims[used].iter().any(|&size| size == 0 || size > 1 << 32) {
            return error("a dimension of the tensor is empty or has more than 2^32 elements");
        }
        if self.strides[..self.rank - 1].iter().any(|&stride| stride % 16 != 0 || stride >= 1 << 40) {
            return error("a stride of the tensor is no multiple of 16 bytes, or not below 2^40");
        }
        if self.element_strides[used].iter().any(|stride| !(1..=8).contains(stride)) {
            return error("an element stride is not between 1 and 8");
        }
        self.check_shape()?;
        let row = self.row_bytes();
        if !row.is_multiple_of(16) {
            return error(format!("a row of the box has {row} bytes, no multiple of 16"));
        }
        match self.swizzle.span() {
            Some(span) if row > span => {
                error(format!("a row of the box has {row} bytes, more than the swizzle's {span}"))
            }
            _ => Ok(()),
        }
    }

    fn check_shape(&self) -> Result<(), TensorMapError> {
        match self.shape {
            Shape::Tile(sizes) if sizes[..self.rank].iter().any(|size| !(1..=256).contains(size)) => {
                error("the box has a size that is not between 1 and 256")
            }
            Shape::Im2col { .. } if self.rank < 3 => error("im2col needs 3 dimensions or more"),
            Shape::Im2col { lower, upper, channels, pixels } => {
                let limit = 1 << (corner_bits(self.spatial()) - 1);
                let corners = || lower.iter().chain(&upper);
                match (corners().all(|corner| (-limit..limit).contains(corner)), channels, pixels) {
                    (false, ..) => {
                        error(format!("a corner of the pixel box is not between -{limit} and {}", limit - 1))
                    }
                    (_, 1..=256, 1..=1024) => Ok(()),
                    _ => error("im2col moves 1 to 256 channels and 1 to 1024 pixels"),
                }
            }
            Shape::Tile(_) => Ok(()),
        }
    }

    /// The 128 bytes. Fails where [`TensorMap::check`] does.
    pub fn encode(&self) -> Result<[u8; BYTES], TensorMapError> {
        self.check()?;
        let mut words = [0u32; BYTES / 4];
        words[0] = self.address as u32;
        words[1] = (self.address >> 32) as u32;
        let number = ELEMENTS.iter().position(|(_, element)| *element == self.element).unwrap_or(0) as u32;
        let tensor_float = u32::from(number >= TENSOR_FLOATS);
        let element = if tensor_float != 0 { number - TENSOR_FLOATS + SINGLES } else { number };
        let swizzle = Swizzle::ALL.iter().position(|swizzle| *swizzle == self.swizzle).unwrap_or(0) as u32;
        let kind = if matches!(self.shape, Shape::Tile(_)) { TILED } else { IM2COL };
        let fill = u32::from(self.fill == Fill::Nan);
        words[2] = kind | (self.rank as u32 - 1) << 4 | element << 7 | swizzle << 13 | fill << 15 | tensor_float << 16;
        for (i, stride) in self.strides[..self.rank - 1].iter().enumerate() {
            words[3 + i] = (stride >> 4) as u32;
            words[7] |= ((stride >> 36) as u32) << (4 * i);
        }
        for (i, size) in self.dims[..self.rank].iter().enumerate() {
            words[8 + i] = (size - 1) as u32;
        }
        for (i, stride) in self.element_strides[..self.rank].iter().enumerate() {
            words[13] |= (stride - 1) << (3 * i);
        }
        match self.shape {
            Shape::Tile(sizes) => {
                words[13] |= (sizes[0] - 1) << 24;
                for (i, size) in sizes[1..self.rank].iter().enumerate() {
                    words[14] |= (size - 1) << (8 * i);
                }
            }
            Shape::Im2col { lower, upper, channels, pixels } => {
                let bits = corner_bits(self.spatial());
                words[13] |= (channels - 1) << 24;
                for i in 0..self.spatial() {
                    let field = |corner: i32| (corner as u32 & ((1 << bits) - 1)) << (bits * i as u32);
                    words[14] |= field(lower[i]) | field(upper[i]) << 16;
                }
                words[15] = pixels - 1;
            }
        }
        words[16] = self.copied_bytes() as u32;
        words[18] = self.swizzle.span().map_or(UNSWIZZLED, |span| SWIZZLED_ROWS * span);
        let mut bytes = [0; BYTES];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        Ok(bytes)
    }

    /// What 128 bytes say. Fails where they are no tensor map that is supported here.
    pub fn decode(bytes: &[u8; BYTES]) -> Result<TensorMap, TensorMapError> {
        let word = |i: usize| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]);
        let head = word(2);
        let rank = (head >> 4 & 7) as usize + 1;
        if rank > MAX_RANK {
            return error(format!("a tensor map of {rank} dimensions"));
        }
        let Some((_, element)) = element_number(head >> 7 & 15, head >> 16 & 1).and_then(|at| ELEMENTS.get(at)) else {
            return error(format!("a tensor map with the packed element type {}", head >> 7 & 15));
        };
        if head >> 11 & 3 != 0 {
            return error("a tensor map of an interleaved tensor");
        }
        let kind = head & 15;
        let beyond = if kind == TILED_BY_HOST_CODE { head & !IS_LARGE } else { head };
        if beyond >> 19 & 15 != 0 {
            return error("a tensor map with a swizzle of sm_100");
        }
        let used = |i: usize, value: u64, unused: u64| if i < rank { value } else { unused };
        let stride = |i: usize| u64::from(word(3 + i)) << 4 | u64::from(word(7) >> (4 * i) & 15) << 36;
        let byte = |i: usize| (word(14) >> (8 * i) & 0xff) + 1;
        let first = (word(13) >> 24) + 1;
        let bits = corner_bits(rank.saturating_sub(2));
        let corner = |i: u32, half: u32| match i as usize + 2 < rank {
            true => (word(14) >> half << (32 - bits * (i + 1))) as i32 >> (32 - bits),
            false => 0,
        };
        if word(18) == 0 && kind != TILED_BY_HOST_CODE {
            return error("no tensor map: the bytes after which its swizzle comes again are 0");
        }
        let shape = match kind {
            TILED | TILED_BY_HOST_CODE => Shape::Tile(std::array::from_fn(|i| match i {
                0 => first,
                _ => used(i, u64::from(byte(i - 1)), 1) as u32,
            })),
            IM2COL => Shape::Im2col {
                lower: std::array::from_fn(|i| corner(i as u32, 0)),
                upper: std::array::from_fn(|i| corner(i as u32, 16)),
                channels: first,
                pixels: (word(15) & 0xffff) + 1,
            },
            _ => return error("no tensor map: its kind is neither tiled nor im2col"),
        };
        let map = TensorMap {
            address: u64::from(word(0)) | u64::from(word(1)) << 32,
            element: *element,
            rank,
            dims: std::array::from_fn(|i| used(i, u64::from(word(8 + i)) + 1, 1)),
            strides: std::array::from_fn(|i| used(i + 1, stride(i), 0)),
            shape,
            element_strides: std::array::from_fn(|i| used(i, u64::from(word(13) >> (3 * i) & 7) + 1, 1) as u32),
            swizzle: Swizzle::ALL[(head >> 13 & 3) as usize],
            fill: if head >> 15 & 1 != 0 { Fill::Nan } else { Fill::Zero },
        };
        map.check().map(|()| map)
    }
}

#[cfg(test)]
#[path = "tensor_map_tests.rs"]
mod tests;
