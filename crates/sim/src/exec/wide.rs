//! Integers of 64 bits in register pairs: `CLMAD`, and what sm_120 has instructions for: `IADD`, `UIADD3.64`, `ISETP.64`,
//! `IMNMX.64`, `SEL.64`, `MOV.64` and their uniform forms.

use super::host;
use super::integer::is_written;
use super::lanewise::{Verdict, compare_wide};
use crate::effect::{Compute, Unsupported};
use crate::lanes::{Mask, WideLanes, by_lane, map, map2, mask_where};
use crate::operand::{Dst, PredSrc, Src};
use crate::state::State;
use oriole_isa::{ClmadHalf, Cmp, Field, Inst, Opcode, Role, Sign, Sign64, UimnmxType};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    let long = inst.get(Field::LONG);
    Ok(Some(match opcode {
        Opcode::CLMAD => carryless_product(inst),
        Opcode::IADD => add(inst, if long { 64 } else { 32 }),
        Opcode::IADD3 if inst.get(Field::WIDE64) => add(inst, 64),
        Opcode::ISETP if long => compare(inst, inst.get(Field::SIGN) == Sign::S32),
        Opcode::UISETP_64 => compare(inst, inst.get(Field::SIGN64) == Sign64::S64),
        Opcode::IMNMX_120 => minmax(inst, inst.get(Field::SIGN) == Sign::S32, long)?,
        Opcode::IMNMX if inst.opcode == Opcode::UIMNMX => uniform_minmax(inst)?,
        Opcode::SEL_64 => select(inst),
        Opcode::MOV_64 | Opcode::MOV64IUR => {
            let (d, b) = (Dst::of(inst, Role::D), Src::of(inst, Role::B));
            host::compute(move |state: &mut State| d.set_wide(state, &b.wide_bits(state)))
        }
        _ => return Ok(None),
    }))
}

/// `CLMAD`: each bit of `A` brings `B` in, shifted to its place, without carries.
fn carryless_product(inst: &Inst) -> Compute {
    let high = inst.get(Field::CLMAD_HALF) == ClmadHalf::HI;
    super::lanewise::double3(inst, move |a, b, c| {
        let mut product = 0;
        for place in 0..u64::BITS {
            let shifted = u128::from(b) << place;
            product ^= shifted & u128::from(a >> place & 1).wrapping_neg();
        }
        (if high { product >> u64::BITS } else { product }) as u64 ^ c
    })
}

/// A source of 64 bits; an immediate of 32 is sign-extended.
fn source(inst: &Inst, role: Role) -> impl Fn(&State) -> WideLanes + use<> {
    let source = Src::of(inst, role);
    let extends = source.is_immediate();
    move |state: &State| {
        let bits = source.wide_bits(state);
        if extends && bits[0] >> 32 == 0 { bits.map(|v| i64::from(v as u32 as i32) as u64) } else { bits }
    }
}

/// `D = A + B + C + carries` of `width` bits; `PD` and `PD2` are the carries out.
fn add(inst: &Inst, width: u32) -> Compute {
    let roles = [Role::A, Role::B, Role::C];
    // `-x` is `!x + 1`, which makes the carry right too.
    let flags = roles.map(|role| Src::of(inst, role));
    let flips = flags.map(|source| if source.negated() || source.inverted() { u64::MAX } else { 0 });
    let ones: u128 = flags.iter().map(|source| u128::from(source.negated())).sum();
    let sources = roles.map(|role| source(inst, role));
    let carries = inst.get(Field::X).then(|| [Role::PA, Role::PB].map(|role| carry(inst, role)));
    let (d, pd, pd2) = (Dst::of(inst, Role::D), Dst::of(inst, Role::PD), Dst::of(inst, Role::PD2));
    let keep = u64::MAX >> (64 - width);
    host::compute(move |state: &mut State| {
        let [a, b, c] = [0, 1, 2].map(|n| map(&sources[n](state), |v| u128::from((v ^ flips[n]) & keep)));
        let carries = carries.map_or([0; 2], |carries| carries.map(|carry| carry.map_or(0, |p| p.mask(state))));
        let carry = |i: usize| u128::from(carries[0] >> i & 1) + u128::from(carries[1] >> i & 1);
        let sum = by_lane(|i| a[i] + b[i] + c[i] + ones + carry(i));
        if width == 64 {
            d.set_wide(state, &map(&sum, |v| v as u64));
        } else {
            d.set(state, &map(&sum, |v| v as u32));
        }
        pd.set_mask(state, mask_where(|i| sum[i] >> width >= 1));
        pd2.set_mask(state, mask_where(|i| sum[i] >> width >= 2));
    })
}

