//! `wmma`: products of greater matrices, whose fragments are those of `mma` in the order of ptxas's code
//! (`fragment`). The product of a matrix of 8 rows with one of 32 columns is made as the transpose of the product
//! of both transposes.

use super::fragment;
use super::mma::{Mma, kind};
use crate::arith::Unsupported;
use crate::builder::{Builder, Location, form};
use crate::code::Action;
use crate::env::{Env, Halt};
use crate::lane::Lane;
use crate::lanes::lanes_of;
use crate::operand::{Destination, Source};
use crate::space::Data;
use crate::state::State;
use oriole_ptx::ast::{Instruction, Operand, ScalarType, Shape, Word};
use smallvec::SmallVec;

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    match () {
        () if inst.has(Word::Load) => load(inst, builder),
        () if inst.has(Word::Store) => store(inst, builder),
        () => multiply(inst, builder),
    }
}

/// Whether the product is made transposed. sm_75 multiplies integers in blocks of 8 rows.
fn is_transposed(shape: Shape, integers: bool, sm: u32) -> bool {
    shape.m == 8 && shape.n == 32 && !(integers && sm < 80)
}

fn transposed(shape: Shape) -> Shape {
    Shape { m: shape.n, n: shape.m, ..shape }
}

#[derive(Clone, Copy)]
enum Role {
    A,
    B,
    Accumulator,
}

/// Which lane holds what of a matrix.
struct Fragment {
    role: Role,
    /// The shape of the product that is made.
    shape: Shape,
    transposed: bool,
    /// Elements of a register.
    packed: usize,
}

impl Fragment {
    /// Row and column of element `index` of a lane.
    fn place(&self, lane: usize, index: usize) -> (usize, usize) {
        let [m, n, k] = [self.shape.m, self.shape.n, self.shape.k].map(usize::from);
        let (register, within) = (index / self.packed, index % self.packed);
        let (row, column) = match self.role {
            Role::A => {
                let (row, first) = fragment::a(lane, register, self.packed, [m, k]);
                (row, first + within)
            }
            Role::B => {
                let (first, column) = fragment::b(lane, register, self.packed, [k, n]);
                (first + within, column)
            }
            Role::Accumulator => fragment::c(lane, index, m),
        };
        if self.transposed { (column, row) } else { (row, column) }
    }
}

/// A matrix in memory and in registers.
struct Tile {
    fragment: Fragment,
    /// By columns in memory.
    by_columns: bool,
    /// Bits of an element.
    bits: u32,
    /// Elements of an access: elements below a byte come a register at a time.
    together: usize,
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
        let transposed_product = is_transposed(shape, ty == ScalarType::S32, builder.architecture());
        let role = match (inst.has(Word::A), inst.has(Word::B)) {
            (true, _) if transposed_product => Role::B,
            (_, true) if transposed_product => Role::A,
            (true, _) => Role::A,
            (_, true) => Role::B,
            _ => Role::Accumulator,
        };
        let (rows, columns) = match (inst.has(Word::A), inst.has(Word::B)) {
            (true, _) => (shape.m, shape.k),
            (_, true) => (shape.k, shape.n),
            _ => (shape.m, shape.n),
        };
        let packed = (32 / ty.bits() as usize).max(1);
        let made = if transposed_product { transposed(shape) } else { shape };
        let by_columns = inst.has(Word::Col);
        let whole = Source::Constant(if by_columns { rows } else { columns }.into());
        Ok(Tile {
            fragment: Fragment { role, shape: made, transposed: transposed_product, packed },
            by_columns,
            bits: ty.bits(),
            together: if ty.bits() < 8 { packed } else { 1 },
            location: builder.location(at, inst.space())?,
            stride: stride.map_or(Ok(whole), |stride| builder.source(stride, ScalarType::U32))?,
        })
    }

    /// The address of element `index` of a thread.
    fn address(&self, lane: &Lane<'_, '_>, index: usize) -> u64 {
        let (row, column) = self.fragment.place(lane.lane, index);
        let (far, near) = if self.by_columns { (column, row) } else { (row, column) };
        let element = (far as u64).wrapping_mul(lane.get(&self.stride) as u64).wrapping_add(near as u64);
        self.location.address(lane).wrapping_add(element.wrapping_mul(self.bits.into()) / 8)
    }

    /// Bytes of an access.
    fn bytes(&self) -> u32 {
        self.bits * self.together as u32 / 8
    }

    /// The accesses for `registers` registers: the first element, its register and its first bit there.
    fn accesses(&self, registers: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let (packed, bits) = (self.fragment.packed, self.bits as usize);
        let all = (0..registers * packed).step_by(self.together);
        all.map(move |index| (index, index / packed, bits * (index % packed)))
    }
}

fn register_type(ty: Option<ScalarType>) -> ScalarType {
    if ty == Some(ScalarType::F64) { ScalarType::F64 } else { ScalarType::B32 }
}

fn load(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from, stride @ ..] = &inst.operands[..] else { return Err(form("wmma.load")) };
    let tile = Tile::new(inst, from, stride.first(), builder)?;
    let to: SmallVec<[Destination; 4]> = builder.destinations(to, register_type(inst.last_type()))?;
    Ok(Action::Warp(Box::new(move |state: &mut State, env: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
        for lane in lanes_of(mask) {
            let mut thread = Lane { lane, state, env };
            let mut values: SmallVec<[u128; 8]> = SmallVec::from_elem(0, to.len());
            for (index, register, shift) in tile.accesses(to.len()) {
                let place = tile.location.space.place(tile.address(&thread, index));
                let data = thread.load(place, tile.bytes()).map_err(|kind| Halt { lane, kind })?;
                values[register] |= data.element(0, tile.bytes()) << shift;
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
    Ok(Action::Warp(Box::new(move |state: &mut State, env: &mut Env<'_>, mask: u32| -> Result<(), Halt> {
        for lane in lanes_of(mask) {
            let mut thread = Lane { lane, state, env };
            for (index, register, shift) in tile.accesses(from.len()) {
                let mut data = Data::default();
                data.set(0, tile.bytes(), thread.get(&from[register]) >> shift);
                let place = tile.location.space.place(tile.address(&thread, index));
                thread.store(place, tile.bytes(), data).map_err(|kind| Halt { lane, kind })?;
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
    let sm = builder.architecture();
    let transposed_product = is_transposed(shape, d_type == ScalarType::S32, sm);
    let (shape, a, b) = if transposed_product { (transposed(shape), b, a) } else { (shape, a, b) };
    let ty = register_type(Some(a_type));
    let mut mma = Mma {
        shape,
        kind: kind(inst, a_type, b_type, d_type, sm)?,
        container: a_type.bits() as usize,
        register: ty.bits() as usize,
        a: builder.sources(a, ty)?,
        b: builder.sources(b, ty)?,
        c: builder.sources(c, ty)?,
        d: builder.destinations(d, ty)?,
        strided: [false; 2],
        half: [c_type, d_type].map(|ty| ty == ScalarType::F16),
        sparse: None,
        scales: None,
    };
    // Registers that repeat the matrix do not count.
    let [m, n, k] = [shape.m, shape.n, shape.k].map(usize::from);
    mma.a.truncate(mma.registers(m * k, mma.container));
    mma.b.truncate(mma.registers(n * k, mma.container));
    if mma.fits() { Ok(mma.action()) } else { Err(form("wmma.mma")) }
}
