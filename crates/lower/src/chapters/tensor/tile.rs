//! How the elements of a `wmma` matrix are spread over a warp's registers, and where they are in memory.
//!
//! PTX leaves the first open. It is done as in `mma`, so that tiles of a fragment are fragments of
//! products that the hardware has: the matrix is made of blocks of eight lines, thread `4 g + t` of a warp
//! has line `g` of each block and the `t`-th part of it. A line is a row of A and of C, a column of B; where
//! M is 8 and N is 32 the product is computed transposed, and a line of C is a column (but integers on sm_75).

use crate::chapters::memory::address::{Addr, Target};
use crate::chapters::memory::{address, transfer};
use crate::chapters::tensor::fragment;
use crate::error::{Lowered, unsupported};
use crate::function::ops::lut;
use crate::function::{FnLower, ops, sources, special, word_ops};
use oriole_isa::Role::{A, D};
use oriole_isa::{Field, ImmaShape, Opcode as Sass};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, ScalarType, Shape, Word};

/// Which matrix of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matrix {
    /// M by K.
    A,
    /// K by N.
    B,
    /// M by N: C and D.
    C,
}

impl Matrix {
    /// The matrix that a load or store names.
    pub(super) fn of(instruction: &Instruction) -> Matrix {
        match () {
            () if instruction.has(Word::A) => Matrix::A,
            () if instruction.has(Word::B) => Matrix::B,
            () => Matrix::C,
        }
    }
}

/// True where the product is computed transposed: with 8 rows, unless the target multiplies integers in blocks of
/// as many. `ty` is the type of any of its matrices.
pub(crate) fn is_transposed(cx: &FnLower<'_, '_>, shape: Shape, ty: ScalarType) -> bool {
    let integers = matches!(ty, ScalarType::S8 | ScalarType::U8 | ScalarType::S32);
    let of_eight_rows = integers && !cx.has_with(Sass::IMMA, Field::IMMA_SHAPE.is(ImmaShape::M16N8K16));
    (shape.m, shape.n) == (8, 32) && !of_eight_rows
}

/// A matrix in memory and its fragment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    ty: ScalarType,
    /// Lines, and elements of a line.
    lines: u32,
    length: u32,
    /// Consecutive elements of a line that a thread has of a block.
    share: u32,
    /// Two blocks of lines go together, before the next part of the lines: a first factor, or C.
    tall: bool,
    /// The elements of a line are side by side in memory.
    along: bool,
}

/// One load or store of a thread: some of a fragment's words.
#[derive(Clone, Copy, Debug)]
struct Access {
    /// Distance from the thread's first element, in strides and in elements.
    far: u32,
    near: u32,
    bytes: u32,
    /// First word of the fragment.
    word: usize,
}

impl Tile {
    /// The matrix that a load or store moves; `None` where the type does not go with the shape.
    pub(super) fn of(cx: &FnLower<'_, '_>, instruction: &Instruction, shape: Shape, ty: ScalarType) -> Option<Tile> {
        let (m, n, k) = (u32::from(shape.m), u32::from(shape.n), u32::from(shape.k));
        let by_columns = instruction.has(Word::Col);
        let transposed = is_transposed(cx, shape, ty);
        let packed = 32 / ty.bits().min(32);
        let tile = |lines, length, share, tall, along| Tile { ty, lines, length, share, tall, along };
        let tile = match Matrix::of(instruction) {
            Matrix::A => tile(m, k, packed, !transposed, !by_columns),
            Matrix::B => tile(n, k, packed, transposed, by_columns),
            Matrix::C if transposed => tile(n, m, 2, true, by_columns),
            Matrix::C => tile(m, n, 2, true, !by_columns),
        };
        // Parts of bytes are accessed along the lines only; a part is never longer than the line.
        let fits = tile.length.is_multiple_of(4 * tile.share) && (tile.along || ty.bits() >= 8);
        (fits && (1..=64).contains(&ty.bits()) && ty != ScalarType::Pred).then_some(tile)
    }

    /// 32-bit words of the fragment.
    pub(super) fn words(&self) -> usize {
        (self.lines * self.length * self.ty.bits() / 1024) as usize
    }

