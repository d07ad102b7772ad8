//! What an instruction reads or asks about: textures, samplers and surfaces, by name or by a 64-bit handle.
//!
//! Of a name the driver puts the number into a word of constant bank 0; of a handle the low word is the number.
//! Where a texture and its sampler share a word (`Bank0::samplers_apart`), the sampler's number begins at bit 20.

use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::uniform::{by_value, component, group};
use crate::function::{FnLower, ops, word_ops};
use oriole_isa::Role::{B, Bank, D};
use oriole_isa::{Field, MemSize, Opcode as Sass};
use oriole_ori::{Guard, Object, ObjectKind, Operand, Symbol, SymbolKind};

/// Bytes of a word of constant bank 0, which instructions name by its number.
pub(crate) const ENTRY_BYTES: u32 = 4;

/// First bit of a sampler's number in the word of a texture.
const SAMPLER_SHIFT: u32 = 20;
/// The texture's number in such a word.
pub(crate) const TEXTURE_MASK: u32 = (1 << SAMPLER_SHIFT) - 1;

/// Bits in the upper word of a 64-bit handle that tell what it is of; `istypep` asks for them.
pub(crate) const TYPE_BITS: [(ObjectKind, u32); 3] =
    [(ObjectKind::Texture, 1 << 29), (ObjectKind::Sampler, 1 << 30), (ObjectKind::Surface, 1 << 31)];

/// A texture, sampler or surface.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handle {
    /// What the driver binds to a name.
    Name(Symbol),
    /// The low word of a 64-bit handle.
    Word(Operand),
}

impl Handle {
    /// The word with its number, in a register.
    pub(crate) fn word(self, cx: &mut FnLower<'_, '_>) -> Lowered<Operand> {
        match self {
            Handle::Word(word) => ops::in_reg(cx, word),
            Handle::Name(symbol) => {
                let offset = cx.module.object_slot(&[symbol]);
                let word = cx.temp()?;
                ops::read_constant(cx, word, 0, offset)?;
                Ok(word)
            }
        }
    }

    /// A sampler's number by itself.
    pub(crate) fn sampler(self, cx: &mut FnLower<'_, '_>) -> Lowered<Operand> {
        let word = self.word(cx)?;
        match self {
            Handle::Name(_) if !cx.sm().bank0.samplers_apart => {
                let number = cx.temp()?;
                word_ops::shift_right(cx, false, number, word, Operand::imm(SAMPLER_SHIFT))?;
                Ok(number)
            }
            _ => Ok(word),
        }
    }
}

/// The one word of a texture and a sampler, on targets where they share one.
pub(crate) fn joined(cx: &mut FnLower<'_, '_>, texture: Handle, sampler: Handle) -> Lowered<Operand> {
    let number = sampler.sampler(cx)?;
    let (high, texture) = (cx.temp()?, texture.word(cx)?);
    word_ops::shift_left(cx, high, number, Operand::imm(SAMPLER_SHIFT))?;
    let (low, word) = (cx.temp()?, cx.temp()?);
    word_ops::lop2(cx, low, lut::AND, texture, Operand::imm(TEXTURE_MASK))?;
    word_ops::lop2(cx, word, lut::OR, low, high)?;
    Ok(word)
}

/// Emits what `emit` emits with the words of the handles in consecutive uniform registers, which it gets with the
/// guard that its instruction must have: where threads may have different handles, once for each of them.
pub(crate) fn with_uniform(
    cx: &mut FnLower<'_, '_>,
    handles: &[Option<Handle>],
    emit: impl FnOnce(&mut FnLower<'_, '_>, Operand, Option<Guard>) -> Lowered,
) -> Lowered {
    if handles.iter().flatten().all(|handle| matches!(handle, Handle::Name(_))) {
        let group = group(cx, handles.len())?;
        for (k, handle) in handles.iter().enumerate() {
            let to = component(cx, group, k);
            match handle {
                Some(Handle::Name(symbol)) => {
                    let offset = cx.module.object_slot(&[*symbol]);
                    load_uniform(cx, to, offset)?;
                }
                _ => {
                    cx.emit(Sass::UMOV, &[], &[(D, to), (B, Operand::imm(0))])?;
                }
            }
        }
        let guard = cx.guard;
        return emit(cx, Operand::reg(group), guard);
    }
    let words = handles.iter().map(|handle| handle.map_or(Ok(Operand::rz()), |handle| handle.word(cx)));
    let words = words.collect::<Lowered<Vec<Operand>>>()?;
    by_value(cx, &words, emit)
}

/// `to`, a uniform register = the word at an offset of constant bank 0.
fn load_uniform(cx: &mut FnLower<'_, '_>, to: Operand, offset: u32) -> Lowered {
    let load = if cx.has(Sass::LDCU) { Sass::LDCU } else { Sass::ULDC };
    cx.emit(load, &[Field::MEM_SIZE.is(MemSize::B32)], &[(D, to), (Bank, Operand::cbank(0, offset))])?;
    Ok(())
}

/// The 64-bit handle of what the driver binds to a name.
pub(crate) fn object_handle(cx: &mut FnLower<'_, '_>, symbol: Symbol) -> Lowered<Wide> {
    let SymbolKind::Object(Object { kind, .. }) = cx.module.out.symbols[symbol].kind else {
        return Err(invalid(cx.span, "internal: no texture, sampler or surface"));
    };
    let handle = Handle::Name(symbol);
    let low = if kind == ObjectKind::Sampler { handle.sampler(cx)? } else { handle.word(cx)? };
    let bits = TYPE_BITS.iter().find(|(of, _)| *of == kind).map_or(0, |(_, bits)| *bits);
    Ok(Wide::of_halves(low, Operand::imm(bits)))
}
