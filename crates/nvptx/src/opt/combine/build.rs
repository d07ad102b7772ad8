//! Makes the instructions that rules ask for, simplified at once.

use cranelift_entity::SecondaryMap;

use super::simplify::simplify;
use crate::analysis::View;
use crate::ir::{BinaryOp, Body, CastOp, InstFlags, InstId, Op, TypeId, Value, ValueId};
use crate::opt::{Context, intrinsic};

/// Where rules look and build.
pub(super) struct Builder<'a, 'm> {
    pub(super) body: &'a mut Body,
    pub(super) cx: &'a mut Context<'m>,
    /// How often values are read, as of the start of the walk: a hint, no proof.
    pub(super) uses: &'a SecondaryMap<ValueId, u32>,
    /// The block so far.
    pub(super) out: &'a mut Vec<InstId>,
    /// The instruction that is rewritten: its place in the source goes to new ones.
    pub(super) like: InstId,
}

impl Builder<'_, '_> {
    /// The function as it is now.
    pub(super) fn view(&self) -> View<'_> {
        self.cx.view(self.body)
    }

    /// The operation that makes a value.
    pub(super) fn op(&self, value: Value) -> Option<&Op> {
        self.body.def_op(value)
    }

    /// The type of a value.
    pub(super) fn ty(&self, value: Value) -> TypeId {
        self.cx.ty(self.body, value)
    }

    /// The integer that a value, or each element of a vector, is.
    pub(super) fn int_of(&self, value: Value) -> Option<u128> {
        self.view().splat_int(value)
    }

    /// Width in bits of integers of a type, or of the elements of a vector.
    pub(super) fn bits(&self, ty: TypeId) -> u32 {
        self.view().scalar_bits(ty).unwrap_or(1).clamp(1, 128)
    }

    /// True when nobody else reads a value, as far as is known.
    pub(super) fn is_single(&self, value: Value) -> bool {
        value.local().is_none_or(|id| self.uses.get(id).is_none_or(|&count| count <= 1))
    }

    /// The value of an operation: one that is there already, or a new instruction's.
    pub(super) fn push(&mut self, op: Op, ty: TypeId) -> Value {
        if let Some(value) = simplify(self.cx, self.body, &op, ty) {
            return value;
        }
        let inst = self.cx.make(self.body, op, ty, self.like);
        self.out.push(inst);
        self.body.result(inst).into()
    }

    /// A binary operation.
    pub(super) fn binary(&mut self, op: BinaryOp, flags: InstFlags, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.push(Op::Binary(op, flags, [a, b]), ty)
    }

    /// A binary operation without flags, with a constant.
    pub(super) fn with(&mut self, op: BinaryOp, a: Value, b: u128) -> Value {
        let b = self.cx.int(self.ty(a), b);
        self.binary(op, InstFlags::empty(), a, b)
    }

    /// A conversion.
    pub(super) fn cast(&mut self, op: CastOp, from: Value, ty: TypeId) -> Value {
        self.push(Op::Cast(op, InstFlags::empty(), from), ty)
    }

    /// The other truth value.
    pub(super) fn not(&mut self, flag: Value) -> Value {
        self.with(BinaryOp::Xor, flag, 1)
    }

    /// A call of an intrinsic whose result has the type `ty`.
    pub(super) fn intrinsic(&mut self, name: &str, ty: TypeId, args: &[Value]) -> Value {
        let op = intrinsic::call(self.cx, name, ty, self.body, args);
        self.push(op, ty)
    }

    /// An intrinsic with the type of its result at the end of its name.
    pub(super) fn overloaded(&mut self, stem: &str, ty: TypeId, args: &[Value]) -> Value {
        let name = format!("{stem}.{}", suffix(self.cx, ty));
        self.intrinsic(&name, ty, args)
    }
}

/// The type in the name of an overloaded intrinsic.
fn suffix(cx: &Context<'_>, ty: TypeId) -> String {
    match cx.module.types.as_vector(ty) {
        Some((element, len)) => format!("v{len}{}", suffix(cx, element)),
        None => match ty {
            TypeId::HALF => "f16".into(),
            TypeId::BFLOAT => "bf16".into(),
            TypeId::FLOAT => "f32".into(),
            TypeId::DOUBLE => "f64".into(),
            _ => cx.module.types.text(ty),
        },
    }
}
