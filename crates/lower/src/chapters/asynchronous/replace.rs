//! `tensormap.replace`: fields of the description of a tensor.
//!
//! Where the fields are is what ptxas 13.0.88 makes of the instruction; [`oriole_device`]'s page on tensor maps has
//! the same table.

use crate::chapters::asynchronous::{address_of, needs_clusters};
use crate::chapters::memory::address::Addr;
use crate::chapters::memory::{address, transfer};
use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::{FnLower, operands, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D};
use oriole_isa::{Field, Opcode as Sass, ShiftDir, ShiftType};
use oriole_ori::Operand;
use oriole_ptx::ast::{Address, Instruction, Word};

/// Bits of a word of the description.
#[derive(Clone, Copy)]
struct Bits {
    /// Byte offset of the word.
    word: u8,
    /// The lowest bit.
    shift: u8,
    /// How many.
    width: u8,
}

const fn bits(word: u8, shift: u8, width: u8) -> Bits {
    Bits { word, shift, width }
}

/// The dimensions less one: a value of the program.
const RANK: Bits = bits(8, 4, 3);
/// Fields whose value is a constant: all but the higher parts of the element type and the swizzle.
const CONSTANTS: [(Word, Bits); 5] = [
    (Word::Elemtype, bits(8, 7, 4)),
    (Word::InterleaveLayout, bits(8, 11, 2)),
    (Word::SwizzleMode, bits(8, 13, 2)),
    (Word::SwizzleAtomicity, bits(8, 19, 3)),
    (Word::FillMode, bits(8, 15, 1)),
];
/// Set for elements of TensorFloat-32, which else are singles.
const TENSOR_FLOAT: Bits = bits(8, 16, 1);
/// Clear for all swizzles that the instruction can name.
const OTHER_SWIZZLE: Bits = bits(8, 22, 1);
/// Sizes of the dimensions less one, a word each, start here.
const SIZES: u8 = 32;
/// The low words of the strides in units of 16 bytes start here.
const STRIDES: u8 = 12;
/// Dimensions of the largest tensor.
const DIMENSIONS: u64 = 5;

/// Where the size of the box in a dimension is.
fn box_size(dimension: u8) -> Bits {
    if dimension == 0 { bits(52, 24, 8) } else { bits(56, 8 * (dimension - 1), 8) }
}

/// `tensormap.replace.tile.field{.ss}.b1024.type [map]{, dimension}, value;`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    cx.func.attributes_mut().replaces_tensor_map = true;
    let map = Map { address: address_of(cx, instruction, 0)?, instruction };
    if let Some((field, place)) = CONSTANTS.iter().find(|(word, _)| instruction.has(*word)) {
        return constant(cx, &map, *field, *place);
    }
    match () {
        () if instruction.has(Word::GlobalAddress) => {
            let value = sources::src64(cx, operands::operand(instruction, 1)?)?;
            let value = ops::in_pair(cx, value)?;
            let at = map.at(cx, 0)?;
            transfer::store_bytes(cx, instruction, 8, &at, value)
        }
        () if instruction.has(Word::Rank) => {
            let value = sources::src(cx, operands::operand(instruction, 1)?)?;
            map.insert(cx, RANK, value)
        }
        () if instruction.has(Word::GlobalStride) => stride(cx, &map),
        () => size(cx, &map),
    }
}

/// The description that the instruction changes.
struct Map<'i> {
    address: &'i Address,
    instruction: &'i Instruction,
}

impl Map<'_> {
    /// The address of a byte of it.
    fn at(&self, cx: &mut FnLower<'_, '_>, byte: u8) -> Lowered<Addr> {
        let offset = self.address.offset.wrapping_add(i64::from(byte));
        address::resolve(cx, self.instruction.space(), &Address { offset, ..self.address.clone() })
    }

    /// Replaces one word.
    fn store(&self, cx: &mut FnLower<'_, '_>, byte: u8, value: Operand) -> Lowered {
        let at = self.at(cx, byte)?;
        let value = ops::in_reg(cx, value)?;
        transfer::store_bytes(cx, self.instruction, 4, &at, value)
    }

    /// Replaces some bits of a word.
    fn insert(&self, cx: &mut FnLower<'_, '_>, place: Bits, value: Operand) -> Lowered {
        let at = self.at(cx, place.word)?;
        let (old, new) = (cx.temp()?, cx.temp()?);
        transfer::load_bytes(cx, self.instruction, 4, &at, old)?;
        let moved = shifted(cx, value, place.shift)?;
        insert(cx, new, old, moved, place)?;
        transfer::store_bytes(cx, self.instruction, 4, &at, new)
    }

    /// The constant dimension.
    fn dimension(&self) -> Lowered<u8> {
        let operand = operands::operand(self.instruction, 1)?;
        let number = operand.imm().and_then(|imm| imm.int_bits()).filter(|number| *number < DIMENSIONS);
        number.map(|n| n as u8).ok_or_else(|| invalid(operand.span(), "the dimension is a constant between 0 and 4"))
    }
}

