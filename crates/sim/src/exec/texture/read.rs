//! `TEX`, `TLD`, `TLD4`, `TXD`.

use super::super::rounding::{HALF, Rounding, narrow};
use super::load;
use super::operands::{Axes, Handle, MISSING, Results, Words};
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::{Lanes, WARP};
use crate::operand::Dst;
use crate::state::{RZ, State};
use oriole_device::texture::cube::on_surface;
use oriole_device::texture::sample::{Reader, Request, lod_of, texels_of, texels_of_cube};
use oriole_device::texture::texel::{self, Numbered};
use oriole_device::texture::{Image, Sampler};
use oriole_isa::{Field, Inst, Opcode, Role, TexDeriv, TexFmt, TexLod, TexOffset, TexSample};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    match inst.opcode {
        Opcode::TEX | Opcode::TLD | Opcode::TLD4 | Opcode::TXD => Access::of(inst).map(|access| Some(access.effect())),
        _ => Ok(None),
    }
}

/// What an access makes of its place.
#[derive(Clone, Copy, Debug)]
enum Read {
    /// A filtered value (`TEX`, `TXD`).
    Filtered,
    /// One texel by its number (`TLD`), of the nearest place inside with `.CL`.
    Texel { clamped: bool },
    /// One component of four texels (`TLD4`).
    Gathered { component: usize },
}

/// Where the level of detail is from.
#[derive(Clone, Copy, Debug)]
enum Level {
    /// The first: threads of a compute kernel have no neighbours on a screen. Plus a bias in a register.
    First { bias: Option<usize> },
    /// From the coordinates of the quad's threads, plus a bias.
    Quad { bias: Option<usize> },
    /// In a register.
    Given(usize),
    /// From derivatives in registers: of each coordinate along both axes of the screen.
    Derivatives([usize; 6]),
}

/// Offsets of texels.
#[derive(Clone, Copy, Debug)]
enum Offset {
    None,
    /// Numbers of `bits` bits for each axis, `stride` bits apart, from bit `first` of a register on.
    Packed {
        register: usize,
        first: u32,
        bits: u32,
        stride: u32,
    },
    /// Four pairs of signed bytes in two registers.
    Each([usize; 2]),
}

/// A compiled texture access.
struct Access {
    read: Read,
    axes: Axes,
    places: Places,
    results: Results,
    missing: Dst,
    format: TexFmt,
}

impl Access {
    fn of(inst: &Inst) -> Result<Self, Unsupported> {
        if inst.get(Field::TEX_UAI) {
            return Err(Unsupported(format!("{} with a uniform layer", inst.opcode.name())));
        }
        let places = if inst.opcode == Opcode::TXD { Places::of_txd(inst)? } else { Places::of_others(inst)? };
        let read = match inst.opcode {
            Opcode::TLD => Read::Texel { clamped: inst.get(Field::TEX_CL) },
            Opcode::TLD4 => Read::Gathered { component: usize::from(inst.get(Field::TEX_COMP).code()) & 3 },
            _ => Read::Filtered,
        };
        Ok(Access {
            read,
            axes: Axes::of(inst),
            places,
            results: Results::of(inst),
            missing: Dst::of(inst, Role::PD),
            format: inst.get(Field::TEX_FMT),
        })
    }

