//! Constant expressions, folded where their operands are plain numbers.

use half::{bf16, f16};
use oriole_ptx::ast::Span;

use crate::ir::{BinaryOp, CastOp, ConstExpr, ConstId, Constant, FloatPredicate, IntPredicate, Type, TypeId};

use super::constants::mask;
use super::parser::{Parsed, Parser, error};

/// A number that arithmetic is done with.
#[derive(Clone, Copy)]
enum Number {
    /// Width and zero-extended value.
    Int(u32, u128),
    /// Exact for every type but `double`, of which it is one.
    Float(f64),
}

impl Parser<'_> {
    fn type_of(&self, id: ConstId) -> TypeId {
        self.module.constants.ty(id)
    }

    fn number(&self, id: ConstId) -> Option<Number> {
        match self.module.constants[id] {
            Constant::Int(ty, value) => {
                let bits = self.module.types.int_bits(ty).filter(|&bits| bits <= 128)?;
                Some(Number::Int(bits, value))
            }
            Constant::Float(ty, bits) => Some(Number::Float(match ty {
                TypeId::HALF => f16::from_bits(bits as u16).to_f64(),
                TypeId::BFLOAT => bf16::from_bits(bits as u16).to_f64(),
                TypeId::FLOAT => f64::from(f32::from_bits(bits as u32)),
                _ => f64::from_bits(bits),
            })),
            _ => None,
        }
    }

    /// The constant of type `ty` nearest to `value`. One rounding from `double` is right for the
    /// four operations, since it has more than twice the digits of the narrower types.
    fn float_constant(&mut self, ty: TypeId, value: f64) -> ConstId {
        let bits = match ty {
            TypeId::HALF => u64::from(f16::from_f64(value).to_bits()),
            TypeId::BFLOAT => u64::from(bf16::from_f64(value).to_bits()),
            TypeId::FLOAT => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        };
        self.intern(Constant::Float(ty, bits))
    }

    fn expr(&mut self, ty: TypeId, expr: ConstExpr) -> ConstId {
        self.intern(Constant::Expr(ty, Box::new(expr)))
    }

    /// The elements of a constant vector, array or structure, where they are known.
    fn parts(&mut self, id: ConstId) -> Option<Vec<ConstId>> {
        let ty = self.type_of(id);
        let make: fn(TypeId) -> Constant = match &self.module.constants[id] {
            Constant::Aggregate(_, items) => return Some(items.to_vec()),
            Constant::Undef(_) => Constant::Undef,
            Constant::Poison(_) => Constant::Poison,
            Constant::Zero(_) => Constant::Zero,
            Constant::Bytes(_, bytes) => {
                let bytes = bytes.to_vec();
                return Some(bytes.iter().map(|&byte| self.module.constants.int(TypeId::I8, 8, byte.into())).collect());
            }
            _ => return None,
        };
        // Longer ones are written as expressions: nobody takes one element out of them.
        let count = self.module.types.element_count(ty);
        let elements = (0..count.min(1 << 16)).filter_map(|at| self.module.types.element(ty, at)).collect::<Vec<_>>();
        (elements.len() as u64 == count).then(|| {
            elements
                .into_iter()
                .map(|element| {
                    let constant = match make(element) {
                        Constant::Zero(_) => self.zero_of(element),
                        other => other,
                    };
                    self.intern(constant)
                })
                .collect()
        })
    }

    fn zero_of(&self, ty: TypeId) -> Constant {
        match self.module.types[ty] {
            Type::Int(_) => Constant::Int(ty, 0),
            Type::Pointer(_) => Constant::Null(ty),
            _ if self.module.types.is_float(ty) => Constant::Float(ty, 0),
            _ => Constant::Zero(ty),
        }
    }

    fn same_types(&self, span: Span, a: ConstId, b: ConstId) -> Parsed<TypeId> {
        match (self.type_of(a), self.type_of(b)) {
            (a, b) if a == b => Ok(a),
            (a, b) => {
                let (a, b) = (self.module.types.text(a), self.module.types.text(b));
                Err(error(span, format!("the operands have different types, `{a}` and `{b}`")))
            }
        }
    }

    /// `add (…)` and the like.
    pub(super) fn fold_binary(&mut self, span: Span, op: BinaryOp, a: ConstId, b: ConstId) -> Parsed<ConstId> {
        let ty = self.same_types(span, a, b)?;
        let scalar = self.module.types.scalar(ty);
        let fits = match self.module.types[scalar] {
            Type::Int(_) => !op.is_float(),
            _ => op.is_float() && self.module.types.is_float(scalar),
        };
        if !fits {
            let text = self.module.types.text(ty);
            return Err(error(span, format!("`{}` does not take operands of type `{text}`", op.as_str())));
        }
        let folded = match (self.number(a), self.number(b)) {
            (Some(Number::Int(bits, a)), Some(Number::Int(_, b))) => {
                integer(op, bits, a, b).map(|value| self.module.constants.int(ty, bits, value))
            }
            (Some(Number::Float(a)), Some(Number::Float(b))) => {
                float(op, a, b).map(|value| self.float_constant(ty, value))
            }
            _ => None,
        };
        Ok(folded.unwrap_or_else(|| self.expr(ty, ConstExpr::Binary(op, a, b))))
    }

    /// `fneg (…)`, which only folds.
    pub(super) fn fold_fneg(&mut self, span: Span, value: ConstId) -> Parsed<ConstId> {
        match self.module.constants[value] {
            Constant::Float(ty, bits) => {
                let sign = 1u64 << (self.module.layout.bits(&self.module.types, ty).clamp(1, 64) - 1);
                Ok(self.intern(Constant::Float(ty, bits ^ sign)))
            }
            _ => Err(not_folded(span, "fneg")),
        }
    }

    /// `trunc (… to …)` and the like.
    pub(super) fn fold_cast(&mut self, span: Span, op: CastOp, value: ConstId, ty: TypeId) -> Parsed<ConstId> {
        let from = self.type_of(value);
        if !crate::ir::cast_takes(&self.module, op, from, ty) {
            let (from, to) = (self.module.types.text(from), self.module.types.text(ty));
            return Err(error(span, format!("`{}` does not go from `{from}` to `{to}`", op.as_str())));
        }
        if op == CastOp::Bitcast && from == ty {
            return Ok(value);
        }
        let folded = match self.module.constants[value] {
            Constant::Poison(_) => Some(self.intern(Constant::Poison(ty))),
            Constant::Null(_) if op == CastOp::PtrToInt && self.module.types.int_bits(ty).is_some() => {
                Some(self.intern(Constant::Int(ty, 0)))
            }
            Constant::Int(_, 0) if op == CastOp::IntToPtr => Some(self.intern(Constant::Null(ty))),
            Constant::Int(_, bits) if op == CastOp::Bitcast && self.is_plain_float(ty) => {
                Some(self.intern(Constant::Float(ty, bits as u64)))
            }
            Constant::Float(_, bits) if op == CastOp::Bitcast && self.module.types.int_bits(ty).is_some() => {
                Some(self.intern(Constant::Int(ty, u128::from(bits))))
            }
            _ => self.number(value).and_then(|number| self.convert(op, number, ty)),
        };
        Ok(folded.unwrap_or_else(|| self.expr(ty, ConstExpr::Cast(op, value))))
    }

    fn is_plain_float(&self, ty: TypeId) -> bool {
        matches!(self.module.types[ty], Type::Half | Type::BFloat | Type::Float | Type::Double)
    }

    fn convert(&mut self, op: CastOp, number: Number, ty: TypeId) -> Option<ConstId> {
        let bits = self.module.types.int_bits(ty);
        match (op, number) {
            (CastOp::Trunc | CastOp::ZExt, Number::Int(_, value)) if bits? <= 128 => {
                Some(self.module.constants.int(ty, bits?, value))
            }
            (CastOp::SExt, Number::Int(from, value)) if bits? <= 128 => {
                Some(self.module.constants.int(ty, bits?, sign_extend(from, value) as u128))
            }
            (CastOp::FpTrunc | CastOp::FpExt, Number::Float(value)) if self.is_plain_float(ty) && !value.is_nan() => {
                Some(self.float_constant(ty, value))
            }
            (CastOp::UiToFp, Number::Int(_, value)) if value < 1 << 53 && self.is_plain_float(ty) => {
                Some(self.float_constant(ty, value as f64))
            }
            (CastOp::SiToFp, Number::Int(from, value)) if self.is_plain_float(ty) => {
                let value = sign_extend(from, value);
                (value.unsigned_abs() < 1 << 53).then(|| self.float_constant(ty, value as f64))
            }
            (CastOp::FpToSi, Number::Float(value)) if bits? <= 53 => {
                let limit = (1i64 << (bits? - 1)) as f64;
                let whole = value.trunc();
                (whole >= -limit && whole < limit)
                    .then(|| self.module.constants.int(ty, bits.unwrap_or(0), whole as i128 as u128))
            }
            (CastOp::FpToUi, Number::Float(value)) if bits? <= 53 => {
                let whole = value.trunc();
                (whole >= 0.0 && whole < (1i64 << bits?) as f64)
                    .then(|| self.module.constants.int(ty, bits.unwrap_or(0), whole as u128))
            }
            _ => None,
        }
    }

    /// `icmp eq (…)`
    pub(super) fn fold_icmp(&mut self, span: Span, how: IntPredicate, a: ConstId, b: ConstId) -> Parsed<ConstId> {
        let ty = self.same_types(span, a, b)?;
        if let (Some(Number::Int(bits, a)), Some(Number::Int(_, b))) = (self.number(a), self.number(b)) {
            return Ok(self.module.constants.bool(how.holds(a, b, bits)));
        }
        let result = self.truth_type(ty);
        Ok(self.expr(result, ConstExpr::ICmp(how, a, b)))
    }

    /// `fcmp oeq (…)`
    pub(super) fn fold_fcmp(&mut self, span: Span, how: FloatPredicate, a: ConstId, b: ConstId) -> Parsed<ConstId> {
        let ty = self.same_types(span, a, b)?;
        if let (Some(Number::Float(a)), Some(Number::Float(b))) = (self.number(a), self.number(b)) {
            return Ok(self.module.constants.bool(compare_floats(how, a, b)));
        }
        let result = self.truth_type(ty);
        Ok(self.expr(result, ConstExpr::FCmp(how, a, b)))
    }

    /// `i1`, or a vector of as many as `ty` has.
    pub(super) fn truth_type(&mut self, ty: TypeId) -> TypeId {
        match self.module.types.as_vector(ty) {
            Some((_, len)) => self.module.types.vector(TypeId::I1, len),
            None => TypeId::I1,
        }
    }

    /// `select (…)`
    pub(super) fn fold_select(&mut self, span: Span, [condition, a, b]: [ConstId; 3]) -> Parsed<ConstId> {
        let ty = self.same_types(span, a, b)?;
        let wanted = self.truth_type(ty);
        let is = self.type_of(condition);
        if is != TypeId::I1 && is != wanted {
            return Err(error(span, "the condition of `select` is an `i1`"));
        }
        match self.module.constants[condition] {
            Constant::Int(_, value) => Ok(if value == 1 { a } else { b }),
            _ => Ok(self.expr(ty, ConstExpr::Select(condition, a, b))),
        }
    }

    /// `extractelement (…)`
    pub(super) fn fold_extract_element(&mut self, span: Span, vector: ConstId, index: ConstId) -> Parsed<ConstId> {
        let Some((element, _)) = self.module.types.as_vector(self.type_of(vector)) else {
            return Err(error(span, "`extractelement` takes a vector"));
        };
        let at = self.module.constants.as_int(index);
        if let (Some(at), Some(parts)) = (at, self.parts(vector)) {
            let part = usize::try_from(at).ok().and_then(|at| parts.get(at).copied());
            return Ok(part.unwrap_or_else(|| self.intern(Constant::Poison(element))));
        }
        Ok(self.expr(element, ConstExpr::ExtractElement(vector, index)))
    }

    /// `insertelement (…)`
    pub(super) fn fold_insert_element(&mut self, span: Span, args: [ConstId; 3]) -> Parsed<ConstId> {
        let [vector, part, index] = args;
        let ty = self.type_of(vector);
        if self.module.types.as_vector(ty).map(|(element, _)| element) != Some(self.type_of(part)) {
            return Err(error(span, "`insertelement` takes a vector and an element of it"));
        }
        let at = self.module.constants.as_int(index).and_then(|at| usize::try_from(at).ok());
        if let (Some(at), Some(mut parts)) = (at, self.parts(vector)) {
            return match parts.get_mut(at) {
                Some(place) => {
                    *place = part;
                    self.aggregate(ty, parts)
                }
                None => Ok(self.intern(Constant::Poison(ty))),
            };
        }
        Ok(self.expr(ty, ConstExpr::InsertElement(vector, part, index)))
    }

    /// `shufflevector (…)`, which only folds.
    pub(super) fn fold_shuffle(&mut self, span: Span, [a, b, mask]: [ConstId; 3]) -> Parsed<ConstId> {
        let Some((element, _)) = self.module.types.as_vector(self.same_types(span, a, b)?) else {
            return Err(error(span, "`shufflevector` takes vectors"));
        };
        let mask = self.shuffle_mask(span, a, mask)?;
        let (Some(mut parts), Some(more)) = (self.parts(a), self.parts(b)) else {
            return Err(not_folded(span, "shufflevector"));
        };
        parts.extend(more);
        let poison = self.intern(Constant::Poison(element));
        let items = mask.iter().map(|&at| parts.get(at as usize).copied().unwrap_or(poison)).collect();
        let ty = self.module.types.vector(element, mask.len() as u32);
        self.aggregate(ty, items)
    }

    /// The mask of a shuffle as numbers, -1 for any; `vector` is one of the two operands.
    pub(super) fn shuffle_mask(&mut self, span: Span, vector: ConstId, mask: ConstId) -> Parsed<Box<[i32]>> {
        let ty = self.type_of(vector);
        self.mask_for(span, ty, mask)
    }

    /// [`Parser::shuffle_mask`] for vectors of type `ty`.
    pub(super) fn mask_for(&mut self, span: Span, ty: TypeId, mask: ConstId) -> Parsed<Box<[i32]>> {
        let bad = || error(span, "the mask of `shufflevector` is a constant vector of `i32`");
        let Some((TypeId::I32, _)) = self.module.types.as_vector(self.type_of(mask)) else { return Err(bad()) };
        let limit = 2 * self.module.types.element_count(ty);
        let parts = self.parts(mask).ok_or_else(bad)?;
        parts
            .iter()
            .map(|&part| match self.module.constants[part] {
                Constant::Undef(_) | Constant::Poison(_) => Ok(-1),
                Constant::Int(_, at) if at < u128::from(limit) => Ok(at as i32),
                Constant::Int(_, at) => Err(error(span, format!("the mask names element {at} of {limit}"))),
                _ => Err(bad()),
            })
            .collect()
    }

    /// `extractvalue (…)`, which only folds.
    pub(super) fn fold_extract_value(&mut self, span: Span, whole: ConstId, path: &[u32]) -> Parsed<ConstId> {
        let mut part = whole;
        for &at in path {
            let parts = self.parts(part).ok_or_else(|| not_folded(span, "extractvalue"))?;
            part = *parts.get(at as usize).ok_or_else(|| error(span, format!("there is no element {at}")))?;
        }
        Ok(part)
    }

    /// `insertvalue (…)`, which only folds.
    pub(super) fn fold_insert_value(
        &mut self,
        span: Span,
        whole: ConstId,
        part: ConstId,
        path: &[u32],
    ) -> Parsed<ConstId> {
        let Some((&at, rest)) = path.split_first() else {
            self.same_types(span, whole, part)?;
            return Ok(part);
        };
        let mut parts = self.parts(whole).ok_or_else(|| not_folded(span, "insertvalue"))?;
        let old = *parts.get(at as usize).ok_or_else(|| error(span, format!("there is no element {at}")))?;
        parts[at as usize] = self.nested(|p| p.fold_insert_value(span, old, part, rest))?;
        let ty = self.type_of(whole);
        self.aggregate(ty, parts)
    }
}

