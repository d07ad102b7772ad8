//! `__cuda_syscall_tex_grad_…`: the driver's functions that read a texture with gradients. Code that ptxas 13.0.88 makes
//! for sm_90 and later calls them for volumes, cubes and comparisons of depth, where `TXD` does not do.
//!
//! The name says what a call is of: `[pred_]` geometry `_v4_` type of results `_` type of coordinates, then
//! `[_texmode_independent][_offset][_depth_compare]`. Arguments are placed as CUDA's ABI places them: the texture's handle
//! in `R4` and `R5`, coordinates from `R8` on, the gradient along x from `R12` on, that along y at the stack pointer, and
//! behind it, 16 bytes each, the offset and, with a sampler of its own, whose handle is in `R6` and `R7`, the depth; else the
//! depth is in `R6`. `R4` comes back with 1 where all texels are there, `R5` to `R8` with the components. (Read off the callers.)

use crate::effect::Env;
use crate::halt::Halt;
use crate::lanes::WARP;
use crate::space::{Place, Words};
use crate::state::State;
use oriole_device::texture::cube::on_surface;
use oriole_device::texture::sample::{Reader, Request, lod_of, texels_of, texels_of_cube};
use oriole_device::texture::texel::half_of;
use oriole_device::{Access, FaultKind};

/// Registers of arguments and results.
const TEXTURE: usize = 4;
const SAMPLER: usize = 6;
const COORDINATES: usize = 8;
const ALONG_X: usize = 12;
const RESIDENT: usize = 4;
const COMPONENTS: usize = 5;
/// The stack pointer, and bytes of an argument there.
const STACK_POINTER: usize = 1;
const SLOT: u64 = 16;

const PREFIX: &str = "__cuda_syscall_tex_grad_";
/// What may stand behind the types, in this order.
const SUFFIXES: [&str; 3] = ["_texmode_independent", "_offset", "_depth_compare"];

/// A kind of texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Geometry {
    name: &'static str,
    axes: usize,
    layered: bool,
    cube: bool,
}

const fn geometry(name: &'static str, axes: usize, layered: bool, cube: bool) -> Geometry {
    Geometry { name, axes, layered, cube }
}

const GEOMETRIES: [Geometry; 7] = [
    geometry("1d", 1, false, false),
    geometry("2d", 2, false, false),
    geometry("3d", 3, false, false),
    geometry("a1d", 1, true, false),
    geometry("a2d", 2, true, false),
    geometry("cube", 3, false, true),
    geometry("acube", 3, true, true),
];

/// One of the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GradientCall {
    geometry: Geometry,
    /// Two components to a register, as halves.
    halves: bool,
    /// A sampler, an offset, a depth among the arguments.
    with: [bool; SUFFIXES.len()],
}

impl GradientCall {
    /// The function of that name.
    pub(crate) fn named(name: &str) -> Option<GradientCall> {
        let rest = name.strip_prefix(PREFIX)?;
        let rest = rest.strip_prefix("pred_").unwrap_or(rest);
        let (geometry, rest) = rest.split_once("_v4_")?;
        let geometry = *GEOMETRIES.iter().find(|known| known.name == geometry)?;
        let (result, rest) = ["f32", "f16", "u32", "s32"].iter().find_map(|ty| Some((*ty, rest.strip_prefix(ty)?)))?;
        let mut rest = rest.strip_prefix("_f32").or_else(|| rest.strip_prefix("_s32"))?;
        let with = SUFFIXES.map(|suffix| match rest.strip_prefix(suffix) {
            Some(behind) => {
                rest = behind;
                true
            }
            None => false,
        });
        rest.is_empty().then_some(GradientCall { geometry, halves: result == "f16", with })
    }

    /// A number that tells it from the others.
    pub(crate) fn number(self) -> u64 {
        let geometry = GEOMETRIES.iter().position(|known| *known == self.geometry).unwrap_or(0) as u64;
        let flags = self.with.iter().chain([&self.halves]).fold(0, |flags, flag| flags << 1 | u64::from(*flag));
        geometry << 4 | flags
    }

    /// The function of that number.
    pub(crate) fn numbered(number: u64) -> Option<GradientCall> {
        let geometry = *GEOMETRIES.get(usize::try_from(number >> 4).ok()?)?;
        let flag = |bit: u64| number >> bit & 1 != 0;
        Some(GradientCall { geometry, halves: flag(0), with: [flag(3), flag(2), flag(1)] })
    }

