//! Stores and reductions to shared memory of the cluster that an mbarrier counts (`STAS`, `REDAS`).

use super::super::atomic::Atomic;
use super::super::memory::read_registers;
use super::syncs;
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::operand::{Src, operand};
use crate::space::Place;
use crate::state::State;
use oriole_device::Access;
use oriole_isa::{AtomType, Field, Inst, MemSize, Opcode, RegFile, Role, Value};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::STAS => {
            let size = match inst.get(Field::MEM_SIZE) {
                MemSize::B64 => 8,
                MemSize::B128 => 16,
                _ => 4,
            };
            counted(inst, size, None)?
        }
        Opcode::REDAS => {
            let size = if inst.get(Field::ATOM_TYPE) == AtomType::U64 { 8 } else { 4 };
            counted(inst, size, Some(Atomic::of(inst.get(Field::ATOM_TYPE), inst.get(Field::ATOM_OP))?))?
        }
        _ => return Ok(None),
    }))
}

/// A store, or a reduction. The base register has the address, the next one the mbarrier's.
fn counted(inst: &Inst, size: u32, reduction: Option<Atomic>) -> Result<Effect, Unsupported> {
    let Value::Reg(RegFile::R, base) = operand(inst, Role::Base).value else {
        return Err(Unsupported("an address that is in no register".into()));
    };
    let base = usize::from(base);
    let uniform = Src::of(inst, Role::UBase);
    let Value::Imm(offset) = operand(inst, Role::Offset).value else {
        return Err(Unsupported("an address without an offset".into()));
    };
    let data = Src::of(inst, Role::Data);
    let kind = if reduction.is_some() { Access::Atomic } else { Access::Write };
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let rest = uniform.scalar(state).wrapping_add(offset as u32);
        let places = state.r(base).map(|address| Place::cluster(address.wrapping_add(rest)));
        env.report(kind, size, state.active, &places);
        for lane in state.active_lanes() {
            let words = read_registers(state, data, size, lane);
            match &reduction {
                Some(atomic) => drop(atomic.execute(env, places[lane], lane, words, [0; 4])?),
                None => env.spaces.store(places[lane], size, lane, words).map_err(|kind| Halt::fault(lane, kind))?,
            }
            syncs::complete(env, lane, state.lane(base + 1, lane), u64::from(size))?;
        }
        Ok(())
    }))
}
