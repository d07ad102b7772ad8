//! Calls of intrinsics.

use super::function::Maker;
use super::options::Kinds;
use oriole_nvptx::ir::{BinaryOp, InstFlags, Op, Type, TypeId, Value};
use smallvec::smallvec;

/// Intrinsics on integers: name, operands of the type, flags behind them.
const INTEGERS: &[(&str, usize, usize)] = &[
    ("abs", 1, 1),
    ("smax", 2, 0),
    ("smin", 2, 0),
    ("umax", 2, 0),
    ("umin", 2, 0),
    ("ctpop", 1, 0),
    ("ctlz", 1, 1),
    ("cttz", 1, 1),
    ("bitreverse", 1, 0),
    ("fshl", 3, 0),
    ("fshr", 3, 0),
    ("sadd.sat", 2, 0),
    ("uadd.sat", 2, 0),
    ("ssub.sat", 2, 0),
    ("usub.sat", 2, 0),
];

/// Intrinsics whose result is a number and whether it overflowed.
const OVERFLOWS: &[&str] = &["sadd", "uadd", "ssub", "usub", "smul", "umul"];

/// Intrinsics on floating-point numbers: name, operands.
const FLOATS: &[(&str, usize)] = &[
    ("fabs", 1),
    ("floor", 1),
    ("ceil", 1),
    ("trunc", 1),
    ("rint", 1),
    ("nearbyint", 1),
    ("roundeven", 1),
    ("copysign", 2),
    ("minnum", 2),
    ("maxnum", 2),
    ("fma", 3),
];

/// Reductions of vectors of integers.
const REDUCTIONS: &[&str] = &["add", "mul", "and", "or", "xor", "smax", "smin", "umax", "umin"];

/// Intrinsics of NVPTX: name, types of operands, result.
const NVVM: &[(&str, &[TypeId], TypeId)] = &[
    ("mulhi.i", &[TypeId::I32, TypeId::I32], TypeId::I32),
    ("mulhi.ui", &[TypeId::I32, TypeId::I32], TypeId::I32),
    ("mulhi.ll", &[TypeId::I64, TypeId::I64], TypeId::I64),
    ("mulhi.ull", &[TypeId::I64, TypeId::I64], TypeId::I64),
    ("mul24.i", &[TypeId::I32, TypeId::I32], TypeId::I32),
    ("mul24.ui", &[TypeId::I32, TypeId::I32], TypeId::I32),
    ("sad.i", &[TypeId::I32, TypeId::I32, TypeId::I32], TypeId::I32),
    ("sad.ui", &[TypeId::I32, TypeId::I32, TypeId::I32], TypeId::I32),
    ("prmt", &[TypeId::I32, TypeId::I32, TypeId::I32], TypeId::I32),
    ("fma.rn.f", &[TypeId::FLOAT, TypeId::FLOAT, TypeId::FLOAT], TypeId::FLOAT),
    ("fma.rz.ftz.f", &[TypeId::FLOAT, TypeId::FLOAT, TypeId::FLOAT], TypeId::FLOAT),
    ("add.rz.f", &[TypeId::FLOAT, TypeId::FLOAT], TypeId::FLOAT),
    ("mul.rm.d", &[TypeId::DOUBLE, TypeId::DOUBLE], TypeId::DOUBLE),
    ("div.rn.f", &[TypeId::FLOAT, TypeId::FLOAT], TypeId::FLOAT),
    ("rcp.rn.f", &[TypeId::FLOAT], TypeId::FLOAT),
    ("sqrt.rn.f", &[TypeId::FLOAT], TypeId::FLOAT),
    ("sqrt.rn.d", &[TypeId::DOUBLE], TypeId::DOUBLE),
    ("saturate.f", &[TypeId::FLOAT], TypeId::FLOAT),
    ("fmin.f", &[TypeId::FLOAT, TypeId::FLOAT], TypeId::FLOAT),
    ("fmax.d", &[TypeId::DOUBLE, TypeId::DOUBLE], TypeId::DOUBLE),
    ("lohi.i2d", &[TypeId::I32, TypeId::I32], TypeId::DOUBLE),
    ("ui2f.rz", &[TypeId::I32], TypeId::FLOAT),
    ("ll2d.rp", &[TypeId::I64], TypeId::DOUBLE),
    ("d2f.rm", &[TypeId::DOUBLE], TypeId::FLOAT),
];

impl Maker {
    /// The suffix that a type adds to an intrinsic's name.
    fn suffix(&self, ty: TypeId) -> String {
        match &self.module.types[ty] {
            Type::Half => "f16".into(),
            Type::BFloat => "bf16".into(),
            Type::Float => "f32".into(),
            Type::Double => "f64".into(),
            Type::Vector(element, len) => format!("v{len}{}", self.suffix(*element)),
            _ => self.module.types.text(ty),
        }
    }

    /// A call of some intrinsic.
    pub(super) fn intrinsic_statement(&mut self) {
        match self.random.u32(..10) {
            0..4 => self.integer_intrinsic(),
            4 => self.overflow_intrinsic(),
            5..7 => self.float_intrinsic(),
            7 if self.has(Kinds::LIBRARY) && self.chance(3) => self.library(),
            7 if self.has(Kinds::REDUCTIONS) => self.reduction(),
            8 if self.has(Kinds::SATURATING_CASTS) => self.saturating_cast(),
            _ if self.has(Kinds::NVVM) => self.nvvm_intrinsic(),
            _ => self.integer_intrinsic(),
        }
    }