    /// Reads for one lane.
    pub(crate) fn call(self, state: &mut State, env: &mut Env<'_>, lane: usize) -> Result<(), Halt> {
        let Geometry { axes, layered, cube, .. } = self.geometry;
        let [has_sampler, has_offset, has_depth] = self.with;
        let stack = u64::from(state.lane(STACK_POINTER, lane));
        let along_y = on_stack(env, stack, axes, lane)?;
        let offset = on_stack(env, stack + SLOT, if has_offset { axes } else { 0 }, lane)?.map(signed_offset);
        let depth = match (has_depth, has_sampler) {
            (false, _) => None,
            (true, false) => Some(state.lane(SAMPLER, lane)),
            (true, true) => Some(on_stack(env, stack + if has_offset { 2 * SLOT } else { SLOT }, 1, lane)?[0]),
        };
        let words = |first: usize| -> [u32; 4] { std::array::from_fn(|n| state.lane(first + n, lane)) };
        let (texture, sampler) = (state.lane(TEXTURE, lane), if has_sampler { state.lane(SAMPLER, lane) } else { 0 });
        let missing = || FaultKind::Misuse(format!("no texture or surface has the handle {texture:#x}"));
        let object = env.spaces.resources.objects.lookup(texture, sampler);
        let (image, sampler) = object.ok_or_else(|| Halt::fault(lane, missing()))?;
        let place = words(COORDINATES);
        let coordinates = singles(&place[usize::from(layered)..], axes);
        let steps = [singles(&words(ALONG_X), axes), singles(&along_y, axes)];
        let request = Request::at(image, coordinates, axes, cube, if layered { place[0] } else { 0 });
        let lod = match cube {
            true => lod_of(steps.map(|step| step_on_cube(coordinates, step)), texels_of_cube(image)),
            false => lod_of(steps, texels_of(image, request.axes, sampler.normalized)),
        };
        let [x, y, z, _] = offset;
        let request = Request { lod, offset: [x, y, z], depth: depth.map(f32::from_bits), ..request };
        let load = |address, size| load(env, Place::Global(address), size, lane);
        let mut value = Reader { image, sampler, load }.sampled(&request)?;
        if self.halves {
            let pair = |n: usize| half_of(value[n]) | half_of(value[n + 1]) << 16;
            value = [pair(0), pair(2), 0, 0];
        }
        state.set_lane(RESIDENT, lane, 1);
        let count = if self.halves { 2 } else { 4 };
        value[..count].iter().enumerate().for_each(|(n, word)| state.set_lane(COMPONENTS + n, lane, *word));
        Ok(())
    }
}

/// The first words as coordinates, zeros behind them.
fn singles(words: &[u32], axes: usize) -> [f64; 3] {
    std::array::from_fn(|axis| if axis < axes { f64::from(f32::from_bits(words[axis])) } else { 0.0 })
}

/// How far the place on the surface of the cube moves that a direction meets.
fn step_on_cube(direction: [f64; 3], step: [f64; 3]) -> [f64; 3] {
    let (from, to) = (on_surface(direction), on_surface(std::array::from_fn(|axis| direction[axis] + step[axis])));
    std::array::from_fn(|axis| to[axis] - from[axis])
}

/// An offset in texels: four bits count, as in `TXD`.
fn signed_offset(word: u32) -> i32 {
    (word << 28) as i32 >> 28
}

/// So many words of an argument on the stack; zeros behind them.
fn on_stack(env: &mut Env<'_>, address: u64, count: usize, lane: usize) -> Result<Words, Halt> {
    let mut words = [0; 4];
    for (word, at) in words.iter_mut().zip((address..).step_by(4)).take(count) {
        *word = load(env, Place::Local(at), 4, lane)?[0];
    }
    Ok(words)
}

fn load(env: &mut Env<'_>, place: Place, size: u32, lane: usize) -> Result<Words, Halt> {
    env.report(Access::Read, size, 1 << lane, &[place; WARP]);
    env.spaces.load(place, size, lane).map_err(|kind| Halt::fault(lane, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_read() {
        let of = |name: &str| GradientCall::named(&format!("{PREFIX}{name}"));
        let call = of("pred_a2d_v4_f32_s32_texmode_independent_offset_depth_compare").expect("a function");
        assert_eq!((call.geometry.name, call.halves, call.with), ("a2d", false, [true; 3]));
        let call = of("cube_v4_f16_f32_depth_compare").expect("a function");
        assert_eq!((call.geometry.cube, call.halves, call.with), (true, true, [false, false, true]));
        for unknown in ["4d_v4_f32_f32", "2d_v2_f32_f32", "2d_v4_f64_f32", "2d_v4_f32_f32_offset_offset", "2d_v4_f32"] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
        for number in 0..7 << 4 {
            assert_eq!(GradientCall::numbered(number).map(GradientCall::number), Some(number));
        }
        assert_eq!(GradientCall::numbered(7 << 4), None);
    }
}
