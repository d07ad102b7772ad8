//! Integer addition, multiplication, comparison, minimum and maximum.

use super::host;
use super::lanewise::{Verdict, compare, compare_integers, int1, int2, int3, relates, sources};
use crate::effect::{Compute, Unsupported};
use crate::lanes::{Lanes, Mask, WideLanes, by_lane, map, mask_where};
use crate::operand::{Dst, PredSrc, Src};
use crate::state::{PT, State};
use oriole_isa::{Cmp, DotA, DotB, DotN, Field, Inst, Mul, Opcode, Role, Sign};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match opcode {
        Opcode::IADD3 => iadd3(inst),
        Opcode::IMAD => imad(inst),
        Opcode::LEA => lea(inst),
        Opcode::ISETP => isetp(inst),
        Opcode::IABS => int1(inst, |b| (b as i32).unsigned_abs()),
        Opcode::IDP => dot_product(inst),
        Opcode::VABSDIFF => absolute_difference(inst)?,
        Opcode::VABSDIFF4 => absolute_difference4(inst)?,
        _ => return Ok(None),
    }))
}

/// An addend as two numbers whose sum it is: `-x` is `!x + 1`, which also makes the carry right.
#[derive(Clone, Copy)]
struct Addend {
    source: Src,
    flip: u32,
    one: u64,
}

impl Addend {
    fn of(inst: &Inst, role: Role) -> Self {
        let source = Src::of(inst, role);
        let flip = if source.negated() || source.inverted() { u32::MAX } else { 0 };
        Addend { source, flip, one: u64::from(source.negated()) }
    }

    /// The flipped bits of each lane; [`Addend::one`] is still to be added.
    #[inline]
    fn bits(&self, state: &State) -> Lanes {
        let bits = self.source.bits(state);
        if self.flip == 0 { bits } else { bits.map(|v| !v) }
    }
}

/// A carry in, 0 or 1 for each lane; nothing if the instruction has no `.X`.
#[derive(Clone, Copy)]
struct CarryIn(Option<PredSrc>);

impl CarryIn {
    fn of(inst: &Inst, role: Role) -> Self {
        CarryIn(inst.get(Field::X).then(|| PredSrc::of(inst, role)))
    }

    #[inline]
    fn mask(&self, state: &State) -> Mask {
        self.0.map_or(0, |predicate| predicate.mask(state))
    }
}

/// `D = A + B + C + carries`; `PD` is the first carry out, `PD2` the second (a sum of three may carry
/// twice).
fn iadd3(inst: &Inst) -> Compute {
    let (a, b, c) = (Addend::of(inst, Role::A), Addend::of(inst, Role::B), Addend::of(inst, Role::C));
    let (d, pd, pd2) = (Dst::of(inst, Role::D), Dst::of(inst, Role::PD), Dst::of(inst, Role::PD2));
    let ones = a.one + b.one + c.one;
    if !inst.get(Field::X) && !is_written(pd) && !is_written(pd2) {
        return int3(inst, |a, b, c| a.wrapping_add(b).wrapping_add(c));
    }
    let (pa, pb) = (CarryIn::of(inst, Role::PA), CarryIn::of(inst, Role::PB));
    host::compute(move |state: &mut State| {
        let (a, b, c) = (a.bits(state), b.bits(state), c.bits(state));
        let (pa, pb) = (pa.mask(state), pb.mask(state));
        let carry = |i: usize| u64::from(pa >> i & 1) + u64::from(pb >> i & 1);
        let sum: WideLanes = by_lane(|i| u64::from(a[i]) + u64::from(b[i]) + u64::from(c[i]) + ones + carry(i));
        d.set(state, &map(&sum, |v| v as u32));
        pd.set_mask(state, mask_where(|i| sum[i] >> 32 >= 1));
        pd2.set_mask(state, mask_where(|i| sum[i] >> 32 >= 2));
    })
}

