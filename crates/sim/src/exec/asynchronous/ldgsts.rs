//! `LDGSTS`, the copy of a few bytes from global to shared memory, and `LDGDEPBAR`, the group that such
//! copies form.
//!
//! Where the predicate is false nothing is read and all bytes become zero, with `ZFILL` or without: ptxas makes
//! `LDGSTS … !P` of `cp.async` with the operand `ignore-src` P, and `LDGSTS … !PT` of a `src-size` of 0, whose zeros
//! the PTX manual promises. With `ZFILL` and a source that is no multiple of the size, only the bytes from the multiple
//! below it are read, as many as are left when the remainder is taken from the size; the rest is zero. So ptxas lowers
//! any other `src-size`.

use super::super::address::{Address, AddressWidth};
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::operand::PredSrc;
use crate::space::{Named, Place, Words};
use crate::state::State;
use oriole_device::{Access, FaultKind, Space};
use oriole_isa::{Field, Inst, MemSize, Opcode, Role};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(match inst.opcode {
        Opcode::LDGSTS => Some(copy(inst)?),
        Opcode::LDGDEPBAR => Some(Box::new(|_: &mut State, _: &mut Env<'_>| Ok(()))),
        _ => None,
    })
}

fn copy(inst: &Inst) -> Result<Effect, Unsupported> {
    let from = Address::of(inst, AddressWidth::Wide)?;
    let to = Address::of_roles(inst, AddressWidth::Narrow, [Role::SBase, Role::SUBase, Role::SOffset])?;
    let size: u32 = match inst.get(Field::MEM_SIZE) {
        MemSize::B64 => 8,
        MemSize::B128 => 16,
        _ => 4,
    };
    let reads = PredSrc::of(inst, Role::PA);
    let fills = inst.get(Field::ZFILL);
    let skip = if fills { u64::from(size) - 1 } else { 0 };
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let (from, to) = (from.lanes(state), to.lanes(state));
        let reads = reads.mask(state);
        if let Some(log) = env.log.as_deref_mut() {
            log.push(Space::Global, Access::Read, size, state.active & reads, from.map(|address| address & !skip));
            log.push_places(Access::Write, size, state.active, &to.map(|address| Named::Shared.place(address)));
        }
        for lane in state.active_lanes() {
            let fault = |kind| Halt::fault(lane, kind);
            let is_read = reads >> lane & 1 != 0;
            let words = match from[lane] & skip {
                _ if !is_read => [0; 4],
                0 => env.spaces.load(Place::Global(from[lane]), size, lane).map_err(fault)?,
                skipped => start(env, from[lane] - skipped, u64::from(size) - skipped, lane).map_err(fault)?,
            };
            let is_late = env.copies.as_mut().is_some_and(|copies| copies.start(to[lane], size, words));
            if !is_late {
                env.spaces.store(Named::Shared.place(to[lane]), size, lane, words).map_err(fault)?;
            }
        }
        Ok(())
    }))
}

/// The first `bytes` bytes at a global address, followed by zeros.
fn start(env: &Env<'_>, address: u64, bytes: u64, lane: usize) -> Result<Words, FaultKind> {
    let mut words = [0; 4];
    for at in 0..bytes {
        let [byte, ..] = env.spaces.load(Place::Global(address + at), 1, lane)?;
        words[at as usize / 4] |= byte << (8 * (at % 4));
    }
    Ok(words)
}
