//! `UTCHMMA`, `UTCQMMA`, `UTCIMMA`, `UTCOMMA`: D = A B + D in tensor memory.
//!
//! B is in shared memory, A there or in tensor memory. Where rows and columns of D lie is in "data path layout organization" of the
//! PTX manual (layouts A to G). Of a pair of blocks each has a half of the rows of A and of the columns of B.

use super::super::descriptor::{Descriptor, Elements};
use super::super::dot::{Adder, Path};
use super::super::fragment::Lines;
use super::super::integer::{Integer, add};
use super::super::number::Term;
use super::super::scaled::{scale_of, scaled_sum, scales_product};
use super::description::{Description, Float};
use super::{misuse, place_of, ranks, unsupported};
use crate::effect::{Effect, Env, Unsupported};
use crate::exec::rounding::{HALF, Rounding, SINGLE, narrow};
use crate::halt::Halt;
use crate::operand::{PredSrc, Src, operand};
use crate::state::{State, URZ};
use crate::tensor_cells::{By, LANES, Part};
use oriole_isa::{ASpace, Field, Inst, Opcode, RegFile, Role, ScaleVec, Value};

/// Lanes that have copies of scale factors: those of a warp.
const SCALE_LANES: usize = 32;

/// The operands of one instruction.
#[derive(Clone, Copy, Debug)]
struct Operands {
    opcode: Opcode,
    a: Src,
    a_in_tensor_memory: bool,
    b: Src,
    d: Src,
    /// The word after that of its register describes shapes and types.
    meta: Src,
    /// The first register with the lanes of D that stay.
    mask: Option<usize>,
    scales: Option<Src>,
    /// Scale factors of a row.
    blocks: usize,
    adds: PredSrc,
    /// D counts times two to the minus this.
    shift: u32,
    of_pair: bool,
    ws: bool,
}

/// The compiled form of `inst`.
pub(super) fn compile(inst: &Inst) -> Result<Effect, Unsupported> {
    let operands = Operands::of(inst)?;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| operands.execute(state, env)))
}

impl Operands {
    fn of(inst: &Inst) -> Result<Self, Unsupported> {
        if inst.get(Field::ASHIFT) {
            return Err(Unsupported("a product whose A is shifted (.ashift)".into()));
        }
        if inst.get(Field::LUTB) {
            return Err(Unsupported("a product whose B is looked up in a table".into()));
        }
        let uniform = |role| match operand(inst, role).value {
            Value::Reg(RegFile::UR, n) if usize::from(n) < URZ => Some(usize::from(n)),
            _ => None,
        };
        let shift = match operand(inst, Role::Shift).value {
            Value::Imm(bits) => bits as u32,
            _ => 0,
        };
        Ok(Operands {
            opcode: inst.opcode,
            a: Src::of(inst, Role::A),
            a_in_tensor_memory: inst.get(Field::A_SPACE) == ASpace::TMEM,
            b: Src::of(inst, Role::B),
            d: Src::of(inst, Role::Dst),
            meta: Src::of(inst, Role::Meta),
            mask: uniform(Role::Mask),
            scales: uniform(Role::Scale).map(|_| Src::of(inst, Role::Scale)),
            blocks: match (inst.opcode, inst.get(Field::SCALE_VEC)) {
                (Opcode::UTCOMMA, ScaleVec::X4) => 4,
                (Opcode::UTCOMMA, _) => 2,
                _ => 1,
            },
            adds: PredSrc::of(inst, Role::PA),
            shift,
            of_pair: inst.get(Field::CTA_PAIR),
            ws: inst.get(Field::WS),
        })
    }

