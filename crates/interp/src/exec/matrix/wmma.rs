//! `wmma`. Which lane holds which element is left open by the PTX manual. Here it is the simplest order:
//! element n of a matrix by rows is element n modulo the lane's share of lane n over the share; what is left
//! of the registers repeats the matrix.

use super::mma::{Matrix, Mma, kind};
use crate::arith::Unsupported;
use crate::code::{Action, Destination, Source};
use crate::compile::{Builder, Location};
use crate::exec::control::form;
use crate::machine::{Env, Halt};
use crate::space::Data;
use crate::state::{Lane, State, WARP, lanes_of};
use oriole_ptx::ast::{Instruction, Operand, ScalarType, Word};
use smallvec::SmallVec;

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    match () {
        () if inst.has(Word::Load) => load(inst, builder),
        () if inst.has(Word::Store) => store(inst, builder),
        () => multiply(inst, builder),
    }
}

/// A matrix in memory and in registers.
struct Tile {
    rows: usize,
    columns: usize,
    /// By columns in memory.
    by_columns: bool,
    /// Bytes of an element.
    bytes: u32,
    /// Elements of a register.
    packed: usize,
    location: Location,
    /// Elements between rows (columns).
    stride: Source,
}

impl Tile {
    fn new(
        inst: &Instruction,
        at: &Operand,
        stride: Option<&Operand>,
        builder: &mut Builder<'_, '_>,
    ) -> Result<Tile, Unsupported> {
        let (Some(shape), Some(ty)) = (inst.shape(), inst.last_type()) else { return Err(form("wmma")) };
        let [m, n, k] = [shape.m, shape.n, shape.k].map(usize::from);
        let (rows, columns) = match () {
            () if inst.has(Word::A) => (m, k),
            () if inst.has(Word::B) => (k, n),
            () => (m, n),
        };
        if ty.bits() < 8 {
            return Err(Unsupported(format!("wmma of {ty}")));
        }
        let by_columns = inst.has(Word::Col);
        let length = if by_columns { rows } else { columns };
        let whole = Source::Constant(length as u128);
        let stride = stride.map_or(Ok(whole), |stride| builder.source(stride, ScalarType::U32))?;
        let location = builder.location(at, inst.space())?;
        let packed = (32 / ty.bits() as usize).max(1);
        Ok(Tile { rows, columns, by_columns, bytes: ty.bytes(), packed, location, stride })
    }

    /// The address of an element that one thread gives.
    fn address(&self, lane: &Lane<'_, '_>, element: usize) -> u64 {
        let (row, column) = (element / self.columns, element % self.columns);
        let (far, near) = if self.by_columns { (column, row) } else { (row, column) };
        let index = (far as u64).wrapping_mul(lane.get(&self.stride) as u64).wrapping_add(near as u64);
        self.location.address(lane).wrapping_add(index.wrapping_mul(self.bytes.into()))
    }

    /// The element that is number `index` of a lane with `share` elements.
    fn element(&self, lane: usize, share: usize, index: usize) -> usize {
        (lane * share + index) % (self.rows * self.columns)
    }
}

fn register_type(ty: Option<ScalarType>) -> ScalarType {
    if ty == Some(ScalarType::F64) { ScalarType::F64 } else { ScalarType::B32 }
}

fn load(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from, stride @ ..] = &inst.operands[..] else { return Err(form("wmma.load")) };
    let tile = Tile::new(inst, from, stride.first(), builder)?;
    let to: SmallVec<[Destination; 4]> = builder.destinations(to, register_type(inst.last_type()))?;
    let share = to.len() * tile.packed;
    Ok(Action::Warp(Box::new(move |state: &mut State, env: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
        for lane in lanes_of(mask) {
            let mut thread = Lane { lane, state, env };
            let mut values: SmallVec<[u128; 8]> = SmallVec::from_elem(0, to.len());
            for index in 0..share {
                let address = tile.address(&thread, tile.element(lane, share, index));
                let data = thread.load(tile.location.space.place(address), tile.bytes);
                let data = data.map_err(|kind| Halt { lane, kind })?.element(0, tile.bytes);
                values[index / tile.packed] |= data << (8 * tile.bytes as usize * (index % tile.packed));
            }
            to.iter().zip(&values).for_each(|(to, &value)| thread.set(to, value));
        }
        Ok(())
    })))
}

