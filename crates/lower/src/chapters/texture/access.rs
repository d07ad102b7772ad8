//! The texture instructions of SASS: layer and coordinates in one group of registers, in another one the handle,
//! level, offset, depth and sample, in this order. (`.SCR`, which shares up to four words between both groups, is
//! not used: ptxas, too, does without it from sm_90 on.)

use crate::chapters::tensor::fragment::{fresh, put};
use crate::chapters::tensor::wmma::narrowed;
use crate::chapters::texture::coordinates::Place;
use crate::error::Lowered;
use crate::function::handle::{ENTRY_BYTES, Handle, joined, with_uniform};
use crate::function::{FnLower, destinations, ops};
use oriole_isa::Role::{A, B, Bank, D, D2, PD, Slot, UHandle};
use oriole_isa::{Field, Opcode as Sass, Setting, TexLod, TexMask, TexOffset, TexSample};
use oriole_ori::{Inst, Operand, RegType};
use oriole_ptx::ast;
use std::iter::once;

/// What is read, and with which sampler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// The texture.
    pub(super) texture: Handle,
    /// The sampler, where the texture does not bring its own.
    pub(super) sampler: Option<Handle>,
}

/// Where a source's numbers are for an instruction.
enum Selected {
    /// Word of constant bank 0, by its number.
    Bank(u32),
    /// In a register.
    Register(Operand),
    /// In a pair of uniform registers, that of the texture and that of the sampler.
    Uniform,
}

impl Source {
    fn select(self, cx: &mut FnLower<'_, '_>) -> Lowered<Selected> {
        if cx.sm().bank0.samplers_apart {
            return Ok(Selected::Uniform);
        }
        let objects = match (self.texture, self.sampler) {
            (Handle::Name(texture), None) => vec![texture],
            (Handle::Name(texture), Some(Handle::Name(sampler))) => vec![texture, sampler],
            (texture, None) => return Ok(Selected::Register(texture.word(cx)?)),
            (texture, Some(sampler)) => return Ok(Selected::Register(joined(cx, texture, sampler)?)),
        };
        Ok(Selected::Bank(cx.module.object_slot(&objects) / ENTRY_BYTES))
    }
}

/// The results of an access.
pub(crate) struct Results<'i> {
    /// The registers of the components.
    pub(super) components: &'i ast::Operand,
    /// Whether all texels were there.
    pub(super) resident: Option<&'i ast::Operand>,
    /// Two components to a register, as halves.
    pub(super) halves: bool,
}

impl<'i> Results<'i> {
    /// The first operand: components, and a predicate behind a bar.
    pub(super) fn of(operand: &'i ast::Operand, halves: bool) -> Self {
        match operand {
            ast::Operand::Pair(pair) => Results { components: &pair[0], resident: Some(&pair[1]), halves },
            _ => Results { components: operand, resident: None, halves },
        }
    }

    /// Puts the words of four components, or of two pairs of halves, where they belong.
    fn deliver(&self, cx: &mut FnLower<'_, '_>, words: &[Operand]) -> Lowered {
        for (result, word) in self.components.elements().iter().zip(words) {
            if !matches!(result, ast::Operand::Sink(_)) {
                let to = destinations::dst(cx, result)?;
                ops::mov(cx, to, *word)?;
            }
        }
        Ok(())
    }
}

/// `TEX`, `TLD` or `TLD4`.
pub(crate) struct Access {
    /// Which of them.
    pub(super) opcode: Sass,
    /// Modifiers besides those that the fields below bring.
    pub(super) modifiers: Vec<Setting>,
    /// What is read.
    pub(super) source: Source,
    /// Where.
    pub(super) place: Place,
    /// The level, if it is given.
    pub(super) level: Option<Operand>,
    /// Offset in texels, packed.
    pub(super) offset: Option<Operand>,
    /// Depth to compare with.
    pub(super) depth: Option<Operand>,
}

impl Access {
    /// Emits it.
    pub(super) fn emit(self, cx: &mut FnLower<'_, '_>, results: &Results<'_>) -> Lowered {
        let selected = self.source.select(cx)?;
        let handle = match selected {
            Selected::Register(word) => Some(word),
            _ => None,
        };
        let mut inst = self.instruction();
        let rest = [handle, self.level, self.offset, self.depth, self.place.sample];
        let rest: Vec<Operand> = rest.into_iter().flatten().collect();
        put(cx, &mut inst, A, &self.place.words())?;
        if !rest.is_empty() {
            put(cx, &mut inst, B, &rest)?;
        }
        finish(cx, inst, self.source, selected, results)
    }