    fn execute(&self, state: &State, env: &mut Env<'_>) -> Result<(), Halt> {
        let issuer = state.first_active();
        let bits = (self.meta.wide_scalar(state) >> 32) as u32;
        let description = Description::new(bits, self.opcode, self.scales.is_some());
        let run = Run::new(self, description, state, env)?;
        if self.opcode == Opcode::UTCIMMA {
            let [a_type, b_type] = description.signed().map(Integer::byte);
            let elements = description.transposed().map(|transposed| Elements::dense(8, transposed));
            let (a, b) = (|bits| a_type.value(bits), |bits| b_type.value(bits));
            return run.multiply(env, elements, (a, a), b, |a, b, _, c| add(a, b, c, description.saturates()));
        }
        let Some(floats) = description.floats() else {
            return Err(misuse(
                issuer,
                format!("types in the instruction descriptor {bits:#x} that the product does not have"),
            ));
        };
        let arch = state.identity.arch;
        let adder = Adder::of(arch, Path::Warpgroup, floats[0].format, description.has_halves());
        run.floats(env, floats, adder, self.scales.map(|scales| scales.wide_scalar(state)))
    }
}

/// One product.
struct Run<'o> {
    operands: &'o Operands,
    description: Description,
    issuer: usize,
    /// The blocks, in the order of rows of A and columns of B.
    ranks: Vec<usize>,
    a: u64,
    b: Descriptor,
    /// First lane and column of D.
    d: (usize, usize),
    /// D is added.
    adds: bool,
    /// Lanes of D that stay, of each block.
    stay: Vec<[u32; 4]>,
}

impl<'o> Run<'o> {
    fn new(operands: &'o Operands, description: Description, state: &State, env: &Env<'_>) -> Result<Self, Halt> {
        let issuer = state.first_active();
        let ranks = ranks(env, operands.of_pair);
        if description.is_sparse() {
            return Err(unsupported(issuer, "a product whose A is sparse"));
        }
        let (rows, columns) = (description.rows(), description.columns());
        let fits = match (operands.of_pair, operands.ws) {
            (true, _) => matches!(rows, 128 | 256),
            (false, true) => matches!(rows, 32 | 64 | 128),
            (false, false) => matches!(rows, 64 | 128),
        };
        if !fits || columns == 0 || columns > 256 {
            return Err(misuse(issuer, format!("a product of {rows} rows and {columns} columns")));
        }
        if description.depth() == 96 {
            return Err(unsupported(issuer, "a product of depth 96"));
        }
        let words = operands.mask.map_or(&[][..], |_| &[0, 1, 2, 3]);
        if operands.ws && operands.mask.is_some_and(|first| state.ur_wide(first) != 0) {
            return Err(unsupported(issuer, "a product with columns of B that are zero"));
        }
        let stays = |place: usize| {
            let mut lanes = [0; 4];
            if let Some(first) = operands.mask.filter(|_| !operands.ws) {
                words.iter().for_each(|&word| lanes[word] = state.ur(first + 4 * place + word));
            }
            lanes
        };
        Ok(Run {
            operands,
            description,
            issuer,
            stay: (0..ranks.len()).map(stays).collect(),
            ranks,
            a: operands.a.wide_scalar(state),
            b: Descriptor::of_tensor_memory(operands.b.wide_scalar(state)).map_err(|what| misuse(issuer, what))?,
            d: place_of(operands.d.scalar(state)),
            adds: operands.adds.mask(state) != 0,
        })
    }

    /// Rows of A in each block.
    fn own_rows(&self) -> usize {
        self.description.rows() / self.ranks.len()
    }

    /// In how many parts the columns of D lie below each other.
    fn folds(&self) -> usize {
        match (self.operands.of_pair, self.operands.ws, self.description.rows()) {
            (true, _, 128) | (false, true, 64) => 2,
            (false, true, 32) => 4,
            _ => 1,
        }
    }

    /// The lane of a row of A or D, from the first on: 64 rows that are not folded take sixteen of each warp's lanes.
    fn lane(&self, row: usize) -> usize {
        if self.own_rows() == 64 && self.folds() == 1 { row / 16 * 32 + row % 16 } else { row }
    }

