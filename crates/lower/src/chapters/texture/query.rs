//! `txq` and `istypep`.
//!
//! Sizes are in the texture's header. All else a driver keeps in tables in global memory, whose addresses are in
//! constant bank 0; how many bytes an entry has it puts into the code.

use crate::abi::object_kind;
use crate::chapters::texture::access::dimension;
use crate::error::Lowered;
use crate::function::handle::{Handle, TEXTURE_MASK, TYPE_BITS};
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::{FnLower, descriptor, destinations, operands, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::Role::{Base, D, Offset};
use oriole_isa::{Cmp, Opcode as Sass, TexMask};
use oriole_ori::{Inst, Object, ObjectKind, Operand, SymbolKind, SymbolPart};
use oriole_ptx::ast::{Instruction, Word};

/// Sizes, by component of the header's dimensions.
const SIZES: [(Word, TexMask); 3] = [(Word::Width, TexMask::R), (Word::Height, TexMask::G), (Word::Depth, TexMask::B)];

/// A table of properties.
pub(crate) struct Table {
    /// Which of `Bank0::property_tables` has its address.
    pub(in crate::chapters) number: usize,
    /// What the driver calls the bytes of an entry.
    pub(in crate::chapters) entry: &'static str,
    /// Byte offset of each property in an entry.
    pub(in crate::chapters) properties: &'static [(Word, u32)],
}

const TEXTURES: Table = Table {
    number: 0,
    entry: ".nv.unified.texrefDescSize",
    properties: &[
        (Word::ForceUnnormalizedCoords, 0),
        (Word::AddrMode0, 0xc),
        (Word::AddrMode1, 0x10),
        (Word::AddrMode2, 0x14),
        (Word::FilterMode, 0x18),
        (Word::NormalizedCoords, 0x1c),
        (Word::ChannelDataType, 0x20),
        (Word::ChannelOrder, 0x24),
        (Word::ArraySize, 0x28),
        (Word::NumMipmapLevels, 0x2c),
        (Word::NumSamples, 0x30),
    ],
};

/// Entries of textures where samplers stand by themselves.
const TEXTURES_ALONE: Table = Table { entry: ".nv.independent.texrefDescSize", ..TEXTURES };

const SAMPLERS: Table = Table {
    number: 1,
    entry: ".nv.independent.samplerrefDescSize",
    properties: &[
        (Word::AddrMode0, 0),
        (Word::AddrMode1, 4),
        (Word::AddrMode2, 8),
        (Word::FilterMode, 0xc),
        (Word::ForceUnnormalizedCoords, 0x10),
    ],
};

/// `txq{.level}.query.b32 d, [a]{, level};`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    query(cx, instruction, property)
}

/// `suq.query.b32 d, [a];`, whose table of properties is `table`.
pub(crate) fn of_surface(cx: &mut FnLower<'_, '_>, instruction: &Instruction, table: &Table) -> Lowered {
    query(cx, instruction, |cx, instruction, handle| {
        let number = number_of(cx, handle)?;
        table.read(cx, instruction, number)
    })
}

/// A size, or else a property.
fn query(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    property: impl FnOnce(&mut FnLower<'_, '_>, &Instruction, Handle) -> Lowered<Operand>,
) -> Lowered {
    let Some(address) = operands::operand(instruction, 1)?.address() else { return Err(unknown(cx, instruction)) };
    let handle = sources::handle_of_base(cx, address)?;
    let result = match SIZES.iter().find(|(word, _)| instruction.has(*word)) {
        Some((_, component)) => {
            let level = instruction.operands.get(2).map(|level| sources::src(cx, level)).transpose()?;
            dimension(cx, handle, level.unwrap_or(Operand::rz()), *component)?
        }
        None => property(cx, instruction, handle)?,
    };
    let to = destinations::dst(cx, operands::operand(instruction, 0)?)?;
    ops::mov(cx, to, result)
}