    /// Blocks in the order of their registers: the block of lines, the part of the lines.
    fn blocks(&self) -> Vec<(u32, u32)> {
        let (tall, parts) = (if self.tall { 2 } else { 1 }, self.length / (4 * self.share));
        let group = tall.min(self.lines / 8).max(1);
        let mut blocks = Vec::new();
        for first in (0..self.lines / 8).step_by(group as usize) {
            for part in 0..parts {
                blocks.extend((first..first + group).map(|lines| (lines, part)));
            }
        }
        blocks
    }

    /// 16-bit elements across the lines: blocks are moved whole and transposed in registers.
    fn transposes(&self) -> bool {
        !self.along && self.ty.bits() == 16
    }

    /// The accesses of a thread.
    fn accesses(&self) -> Vec<Access> {
        let (bits, part) = (self.ty.bits(), 4 * self.share);
        let words_per_block = (self.share * bits / 32) as usize;
        let mut accesses = Vec::new();
        for (index, (lines, column)) in self.blocks().into_iter().enumerate() {
            let word = index * words_per_block;
            let (line, column) = (8 * lines, part * column);
            if self.along || self.transposes() {
                let (far, near) = if self.along { (line, column) } else { (column, line) };
                accesses.push(Access { far, near, bytes: self.share * bits / 8, word });
                continue;
            }
            accesses.extend((0..self.share).map(|element| {
                let at = element * bits / 8;
                Access { far: column + element, near: line, bytes: bits / 8, word: word + (at / 4) as usize }
            }));
        }
        accesses
    }

    /// Where a thread's first element is: strides, elements.
    fn first(&self, cx: &mut FnLower<'_, '_>) -> Lowered<(Operand, Operand)> {
        let lane = special::hardware_register(cx, "SR_LANEID")?;
        let (line, share) = (cx.temp()?, cx.temp()?);
        word_ops::shift_right(cx, false, line, lane, Operand::imm(2))?;
        let thread = word_ops::logic(cx, lut::AND, lane, Operand::imm(3))?;
        word_ops::imad(cx, share, thread, Operand::imm(self.share), Operand::rz())?;
        Ok(if self.along || self.transposes() { (line, share) } else { (share, line) })
    }

    /// Bytes that a number of elements takes.
    fn bytes(&self, elements: u32) -> u32 {
        (u64::from(elements) * u64::from(self.ty.bits()) / 8) as u32
    }
}

/// The places that one thread accesses.
struct Places<'t> {
    tile: &'t Tile,
    /// The thread's first element.
    origin: Addr,
    /// Bytes from one line (or from one element of a line) to the next.
    stride: Operand,
    /// Addresses of strides that were needed, to be taken again.
    rows: Vec<(u32, Addr)>,
}

