//! `mma.sync`, dense and sparse.

use super::element::{Format, HALF, Value};
use super::product::{self, Rule};
use super::scaled::{self, Scales, Selectors};
use super::{emulated, fragment};
use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::env::{Env, Halt};
use crate::lanes::{WARP, lanes_of};
use crate::operand::{Destination, Source};
use crate::state::State;
use oriole_ptx::ast::{Instruction, Modifier, Opcode, Operand, Rounding, ScalarType, Shape, Word};
use rustc_apfloat::ieee::Double;
use rustc_apfloat::{Float, Round};
use smallvec::SmallVec;

/// A matrix by rows.
struct Matrix {
    columns: usize,
    elements: Vec<u64>,
}

impl Matrix {
    fn new(rows: usize, columns: usize) -> Matrix {
        Matrix { columns, elements: vec![0; rows * columns] }
    }

    fn at(&mut self, row: usize, column: usize) -> &mut u64 {
        &mut self.elements[row * self.columns + column]
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.elements[row * self.columns..][..self.columns]
    }
}

/// How elements multiply and add.
pub(super) enum Kind {
    Float { a: Format, b: Format, adder: Adder },
    Integer { a: ScalarType, b: ScalarType, saturate: bool },
    Bits { xor: bool },
    Double(Round),
}

/// What adds products of floats.
#[derive(Clone, Copy)]
pub(super) enum Adder {
    TensorCore(Rule),
    /// The tensor core, of halves (`emulated::as_halves`).
    Halves(Rule),
    /// Fused multiply-adds (`emulated::fused`).
    Fused,
}

/// How sparse metadata name columns.
#[derive(Clone, Copy)]
pub(super) struct Sparsity {
    metadata: Source,
    selector: Source,
    /// Bits of metadata for each stored element or pair.
    bits: usize,
    /// Neighbouring elements that are kept together.
    together: usize,
    /// A register has metadata of two rows.
    halves: bool,
}

/// An instruction with its operands.
pub(super) struct Mma {
    pub(super) shape: Shape,
    pub(super) kind: Kind,
    /// Bits between the elements of A and of B in a register, and bits of a register.
    pub(super) container: usize,
    pub(super) register: usize,
    pub(super) a: SmallVec<[Source; 4]>,
    /// A in Volta's instruction is `.col`, B `.row`.
    pub(super) strided: [bool; 2],
    pub(super) b: SmallVec<[Source; 4]>,
    pub(super) c: SmallVec<[Source; 4]>,
    pub(super) d: SmallVec<[Destination; 4]>,
    /// C and D are `f16`.
    pub(super) half: [bool; 2],
    pub(super) sparse: Option<Sparsity>,
    pub(super) scales: Option<Scales>,
}

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let wrong = || form("mma");
    let types: SmallVec<[ScalarType; 5]> = inst.types().collect();
    let (&[d_type, a_type, b_type, c_type, ref scale_type @ ..], Some(shape)) = (&types[..], inst.shape()) else {
        return Err(wrong());
    };
    let [d, a, b, c, more @ ..] = &inst.operands[..] else { return Err(wrong()) };
    let sparse = inst.has(Word::Sp) || inst.has(Word::SpOrderedMetadata);
    let container = container(inst, a_type, b_type);
    let scales = match (inst.has(Word::BlockScale), scale_type) {
        (true, [ty]) => Some(Scales::of(inst, more, *ty, builder)?),
        (false, []) => None,
        _ => return Err(wrong()),
    };
    let register_type = if a_type == ScalarType::F64 { ScalarType::F64 } else { ScalarType::B32 };
    let mma = Mma {
        shape,
        kind: kind(inst, a_type, b_type, d_type, builder.architecture())?,
        container,
        register: register_type.bits() as usize,
        a: builder.sources(a, register_type)?,
        b: builder.sources(b, register_type)?,
        c: builder.sources(c, register_type)?,
        d: builder.destinations(d, register_type)?,
        strided: strides(inst),
        half: [c_type, d_type].map(|ty| ty == ScalarType::F16),
        sparse: if sparse { Some(sparsity(more, a_type, builder)?) } else { None },
        scales,
    };
    if !mma.fits() {
        return Err(wrong());
    }
    Ok(mma.action())
}

