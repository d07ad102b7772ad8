//! Atomic operations and reductions.
//!
//! Within a warp they happen lane by lane, lowest first. On global memory everything but a 32-bit
//! integer reduction without a result needs the block's turn (see `grid`).

use super::address::{Address, AddressWidth};
use super::memory::turn_for_global;
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::{Mask, WARP, lanes_of, mask_where};
use crate::operand::{Dst, Src};
use crate::space::{Named, Place, Words};
use crate::state::{RZ, State};
use oriole_device::{Access, Space};
use oriole_isa::{AtomOp, AtomType, Field, Inst, Opcode, Role};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Half};

/// A number format of atomic operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    U32,
    S32,
    U64,
    S64,
    /// 128 bits, to exchange and compare only.
    Bits128,
    /// Singles; whether denormals are flushed.
    Single {
        flush: bool,
    },
    Double,
    HalfPair,
    BrainPair,
}

/// One step: the new contents from the old, the data and the second data (words of one element).
type Step = fn(Format, Words, Words, Words) -> Words;

/// A decoded atomic operation.
pub(super) struct Atomic {
    format: Format,
    /// Bytes of one element.
    element: u32,
    /// Bytes of all elements of one lane.
    size: u32,
    step: Step,
    /// The result is whether a compare-and-swap stored.
    reports_success: bool,
}

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::ATOM => atomic(inst, Named::Generic)?,
        Opcode::ATOMG => atomic(inst, Named::Global)?,
        Opcode::ATOMS => atomic(inst, Named::Shared)?,
        Opcode::REDG => reduction(inst)?,
        _ => return Ok(None),
    }))
}

/// The format of `kind`, and the bytes of one element and of all.
fn format_of(kind: AtomType) -> Result<(Format, u32, u32), Unsupported> {
    Ok(match kind {
        AtomType::U32 | AtomType::B32 => (Format::U32, 4, 4),
        AtomType::S32 => (Format::S32, 4, 4),
        AtomType::U64 => (Format::U64, 8, 8),
        AtomType::S64 => (Format::S64, 8, 8),
        AtomType::B128 => (Format::Bits128, 16, 16),
        AtomType::F32 => (Format::Single { flush: true }, 4, 4),
        AtomType::F32X2 => (Format::Single { flush: true }, 4, 8),
        AtomType::F32X4 => (Format::Single { flush: true }, 4, 16),
        AtomType::F32_IEEE => (Format::Single { flush: false }, 4, 4),
        AtomType::F32X2_IEEE => (Format::Single { flush: false }, 4, 8),
        AtomType::F32X4_IEEE => (Format::Single { flush: false }, 4, 16),
        AtomType::F64 => (Format::Double, 8, 8),
        AtomType::F16X2 => (Format::HalfPair, 4, 4),
        AtomType::F16X4 => (Format::HalfPair, 4, 8),
        AtomType::F16X8 => (Format::HalfPair, 4, 16),
        AtomType::BF16X2 => (Format::BrainPair, 4, 4),
        AtomType::BF16X4 => (Format::BrainPair, 4, 8),
        AtomType::BF16X8 => (Format::BrainPair, 4, 16),
        other => return Err(Unsupported(format!("atomic type {other}"))),
    })
}

/// The step of `op` on values of a format.
fn step_of(format: Format, op: AtomOp) -> Result<Step, Unsupported> {
    let step: Step = match op {
        AtomOp::ADD => add,
        AtomOp::POPC_INC => |format, old, _, _| add(format, old, [1, 0, 0, 0], [0; 4]),
        AtomOp::MIN => |format, old, data, _| if less(format, data, old) { data } else { old },
        AtomOp::MAX => |format, old, data, _| if less(format, old, data) { data } else { old },
        AtomOp::INC => |_, old, data, _| [if old[0] >= data[0] { 0 } else { old[0] + 1 }, 0, 0, 0],
        AtomOp::DEC => |_, old, data, _| [if old[0] == 0 || old[0] > data[0] { data[0] } else { old[0] - 1 }, 0, 0, 0],
        AtomOp::AND => |_, old, data, _| std::array::from_fn(|i| old[i] & data[i]),
        AtomOp::OR => |_, old, data, _| std::array::from_fn(|i| old[i] | data[i]),
        AtomOp::XOR => |_, old, data, _| std::array::from_fn(|i| old[i] ^ data[i]),
        AtomOp::EXCH => |_, _, data, _| data,
        AtomOp::CAS | AtomOp::CAST => |_, old, data, data2| if old == data { data2 } else { old },
        other => return Err(Unsupported(format!("atomic operation {other}"))),
    };
    let packed = matches!(format, Format::HalfPair | Format::BrainPair);
    let ordered = matches!(op, AtomOp::MIN | AtomOp::MAX);
    Ok(if packed && ordered { packed_extreme(op) } else { step })
}

