//! Random constants, and the input of programs.

use super::function::Maker;
use oriole_nvptx::ir::{ConstId, Constant, Type, TypeId};

/// Numbers that are often the wrong ones: as doubles.
const NUMBERS: [f64; 14] =
    [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.25, -7.0, 100.0, 65536.0, 1e-3, -1e10, f64::INFINITY, f64::NEG_INFINITY];

impl Maker {
    /// An integer of `bits` bits: small, next to a power of two, or any.
    pub(super) fn integer(&mut self, bits: u32) -> u128 {
        let value = match self.random.u32(..8) {
            0..3 => self.random.u128(..17),
            3 => self.random.u128(..17).wrapping_neg(),
            4..6 => (1u128 << self.random.u32(..bits.min(128))).wrapping_add(self.random.u128(..3)).wrapping_sub(1),
            _ => self.random.u128(..),
        };
        value & crate::int_bits::mask(bits)
    }

    /// The bits of a number of a floating-point type.
    fn number(&mut self, ty: TypeId) -> u64 {
        let number = self.choose(&NUMBERS);
        // Rounded toward zero by cutting: all of these types are a sign, an exponent and a fraction.
        match ty {
            TypeId::DOUBLE => number.to_bits(),
            TypeId::FLOAT => u64::from((number as f32).to_bits()),
            TypeId::BFLOAT => u64::from((number as f32).to_bits() >> 16),
            _ => u64::from(
                self.choose(&[0u16, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x4000, 0x4900, 0x7bff, 0x7c00, 0x0001, 0x1400]),
            ),
        }
    }

    /// A constant of any type.
    pub(super) fn constant(&mut self, ty: TypeId) -> ConstId {
        match self.module.types[ty].clone() {
            Type::Int(bits) => {
                let value = self.integer(bits);
                self.module.constants.int(ty, bits, value)
            }
            Type::Half | Type::BFloat | Type::Float | Type::Double => {
                let bits = self.number(ty);
                self.module.constants.intern(Constant::Float(ty, bits))
            }
            Type::Vector(element, len) => self.elements(ty, element, u64::from(len)),
            Type::Array(element, len) => self.elements(ty, element, len),
            Type::Struct { fields, .. } => {
                let items = fields.iter().map(|&field| self.constant(field)).collect();
                self.aggregate(ty, items)
            }
            _ => self.module.constants.intern(Constant::Null(ty)),
        }
    }

    fn elements(&mut self, ty: TypeId, element: TypeId, len: u64) -> ConstId {
        if self.random.u32(..4) == 0 {
            let all = self.constant(element);
            return self.aggregate(ty, vec![all; len as usize]);
        }
        let items = (0..len).map(|_| self.constant(element)).collect();
        self.aggregate(ty, items)
    }

    /// An aggregate, as `zeroinitializer` when all of it is 0.
    fn aggregate(&mut self, ty: TypeId, items: Vec<ConstId>) -> ConstId {
        let zero = items.iter().all(|&item| self.module.constants.is_zero(item));
        let constant = if zero { Constant::Zero(ty) } else { Constant::Aggregate(ty, items.into()) };
        self.module.constants.intern(constant)
    }

    /// The same integer in every element.
    pub(super) fn int_splat(&mut self, ty: TypeId, value: u128) -> ConstId {
        let scalar = self.module.types.scalar(ty);
        let bits = self.module.types.int_bits(scalar).unwrap_or(32);
        let one = self.module.constants.int(scalar, bits, value);
        self.splat(ty, one)
    }

    /// The same number in every element: `value` is exact in every format.
    pub(super) fn float_splat(&mut self, ty: TypeId, value: f32) -> ConstId {
        let scalar = self.module.types.scalar(ty);
        let single = u128::from(value.to_bits());
        let nearest = rustc_apfloat::Round::NearestTiesToEven;
        let format = crate::format::Format::of(&self.module.types[scalar]).unwrap_or(crate::format::Format::Single);
        let bits = format.convert(crate::format::Format::Single, single, nearest) as u64;
        let one = self.module.constants.intern(Constant::Float(scalar, bits));
        self.splat(ty, one)
    }

    fn splat(&mut self, ty: TypeId, one: ConstId) -> ConstId {
        match self.module.types.as_vector(ty) {
            Some((_, len)) => self.aggregate(ty, vec![one; len as usize]),
            None => one,
        }
    }
}

/// Bytes of all kinds: small integers, floating-point numbers of each format, any bits.
pub(super) fn input(random: &mut fastrand::Rng, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        match random.u32(..6) {
            0 => bytes.extend(random.u64(..).to_le_bytes()),
            1 => bytes.extend((random.i32(-9..100) as i64).to_le_bytes()),
            2 => bytes.extend((random.i32(-999..999) as f64 / 8.0).to_le_bytes()),
            3 => (0..2).for_each(|_| bytes.extend((random.i32(-999..999) as f32 / 16.0).to_le_bytes())),
            4 => (0..4).for_each(|_| bytes.extend((0x3000 + random.u16(..0x2000)).to_le_bytes())),
            _ => (0..4)
                .for_each(|_| bytes.extend(((0x3f00 + random.u16(..0x200)) | (random.u16(..) & 0x8000)).to_le_bytes())),
        }
    }
    bytes.truncate(len);
    bytes
}
