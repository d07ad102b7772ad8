//! Loads, stores, constant loads, cache control.

use super::address::{Address, AddressWidth};
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::{Lanes, Mask, WARP, WideLanes, lanes_of};
use crate::operand::{Dst, Src};
use crate::space::{LOCAL_WINDOW, Named, Place, SHARED_WINDOW, Words};
use crate::state::{RZ, State};
use oriole_device::Access;
use oriole_isa::{Field, Inst, Mem, MemSize, Opcode, QspcSpace, Role};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::LDG => load(inst, Named::Global)?,
        Opcode::LD => load(inst, Named::Generic)?,
        Opcode::LDS => load(inst, Named::Shared)?,
        Opcode::LDL => load(inst, Named::Local)?,
        Opcode::STG => store(inst, Named::Global)?,
        Opcode::ST => store(inst, Named::Generic)?,
        Opcode::STS => store(inst, Named::Shared)?,
        Opcode::STL => store(inst, Named::Local)?,
        Opcode::QSPC => query_space(inst)?,
        Opcode::CCTL | Opcode::CCTLL => Box::new(|_: &mut State, _: &mut Env<'_>| Ok(())),
        _ => return Ok(None),
    }))
}

/// Width of the addresses of a space.
pub(super) fn width_of(space: Named) -> AddressWidth {
    match space {
        Named::Generic | Named::Global => AddressWidth::Wide,
        Named::Shared | Named::Local => AddressWidth::Narrow,
    }
}

/// Bytes of a [`MemSize`], and whether the value is sign-extended.
pub(super) fn size_of(inst: &Inst) -> (u32, bool) {
    match inst.get(Field::MEM_SIZE) {
        MemSize::U8 => (1, false),
        MemSize::S8 => (1, true),
        MemSize::U16 => (2, false),
        MemSize::S16 => (2, true),
        MemSize::B64 => (8, false),
        MemSize::B128 | MemSize::U128 => (16, false),
        _ => (4, false),
    }
}

/// Whether blocks may talk to each other through this access, so that their order matters.
fn is_ordered(inst: &Inst) -> bool {
    matches!(inst.get(Field::MEM), Mem::STRONG_GPU | Mem::MMIO_GPU | Mem::STRONG_SYS | Mem::MMIO_SYS)
}

/// Asks for the turn if any lane's access is to global memory.
pub(super) fn turn_for_global(env: &mut Env<'_>, places: &[Place; WARP], active: Mask) -> Result<(), Halt> {
    match lanes_of(active).any(|lane| matches!(places[lane], Place::Global(_))) {
        true => env.require_turn(),
        false => Ok(()),
    }
}

/// A value of `size` bytes, sign-extended.
pub(super) fn extend(value: u32, size: u32) -> u32 {
    match size {
        1 => value as u8 as i8 as u32,
        2 => value as u16 as i16 as u32,
        _ => value,
    }
}

/// Reports an access that is about to be made, and asks for the turn if it is `ordered`.
fn announce(
    env: &mut Env<'_>,
    kind: Access,
    ordered: bool,
    size: u32,
    active: Mask,
    places: &[Place; WARP],
) -> Result<(), Halt> {
    if ordered {
        turn_for_global(env, places, active)?;
    }
    env.report(kind, size, active, places);
    Ok(())
}

/// The address of the first active lane, and where it leads.
#[inline(always)]
fn first_place(state: &State, space: Named, addresses: &WideLanes) -> (u64, Place) {
    let first = addresses[state.first_active()];
    (first, space.place(first))
}

/// Loads whole words into registers from `to` on, if all lanes' are in one piece of memory.
fn load_words<const WORDS: usize>(
    state: &mut State,
    env: &Env<'_>,
    space: Named,
    addresses: &WideLanes,
    to: usize,
) -> bool {
    let (first, active) = (first_place(state, space, addresses), state.active);
    let Some(registers) = state.group_mut::<WORDS>(to) else { return false };
    env.spaces.load_piece(first, 4 * WORDS as u32, (addresses, active), registers, |word, _| word)
}

/// The same for one or two bytes of a word.
fn load_part(
    state: &mut State,
    env: &Env<'_>,
    space: Named,
    addresses: &WideLanes,
    (size, signed): (u32, bool),
    to: usize,
) -> bool {
    let (first, active) = (first_place(state, space, addresses), state.active);
    let Some(registers) = state.group_mut::<1>(to) else { return false };
    let unused = 32 - 8 * size;
    env.spaces.load_piece(first, size, (addresses, active), registers, |word, address| {
        let top = word >> (8 * (address & 3)) << unused;
        if signed { (top as i32 >> unused) as u32 } else { top >> unused }
    })
}

