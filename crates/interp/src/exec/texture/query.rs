//! `txq`, `suq`: properties of textures, samplers and surfaces; `istypep`: what a handle is of.

use super::handle::Handle;
use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::lane::Lane;
use crate::layout::ObjectKind;
use oriole_device::FaultKind;
use oriole_device::texture::property::{address_mode, channel_data_type, channel_order, filter_mode};
use oriole_device::texture::{Image, Objects, Sampler};
use oriole_ptx::ast::{Instruction, ScalarType, Word};

/// A property of an image: at a level of detail, if the instruction names one.
type OfImage = fn(&Image, u32) -> u32;
/// A property of a sampler.
type OfSampler = fn(&Sampler) -> u32;

const OF_IMAGES: [(Word, OfImage); 9] = [
    (Word::Width, |image, level| image.dimensions(level)[0]),
    (Word::Height, |image, level| image.dimensions(level)[1]),
    (Word::Depth, |image, level| image.dimensions(level)[2]),
    (Word::ChannelDataType, |image, _| channel_data_type(image.format)),
    (Word::ChannelOrder, |image, _| channel_order(image.format)),
    (Word::ArraySize, |image, _| image.layers.unwrap_or(0)),
    (Word::NumMipmapLevels, |image, _| image.levels),
    (Word::NumSamples, |image, _| image.samples),
    // Rows one behind the other, the first of the layouts.
    (Word::MemoryLayout, |_, _| 0),
];

const OF_SAMPLERS: [(Word, OfSampler); 6] = [
    (Word::NormalizedCoords, |sampler| u32::from(sampler.normalized)),
    (Word::ForceUnnormalizedCoords, |sampler| u32::from(!sampler.normalized)),
    (Word::FilterMode, |sampler| filter_mode(sampler.filter)),
    (Word::AddrMode0, |sampler| address_mode(sampler.address)),
    (Word::AddrMode1, |sampler| address_mode(sampler.address)),
    (Word::AddrMode2, |sampler| address_mode(sampler.address)),
];

/// `txq{.level}.query.b32 d, [a]{, level};`, `suq.query.b32 d, [a];`
pub(super) fn property(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let wrong = || form(inst.opcode.as_str());
    let [to, from, level @ ..] = &inst.operands[..] else { return Err(wrong()) };
    let to = builder.destination(to, ScalarType::B32)?;
    let handle = Handle::of_base(from.address().ok_or_else(wrong)?, builder)?;
    if let Some((_, read)) = OF_IMAGES.iter().find(|(word, _)| inst.has(*word)) {
        let level = level.first().map(|level| builder.source(level, ScalarType::U32)).transpose()?;
        return Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
            let level = level.as_ref().map_or(0, |level| lane.get(level) as u32);
            let (image, _) = handle.object(None, lane)?;
            lane.set(&to, read(image, level).into());
            Ok(())
        })));
    }
    let (word, read) = *OF_SAMPLERS.iter().find(|(word, _)| inst.has(*word)).ok_or_else(wrong)?;
    let separate = match handle.kind() {
        Some(kind) => kind == ObjectKind::Sampler,
        // Whether coordinates are normalised is asked of a texture; the rest of a sampler, where there are any.
        None => builder.has_separate_samplers() && word != Word::NormalizedCoords,
    };
    // Of a texture with a sampler of its own nothing is forced.
    let forced = word == Word::ForceUnnormalizedCoords && !separate;
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let value = match (forced, separate) {
            (true, _) => 0,
            (false, true) => read(alone(&handle, lane)?),
            (false, false) => read(handle.object(None, lane)?.1),
        };
        lane.set(&to, value.into());
        Ok(())
    })))
}

/// The sampler that a handle names.
fn alone<'e>(handle: &Handle, lane: &Lane<'_, 'e>) -> Result<&'e Sampler, FaultKind> {
    let word = handle.word(lane)?;
    let objects: &'e Objects = lane.env.resources.objects;
    let sampler = (word as usize).checked_sub(1).and_then(|number| objects.samplers().get(number));
    sampler.ok_or_else(|| FaultKind::Misuse(format!("no sampler has the handle {word:#x}")))
}

/// `istypep.type p, a;`
pub(super) fn is_type(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let wrong = || form("istypep");
    let [to, from] = &inst.operands[..] else { return Err(wrong()) };
    let bit = inst.types().find_map(ObjectKind::of).ok_or_else(wrong)?.bit();
    let (to, from) = (builder.destination(to, ScalarType::Pred)?, builder.source(from, ScalarType::U64)?);
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let is_of = lane.get(&from) as u64 & bit != 0;
        lane.set(&to, is_of.into());
        Ok(())
    })))
}
