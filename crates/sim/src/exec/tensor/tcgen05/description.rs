//! The instruction descriptor of products (PTX manual, "tcgen05 instruction descriptor").

use super::super::number::{BF16, E2M1, E2M1_BYTE, E2M3, E3M2, E4M3, E5M2, F16, Number, TF32};
use oriole_isa::Opcode;

/// The shapes and types of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Description {
    bits: u32,
    opcode: Opcode,
    /// With scale factors.
    scaled: bool,
}

/// How floats lie in memory: their format, their bits in shared memory and in tensor memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Float {
    /// The format of those in tensor memory.
    pub(super) format: Number,
    /// The format of those in shared memory.
    pub(super) packed: Number,
    /// Bits of an element in shared memory; sixteen elements of fewer than eight have 16 bytes there.
    pub(super) bits: usize,
}

const fn float(format: Number) -> Float {
    Float { format, packed: format, bits: format.bits }
}

impl Description {
    /// That with these bits of an instruction.
    pub(super) fn new(bits: u32, opcode: Opcode, scaled: bool) -> Self {
        Description { bits, opcode, scaled }
    }

    fn field(self, at: u32, width: u32) -> u32 {
        self.bits >> at & ((1 << width) - 1)
    }

    fn flag(self, at: u32) -> bool {
        self.field(at, 1) != 0
    }

    /// A is sparse.
    pub(super) fn is_sparse(self) -> bool {
        self.flag(2)
    }

    /// Rows of A and D, of both blocks of a pair.
    pub(super) fn rows(self) -> usize {
        if self.scaled { self.field(27, 2) as usize * 128 } else { self.field(24, 5) as usize * 16 }
    }

    /// Columns of B and D.
    pub(super) fn columns(self) -> usize {
        self.field(17, 6) as usize * 8
    }

    /// Elements of a row of A.
    pub(super) fn depth(self) -> usize {
        match self.opcode {
            Opcode::UTCHMMA if self.field(7, 3) == 2 => 8,
            Opcode::UTCHMMA => 16,
            Opcode::UTCOMMA if self.flag(31) => 96,
            Opcode::UTCOMMA => 64,
            _ => 32,
        }
    }

    /// Results are `f16`.
    pub(super) fn has_halves(self) -> bool {
        !self.scaled && self.field(4, 2) == 0
    }

    /// Results of integers stop at the greatest and the least.
    pub(super) fn saturates(self) -> bool {
        self.flag(3)
    }

    /// A, B is negated.
    pub(super) fn negated(self) -> [bool; 2] {
        [self.flag(13), self.flag(14)]
    }

    /// A, B has neighbours along M or N beside each other.
    pub(super) fn transposed(self) -> [bool; 2] {
        if self.opcode == Opcode::UTCOMMA { [false; 2] } else { [self.flag(15), self.flag(16)] }
    }

    /// A, B has signed integers.
    pub(super) fn signed(self) -> [bool; 2] {
        [self.flag(7), self.flag(10)]
    }

    /// The first byte of the scale factors of A, of B in their words.
    pub(super) fn scale_bytes(self) -> [usize; 2] {
        [self.field(29, 2) as usize, self.field(4, 2) as usize]
    }

    /// Scale factors are `ue4m3`, not powers of two.
    pub(super) fn has_fractional_scales(self) -> bool {
        self.opcode == Opcode::UTCOMMA && !self.flag(23)
    }

    /// The floats of A and of B; `None` if they are none.
    pub(super) fn floats(self) -> Option<[Float; 2]> {
        let of = |at: u32| match (self.opcode, self.field(at, 3)) {
            (Opcode::UTCHMMA, 0) => Some(float(F16)),
            (Opcode::UTCHMMA, 1) => Some(float(BF16)),
            (Opcode::UTCHMMA, 2) => Some(float(TF32)),
            (Opcode::UTCQMMA, 0) => Some(float(E4M3)),
            (Opcode::UTCQMMA, 1) => Some(float(E5M2)),
            (Opcode::UTCQMMA, 3) => Some(Float { bits: 6, ..float(E2M3) }),
            (Opcode::UTCQMMA, 4) => Some(Float { bits: 6, ..float(E3M2) }),
            (Opcode::UTCQMMA, 5) => Some(Float { format: E2M1_BYTE, packed: E2M1, bits: 4 }),
            (Opcode::UTCOMMA, 1) => Some(float(E2M1)),
            _ => None,
        };
        let [a, b] = [of(7)?, of(10)?];
        // Those of 16 and 32 bits are not mixed.
        (self.opcode != Opcode::UTCHMMA || a == b).then_some([a, b])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_cutlass_has_them() {
        // CUTLASS, InstrDescriptor: f16 times f16 in f32, M 128, N 256: c_format 1, n_dim 32, m_dim 8.
        let plain = Description::new(1 << 4 | 32 << 17 | 8 << 24, Opcode::UTCHMMA, false);
        assert_eq!((plain.rows(), plain.columns(), plain.depth(), plain.has_halves()), (128, 256, 16, false));
        // InstrDescriptorBlockScaled: e2m1, scale_format 1 (ue8m0), n_dim 8, m_dim 1, a_sf_id 2, b_sf_id 1.
        let bits = 1 << 7 | 1 << 10 | 1 << 4 | 8 << 17 | 1 << 23 | 1 << 27 | 2 << 29;
        let scaled = Description::new(bits, Opcode::UTCOMMA, true);
        assert_eq!((scaled.rows(), scaled.columns(), scaled.depth()), (128, 64, 64));
        assert_eq!((scaled.scale_bytes(), scaled.has_fractional_scales()), ([2, 1], false));
    }
}
