//! Copies of boxes of tensors: `UTMALDG`, `UTMASTG`, `UTMAREDG`.
//!
//! Operands as ptxas's code has them: `Src` is the generic address of a tensor map; the registers from
//! `Dst` on hold the shared address, for loads that of the mbarrier, then the coordinates. `A` holds
//! offsets of an im2col load in its low half and the blocks of a multicast in its high half, or those of `MULTICAST32` in a register of
//! their own, the last one. What replaces the tensor map (`TENSOR_GADDR`): its address is after that of the map; sizes are in place of the
//! coordinates; `A` holds the upper bits of all strides, then the lower words of each.

use super::super::atomic::Atomic;
use super::bulk::{in_block, report, uniform_register};
use super::{syncs, validity};
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::lanes_of;
use crate::operand::Src;
use crate::space::{Named, Place, Words, refuse_fabric};
use crate::state::State;
use oriole_device::tensor_map::{BYTES, Element, Fill, MAX_RANK, Shape, TensorMap};
use oriole_device::{Access, FaultKind};
use oriole_isa::{AtomType, Field, Im2col, Inst, Opcode, Role, TensorCopy, TensorDim};

/// Bytes of shared memory that stay together when it is swizzled.
const UNIT: u32 = 16;

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode.tensor_copy() {
        Some(TensorCopy::Load) => load(inst)?,
        Some(TensorCopy::Store) => store(inst)?,
        Some(TensorCopy::Reduce) => reduce(inst)?,
        Some(TensorCopy::Prefetch) | None => return Ok(None),
    }))
}

/// Those with operands for the tensor's address, sizes and strides.
const RESHAPED: [Opcode; 3] = [Opcode::UTMALDG_RESHAPED, Opcode::UTMASTG_RESHAPED, Opcode::UTMAREDG_RESHAPED];

/// How the box is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Tile,
    Im2col,
    /// Four rows of a matrix.
    Rows,
}

/// The operands of one instruction.
#[derive(Clone, Copy, Debug)]
struct Operands {
    mode: Mode,
    rank: usize,
    map: usize,
    /// The first register of the shared address, mbarrier and coordinates.
    first: usize,
    /// Registers before the coordinates.
    before: usize,
    extra: Src,
    /// Whether the registers after those of the map's address have that of the tensor.
    is_moved: bool,
    /// The first register of the strides if sizes and strides are operands too; 0 where there are no strides.
    strides: Option<usize>,
}

/// One row of a box: what lies side by side in dimension 0.
struct Row {
    /// Its bytes from the start of the box in shared memory.
    offset: u32,
    /// Address of element 0 of dimension 0; `None` outside of the tensor.
    address: Option<u64>,
}

/// A copy when it runs.
struct Transfer {
    map: TensorMap,
    shared: Place,
    /// Shared address of the mbarrier that counts it, of a load.
    mbarrier: u32,
    /// First element of the rows.
    start: i64,
    rows: Vec<Row>,
}

impl Operands {
    fn of(inst: &Inst) -> Result<Operands, Unsupported> {
        if inst.get(Field::COUNTED) {
            return Err(Unsupported("a copy that is counted".into()));
        }
        let mode = match inst.get(Field::IM2COL) {
            Im2col::OFF => Mode::Tile,
            Im2col::ON => Mode::Im2col,
            Im2col::GATHER4 | Im2col::SCATTER4 => Mode::Rows,
            _ => return Err(Unsupported("im2col over rows of pixels (.im2col::w)".into())),
        };
        let rank = match inst.get(Field::TENSOR_DIM) {
            TensorDim::D1 => 1,
            TensorDim::D2 => 2,
            TensorDim::D3 => 3,
            TensorDim::D4 => 4,
            _ => 5,
        };
        let before = if inst.opcode.tensor_copy() == Some(TensorCopy::Load) { 2 } else { 1 };
        let (map, first) = (uniform_register(inst, Role::Src)?, uniform_register(inst, Role::Dst)?);
        let is_reshaped = RESHAPED.contains(&inst.opcode);
        let strides = match is_reshaped {
            true if rank > 1 => Some(uniform_register(inst, Role::A)?),
            true => Some(0),
            false => None,
        };
        let is_moved = is_reshaped || inst.get(Field::TENSOR_ADDRESS);
        Ok(Operands { mode, rank, map, first, before, extra: Src::of(inst, Role::A), is_moved, strides })
    }

