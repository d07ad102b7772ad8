//! Integer arithmetic by elements of 32, 16 or 8 bits: `IMNMX`, `VIMNMX`, `VIMNMX3`, `VISET`, `VIADD`, `VIADDMNMX`.

use super::host;
use super::integer::no_predicate;
use super::lanewise::{int2, relates, sources};
use crate::effect::{Compute, Unsupported};
use crate::lanes::{by_lane, mask_where};
use crate::operand::{Dst, PredSrc};
use crate::state::State;
use oriole_isa::{Field, Inst, Opcode, Role, Sign, VaddType, Vtype};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match opcode {
        Opcode::IMNMX => {
            let signed = inst.get(Field::SIGN) == Sign::S32;
            minmax(inst, Elements { bits: 32, signed })?
        }
        Opcode::VIMNMX if no_predicate(inst).is_err() => minmax_telling_which(inst, Elements::of_vtype(inst))?,
        Opcode::VIMNMX => minmax(inst, Elements::of_vtype(inst))?,
        Opcode::VIMNMX3 => minmax3(inst),
        Opcode::VISET => set(inst),
        Opcode::VIADD => add(inst),
        Opcode::VIADDMNMX => add_minmax(inst),
        _ => return Ok(None),
    }))
}

/// What the elements of a register are.
#[derive(Clone, Copy)]
struct Elements {
    bits: u32,
    signed: bool,
}

impl Elements {
    /// Those that the field `vtype` names.
    fn of_vtype(inst: &Inst) -> Self {
        let (bits, signed) = match inst.get(Field::VTYPE) {
            Vtype::U32 => (32, false),
            Vtype::U16X2 => (16, false),
            Vtype::S16X2 => (16, true),
            Vtype::U8X4 => (8, false),
            Vtype::S8X4 => (8, true),
            _ => (32, true),
        };
        Elements { bits, signed }
    }

    /// Those that the field `vadd_type` names.
    fn of_vadd_type(inst: &Inst) -> Self {
        let (bits, signed) = match inst.get(Field::VADD_TYPE) {
            VaddType::X16X2 => (16, false),
            VaddType::S16X2 => (16, true),
            VaddType::U8X4 => (8, false),
            VaddType::S8X4 => (8, true),
            VaddType::SIGNED32 => (32, true),
            _ => (32, false),
        };
        Elements { bits, signed }
    }

    /// All bits of one element.
    fn mask(self) -> u32 {
        u32::MAX >> (32 - self.bits)
    }

    /// What turns the order of the elements into that of unsigned numbers.
    fn bias(self) -> u32 {
        if self.signed { 1 << (self.bits - 1) } else { 0 }
    }

    /// An element as a number.
    fn value(self, element: u32) -> i64 {
        let bias = self.bias();
        i64::from(element ^ bias) - i64::from(bias)
    }

    /// `f` of each element.
    #[inline(always)]
    fn map2(self, a: u32, b: u32, f: impl Fn(u32, u32) -> u32) -> u32 {
        if self.bits == 32 {
            return f(a, b);
        }
        let mask = self.mask();
        let places = (0..32).step_by(self.bits as usize);
        places.fold(0, |word, at| word | (f(a >> at & mask, b >> at & mask) & mask) << at)
    }

    /// The lesser or greater element; with `relu` nothing below zero.
    #[inline(always)]
    fn choose(self, least: bool, relu: bool, a: u32, b: u32) -> u32 {
        let bias = self.bias();
        let chosen = if ((a ^ bias) < (b ^ bias)) == least { a } else { b };
        if relu && chosen & bias != 0 { 0 } else { chosen }
    }
}

/// `VIMNMX` whose predicates tell where A was taken, equal elements included: PD for the low half, PD2 for the
/// high one, as ptxas 13.0 uses them for `max.s16x2` followed by comparisons of both halves with A. What
/// PD2 is for one element of 32 bits, and what `.RELU` does to them, no compiler's code tells.
fn minmax_telling_which(inst: &Inst, elements: Elements) -> Result<Compute, Unsupported> {
    let (pd, pd2) = (Dst::of(inst, Role::PD), Dst::of(inst, Role::PD2));
    if inst.get(Field::RELU) || elements.bits != 16 {
        no_predicate(inst)?;
    }
    let (d, a, b, _) = sources(inst);
    let pa = PredSrc::of(inst, Role::PA);
    Ok(host::compute(move |state: &mut State| {
        let (a, b, least) = (a.int(state), b.int(state), pa.mask(state));
        let pick = |i: usize| elements.map2(a[i], b[i], |a, b| elements.choose(least >> i & 1 != 0, false, a, b));
        let chosen = by_lane(pick);
        d.set(state, &chosen);
        pd.set_mask(state, mask_where(|i| chosen[i] as u16 == a[i] as u16));
        pd2.set_mask(state, mask_where(|i| chosen[i] >> 16 == a[i] >> 16));
    }))
}