/// `.col` of A and `.row` of B, the first and the second layout.
fn strides(inst: &Instruction) -> [bool; 2] {
    let is_layout = |m: &&Modifier| matches!(m, Modifier::Word(Word::Row | Word::Col));
    let mut layouts = inst.modifiers.iter().filter(is_layout);
    let first = layouts.next() == Some(&Modifier::Word(Word::Col));
    [first, layouts.next() == Some(&Modifier::Word(Word::Row))]
}

/// Bits of an element in a register: formats of 6 bits and less take a byte, also beside each other, but where
/// all have 4.
fn container(inst: &Instruction, a: ScalarType, b: ScalarType) -> usize {
    let bits = a.bits().max(b.bits()) as usize;
    let packed = inst.has(Word::KindMxf4) || inst.has(Word::KindMxf4nvf4);
    let small = Format::of(a, 8).is_some() && bits <= 8 && !packed;
    if small { 8 } else { bits }
}

pub(super) fn kind(
    inst: &Instruction,
    a: ScalarType,
    b: ScalarType,
    d: ScalarType,
    sm: u32,
) -> Result<Kind, Unsupported> {
    if a == ScalarType::F64 {
        return Ok(Kind::Double(match inst.rounding() {
            None | Some(Rounding::Rn) => Round::NearestTiesToEven,
            Some(Rounding::Rz) => Round::TowardZero,
            Some(Rounding::Rm) => Round::TowardNegative,
            Some(Rounding::Rp) => Round::TowardPositive,
            Some(_) => return Err(form("mma")),
        }));
    }
    if a == ScalarType::B1 {
        return Ok(Kind::Bits { xor: inst.has(Word::Xor) });
    }
    let width = container(inst, a, b) as u32;
    if let (Some(a), Some(b)) = (Format::of(a, width), Format::of(b, width)) {
        let volta = inst.shape() == Some(Shape { m: 8, n: 8, k: 4 });
        let adder = match (sm, width, d) {
            (80.., _, ScalarType::F32) if volta => Adder::Fused,
            (90..120, 8, _) => Adder::Halves(rule(16, sm)),
            // ptxas makes `wmma` of two HMMA.1684, whatever the target could add at once.
            (_, 32, _) if inst.opcode == Opcode::Wmma => Adder::TensorCore(Rule { part: 4, ..rule(32, sm) }),
            _ => Adder::TensorCore(rule(width as usize, sm)),
        };
        return Ok(Kind::Float { a, b, adder });
    }
    match d {
        ScalarType::S32 => Ok(Kind::Integer { a, b, saturate: inst.has(Word::Satfinite) }),
        _ => Err(form("mma")),
    }
}

/// How `sm` adds products of elements of `width` bits (`docs/sim-arithmetic.md`).
fn rule(width: usize, sm: u32) -> Rule {
    match (sm, width) {
        (_, 4) => Rule { bits: 35, part: 64, kept: 23 },
        (89, 8) => Rule { bits: 13, part: 16, kept: 13 },
        (..90, _) => Rule { bits: 24, part: 128 / width, kept: 23 },
        _ => Rule { bits: 25, part: 256 / width, kept: 23 },
    }
}

fn sparsity(more: &[Operand], ty: ScalarType, builder: &mut Builder<'_, '_>) -> Result<Sparsity, Unsupported> {
    let [metadata, selector] = more else { return Err(form("mma.sp")) };
    let (bits, together) = match ty.bits() {
        32 => (4, 1),
        4 if ty != ScalarType::E2m1 => (2, 2),
        _ => (2, 1),
    };
    Ok(Sparsity {
        metadata: builder.source(metadata.single(), ScalarType::B32)?,
        selector: builder.source(selector, ScalarType::U32)?,
        bits,
        together,
        halves: ty.bits() >= 16,
    })
}