/// A word of the entry of a texture or sampler.
fn property(cx: &mut FnLower<'_, '_>, instruction: &Instruction, handle: Handle) -> Lowered<Operand> {
    let independent = cx.module.out.independent_samplers;
    let of_sampler = match handle {
        Handle::Name(symbol) => {
            matches!(cx.module.out.symbols[symbol].kind, SymbolKind::Object(Object { kind: ObjectKind::Sampler, .. }))
        }
        // What a texture does not have is asked of a sampler.
        Handle::Word(_) => independent && !TEXTURES_OWN.iter().any(|word| instruction.has(*word)),
    };
    let table = match (of_sampler, independent) {
        (true, _) => &SAMPLERS,
        (false, true) => &TEXTURES_ALONE,
        (false, false) => &TEXTURES,
    };
    let number = match (of_sampler, handle) {
        (true, Handle::Name(_)) => handle.sampler(cx)?,
        _ => number_of(cx, handle)?,
    };
    table.read(cx, instruction, number)
}

impl Table {
    /// The property that the instruction names, of the object of that number.
    fn read(&self, cx: &mut FnLower<'_, '_>, instruction: &Instruction, number: Operand) -> Lowered<Operand> {
        let place = self.properties.iter().find(|(word, _)| instruction.has(*word));
        let (_, offset) = *place.ok_or_else(|| unknown(cx, instruction))?;
        let start = cx.module.driver_value(self.entry);
        let made = cx.func.symbol_operand(start, 0, SymbolPart::Whole);
        let bytes = cx.built(made)?;
        let (size, place) = (cx.temp()?, cx.temp()?);
        ops::mov(cx, size, bytes)?;
        ops::multiply_add(cx, place, number, size, Operand::imm(offset))?;
        let (base, address) = (cx.temp64()?, cx.temp64()?);
        ops::read_constant64(cx, base, 0, u32::from(cx.sm().bank0.property_tables[self.number]))?;
        ops::add64(cx, address, Wide::of_pair(base), Wide::of_halves(place, Operand::rz()))?;
        let word = cx.temp()?;
        let mut load = Inst::neutral(Sass::LDG, Default::default());
        for (role, operand) in [(D, word), (Base, Operand::reg(address)), (Offset, Operand::imm(0))] {
            load.set_role(role, operand);
        }
        descriptor::describe(cx, &mut load);
        cx.emit_inst(load)?;
        Ok(word)
    }
}

/// Properties that textures have where samplers stand by themselves.
const TEXTURES_OWN: [Word; 6] = [
    Word::NormalizedCoords,
    Word::ChannelDataType,
    Word::ChannelOrder,
    Word::ArraySize,
    Word::NumMipmapLevels,
    Word::NumSamples,
];

/// The number of a texture, without that of its sampler.
fn number_of(cx: &mut FnLower<'_, '_>, handle: Handle) -> Lowered<Operand> {
    let word = handle.word(cx)?;
    if cx.sm().bank0.samplers_apart {
        return Ok(word);
    }
    let number = cx.temp()?;
    word_ops::lop2(cx, number, lut::AND, word, Operand::imm(TEXTURE_MASK))?;
    Ok(number)
}

/// `istypep.type p, a;`
pub(crate) fn is_type(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let kind = instruction.types().find_map(object_kind);
    let bits = TYPE_BITS.iter().find(|(of, _)| Some(*of) == kind).map(|(_, bits)| *bits);
    let bits = Operand::imm(bits.ok_or_else(|| unknown(cx, instruction))?);
    let handle = sources::src64(cx, operands::operand(instruction, 1)?)?;
    let (high, found) = (ops::in_reg(cx, handle.hi)?, cx.temp()?);
    word_ops::lop2(cx, found, lut::AND, high, bits)?;
    let to = destinations::dst_pred(cx, operands::operand(instruction, 0)?)?;
    ops::isetp(cx, to, Cmp::EQ, false, found, bits)
}