    fn effect(self) -> Effect {
        Box::new(move |state: &mut State, env: &mut Env<'_>| {
            let mut components: [Lanes; 4] = [[0; WARP]; 4];
            for lane in state.active_lanes() {
                let value = self.lane(state, env, lane)?;
                for (component, value) in components.iter_mut().zip(value) {
                    component[lane] = value;
                }
            }
            match self.format {
                TexFmt::WORDS => self.results.write(state, &components),
                _ => self.results.write_halves(state, &components),
            }
            self.missing.set_mask(state, MISSING);
            Ok(())
        })
    }

    /// The components that one lane reads.
    fn lane(&self, state: &State, env: &mut Env<'_>, lane: usize) -> Result<[u32; 4], Halt> {
        let (image, sampler) = self.places.handle.object(state, env, lane)?;
        let value = match self.read {
            Read::Texel { clamped } => self.texel(state, env, image, clamped, lane)?,
            Read::Filtered => {
                let request = self.request(state, image, sampler, lane);
                let load = |address, size| load(env, address, size, lane);
                Reader { image, sampler, load }.sampled(&request)?
            }
            Read::Gathered { component } => {
                let request = self.request(state, image, sampler, lane);
                let each = self.places.offset.each(state, lane);
                let load = |address, size| load(env, address, size, lane);
                Reader { image, sampler, load }.gathered(&request, component, each)?
            }
        };
        let rounding = match self.format {
            TexFmt::WORDS => return Ok(value),
            TexFmt::F16_RZ => Rounding::Zero,
            _ => Rounding::Nearest,
        };
        let half = |bits: u32| narrow(f64::from(f32::from_bits(bits)), HALF, rounding);
        Ok(value.map(|bits| if image.format.is_float() { half(bits) } else { bits & 0xffff }))
    }

    /// The layer of a lane; it may be beyond the last.
    fn layer(&self, state: &State, lane: usize) -> u32 {
        state.lane(self.places.layer, lane) & (u32::MAX >> (32 - self.places.layer_bits))
    }

    /// `TLD`: one texel by its number.
    fn texel(
        &self,
        state: &State,
        env: &mut Env<'_>,
        image: &Image,
        clamped: bool,
        lane: usize,
    ) -> Result<[u32; 4], Halt> {
        let level = match self.places.level {
            Level::Given(register) => state.lane(register, lane) as i32,
            _ => 0,
        };
        let (offset, coordinates) = (self.places.offset.packed(state, lane), self.places.coordinates);
        let at = |axis: usize| (state.lane(coordinates[axis], lane) as i32).saturating_add(offset[axis]);
        let numbered = Numbered {
            level,
            layer: self.layer(state, lane),
            at: std::array::from_fn(at),
            axes: self.axes.count,
            clamped,
            sample: state.lane(self.places.sample, lane),
        };
        texel::read(image, numbered.position(image), |address, size| load(env, address, size, lane))
    }

    /// The coordinates of a lane as the instruction has them.
    fn coordinates(&self, state: &State, lane: usize) -> [f64; 3] {
        std::array::from_fn(|axis| match axis < self.axes.count {
            true => f64::from(f32::from_bits(state.lane(self.places.coordinates[axis], lane))),
            false => 0.0,
        })
    }

    fn request(&self, state: &State, image: &Image, sampler: &Sampler, lane: usize) -> Request {
        let (coordinates, layer) = (self.coordinates(state, lane), self.layer(state, lane));
        let request = Request::at(image, coordinates, self.axes.count, self.axes.cube, layer);
        let texels = match self.axes.cube {
            true => texels_of_cube(image),
            false => texels_of(image, request.axes, sampler.normalized),
        };
        let least =
            if self.places.least == RZ { 0.0 } else { f64::from(f32::from_bits(state.lane(self.places.least, lane))) };
        Request {
            lod: self.lod(state, request.axes, texels, lane).max(least),
            offset: self.places.offset.packed(state, lane),
            depth: self.places.depth.map(|register| f32::from_bits(state.lane(register, lane))),
            ..request
        }
    }

    /// The level of detail; one of each coordinate, of which `axes` count, is so many texels.
    fn lod(&self, state: &State, axes: usize, texels: [f64; 3], lane: usize) -> f64 {
        let single = |register: usize| f64::from(f32::from_bits(state.lane(register, lane)));
        match self.places.level {
            Level::First { bias } => bias.map_or(0.0, single),
            Level::Given(register) => single(register),
            Level::Quad { bias } => {
                let place = |lane: usize| match self.axes.cube {
                    true => on_surface(self.coordinates(state, lane)),
                    false => self.coordinates(state, lane),
                };
                let step = |bit: usize| {
                    let (from, to) = (place(lane & !bit), place(lane | bit));
                    std::array::from_fn(|axis| to[axis] - from[axis])
                };
                lod_of([step(1), step(2)], texels) + bias.map_or(0.0, single)
            }
            Level::Derivatives(registers) => {
                let step = |screen: usize| {
                    let of = |axis: usize| if axis < axes { single(registers[2 * axis + screen]) } else { 0.0 };
                    std::array::from_fn(of)
                };
                lod_of([step(0), step(1)], texels)
            }
        }
    }
}

impl Offset {
    /// One offset for all texels.
    fn packed(self, state: &State, lane: usize) -> [i32; 3] {
        let Offset::Packed { register, first, bits, stride } = self else { return [0; 3] };
        let word = state.lane(register, lane) >> first;
        std::array::from_fn(|axis| signed(word >> (stride * axis as u32), bits))
    }

    /// Offsets of four texels.
    fn each(self, state: &State, lane: usize) -> Option<[[i32; 2]; 4]> {
        let Offset::Each(registers) = self else { return None };
        let bytes = registers.map(|register| state.lane(register, lane).to_le_bytes());
        let byte = |n: usize| i32::from(bytes[n / 4][n % 4] as i8);
        Some(std::array::from_fn(|n| [byte(2 * n), byte(2 * n + 1)]))
    }
}

/// The low `bits` bits of a word as a signed number.
fn signed(word: u32, bits: u32) -> i32 {
    (word << (32 - bits)) as i32 >> (32 - bits)
}

