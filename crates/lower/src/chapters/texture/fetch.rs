//! `tex` and `tld4`.

use crate::chapters::texture::access::{Access, Results, Source, WithDerivatives};
use crate::chapters::texture::coordinates::{Geometry, Place, to_single};
use crate::chapters::texture::gradient;
use crate::error::Lowered;
use crate::function::{FnLower, operands, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D, Lut};
use oriole_isa::{Field, Opcode as Sass, TexComp, TexDim};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, ScalarType, Word};

/// The level, -32, of a filtered read that names none: the first one, however it is clamped.
const FIRST_LEVEL: u32 = 0xc200_0000;

/// Bits of each offset in their word, and how far the next one lies: for one texel, for four.
const OFFSET_FIELDS: [(u32, u32); 2] = [(4, 4), (6, 8)];

/// Components that `tld4` gathers.
const COMPONENTS: [(Word, TexComp); 4] =
    [(Word::R, TexComp::R), (Word::G, TexComp::G), (Word::B, TexComp::B), (Word::A, TexComp::A)];

/// The operands of a read, in order.
struct Request<'i> {
    instruction: &'i Instruction,
    results: Results<'i>,
    source: Source,
    coordinates: &'i ast::Operand,
    /// What follows the brackets.
    rest: std::slice::Iter<'i, ast::Operand>,
}

impl<'i> Request<'i> {
    fn of(cx: &mut FnLower<'_, '_>, instruction: &'i Instruction) -> Lowered<Self> {
        let missing = |cx: &FnLower<'_, '_>| unknown(cx, instruction);
        let Some(address) = operands::operand(instruction, 1)?.address() else { return Err(missing(cx)) };
        let Some((coordinates, sampler)) = address.rest.split_last() else { return Err(missing(cx)) };
        let texture = sources::handle_of_base(cx, address)?;
        let sampler = sampler.first().map(|sampler| sources::handle_of(cx, sampler)).transpose()?;
        let halves = instruction.types().any(|ty| ty == ScalarType::F16x2);
        Ok(Request {
            instruction,
            results: Results::of(&instruction.operands[0], halves),
            source: Source { texture, sampler },
            coordinates,
            rest: instruction.operands.get(2..).unwrap_or_default().iter(),
        })
    }

    fn next(&mut self, cx: &FnLower<'_, '_>) -> Lowered<&'i ast::Operand> {
        self.rest.next().ok_or_else(|| unknown(cx, self.instruction))
    }

    /// The packed offset, and the depth: a vector is an offset, of two numbers the first, one number is a depth.
    fn offset_and_depth(
        &mut self,
        cx: &mut FnLower<'_, '_>,
        fields: (u32, u32),
    ) -> Lowered<(Option<Operand>, Option<Operand>)> {
        let rest: Vec<&ast::Operand> = self.rest.by_ref().collect();
        let (offset, depth) = match rest[..] {
            [] => (None, None),
            [one @ ast::Operand::Vector(..)] => (Some(one), None),
            [one] => (None, Some(one)),
            [offset, depth, ..] => (Some(offset), Some(depth)),
        };
        let offset = offset.map(|offset| packed(cx, offset, fields)).transpose()?;
        let depth = depth.map(|depth| sources::src_f32(cx, depth)).transpose()?;
        Ok((offset, depth))
    }
}

/// Offsets of all axes in one word; bits above the last are left as they come.
fn packed(cx: &mut FnLower<'_, '_>, offset: &ast::Operand, (bits, stride): (u32, u32)) -> Lowered<Operand> {
    /// `a` where the mask `b` has ones, else `c`.
    const MERGE: u32 = 0xe2;
    let mut word: Option<Operand> = None;
    for (axis, element) in (0u32..).zip(offset.elements().iter().take(3)) {
        let number = sources::src(cx, element)?;
        let number = ops::in_reg(cx, number)?;
        let Some(before) = word else {
            word = Some(number);
            continue;
        };
        let (moved, merged) = (cx.temp()?, cx.temp()?);
        word_ops::shift_left(cx, moved, number, Operand::imm(stride * axis))?;
        let mask = ((1 << bits) - 1) << (stride * axis);
        let operands = [(D, merged), (A, moved), (B, Operand::imm(mask)), (C, before), (Lut, Operand::imm(MERGE))];
        cx.emit(Sass::LOP3, &[], &operands)?;
        word = Some(merged);
    }
    Ok(word.unwrap_or(Operand::rz()))
}

