//! Bits of integers that are the same in every run: known bits, sign bits, multiples.
//!
//! Of a vector, what holds for every element is told. The search goes a few definitions deep.

use super::View;
use super::intrinsics::{Intrinsic, called};
use crate::ir::{
    Attachment, BinaryOp, Call, CastOp, ConstId, Constant, InstFlags, InstId, MetaField, Op, SymbolKind, Value,
    ValueDef,
};

/// How many definitions deep the search goes.
const DEPTH: u32 = 5;

/// Bits known to be 0 and bits known to be 1; those above the width are known to be neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownBits {
    /// Bits that are 0.
    pub zero: u128,
    /// Bits that are 1.
    pub one: u128,
    /// Width in bits, 1 to 128.
    pub bits: u32,
}

impl KnownBits {
    /// Nothing known.
    #[must_use]
    pub const fn unknown(bits: u32) -> KnownBits {
        KnownBits { zero: 0, one: 0, bits }
    }

    /// Everything known.
    #[must_use]
    pub const fn constant(value: u128, bits: u32) -> KnownBits {
        KnownBits { zero: !value & mask(bits), one: value & mask(bits), bits }
    }

    /// All bits of the width.
    #[must_use]
    pub const fn mask(&self) -> u128 {
        mask(self.bits)
    }

    /// The value, when every bit is known.
    #[must_use]
    pub const fn as_constant(&self) -> Option<u128> {
        if self.zero | self.one == self.mask() { Some(self.one) } else { None }
    }

    /// The largest unsigned value.
    #[must_use]
    pub const fn max(&self) -> u128 {
        !self.zero & self.mask()
    }

    /// The smallest unsigned value.
    #[must_use]
    pub const fn min(&self) -> u128 {
        self.one
    }

    /// How many of the highest bits are 0.
    #[must_use]
    pub const fn leading_zeros(&self) -> u32 {
        self.max().leading_zeros() - (128 - self.bits)
    }

    /// How many of the lowest bits are 0: the value is a multiple of two to that power.
    #[must_use]
    pub const fn trailing_zeros(&self) -> u32 {
        let unknown = self.max();
        if unknown == 0 { self.bits } else { unknown.trailing_zeros() }
    }

    /// True when the sign bit is 0.
    #[must_use]
    pub const fn is_non_negative(&self) -> bool {
        self.zero >> (self.bits - 1) & 1 != 0
    }

    /// True when the sign bit is 1.
    #[must_use]
    pub const fn is_negative(&self) -> bool {
        self.one >> (self.bits - 1) & 1 != 0
    }

    /// What holds for both.
    #[must_use]
    pub const fn meet(&self, other: &KnownBits) -> KnownBits {
        KnownBits { zero: self.zero & other.zero, one: self.one & other.one, bits: self.bits }
    }

    fn low_zeros(count: u32, bits: u32) -> KnownBits {
        KnownBits { zero: mask(count.min(bits)), one: 0, bits }
    }

    fn high_zeros(count: u32, bits: u32) -> KnownBits {
        KnownBits { zero: mask(bits) & !mask(bits - count.min(bits)), one: 0, bits }
    }

    fn below(limit: u128, bits: u32) -> KnownBits {
        let used = 128 - limit.saturating_sub(1).leading_zeros();
        KnownBits::high_zeros(bits.saturating_sub(used), bits)
    }

    fn with(self, other: KnownBits) -> KnownBits {
        KnownBits { zero: self.zero | other.zero, one: self.one | other.one, bits: self.bits }
    }

    fn zext(self, bits: u32) -> KnownBits {
        KnownBits { zero: self.zero | (mask(bits) & !self.mask()), one: self.one, bits }
    }

    fn sext(self, bits: u32) -> KnownBits {
        let high = mask(bits) & !self.mask();
        KnownBits {
            zero: self.zero | if self.is_non_negative() { high } else { 0 },
            one: self.one | if self.is_negative() { high } else { 0 },
            bits,
        }
    }