/// `value << shift`
fn shifted(cx: &mut FnLower<'_, '_>, value: Operand, shift: u8) -> Lowered<Operand> {
    if let Some(bits) = crate::function::uniform::constant(value) {
        return Ok(Operand::imm(bits << shift));
    }
    let value = ops::in_reg(cx, value)?;
    if shift == 0 {
        return Ok(value);
    }
    let to = cx.temp()?;
    word_ops::shift_left(cx, to, value, Operand::imm(u32::from(shift)))?;
    Ok(to)
}

/// `to` = `old` with the bits of `place` from `moved`.
fn insert(cx: &mut FnLower<'_, '_>, to: Operand, old: Operand, moved: Operand, place: Bits) -> Lowered {
    /// `A & !B | C & B`
    const INSERT: u8 = 0xf0 & !0xcc | 0xaa & 0xcc;
    let mask = ((1u32 << place.width) - 1) << place.shift;
    ops::lop3(cx, to, old, Operand::imm(mask), moved, INSERT)
}

/// A field whose value is a constant.
fn constant(cx: &mut FnLower<'_, '_>, map: &Map<'_>, field: Word, place: Bits) -> Lowered {
    let operand = operands::operand(map.instruction, 1)?;
    let number = operand.imm().and_then(|imm| imm.int_bits()).and_then(|bits| u32::try_from(bits).ok());
    let number = number.ok_or_else(|| unknown(cx, map.instruction))?;
    let (number, other) = match (field, number) {
        // The 4-bit and 6-bit elements take the numbers of both kinds of TensorFloat-32, which count as singles.
        (Word::Elemtype, 11 | 12) => (number - 4, Some((TENSOR_FLOAT, 1))),
        (Word::Elemtype, 13..) => (number - 2, None),
        (Word::SwizzleMode, _) => (number, Some((OTHER_SWIZZLE, 0))),
        _ => (number, None),
    };
    let fits = number >> place.width == 0;
    if !fits {
        return Err(invalid(operand.span(), format!("the field holds no {number}")));
    }
    let at = map.at(cx, place.word)?;
    let mut word = cx.temp()?;
    transfer::load_bytes(cx, map.instruction, 4, &at, word)?;
    for (part, value) in [Some((place, number)), other].into_iter().flatten() {
        let next = cx.temp()?;
        let moved = ops::in_reg(cx, Operand::imm(value << part.shift))?;
        insert(cx, next, word, moved, part)?;
        word = next;
    }
    transfer::store_bytes(cx, map.instruction, 4, &at, word)
}

/// A size or an element stride: the value less one.
fn size(cx: &mut FnLower<'_, '_>, map: &Map<'_>) -> Lowered {
    let dimension = map.dimension()?;
    let value = sources::src(cx, operands::operand(map.instruction, 2)?)?;
    let value = ops::in_reg(cx, value)?;
    let less = cx.temp()?;
    ops::add(cx, less, value, Operand::imm(u32::MAX))?;
    match () {
        () if map.instruction.has(Word::BoxDim) => map.insert(cx, box_size(dimension), less),
        () if map.instruction.has(Word::GlobalDim) => map.store(cx, SIZES + 4 * dimension, less),
        () if map.instruction.has(Word::ElementStride) => map.insert(cx, bits(52, 3 * dimension, 3), less),
        () => Err(unknown(cx, map.instruction)),
    }
}

/// A stride of a dimension after the first: its low word, then the four bits above.
fn stride(cx: &mut FnLower<'_, '_>, map: &Map<'_>) -> Lowered {
    let dimension = map.dimension()?;
    let Wide { lo, hi, .. } = sources::src64(cx, operands::operand(map.instruction, 2)?)?;
    let (lo, hi) = (ops::in_reg(cx, lo)?, ops::in_reg(cx, hi)?);
    let (low, high) = (cx.temp()?, cx.temp()?);
    let mods = [Field::SHIFT_DIR.is(ShiftDir::R), Field::SHIFT_TYPE.is(ShiftType::U64)];
    cx.emit(Sass::SHF, &mods, &[(D, low), (A, lo), (B, Operand::imm(4)), (C, hi)])?;
    word_ops::shift_right(cx, false, high, hi, Operand::imm(4))?;
    map.store(cx, STRIDES + 4 * dimension, low)?;
    map.insert(cx, bits(28, 4 * dimension, 4), high)
}
