//! `ldmatrix` and `stmatrix`: matrices whose rows have 16 bytes, or 8 of signed half-bytes, between memory and registers.

use crate::arith::Unsupported;
use crate::builder::{Builder, Location, form};
use crate::code::Action;
use crate::env::{Env, Halt};
use crate::lane::Lane;
use crate::lanes::{WARP, lanes_of};
use crate::operand::{Destination, Source};
use crate::space::Data;
use crate::state::State;
use oriole_ptx::ast::{Instruction, ScalarType, Shape, Word};
use smallvec::SmallVec;

/// Bytes of a row.
const ROW: usize = 16;

/// The rows of all matrices, one for each lane that gives an address.
type Rows = [[u8; ROW]; WARP];

/// Which bytes of the rows a register holds, for lane 4 g + t.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Of row g the four bytes from 4 t on.
    Rows,
    /// Of rows 2 t and 2 t + 1 the 16-bit elements in column g.
    Columns,
    /// Of rows 2 t and 2 t + 1 the bytes in columns g and g + 8.
    ByteColumns,
    /// Of the four rows from 4 t on the bytes in column g in one register, in column g + 8 in the next: 16 rows.
    TallByteColumns,
}

/// Shape, whether transposed, type, layout. The last column: bits of an element in memory.
const FORMS: [(Shape, bool, ScalarType, Layout, u32); 9] = [
    (SQUARE, false, ScalarType::B16, Layout::Rows, 8),
    (SQUARE, true, ScalarType::B16, Layout::Columns, 8),
    (BYTES, false, ScalarType::B6x16P32, Layout::Rows, 6),
    (BYTES, false, ScalarType::B4x16P64, Layout::Rows, 4),
    (BYTES, false, ScalarType::S4, Layout::Rows, 4),
    (TALL, true, ScalarType::B8, Layout::TallByteColumns, 8),
    (TALL, true, ScalarType::B6x16P32, Layout::TallByteColumns, 6),
    (TALL, true, ScalarType::B4x16P64, Layout::TallByteColumns, 4),
    (STORED, true, ScalarType::B8, Layout::ByteColumns, 8),
];
const SQUARE: Shape = Shape { m: 8, n: 8, k: 0 };
const BYTES: Shape = Shape { m: 8, n: 16, k: 0 };
const TALL: Shape = Shape { m: 16, n: 16, k: 0 };
const STORED: Shape = Shape { m: 16, n: 8, k: 0 };

impl Layout {
    /// Registers of a matrix; each takes the addresses of eight lanes.
    fn registers(self) -> usize {
        if self == Layout::TallByteColumns { 2 } else { 1 }
    }

    /// The row, and the byte there, that is byte `byte` of register `register`.
    fn place(self, lane: usize, register: usize, byte: usize) -> (usize, usize) {
        let (group, thread, first) = (lane / 4, lane % 4, 8 * register);
        match self {
            Layout::Rows => (first + group, 4 * thread + byte),
            Layout::Columns => (first + 2 * thread + byte / 2, 2 * group + byte % 2),
            Layout::ByteColumns => (first + 2 * thread + byte % 2, group + 8 * (byte / 2)),
            Layout::TallByteColumns => (first / 16 * 16 + 4 * thread + byte, group + 8 * (register % 2)),
        }
    }
}

/// An instruction of this family.
#[derive(Clone, Copy, Debug)]
struct Form {
    layout: Layout,
    /// Bits of an element in memory; those of fewer than 8 bits lie close together and fill bytes in registers.
    bits: u32,
    /// Elements are signed, and rows not padded.
    signed: bool,
    /// Registers of a lane.
    registers: usize,
}