fn not_folded(span: Span, name: &str) -> Box<oriole_ptx::diag::Diagnostic> {
    error(span, format!("`{name}` of an expression that is no plain constant is not supported"))
}

/// The value of `bits` bits as a signed number.
fn sign_extend(bits: u32, value: u128) -> i128 {
    let unused = 128 - bits.min(128);
    ((value << unused) as i128) >> unused
}

fn integer(op: BinaryOp, bits: u32, a: u128, b: u128) -> Option<u128> {
    let (sa, sb) = (sign_extend(bits, a), sign_extend(bits, b));
    let in_range = b < u128::from(bits);
    Some(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::UDiv => a.checked_div(b)?,
        BinaryOp::URem => a.checked_rem(b)?,
        BinaryOp::SDiv if mask(bits - 1) as i128 >= sa.checked_div(sb)? => sa.wrapping_div(sb) as u128,
        BinaryOp::SRem => sa.checked_rem(sb)? as u128,
        BinaryOp::Shl if in_range => a << b,
        BinaryOp::LShr if in_range => a >> b,
        BinaryOp::AShr if in_range => (sa >> b) as u128,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        _ => return None,
    })
}

/// The result, unless it is a NaN, whose bits are left to the machine.
fn float(op: BinaryOp, a: f64, b: f64) -> Option<f64> {
    let value = match op {
        BinaryOp::FAdd => a + b,
        BinaryOp::FSub => a - b,
        BinaryOp::FMul => a * b,
        BinaryOp::FDiv => a / b,
        BinaryOp::FRem => a % b,
        _ => return None,
    };
    (!value.is_nan()).then_some(value)
}

fn compare_floats(how: FloatPredicate, a: f64, b: f64) -> bool {
    let order = a.partial_cmp(&b);
    let is = |wanted: &[std::cmp::Ordering]| order.is_some_and(|order| wanted.contains(&order));
    use std::cmp::Ordering::{Equal, Greater, Less};
    match how {
        FloatPredicate::False => false,
        FloatPredicate::True => true,
        FloatPredicate::Ord => order.is_some(),
        FloatPredicate::Uno => order.is_none(),
        FloatPredicate::Oeq => is(&[Equal]),
        FloatPredicate::Ogt => is(&[Greater]),
        FloatPredicate::Oge => is(&[Greater, Equal]),
        FloatPredicate::Olt => is(&[Less]),
        FloatPredicate::Ole => is(&[Less, Equal]),
        FloatPredicate::One => is(&[Less, Greater]),
        FloatPredicate::Ueq => !is(&[Less, Greater]),
        FloatPredicate::Ugt => !is(&[Less, Equal]),
        FloatPredicate::Uge => !is(&[Less]),
        FloatPredicate::Ult => !is(&[Greater, Equal]),
        FloatPredicate::Ule => !is(&[Greater]),
        FloatPredicate::Une => !is(&[Equal]),
    }
}