/// A carry in, if the instruction has an operand for it.
fn carry(inst: &Inst, role: Role) -> Option<PredSrc> {
    inst.opcode.position(role).map(|_| PredSrc::of(inst, role))
}

/// `ISETP.64`. With `.EX` the operands are the high parts, and equal high parts leave it to `PB`.
fn compare(inst: &Inst, signed: bool) -> Compute {
    let (a, b, verdict) = (source(inst, Role::A), source(inst, Role::B), Verdict::of(inst));
    let (comparison, low) = (inst.get(Field::CMP), PredSrc::of(inst, Role::PB));
    let (code, extended) = (comparison.code(), inst.get(Field::EX));
    let bias = if signed { 1 << 63 } else { 0 };
    host::compute(move |state: &mut State| {
        let (a, b) = (map(&a(state), |v| v ^ bias), map(&b(state), |v| v ^ bias));
        let less = compare_wide(&a, &b, |a, b| a < b);
        let equal = compare_wide(&a, &b, |a, b| a == b);
        let if_equal = match (extended, code & 2 != 0) {
            (true, _) => low.mask(state),
            (false, true) => Mask::MAX,
            (false, false) => 0,
        };
        let takes = |bit: u8, lanes: Mask| if code & bit != 0 { lanes } else { 0 };
        let result = match comparison {
            Cmp::F => 0,
            Cmp::T => Mask::MAX,
            _ => takes(1, less) | takes(4, !(less | equal)) | equal & if_equal,
        };
        verdict.write(state, result);
    })
}

/// `IMNMX` of sm_120, of 32 or 64 bits.
fn minmax(inst: &Inst, signed: bool, long: bool) -> Result<Compute, Unsupported> {
    if [Role::PD, Role::PD2].into_iter().any(|role| is_written(Dst::of(inst, role))) {
        return Err(Unsupported(format!("{} with a predicate result", inst.opcode.name())));
    }
    let (a, b) = (source(inst, Role::A), source(inst, Role::B));
    let (d, least) = (Dst::of(inst, Role::D), PredSrc::of(inst, Role::PA));
    let bias = match (signed, long) {
        (false, _) => 0,
        (true, false) => 1 << 31,
        (true, true) => 1 << 63,
    };
    let keep = if long { u64::MAX } else { u64::from(u32::MAX) };
    Ok(host::compute(move |state: &mut State| {
        let (a, b, least) = (map(&a(state), |v| v & keep), map(&b(state), |v| v & keep), least.mask(state));
        let first = mask_where(|i| ((a[i] ^ bias) < (b[i] ^ bias)) == (least >> i & 1 != 0));
        let value = by_lane(|i| if first >> i & 1 != 0 { a[i] } else { b[i] });
        if long {
            d.set_wide(state, &value);
        } else {
            d.set(state, &value.map(|v| v as u32));
        }
    }))
}

/// `UIMNMX`, whose types are of both widths.
fn uniform_minmax(inst: &Inst) -> Result<Compute, Unsupported> {
    let (signed, long) = match inst.get(Field::UIMNMX_TYPE) {
        UimnmxType::U32 => (false, false),
        UimnmxType::U64 => (false, true),
        UimnmxType::S64 => (true, true),
        _ => (true, false),
    };
    minmax(inst, signed, long)
}

/// `SEL.64`.
fn select(inst: &Inst) -> Compute {
    // Its immediates have a sign of their own, so that they are complete.
    let (d, a, b) = (Dst::of(inst, Role::D), Src::of(inst, Role::A), Src::of(inst, Role::B));
    let pa = PredSrc::of(inst, Role::PA);
    host::compute(move |state: &mut State| {
        let first = pa.mask(state);
        let lanes = by_lane(|i| first >> i & 1 != 0);
        let both = map2(&a.wide_bits(state), &b.wide_bits(state), |a, b| (a, b));
        d.set_wide(state, &map2(&lanes, &both, |first: bool, (a, b)| if first { a } else { b }));
    })
}