/// `IMAD` in its three widths. `.WIDE` and `.HI` add a pair to the whole product.
fn imad(inst: &Inst) -> Compute {
    let (d, a, b, c) = sources(inst);
    let pd = Dst::of(inst, Role::PD);
    let carry_in = CarryIn::of(inst, Role::PA);
    let signed = inst.get(Field::SIGN) == Sign::S32;
    let part = inst.get(Field::MUL);
    if part == Mul::LO && !inst.get(Field::X) && !is_written(pd) {
        return int3(inst, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    }
    let addend = Addend::of(inst, Role::C);
    if part == Mul::LO {
        return host::compute(move |state: &mut State| {
            let (a, b, c, carry) = (a.bits(state), b.bits(state), addend.bits(state), carry_in.mask(state));
            let sum: WideLanes = by_lane(|i| {
                u64::from(a[i].wrapping_mul(b[i])) + u64::from(c[i]) + addend.one + u64::from(carry >> i & 1)
            });
            d.set(state, &map(&sum, |v| v as u32));
            pd.set_mask(state, mask_where(|i| sum[i] >> 32 != 0));
        });
    }
    let product = move |a: u32, b: u32| match signed {
        true => (i64::from(a as i32) * i64::from(b as i32)) as u64,
        false => u64::from(a) * u64::from(b),
    };
    let flip = if addend.flip == 0 { 0 } else { u64::MAX };
    let sign_extend = signed && c.is_immediate();
    if !inst.get(Field::X) && !is_written(pd) {
        // Without a carry out the bits above 64 do not matter.
        return host::compute(move |state: &mut State| {
            let (a, b, c) = (a.bits(state), b.bits(state), c.wide_bits(state));
            let sum = by_lane(|i| {
                let c = if sign_extend { i64::from(c[i] as i32) as u64 } else { c[i] };
                product(a[i], b[i]).wrapping_add(c ^ flip).wrapping_add(addend.one)
            });
            match part {
                Mul::WIDE => d.set_wide(state, &sum),
                _ => d.set(state, &map(&sum, |v| (v >> 32) as u32)),
            }
        });
    }
    host::compute(move |state: &mut State| {
        let (a, b, c, carry) = (a.bits(state), b.bits(state), c.wide_bits(state), carry_in.mask(state));
        let extend = |c: u64| if sign_extend { i64::from(c as i32) as u64 } else { c };
        let sum = by_lane(|i| {
            let c = extend(c[i]) ^ flip;
            u128::from(product(a[i], b[i])) + u128::from(c) + u128::from(addend.one) + u128::from(carry >> i & 1)
        });
        match part {
            Mul::WIDE => d.set_wide(state, &map(&sum, |v| v as u64)),
            _ => d.set(state, &map(&sum, |v| (v >> 32) as u32)),
        }
        pd.set_mask(state, mask_where(|i| sum[i] >> 64 != 0));
    })
}

/// `D = (A << Shift) + B`, or the high word of `(C:A << Shift)` plus `B`.
fn lea(inst: &Inst) -> Compute {
    let (d, a, _, c) = sources(inst);
    let (b, pd) = (Addend::of(inst, Role::B), Dst::of(inst, Role::PD));
    let carry_in = CarryIn::of(inst, Role::PA);
    let shift = Src::of(inst, Role::Shift);
    let (high, sign_extended) = (inst.get(Field::HI), inst.get(Field::SX32));
    let negate = a.negated();
    let is_plain = !inst.get(Field::X) && !is_written(pd) && !sign_extended;
    if let Some(shift) = shift.immediate().filter(|_| is_plain) {
        let shift = shift as u32 & 31;
        if !high {
            return int2(inst, move |a, b| (a << shift).wrapping_add(b));
        }
        if !negate {
            return int3(inst, move |a, b, c| (c << shift | a.unbounded_shr(32 - shift)).wrapping_add(b));
        }
    }
    host::compute(move |state: &mut State| {
        let shift = shift.scalar(state) & 31;
        let (a, b_bits, c, carry) = (a.bits(state), b.bits(state), c.bits(state), carry_in.mask(state));
        let shifted = |a: u32, c: u32| {
            let pair = match sign_extended {
                true => i64::from(a as i32) as u64,
                false => u64::from(c) << 32 | u64::from(a),
            };
            let pair = if negate { pair.wrapping_neg() } else { pair } << shift;
            if high { (pair >> 32) as u32 } else { pair as u32 }
        };
        let sum: WideLanes =
            by_lane(|i| u64::from(shifted(a[i], c[i])) + u64::from(b_bits[i]) + b.one + u64::from(carry >> i & 1));
        d.set(state, &map(&sum, |v| v as u32));
        pd.set_mask(state, mask_where(|i| sum[i] >> 32 != 0));
    })
}

/// `ISETP`. With `.EX` the words are the high ones, and equal high words leave it to `PB`.
fn isetp(inst: &Inst) -> Compute {
    let (_, a, b, _) = sources(inst);
    let verdict = Verdict::of(inst);
    let comparison = inst.get(Field::CMP);
    let code = comparison.code();
    // Signed order is unsigned order with the sign bits flipped.
    let bias = if inst.get(Field::SIGN) == Sign::S32 { 1 << 31 } else { 0 };
    if !inst.get(Field::EX) {
        return compare_integers(inst, move |a, b| relates(code, a ^ bias, b ^ bias));
    }
    let low = PredSrc::of(inst, Role::PB);
    // `LT` and `LE` are true of lesser high words, `GT` and `GE` of greater, `NE` of both.
    let strict = code & 5;
    let constant = matches!(comparison, Cmp::F | Cmp::T).then_some(comparison == Cmp::T);
    host::compute(move |state: &mut State| {
        let (a, b, low) = (a.int(state), b.int(state), low.mask(state));
        let decided = compare(&a, &b, |a, b| relates(strict, a ^ bias, b ^ bias));
        let equal = compare(&a, &b, |a, b| a == b);
        let result = match (constant, code) {
            (Some(value), _) => Mask::from(value).wrapping_neg(),
            _ => decided | equal & low,
        };
        verdict.write(state, result);
    })
}

/// `IDP`: four products of bytes, or two of halves and bytes, plus `C`.
fn dot_product(inst: &Inst) -> Compute {
    let byte = |value: u32, at: u32, signed: bool| match signed {
        true => (value >> (8 * at)) as i8 as u32,
        false => value >> (8 * at) & 0xff,
    };
    let half = |value: u32, at: u32, signed: bool| match signed {
        true => (value >> (16 * at)) as i16 as u32,
        false => value >> (16 * at) & 0xffff,
    };
    let a_signed = matches!(inst.get(Field::DOT_A), DotA::S8 | DotA::S16);
    let b_signed = inst.get(Field::DOT_B) == DotB::S8;
    let first = match inst.get(Field::DOT_N) {
        DotN::X2A_LO => 0,
        DotN::X2A_HI => 2,
        _ => {
            return int3(inst, move |a, b, c| {
                let term = |i| byte(a, i, a_signed).wrapping_mul(byte(b, i, b_signed));
                (0..4).fold(c, |sum, i| sum.wrapping_add(term(i)))
            });
        }
    };
    int3(inst, move |a, b, c| {
        let term = |i| half(a, i, a_signed).wrapping_mul(byte(b, first + i, b_signed));
        c.wrapping_add(term(0)).wrapping_add(term(1))
    })
}

/// `VABSDIFF`.
fn absolute_difference(inst: &Inst) -> Result<Compute, Unsupported> {
    no_predicate(inst)?;
    Ok(match inst.get(Field::SIGN) {
        Sign::S32 => int3(inst, |a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c)),
        _ => int3(inst, |a, b, c| a.abs_diff(b).wrapping_add(c)),
    })
}

