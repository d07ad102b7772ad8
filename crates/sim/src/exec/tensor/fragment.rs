//! Fragments: which element of a matrix each register of each lane holds.
//!
//! All shapes of all element types have one pattern, that of the chapter "Warp level matrix
//! instructions" of the PTX manual. A *line* is a row of A or a column of B; along it runs the
//! dimension K, over which products are added. Lane `4 g + t` holds elements of line `g`, and if
//! there are sixteen lines, of line `g + 8` in every second register. With `e` elements in a register,
//! `4 e` consecutive elements of a line lie in one register of the four lanes `t`. An accumulator
//! register holds row `g` or `g + 8`, columns `2 t` and `2 t + 1`.

use crate::effect::Unsupported;
use crate::lanes::WARP;
use crate::operand::operand;
use crate::state::{RZ, State};
use oriole_isa::{Inst, RegFile, Role, Value};

/// Columns of B, C and D.
pub(super) const COLUMNS: usize = 8;
/// Rows of A, C and D, of which the smaller shapes use the first eight.
pub(super) const ROWS: usize = 16;

/// 32-bit accumulators of one instruction, row by row; those of 16 bits are in the low half.
pub(super) type Tile = [[u32; COLUMNS]; ROWS];

/// A group of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Registers {
    /// The first one; `RZ` stands for a group of zeros.
    pub(super) first: usize,
    /// How many.
    pub(super) count: usize,
}

/// The lines of A or B.
#[derive(Clone, Debug)]
pub(super) struct Lines<T> {
    length: usize,
    values: Vec<T>,
}

impl<T: Copy + Default> Lines<T> {
    /// `count` lines of `length` elements.
    pub(super) fn new(count: usize, length: usize) -> Self {
        Lines { length, values: vec![T::default(); count * length] }
    }

    /// The elements of a line, along K.
    #[inline]
    pub(super) fn line(&self, line: usize) -> &[T] {
        &self.values[line * self.length..][..self.length]
    }

    /// The elements of a line, along K.
    #[inline]
    pub(super) fn line_mut(&mut self, line: usize) -> &mut [T] {
        &mut self.values[line * self.length..][..self.length]
    }

    /// The number of lines.
    pub(super) fn count(&self) -> usize {
        self.values.len() / self.length.max(1)
    }
}

impl Registers {
    /// Elements of a line, where the group holds `lines` lines of elements of `bits` bits.
    pub(super) fn length(self, lines: usize, bits: usize) -> usize {
        self.count / (lines / 8) * 4 * (32 / bits)
    }

    /// Register `n` of the group in one lane.
    pub(super) fn word(self, state: &State, n: usize, lane: usize) -> u32 {
        if self.first == RZ { 0 } else { state.lane(self.first + n, lane) }
    }

    /// `lines` lines (8 or 16) of elements of `bits` bits, each made from its bits.
    pub(super) fn lines<T: Copy + Default>(
        self,
        state: &State,
        lines: usize,
        bits: usize,
        element: impl Fn(u32) -> T,
    ) -> Lines<T> {
        let (stacked, each) = (lines / 8, 32 / bits);
        let mask = u32::MAX >> (32 - bits);
        let mut matrix = Lines::new(lines, self.length(lines, bits));
        for n in 0..self.count / stacked * stacked {
            let (upper, chunk) = (n % stacked, n / stacked);
            for lane in 0..WARP {
                let word = self.word(state, n, lane);
                let (line, from) = (lane / 4 + 8 * upper, (4 * chunk + lane % 4) * each);
                for (at, value) in matrix.line_mut(line)[from..from + each].iter_mut().enumerate() {
                    *value = element(word >> (bits * at) & mask);
                }
            }
        }
        matrix
    }
}

/// The registers of C or D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accumulators {
    registers: Registers,
    halves: bool,
}

/// Row and column of element `n` of a lane's accumulators.
pub(super) fn place(lane: usize, n: usize) -> (usize, usize) {
    (lane / 4 + 8 * (n / 2), 2 * (lane % 4) + n % 2)
}

