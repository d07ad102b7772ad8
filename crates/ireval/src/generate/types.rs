//! Random types.

use super::function::Maker;
use super::options::Kinds;
use oriole_nvptx::ir::{Type, TypeId};

/// Widths of integers that no register has.
const ODD_WIDTHS: [u32; 9] = [2, 5, 7, 12, 24, 31, 33, 48, 63];

impl Maker {
    /// An integer type.
    pub(super) fn int_type(&mut self) -> TypeId {
        match self.random.u32(..20) {
            0..2 => TypeId::I1,
            2..5 => TypeId::I8,
            5..8 => TypeId::I16,
            8..13 => TypeId::I32,
            13..17 => TypeId::I64,
            17 if self.has(Kinds::WIDE) => TypeId::I128,
            18.. if self.has(Kinds::ODD) => {
                let bits = self.choose(&ODD_WIDTHS);
                self.module.types.int(bits)
            }
            _ => TypeId::I32,
        }
    }

    /// An integer type of 8 to 64 bits that memory holds without padding.
    pub(super) fn plain_int_type(&mut self) -> TypeId {
        self.choose(&[TypeId::I8, TypeId::I16, TypeId::I32, TypeId::I32, TypeId::I64])
    }

    /// A floating-point type, if there may be any.
    pub(super) fn float_type(&mut self) -> Option<TypeId> {
        let mut all = Vec::new();
        if self.has(Kinds::FLOAT) {
            all.extend([TypeId::FLOAT, TypeId::FLOAT, TypeId::DOUBLE]);
        }
        if self.has(Kinds::HALF) {
            all.push(TypeId::HALF);
        }
        if self.has(Kinds::BFLOAT) {
            all.push(TypeId::BFLOAT);
        }
        (!all.is_empty()).then(|| self.choose(&all))
    }

    /// An integer or floating-point type.
    pub(super) fn scalar_type(&mut self) -> TypeId {
        match self.random.u32(..3) {
            0 => self.float_type().unwrap_or(TypeId::I32),
            _ => self.int_type(),
        }
    }

    /// A vector of two to eight elements, or its element if there are to be none.
    pub(super) fn vector_of(&mut self, element: TypeId) -> TypeId {
        if !self.has(Kinds::VECTORS) {
            return element;
        }
        let len = self.choose(&[2, 2, 2, 3, 4, 4, 4, 5, 8]);
        self.module.types.vector(element, len)
    }

    /// The type of a value that arithmetic takes.
    pub(super) fn value_type(&mut self) -> TypeId {
        let scalar = self.scalar_type();
        if self.random.u32(..5) == 0 { self.vector_of(scalar) } else { scalar }
    }

    /// A structure or array of scalars, vectors and smaller ones.
    pub(super) fn aggregate_type(&mut self, depth: u32) -> TypeId {
        if !self.has(Kinds::AGGREGATES) {
            return TypeId::I32;
        }
        let part = |maker: &mut Maker| match maker.random.u32(..6) {
            0 if depth > 0 => maker.aggregate_type(depth - 1),
            1 => {
                let element = maker.memory_scalar();
                maker.vector_of(element)
            }
            _ => maker.memory_scalar(),
        };
        if self.random.u32(..3) == 0 {
            let element = part(self);
            let len = self.random.u64(1..4);
            return self.module.types.intern(Type::Array(element, len));
        }
        let fields = (0..self.random.u32(1..5)).map(|_| part(self)).collect();
        let packed = self.random.u32(..8) == 0;
        self.module.types.intern(Type::Struct { fields, packed })
    }

    /// An aggregate all of whose bytes are part of a scalar: what else there is, a call does not copy.
    pub(super) fn aggregate_without_padding(&mut self) -> TypeId {
        loop {
            let ty = self.aggregate_type(1);
            if self.covered(ty) == self.module.layout.size(&self.module.types, ty) {
                return ty;
            }
        }
    }

    /// Bytes of the scalars of a type.
    fn covered(&self, ty: TypeId) -> u64 {
        match &self.module.types[ty] {
            Type::Array(element, len) => self.covered(*element) * len,
            Type::Struct { fields, .. } => fields.iter().map(|&field| self.covered(field)).sum(),
            _ => self.module.layout.store_size(&self.module.types, ty),
        }
    }

    /// A scalar type that memory holds without padding.
    pub(super) fn memory_scalar(&mut self) -> TypeId {
        match self.random.u32(..8) {
            0..2 => self.float_type().unwrap_or(TypeId::I16),
            2 if self.has(Kinds::WIDE) => TypeId::I128,
            _ => self.plain_int_type(),
        }
    }

    /// A type that any bytes are a value of.
    pub(super) fn memory_type(&mut self) -> TypeId {
        match self.random.u32(..8) {
            0 => self.aggregate_type(1),
            1..3 => {
                let element = self.memory_scalar();
                self.vector_of(element)
            }
            _ => self.memory_scalar(),
        }
    }

    /// A type of a parameter or result.
    pub(super) fn passed_type(&mut self) -> TypeId {
        loop {
            let ty = if self.chance(5) { self.aggregate_type(1) } else { self.value_type() };
            if self.has(Kinds::ANY_ARGUMENT) || self.is_common_argument(ty) {
                return ty;
            }
        }
    }

    /// False for vectors and aggregates of `i128` or of integers of odd widths.
    fn is_common_argument(&self, ty: TypeId) -> bool {
        let types = &self.module.types;
        let common = |part: TypeId| {
            self.is_common_argument(part) && part != TypeId::I128 && (self.is_plain(part) || types.is_aggregate(part))
        };
        match &types[ty] {
            Type::Vector(element, _) | Type::Array(element, _) => common(*element),
            Type::Struct { fields, .. } => fields.iter().all(|&field| common(field)),
            _ => true,
        }
    }
}