/// `IMNMX` and `VIMNMX` without predicates.
fn minmax(inst: &Inst, elements: Elements) -> Result<Compute, Unsupported> {
    no_predicate(inst)?;
    let (d, a, b, _) = sources(inst);
    let (pa, relu) = (PredSrc::of(inst, Role::PA), inst.get(Field::RELU));
    Ok(host::compute(move |state: &mut State| {
        let (a, b, least) = (a.int(state), b.int(state), pa.mask(state));
        let pick = |i: usize| {
            let least = least >> i & 1 != 0;
            elements.map2(a[i], b[i], |a, b| elements.choose(least, relu, a, b))
        };
        d.set(state, &by_lane(pick));
    }))
}

/// `VISET`: all bits of the elements where the comparison holds.
fn set(inst: &Inst) -> Compute {
    let elements = Elements::of_vtype(inst);
    let (d, a, b, _) = sources(inst);
    let (code, bias) = (inst.get(Field::CMP).code(), elements.bias());
    host::compute(move |state: &mut State| {
        let (a, b) = (a.int(state), b.int(state));
        let holds = |a: u32, b: u32| u32::from(relates(code, a ^ bias, b ^ bias)).wrapping_neg();
        d.set(state, &by_lane(|i| elements.map2(a[i], b[i], holds)));
    })
}

/// `VIMNMX3`.
fn minmax3(inst: &Inst) -> Compute {
    let elements = Elements::of_vtype(inst);
    let (d, a, b, c) = sources(inst);
    let (pa, relu) = (PredSrc::of(inst, Role::PA), inst.get(Field::RELU));
    host::compute(move |state: &mut State| {
        let (a, b, c, least) = (a.int(state), b.int(state), c.int(state), pa.mask(state));
        let pick = |i: usize| {
            let least = least >> i & 1 != 0;
            let two = elements.map2(a[i], b[i], |a, b| elements.choose(least, false, a, b));
            elements.map2(two, c[i], |a, b| elements.choose(least, relu, a, b))
        };
        d.set(state, &by_lane(pick));
    })
}

/// `VIADD`; with `.ISAT` the sum is clamped to the range of its type, else it wraps.
fn add(inst: &Inst) -> Compute {
    let elements = Elements::of_vadd_type(inst);
    let saturates = inst.get(Field::ISAT);
    if elements.bits == 32 && !saturates {
        return int2(inst, u32::wrapping_add);
    }
    let (d, a, b, _) = sources(inst);
    let signs = [a, b].map(|source| if source.negated() { -1 } else { 1 });
    let least = if elements.signed { -i64::from(elements.bias()) } else { 0 };
    let most = least + i64::from(elements.mask());
    let sum = move |a: u32, b: u32| {
        let sum = signs[0] * elements.value(a) + signs[1] * elements.value(b);
        (if saturates { sum.clamp(least, most) } else { sum }) as u32
    };
    host::compute(move |state: &mut State| {
        let (a, b) = (a.bits(state), b.bits(state));
        d.set(state, &by_lane(|i| elements.map2(a[i], b[i], sum)));
    })
}

/// `VIADDMNMX`: the sum wraps, then it is compared with `C`.
fn add_minmax(inst: &Inst) -> Compute {
    let elements = Elements::of_vtype(inst);
    let (d, a, b, c) = sources(inst);
    let (negate, pa, relu) = (b.negated(), PredSrc::of(inst, Role::PA), inst.get(Field::RELU));
    let sum = move |a: u32, b: u32| if negate { a.wrapping_sub(b) } else { a.wrapping_add(b) };
    host::compute(move |state: &mut State| {
        let (a, b, c, least) = (a.bits(state), b.bits(state), c.bits(state), pa.mask(state));
        let pick = |i: usize| {
            let least = least >> i & 1 != 0;
            let sum = elements.map2(a[i], b[i], sum);
            elements.map2(sum, c[i], |a, b| elements.choose(least, relu, a, b))
        };
        d.set(state, &by_lane(pick));
    })
}
