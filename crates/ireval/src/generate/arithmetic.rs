//! Arithmetic, comparisons, conversions, and what takes vectors and aggregates apart.

use super::function::Maker;
use super::options::Kinds;
use oriole_nvptx::ir::{BinaryOp, CastOp, FloatPredicate, InstFlags, IntPredicate, Op, Type, TypeId, Value};
use smallvec::smallvec;

const NONE: InstFlags = InstFlags::empty();

impl Maker {
    pub(super) fn int_predicate(&mut self) -> IntPredicate {
        self.choose(IntPredicate::ALL)
    }

    /// A statement of arithmetic.
    pub(super) fn arithmetic_statement(&mut self) {
        match self.random.u32(..16) {
            0..5 => self.integer_operation(),
            5..7 => self.float_operation(),
            7..9 => self.comparison(),
            9..11 => self.select(),
            11..14 => self.conversion(),
            14 => self.vector_statement(),
            _ => self.aggregate_statement(),
        }
    }

    /// An integer type, or a vector of one.
    pub(super) fn int_or_vector(&mut self) -> TypeId {
        let ty = self.int_type();
        if self.chance(5) { self.vector_of(ty) } else { ty }
    }

    /// A floating-point type, or a vector of one.
    pub(super) fn float_or_vector(&mut self) -> Option<TypeId> {
        let ty = self.float_type()?;
        Some(if self.chance(4) { self.vector_of(ty) } else { ty })
    }

    pub(super) fn binary(&mut self, op: BinaryOp, ty: TypeId, a: Value, b: Value) -> Value {
        self.emit(Op::Binary(op, NONE, [a, b]), ty)
    }

    fn integer_operation(&mut self) {
        use BinaryOp::*;
        let ty = self.int_or_vector();
        let scalar = self.module.types.scalar(ty);
        let bits = self.module.types.int_bits(scalar).unwrap_or(32);
        let op = self.choose(&[Add, Add, Sub, Mul, Mul, And, Or, Xor, Shl, LShr, AShr, UDiv, SDiv, URem, SRem]);
        let a = self.value(ty);
        if op.is_int_division() {
            if self.has(Kinds::DIVISION) && bits > 1 {
                self.division(op, ty, bits, a);
            }
            return;
        }
        if matches!(op, Shl | LShr | AShr) {
            let amount = self.shift_amount(ty, bits);
            self.define(Op::Binary(op, NONE, [a, amount]), ty);
            return;
        }
        let b = self.value(ty);
        if matches!(op, Add | Sub | Mul) && bits >= 8 && self.chance(5) {
            return self.without_overflow(op, ty, bits, a, b);
        }
        self.define(Op::Binary(op, NONE, [a, b]), ty);
    }

    /// A sum or product of operands so small that neither `nuw` nor `nsw` is broken.
    fn without_overflow(&mut self, op: BinaryOp, ty: TypeId, bits: u32, a: Value, b: Value) {
        let kept = if op == BinaryOp::Mul { bits / 2 - 1 } else { bits - 2 };
        let mask = self.int_splat(ty, (1 << kept) - 1).into();
        let [a, b] = [a, b].map(|operand| self.binary(BinaryOp::And, ty, operand, mask));
        let flags = if op == BinaryOp::Sub { InstFlags::NSW } else { InstFlags::NSW | InstFlags::NUW };
        self.define(Op::Binary(op, flags, [a, b]), ty);
    }

    /// A shift amount below the width.
    pub(super) fn shift_amount(&mut self, ty: TypeId, bits: u32) -> Value {
        if self.chance(2) {
            let amount = self.random.u32(..bits);
            return self.int_splat(ty, u128::from(amount)).into();
        }
        let amount = self.value(ty);
        let mask = (1 << bits.ilog2()) - 1;
        let mask = self.int_splat(ty, mask).into();
        self.binary(BinaryOp::And, ty, amount, mask)
    }

    /// A division whose divisor is neither 0 nor -1.
    fn division(&mut self, op: BinaryOp, ty: TypeId, bits: u32, a: Value) {
        let divisor = if self.chance(2) {
            let value = match self.random.u32(..3) {
                0 => 1 << self.random.u32(..bits),
                1 => self.random.u128(1..12),
                _ => self.integer(bits),
            };
            let value = value & crate::int_bits::mask(bits);
            let bad = value == 0 || value == crate::int_bits::mask(bits);
            self.int_splat(ty, if bad { 1 } else { value }).into()
        } else {
            // An odd number below half of the range: positive, whether signed or not.
            let value = self.value(ty);
            let mask = self.int_splat(ty, (1 << (bits - 1)) - 1).into();
            let one = self.int_splat(ty, 1).into();
            let value = self.binary(BinaryOp::And, ty, value, mask);
            let signed = matches!(op, BinaryOp::SDiv | BinaryOp::SRem);
            // Of two bits, 1 is all there is, and -1 if signed.
            if bits == 2 && signed { one } else { self.binary(BinaryOp::Or, ty, value, one) }
        };
        self.define(Op::Binary(op, NONE, [a, divisor]), ty);
    }

