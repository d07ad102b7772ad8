//! `SULD`, `SUST`, `SURED`, `SUATOM`: texels of a surface, raw or in its format, and one step on them.

use super::super::atomic::{add_half_pairs, add_single};
use super::super::memory::{extend, read_registers};
use super::operands::{Handle, MISSING};
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::WARP;
use crate::operand::{Dst, Src};
use crate::space::Place;
use crate::state::{RZ, State};
use oriole_device::Access;
use oriole_device::texture::surface::{Outside, Target};
use oriole_device::texture::{Image, Kind, texel};
use oriole_isa::{Field, Inst, Opcode, Role, SurfAccess, SurfClamp, SurfDim, SurfMask, SurfOp, SurfSize, SurfType};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    let raw = inst.get(Field::SURF_ACCESS) == SurfAccess::D;
    Ok(Some(match inst.opcode {
        Opcode::SULD if raw => load(inst)?,
        Opcode::SULD => load_pixel(inst)?,
        Opcode::SUST if raw => store(inst)?,
        Opcode::SUST => store_pixel(inst)?,
        Opcode::SURED | Opcode::SUATOM => atomic(inst)?,
        _ => return Ok(None),
    }))
}

/// The place of an access.
#[derive(Clone, Copy, Debug)]
struct Location {
    handle: Handle,
    first: usize,
    axes: usize,
    layered: bool,
    /// The first coordinate counts bytes.
    bytes: bool,
    outside: Outside,
}

impl Location {
    fn of(inst: &Inst) -> Result<Self, Unsupported> {
        if inst.get(Field::SURF_UAI) {
            return Err(Unsupported(format!("{} with a uniform layer", inst.opcode.name())));
        }
        let (axes, layered) = match inst.get(Field::SURF_DIM) {
            SurfDim::D1 | SurfDim::D1_BUFFER => (1, false),
            SurfDim::D1_ARRAY => (1, true),
            SurfDim::D2 => (2, false),
            SurfDim::D2_ARRAY => (2, true),
            _ => (3, false),
        };
        let outside = match inst.get(Field::SURF_CLAMP) {
            SurfClamp::IGN => Outside::Ignored,
            SurfClamp::TRAP => Outside::Fault,
            _ => Outside::Nearest,
        };
        let first = Src::of(inst, Role::A).register().unwrap_or(RZ);
        let bytes = inst.get(Field::SURF_BA);
        Ok(Location { handle: Handle::of_surface(inst)?, first, axes, layered, bytes, outside })
    }

    /// The surface and the address of `size` bytes of it; no address where the access is ignored.
    fn place<'a>(
        &self,
        state: &State,
        env: &Env<'a>,
        size: u32,
        lane: usize,
    ) -> Result<(&'a Image, Option<Place>), Halt> {
        let (image, _) = self.handle.object(state, env, lane)?;
        let word = |n: usize| if self.first == RZ { 0 } else { state.lane(self.first + n, lane) as i32 };
        let target = Target {
            at: std::array::from_fn(|axis| if axis < self.axes { word(axis) } else { 0 }),
            axes: self.axes,
            layer: if self.layered { word(self.axes) } else { 0 },
            bytes: self.bytes,
            outside: self.outside,
        };
        let place = target.place(image, size).map_err(|kind| Halt::fault(lane, kind))?;
        Ok((image, place.map(Place::Global)))
    }
}

/// Bytes of a raw access, and whether the value is sign-extended.
fn raw_size(inst: &Inst) -> (u32, bool) {
    match inst.get(Field::SURF_SIZE) {
        SurfSize::U8 => (1, false),
        SurfSize::S8 => (1, true),
        SurfSize::U16 => (2, false),
        SurfSize::S16 => (2, true),
        SurfSize::B64 => (8, false),
        SurfSize::B128 => (16, false),
        _ => (4, false),
    }
}

/// The first register of the result.
fn destination(inst: &Inst) -> Dst {
    Dst::of(inst, Role::D)
}

/// Writes the words of one lane to registers from `to` on.
fn write_lane(state: &mut State, to: Dst, lane: usize, words: &[u32]) {
    for (n, &word) in words.iter().enumerate() {
        if let Dst::Register(register) = to.following(n) {
            state.set_lane(register, lane, word);
        }
    }
}

/// `SULD.D`.
fn load(inst: &Inst) -> Result<Effect, Unsupported> {
    let (target, to, missing) = (Location::of(inst)?, destination(inst), Dst::of(inst, Role::PD));
    let (size, signed) = raw_size(inst);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        for lane in state.active_lanes() {
            let (_, place) = target.place(state, env, size, lane)?;
            let mut words = [0; 4];
            if let Some(place) = place {
                env.report(Access::Read, size, 1 << lane, &[place; WARP]);
                words = env.spaces.load(place, size, lane).map_err(|kind| Halt::fault(lane, kind))?;
            }
            if signed {
                words[0] = extend(words[0], size);
            }
            write_lane(state, to, lane, &words[..size.div_ceil(4) as usize]);
        }
        missing.set_mask(state, MISSING);
        Ok(())
    }))
}

/// Components of a pixel.
fn components(inst: &Inst) -> usize {
    match inst.get(Field::SURF_MASK) {
        SurfMask::R => 1,
        SurfMask::RG => 2,
        _ => 4,
    }
}