/// Stores whole words from registers from `from` on, if all lanes' are in one piece of memory.
fn store_words<const WORDS: usize>(
    state: &State,
    env: &mut Env<'_>,
    space: Named,
    addresses: &WideLanes,
    from: usize,
) -> bool {
    let first = first_place(state, space, addresses);
    let zeros = [[0; WARP]; WORDS];
    let registers = if from == RZ { Some(&zeros) } else { state.group::<WORDS>(from) };
    registers.is_some_and(|registers| env.spaces.store_piece(first, (addresses, state.active), registers))
}

fn load(inst: &Inst, space: Named) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, width_of(space))?;
    let (size, signed) = size_of(inst);
    let ordered = is_ordered(inst);
    let to = destination(inst)?;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let addresses = address.lanes(state);
        if ordered || env.log.is_some() {
            announce(env, Access::Read, ordered, size, state.active, &space.places(&addresses))?;
        }
        let done = match size {
            16 => load_words::<4>(state, env, space, &addresses, to),
            8 => load_words::<2>(state, env, space, &addresses, to),
            4 => load_words::<1>(state, env, space, &addresses, to),
            _ => load_part(state, env, space, &addresses, (size, signed), to),
        };
        if done {
            return Ok(());
        }
        let places = space.places(&addresses);
        let mut values = [[0; WARP]; 4];
        for lane in state.active_lanes() {
            let words = env.spaces.load(places[lane], size, lane).map_err(|kind| Halt::fault(lane, kind))?;
            for (value, word) in values.iter_mut().zip(words) {
                value[lane] = word;
            }
        }
        if signed {
            values[0] = values[0].map(|value| extend(value, size));
        }
        write_registers(state, to, size, &values);
        Ok(())
    }))
}

/// The first register of the destination.
fn destination(inst: &Inst) -> Result<usize, Unsupported> {
    match Dst::of(inst, Role::D) {
        Dst::Register(n) => Ok(n),
        other => Err(Unsupported(format!("a destination of {other:?}"))),
    }
}

/// Writes `size` bytes of each active lane to registers from `to` on.
pub(super) fn write_registers(state: &mut State, to: usize, size: u32, values: &[Lanes; 4]) {
    if to == RZ {
        return;
    }
    for (i, value) in values.iter().enumerate().take(size.div_ceil(4) as usize) {
        state.set_r(to + i, value);
    }
}

/// Reads `size` bytes of one lane from registers from `from` on.
pub(super) fn read_registers(state: &State, from: Src, size: u32, lane: usize) -> Words {
    match from.register() {
        Some(RZ) | None => [from.scalar(state), 0, 0, 0],
        Some(n) => {
            let word = |i: usize| if 4 * (i as u32) < size { state.lane(n + i, lane) } else { 0 };
            [word(0), word(1), word(2), word(3)]
        }
    }
}

fn store(inst: &Inst, space: Named) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, width_of(space))?;
    let (size, _) = size_of(inst);
    let ordered = is_ordered(inst);
    let data = Src::of(inst, Role::Data);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let addresses = address.lanes(state);
        if ordered || env.log.is_some() {
            announce(env, Access::Write, ordered, size, state.active, &space.places(&addresses))?;
        }
        let done = match (data.register(), size) {
            (Some(n), 16) => store_words::<4>(state, env, space, &addresses, n),
            (Some(n), 8) => store_words::<2>(state, env, space, &addresses, n),
            (Some(n), 4) => store_words::<1>(state, env, space, &addresses, n),
            _ => false,
        };
        if done {
            return Ok(());
        }
        let places = space.places(&addresses);
        for lane in state.active_lanes() {
            let words = read_registers(state, data, size, lane);
            env.spaces.store(places[lane], size, lane, words).map_err(|kind| Halt::fault(lane, kind))?;
        }
        Ok(())
    }))
}

/// `QSPC`: is a generic address in a window, and the address in it.
fn query_space(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Wide)?;
    let space = inst.get(Field::QSPC_SPACE);
    let (truth, to) = (Dst::of(inst, Role::PD), Dst::of(inst, Role::D));
    Ok(Box::new(move |state: &mut State, _: &mut Env<'_>| {
        let addresses = address.lanes(state);
        let mut mask = 0;
        let mut offsets = [0; WARP];
        for lane in 0..WARP {
            let (inside, offset) = match Named::Generic.place(addresses[lane]) {
                Place::Global(address) => (space == QspcSpace::G, address),
                Place::Shared(_) => (space == QspcSpace::S || space == QspcSpace::D, addresses[lane] - SHARED_WINDOW),
                Place::Cluster { rank, .. } => {
                    let own = rank == state.identity.cluster_rank as usize;
                    let inside = own && space == QspcSpace::S || space == QspcSpace::D;
                    (inside, addresses[lane] - SHARED_WINDOW)
                }
                Place::Local(_) => (space == QspcSpace::L, addresses[lane] - LOCAL_WINDOW),
                Place::Constant { .. } => (false, 0),
            };
            mask |= Mask::from(inside) << lane;
            offsets[lane] = offset as u32;
        }
        truth.set_mask(state, mask);
        to.set(state, &offsets);
        Ok(())
    }))
}