    /// The instruction with its modifiers.
    fn instruction(&self) -> Inst {
        let mut inst = Inst::neutral(self.opcode, self.modifiers.iter().copied().collect());
        inst.mods.set(Field::TEX_DIM, self.place.dim);
        if self.opcode != Sass::TLD4 {
            inst.mods.set(Field::TEX_LOD, if self.level.is_some() { TexLod::LL } else { TexLod::LZ });
        }
        if self.offset.is_some() {
            inst.mods.set(Field::TEX_OFFSET, TexOffset::AOFFI);
        }
        if self.depth.is_some() {
            inst.mods.set(Field::TEX_DC, true);
        }
        if self.place.sample.is_some() {
            inst.mods.set(Field::TEX_SAMPLE, TexSample::MS);
        }
        inst
    }
}

/// `TXD`: the handle, coordinates and the layer, with the offset above it, in one group; derivatives in the other.
pub(crate) struct WithDerivatives {
    /// What is read.
    pub(super) source: Source,
    /// Where.
    pub(super) place: Place,
    /// Of each coordinate along both axes of the screen.
    pub(super) derivatives: Vec<Operand>,
    /// Offset in texels, packed.
    pub(super) offset: Option<Operand>,
}

impl WithDerivatives {
    /// Emits it.
    pub(super) fn emit(self, cx: &mut FnLower<'_, '_>, results: &Results<'_>) -> Lowered {
        let selected = self.source.select(cx)?;
        let mut inst = Inst::neutral(Sass::TXD, once(Field::TEX_DIM.is(self.place.dim)).collect());
        let last = match (self.place.layer, self.offset) {
            (layer, None) => layer,
            (layer, Some(offset)) => {
                inst.mods.set(Field::TEX_OFFSET, TexOffset::AOFFI);
                // PRMT selector: the low half of the layer, and above it that of the offset.
                const HALVES: u32 = 0x5410;
                let (word, offset) = (cx.temp()?, ops::in_reg(cx, offset)?);
                ops::prmt(cx, word, layer.unwrap_or(Operand::rz()), HALVES, offset)?;
                Some(word)
            }
        };
        let handle = match selected {
            Selected::Register(word) => Some(word),
            _ => None,
        };
        let words: Vec<Operand> = handle.into_iter().chain(self.place.axes).chain(last).collect();
        put(cx, &mut inst, A, &words)?;
        put(cx, &mut inst, B, &self.derivatives)?;
        finish(cx, inst, self.source, selected, results)
    }
}

/// Names the source and the results, emits the instruction, and delivers what it gives.
fn finish(
    cx: &mut FnLower<'_, '_>,
    mut inst: Inst,
    source: Source,
    selected: Selected,
    results: &Results<'_>,
) -> Lowered {
    let (low, low_words) = fresh(cx, 2)?;
    let (high, high_words) = fresh(cx, 2)?;
    inst.set_role(D, low);
    inst.set_role(D2, high);
    let missing = cx.variable(RegType::P)?;
    if results.resident.is_some() {
        inst.set_role(PD, missing);
    }
    send(cx, inst, source, selected)?;
    if let Some(resident) = results.resident {
        let to = destinations::dst_pred(cx, resident)?;
        ops::mov_pred(cx, to, missing.not())?;
    }
    let mut words: Vec<Operand> = low_words.into_iter().chain(high_words).collect();
    if results.halves {
        words = narrowed(cx, &words)?;
    }
    results.deliver(cx, &words)
}

/// Emits a texture instruction with its source.
fn send(cx: &mut FnLower<'_, '_>, mut inst: Inst, source: Source, selected: Selected) -> Lowered {
    match selected {
        Selected::Bank(slot) => {
            inst.set_role(Bank, Operand::imm(0));
            inst.set_role(Slot, Operand::imm(slot));
        }
        Selected::Register(_) => inst.mods.set(Field::TEX_B, true),
        Selected::Uniform => {
            return with_uniform(cx, &[Some(source.texture), source.sampler], |cx, pair, guard| {
                inst.set_role(UHandle, pair);
                // Some targets have a number there besides, which is added.
                let mut numbered = inst.clone();
                numbered.set_role(Slot, Operand::imm(0));
                if cx.func.is_legal(&numbered, cx.arch()) {
                    inst = numbered;
                }
                inst.set_guard(guard);
                cx.emit_inst(inst)?;
                Ok(())
            });
        }
    }
    cx.emit_inst(inst)?;
    Ok(())
}

/// The size of a level of a texture: `R` is the width, `G` the height, `B` the depth or layers.
pub(crate) fn dimension(
    cx: &mut FnLower<'_, '_>,
    texture: Handle,
    level: Operand,
    component: TexMask,
) -> Lowered<Operand> {
    let source = Source { texture, sampler: None };
    let selected = source.select(cx)?;
    let to = cx.temp()?;
    let mut inst = Inst::neutral(Sass::TXQ, once(Field::TEX_MASK.is(component)).collect());
    inst.set_role(D, to);
    inst.set_role(D2, Operand::rz());
    let words = match selected {
        Selected::Register(word) => vec![word, level],
        _ => vec![level],
    };
    put(cx, &mut inst, A, &words)?;
    send(cx, inst, source, selected)?;
    Ok(to)
}