fn store(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from, stride @ ..] = &inst.operands[..] else { return Err(form("wmma.store")) };
    let tile = Tile::new(inst, to, stride.first(), builder)?;
    let from: SmallVec<[Source; 4]> = builder.sources(from, register_type(inst.last_type()))?;
    let share = from.len() * tile.packed;
    Ok(Action::Warp(Box::new(move |state: &mut State, env: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
        for lane in lanes_of(mask) {
            let mut thread = Lane { lane, state, env };
            for index in 0..share {
                let shift = 8 * tile.bytes as usize * (index % tile.packed);
                let mut data = Data::default();
                data.set(0, tile.bytes, thread.get(&from[index / tile.packed]) >> shift);
                let address = tile.address(&thread, tile.element(lane, share, index));
                let stored = thread.store(tile.location.space.place(address), tile.bytes, data);
                stored.map_err(|kind| Halt { lane, kind })?;
            }
        }
        Ok(())
    })))
}

fn multiply(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let types: SmallVec<[ScalarType; 4]> = inst.types().collect();
    let (d_type, a_type, b_type, c_type) = match types[..] {
        // Of halves only D and C are named.
        [d, c] => (d, ScalarType::F16, ScalarType::F16, c),
        [d, a, b, c] => (d, a, b, c),
        _ => return Err(form("wmma.mma")),
    };
    let ([d, a, b, c], Some(shape)) = (&inst.operands[..], inst.shape()) else { return Err(form("wmma.mma")) };
    if a_type.bits() < 8 || (c_type == ScalarType::F16) != (d_type == ScalarType::F16) {
        return Err(Unsupported(format!("wmma.mma of {a_type} with {d_type} and {c_type}")));
    }
    let ty = register_type(Some(a_type));
    let mma = Mma {
        shape,
        kind: kind(inst, a_type, b_type, d_type, builder.architecture())?,
        container: a_type.bits() as usize,
        register: ty.bits() as usize,
        a: builder.sources(a, ty)?,
        b: builder.sources(b, ty)?,
        c: builder.sources(c, ty)?,
        d: builder.destinations(d, ty)?,
        strided: [false; 2],
        half: [c_type, d_type].map(|ty| ty == ScalarType::F16),
        sparse: None,
    };
    Ok(Action::Warp(Box::new(move |state: &mut State, _: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
        run(&mma, state, mask);
        Ok(())
    })))
}

fn run(mma: &Mma, state: &mut State, mask: u32) {
    let [m, n, k] = [mma.shape.m, mma.shape.n, mma.shape.k].map(usize::from);
    let (mut a, mut b, mut c) = (Matrix::new(m, k), Matrix::new(n, k), Matrix::new(m, n));
    let packed = mma.register / mma.container;
    for lane in 0..WARP {
        for (register, source) in mma.a.iter().enumerate() {
            let first = (lane * mma.a.len() + register) * packed;
            mma.spread(state.get(source, lane) as u64, |index, bits| {
                let element = (first + index) % (m * k);
                *a.at(element / k, element % k) = bits;
            });
        }
        for (register, source) in mma.b.iter().enumerate() {
            let first = (lane * mma.b.len() + register) * packed;
            mma.spread(state.get(source, lane) as u64, |index, bits| {
                let element = (first + index) % (k * n);
                *b.at(element % n, element / n) = bits;
            });
        }
        let values = mma.accumulators(state, lane);
        let share = values.len();
        for (index, value) in values.into_iter().enumerate() {
            let element = (lane * share + index) % (m * n);
            *c.at(element / n, element % n) = value;
        }
    }
    let d = mma.multiply(state, &a, &b, &c);
    let share = mma.d.len() * if mma.half[1] { 2 } else { 1 };
    for lane in lanes_of(mask) {
        mma.deliver(state, lane, |index| {
            let element = (lane * share + index) % (m * n);
            d.row(element / n)[element % n]
        });
    }
}