    /// Lane and column of an element of D.
    fn place(&self, row: usize, column: usize) -> (usize, usize) {
        let width = self.description.columns() / self.folds();
        (self.d.0 + self.lane(row) + self.own_rows() * (column / width), self.d.1 + column % width)
    }

    /// A part of tensor memory from that lane on to which the rows go.
    fn part(&self, rank: usize, (lane, column): (usize, usize), width: usize) -> Part {
        let height = if self.own_rows() == 64 && self.folds() == 1 { LANES - 16 } else { self.own_rows() };
        Part { rank, lanes: lane..lane + height, columns: column..column + width }
    }

    fn touch(&self, env: &mut Env<'_>, part: &Part, writes: bool) -> Result<(), Halt> {
        env.touch_tensor(By::Unit, part, writes).map_err(|kind| Halt::fault(self.issuer, kind))
    }

    /// The rows of A of a block; `element` makes those of tensor memory, of `bits` bits, and those of shared memory.
    fn rows<T: Copy + Default>(
        &self,
        env: &mut Env<'_>,
        rank: usize,
        elements: Elements,
        element: (impl Fn(u32) -> T, impl Fn(u32) -> T),
    ) -> Result<Lines<T>, Halt> {
        let (rows, depth) = (self.own_rows(), self.description.depth());
        if !self.operands.a_in_tensor_memory {
            let descriptor = Descriptor::of_tensor_memory(self.a).map_err(|what| misuse(self.issuer, what))?;
            return descriptor.lines(env, rank, (0, rows), depth / elements.each, elements, element.1);
        }
        if elements.transposed {
            return Err(misuse(self.issuer, "an A in tensor memory that is transposed".to_owned()));
        }
        let bits = 128 / elements.each;
        let (lane, column) = place_of(self.a as u32);
        self.touch(env, &self.part(rank, (lane, column), depth * bits / 32), false)?;
        let mut lines = Lines::new(rows, depth);
        for row in 0..rows {
            for (k, value) in lines.line_mut(row).iter_mut().enumerate() {
                let word = env.tensor.cell(rank, lane + self.lane(row), column + k * bits / 32);
                *value = element.0(word >> (k * bits % 32) & (u32::MAX >> (32 - bits)));
            }
        }
        Ok(lines)
    }

    /// All elements of D, each by `dot` of its row of A, its column of B, both numbers, and itself.
    fn multiply<T: Copy + Default>(
        &self,
        env: &mut Env<'_>,
        [a_elements, b_elements]: [Elements; 2],
        a_element: (impl Fn(u32) -> T, impl Fn(u32) -> T),
        b_element: impl Fn(u32) -> T,
        dot: impl Fn(&[T], &[T], (usize, usize, usize), u32) -> u32,
    ) -> Result<(), Halt> {
        let (columns, depth) = (self.description.columns(), self.description.depth());
        let own_columns = columns / self.ranks.len();
        let mut b = Vec::new();
        for rank in &self.ranks {
            let pieces = depth / b_elements.each;
            b.push(self.b.lines(env, *rank, (0, own_columns), pieces, b_elements, &b_element)?);
        }
        for (number, &rank) in self.ranks.iter().enumerate() {
            let a = self.rows(env, rank, a_elements, (&a_element.0, &a_element.1))?;
            let folds = self.folds();
            let part = self.part(rank, self.d, columns / folds);
            let lanes = part.lanes.start..part.lanes.end + (folds - 1) * self.own_rows();
            self.touch(env, &Part { lanes, ..part }, true)?;
            for row in 0..self.own_rows() {
                for column in 0..columns {
                    let (lane, at) = self.place(row, column);
                    if self.stay[number][lane / 32 % 4] >> (lane % 32) & 1 != 0 {
                        continue;
                    }
                    let cell = &mut env.tensor.lane_mut(rank, lane)[at];
                    let old = if self.adds { *cell } else { 0 };
                    let b = b[column / own_columns].line(column % own_columns);
                    *cell = dot(a.line(row), b, (number, row, column), old);
                }
            }
        }
        Ok(())
    }

