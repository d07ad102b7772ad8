//! Which unit an instruction occupies, and for how long.

use super::description::{Chip, SHARED_BYTES, Unit};
use crate::{Family, Field, FieldType, HmmaType, Inst, MmaAcc, MmaInt, Opcode, Pipe, Role, TensorCopy, Value};

/// What an instruction takes of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The unit.
    pub unit: Unit,
    /// Cycles before the unit can start the next instruction.
    pub cycles: u16,
}

/// Lanes of a warp in its four quarters' worth of throughput: a rate of 128 lanes a multiprocessor is one warp
/// instruction a cycle in each quarter.
const LANES_OF_QUARTERS: u32 = 128;

/// Cycles that a quarter needs for a warp instruction at `rate` lanes a cycle of the whole multiprocessor.
fn interval(rate: u32) -> u16 {
    (LANES_OF_QUARTERS / rate.clamp(1, LANES_OF_QUARTERS)) as u16
}

impl Chip {
    /// What `inst` takes of which unit.
    pub fn demand(&self, inst: &Inst) -> Demand {
        let rates = &self.rates;
        let of = |unit, rate| Demand { unit, cycles: interval(rate) };
        match (inst.opcode.info().pipe, inst.opcode) {
            (_, Opcode::NOP) => Demand { unit: Unit::Control, cycles: 0 },
            (Pipe::Fma, Opcode::HADD2 | Opcode::HMUL2 | Opcode::HFMA2) => match rates.half_unit {
                Unit::Fma => of(Unit::Fma, rates.half / 2),
                unit => of(unit, rates.half),
            },
            (Pipe::Fma, Opcode::IMAD | Opcode::IDP) => of(Unit::FmaHeavy, rates.int_multiply),
            (Pipe::Alu, Opcode::IADD3 | Opcode::IADD) | (Pipe::Fma, Opcode::VIADD) => of(Unit::Alu, rates.int_add),
            (Pipe::Fma, _) if rates.fp32 > 64 => of(Unit::Fma, rates.fp32 / 2),
            (Pipe::Fma, _) => of(Unit::FmaHeavy, rates.fp32),
            (Pipe::Fp64, _) => of(Unit::Fp64, rates.fp64),
            (Pipe::Xu, _) => of(Unit::Xu, rates.xu),
            (Pipe::Tensor, _) => Demand { unit: Unit::Tensor, cycles: self.matrix_cycles(inst) },
            (Pipe::Uniform, _) => of(Unit::Uniform, rates.uniform),
            (Pipe::Memory, _) if is_texture(inst.opcode) => of(Unit::Texture, rates.texture),
            (Pipe::Memory | Pipe::S2r, _) => Demand { unit: Unit::Memory, cycles: 1 },
            (Pipe::Branch | Pipe::Barrier, _) => Demand { unit: Unit::Control, cycles: 1 },
            _ => of(Unit::Alu, rates.alu),
        }
    }

    /// Cycles until the results of a variable-latency instruction are there. Fixed latencies are
    /// in the stall counts. Of what goes through the caches, that of a hit in the nearest one.
    pub fn latency(&self, inst: &Inst) -> u16 {
        let latencies = &self.latencies;
        match (inst.opcode, inst.opcode.info().pipe) {
            (Opcode::LDG | Opcode::LD | Opcode::LDL | Opcode::ATOM | Opcode::ATOMG, _) => latencies.l1,
            (Opcode::LDGSTS | Opcode::UBLKCP, _) => latencies.copy_to_shared,
            (opcode, _) if opcode.tensor_copy() == Some(TensorCopy::Load) => latencies.copy_to_shared,
            (Opcode::ATOMS, _) => latencies.atomic_shared,
            (Opcode::LDC | Opcode::LDCU, _) => latencies.constant,
            (Opcode::SHFL | Opcode::MATCH | Opcode::MOVM | Opcode::REDUX, _) => latencies.shuffle,
            (_, Pipe::Xu) => latencies.xu,
            (_, Pipe::S2r) | (Opcode::BMOV | Opcode::B2R | Opcode::R2UR, _) => latencies.special,
            (_, Pipe::Fp64) => latencies.fp64,
            (_, Pipe::Tensor) => latencies.matrix,
            (_, Pipe::Memory) if is_texture(inst.opcode) => latencies.texture,
            (_, Pipe::Memory) => latencies.shared,
            _ => latencies.special,
        }
    }

    /// Cycles that the operands of a warpgroup's product take of shared memory: B, which the four warps read together, and
    /// A where it is not in registers. 0 for anything else.
    ///
    /// 144 cycles of a sparse m64n256k32 whose A is in shared memory and 128 of one whose is in registers are what an H800
    /// takes, and that N below 64 does not reach the peak (Luo et al., arXiv 2501.12084).
    pub fn operand_cycles(&self, inst: &Inst) -> u16 {
        /// Bytes of a row of A, of which half is left out if it is sparse, and of a column of B if A is dense.
        const ROW_BYTES: u64 = 32;
        /// Rows of a warpgroup's product.
        const ROWS: u64 = 64;
        if !inst.opcode.is_warpgroup_product() {
            return 0;
        }
        let a = inst.opcode.position(Role::A).and_then(|at| inst.operands.get(at)).map(|operand| operand.value);
        let a_bytes = if matches!(a, Some(Value::Reg(..))) { 0 } else { ROWS * ROW_BYTES };
        let columns = numbers(name_of(inst, Field::GMMA_N)).unwrap_or(0) << u32::from(inst.get(Field::MMA_SP));
        (a_bytes + columns * ROW_BYTES).div_ceil(SHARED_BYTES) as u16
    }

