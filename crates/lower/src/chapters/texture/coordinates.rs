//! The kinds of textures, and the coordinates that each takes.

use crate::chapters::float32;
use crate::error::Lowered;
use crate::function::{FnLower, ops, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, D, PA};
use oriole_isa::{Cmp, Field, Ifmt, Mufu, Opcode as Sass, TexDim};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, Word};

/// The largest layer that an instruction takes.
const LAST_LAYER: u32 = 0xffff;

/// A kind of texture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    word: Word,
    /// What SASS calls it.
    pub(super) dim: TexDim,
    /// Coordinates, without layer and sample.
    pub(super) axes: usize,
    /// A layer comes first.
    layered: bool,
    /// A sample comes before everything.
    sampled: bool,
    /// The coordinates are a direction.
    pub(super) cube: bool,
}

const fn plain(word: Word, dim: TexDim, axes: usize) -> Geometry {
    Geometry { word, dim, axes, layered: false, sampled: false, cube: false }
}

const GEOMETRIES: [Geometry; 9] = [
    plain(Word::D1d, TexDim::D1, 1),
    plain(Word::D2d, TexDim::D2, 2),
    plain(Word::D3d, TexDim::D3, 3),
    Geometry { layered: true, ..plain(Word::A1d, TexDim::ARRAY_1D, 1) },
    Geometry { layered: true, ..plain(Word::A2d, TexDim::ARRAY_2D, 2) },
    Geometry { cube: true, ..plain(Word::Cube, TexDim::CUBE, 3) },
    Geometry { cube: true, layered: true, ..plain(Word::Acube, TexDim::ARRAY_CUBE, 3) },
    Geometry { sampled: true, ..plain(Word::D2dms, TexDim::D2, 2) },
    Geometry { sampled: true, layered: true, ..plain(Word::A2dms, TexDim::ARRAY_2D, 2) },
];

impl Geometry {
    /// That of the instruction.
    pub(super) fn of(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Geometry> {
        let found = GEOMETRIES.iter().find(|geometry| instruction.has(geometry.word));
        found.copied().ok_or_else(|| unknown(cx, instruction))
    }

    /// One row of texels, which drivers make as a texture with two axes unless it is read texel by texel.
    pub(super) fn is_row(&self) -> bool {
        self.dim == TexDim::D1
    }

    /// It has samples.
    pub(super) fn is_sampled(&self) -> bool {
        self.sampled
    }
}

/// A place in a texture.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// What it is a place of.
    pub(super) dim: TexDim,
    /// Layer, clamped.
    pub(super) layer: Option<Operand>,
    /// Coordinates: as the instruction takes them, a direction scaled to the surface of the cube.
    pub(super) axes: Vec<Operand>,
    /// A direction as the program gives it; empty for all else.
    pub(super) direction: Vec<Operand>,
    /// Sample.
    pub(super) sample: Option<Operand>,
}

impl Place {
    /// The place that the vector of singles or integers names; its elements beyond the coordinates are padding.
    pub(super) fn of(
        cx: &mut FnLower<'_, '_>,
        instruction: &Instruction,
        geometry: Geometry,
        vector: &ast::Operand,
        singles: bool,
    ) -> Lowered<Place> {
        let elements = vector.elements();
        let before = usize::from(geometry.sampled) + usize::from(geometry.layered);
        if elements.len() < before + geometry.axes {
            return Err(unknown(cx, instruction));
        }
        let (first, rest) = elements.split_at(before);
        let mut first = first.iter();
        let sample = if geometry.sampled { first.next().map(|e| sources::src(cx, e)).transpose()? } else { None };
        let layer = match first.next() {
            Some(layer) => Some(clamped_layer(cx, layer)?),
            None => None,
        };
        let axis = |e: &ast::Operand| if singles { sources::src_f32(cx, e) } else { sources::src(cx, e) };
        let mut axes = rest[..geometry.axes].iter().map(axis).collect::<Lowered<Vec<_>>>()?;
        let mut direction = Vec::new();
        if geometry.cube {
            let scaled = on_cube(cx, &axes)?;
            direction = std::mem::replace(&mut axes, scaled);
        }
        Ok(Place { dim: geometry.dim, layer, axes, direction, sample })
    }

    /// Layer and coordinates, in the order of the instruction.
    pub(super) fn words(&self) -> Vec<Operand> {
        self.layer.iter().chain(&self.axes).copied().collect()
    }
}

fn clamped_layer(cx: &mut FnLower<'_, '_>, layer: &ast::Operand) -> Lowered<Operand> {
    let layer = sources::src(cx, layer)?;
    let layer = ops::in_reg(cx, layer)?;
    let (beyond, clamped) = (cx.temp_pred()?, cx.temp()?);
    ops::isetp(cx, beyond, Cmp::GT, false, layer, Operand::imm(LAST_LAYER))?;
    ops::sel(cx, clamped, beyond.not(), layer, Operand::imm(LAST_LAYER))?;
    Ok(clamped)
}

/// A direction, scaled so that its largest component is 1.
pub(crate) fn on_cube(cx: &mut FnLower<'_, '_>, direction: &[Operand]) -> Lowered<Vec<Operand>> {
    let sizes = direction.iter().map(|component| Ok(ops::in_reg(cx, *component)?.abs()));
    let mut sizes = sizes.collect::<Lowered<Vec<_>>>()?.into_iter();
    let mut largest = sizes.next().unwrap_or(Operand::rz());
    for size in sizes {
        largest = maximum(cx, size, largest)?;
    }
    let scale = cx.temp()?;
    float32::mufu(cx, Mufu::RCP, scale, largest)?;
    direction.iter().map(|component| product(cx, *component, scale)).collect()
}

/// The larger single.
pub(crate) fn maximum(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand) -> Lowered<Operand> {
    let to = cx.temp()?;
    cx.emit(Sass::FMNMX, &[], &[(D, to), (A, a), (B, b), (PA, Operand::pt().not())])?;
    Ok(to)
}

/// `a * b`
pub(crate) fn product(cx: &mut FnLower<'_, '_>, a: Operand, b: Operand) -> Lowered<Operand> {
    let to = cx.temp()?;
    cx.emit(Sass::FMUL, &[], &[(D, to), (A, a), (B, b)])?;
    Ok(to)
}

/// An integer as a single.
pub(crate) fn to_single(cx: &mut FnLower<'_, '_>, integer: Operand, signed: bool) -> Lowered<Operand> {
    let (from, to) = (ops::in_reg(cx, integer)?, cx.temp()?);
    let format = if signed { Ifmt::S32 } else { Ifmt::U32 };
    cx.emit(Sass::I2F, &[Field::SRC_INT.is(format)], &[(D, to), (B, from)])?;
    Ok(to)
}