impl Sparsity {
    /// The columns of the `stored` elements that a row keeps. For elements of 16 and 32 bits a register has
    /// 16 bits of a row and 16 of the row 8 below (CUTLASS's `reorder_meta` puts them there); for narrow
    /// ones the lanes take turns with the two rows.
    fn columns(&self, state: &State, row: usize, stored: usize) -> Vec<usize> {
        let total = stored / self.together * self.bits;
        let (group, lower) = (row % 8, row / 8);
        let selector = state.get(&self.selector, 0) as usize;
        let part = |index: usize| {
            let lane = |thread: usize| 4 * group + thread % 4;
            let bits = |thread| state.get(&self.metadata, lane(thread)) as u64;
            match total {
                _ if self.halves => bits(selector * (total / 16) + index) >> (16 * lower) & 0xffff,
                32 => bits(2 * selector + lower) >> (16 * index) & 0xffff,
                _ => bits(2 * (index / 2) + lower) >> (16 * (index % 2)) & 0xffff,
            }
        };
        let all = (0..total / 16).fold(0, |all, index| all | part(index) << (16 * index));
        let column = |element: usize| {
            let unit = element / self.together;
            let code = (all >> (unit * self.bits)) as usize & 3;
            match self.bits {
                // One of two wide elements is written as two halves of four.
                4 => 2 * unit + (code >> 1),
                _ => (unit / 2 * 4 + code) * self.together + element % self.together,
            }
        };
        (0..stored).map(column).collect()
    }
}