    /// Cycles of a quarter's matrix unit.
    fn matrix_cycles(&self, inst: &Inst) -> u16 {
        let Some(product) = Product::of(inst) else { return 1 };
        let rates = &self.rates;
        let rate = match product.kind {
            Kind::Double => u64::from(rates.matrix_fp64) << 4,
            _ if product.is_async => u64::from(rates.matrix_async) * product.sixteenths(false),
            _ if product.is_integer => u64::from(rates.matrix_int8 / 2) * product.sixteenths(false),
            _ => u64::from(rates.matrix) * product.sixteenths(rates.matrix_f32_halved),
        };
        // Both in sixteenths of a multiply-add a quarter.
        let work = product.work << 4;
        work.div_ceil((rate / 4).max(1)).clamp(1, u64::from(u16::MAX)) as u16
    }
}

fn is_texture(opcode: Opcode) -> bool {
    matches!(opcode.info().family, Family::Texture | Family::Surface)
}

/// What the elements of a product are.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Half { f32_sum: bool },
    Tf32,
    Byte,
    Nibble,
    Bit,
    Double,
}

/// A matrix product as far as its cost goes.
struct Product {
    kind: Kind,
    /// Multiply-adds that one warp does.
    work: u64,
    is_async: bool,
    is_integer: bool,
}

impl Product {
    fn of(inst: &Inst) -> Option<Product> {
        let narrow = |field: Field<MmaInt>| match name_of(inst, field) {
            "U4" | "S4" => Kind::Nibble,
            _ => Kind::Byte,
        };
        let (kind, volume) = match inst.opcode {
            Opcode::HMMA => (half_kind(inst), shape(inst, Field::HMMA_SHAPE)?),
            Opcode::HMMA_884 => (half_kind(inst), 8 * 8 * 4),
            Opcode::IMMA => (narrow(Field::INT_A), shape(inst, Field::IMMA_SHAPE)?),
            Opcode::BMMA => (Kind::Bit, shape(inst, Field::BMMA_SHAPE)?),
            Opcode::QMMA | Opcode::QMMA_SF => (Kind::Byte, shape(inst, Field::QMMA_SHAPE)?),
            Opcode::OMMA => (Kind::Nibble, (16 * 8 * 64) << u32::from(inst.get(Field::MMA_SP))),
            // The only shape is 8x8x4.
            Opcode::DMMA => (Kind::Double, 8 * 8 * 4),
            Opcode::HGMMA => (half_kind(inst), warpgroup_shape(inst)?),
            Opcode::QGMMA | Opcode::IGMMA => (Kind::Byte, warpgroup_shape(inst)?),
            Opcode::BGMMA => (Kind::Bit, warpgroup_shape(inst)?),
            _ => return None,
        };
        let is_async = matches!(inst.opcode, Opcode::HGMMA | Opcode::QGMMA | Opcode::IGMMA | Opcode::BGMMA);
        let is_integer = matches!(inst.opcode, Opcode::IMMA | Opcode::BMMA);
        // Of a sparse product half of the elements are not there.
        Some(Product { kind, work: volume >> u32::from(inst.get(Field::MMA_SP)), is_async, is_integer })
    }

    /// The rate of its elements in sixteenths of that of f16 (whitepapers of A100 and H100: TF32 a half, bytes
    /// twice, nibbles four times, bits sixteen times as many).
    fn sixteenths(&self, f32_halved: bool) -> u64 {
        match self.kind {
            Kind::Half { f32_sum: true } if f32_halved => 8,
            Kind::Half { .. } | Kind::Double => 16,
            Kind::Tf32 if f32_halved => 4,
            Kind::Tf32 => 8,
            Kind::Byte => 32,
            Kind::Nibble => 64,
            Kind::Bit => 256,
        }
    }
}

fn half_kind(inst: &Inst) -> Kind {
    match inst.get(Field::HMMA_TYPE) {
        HmmaType::TF32 => Kind::Tf32,
        _ => Kind::Half { f32_sum: inst.get(Field::MMA_ACC) == MmaAcc::F32 },
    }
}

fn name_of<V: FieldType>(inst: &Inst, field: Field<V>) -> &'static str {
    field.name_of(inst.get(field)).unwrap_or("")
}

/// The product of the numbers in the name of a value, such as `M16N8K16`.
fn numbers(name: &str) -> Option<u64> {
    let parts = name.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    parts.map(|part| part.parse::<u64>().ok()).product()
}

/// M times N times K.
fn shape<V: FieldType>(inst: &Inst, field: Field<V>) -> Option<u64> {
    numbers(name_of(inst, field))
}

/// M times N times K of one of the four warps of a warpgroup, which has 16 of the 64 rows.
fn warpgroup_shape(inst: &Inst) -> Option<u64> {
    Some(16 * numbers(name_of(inst, Field::GMMA_N))? * numbers(name_of(inst, Field::GMMA_K))?)
}