/// `tex{.base|level|grad}.geometry.v.type.type d, [a, …], …;`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let mut request = Request::of(cx, instruction)?;
    let geometry = Geometry::of(cx, instruction)?;
    let singles = instruction.last_type() == Some(ScalarType::F32);
    if instruction.has(Word::Grad) {
        return with_gradient(cx, request, geometry, singles);
    }
    let mut place = Place::of(cx, instruction, geometry, request.coordinates, singles)?;
    let given = instruction.has(Word::Level);
    let level = if given { Some(request.next(cx)?) } else { None };
    let level =
        level.map(|level| if singles { sources::src_f32(cx, level) } else { sources::src(cx, level) }).transpose()?;
    let (offset, depth) = request.offset_and_depth(cx, OFFSET_FIELDS[0])?;
    // A sampler filters also at integers; but rows, and levels by number, are read texel by texel.
    let sampled = request.source.sampler.is_some() && !given && !geometry.is_row() && !geometry.is_sampled();
    let (source, results) = (request.source, request.results);
    if !singles && !sampled {
        let clamped = Field::TEX_CL.is(given);
        // Single texels are not compared.
        let access = Access { opcode: Sass::TLD, modifiers: vec![clamped], source, place, level, offset, depth: None };
        return access.emit(cx, &results);
    }
    if !singles {
        for axis in &mut place.axes {
            *axis = to_single(cx, *axis, true)?;
        }
    } else if source.sampler.is_none() {
        widen_row(&mut place);
    }
    let level = Some(level.unwrap_or(Operand::imm(FIRST_LEVEL)));
    Access { opcode: Sass::TEX, modifiers: Vec::new(), source, place, level, offset, depth }.emit(cx, &results)
}

/// A row without a sampler of its own is read as one of two axes.
fn widen_row(place: &mut Place) {
    if place.dim == TexDim::D1 {
        place.dim = TexDim::D2;
        place.axes.push(Operand::rz());
    }
}

/// `tex.grad`: derivatives go to TXD, which takes up to two axes and compares nothing, or make a level.
fn with_gradient(cx: &mut FnLower<'_, '_>, mut request: Request<'_>, geometry: Geometry, singles: bool) -> Lowered {
    let instruction = request.instruction;
    let mut place = Place::of(cx, instruction, geometry, request.coordinates, singles)?;
    let mut steps = Vec::new();
    for _ in 0..2 {
        let vector = request.next(cx)?;
        let elements = vector.elements().iter().take(geometry.axes);
        steps.push(elements.map(|e| sources::src_f32(cx, e)).collect::<Lowered<Vec<_>>>()?);
    }
    let (offset, depth) = request.offset_and_depth(cx, OFFSET_FIELDS[0])?;
    let (source, results) = (request.source, request.results);
    if geometry.axes > 2 || depth.is_some() {
        let level = gradient::level(cx, instruction, source.texture, (geometry, &place), &steps)?;
        let access =
            Access { opcode: Sass::TEX, modifiers: Vec::new(), source, place, level: Some(level), offset, depth };
        return access.emit(cx, &results);
    }
    if singles && source.sampler.is_none() && place.dim == TexDim::D1 {
        widen_row(&mut place);
        steps.iter_mut().for_each(|step| step.push(Operand::rz()));
    }
    let derivatives = steps[0].iter().zip(&steps[1]).flat_map(|(x, y)| [*x, *y]).collect();
    WithDerivatives { source, place, derivatives, offset }.emit(cx, &results)
}

/// `tld4.component.geometry.v4.type.f32 d, [a, …], …;`
pub(crate) fn gather(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let mut request = Request::of(cx, instruction)?;
    let geometry = Geometry::of(cx, instruction)?;
    let place = Place::of(cx, instruction, geometry, request.coordinates, true)?;
    let (offset, depth) = request.offset_and_depth(cx, OFFSET_FIELDS[1])?;
    let component = COMPONENTS.iter().find(|(word, _)| instruction.has(*word)).map(|(_, component)| *component);
    let component = Field::TEX_COMP.is(component.ok_or_else(|| unknown(cx, instruction))?);
    let (source, results) = (request.source, request.results);
    Access { opcode: Sass::TLD4, modifiers: vec![component], source, place, level: None, offset, depth }
        .emit(cx, &results)
}
