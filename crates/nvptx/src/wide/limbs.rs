//! Arithmetic on limbs, written behind the instructions of a block.

use cranelift_entity::packed_option::PackedOption;

use super::LIMB;
use crate::ir::{BinaryOp, Body, CastOp, InstFlags, InstId, IntPredicate, MetaId, Module, Op, TypeId, Value};

/// The value of an integer, the lowest limb first. Bits above its width have no meaning.
pub(super) type Limbs = Vec<Value>;

/// Writes instructions.
pub(super) struct Writer<'a> {
    pub(super) module: &'a mut Module,
    pub(super) body: &'a mut Body,
    /// The instructions of the block so far.
    pub(super) insts: Vec<InstId>,
    /// The place in the source of what is written.
    pub(super) loc: PackedOption<MetaId>,
}

impl Writer<'_> {
    /// Makes an instruction with a result.
    pub(super) fn push(&mut self, op: Op, ty: TypeId) -> Value {
        let inst = self.effect(op, ty);
        self.body.result(inst).into()
    }

    /// Makes an instruction.
    pub(super) fn effect(&mut self, op: Op, ty: TypeId) -> InstId {
        let inst = self.body.make_inst(op, ty);
        self.body[inst].loc = self.loc;
        self.insts.push(inst);
        inst
    }

    pub(super) fn int(&mut self, value: u64) -> Value {
        self.module.constants.int(TypeId::I64, LIMB, value.into()).into()
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.typed(op, a, b, TypeId::I64)
    }

    pub(super) fn typed(&mut self, op: BinaryOp, a: Value, b: Value, ty: TypeId) -> Value {
        self.push(Op::Binary(op, InstFlags::empty(), [a, b]), ty)
    }

    pub(super) fn cast(&mut self, op: CastOp, value: Value, to: TypeId) -> Value {
        if self.body.type_of(value, &self.module.constants) == to {
            return value;
        }
        self.push(Op::Cast(op, InstFlags::empty(), value), to)
    }

    pub(super) fn compare(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        self.push(Op::ICmp(predicate, InstFlags::empty(), [a, b]), TypeId::I1)
    }

    pub(super) fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        self.push(Op::Select(InstFlags::empty(), [condition, a, b]), TypeId::I64)
    }

    /// Each limb of both, by one operation.
    pub(super) fn each(&mut self, op: BinaryOp, a: &[Value], b: &[Value]) -> Limbs {
        a.iter().zip(b).map(|(&a, &b)| self.binary(op, a, b)).collect()
    }

    pub(super) fn choose(&mut self, condition: Value, a: &[Value], b: &[Value]) -> Limbs {
        a.iter().zip(b).map(|(&a, &b)| self.select(condition, a, b)).collect()
    }

    /// `limbs` with the bits above `bits` 0, or copies of the sign.
    pub(super) fn extended(&mut self, limbs: &[Value], bits: u32, signed: bool) -> Limbs {
        let mut limbs = limbs.to_vec();
        let used = bits % LIMB;
        if let Some(top) = limbs.last_mut().filter(|_| used != 0) {
            let value = *top;
            *top = match signed {
                false => {
                    let mask = self.int((1 << used) - 1);
                    self.binary(BinaryOp::And, value, mask)
                }
                true => {
                    let above = self.int((LIMB - used).into());
                    let up = self.binary(BinaryOp::Shl, value, above);
                    self.binary(BinaryOp::AShr, up, above)
                }
            };
        }
        limbs
    }

    /// `limbs` with as many limbs as `to` bits take.
    pub(super) fn resized(&mut self, limbs: &[Value], bits: u32, to: u32, signed: bool) -> Limbs {
        let count = to.div_ceil(LIMB) as usize;
        if to <= bits {
            return limbs[..count].to_vec();
        }
        let mut limbs = self.extended(limbs, bits, signed);
        let above = match (signed, limbs.last()) {
            (true, Some(&top)) => self.sign(top),
            _ => self.int(0),
        };
        limbs.resize(count, above);
        limbs
    }

    /// 64 copies of the sign.
    pub(super) fn sign(&mut self, limb: Value) -> Value {
        let last = self.int((LIMB - 1).into());
        self.binary(BinaryOp::AShr, limb, last)
    }

    /// The sum.
    pub(super) fn add(&mut self, a: &[Value], b: &[Value]) -> Limbs {
        let mut carry: Option<Value> = None;
        let mut sums = Limbs::new();
        for (&a, &b) in a.iter().zip(b) {
            let sum = self.binary(BinaryOp::Add, a, b);
            let over = self.compare(IntPredicate::Ult, sum, a);
            let (sum, over) = match carry {
                None => (sum, over),
                Some(carry) => {
                    let carry = self.cast(CastOp::ZExt, carry, TypeId::I64);
                    let whole = self.binary(BinaryOp::Add, sum, carry);
                    let again = self.compare(IntPredicate::Ult, whole, sum);
                    (whole, self.typed(BinaryOp::Or, over, again, TypeId::I1))
                }
            };
            carry = Some(over);
            sums.push(sum);
        }
        sums
    }

    /// The difference.
    pub(super) fn sub(&mut self, a: &[Value], b: &[Value]) -> Limbs {
        let mut borrow: Option<Value> = None;
        let mut differences = Limbs::new();
        for (&a, &b) in a.iter().zip(b) {
            let difference = self.binary(BinaryOp::Sub, a, b);
            let under = self.compare(IntPredicate::Ult, a, b);
            let (difference, under) = match borrow {
                None => (difference, under),
                Some(borrow) => {
                    let borrow = self.cast(CastOp::ZExt, borrow, TypeId::I64);
                    let again = self.compare(IntPredicate::Ult, difference, borrow);
                    let whole = self.binary(BinaryOp::Sub, difference, borrow);
                    (whole, self.typed(BinaryOp::Or, under, again, TypeId::I1))
                }
            };
            borrow = Some(under);
            differences.push(difference);
        }
        differences
    }

    /// The product, as many limbs as the factors have: digit by digit, as by hand. A limb of the sum, a product and the
    /// carry fit into 128 bits together.
    pub(super) fn mul(&mut self, a: &[Value], b: &[Value]) -> Limbs {
        let zero = self.int(0);
        let mut sums = vec![zero; a.len()];
        for (low, &b) in b.iter().enumerate() {
            let b = self.cast(CastOp::ZExt, b, TypeId::I128);
            let mut carry = zero;
            for at in low..a.len() {
                let a = self.cast(CastOp::ZExt, a[at - low], TypeId::I128);
                let product = self.typed(BinaryOp::Mul, a, b, TypeId::I128);
                let old = self.cast(CastOp::ZExt, sums[at], TypeId::I128);
                let carried = self.cast(CastOp::ZExt, carry, TypeId::I128);
                let sum = self.typed(BinaryOp::Add, product, old, TypeId::I128);
                let sum = self.typed(BinaryOp::Add, sum, carried, TypeId::I128);
                [sums[at], carry] = self.halves(sum);
            }
        }
        sums
    }

    /// The two limbs of 128 bits.
    pub(super) fn halves(&mut self, value: Value) -> [Value; 2] {
        let half = self.module.constants.int(TypeId::I128, 128, LIMB.into()).into();
        let high = self.typed(BinaryOp::LShr, value, half, TypeId::I128);
        [value, high].map(|part| self.cast(CastOp::Trunc, part, TypeId::I64))
    }

    /// 128 bits from two limbs.
    pub(super) fn joined(&mut self, low: Value, high: Value) -> Value {
        let [low, high] = [low, high].map(|part| self.cast(CastOp::ZExt, part, TypeId::I128));
        let half = self.module.constants.int(TypeId::I128, 128, LIMB.into()).into();
        let high = self.typed(BinaryOp::Shl, high, half, TypeId::I128);
        self.typed(BinaryOp::Or, low, high, TypeId::I128)
    }

    /// Compares integers of `bits` bits.
    pub(super) fn ordered(&mut self, predicate: IntPredicate, a: &[Value], b: &[Value], bits: u32) -> Value {
        use IntPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let a = self.extended(a, bits, predicate.is_signed());
        let b = self.extended(b, bits, predicate.is_signed());
        match predicate {
            Eq | Ne => {
                let differences = self.each(BinaryOp::Xor, &a, &b);
                let zero = self.int(0);
                let any = differences.into_iter().fold(zero, |any, limb| self.binary(BinaryOp::Or, any, limb));
                self.compare(predicate, any, zero)
            }
            Ult => self.less(&a, &b, Ult),
            Slt => self.less(&a, &b, Slt),
            Ugt => self.less(&b, &a, Ult),
            Sgt => self.less(&b, &a, Slt),
            Uge | Ule | Sge | Sle => {
                let less = match predicate {
                    Uge => self.less(&a, &b, Ult),
                    Sge => self.less(&a, &b, Slt),
                    Ule => self.less(&b, &a, Ult),
                    _ => self.less(&b, &a, Slt),
                };
                let yes = self.module.constants.bool(true).into();
                self.typed(BinaryOp::Xor, less, yes, TypeId::I1)
            }
        }
    }

    /// Whether a < b: the highest limb that differs decides, compared by `top` if it is the last.
    fn less(&mut self, a: &[Value], b: &[Value], top: IntPredicate) -> Value {
        let mut less: Value = self.module.constants.bool(false).into();
        let last = a.len() - 1;
        for (at, (&a, &b)) in a.iter().zip(b).enumerate() {
            let predicate = if at == last { top } else { IntPredicate::Ult };
            let below = self.compare(predicate, a, b);
            let same = self.compare(IntPredicate::Eq, a, b);
            less = self.push(Op::Select(InstFlags::empty(), [same, less, below]), TypeId::I1);
        }
        less
    }
}