impl Atomic {
    /// The operation `op` on elements of `kind`.
    pub(super) fn of(kind: AtomType, op: AtomOp) -> Result<Atomic, Unsupported> {
        let (format, element, size) = format_of(kind)?;
        let step = step_of(format, op)?;
        Ok(Atomic { format, element, size, step, reports_success: op == AtomOp::CAST })
    }

    /// The new contents of one lane's place.
    pub(super) fn apply(&self, old: Words, data: Words, data2: Words) -> Words {
        if self.element == self.size {
            return (self.step)(self.format, old, data, data2);
        }
        let mut new = [0; 4];
        for (i, new) in new.iter_mut().enumerate().take(self.size as usize / 4) {
            let one = |words: Words| [words[i], 0, 0, 0];
            *new = (self.step)(self.format, one(old), one(data), one(data2))[0];
        }
        new
    }

    /// Applies it to one place and gives the old contents.
    pub(super) fn execute(
        &self,
        env: &mut Env<'_>,
        place: Place,
        lane: usize,
        data: Words,
        data2: Words,
    ) -> Result<Words, Halt> {
        let fault = |kind| Halt::fault(lane, kind);
        if self.size == 4 {
            let step = |old| self.apply([old, 0, 0, 0], data, data2)[0];
            let old = env.spaces.update32(place, lane, step).map_err(fault)?;
            return Ok([old, 0, 0, 0]);
        }
        let update = |old| self.apply(old, data, data2);
        env.spaces.update_wide(place, self.size, lane, update).map_err(fault)
    }
}

/// The data of one lane.
fn data_of(state: &State, from: Src, size: u32, lane: usize) -> Words {
    match from.register() {
        None | Some(RZ) => [0; 4],
        Some(n) => std::array::from_fn(|i| if 4 * (i as u32) < size { state.lane(n + i, lane) } else { 0 }),
    }
}

fn atomic(inst: &Inst, space: Named) -> Result<Effect, Unsupported> {
    let width = if space == Named::Shared { AddressWidth::Narrow } else { AddressWidth::Wide };
    let address = Address::of(inst, width)?;
    let atomic = Atomic::of(inst.get(Field::ATOM_TYPE), inst.get(Field::ATOM_OP))?;
    let (data, data2) = (Src::of(inst, Role::Data), Src::of(inst, Role::Data2));
    let (to, done) = (Dst::of(inst, Role::D), Dst::of(inst, Role::PD));
    // With a predicate to say so, a generic atomic leaves shared and local memory to the code
    // that follows it. That code reaches the block's own shared memory only, so that what lies in another block of the
    // cluster has to be done here. The predicate of a shared one (sm_100 on) says whether the swap was made.
    let is_left = space != Named::Shared && matches!(done, Dst::Predicate(n) if n != crate::state::PT);
    let tells_success = space == Named::Shared && atomic.reports_success;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let places = address.lanes(state).map(|address| space.place(address));
        turn_for_global(env, &places, state.active)?;
        let is_done_here = |place| matches!(env.spaces.nearest(place), Place::Global(_) | Place::Cluster { .. });
        let lanes = match is_left {
            true => state.active & mask_where(|lane| is_done_here(places[lane])),
            false => state.active,
        };
        env.report(Access::Atomic, atomic.size, lanes, &places);
        let mut old = [[0; WARP]; 4];
        let mut finished: Mask = 0;
        for lane in lanes_of(lanes) {
            let (data, data2) = (data_of(state, data, atomic.size, lane), data_of(state, data2, atomic.size, lane));
            let was = atomic.execute(env, places[lane], lane, data, data2)?;
            let result = if atomic.reports_success { [u32::from(was == data), 0, 0, 0] } else { was };
            for (old, word) in old.iter_mut().zip(result) {
                old[lane] = word;
            }
            finished |= Mask::from(!tells_success || was == data) << lane;
        }
        done.set_mask(state, finished);
        if let Dst::Register(n) = to
            && n != RZ
        {
            let words = atomic.size as usize / 4;
            for (i, value) in old.iter().enumerate().take(words) {
                state.set_r(n + i, value);
            }
        }
        Ok(())
    }))
}