    fn float_operation(&mut self) {
        use BinaryOp::{FAdd, FDiv, FMul, FSub};
        let Some(ty) = self.float_or_vector() else { return };
        let a = self.value(ty);
        if self.chance(8) {
            self.define(Op::FNeg(NONE, a), ty);
            return;
        }
        let op = self.choose(&[FAdd, FAdd, FSub, FMul, FMul, FDiv]);
        let b = self.value(ty);
        self.define(Op::Binary(op, NONE, [a, b]), ty);
    }

    /// The type of the result of comparing values of a type.
    fn truth(&mut self, ty: TypeId) -> TypeId {
        match self.module.types.as_vector(ty) {
            Some((_, len)) => self.module.types.vector(TypeId::I1, len),
            None => TypeId::I1,
        }
    }

    fn comparison(&mut self) {
        let float = if self.chance(3) { self.float_or_vector() } else { None };
        if let Some(ty) = float {
            let (operands, truth) = ([self.value(ty), self.value(ty)], self.truth(ty));
            let predicate = self.choose(FloatPredicate::ALL);
            self.define(Op::FCmp(predicate, NONE, operands), truth);
            return;
        }
        let ty = self.int_or_vector();
        let (operands, truth) = ([self.value(ty), self.value(ty)], self.truth(ty));
        let predicate = self.int_predicate();
        self.define(Op::ICmp(predicate, NONE, operands), truth);
    }

    fn select(&mut self) {
        let ty = self.value_type();
        let truth = if self.chance(2) { self.truth(ty) } else { TypeId::I1 };
        let operands = [self.value(truth), self.value(ty), self.value(ty)];
        self.define(Op::Select(NONE, operands), ty);
    }

    /// A type with other elements, as many.
    fn like(&mut self, ty: TypeId, scalar: TypeId) -> TypeId {
        match self.module.types.as_vector(ty) {
            Some((_, len)) => self.module.types.vector(scalar, len),
            None => scalar,
        }
    }

    fn conversion(&mut self) {
        match self.random.u32(..6) {
            0..3 => self.int_conversion(),
            3 => self.float_conversion(),
            4 if self.has(Kinds::CONVERSIONS) => self.mixed_conversion(),
            _ => self.bitcast(),
        }
    }

    fn int_conversion(&mut self) {
        let from = self.int_or_vector();
        let scalar = self.int_type();
        let to = self.like(from, scalar);
        let [a, b] = [from, to].map(|ty| self.module.types.int_bits(self.module.types.scalar(ty)).unwrap_or(0));
        let value = self.value(from);
        let op = match a.cmp(&b) {
            std::cmp::Ordering::Less => self.choose(&[CastOp::ZExt, CastOp::SExt]),
            std::cmp::Ordering::Greater => CastOp::Trunc,
            std::cmp::Ordering::Equal => {
                self.define(Op::Freeze(value), from);
                return;
            }
        };
        self.define(Op::Cast(op, NONE, value), to);
    }

    fn float_conversion(&mut self) {
        let (Some(from), Some(scalar)) = (self.float_or_vector(), self.float_type()) else { return };
        let to = self.like(from, scalar);
        let [a, b] = [from, to].map(|ty| self.module.layout.bits(&self.module.types, self.module.types.scalar(ty)));
        if a == b {
            return;
        }
        let value = self.value(from);
        let op = if a < b { CastOp::FpExt } else { CastOp::FpTrunc };
        self.define(Op::Cast(op, NONE, value), to);
    }

