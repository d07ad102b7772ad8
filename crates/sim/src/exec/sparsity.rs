//! Vectors of which each group of elements keeps some: `SPCOMPRESS`, `SPDECOMPRESS`.
//!
//! What PTX leaves open is decided as in the interpreter: of equal elements the first are kept, in their order; types that
//! the descriptor's table lacks are unsigned integers; what lies beyond its group is dropped.

use super::host;
use super::rounding::{BFLOAT, E2M3, E3M2, E4M3, E5M2, Format, HALF};
use crate::effect::{Compute, Unsupported};
use crate::lanes::WARP;
use crate::operand::{Dst, Src};
use crate::state::State;
use oriole_isa::{Field, Inst, Opcode, Role, SpSize};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match opcode {
        Opcode::SPCOMPRESS => compress(inst)?,
        Opcode::SPDECOMPRESS => decompress(inst)?,
        _ => return Ok(None),
    }))
}

/// Bits of an element and of a place.
fn sizes(inst: &Inst) -> Result<(usize, usize), Unsupported> {
    let element = match inst.get(Field::SP_SIZE) {
        SpSize::B8 => 8,
        SpSize::B16 => 16,
        other => return Err(Unsupported(format!("{} of elements of {other} bits", inst.opcode.name()))),
    };
    Ok((element, 2 << inst.get(Field::SP_INDEX).code()))
}

/// Consecutive registers as one string of bits, which values lie in.
struct Words(Vec<u32>);

impl Words {
    fn read(state: &State, source: &Src, count: usize, lane: usize) -> Words {
        Words((0..count).map(|n| source.register().map_or(0, |first| state.lane(first + n, lane))).collect())
    }

    fn zeros(bits: usize) -> Words {
        Words(vec![0; bits.div_ceil(32)])
    }

    fn value(&self, n: usize, bits: usize) -> u32 {
        let at = n * bits;
        (self.0[at / 32] >> (at % 32)) & ((1 << bits) - 1)
    }

    fn put(&mut self, n: usize, bits: usize, value: u32) {
        let at = n * bits;
        self.0[at / 32] |= value << (at % 32);
    }
}

/// Writes words of the active lanes to consecutive registers.
fn write(state: &mut State, to: Dst, words: &[Words]) {
    for n in 0..words[0].0.len() {
        let value = std::array::from_fn(|lane| words[lane].0[n]);
        to.following(n).set(state, &value);
    }
}

/// `SPDECOMPRESS`.
fn decompress(inst: &Inst) -> Result<Compute, Unsupported> {
    let (element, place) = sizes(inst)?;
    let [kept, groups] = [inst.get(Field::SP_KEPT).code(), inst.get(Field::SP_NUM).code()].map(|code| 1 << code);
    let group: usize = 2 << inst.get(Field::SP_GROUP).code();
    if kept >= group || group > 1 << place || kept * element > 32 {
        return Err(Unsupported(format!("SPDECOMPRESS of {kept} of {group} elements of {element} bits")));
    }
    let (values, places, to) = (Src::of(inst, Role::A), Src::of(inst, Role::B), Dst::of(inst, Role::D));
    let registers = move |bits: usize| (groups * kept * bits).div_ceil(32);
    Ok(host::compute(move |state: &mut State| {
        let spread = |lane| {
            let places = Words::read(state, &places, registers(place), lane);
            let values = Words::read(state, &values, registers(element), lane);
            let mut data = Words::zeros(groups * group * element);
            for n in 0..groups * kept {
                let at = places.value(n, place) as usize;
                if at < group {
                    data.put(n / kept * group + at, element, values.value(n, element));
                }
            }
            data
        };
        let words: Vec<Words> = (0..WARP).map(spread).collect();
        write(state, to, &words);
    }))
}

/// Elements of a group of `SPCOMPRESS`.
const GROUP: usize = 4;
/// How many of them it keeps.
const KEPT: usize = 2;

/// `SPCOMPRESS`.
fn compress(inst: &Inst) -> Result<Compute, Unsupported> {
    let (element, place) = sizes(inst)?;
    let registers = 1 << inst.get(Field::SP_NUM).code();
    let (data, descriptor) = (Src::of(inst, Role::A), Src::of(inst, Role::Desc));
    let (to, places_to) = (Dst::of(inst, Role::D), Dst::of(inst, Role::D2));
    let groups = registers * 32 / (KEPT * element);
    Ok(host::compute(move |state: &mut State| {
        let choice = Choice::of(descriptor.scalar(state), element);
        let (mut kept, mut places) = (Vec::new(), Vec::new());
        for lane in 0..WARP {
            let data = Words::read(state, &data, 2 * registers, lane);
            let mut of_lane = (Words::zeros(groups * KEPT * element), Words::zeros(groups * KEPT * place));
            for group in 0..groups {
                let four = std::array::from_fn(|n| data.value(GROUP * group + n, element));
                for (n, at) in choice.of_four(four).into_iter().enumerate() {
                    of_lane.0.put(KEPT * group + n, element, four[at]);
                    of_lane.1.put(KEPT * group + n, place, at as u32);
                }
            }
            kept.push(of_lane.0);
            places.push(of_lane.1);
        }
        write(state, to, &kept);
        write(state, places_to, &places);
    }))
}

/// Which two of four elements are kept, as the descriptor says.
struct Choice {
    /// The least ones instead of the greatest.
    least: bool,
    /// Of the magnitudes.
    magnitudes: bool,
    kind: Kind,
}

enum Kind {
    Unsigned,
    Signed,
    Float(Format),
}

impl Choice {
    fn of(descriptor: u32, element: usize) -> Choice {
        let kind = match (element, descriptor >> 2 & 7) {
            (16, 0) => Kind::Float(HALF),
            (16, 1) => Kind::Float(BFLOAT),
            (8, 2) => Kind::Float(E5M2),
            (8, 3) => Kind::Float(E4M3),
            (8, 4) => Kind::Float(E3M2),
            (8, 5) => Kind::Float(E2M3),
            (8, 1) => Kind::Signed,
            _ => Kind::Unsigned,
        };
        Choice { least: descriptor >> 1 & 1 != 0, magnitudes: descriptor & 1 != 0, kind }
    }

    /// What is compared: NaN is above all.
    fn key(&self, bits: u32) -> (bool, f64) {
        let value = match self.kind {
            Kind::Unsigned => f64::from(bits),
            Kind::Signed => f64::from(bits as u8 as i8),
            Kind::Float(format) => format.widen(bits & (2 * format.sign() - 1)),
        };
        if value.is_nan() {
            return (true, 0.0);
        }
        let value = if self.magnitudes { value.abs() } else { value };
        (false, if self.least { -value } else { value })
    }

    /// The places of the two, in order.
    fn of_four(&self, four: [u32; GROUP]) -> [usize; KEPT] {
        let keys = four.map(|bits| self.key(bits));
        let above = |at: usize, other: usize| {
            let ((nan, value), (other_nan, other_value)) = (keys[at], keys[other]);
            // -0 is below +0, as in the order of all bit patterns.
            let order = nan.cmp(&other_nan).then(value.total_cmp(&other_value));
            order.is_gt() || order.is_eq() && at < other
        };
        let is_kept = |at: &usize| (0..GROUP).filter(|other| other != at && above(*other, *at)).count() < KEPT;
        let mut kept = (0..GROUP).filter(is_kept);
        std::array::from_fn(|_| kept.next().unwrap_or(0))
    }
}
