//! The kinds of textures, and the coordinates that each takes.

use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::lane::Lane;
use crate::operand::Source;
use oriole_ptx::ast::{Instruction, Operand, ScalarType, Word};

/// A kind of texture or surface.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Geometry {
    word: Word,
    /// Coordinates, without layer and sample.
    pub(in crate::exec) axes: usize,
    /// A layer comes before them.
    pub(in crate::exec) layered: bool,
    /// A sample comes before everything.
    pub(in crate::exec) sampled: bool,
    /// The coordinates are a direction.
    pub(in crate::exec) cube: bool,
}

const fn plain(word: Word, axes: usize) -> Geometry {
    Geometry { word, axes, layered: false, sampled: false, cube: false }
}

const GEOMETRIES: [Geometry; 9] = [
    plain(Word::D1d, 1),
    plain(Word::D2d, 2),
    plain(Word::D3d, 3),
    Geometry { layered: true, ..plain(Word::A1d, 1) },
    Geometry { layered: true, ..plain(Word::A2d, 2) },
    Geometry { cube: true, ..plain(Word::Cube, 3) },
    Geometry { cube: true, layered: true, ..plain(Word::Acube, 3) },
    Geometry { sampled: true, ..plain(Word::D2dms, 2) },
    Geometry { sampled: true, layered: true, ..plain(Word::A2dms, 2) },
];

impl Geometry {
    /// That of an instruction.
    pub(in crate::exec) fn of(inst: &Instruction) -> Result<Geometry, Unsupported> {
        let found = GEOMETRIES.iter().find(|geometry| inst.has(geometry.word));
        found.copied().ok_or_else(|| form(inst.opcode.as_str()))
    }
}

/// A place as an instruction gives it.
pub(in crate::exec) struct Coordinates {
    sample: Option<Source>,
    layer: Option<Source>,
    axes: Vec<Source>,
}

impl Coordinates {
    /// Sample and layer, where the geometry has them, and coordinates; what stands behind them is padding.
    pub(in crate::exec) fn of(
        inst: &Instruction,
        geometry: Geometry,
        vector: &Operand,
        builder: &mut Builder<'_, '_>,
    ) -> Result<Coordinates, Unsupported> {
        let all = builder.sources(vector, ScalarType::U32)?;
        let before = usize::from(geometry.sampled) + usize::from(geometry.layered);
        if all.len() < before + geometry.axes {
            return Err(form(inst.opcode.as_str()));
        }
        let (sample, rest) = all.split_at(usize::from(geometry.sampled));
        let (layer, rest) = rest.split_at(usize::from(geometry.layered));
        let axes = rest[..geometry.axes].to_vec();
        Ok(Coordinates { sample: sample.first().copied(), layer: layer.first().copied(), axes })
    }

    /// The sample; the first where there is only one.
    pub(in crate::exec) fn sample(&self, lane: &Lane<'_, '_>) -> u32 {
        self.sample.as_ref().map_or(0, |sample| lane.get(sample) as u32)
    }

    /// The layer; 0 where there are none.
    pub(in crate::exec) fn layer(&self, lane: &Lane<'_, '_>) -> u32 {
        self.layer.as_ref().map_or(0, |layer| lane.get(layer) as u32)
    }

    /// The coordinates as words, zeros behind them.
    pub(in crate::exec) fn words(&self, lane: &Lane<'_, '_>) -> [u32; 3] {
        std::array::from_fn(|axis| self.axes.get(axis).map_or(0, |source| lane.get(source) as u32))
    }
}