fn reduction(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Wide)?;
    let atomic = Atomic::of(inst.get(Field::ATOM_TYPE), inst.get(Field::ATOM_OP))?;
    let data = Src::of(inst, Role::Data);
    // The order of these cannot be seen: they commute, and are one step on the host too.
    let commutes = matches!(atomic.format, Format::U32 | Format::S32)
        && !matches!(inst.get(Field::ATOM_OP), AtomOp::INC | AtomOp::DEC);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let addresses = address.lanes(state);
        if !commutes {
            env.require_turn()?;
        }
        if let Some(log) = env.log.as_deref_mut() {
            log.push(Space::Global, Access::Atomic, atomic.size, state.active, addresses);
        }
        for lane in state.active_lanes() {
            let data = data_of(state, data, atomic.size, lane);
            atomic.execute(env, Place::Global(addresses[lane]), lane, data, [0; 4])?;
        }
        Ok(())
    }))
}

fn wide(words: Words) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

fn from_wide(value: u64) -> Words {
    [value as u32, (value >> 32) as u32, 0, 0]
}

fn add(format: Format, old: Words, data: Words, _: Words) -> Words {
    match format {
        Format::U32 | Format::S32 => [old[0].wrapping_add(data[0]), 0, 0, 0],
        Format::U64 | Format::S64 => from_wide(wide(old).wrapping_add(wide(data))),
        Format::Single { flush } => [add_single(old[0], data[0], flush), 0, 0, 0],
        Format::Double => from_wide((f64::from_bits(wide(old)) + f64::from_bits(wide(data))).to_bits()),
        Format::HalfPair => [add_half_pairs(old[0], data[0]), 0, 0, 0],
        Format::BrainPair => [by_halves(old[0], data[0], |a, b| sum::<BFloat>(a, b, 0x7fff)), 0, 0, 0],
        Format::Bits128 => old,
    }
}

/// Sum of two singles; the hardware's only NaN is 0x7fffffff.
pub(super) fn add_single(a: u32, b: u32, flush: bool) -> u32 {
    let flushed = |bits: u32| if flush && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits };
    let sum = f32::from_bits(flushed(a)) + f32::from_bits(flushed(b));
    if sum.is_nan() { 0x7fff_ffff } else { flushed(sum.to_bits()) }
}

/// Sums of two pairs of halves.
pub(super) fn add_half_pairs(a: u32, b: u32) -> u32 {
    by_halves(a, b, |a, b| sum::<Half>(a, b, 0x7fff))
}

fn by_halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

fn sum<F: Float>(a: u16, b: u16, nan: u16) -> u16 {
    let sum = (F::from_bits(u128::from(a)) + F::from_bits(u128::from(b))).value;
    if sum.is_nan() { nan } else { sum.to_bits() as u16 }
}

/// `a < b` in the format; false for NaN, so that the other operand is kept.
fn less(format: Format, a: Words, b: Words) -> bool {
    match format {
        Format::U32 => a[0] < b[0],
        Format::S32 => (a[0] as i32) < b[0] as i32,
        Format::S64 => (wide(a) as i64) < wide(b) as i64,
        Format::U64 | Format::Bits128 => wide(a) < wide(b),
        Format::Single { .. } => f32::from_bits(a[0]) < f32::from_bits(b[0]),
        Format::Double => f64::from_bits(wide(a)) < f64::from_bits(wide(b)),
        // Pairs compare half by half: see packed_extreme.
        Format::HalfPair | Format::BrainPair => false,
    }
}

