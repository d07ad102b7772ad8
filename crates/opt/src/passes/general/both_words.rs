//! Slot 49: both words of a product are computed by one `IMAD.WIDE`.

use super::{Cx, Rewrite, mov, mul_field, source};
use oriole_isa::{Field, Mul, Opcode, Role, Sign};
use oriole_ori::{BuildError, Inst, InstId, Operand, RegType, VReg};
use rustc_hash::FxHasher;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// A word of a product is that of the wide product of the same factors in the block, which an earlier product of one word becomes.
pub(super) fn product(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    let Some(factors) = factors(inst).filter(|_| inst.guard().is_none()) else { return Ok(None) };
    let key = key(factors);
    let same = |first: &InstId| {
        let data = &cx.func[*first];
        data.opcode == Opcode::IMAD && is_same(data, factors) && cx.defs.in_block(cx.func, *first)
    };
    let Some(first) = cx.common.get(&key).copied().filter(same) else {
        cx.common.insert(key, cx.current);
        return Ok(None);
    };
    let asked = Words::of(cx, inst);
    let signs_differ = asked.hi.is_some() && cx.func[first].get(Field::SIGN) != inst.get(Field::SIGN);
    let of_lower_word = mul_field(&cx.func[first]) == Mul::LO;
    if signs_differ && !of_lower_word || asked.none_is_named() {
        return Ok(None);
    }
    let Some([lo, hi]) = whole(cx, first, inst.get(Field::SIGN))? else { return Ok(None) };
    let copy = |(to, from): (Option<VReg>, VReg)| Some(mov(to?.into(), from.into()));
    Ok(Some([(asked.lo, lo), (asked.hi, hi)].into_iter().filter_map(copy).collect()))
}

/// The factors of a product without addend and carries, the order aside.
fn factors(inst: &Inst) -> Option<[Operand; 2]> {
    let plain =
        !inst.get(Field::X) && source(inst, Role::PD)? == Operand::pt() && source(inst, Role::C)? == Operand::rz();
    let factors = [source(inst, Role::A)?, source(inst, Role::B)?];
    (plain && !factors.iter().any(|factor| factor.is_zero())).then_some(factors)
}

fn is_same(inst: &Inst, [a, b]: [Operand; 2]) -> bool {
    factors(inst).is_some_and(|factors| factors == [a, b] || factors == [b, a])
}

fn key([a, b]: [Operand; 2]) -> u64 {
    let one = |operand: Operand| {
        let mut hasher = FxHasher::default();
        operand.hash(&mut hasher);
        hasher.finish()
    };
    // The same for both orders; and not the key of any expression, but by chance.
    one(a).wrapping_add(one(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The words that a product gives.
struct Words {
    lo: Option<VReg>,
    hi: Option<VReg>,
}

impl Words {
    fn of(cx: &Cx<'_>, inst: &Inst) -> Words {
        let named: SmallVec<[VReg; 4]> = source(inst, Role::D).map_or(SmallVec::new(), |d| cx.func.named(d));
        let value = |at: usize| named.get(at).copied().filter(|value| cx.func.is_value(*value));
        match mul_field(inst) {
            Mul::LO => Words { lo: value(0), hi: None },
            Mul::HI => Words { lo: None, hi: value(0) },
            _ => Words { lo: value(0), hi: value(1) },
        }
    }

    fn none_is_named(&self) -> bool {
        self.lo.is_none() && self.hi.is_none()
    }
}

/// Both words of the product `first`, which is made a wide one if it is none; `sign` is that of the upper word, where `first` has none.
fn whole(cx: &mut Cx<'_>, first: InstId, sign: Sign) -> Result<Option<[VReg; 2]>, BuildError> {
    let mut wide = cx.func[first].clone();
    let words = Words::of(cx, &wide);
    if let Words { lo: Some(lo), hi: Some(hi) } = words {
        return Ok(Some([lo, hi]));
    }
    if mul_field(&wide) == Mul::WIDE || words.none_is_named() {
        return Ok(None);
    }
    if words.hi.is_none() {
        wide.mods.set(Field::SIGN, sign);
    }
    let mut value = |known: Option<VReg>| known.map_or_else(|| cx.func.new_vreg(RegType::R), Ok);
    let words = [value(words.lo)?, value(words.hi)?];
    wide.mods.set(Field::MUL, Mul::WIDE);
    wide.set_role(Role::D, cx.func.tuple(&words));
    if !cx.is_legal(&wide) {
        return Ok(None);
    }
    cx.func.edit().replace(first, wide);
    cx.defs.touch_results(cx.func, first);
    Ok(Some(words))
}