/// `SULD.P`: a texel in the surface's format.
fn load_pixel(inst: &Inst) -> Result<Effect, Unsupported> {
    let (target, to, missing) = (Location::of(inst)?, destination(inst), Dst::of(inst, Role::PD));
    let count = components(inst);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        for lane in state.active_lanes() {
            let (image, _) = target.handle.object(state, env, lane)?;
            let size = image.format.bytes();
            let mut value = [0; 4];
            if let (_, Some(place)) = target.place(state, env, size, lane)? {
                env.report(Access::Read, size, 1 << lane, &[place; WARP]);
                let words = env.spaces.load(place, size, lane).map_err(|kind| Halt::fault(lane, kind))?;
                value = texel::decode(image.format, words);
            }
            write_lane(state, to, lane, &value[..count]);
        }
        missing.set_mask(state, MISSING);
        Ok(())
    }))
}

/// `SUST.D`.
fn store(inst: &Inst) -> Result<Effect, Unsupported> {
    let (target, data) = (Location::of(inst)?, Src::of(inst, Role::Data));
    let (size, _) = raw_size(inst);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        for lane in state.active_lanes() {
            if let (_, Some(place)) = target.place(state, env, size, lane)? {
                env.report(Access::Write, size, 1 << lane, &[place; WARP]);
                let words = read_registers(state, data, size, lane);
                env.spaces.store(place, size, lane, words).map_err(|kind| Halt::fault(lane, kind))?;
            }
        }
        Ok(())
    }))
}

/// `SUST.P`: a texel in the surface's format.
fn store_pixel(inst: &Inst) -> Result<Effect, Unsupported> {
    let (target, data) = (Location::of(inst)?, Src::of(inst, Role::Data));
    let count = components(inst) as u32;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        for lane in state.active_lanes() {
            let (image, _) = target.handle.object(state, env, lane)?;
            let size = image.format.bytes();
            if let (_, Some(place)) = target.place(state, env, size, lane)? {
                env.report(Access::Write, size, 1 << lane, &[place; WARP]);
                let words = texel::encode(image.format, read_registers(state, data, 4 * count, lane));
                env.spaces.store(place, size, lane, words).map_err(|kind| Halt::fault(lane, kind))?;
            }
        }
        Ok(())
    }))
}

/// The type of an element that an atomic operation is done on.
#[derive(Clone, Copy, Debug)]
struct Element {
    code: SurfType,
    op: SurfOp,
}

impl Element {
    /// Bytes.
    fn size(self) -> u32 {
        match self.code {
            SurfType::U64 | SurfType::S64 | SurfType::SD64 | SurfType::B64 | SurfType::B64_AS_U64 => 8,
            _ => 4,
        }
    }

    /// The value after the operation; `kind` says whether elements as the surface has them are signed.
    fn apply(self, kind: Kind, old: u64, data: u64, other: u64) -> u64 {
        let shift = 64 - 8 * self.size();
        let signed = match self.code {
            SurfType::S32 | SurfType::S64 => true,
            SurfType::SD32 | SurfType::SD64 => kind == Kind::Signed,
            _ => false,
        };
        // Numbers at the top of a word have the order of shorter ones.
        let order = |value: u64| (value << shift) ^ if signed { 1 << 63 } else { 0 };
        match (self.op, self.code) {
            (SurfOp::ADD, SurfType::F32) => u64::from(add_single(old as u32, data as u32, true)),
            (SurfOp::ADD, SurfType::F16X2) => u64::from(add_half_pairs(old as u32, data as u32)),
            (SurfOp::ADD, _) => old.wrapping_add(data),
            (SurfOp::MIN, _) => {
                if order(data) < order(old) {
                    data
                } else {
                    old
                }
            }
            (SurfOp::MAX, _) => {
                if order(data) > order(old) {
                    data
                } else {
                    old
                }
            }
            (SurfOp::INC, _) => {
                if order(old) >= order(data) {
                    0
                } else {
                    old + 1
                }
            }
            (SurfOp::DEC, _) => {
                if old == 0 || order(old) > order(data) {
                    data
                } else {
                    old - 1
                }
            }
            (SurfOp::AND, _) => old & data,
            (SurfOp::OR, _) => old | data,
            (SurfOp::XOR, _) => old ^ data,
            (SurfOp::CAS, _) => {
                if old == data {
                    other
                } else {
                    old
                }
            }
            _ => data,
        }
    }
}

/// `SURED`, `SUATOM`.
fn atomic(inst: &Inst) -> Result<Effect, Unsupported> {
    let (target, data) = (Location::of(inst)?, Src::of(inst, Role::Data));
    let element = Element { code: inst.get(Field::SURF_TYPE), op: inst.get(Field::SURF_OP) };
    let (to, missing) = (destination(inst), Dst::of(inst, Role::PD));
    let size = element.size();
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        env.require_turn()?;
        for lane in state.active_lanes() {
            let (image, place) = target.place(state, env, size, lane)?;
            let Some(place) = place else {
                write_lane(state, to, lane, &[0; 2][..size as usize / 4]);
                continue;
            };
            env.report(Access::Atomic, size, 1 << lane, &[place; WARP]);
            let words = read_registers(state, data, 2 * size, lane);
            let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
            let (value, other) = match size {
                8 => (wide(words[0], words[1]), wide(words[2], words[3])),
                _ => (u64::from(words[0]), u64::from(words[1])),
            };
            let step = |old: u64| element.apply(image.format.kind, old, value, other);
            let fault = |kind| Halt::fault(lane, kind);
            let old = if size == 8 {
                let update = |old: [u32; 4]| {
                    let new = step(wide(old[0], old[1]));
                    [new as u32, (new >> 32) as u32, 0, 0]
                };
                env.spaces.update_wide(place, 8, lane, update).map_err(fault)?
            } else {
                [env.spaces.update32(place, lane, |old| step(u64::from(old)) as u32).map_err(fault)?, 0, 0, 0]
            };
            write_lane(state, to, lane, &old[..size as usize / 4]);
        }
        missing.set_mask(state, MISSING);
        Ok(())
    }))
}