    /// Puts what operands say instead of a tensor map into it.
    fn replace(&self, state: &State, map: &mut TensorMap) -> Result<(), String> {
        if self.is_moved {
            map.address = state.ur_wide(self.map + 2);
            if !map.address.is_multiple_of(u64::from(UNIT)) {
                return Err(format!("a tensor at {:#x}, which is no multiple of {UNIT}", map.address));
            }
        }
        let Some(strides) = self.strides else { return Ok(()) };
        for i in 0..self.rank {
            let word = state.ur(self.first + self.before + i / 4);
            map.dims[i] = u64::from(word >> (8 * (i % 4)) & 0xff);
            if map.dims[i] == 0 {
                return Err("a tensor of size 0".to_owned());
            }
        }
        for i in 0..self.rank - 1 {
            let upper = u64::from(state.ur(strides) >> (4 * i) & 0xf);
            map.strides[i] = (u64::from(state.ur(strides + 1 + i)) | upper << 32) << 4;
        }
        Ok(())
    }

    /// The operands' values and the tensor map that they name.
    fn transfer(&self, state: &State, env: &mut Env<'_>, lane: usize) -> Result<Transfer, Halt> {
        let misuse = |what: String| Halt::fault(lane, FaultKind::Misuse(what));
        let address = state.ur_wide(self.map);
        let mut map = read_map(env, address, lane)?.map_err(|error| misuse(format!("{error} at {address:#x}")))?;
        if map.rank != self.rank {
            return Err(misuse(format!("a copy in {} dimensions of a tensor that has {}", self.rank, map.rank)));
        }
        self.replace(state, &mut map).map_err(misuse)?;
        refuse_fabric(Place::Global(map.address)).map_err(|kind| Halt::fault(lane, kind))?;
        let coordinate = |i: usize| match self.strides {
            Some(_) => 0,
            None => i64::from(state.ur(self.first + self.before + i) as i32),
        };
        let rows = match (self.mode, map.shape) {
            (Mode::Tile, Shape::Tile(sizes)) => tile_rows(&map, &sizes, coordinate),
            (Mode::Rows, Shape::Tile(_)) => (0..4).map(|i| (i as u32, [0, coordinate(1 + i), 0, 0, 0])).collect(),
            (Mode::Im2col, Shape::Im2col { lower, upper, pixels, .. }) => {
                let offsets = filter_offsets(self.extra.scalar(state), map.spatial());
                pixel_rows(&map, [lower, upper], offsets, pixels, coordinate)
            }
            (Mode::Im2col, _) => return Err(misuse("an im2col copy with a tensor map that is tiled".into())),
            _ => return Err(misuse("a tiled copy with a tensor map for im2col".into())),
        };
        let row_bytes = map.row_bytes();
        let place =
            |(number, at): (u32, [i64; MAX_RANK])| Row { offset: number * row_bytes, address: row_address(&map, at) };
        Ok(Transfer {
            shared: Place::cluster(state.ur(self.first)),
            mbarrier: state.ur(self.first + 1),
            start: coordinate(0),
            rows: rows.into_iter().map(place).collect(),
            map,
        })
    }
}

