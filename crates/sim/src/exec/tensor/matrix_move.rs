//! `LDSM`, `STSM`: matrices between shared memory and fragments. `MOVM`: matrices between fragments.
//!
//! A row of a matrix in shared memory has 16 bytes, and a lane gives its address: lane `8 m + r` that of row
//! `r` of matrix `m` (`16 m + r`, of matrices of sixteen rows). Lanes are `4 g + t` as in
//! [`super::fragment`].

use super::fragment::registers;
use crate::effect::{Compute, Effect, Env, Unsupported};
use crate::exec::address::{Address, AddressWidth};
use crate::exec::host;
use crate::halt::Halt;
use crate::lanes::{Lanes, Mask, WARP, WideLanes};
use crate::operand::{Dst, Src};
use crate::space::{Named, Words};
use crate::state::State;
use oriole_device::Access;
use oriole_isa::{Field, Inst, MatrixCount, MatrixFormat, MatrixShape, Movm, MovmType, Role};

/// A row of a matrix, its elements spread to bytes or halves.
type Row = [u8; 16];

/// Which elements of the rows a fragment's registers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    /// Eight rows; register: four bytes of row `g`, from `4 t` on.
    Rows,
    /// Eight rows; register: the halves in column `g` of rows `2 t` and `2 t + 1`.
    Columns,
    /// Eight rows; register: the bytes in columns `g` and `g + 8` of rows `2 t` and `2 t + 1`.
    ByteColumns,
    /// Sixteen rows; two registers `r`: the bytes in column `g + 8 r` of the four rows from `4 t` on.
    TallByteColumns,
}

impl Spread {
    /// Registers of a matrix.
    fn registers(self) -> usize {
        if self == Spread::TallByteColumns { 2 } else { 1 }
    }

    /// Row, among all rows of the instruction, and byte in it, of byte `byte` of register `n` of a lane.
    fn place(self, lane: usize, n: usize, byte: usize) -> (usize, usize) {
        let (g, t) = (lane / 4, lane % 4);
        match self {
            Spread::Rows => (8 * n + g, 4 * t + byte),
            Spread::Columns => (8 * n + 2 * t + byte / 2, 2 * g + byte % 2),
            Spread::ByteColumns => (8 * n + 2 * t + byte % 2, g + 8 * (byte / 2)),
            Spread::TallByteColumns => (16 * (n / 2) + 4 * t + byte, g + 8 * (n % 2)),
        }
    }
}

/// How many matrices the instruction moves.
fn count(inst: &Inst) -> usize {
    match inst.get(Field::MATRIX_COUNT) {
        MatrixCount::TWO => 2,
        MatrixCount::FOUR => 4,
        _ => 1,
    }
}

/// The spread of the matrices of `inst`.
fn spread(inst: &Inst) -> Result<Spread, Unsupported> {
    let bytes = inst.get(Field::MATRIX_FORMAT) != MatrixFormat::E16;
    match (inst.get(Field::MATRIX_SHAPE), bytes) {
        (MatrixShape::M88, false) | (MatrixShape::M816, true) => Ok(Spread::Rows),
        (MatrixShape::MT88, false) => Ok(Spread::Columns),
        (MatrixShape::MT168, true) => Ok(Spread::ByteColumns),
        (MatrixShape::MT1616, true) if count(inst) < 4 => Ok(Spread::TallByteColumns),
        _ => Err(Unsupported("matrices of this shape and element type".into())),
    }
}

/// Bytes of a row in shared memory. Signed half-bytes have no padding: on an H100 others measured rows of eight bytes, one behind the
/// other (docs/ptx-grammar.md).
fn row_bytes(format: MatrixFormat) -> u32 {
    if format == MatrixFormat::S4 { 8 } else { 16 }
}

/// The row that a lane's bytes hold.
fn unpack(words: Words, format: MatrixFormat) -> Row {
    let bits = words.iter().rev().fold(0u128, |bits, &word| bits << 32 | u128::from(word));
    let each = match format {
        MatrixFormat::U4 | MatrixFormat::S4 => 4,
        MatrixFormat::U6 => 6,
        _ => 8,
    };
    std::array::from_fn(|n| {
        let element = (bits >> (each * n) & ((1 << each) - 1)) as u8;
        if format == MatrixFormat::S4 { ((element << 4).cast_signed() >> 4).cast_unsigned() } else { element }
    })
}

