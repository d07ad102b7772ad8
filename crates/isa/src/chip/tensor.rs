//! Products in tensor memory (`tcgen05`): how long they keep the unit of a multiprocessor.

use super::description::{Chip, SHARED_BYTES};
use crate::{ASpace, CpShape, Field, Inst, Opcode, Role, Value};

/// Bytes of a row of A, or of a column of B, in one product, whatever the type; of B twice as many if A is sparse.
const ROW_BYTES: u64 = 32;
/// Elements of f16 in these bytes.
const ROW_HALVES: u64 = 16;
/// Rows that the unit multiplies at a time: 64 leave half of it idle (?).
const ROWS: u64 = 128;

/// What an instruction says of a product; the rest is in the description of the shape, in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorProduct {
    /// It multiplies integers.
    is_integer: bool,
    /// Two blocks do it together, each its rows.
    is_pair: bool,
    /// A lies in shared memory.
    is_a_shared: bool,
}

impl TensorProduct {
    /// Those of `inst`, if it is a product in tensor memory.
    pub fn of(inst: &Inst) -> Option<TensorProduct> {
        matches!(inst.opcode, Opcode::UTCHMMA | Opcode::UTCIMMA | Opcode::UTCQMMA | Opcode::UTCOMMA).then(|| {
            TensorProduct {
                is_integer: inst.opcode == Opcode::UTCIMMA,
                is_pair: inst.get(Field::CTA_PAIR),
                is_a_shared: inst.get(Field::A_SPACE) == ASpace::DESC,
            }
        })
    }

    /// The uniform register with the description of the shape (PTX manual, "instruction descriptor").
    pub fn shape_register(inst: &Inst) -> Option<u16> {
        TensorProduct::of(inst)?;
        match inst.operands.get(inst.opcode.position(Role::Meta)?)?.value {
            Value::Reg(_, register) => Some(register + 1),
            _ => None,
        }
    }
}

impl Chip {
    /// Cycles that a product keeps the unit, of the shape that `shape` describes: its multiply-adds, or the bytes of its
    /// operands in shared memory if these take longer. All types but integers take as long as f16: as the rows have the
    /// same bytes, twice as many elements of half the size are multiplied at twice the rate; a sparse A does for twice as many.
    pub fn tensor_product_cycles(&self, product: TensorProduct, shape: u32) -> u64 {
        let (m, n) = (u64::from(shape >> 24 & 31) << 4, u64::from(shape >> 17 & 63) << 3);
        let rows = (m >> u32::from(product.is_pair)).max(ROWS);
        let figures = &self.tensor_memory;
        let (elements, rate) = match product.is_integer {
            true => (2 * ROW_HALVES, figures.matrix_int8),
            false => (ROW_HALVES, figures.matrix),
        };
        let products = (rows * n * elements).div_ceil(u64::from(rate.max(1)));
        let sparse = u32::from(shape >> 2 & 1 != 0);
        let a_bytes = if product.is_a_shared { (m >> u32::from(product.is_pair)) * ROW_BYTES } else { 0 };
        products.max((a_bytes + ((n * ROW_BYTES) << sparse)).div_ceil(SHARED_BYTES))
    }

    /// Cycles that a copy from shared to tensor memory keeps the unit.
    pub fn tensor_copy_cycles(&self, inst: &Inst) -> u64 {
        let bytes: u64 = match inst.get(Field::CP_SHAPE) {
            CpShape::DP128B256 => 128 * 32,
            CpShape::DP128B128 => 128 * 16,
            CpShape::DP4B256 => 4 * 32,
            CpShape::DP32 => 32 * 16,
            _ => 64 * 16,
        };
        bytes.div_ceil(SHARED_BYTES)
    }
}

/// Registers of each thread that an access to tensor memory moves, and whether it stores them.
pub fn tensor_access(inst: &Inst) -> Option<(u16, bool)> {
    let (role, stores) = match inst.opcode {
        Opcode::LDTM | Opcode::LDTM_STAT | Opcode::LDTM_SPARSIFY => (Role::D, false),
        Opcode::STTM => (Role::Data, true),
        _ => return None,
    };
    Some((inst.opcode.position(role).map_or(1, |at| u16::from(inst.width(at))), stores))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arch;

    /// The description of a shape, dense.
    fn shape(m: u32, n: u32) -> u32 {
        m >> 4 << 24 | n >> 3 << 17
    }

    /// What a GB300 reached of 8192 floating-point operations a cycle: github.com/Antoniomv7/gb300-microbench,
    /// `results/umma_throughput.csv`, 256 products in a row (`shared/silicon`, s1379 to s1396).
    #[test]
    fn rates_of_silicon() {
        let chip = Arch::Sm103.chip().expect("a chip with data");
        for (is_pair, n, measured) in [
            (false, 64, 5321.0),
            (true, 64, 5577.0),
            (false, 128, 8065.0),
            (true, 128, 7828.0),
            (false, 256, 8101.0),
            (true, 256, 8032.0),
        ] {
            let product = TensorProduct { is_integer: false, is_pair, is_a_shared: true };
            let m = if is_pair { 256 } else { 128 };
            let cycles = chip.tensor_product_cycles(product, shape(m, n));
            let rate = f64::from(2 * 128 * n * 16) / cycles as f64;
            assert!((rate / measured - 1.0).abs() < 0.06, "N {n}: {rate} of {measured}");
        }
    }

    #[test]
    fn operands_in_tensor_memory_are_not_read_from_shared_memory() {
        let chip = Arch::Sm100.chip().expect("a chip with data");
        let product = TensorProduct { is_integer: false, is_pair: false, is_a_shared: false };
        assert_eq!(chip.tensor_product_cycles(product, shape(128, 64)), 32);
        let sparse = shape(128, 256) | 1 << 2;
        assert_eq!(chip.tensor_product_cycles(product, sparse), 128);
        let of_shared = TensorProduct { is_a_shared: true, ..product };
        assert_eq!(chip.tensor_product_cycles(of_shared, sparse), 160, "4096 and 16384 bytes");
    }
}