fn read_map(
    env: &mut Env<'_>,
    address: u64,
    lane: usize,
) -> Result<Result<TensorMap, oriole_device::tensor_map::TensorMapError>, Halt> {
    let mut bytes = [0; BYTES];
    report(env, Access::Read, lane, Named::Generic.place(address), BYTES as u32);
    for (at, unit) in bytes.chunks_exact_mut(UNIT as usize).enumerate() {
        let place = Named::Generic.place(address.wrapping_add(at as u64 * u64::from(UNIT)));
        let words = env.spaces.load(place, UNIT, lane).map_err(|kind| Halt::fault(lane, kind))?;
        for (bytes, word) in unit.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
    Ok(TensorMap::decode(&bytes))
}

/// The rows of a box: number and coordinates (that of dimension 0 means nothing).
fn tile_rows(
    map: &TensorMap,
    sizes: &[u32; MAX_RANK],
    coordinate: impl Fn(usize) -> i64,
) -> Vec<(u32, [i64; MAX_RANK])> {
    let counts: [u32; MAX_RANK] = std::array::from_fn(|i| match i {
        0 => 1,
        _ => sizes[i].div_ceil(map.element_strides[i]),
    });
    let row = |number: u32| {
        let mut rest = number;
        let at = std::array::from_fn(|i| {
            let step = rest % counts[i];
            rest /= counts[i];
            if i < map.rank { coordinate(i) + i64::from(step * map.element_strides[i]) } else { 0 }
        });
        (number, at)
    };
    (0..counts.iter().product()).map(row).collect()
}

/// The offsets of an im2col load: one of 16 bits, two of 8 or three of 5.
fn filter_offsets(packed: u32, spatial: usize) -> [i64; 3] {
    let bits = match spatial {
        1 => 16,
        2 => 8,
        _ => 5,
    };
    std::array::from_fn(|i| match i < spatial {
        true => i64::from(packed >> (bits * i as u32) & ((1 << bits) - 1)),
        false => 0,
    })
}

/// The rows of an im2col copy, one for each pixel, as the pixels follow each other in the bounding box.
fn pixel_rows(
    map: &TensorMap,
    [lower, upper]: [[i32; 3]; 2],
    offsets: [i64; 3],
    pixels: u32,
    coordinate: impl Fn(usize) -> i64,
) -> Vec<(u32, [i64; MAX_RANK])> {
    let (spatial, images) = (map.spatial(), map.rank - 1);
    let mut at: [i64; MAX_RANK] = std::array::from_fn(|i| if i < map.rank { coordinate(i) } else { 0 });
    let mut rows = Vec::new();
    for number in 0..pixels {
        let mut place = at;
        for i in 0..spatial {
            place[1 + i] += offsets[i];
        }
        rows.push((number, place));
        let mut is_next_image = true;
        for i in 0..spatial {
            at[1 + i] += i64::from(map.element_strides[1 + i]);
            if at[1 + i] <= map.dims[1 + i] as i64 - 1 + i64::from(upper[i]) {
                is_next_image = false;
                break;
            }
            at[1 + i] = i64::from(lower[i]);
        }
        at[images] += i64::from(is_next_image);
    }
    rows
}

/// Address of element 0 of the row at these coordinates, `None` outside of the tensor.
fn row_address(map: &TensorMap, at: [i64; MAX_RANK]) -> Option<u64> {
    let mut address = map.address;
    for i in 1..map.rank {
        let inside = u64::try_from(at[i]).ok().filter(|&at| at < map.dims[i])?;
        address = address.wrapping_add(inside.wrapping_mul(map.strides[i - 1]));
    }
    Some(address)
}

impl Transfer {
    /// The units of the box: offset in shared memory, and for each the addresses of its elements, `None`
    /// outside of the tensor.
    fn units(&self) -> impl Iterator<Item = (u32, Vec<Option<u64>>)> {
        let size = self.map.element.bytes();
        let per_unit = UNIT / size;
        self.rows.iter().flat_map(move |row| {
            (0..self.map.row_bytes() / UNIT).map(move |unit| {
                let element = |i: u32| {
                    let at = u64::try_from(self.start + i64::from(unit * per_unit + i)).ok()?;
                    let inside = Some(at).filter(|&at| at < self.map.dims[0])?;
                    row.address.map(|address| address.wrapping_add(inside * u64::from(size)))
                };
                (row.offset + unit * UNIT, (0..per_unit).map(element).collect())
            })
        })
    }

    /// Bytes of the whole box in shared memory.
    fn bytes(&self) -> u32 {
        self.map.row_bytes() * self.rows.len() as u32
    }

    /// The place of a unit in shared memory.
    fn place(&self, offset: u32) -> Place {
        match self.shared {
            Place::Cluster { rank, address } => {
                let address = self.map.swizzle.apply((address as u32).wrapping_add(offset));
                Place::Cluster { rank, address: u64::from(address & 0xff_ffff) }
            }
            other => other,
        }
    }

    /// Whether any 16 aligned bytes of global memory that begin in the box are reported; what fills the rest is no memory.
    fn is_reported(&self, env: &Env<'_>, lane: usize, check: validity::Check) -> Result<bool, Halt> {
        let (size, unit) = (u64::from(self.map.element.bytes()), u64::from(UNIT));
        let elements = i64::from(self.map.row_bytes()) / size as i64;
        let first = self.start.max(0) as u64;
        let last = (self.start + elements).clamp(0, self.map.dims[0] as i64) as u64;
        for address in self.rows.iter().filter_map(|row| row.address).filter(|_| first < last) {
            let (from, to) = (address + first * size, address + last * size);
            for at in (from.next_multiple_of(unit)..to).step_by(UNIT as usize) {
                let words = env.spaces.load(Place::Global(at), UNIT, lane).map_err(|kind| Halt::fault(lane, kind))?;
                if check(&words) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Reports the rows in global memory, as far as they are inside of the tensor, and the box.
    fn report(&self, env: &mut Env<'_>, lane: usize, global: Access, shared: Access) {
        if env.log.is_none() {
            return;
        }
        let size = u64::from(self.map.element.bytes());
        let elements = i64::from(self.map.row_bytes()) / size as i64;
        let first = self.start.max(0) as u64;
        let last = (self.start + elements).clamp(0, self.map.dims[0] as i64) as u64;
        if first < last {
            for address in self.rows.iter().filter_map(|row| row.address) {
                let bytes = (last - first) * size;
                report(env, global, lane, Place::Global(address + first * size), bytes as u32);
            }
        }
        report(env, shared, lane, self.shared, self.bytes());
    }
}

/// `UTMALDG`.
fn load(inst: &Inst) -> Result<Effect, Unsupported> {
    let operands = Operands::of(inst)?;
    let (narrow, wide) = (inst.get(Field::MULTICAST), inst.get(Field::MULTICAST32));
    let last = wide.then(|| uniform_register(inst, Role::A)).transpose()?.map(|first| {
        let before = match inst.get(Field::IM2COL) {
            _ if operands.strides.is_some() && operands.rank > 1 => operands.rank,
            Im2col::OFF | Im2col::GATHER4 => 0,
            _ => 1,
        };
        first + before
    });
    let check = validity::check(inst);
    let of_pair = inst.get(Field::CTA_PAIR);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let lane = state.first_active();
        let transfer = operands.transfer(state, env, lane)?;
        transfer.report(env, lane, Access::Read, Access::Write);
        let fill = match transfer.map.fill {
            Fill::Zero => 0,
            Fill::Nan => transfer.map.element.nan(),
        };
        let size = transfer.map.element.bytes();
        let own = transfer.mbarrier >> 24;
        let ranks: Vec<Option<u32>> = match last {
            Some(mask) => lanes_of(state.ur(mask)).map(|rank| Some(rank as u32)).collect(),
            None if narrow => lanes_of(operands.extra.scalar(state) >> 16).map(|rank| Some(rank as u32)).collect(),
            None => vec![None],
        };
        let reported = check.map_or(Ok(false), |check| transfer.is_reported(env, lane, check))?;
        for (offset, elements) in transfer.units() {
            let words = gather(env, lane, &elements, size, fill)?;
            for rank in &ranks {
                let place = rank.map_or(transfer.place(offset), |rank| in_block(transfer.place(offset), rank as usize));
                env.spaces.store(place, UNIT, lane, words).map_err(|kind| Halt::fault(lane, kind))?;
            }
        }
        for rank in ranks {
            // Of each pair of blocks the one is told whose number is as odd or even as that of the mbarrier's block.
            let block = rank.map_or(own, |rank| if of_pair { rank & !1 | own & 1 } else { rank });
            let mbarrier = transfer.mbarrier & 0xff_ffff | block << 24;
            if reported {
                syncs::report(env, lane, mbarrier)?;
            }
            syncs::complete(env, lane, mbarrier, u64::from(transfer.bytes()))?;
        }
        Ok(())
    }))
}

/// The elements of a unit from global memory.
fn gather(env: &Env<'_>, lane: usize, elements: &[Option<u64>], size: u32, fill: u64) -> Result<Words, Halt> {
    let fault = |kind| Halt::fault(lane, kind);
    if let (Some(first), Some(_)) = (elements[0], elements[elements.len() - 1])
        && first % u64::from(UNIT) == 0
    {
        return env.spaces.load(Place::Global(first), UNIT, lane).map_err(fault);
    }
    let mut words = [0; 4];
    for (i, element) in elements.iter().enumerate() {
        let value = match element {
            Some(address) => env.spaces.load(Place::Global(*address), size, lane).map_err(fault)?,
            None => [fill as u32, (fill >> 32) as u32, 0, 0],
        };
        insert(&mut words, i as u32 * size, size, value);
    }
    Ok(words)
}

/// Puts a value of `size` bytes at byte `at` of a unit.
fn insert(words: &mut Words, at: u32, size: u32, value: Words) {
    words[at as usize / 4] |= value[0] << (8 * (at % 4));
    if size == 8 {
        words[at as usize / 4 + 1] = value[1];
    }
}

/// The value of `size` bytes at byte `at` of a unit.
fn extract(words: &Words, at: u32, size: u32) -> Words {
    let low = words[at as usize / 4] >> (8 * (at % 4));
    match size {
        1 => [low & 0xff, 0, 0, 0],
        2 => [low & 0xffff, 0, 0, 0],
        8 => [low, words[at as usize / 4 + 1], 0, 0],
        _ => [low, 0, 0, 0],
    }
}

/// What is done with the element of shared memory and that of the tensor.
type Put = dyn Fn(&mut Env<'_>, usize, Place, u32, Words) -> Result<(), Halt> + Send + Sync;

/// A copy or reduction from shared memory to the tensor.
fn scatter(
    operands: Operands,
    kind: Access,
    put: impl Fn(Element) -> Result<Box<Put>, Unsupported> + Send + Sync + 'static,
) -> Effect {
    Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let lane = state.first_active();
        let transfer = operands.transfer(state, env, lane)?;
        let put = put(transfer.map.element)
            .map_err(|reason| Halt::fault(lane, FaultKind::Unsupported(reason.to_string())))?;
        if kind == Access::Atomic {
            env.require_turn()?;
        }
        transfer.report(env, lane, kind, Access::Read);
        let size = transfer.map.element.bytes();
        for (offset, elements) in transfer.units() {
            let unit = env.spaces.load(transfer.place(offset), UNIT, lane).map_err(|kind| Halt::fault(lane, kind))?;
            for (i, address) in elements.into_iter().enumerate() {
                if let Some(address) = address {
                    put(env, lane, Place::Global(address), size, extract(&unit, i as u32 * size, size))?;
                }
            }
        }
        Ok(())
    })
}