impl Mma {
    pub(super) fn action(self) -> Action {
        Action::Warp(Box::new(move |state: &mut State, _: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
            self.run(state, mask);
            Ok(())
        }))
    }

    fn is_volta(&self) -> bool {
        self.shape == Shape { m: 8, n: 8, k: 4 } && self.container == 16
    }

    /// Columns of A that are stored.
    fn stored(&self) -> usize {
        usize::from(self.shape.k) / if self.sparse.is_some() { 2 } else { 1 }
    }

    /// How many registers a matrix takes whose elements are `bits` wide.
    pub(super) fn registers(&self, elements: usize, bits: usize) -> usize {
        let products = if self.is_volta() { 4 } else { 1 };
        elements * bits * products / WARP / self.register
    }

    /// Whether the operands have as many registers as the shape asks for.
    pub(super) fn fits(&self) -> bool {
        let [m, n, k] = [self.shape.m, self.shape.n, self.shape.k].map(usize::from);
        let accumulator = |half| if half { 16 } else { self.register };
        m % 8 == 0
            && n % 8 == 0
            && self.a.len() == self.registers(m * self.stored(), self.container)
            && self.b.len() == self.registers(n * k, self.container)
            && self.c.len() == self.registers(m * n, accumulator(self.half[0]))
            && self.d.len() == self.registers(m * n, accumulator(self.half[1]))
    }

    fn run(&self, state: &mut State, mask: u32) {
        if self.is_volta() {
            return (0..4).for_each(|product| self.quad(state, mask, product));
        }
        let [m, n, k] = [self.shape.m, self.shape.n, self.shape.k].map(usize::from);
        let (mut a, mut b, mut c) = (Matrix::new(m, self.stored()), Matrix::new(n, k), Matrix::new(m, n));
        let elements = self.register / self.container;
        for lane in 0..WARP {
            for (register, source) in self.a.iter().enumerate() {
                let (row, column) = fragment::a(lane, register, elements, [m, self.stored()]);
                self.spread(state.get(source, lane) as u64, |index, bits| *a.at(row, column + index) = bits);
            }
            for (register, source) in self.b.iter().enumerate() {
                let (row, column) = fragment::b(lane, register, elements, [k, n]);
                self.spread(state.get(source, lane) as u64, |index, bits| *b.at(column, row + index) = bits);
            }
            for (index, value) in self.accumulators(state, lane).into_iter().enumerate() {
                let (row, column) = fragment::c(lane, index, m);
                *c.at(row, column) = value;
            }
        }
        let deliver = |state: &mut State, lane: usize, d: &Matrix| {
            self.deliver(state, lane, |index| {
                let (row, column) = fragment::c(lane, index, m);
                d.row(row)[column]
            });
        };
        let Some(scales) = &self.scales else {
            let d = self.multiply(state, &a, &b, &c, None);
            return lanes_of(mask).for_each(|lane| deliver(state, lane, &d));
        };
        // Each lane gets what its own selectors make. No register changes before all are read.
        let (read, selectors) = (scales.read(state), lanes_of(mask).map(|lane| scales.selectors(state, lane)));
        let selectors: SmallVec<[Selectors; WARP]> = selectors.collect();
        let mut known: Option<(Selectors, Matrix)> = None;
        for (lane, at) in lanes_of(mask).zip(selectors) {
            let (_, d) = match known.take() {
                Some(same) if same.0 == at => known.insert(same),
                _ => known.insert((at, self.multiply(state, &a, &b, &c, Some((&read, at))))),
            };
            deliver(state, lane, d);
        }
    }

    /// One of the four products of Volta's instruction.
    fn quad(&self, state: &mut State, mask: u32, product: usize) {
        use fragment::quads;
        let (mut a, mut b, mut c) = (Matrix::new(8, 4), Matrix::new(8, 4), Matrix::new(8, 8));
        let lanes = || (0..WARP).filter(|&lane| quads::product(lane) == product);
        for lane in lanes() {
            for (matrix, sources, strided) in [(&mut a, &self.a, self.strided[0]), (&mut b, &self.b, self.strided[1])] {
                for (register, source) in sources.iter().enumerate() {
                    self.spread(state.get(source, lane) as u64, |index, bits| {
                        let (across, along) = quads::factor(lane, 2 * register + index, strided);
                        *matrix.at(across, along) = bits;
                    });
                }
            }
            for (index, value) in self.accumulators(state, lane).into_iter().enumerate() {
                let (row, column) = quads::c(lane, index, !self.half[0]);
                *c.at(row, column) = value;
            }
        }
        let d = self.multiply(state, &a, &b, &c, None);
        for lane in lanes().filter(|&lane| mask >> lane & 1 != 0) {
            self.deliver(state, lane, |index| {
                let (row, column) = quads::c(lane, index, !self.half[1]);
                d.row(row)[column]
            });
        }
    }

    /// The elements of a register of A or B.
    fn spread(&self, register: u64, mut put: impl FnMut(usize, u64)) {
        let mask = u64::MAX >> (64 - self.container);
        (0..self.register / self.container).for_each(|index| put(index, register >> (index * self.container) & mask));
    }

    /// The elements of C that a lane has.
    fn accumulators(&self, state: &State, lane: usize) -> SmallVec<[u64; 8]> {
        let registers = self.c.iter().map(|source| state.get(source, lane) as u64);
        match self.half[0] {
            true => registers.flat_map(|both| [both & 0xffff, both >> 16]).collect(),
            false => registers.collect(),
        }
    }

    /// Writes the elements of D that a lane has.
    fn deliver(&self, state: &mut State, lane: usize, element: impl Fn(usize) -> u64) {
        for (register, to) in self.d.iter().enumerate() {
            let value = match self.half[1] {
                true => element(2 * register) | element(2 * register + 1) << 16,
                false => element(register),
            };
            state.set(to, lane, value.into());
        }
    }

    /// A times the transpose of B (whose rows are columns here), plus C.
    fn multiply(
        &self,
        state: &State,
        a: &Matrix,
        b: &Matrix,
        c: &Matrix,
        scales: Option<(&scaled::Read, Selectors)>,
    ) -> Matrix {
        let rows = c.elements.len() / c.columns;
        let mut d = Matrix::new(rows, c.columns);
        for row in 0..rows {
            let columns = self.sparse.map(|sparse| sparse.columns(state, row, a.columns));
            for column in 0..c.columns {
                let other = b.row(column);
                let along = |index: usize| columns.as_ref().map_or(index, |columns| columns[index]);
                let pairs = a.row(row).iter().enumerate().map(|(index, &a)| (a, other[along(index)]));
                let start = c.row(row)[column];
                *d.at(row, column) = match (scales, &self.kind) {
                    (Some((scales, at)), Kind::Float { a, b, adder: Adder::TensorCore(rule) }) => {
                        let values = pairs.map(|(x, y)| (a.value(x), b.value(y)));
                        let values: SmallVec<[(Value, Value); 64]> = values.collect();
                        let fractions = [a.fraction as i32, b.fraction as i32];
                        let rest = (start as u32, self.container == 4, *rule);
                        scales.sum(at, (row, column), &values, fractions, rest).into()
                    }
                    _ => self.sum(pairs, start),
                };
            }
        }
        d
    }

    fn sum(&self, pairs: impl Iterator<Item = (u64, u64)>, c: u64) -> u64 {
        match &self.kind {
            Kind::Double(round) => pairs.fold(c, |sum, (a, b)| fused(a, b, sum, *round)),
            Kind::Bits { xor } => {
                let ones = pairs.filter(|(a, b)| if *xor { a != b } else { a & b != 0 }).count();
                product::integer(i64::from(c as u32 as i32) + ones as i64, false).into()
            }
            Kind::Integer { a: a_type, b: b_type, saturate } => {
                let exact = pairs.map(|(a, b)| integer(a, *a_type) * integer(b, *b_type)).sum::<i64>();
                product::integer(exact + i64::from(c as u32 as i32), *saturate).into()
            }
            Kind::Float { a: a_format, b: b_format, adder } => {
                let values = pairs.map(|(a, b)| (a_format.value(a), b_format.value(b)));
                let values: SmallVec<[(Value, Value); 32]> = values.collect();
                let single = self.half != [true; 2];
                let start = if single && self.half[0] { widened(c as u32) } else { c as u32 };
                let fractions = [a_format.fraction as i32, b_format.fraction as i32];
                let sum = match *adder {
                    Adder::TensorCore(rule) => product::float(&values, fractions, start, single, rule),
                    Adder::Halves(rule) => emulated::as_halves(&values, start, single, rule),
                    Adder::Fused => emulated::fused(&values, start),
                };
                if single && self.half[1] { product::narrowed(sum).into() } else { sum.into() }
            }
        }
    }
}

/// A half as a single.
fn widened(bits: u32) -> u32 {
    HALF.value(bits.into()).single().to_bits()
}

/// An element of an integer type.
fn integer(bits: u64, ty: ScalarType) -> i64 {
    let above = 64 - ty.bits();
    let high = (bits as i64) << above;
    if ty.is_signed() { high >> above } else { (high as u64 >> above) as i64 }
}

/// `a * b + c`; a NaN keeps the payload of the first operand that is one.
fn fused(a: u64, b: u64, c: u64, round: Round) -> u64 {
    let nan = [a, b, c].into_iter().find(|&bits| f64::from_bits(bits).is_nan());
    let [x, y, z] = [a, b, c].map(|bits| Double::from_bits(bits.into()));
    let result = x.mul_add_r(y, z, round).value;
    match nan {
        Some(nan) => nan | 1 << 51,
        None if result.is_nan() => 0xfff8_0000_0000_0000,
        None => result.to_bits() as u64,
    }
}
