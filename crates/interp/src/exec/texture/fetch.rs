//! `tex`, `tld4`.

use super::geometry::{Coordinates, Geometry};
use super::handle::Handle;
use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::lane::Lane;
use crate::operand::{Destination, Source};
use crate::space::{Data, Place};
use oriole_device::FaultKind;
use oriole_device::texture::cube::on_surface;
use oriole_device::texture::sample::{Reader, Request, lod_of, texels_of, texels_of_cube};
use oriole_device::texture::texel::{self, Numbered, half_of};
use oriole_device::texture::{Image, Sampler};
use oriole_ptx::ast::{Instruction, Operand, ScalarType, Word};
use smallvec::SmallVec;

/// Bits of an offset in texels: of `tex`, of `tld4`.
const OFFSET_BITS: [u32; 2] = [4, 6];

/// Components that `tld4` gathers.
const COMPONENTS: [(Word, usize); 4] = [(Word::R, 0), (Word::G, 1), (Word::B, 2), (Word::A, 3)];

/// What is made of a place.
#[derive(Clone, Copy, Debug)]
enum Read {
    /// A filtered value.
    Filtered,
    /// One texel by its number; the nearest inside, if `clamped`.
    Numbered { clamped: bool },
    /// One component of four texels.
    Gathered(usize),
}

/// Where the level of detail is from.
enum Level {
    /// It is the first: threads of a kernel have no neighbours on a screen.
    First,
    /// It is given.
    Given(Source),
    /// How coordinates change along both axes of the screen.
    Gradients([Vec<Source>; 2]),
}

/// A compiled access.
struct Fetch {
    texture: Handle,
    sampler: Option<Handle>,
    geometry: Geometry,
    coordinates: Coordinates,
    read: Read,
    level: Level,
    /// Coordinates and the level are integers that stand for singles.
    converts: bool,
    offset: SmallVec<[Source; 4]>,
    offset_bits: u32,
    depth: Option<Source>,
    to: SmallVec<[Destination; 4]>,
    resident: Option<Destination>,
    halves: bool,
}

/// `tex{.base|level|grad}.geometry.v.type.type d, [a, …], …;`
pub(super) fn lookup(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let (mut fetch, rest) = Fetch::of(inst, builder)?;
    let is_single = inst.last_type() == Some(ScalarType::F32);
    let (level, rest) = level(inst, rest, builder)?;
    let given = matches!(level, Level::Given(_));
    let has_gradients = matches!(level, Level::Gradients(_));
    fetch.level = level;
    fetch.offset_and_depth(rest, builder)?;
    // A separate sampler filters at integers too; but rows, and levels by number, are read texel by texel. Beside gradients
    // the bits of integers are taken as those of singles. ptxas has it so.
    let is_row = fetch.geometry.axes == 1 && !fetch.geometry.layered;
    fetch.converts = !is_single && fetch.sampler.is_some() && !given && !is_row && !fetch.geometry.sampled;
    if !is_single && !fetch.converts && !has_gradients {
        fetch.read = Read::Numbered { clamped: given };
    }
    fetch.converts &= !has_gradients;
    Ok(fetch.action())
}

/// `tld4.component.geometry.v4.type.f32 d, [a, …], …;`
pub(super) fn gather(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let (mut fetch, rest) = Fetch::of(inst, builder)?;
    let component = COMPONENTS.iter().find(|(word, _)| inst.has(*word)).ok_or_else(|| form("tld4"))?.1;
    (fetch.read, fetch.offset_bits) = (Read::Gathered(component), OFFSET_BITS[1]);
    fetch.offset_and_depth(rest, builder)?;
    Ok(fetch.action())
}

/// The level of detail, and the operands behind it.
fn level<'i>(
    inst: &Instruction,
    rest: &'i [Operand],
    builder: &mut Builder<'_, '_>,
) -> Result<(Level, &'i [Operand]), Unsupported> {
    if inst.has(Word::Grad) {
        let [x, y, rest @ ..] = rest else { return Err(form("tex.grad")) };
        let mut steps = |along| Ok(builder.sources(along, ScalarType::F32)?.to_vec());
        return Ok((Level::Gradients([steps(x)?, steps(y)?]), rest));
    }
    match rest {
        [level, rest @ ..] if inst.has(Word::Level) => {
            // A constant level is written in the type of the coordinates.
            let ty = inst.last_type().ok_or_else(|| form("tex.level"))?;
            Ok((Level::Given(builder.source(level, ty)?), rest))
        }
        rest => Ok((Level::First, rest)),
    }
}