/// The lanes whose addresses count, and what they lead to.
fn report(env: &mut Env<'_>, kind: Access, (rows, bytes): (usize, u32), addresses: &WideLanes) {
    let lanes = Mask::MAX >> (WARP - rows.min(WARP));
    env.report(kind, bytes, lanes, &addresses.map(|address| Named::Shared.place(address)));
}

/// `LDSM`.
pub(super) fn compile_load(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let (spread, format) = (spread(inst)?, inst.get(Field::MATRIX_FORMAT));
    let to = registers(inst, Role::D)?.first;
    let results = count(inst) * spread.registers();
    let (rows, bytes) = (8 * results, row_bytes(format));
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let addresses = address.lanes(state);
        report(env, Access::Read, (rows, bytes), &addresses);
        let mut matrix = [Row::default(); WARP];
        for (lane, row) in matrix.iter_mut().enumerate().take(rows) {
            let words = env.spaces.load(Named::Shared.place(addresses[lane]), bytes, lane);
            *row = unpack(words.map_err(|kind| Halt::fault(lane, kind))?, format);
        }
        for n in 0..results {
            let value: Lanes = std::array::from_fn(|lane| {
                u32::from_le_bytes(std::array::from_fn(|byte| {
                    let (row, column) = spread.place(lane, n, byte);
                    matrix[row % WARP][column % 16]
                }))
            });
            state.set_r(to + n, &value);
        }
        Ok(())
    }))
}

/// `STSM`: the inverse of `LDSM`.
pub(super) fn compile_store(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let spread = spread(inst)?;
    let data = registers(inst, Role::Data)?.first;
    let count = count(inst);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let addresses = address.lanes(state);
        report(env, Access::Write, (8 * count, 16), &addresses);
        let mut matrix = [Row::default(); WARP];
        for n in 0..count {
            for lane in 0..WARP {
                let value = if data == crate::state::RZ { 0 } else { state.lane(data + n, lane) };
                for (byte, bits) in value.to_le_bytes().into_iter().enumerate() {
                    let (row, column) = spread.place(lane, n, byte);
                    matrix[row % WARP][column % 16] = bits;
                }
            }
        }
        for (lane, row) in matrix.iter().enumerate().take(8 * count) {
            let word = |n: usize| u32::from_le_bytes([row[4 * n], row[4 * n + 1], row[4 * n + 2], row[4 * n + 3]]);
            let words = [word(0), word(1), word(2), word(3)];
            let stored = env.spaces.store(Named::Shared.place(addresses[lane]), 16, lane, words);
            stored.map_err(|kind| Halt::fault(lane, kind))?;
        }
        Ok(())
    }))
}

/// `MOVM`.
pub(super) fn compile_move(inst: &Inst) -> Result<Compute, Unsupported> {
    let (to, a) = (Dst::of(inst, Role::D), Src::of(inst, Role::A));
    match (inst.get(Field::MOVM), inst.get(Field::MOVM_TYPE)) {
        (Movm::MT88, MovmType::B16) => Ok(host::compute(move |state: &mut State| {
            let values = a.bits(state);
            to.set(state, &transposed(&values));
        })),
        (Movm::M832, MovmType::U4TO8) => Ok(host::compute(move |state: &mut State| {
            let values = a.bits(state);
            let [low, high] = [0, 16].map(|from| spread_nibbles(&values, from));
            to.set_wide(state, &std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32));
        })),
        _ => Err(Unsupported("this move of a matrix".into())),
    }
}

/// An 8x8 matrix of halves, transposed.
fn transposed(values: &Lanes) -> Lanes {
    let element = |row: usize, column: usize| values[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        element(column, row) | element(column + 1, row) << 16
    })
}

/// Of eight rows of 32 elements of 4 bits, sixteen columns from `from` on, as bytes.
fn spread_nibbles(values: &Lanes, from: usize) -> Lanes {
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, from + 4 * (lane % 4));
        let element = |column: usize| values[4 * row + column / 8] >> (4 * (column % 8)) & 15;
        (0..4).fold(0, |word, n| word | element(column + n) << (8 * n))
    })
}