    /// Between integers and floating-point numbers.
    fn mixed_conversion(&mut self) {
        let Some(float) = self.float_or_vector() else { return };
        let scalar = self.int_type();
        let bits = self.module.types.int_bits(scalar).unwrap_or(0);
        let int = self.like(float, scalar);
        if !(8..=64).contains(&bits) {
            return;
        }
        if self.chance(2) {
            let value = self.value(int);
            let op = self.choose(&[CastOp::UiToFp, CastOp::SiToFp]);
            self.define(Op::Cast(op, NONE, value), float);
            return;
        }
        // Numbers from 0 to 100 fit into any integer of 8 bits.
        let value = self.value(float);
        let [low, high] = [0.0, 100.0].map(|bound| Value::from(self.float_splat(float, bound)));
        let truth = self.truth(float);
        let above = self.emit(Op::FCmp(FloatPredicate::Oge, NONE, [value, low]), truth);
        let below = self.emit(Op::FCmp(FloatPredicate::Ole, NONE, [value, high]), truth);
        let inside = self.binary(BinaryOp::And, truth, above, below);
        let value = self.emit(Op::Select(NONE, [inside, value, high]), float);
        let op = self.choose(&[CastOp::FpToUi, CastOp::FpToSi]);
        self.define(Op::Cast(op, NONE, value), int);
    }

    /// A number with 0 in the place of NaN, whose bits are open.
    fn without_nan(&mut self, ty: TypeId, value: Value) -> Value {
        let truth = self.truth(ty);
        let zero = self.float_splat(ty, 0.0).into();
        let ordered = self.emit(Op::FCmp(FloatPredicate::Ord, NONE, [value, value]), truth);
        self.emit(Op::Select(NONE, [ordered, value, zero]), ty)
    }

    fn bitcast(&mut self) {
        let from = self.value_type();
        let bits = self.module.layout.bits(&self.module.types, from);
        let Some(to) = self.type_of_bits(bits) else { return };
        let mut value = self.value(from);
        if self.module.types.is_float(self.module.types.scalar(from)) {
            value = self.without_nan(from, value);
        }
        self.define(Op::Cast(CastOp::Bitcast, NONE, value), to);
    }

    /// A type of so many bits.
    fn type_of_bits(&mut self, bits: u64) -> Option<TypeId> {
        for _ in 0..8 {
            let scalar = self.scalar_type();
            let own = self.module.layout.bits(&self.module.types, scalar);
            if own == bits {
                return Some(scalar);
            }
            if self.has(Kinds::VECTORS) && bits.is_multiple_of(own) && (2..=8).contains(&(bits / own)) {
                return Some(self.module.types.vector(scalar, (bits / own) as u32));
            }
        }
        None
    }

    // -------------------------------------------------------------- vectors and aggregates

    /// An index below `len`.
    fn index_below(&mut self, len: u32) -> Value {
        if self.chance(2) {
            let at = self.random.u32(..len);
            return self.module.constants.int(TypeId::I32, 32, u128::from(at)).into();
        }
        let value = self.value(TypeId::I32);
        let (op, bound) = if len.is_power_of_two() { (BinaryOp::And, len - 1) } else { (BinaryOp::URem, len) };
        let bound = self.module.constants.int(TypeId::I32, 32, u128::from(bound)).into();
        self.binary(op, TypeId::I32, value, bound)
    }

    fn vector_statement(&mut self) {
        let scalar = self.scalar_type();
        let ty = self.vector_of(scalar);
        let Some((element, len)) = self.module.types.as_vector(ty) else { return };
        let vector = self.value(ty);
        match self.random.u32(..3) {
            0 => {
                let index = self.index_below(len);
                self.define(Op::ExtractElement([vector, index]), element);
            }
            1 => {
                let (value, index) = (self.value(element), self.index_below(len));
                self.define(Op::InsertElement([vector, value, index]), ty);
            }
            _ => {
                let other = self.value(ty);
                let result = self.vector_of(element);
                let count = self.module.types.as_vector(result).map_or(1, |(_, len)| len);
                let mask = (0..count).map(|_| self.random.i32(..2 * len as i32).max(0)).collect();
                self.define(Op::Shuffle([vector, other], mask), result);
            }
        }
    }

    fn aggregate_statement(&mut self) {
        let ty = self.aggregate_type(1);
        if !self.module.types.is_aggregate(ty) {
            return;
        }
        let aggregate = self.value(ty);
        let (mut path, mut inner) = (smallvec![], ty);
        while self.module.types.is_aggregate(inner) && (path.is_empty() || !self.chance(3)) {
            let count = match &self.module.types[inner] {
                Type::Array(_, len) => *len as u32,
                Type::Struct { fields, .. } => fields.len() as u32,
                _ => 1,
            };
            let at = self.random.u32(..count);
            path.push(at);
            inner = self.module.types.element(inner, u64::from(at)).unwrap_or(inner);
        }
        if self.chance(2) {
            self.define(Op::ExtractValue(aggregate, path), inner);
        } else {
            let value = self.value(inner);
            self.define(Op::InsertValue([aggregate, value], path), ty);
        }
    }
}