impl Form {
    fn of(inst: &Instruction) -> Result<Form, Unsupported> {
        let wrong = || form(inst.opcode.as_str());
        let (Some(shape), Some(ty)) = (inst.shape(), inst.last_type()) else { return Err(wrong()) };
        let is_it =
            |row: &&(Shape, bool, ScalarType, Layout, u32)| (row.0, row.1, row.2) == (shape, inst.has(Word::Trans), ty);
        let &(.., layout, bits) = FORMS.iter().find(is_it).ok_or_else(wrong)?;
        let counts = [(Word::X1, 1), (Word::X2, 2), (Word::X4, 4)];
        let count = counts.iter().find(|(word, _)| inst.has(*word)).map(|(_, count)| *count);
        let registers = count.map(|count| count * layout.registers()).filter(|registers| *registers <= 4);
        Ok(Form { layout, bits, signed: ty == ScalarType::S4, registers: registers.ok_or_else(wrong)? })
    }

    /// Lanes that give addresses.
    fn lanes(self, mask: u32) -> impl Iterator<Item = usize> {
        lanes_of(mask).filter(move |lane| lane / 8 < self.registers)
    }

    /// The bytes of registers that a row in memory stands for.
    fn unpack(self, data: &Data) -> [u8; ROW] {
        let all = (0..self.bytes()).fold(0, |all, at| all | u128::from(data.element(at, 1) as u8) << (8 * at));
        let unused = 8 - self.bits;
        std::array::from_fn(|at| {
            let high = ((all >> (self.bits * at as u32)) as u8) << unused;
            if self.signed { (high.cast_signed() >> unused).cast_unsigned() } else { high >> unused }
        })
    }

    /// Bytes of a row in memory.
    fn bytes(self) -> usize {
        if self.signed { ROW / 2 } else { ROW }
    }
}

/// `ldmatrix`: lane 8 i + r gives the address of row r of matrix i; of 16 rows lane 16 i + r.
pub(super) fn load(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from] = &inst.operands[..] else { return Err(form("ldmatrix")) };
    let matrices = Form::of(inst)?;
    let location: Location = builder.location(from, inst.space())?;
    let to: SmallVec<[Destination; 4]> = builder.destinations(to, ScalarType::B32)?;
    if to.len() != matrices.registers {
        return Err(form("ldmatrix"));
    }
    Ok(Action::Warp(Box::new(move |state: &mut State, env: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
        let mut rows = Rows::default();
        for lane in matrices.lanes(mask) {
            let thread = Lane { lane, state, env };
            let data =
                thread.load(location.place(&thread), matrices.bytes() as u32).map_err(|kind| Halt { lane, kind })?;
            rows[lane] = matrices.unpack(&data);
        }
        // No address changes before all rows are read.
        for (register, to) in to.iter().enumerate() {
            for lane in lanes_of(mask) {
                let bytes = std::array::from_fn(|byte| {
                    let (row, column) = matrices.layout.place(lane, register, byte);
                    rows[row % WARP][column % ROW]
                });
                state.set(to, lane, u32::from_le_bytes(bytes).into());
            }
        }
        Ok(())
    })))
}

/// `stmatrix`: the way back.
pub(super) fn store(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from] = &inst.operands[..] else { return Err(form("stmatrix")) };
    let matrices = Form::of(inst)?;
    let location: Location = builder.location(to, inst.space())?;
    let from: SmallVec<[Source; 4]> = builder.sources(from, ScalarType::B32)?;
    if from.len() != matrices.registers {
        return Err(form("stmatrix"));
    }
    Ok(Action::Warp(Box::new(move |state: &mut State, env: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
        let mut rows = Rows::default();
        for (register, from) in from.iter().enumerate() {
            for lane in 0..WARP {
                for (byte, value) in (state.get(from, lane) as u32).to_le_bytes().into_iter().enumerate() {
                    let (row, column) = matrices.layout.place(lane, register, byte);
                    rows[row % WARP][column % ROW] = value;
                }
            }
        }
        for lane in matrices.lanes(mask) {
            let mut data = Data::default();
            for (at, &byte) in rows[lane].iter().enumerate() {
                data.set(at, 1, byte.into());
            }
            let mut thread = Lane { lane, state, env };
            let place = location.place(&thread);
            thread.store(place, ROW as u32, data).map_err(|kind| Halt { lane, kind })?;
        }
        Ok(())
    })))
}