/// `UTMASTG`.
fn store(inst: &Inst) -> Result<Effect, Unsupported> {
    let operands = Operands::of(inst)?;
    Ok(scatter(operands, Access::Write, |_| {
        Ok(Box::new(|env: &mut Env<'_>, lane: usize, place: Place, size: u32, value: Words| {
            env.spaces.store(place, size, lane, value).map_err(|kind| Halt::fault(lane, kind))
        }))
    }))
}

/// `UTMAREDG`.
fn reduce(inst: &Inst) -> Result<Effect, Unsupported> {
    let operands = Operands::of(inst)?;
    let op = inst.get(Field::ATOM_OP);
    Ok(scatter(operands, Access::Atomic, move |element| {
        let kind = match element {
            Element::U32 => AtomType::U32,
            Element::S32 => AtomType::S32,
            Element::U64 => AtomType::U64,
            Element::S64 => AtomType::S64,
            Element::F16 => AtomType::F16X2,
            Element::Bf16 => AtomType::BF16X2,
            Element::F32 => AtomType::F32_IEEE,
            Element::F32Ftz => AtomType::F32,
            Element::F64 => AtomType::F64,
            other => return Err(Unsupported(format!("a reduction on a tensor of {other:?}"))),
        };
        let atomic = Atomic::of(kind, op)?;
        Ok(Box::new(move |env: &mut Env<'_>, lane: usize, place: Place, size: u32, value: Words| {
            let fault = |kind| Halt::fault(lane, kind);
            // A half alone is the low one of a pair whose high one stays zero.
            let update = |old| atomic.apply(old, value, [0; 4]);
            env.spaces.update_wide(place, size, lane, update).map(drop).map_err(fault)
        }))
    }))
}