    fn trunc(self, bits: u32) -> KnownBits {
        KnownBits { zero: self.zero & mask(bits), one: self.one & mask(bits), bits }
    }

    fn shl(self, by: u32) -> KnownBits {
        KnownBits {
            zero: ((self.zero << by) | mask(by)) & self.mask(),
            one: (self.one << by) & self.mask(),
            bits: self.bits,
        }
    }

    fn lshr(self, by: u32) -> KnownBits {
        let high = self.mask() & !(self.mask() >> by);
        KnownBits { zero: (self.zero >> by) | high, one: self.one >> by, bits: self.bits }
    }

    fn ashr(self, by: u32) -> KnownBits {
        let shifted = self.lshr(by);
        let high = self.mask() & !(self.mask() >> by);
        KnownBits {
            zero: if self.is_non_negative() { shifted.zero } else { shifted.zero & !high },
            one: if self.is_negative() { shifted.one | high } else { shifted.one },
            bits: self.bits,
        }
    }

    /// `self + other + carry`, where the carry is known.
    fn add(self, other: KnownBits, carry: bool) -> KnownBits {
        let carry = u128::from(carry);
        let mask = self.mask();
        // The sum of the largest values and the sum of the smallest agree on the carries that are known.
        let largest = self.max().wrapping_add(other.max()).wrapping_add(carry) & mask;
        let smallest = self.one.wrapping_add(other.one).wrapping_add(carry) & mask;
        let carry_zero = !(largest ^ self.zero ^ other.zero) & mask;
        let carry_one = (smallest ^ self.one ^ other.one) & mask;
        let known = (self.zero | self.one) & (other.zero | other.one) & (carry_zero | carry_one);
        KnownBits { zero: !largest & known & mask, one: smallest & known, bits: self.bits }
    }

    fn not(self) -> KnownBits {
        KnownBits { zero: self.one, one: self.zero, bits: self.bits }
    }
}

const fn mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// What is known of the bits of an integer, a pointer, or every element of a vector of them. Values of other types
/// have a single bit, of which nothing is known.
#[must_use]
pub fn known_bits(view: View<'_>, value: Value) -> KnownBits {
    Search { view, depth: 0 }.value(value)
}

/// How many of the highest bits are equal, at least 1.
#[must_use]
pub fn sign_bits(view: View<'_>, value: Value) -> u32 {
    signs(view, value, 0)
}

/// The power of two of which an address is a multiple, in bytes.
#[must_use]
pub fn alignment(view: View<'_>, pointer: Value) -> u64 {
    1 << known_bits(view, pointer).trailing_zeros().min(32)
}

fn signs(view: View<'_>, value: Value, depth: u32) -> u32 {
    let Some(bits) = view.scalar_bits(view.ty(value)) else { return 1 };
    let by_bits = || {
        let known = Search { view, depth }.value(value);
        let high =
            (known.zero << (128 - known.bits)).leading_ones().max((known.one << (128 - known.bits)).leading_ones());
        high.clamp(1, bits)
    };
    let Some(op) = view.op(value).filter(|_| depth < DEPTH) else { return by_bits() };
    let below = |value| signs(view, value, depth + 1);
    let structural = match op {
        Op::Cast(CastOp::SExt, _, from) => bits - view.scalar_bits(view.ty(*from)).unwrap_or(bits) + below(*from),
        Op::Cast(CastOp::Trunc, _, from) => {
            let dropped = view.scalar_bits(view.ty(*from)).unwrap_or(bits) - bits;
            below(*from).saturating_sub(dropped).max(1)
        }
        Op::Binary(BinaryOp::AShr, _, [from, by]) => {
            below(*from) + view.splat_int(*by).map_or(0, |by| by.min(128) as u32)
        }
        Op::Binary(BinaryOp::Add | BinaryOp::Sub, _, [a, b]) => below(*a).min(below(*b)).saturating_sub(1),
        Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, _, [a, b]) => below(*a).min(below(*b)),
        Op::Select(_, [_, a, b]) => below(*a).min(below(*b)),
        _ => 1,
    };
    structural.min(bits).max(by_bits())
}