/// Where the operands of an access are.
struct Places {
    layer: usize,
    layer_bits: u32,
    coordinates: [usize; 3],
    handle: Handle,
    level: Level,
    least: usize,
    offset: Offset,
    depth: Option<usize>,
    sample: usize,
}

impl Places {
    /// `TEX`, `TLD`, `TLD4`: layer and coordinates, then what the modifiers ask for, in this order.
    fn of_others(inst: &Inst) -> Result<Self, Unsupported> {
        let axes = Axes::of(inst);
        let bindless = usize::from(inst.get(Field::TEX_B));
        let lod = inst.get(Field::TEX_LOD);
        let levels = match lod {
            TexLod::NONE | TexLod::LZ => 0,
            TexLod::LB | TexLod::LL | TexLod::LC => 1,
            TexLod::LB_LC => 2,
            _ => return Err(Unsupported(format!("a level of {} from elsewhere", inst.opcode.name()))),
        };
        let offsets = match inst.get(Field::TEX_OFFSET) {
            TexOffset::NONE => 0,
            TexOffset::AOFFI => 1,
            TexOffset::PTP => 2,
            _ => return Err(Unsupported(format!("a uniform offset of {}", inst.opcode.name()))),
        };
        let samples = match inst.get(Field::TEX_SAMPLE) {
            TexSample::NONE => 0,
            TexSample::MS => 1,
            _ => return Err(Unsupported(format!("a uniform sample of {}", inst.opcode.name()))),
        };
        let depths = usize::from(inst.get(Field::TEX_DC));
        let first = usize::from(axes.layered) + axes.count;
        let mut words = Words::of(inst, first, bindless + levels + offsets + depths + samples);
        let [layer] = words.take_some(usize::from(axes.layered));
        let coordinates = words.take_some(axes.count);
        let handle = Handle::of_texture(inst, &mut words)?;
        let [one, two] = words.take_some(levels);
        let (level, least) = level(inst, one, two)?;
        let offset = match offsets {
            0 => Offset::None,
            1 if inst.opcode == Opcode::TLD4 => Offset::Packed { register: words.take(), first: 0, bits: 6, stride: 8 },
            1 => Offset::Packed { register: words.take(), first: 0, bits: 4, stride: 4 },
            _ => Offset::Each(words.take_some(2)),
        };
        let depth = (depths != 0).then(|| words.take());
        let [sample] = words.take_some(samples);
        Ok(Places { layer, layer_bits: 32, coordinates, handle, level, least, offset, depth, sample })
    }

    /// `TXD`: the handle, coordinates, the layer with the offset above it; then derivatives.
    fn of_txd(inst: &Inst) -> Result<Self, Unsupported> {
        if inst.get(Field::TEX_LOD) != TexLod::NONE {
            return Err(Unsupported("a clamped level of TXD".into()));
        }
        let (axes, bindless) = (Axes::of(inst), usize::from(inst.get(Field::TEX_B)));
        let has_offset = match inst.get(Field::TEX_OFFSET) {
            TexOffset::NONE => false,
            TexOffset::AOFFI => true,
            _ => return Err(Unsupported("a uniform offset of TXD".into())),
        };
        let last = usize::from(axes.layered || has_offset);
        let mut words = Words::of(inst, bindless + axes.count + last, 2 * axes.count);
        let handle = Handle::of_texture(inst, &mut words)?;
        let coordinates = words.take_some(axes.count);
        let [register] = words.take_some(last);
        let level = Level::Derivatives(words.take_some(2 * axes.count));
        let offset = match has_offset {
            true => Offset::Packed { register, first: 16, bits: 4, stride: 4 },
            false => Offset::None,
        };
        let layer = if axes.layered { register } else { RZ };
        let (least, depth, sample) = (RZ, None, RZ);
        Ok(Places { layer, layer_bits: 16, coordinates, handle, level, least, offset, depth, sample })
    }
}

/// The level that up to two words give, and the register with the least level.
fn level(inst: &Inst, one: usize, two: usize) -> Result<(Level, usize), Unsupported> {
    let computed = |bias| match inst.get(Field::TEX_DERIV) {
        TexDeriv::QUAD => Ok(Level::First { bias }),
        TexDeriv::NDV => Ok(Level::Quad { bias }),
        _ => Err(Unsupported(format!("derivatives of {} from elsewhere", inst.opcode.name()))),
    };
    Ok(match inst.get(Field::TEX_LOD) {
        TexLod::LL => (Level::Given(one), RZ),
        TexLod::LB => (computed(Some(one))?, RZ),
        TexLod::LC => (computed(None)?, one),
        TexLod::LB_LC => (computed(Some(one))?, two),
        TexLod::LZ => (Level::First { bias: None }, RZ),
        _ => (computed(None)?, RZ),
    })
}