    /// The same of floats.
    fn floats(
        &self,
        env: &mut Env<'_>,
        [a_float, b_float]: [Float; 2],
        adder: Adder,
        scales: Option<u64>,
    ) -> Result<(), Halt> {
        let description = self.description;
        let [a_negated, b_negated] = description.negated();
        let sign = |term: Term, negated: bool| if negated { term.negated() } else { term };
        let [a_transposed, b_transposed] = description.transposed();
        let elements = [(a_float, a_transposed), (b_float, b_transposed)].map(|(float, transposed)| Elements {
            bits: float.bits,
            each: 128 / float.format.bits,
            transposed,
        });
        let a_element =
            (|bits| sign(a_float.format.term(bits), a_negated), |bits| sign(a_float.packed.term(bits), a_negated));
        let b_element = |bits| sign(b_float.packed.term(bits), b_negated);
        let fraction = a_float.format.fraction + b_float.format.fraction;
        let Some(addresses) = scales else {
            let (shift, halves) = (self.operands.shift, description.has_halves());
            let dot = |a: &[Term], b: &[Term], _, c| adder.add(a, b, fraction, 0, divided(c, shift, halves));
            return self.multiply(env, elements, a_element, b_element, dot);
        };
        let scales = self.scales(env, addresses)?;
        let fractional = description.has_fractional_scales();
        let scale = |(number, row, column): (usize, usize, usize), block: usize| {
            let [a, b] = &scales[number];
            scales_product([a[row][block], b[column][block]].map(|bits| scale_of(bits, fractional)))
        };
        if self.operands.opcode == Opcode::UTCQMMA {
            return self.multiply(env, elements, a_element, b_element, |a, b, at, c| match scale(at, 0) {
                Some(scale) => adder.add(a, b, fraction, scale.exponent, c),
                None => adder.special(f64::NAN),
            });
        }
        let blocks = self.operands.blocks;
        self.multiply(env, elements, a_element, b_element, |a, b, at, c| {
            scaled_sum(a, b, fractional, c, |sixteenth| scale(at, sixteenth * blocks / 4))
        })
    }

    /// The scale factors of the rows of A and of the columns of B, in each block: those of line `l` are in lane `l` mod 32 and
    /// column `l` / 32, from the byte on that the description names.
    fn scales(&self, env: &mut Env<'_>, addresses: u64) -> Result<Vec<[Vec<[u32; 4]>; 2]>, Halt> {
        let bytes = self.description.scale_bytes();
        let counts = [self.own_rows(), self.description.columns()];
        let mut scales = Vec::new();
        for &rank in &self.ranks {
            let mut both = [Vec::new(), Vec::new()];
            for (which, lines) in both.iter_mut().enumerate() {
                let address = (addresses >> (32 * which)) as u32;
                let column = place_of(address).1;
                let columns = column..column + counts[which].div_ceil(SCALE_LANES);
                self.touch(env, &Part { rank, lanes: 0..SCALE_LANES, columns }, false)?;
                for line in 0..counts[which] {
                    let word = env.tensor.cell(rank, line % SCALE_LANES, column + line / SCALE_LANES);
                    let byte = |block: usize| word >> (8 * ((bytes[which] + block) % 4)) & 0xff;
                    lines.push(std::array::from_fn(byte));
                }
            }
            scales.push(both);
        }
        Ok(scales)
    }
}

/// An accumulator times two to the minus `shift`.
fn divided(bits: u32, shift: u32, halves: bool) -> u32 {
    if shift == 0 {
        return bits;
    }
    let format = if halves { HALF } else { SINGLE };
    narrow(format.widen(bits) / f64::from(1u32 << shift), format, Rounding::Nearest)
}
