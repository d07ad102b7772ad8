//! Surfaces: `suld`, `sust`, `sured`.

use super::atomic;
use super::memory::shape;
use super::texture::geometry::{Coordinates, Geometry};
use super::texture::handle::Handle;
use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::lane::Lane;
use crate::operand::{Destination, Source};
use crate::space::{Data, Place};
use oriole_device::FaultKind;
use oriole_device::texture::surface::{Outside, Target};
use oriole_device::texture::{Image, Kind, texel};
use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, Word};
use smallvec::SmallVec;

/// What an access outside of the surface does.
const BOUNDARIES: [(Word, Outside); 3] =
    [(Word::Trap, Outside::Fault), (Word::Clamp, Outside::Nearest), (Word::Zero, Outside::Ignored)];

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::Suld => load(inst, builder)?,
        Opcode::Sust if inst.has(Word::P) => store_formatted(inst, builder)?,
        Opcode::Sust => store(inst, builder)?,
        Opcode::Sured => reduce(inst, builder)?,
        _ => return Ok(None),
    }))
}

/// The surface and the place of an access.
struct Location {
    surface: Handle,
    geometry: Geometry,
    coordinates: Coordinates,
    bytes: bool,
    outside: Outside,
}

impl Location {
    fn of(inst: &Instruction, operand: &Operand, builder: &mut Builder<'_, '_>) -> Result<Location, Unsupported> {
        let wrong = || form(inst.opcode.as_str());
        let address = operand.address().ok_or_else(wrong)?;
        let geometry = Geometry::of(inst)?;
        let coordinates = address.rest.last().ok_or_else(wrong)?;
        Ok(Location {
            surface: Handle::of_base(address, builder)?,
            geometry,
            coordinates: Coordinates::of(inst, geometry, coordinates, builder)?,
            // The first coordinate counts bytes, or texels.
            bytes: inst.has(Word::B),
            outside: BOUNDARIES.iter().find(|(word, _)| inst.has(*word)).ok_or_else(wrong)?.1,
        })
    }

    /// The surface.
    fn image<'e>(&self, lane: &Lane<'_, 'e>) -> Result<&'e Image, FaultKind> {
        self.surface.object(None, lane).map(|(image, _)| image)
    }

    /// Where `size` bytes are; nowhere if the access is ignored.
    fn place(&self, lane: &Lane<'_, '_>, image: &Image, size: u32) -> Result<Option<Place>, FaultKind> {
        let target = Target {
            at: self.coordinates.words(lane).map(|word| word as i32),
            axes: self.geometry.axes,
            layer: self.coordinates.layer(lane) as i32,
            bytes: self.bytes,
            outside: self.outside,
        };
        Ok(target.place(image, size)?.map(Place::Global))
    }
}

/// `suld.b.geom{.cop}{.vec}.type.clamp d, [a, b];`
fn load(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let (ty, count, bytes) = shape(inst)?;
    let [to, from] = &inst.operands[..] else { return Err(form("suld")) };
    let location = Location::of(inst, from, builder)?;
    let to: SmallVec<[Destination; 4]> = builder.destinations(to, ty)?;
    if to.len() != count {
        return Err(form("suld"));
    }
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let place = location.place(lane, location.image(lane)?, bytes)?;
        let data = place.map_or(Ok(Data::default()), |place| lane.load(place, bytes))?;
        for (index, to) in to.iter().enumerate() {
            lane.set(to, data.element(index, ty.bytes()));
        }
        Ok(())
    })))
}

/// `sust.b.geom{.cop}{.vec}.type.clamp [a, b], c;`: bytes as they are.
fn store(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let (ty, count, bytes) = shape(inst)?;
    let [to, from] = &inst.operands[..] else { return Err(form("sust")) };
    let location = Location::of(inst, to, builder)?;
    let from: SmallVec<[Source; 4]> = builder.sources(from, ty)?;
    if from.len() != count {
        return Err(form("sust"));
    }
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let Some(place) = location.place(lane, location.image(lane)?, bytes)? else { return Ok(()) };
        let mut data = Data::default();
        for (index, from) in from.iter().enumerate() {
            data.set(index, ty.bytes(), lane.get(from));
        }
        lane.store(place, bytes, data)
    })))
}

/// `sust.p.geom{.vec}.b32.clamp [a, b], c;`: components of a texel, which its format turns into bytes. Those that the
/// store does not have are zero.
fn store_formatted(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from] = &inst.operands[..] else { return Err(form("sust.p")) };
    let location = Location::of(inst, to, builder)?;
    let from: SmallVec<[Source; 4]> = builder.sources(from, ScalarType::B32)?;
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let image = location.image(lane)?;
        let size = image.format.bytes();
        let Some(place) = location.place(lane, image, size)? else { return Ok(()) };
        let component = |n: usize| from.get(n).map_or(0, |source| lane.get(source) as u32);
        let mut data = Data::default();
        for (n, word) in texel::encode(image.format, std::array::from_fn(component)).into_iter().enumerate() {
            data.set(n, 4, word.into());
        }
        lane.store(place, size, data)
    })))
}

/// `sured.b.op.geom.type.clamp [a, b], c;` on a number of that type; `sured.p` on a texel, whose format says whether it is
/// signed.
fn reduce(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let wrong = || form("sured");
    let ty = inst.last_type().ok_or_else(wrong)?;
    let [to, data] = &inst.operands[..] else { return Err(wrong()) };
    let (location, data) = (Location::of(inst, to, builder)?, builder.source(data, ty)?);
    let types = match ty {
        ScalarType::B32 => [ScalarType::U32, ScalarType::S32],
        ScalarType::B64 => [ScalarType::U64, ScalarType::S64],
        ty => [ty, ty],
    };
    let [unsigned, signed] = [atomic::combine(inst, types[0])?, atomic::combine(inst, types[1])?];
    let bytes = ty.bytes();
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let image = location.image(lane)?;
        let Some(place) = location.place(lane, image, bytes)? else { return Ok(()) };
        let (step, data) = (if image.format.kind == Kind::Signed { &signed } else { &unsigned }, lane.get(&data));
        let update = |old: Data| {
            let mut new = Data::default();
            new.set(0, bytes, step(old.element(0, bytes), data, 0));
            new
        };
        lane.update(place, bytes, update).map(drop)
    })))
}