    fn integer_intrinsic(&mut self) {
        let ty = self.int_or_vector();
        let bits = self.module.types.int_bits(self.module.types.scalar(ty)).unwrap_or(32);
        if bits.is_multiple_of(16) && bits.is_power_of_two() && self.chance(8) {
            let value = self.value(ty);
            self.intrinsic(&format!("llvm.bswap.{}", self.suffix(ty)), &[(value, ty)], ty);
            return;
        }
        let (name, operands, flags) = self.choose(INTEGERS);
        let mut args: Vec<(Value, TypeId)> = (0..operands).map(|_| (self.value(ty), ty)).collect();
        for _ in 0..flags {
            args.push((self.module.constants.bool(false).into(), TypeId::I1));
        }
        self.intrinsic(&format!("llvm.{name}.{}", self.suffix(ty)), &args, ty);
    }

    fn overflow_intrinsic(&mut self) {
        let ty = self.int_type();
        let name = format!("llvm.{}.with.overflow.{}", self.choose(OVERFLOWS), self.suffix(ty));
        let args = [(self.value(ty), ty), (self.value(ty), ty)];
        let pair = self.module.types.intern(Type::Struct { fields: [ty, TypeId::I1].into(), packed: false });
        let both = self.intrinsic(&name, &args, pair);
        // Stored as a whole, the pair would be padding for the most part.
        self.pool.retain(|&(value, _)| value != both);
        self.define(Op::ExtractValue(both, smallvec![0]), ty);
        self.define(Op::ExtractValue(both, smallvec![1]), TypeId::I1);
    }

    fn float_intrinsic(&mut self) {
        let Some(ty) = self.float_or_vector() else { return };
        let scalar = self.module.types.scalar(ty);
        if self.has(Kinds::MINIMUM) && scalar != TypeId::DOUBLE && self.chance(6) {
            let name = self.choose(&["minimum", "maximum"]);
            let args = [(self.value(ty), ty), (self.value(ty), ty)];
            self.intrinsic(&format!("llvm.{name}.{}", self.suffix(ty)), &args, ty);
            return;
        }
        if matches!(scalar, TypeId::FLOAT | TypeId::DOUBLE) && self.chance(8) {
            let args = [(self.value(ty), ty)];
            self.intrinsic(&format!("llvm.sqrt.{}", self.suffix(ty)), &args, ty);
            return;
        }
        let (name, operands) = self.choose(FLOATS);
        let args: Vec<(Value, TypeId)> = (0..operands).map(|_| (self.value(ty), ty)).collect();
        self.intrinsic(&format!("llvm.{name}.{}", self.suffix(ty)), &args, ty);
    }

    /// What no single instruction does.
    fn library(&mut self) {
        if self.chance(2) {
            let ty = self.int_or_vector();
            let bits = self.module.types.int_bits(self.module.types.scalar(ty)).unwrap_or(32);
            let name = format!("llvm.{}.{}", self.choose(&["ushl.sat", "sshl.sat"]), self.suffix(ty));
            let args = [(self.value(ty), ty), (self.shift_amount(ty, bits), ty)];
            self.intrinsic(&name, &args, ty);
            return;
        }
        let Some(ty) = self.float_type() else { return };
        if self.chance(2) {
            let operands = [self.value(ty), self.value(ty)];
            self.define(Op::Binary(BinaryOp::FRem, InstFlags::empty(), operands), ty);
            return;
        }
        let classes = self.random.u128(..1024) | 3;
        let classes = self.module.constants.int(TypeId::I32, 32, classes).into();
        let args = [(self.value(ty), ty), (classes, TypeId::I32)];
        self.intrinsic(&format!("llvm.is.fpclass.{}", self.suffix(ty)), &args, TypeId::I1);
    }

    fn reduction(&mut self) {
        let element = self.int_type();
        let ty = self.vector_of(element);
        if ty == element {
            return;
        }
        let name = format!("llvm.vector.reduce.{}.{}", self.choose(REDUCTIONS), self.suffix(ty));
        let value = self.value(ty);
        self.intrinsic(&name, &[(value, ty)], element);
    }

    fn saturating_cast(&mut self) {
        let Some(from) = self.float_type() else { return };
        let to = self.plain_int_type();
        let name = self.choose(&["fptosi", "fptoui"]);
        let value = self.value(from);
        self.intrinsic(&format!("llvm.{name}.sat.{}.{}", self.suffix(to), self.suffix(from)), &[(value, from)], to);
    }

    fn nvvm_intrinsic(&mut self) {
        let (name, types, ret) = self.choose(NVVM);
        let float = types.iter().chain([&ret]).any(|&ty| self.module.types.is_float(ty));
        if float && !self.has(Kinds::FLOAT) {
            return;
        }
        let args: Vec<(Value, TypeId)> = types.iter().map(|&ty| (self.value(ty), ty)).collect();
        self.intrinsic(&format!("llvm.nvvm.{name}"), &args, ret);
    }
}