impl Fetch {
    /// What all accesses have, and the operands behind the brackets.
    fn of<'i>(inst: &'i Instruction, builder: &mut Builder<'_, '_>) -> Result<(Fetch, &'i [Operand]), Unsupported> {
        let wrong = || form(inst.opcode.as_str());
        let [to, from, rest @ ..] = &inst.operands[..] else { return Err(wrong()) };
        let address = from.address().ok_or_else(wrong)?;
        let (coordinates, sampler) = address.rest.split_last().ok_or_else(wrong)?;
        let ty = inst.types().next().ok_or_else(wrong)?;
        let (components, resident) = match to {
            Operand::Pair(pair) => (&pair[0], Some(builder.destination(&pair[1], ScalarType::Pred)?)),
            components => (components, None),
        };
        let geometry = Geometry::of(inst)?;
        let fetch = Fetch {
            texture: Handle::of_base(address, builder)?,
            sampler: sampler.first().map(|sampler| Handle::of_operand(sampler, builder)).transpose()?,
            geometry,
            coordinates: Coordinates::of(inst, geometry, coordinates, builder)?,
            read: Read::Filtered,
            level: Level::First,
            converts: false,
            offset: SmallVec::new(),
            offset_bits: OFFSET_BITS[0],
            depth: None,
            to: builder.destinations(components, ty)?,
            resident,
            halves: ty == ScalarType::F16x2,
        };
        Ok((fetch, rest))
    }

    /// The last operands: a vector is an offset, of two the first; one number alone is a depth.
    fn offset_and_depth(&mut self, rest: &[Operand], builder: &mut Builder<'_, '_>) -> Result<(), Unsupported> {
        let (offset, depth) = match rest {
            [] => (None, None),
            [one @ Operand::Vector(..)] => (Some(one), None),
            [one] => (None, Some(one)),
            [offset, depth, ..] => (Some(offset), Some(depth)),
        };
        if let Some(offset) = offset {
            self.offset = builder.sources(offset, ScalarType::S32)?;
        }
        self.depth = depth.map(|depth| builder.source(depth, ScalarType::F32)).transpose()?;
        Ok(())
    }

    fn action(self) -> Action {
        Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
            let value = self.value(lane)?;
            let words = match self.halves {
                true => {
                    [half_of(value[0]) | half_of(value[1]) << 16, half_of(value[2]) | half_of(value[3]) << 16, 0, 0]
                }
                false => value,
            };
            for (to, word) in self.to.iter().zip(words) {
                lane.set(to, word.into());
            }
            if let Some(resident) = &self.resident {
                lane.set(resident, 1);
            }
            Ok(())
        }))
    }

    /// The components that a thread reads.
    fn value(&self, lane: &Lane<'_, '_>) -> Result<[u32; 4], FaultKind> {
        let (image, sampler) = self.texture.object(self.sampler.as_ref(), lane)?;
        let load = |address, size| Ok(words(lane.load(Place::Global(address), size)?));
        match self.read {
            Read::Numbered { clamped } => texel::read(image, self.numbered(lane, clamped).position(image), load),
            Read::Filtered => Reader { image, sampler, load }.sampled(&self.request(lane, image, sampler)),
            Read::Gathered(component) => {
                Reader { image, sampler, load }.gathered(&self.request(lane, image, sampler), component, None)
            }
        }
    }

    /// The place as numbers of texels.
    fn numbered(&self, lane: &Lane<'_, '_>, clamped: bool) -> Numbered {
        let (coordinates, offset) = (self.coordinates.words(lane), self.offset(lane));
        let level = match &self.level {
            Level::Given(level) => lane.get(level) as i32,
            _ => 0,
        };
        Numbered {
            level,
            layer: self.coordinates.layer(lane),
            at: std::array::from_fn(|axis| (coordinates[axis] as i32).saturating_add(offset[axis])),
            axes: self.geometry.axes,
            clamped,
            sample: self.coordinates.sample(lane),
        }
    }

    /// The place as coordinates, and the rest of what is asked.
    fn request(&self, lane: &Lane<'_, '_>, image: &Image, sampler: &Sampler) -> Request {
        let single = |word: u32| if self.converts { word as i32 as f32 } else { f32::from_bits(word) };
        let coordinates = self.coordinates.words(lane).map(|word| f64::from(single(word)));
        let Geometry { axes, cube, .. } = self.geometry;
        let request = Request::at(image, coordinates, axes, cube, self.coordinates.layer(lane));
        let lod = match &self.level {
            Level::First => 0.0,
            Level::Given(level) => f64::from(f32::from_bits(lane.get(level) as u32)),
            Level::Gradients(steps) => {
                let steps = steps.each_ref().map(|step| {
                    let single =
                        |axis: usize| step.get(axis).map_or(0.0, |source| f32::from_bits(lane.get(source) as u32));
                    std::array::from_fn(|axis| f64::from(single(axis)))
                });
                match cube {
                    true => lod_on_cube(image, coordinates, steps),
                    false => lod_of(steps, texels_of(image, request.axes, sampler.normalized)),
                }
            }
        };
        let depth = self.depth.as_ref().map(|depth| f32::from_bits(lane.get(depth) as u32));
        Request { lod, offset: self.offset(lane), depth, ..request }
    }

    /// Texels that are added to the place along each axis.
    fn offset(&self, lane: &Lane<'_, '_>) -> [i32; 3] {
        let unused = 32 - self.offset_bits;
        let signed = |source: &Source| (lane.get(source) as i32) << unused >> unused;
        std::array::from_fn(|axis| self.offset.get(axis).map_or(0, signed))
    }
}

/// The level that steps of a direction ask for: a step is the distance, on the surface of the cube from -1 to 1, of the
/// places that the direction and the direction after the step meet.
fn lod_on_cube(image: &Image, direction: [f64; 3], steps: [[f64; 3]; 2]) -> f64 {
    let from = on_surface(direction);
    let moved = steps.map(|step| {
        let to = on_surface(std::array::from_fn(|axis| direction[axis] + step[axis]));
        std::array::from_fn(|axis| to[axis] - from[axis])
    });
    lod_of(moved, texels_of_cube(image))
}

/// The first 16 bytes as words.
fn words(data: Data) -> [u32; 4] {
    std::array::from_fn(|n| data.element(n, 4) as u32)
}