/// `VABSDIFF4`: the differences of the bytes as bytes, or with `.ACC` their sum plus `C`.
fn absolute_difference4(inst: &Inst) -> Result<Compute, Unsupported> {
    no_predicate(inst)?;
    let bias = if inst.get(Field::ABSDIFF) == oriole_isa::Absdiff::S8 { 0x80 } else { 0 };
    let difference = move |a: u32, b: u32, i: u32| {
        let byte = |value: u32| value >> (8 * i) & 0xff ^ bias;
        byte(a).abs_diff(byte(b))
    };
    Ok(match inst.get(Field::ACC) {
        true => int3(inst, move |a, b, c| (0..4).fold(c, |sum, i| sum.wrapping_add(difference(a, b, i)))),
        false => int3(inst, move |a, b, _| (0..4).fold(0, |bytes, i| bytes | difference(a, b, i) << (8 * i))),
    })
}

/// Refuses the forms with a predicate result, whose meaning is not published.
pub(super) fn no_predicate(inst: &Inst) -> Result<(), Unsupported> {
    match [Role::PD, Role::PD2].into_iter().any(|role| is_written(Dst::of(inst, role))) {
        true => Err(Unsupported(format!("{} with a predicate result", inst.opcode.name()))),
        false => Ok(()),
    }
}

/// The destination is a predicate that keeps what is written to it.
pub(super) fn is_written(predicate: Dst) -> bool {
    matches!(predicate, Dst::Predicate(n) | Dst::UniformPredicate(n) if n != PT)
}