struct Search<'a> {
    view: View<'a>,
    depth: u32,
}

impl Search<'_> {
    fn value(&mut self, value: Value) -> KnownBits {
        let Some(bits) = self.view.scalar_bits(self.view.ty(value)).filter(|bits| (1..=128).contains(bits)) else {
            return KnownBits::unknown(1);
        };
        let id = match value {
            Value::Const(id) => return self.constant(id, bits),
            Value::Local(id) => id,
        };
        if self.depth >= DEPTH {
            return KnownBits::unknown(bits);
        }
        self.depth += 1;
        let known = match self.view.body.def(id) {
            ValueDef::Param(index) => self.param(index, bits),
            ValueDef::Inst(inst) => self.inst(inst, bits),
        };
        self.depth -= 1;
        // Contradictions come from values that are poison or code that never runs.
        if known.zero & known.one != 0 { KnownBits::unknown(bits) } else { known }
    }

    fn constant(&self, id: ConstId, bits: u32) -> KnownBits {
        let constants = &self.view.module.constants;
        match &constants[id] {
            Constant::Int(_, value) => KnownBits::constant(*value, bits),
            Constant::Null(_) | Constant::Zero(_) => KnownBits::constant(0, bits),
            Constant::Aggregate(_, items) => {
                let all = KnownBits { zero: mask(bits), one: mask(bits), bits };
                let known = items.iter().fold(all, |known, &item| known.meet(&self.constant(item, bits)));
                if known.zero & known.one != 0 { KnownBits::unknown(bits) } else { known }
            }
            Constant::Symbol(_, symbol) => {
                let symbol = &self.view.module.symbols[*symbol];
                let align = match &symbol.kind {
                    SymbolKind::Variable(_) => symbol.align.max(1),
                    _ => 1,
                };
                KnownBits::low_zeros(align.trailing_zeros(), bits)
            }
            _ => KnownBits::unknown(bits),
        }
    }

    fn param(&self, index: u32, bits: u32) -> KnownBits {
        let Some(param) = self.view.function().and_then(|function| function.params.get(index as usize)) else {
            return KnownBits::unknown(bits);
        };
        let align = if param.attributes.align.is_power_of_two() { param.attributes.align.trailing_zeros() } else { 0 };
        let known = KnownBits::low_zeros(align, bits);
        match param.attributes.range {
            Some(range) => known.with(of_range(range, bits)),
            None => known,
        }
    }

    fn inst(&mut self, inst: InstId, bits: u32) -> KnownBits {
        let unknown = KnownBits::unknown(bits);
        match &self.view.body[inst].op {
            Op::Binary(op, flags, args) => self.binary(*op, *flags, *args, bits),
            Op::Cast(op, flags, from) => {
                let of = self.value(*from);
                match op {
                    CastOp::ZExt | CastOp::PtrToInt | CastOp::IntToPtr | CastOp::AddrSpaceCast if of.bits <= bits => {
                        match op {
                            // Going to or from the generic space may add a base; only its alignment is known.
                            CastOp::AddrSpaceCast => KnownBits::low_zeros(of.trailing_zeros().min(8), bits),
                            CastOp::ZExt if flags.contains(InstFlags::NNEG) => {
                                let mut known = of.zext(bits);
                                known.zero |= 1 << (of.bits - 1);
                                known
                            }
                            _ => of.zext(bits),
                        }
                    }
                    CastOp::SExt => of.sext(bits),
                    CastOp::Trunc | CastOp::PtrToInt | CastOp::IntToPtr if of.bits >= bits => of.trunc(bits),
                    CastOp::Bitcast if of.bits == bits && self.same_shape(*from, inst) => of,
                    _ => unknown,
                }
            }
            Op::Select(_, [_, a, b]) => {
                let a = self.value(*a);
                if a.zero | a.one == 0 { unknown } else { a.meet(&self.value(*b)) }
            }
            Op::Freeze(_) => unknown,
            Op::Phi(incoming) => self.phi(inst, incoming.iter().map(|(_, value)| *value), bits),
            Op::Gep { source, base, indices, .. } => {
                let layout = &self.view.module.layout;
                let base = self.value(*base).trailing_zeros();
                let mut zeros = base;
                let mut ty = *source;
                for (at, &index) in indices.iter().enumerate() {
                    let types = &self.view.module.types;
                    let step = if at == 0 {
                        layout.size(types, ty)
                    } else if let (crate::ir::Type::Struct { .. }, Some(field)) = (&types[ty], self.view.int(index)) {
                        let offset = layout.element_offset(types, ty, field as u64);
                        ty = types.element(ty, field as u64).unwrap_or(ty);
                        zeros = zeros.min(offset.trailing_zeros());
                        continue;
                    } else {
                        ty = types.element(ty, 0).unwrap_or(ty);
                        layout.size(types, ty)
                    };
                    zeros = zeros.min(self.value(index).trailing_zeros().saturating_add(step.trailing_zeros()));
                }
                KnownBits::low_zeros(zeros, bits)
            }
            Op::Alloca { align, .. } => KnownBits::low_zeros(align.max(&1).trailing_zeros(), bits),
            Op::Load { .. } => self.range_of_load(inst, bits),
            Op::Call(call) => self.call(inst, call, bits),
            Op::ExtractElement([vector, _]) => self.value(*vector),
            Op::InsertElement([vector, element, _]) => self.value(*vector).meet(&self.value(*element)),
            _ => unknown,
        }
    }

    fn same_shape(&self, from: Value, inst: InstId) -> bool {
        let types = &self.view.module.types;
        types.element_count(self.view.ty(from)) == types.element_count(self.view.body[inst].ty)
    }

    /// What all incoming values agree on. A step of the value itself (`i = phi [0], [i + 4]`) keeps multiples.
    fn phi(&mut self, inst: InstId, incoming: impl Iterator<Item = Value>, bits: u32) -> KnownBits {
        let own = self.view.body[inst].result.expand().map(Value::Local);
        let mut known: Option<KnownBits> = None;
        // Phis of phis branch out quickly: go no deeper than their immediate inputs.
        let saved = self.depth;
        self.depth = saved.max(DEPTH - 1);
        for value in incoming {
            if Some(value) == own {
                continue;
            }
            let of = match self.view.op(value) {
                Some(Op::Binary(BinaryOp::Add, _, [a, b])) if Some(*a) == own => {
                    KnownBits::low_zeros(self.value(*b).trailing_zeros(), bits)
                }
                _ => self.value(value),
            };
            let met = known.map_or(of, |known| known.meet(&of));
            known = Some(met);
            if met.zero | met.one == 0 {
                break;
            }
        }
        self.depth = saved;
        known.unwrap_or(KnownBits::unknown(bits))
    }

    fn binary(&mut self, op: BinaryOp, flags: InstFlags, [a, b]: [Value; 2], bits: u32) -> KnownBits {
        match op {
            BinaryOp::And => {
                let (a, b) = (self.value(a), self.value(b));
                KnownBits { zero: a.zero | b.zero, one: a.one & b.one, bits }
            }
            BinaryOp::Or => {
                let (a, b) = (self.value(a), self.value(b));
                KnownBits { zero: a.zero & b.zero, one: a.one | b.one, bits }
            }
            BinaryOp::Xor => {
                let (a, b) = (self.value(a), self.value(b));
                KnownBits { zero: (a.zero & b.zero) | (a.one & b.one), one: (a.zero & b.one) | (a.one & b.zero), bits }
            }
            BinaryOp::Add => {
                let (a, b) = (self.value(a), self.value(b));
                let mut known = a.add(b, false);
                if flags.contains(InstFlags::NSW) && a.is_non_negative() && b.is_non_negative() {
                    known.zero |= 1 << (bits - 1);
                }
                known
            }
            BinaryOp::Sub => {
                let (a, b) = (self.value(a), self.value(b));
                a.add(b.not(), true)
            }
            BinaryOp::Mul => {
                let (a, b) = (self.value(a), self.value(b));
                if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant()) {
                    return KnownBits::constant(a.wrapping_mul(b), bits);
                }
                let high = (a.leading_zeros() + b.leading_zeros()).saturating_sub(bits);
                let mut known = KnownBits::low_zeros(a.trailing_zeros() + b.trailing_zeros(), bits)
                    .with(KnownBits::high_zeros(high, bits));
                if flags.contains(InstFlags::NSW) && a.is_non_negative() && b.is_non_negative() {
                    known.zero |= 1 << (bits - 1);
                }
                known
            }
            BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => self.shift(op, flags, [a, b], bits),
            BinaryOp::UDiv | BinaryOp::URem | BinaryOp::SDiv | BinaryOp::SRem => self.division(op, [a, b], bits),
            _ => KnownBits::unknown(bits),
        }
    }

    /// Shifts: by a known number of bits, or by any.
    fn shift(&mut self, op: BinaryOp, flags: InstFlags, [a, b]: [Value; 2], bits: u32) -> KnownBits {
        let unknown = KnownBits::unknown(bits);
        let by = |search: &Self| search.view.splat_int(b).filter(|&by| by < u128::from(bits)).map(|by| by as u32);
        match op {
            BinaryOp::Shl => match by(self) {
                Some(by) => {
                    let a = self.value(a);
                    let mut known = a.shl(by);
                    if flags.contains(InstFlags::NSW) && a.is_non_negative() {
                        known.zero |= 1 << (bits - 1);
                    }
                    known
                }
                None => KnownBits::low_zeros(self.value(a).trailing_zeros(), bits),
            },
            BinaryOp::LShr => match by(self) {
                Some(by) => self.value(a).lshr(by),
                None => KnownBits::high_zeros(self.value(a).leading_zeros(), bits),
            },
            BinaryOp::AShr => match by(self) {
                Some(by) => self.value(a).ashr(by),
                None => {
                    let a = self.value(a);
                    if a.is_non_negative() { KnownBits::high_zeros(a.leading_zeros(), bits) } else { unknown }
                }
            },
            _ => unknown,
        }
    }

    /// Quotients and remainders.
    fn division(&mut self, op: BinaryOp, [a, b]: [Value; 2], bits: u32) -> KnownBits {
        match op {
            BinaryOp::UDiv => {
                let (a, b) = (self.value(a), self.value(b));
                KnownBits::below((a.max() / b.min().max(1)).saturating_add(1), bits)
            }
            BinaryOp::URem => {
                let divisor = self.value(b);
                if let Some(power) = divisor.as_constant().filter(|value| value.is_power_of_two()) {
                    let of = self.value(a);
                    let low = power - 1;
                    return KnownBits { zero: of.zero | (mask(bits) & !low), one: of.one & low, bits };
                }
                let of = self.value(a);
                KnownBits::below(divisor.max().min(of.max().saturating_add(1)).max(1), bits)
            }
            BinaryOp::SDiv | BinaryOp::SRem => {
                let (a, b) = (self.value(a), self.value(b));
                // Of two numbers that are not negative, neither quotient nor remainder is larger than the first.
                if a.is_non_negative() && b.is_non_negative() {
                    KnownBits::high_zeros(a.leading_zeros(), bits)
                } else {
                    KnownBits::unknown(bits)
                }
            }
            _ => KnownBits::unknown(bits),
        }
    }

    fn range_of_load(&self, inst: InstId, bits: u32) -> KnownBits {
        let view = self.view;
        let range = view.body.attachment(inst, Attachment::Range).map(|node| view.module.metadata[node].operands());
        match range {
            Some([MetaField::Constant(low), MetaField::Constant(high)]) => {
                let constants = &view.module.constants;
                match (constants.as_int(*low), constants.as_int(*high)) {
                    (Some(low), Some(high)) => of_range((low, high), bits),
                    _ => KnownBits::unknown(bits),
                }
            }
            _ => KnownBits::unknown(bits),
        }
    }

    fn call(&mut self, inst: InstId, call: &Call, bits: u32) -> KnownBits {
        let mut known = self.range_of_load(inst, bits);
        let declared = self.view.callee(call).and_then(|symbol| symbol.function()).and_then(|f| f.ret_attributes.range);
        for range in [call.ret_attributes.range, declared].into_iter().flatten() {
            known = known.with(of_range(range, bits));
        }
        let Some(intrinsic) = called(self.view, call) else { return known };
        let arg = |search: &mut Self, index: usize| {
            call.args.get(index).map_or(KnownBits::unknown(bits), |&value| search.value(value))
        };
        let own = match intrinsic {
            // Limits of every compute capability: CUDA C++ Programming Guide, "Compute Capabilities".
            Intrinsic::TidX | Intrinsic::TidY => KnownBits::below(1024, bits),
            Intrinsic::TidZ => KnownBits::below(64, bits),
            Intrinsic::NTidX | Intrinsic::NTidY => KnownBits::below(1025, bits),
            Intrinsic::NTidZ => KnownBits::below(65, bits),
            Intrinsic::CtaIdX | Intrinsic::NCtaIdX => KnownBits::below(1 << 31, bits),
            Intrinsic::CtaIdY | Intrinsic::CtaIdZ | Intrinsic::NCtaIdY | Intrinsic::NCtaIdZ => {
                KnownBits::below(1 << 16, bits)
            }
            Intrinsic::LaneId => KnownBits::below(32, bits),
            Intrinsic::WarpSize => KnownBits::constant(32, bits),
            Intrinsic::Ctpop | Intrinsic::Ctlz | Intrinsic::Cttz => KnownBits::below(u128::from(bits) + 1, bits),
            Intrinsic::UMin => {
                let (a, b) = (arg(self, 0), arg(self, 1));
                KnownBits::high_zeros(a.leading_zeros().max(b.leading_zeros()), bits).with(common(a, b))
            }
            Intrinsic::UMax | Intrinsic::SMin | Intrinsic::SMax => {
                let (a, b) = (arg(self, 0), arg(self, 1));
                let max = intrinsic == Intrinsic::SMax && (a.is_non_negative() || b.is_non_negative());
                common(a, b).with(KnownBits::high_zeros(u32::from(max), bits))
            }
            Intrinsic::Abs => {
                let poison = call.args.get(1).is_some_and(|&flag| self.view.int(flag) == Some(1));
                let of = arg(self, 0);
                KnownBits::low_zeros(of.trailing_zeros(), bits).with(KnownBits::high_zeros(u32::from(poison), bits))
            }
            Intrinsic::Expect | Intrinsic::ExpectProbability | Intrinsic::SsaCopy | Intrinsic::Annotation => {
                arg(self, 0)
            }
            _ => KnownBits::unknown(bits),
        };
        known.with(own)
    }
}

/// The result is one of the two.
fn common(a: KnownBits, b: KnownBits) -> KnownBits {
    a.meet(&b)
}

/// A half-open range; one that wraps around says nothing here.
fn of_range((low, high): (u128, u128), bits: u32) -> KnownBits {
    if low < high { KnownBits::below(high, bits) } else { KnownBits::unknown(bits) }
}

#[cfg(test)]
mod tests;