impl Accumulators {
    /// Accumulators in these registers: two in each if they are `halves`.
    pub(super) fn new(registers: Registers, halves: bool) -> Self {
        Accumulators { registers, halves }
    }

    /// Those of eight columns out of more, of which each lane has four accumulators.
    pub(super) fn tile(self, tile: usize) -> Self {
        let count = if self.halves { 2 } else { 4 };
        let first = if self.registers.first == RZ { RZ } else { self.registers.first + tile * count };
        Accumulators { registers: Registers { first, count }, ..self }
    }

    /// Accumulators of a lane.
    fn each(self) -> usize {
        self.registers.count * if self.halves { 2 } else { 1 }
    }

    /// What they hold.
    pub(super) fn read(self, state: &State) -> Tile {
        let mut tile = [[0; COLUMNS]; ROWS];
        for lane in 0..WARP {
            for n in 0..self.each().min(4) {
                let (row, column) = place(lane, n);
                tile[row][column] = match self.halves {
                    true => self.registers.word(state, n / 2, lane) >> (16 * (n % 2)) & 0xffff,
                    false => self.registers.word(state, n, lane),
                };
            }
        }
        tile
    }

    /// Writes them.
    pub(super) fn write(self, state: &mut State, tile: &Tile) {
        if self.registers.first == RZ {
            return;
        }
        for register in 0..self.registers.count.min(4) {
            let value = std::array::from_fn(|lane| {
                let at = |n: usize| {
                    let (row, column) = place(lane, n);
                    tile[row][column]
                };
                if self.halves { at(2 * register) | at(2 * register + 1) << 16 } else { at(register) }
            });
            state.set_r(self.registers.first + register, &value);
        }
    }
}

/// What is multiplied: the lines of A and B, and where A is sparse, the place in a line of B for each
/// element of each line of A.
pub(super) struct Factors<T> {
    /// The rows of A.
    pub(super) a: Lines<T>,
    /// The columns of B.
    pub(super) b: Lines<T>,
    /// The places, of a sparse A.
    pub(super) places: Option<Lines<u8>>,
}

impl<T: Copy + Default> Factors<T> {
    /// Each accumulator by `dot` of its row of A, the elements of its column of B that belong to them, its
    /// row and column, and the accumulator before.
    pub(super) fn multiply(&self, tile: &mut Tile, dot: impl Fn(&[T], &[T], (usize, usize), u32) -> u32) {
        let mut chosen: Vec<T> = Vec::new();
        for (row, accumulators) in tile.iter_mut().enumerate().take(self.a.count()) {
            let a = self.a.line(row);
            for (column, accumulator) in accumulators.iter_mut().enumerate() {
                let mut b = self.b.line(column);
                if let Some(places) = &self.places {
                    chosen.clear();
                    chosen.extend(places.line(row).iter().filter_map(|&place| b.get(usize::from(place))));
                    b = &chosen;
                }
                *accumulator = dot(a, b, (row, column), *accumulator);
            }
        }
    }
}

/// The vector registers of the operand with that role.
pub(super) fn registers(inst: &Inst, role: Role) -> Result<Registers, Unsupported> {
    match operand(inst, role).value {
        Value::Reg(RegFile::R, first) => {
            let width = inst.opcode.position(role).map_or(0, |at| inst.width(at));
            Ok(Registers { first: usize::from(first), count: usize::from(width) })
        }
        other => Err(Unsupported(format!("a matrix given as {other:?}"))),
    }
}

/// Refuses matrices that do not fit: `a` elements are stored of a row of A, of which a sparse one has half, and
/// `b` of a column of B.
pub(super) fn check_depth(a: usize, b: usize, sparse: bool) -> Result<(), Unsupported> {
    let fits = a > 0 && b == if sparse { 2 * a } else { a } && !(sparse && a > GREATEST_STORED);
    if fits { Ok(()) } else { Err(Unsupported(format!("a matrix of depth {a} times one of depth {b}"))) }
}

/// The elements that are stored of a row of a sparse A, at most.
const GREATEST_STORED: usize = 64;