/// Minimum or maximum of pairs, as the PTX manual has it for `min` and `max`: -0 is below +0, a NaN gives way, two
/// NaNs give the canonical one.
fn packed_extreme(op: AtomOp) -> Step {
    fn pick<F: Float>(a: u16, b: u16, want_less: bool) -> u16 {
        let is_nan = |bits: u16| F::from_bits(u128::from(bits)).is_nan();
        // Numbers in order: magnitudes, and below them the negative ones from -0 down.
        let rank = |bits: u16| {
            let magnitude = i32::from(bits & 0x7fff);
            if bits >> 15 == 0 { magnitude } else { -1 - magnitude }
        };
        match (is_nan(a), is_nan(b)) {
            (true, true) => 0x7fff,
            (true, false) => b,
            (false, true) => a,
            (false, false) if (rank(a) < rank(b)) == want_less => a,
            (false, false) => b,
        }
    }
    fn extreme(format: Format, old: Words, data: Words, want_less: bool) -> Words {
        let half = |a, b| match format {
            Format::BrainPair => pick::<BFloat>(a, b, want_less),
            _ => pick::<Half>(a, b, want_less),
        };
        [by_halves(old[0], data[0], half), 0, 0, 0]
    }
    match op {
        AtomOp::MIN => |format, old, data, _| extreme(format, old, data, true),
        _ => |format, old, data, _| extreme(format, old, data, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(value: u32) -> Words {
        [value, 0, 0, 0]
    }

    #[test]
    fn sums_in_every_format() {
        let sum = |format, a, b| add(format, a, b, [0; 4]);
        assert_eq!(sum(Format::U32, word(u32::MAX), word(2)), word(1));
        assert_eq!(sum(Format::U64, from_wide(u64::MAX), from_wide(2)), from_wide(1));
        let single = Format::Single { flush: true };
        assert_eq!(sum(single, word(1.5f32.to_bits()), word(2.25f32.to_bits())), word(3.75f32.to_bits()));
        assert_eq!(sum(single, word(1), word(1)), word(0), "denormals flush");
        assert_eq!(sum(Format::Single { flush: false }, word(1), word(1)), word(2));
        let infinity = f32::INFINITY.to_bits();
        assert_eq!(sum(single, word(infinity), word(infinity | 1 << 31)), word(0x7fff_ffff));
        // 1.0 + 2.0 and -1.0 + 0.5 in half, 1.0 + 1.0 and 0 in bfloat16.
        assert_eq!(sum(Format::HalfPair, word(0xbc00_3c00), word(0x3800_4000)), word(0xb800_4200));
        assert_eq!(sum(Format::BrainPair, word(0x3f80), word(0x3f80)), word(0x4000));
    }

    #[test]
    fn order_follows_the_format() {
        assert!(less(Format::U32, word(1), word(u32::MAX)));
        assert!(!less(Format::S32, word(1), word(u32::MAX)));
        assert!(less(Format::S64, from_wide(u64::MAX), from_wide(0)));
        let max = packed_extreme(AtomOp::MAX);
        assert_eq!(max(Format::HalfPair, word(0xbc00_3c00), word(0x3800_bc00), [0; 4]), word(0x3800_3c00));
        assert_eq!(max(Format::HalfPair, word(0x7e00), word(0x3c00), [0; 4]), word(0x3c00), "NaN gives way");
        assert_eq!(max(Format::HalfPair, word(0x3c00), word(0x7e00), [0; 4]), word(0x3c00), "NaN gives way");
        assert_eq!(max(Format::BrainPair, word(0xffff_8000), word(0x7fc1_0000), [0; 4]), word(0x7fff_0000));
        let min = packed_extreme(AtomOp::MIN);
        assert_eq!(min(Format::BrainPair, word(0x8000_0000), word(0x0000_8000), [0; 4]), word(0x8000_8000), "-0");
        assert_eq!(min(Format::HalfPair, word(0xbc00_3c00), word(0xc000_4000), [0; 4]), word(0xc000_3c00));
    }
}