impl<'t> Places<'t> {
    fn new(cx: &mut FnLower<'_, '_>, tile: &'t Tile, addr: Addr, stride: Option<&ast::Operand>) -> Lowered<Places<'t>> {
        if !matches!(addr.target, Target::Global | Target::Generic | Target::Shared) {
            return Err(unsupported(cx.span, "a matrix in this state space"));
        }
        let stride = tile_stride(cx, tile, stride)?;
        let (far, near) = tile.first(cx)?;
        let near_bytes = match tile.ty.bits() {
            bits @ 8.. => {
                let bytes = cx.temp()?;
                word_ops::imad(cx, bytes, near, Operand::imm(bits / 8), Operand::rz())?;
                bytes
            }
            bits => {
                let bytes = cx.temp()?;
                word_ops::shift_right(cx, false, bytes, near, Operand::imm((8 / bits).trailing_zeros()))?;
                bytes
            }
        };
        let row = plus(cx, addr, far, stride)?;
        let origin = plus(cx, row, near_bytes, Operand::imm(1))?;
        Ok(Places { tile, origin, stride, rows: Vec::new() })
    }

    /// The address of an access.
    fn of(&mut self, cx: &mut FnLower<'_, '_>, access: &Access) -> Lowered<Addr> {
        let near = self.tile.bytes(access.near) as i32;
        let distance = self.stride.as_imm().and_then(|bytes| bytes.checked_mul(access.far));
        let offset = distance.map(|distance| i64::from(self.origin.offset + near) + i64::from(distance));
        if let Some(offset) = offset.and_then(|offset| address::fitting(cx, self.origin.target, offset)) {
            return Ok(Addr { offset, ..self.origin });
        }
        let known = self.rows.iter().find(|(far, _)| *far == access.far).map(|(_, addr)| *addr);
        let row = match known {
            Some(row) => row,
            None if access.far == 0 => self.origin,
            None => plus(cx, self.origin, self.stride, Operand::imm(access.far))?,
        };
        if known.is_none() {
            self.rows.push((access.far, row));
        }
        Ok(Addr { offset: row.offset + near, ..row })
    }
}

/// Bytes between lines; without an operand the matrix is alone in memory.
fn tile_stride(cx: &mut FnLower<'_, '_>, tile: &Tile, stride: Option<&ast::Operand>) -> Lowered<Operand> {
    let elements = match stride {
        None => Operand::imm(if tile.along { tile.length } else { tile.lines }),
        Some(stride) => sources::src(cx, stride)?,
    };
    if let Some(elements) = elements.as_imm() {
        return Ok(Operand::imm(tile.bytes(elements)));
    }
    if elements.is_zero() {
        return Ok(Operand::imm(0));
    }
    let (bytes, bits) = (cx.temp()?, tile.ty.bits());
    if bits >= 8 {
        word_ops::shift_left(cx, bytes, elements, Operand::imm((bits / 8).trailing_zeros()))?;
    } else {
        word_ops::shift_right(cx, false, bytes, elements, Operand::imm((8 / bits).trailing_zeros()))?;
    }
    Ok(bytes)
}

/// The address that is `count * bytes` further on.
fn plus(cx: &mut FnLower<'_, '_>, addr: Addr, count: Operand, bytes: Operand) -> Lowered<Addr> {
    let count = ops::in_reg(cx, count)?;
    if addr.target == Target::Shared {
        let base = cx.temp()?;
        word_ops::imad(cx, base, count, bytes, addr.base)?;
        return Ok(Addr { base, ..addr });
    }
    let sum = word_ops::temp_pair(cx)?;
    word_ops::imad_wide(cx, false, sum, count, bytes, addr.base)?;
    Ok(Addr { base: sum, ..addr })
}

// ---- loads and stores ----

/// Loads the words of the fragment.
pub(crate) fn load(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    tile: &Tile,
    addr: Addr,
    stride: Option<&ast::Operand>,
) -> Lowered<Vec<Operand>> {
    let mut places = Places::new(cx, tile, addr, stride)?;
    let mut words = vec![Operand::rz(); tile.words()];
    let mut bytes: Vec<Vec<Operand>> = vec![Vec::new(); tile.words()];
    for access in tile.accesses() {
        let at = places.of(cx, &access)?;
        let (to, parts) = fragment::fresh(cx, access.bytes.div_ceil(4) as usize)?;
        transfer::load_bytes(cx, instruction, access.bytes, &at, to)?;
        if access.bytes < 4 {
            bytes[access.word].push(to);
            continue;
        }
        for (place, part) in words[access.word..].iter_mut().zip(parts) {
            *place = if tile.transposes() { transposed(cx, part)? } else { part };
        }
    }
    for (word, parts) in words.iter_mut().zip(bytes) {
        if let [a, b, c, d] = parts[..] {
            let (low, high, all) = (cx.temp()?, cx.temp()?, cx.temp()?);
            ops::prmt(cx, low, a, 0x0040, b)?;
            ops::prmt(cx, high, c, 0x0040, d)?;
            ops::prmt(cx, all, low, 0x5410, high)?;
            *word = all;
        }
    }
    Ok(words)
}

/// Stores the words of the fragment: of C, whose elements have 16 bits and more.
pub(crate) fn store(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    tile: &Tile,
    addr: Addr,
    stride: Option<&ast::Operand>,
    words: &[Operand],
) -> Lowered {
    let mut places = Places::new(cx, tile, addr, stride)?;
    for access in tile.accesses() {
        let at = places.of(cx, &access)?;
        let count = access.bytes.div_ceil(4) as usize;
        let mut parts = words[access.word..access.word + count].to_vec();
        if tile.transposes() {
            parts = parts.into_iter().map(|part| transposed(cx, part)).collect::<Lowered<_>>()?;
        }
        let data = fragment::together(cx, &parts)?;
        transfer::store_bytes(cx, instruction, access.bytes, &at, data)?;
    }
    Ok(())
}

/// The block of 16-bit elements that the warp holds in a register, transposed.
fn transposed(cx: &mut FnLower<'_, '_>, word: Operand) -> Lowered<Operand> {
    let (to, word) = (cx.temp()?, ops::in_reg(cx, word)?);
    cx.emit(Sass::MOVM, &[], &[(D, to), (A, word)])?;
    Ok(to)
}
