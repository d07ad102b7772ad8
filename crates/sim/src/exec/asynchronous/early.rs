//! mbarriers of sm_80 to sm_89: two words of shared memory that plain instructions change, but for the
//! arrival itself.
//!
//! Read off ptxas's code: the low word is 2^30 less the arrivals that each phase expects; the high word
//! has in bit 31 the phase and below 2^31 less the arrivals still to come.

use super::super::address::{Address, AddressWidth};
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::WARP;
use crate::operand::Dst;
use crate::space::Named;
use crate::state::State;
use oriole_device::{Access, FaultKind};
use oriole_isa::{ArrivesCount, AtomOp, Field, Inst, Opcode, Role};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    let (space, width) = match inst.opcode {
        Opcode::ATOM if inst.get(Field::ATOM_OP) == AtomOp::ARRIVE => (Named::Generic, AddressWidth::Wide),
        Opcode::ATOMS if inst.get(Field::ATOM_OP) == AtomOp::ARRIVE => (Named::Shared, AddressWidth::Narrow),
        Opcode::ARRIVES if inst.get(Field::ARRIVES_COUNT) == ArrivesCount::BOTH => {
            (Named::Shared, AddressWidth::Narrow)
        }
        _ => return Ok(None),
    };
    let address = Address::of(inst, width)?;
    let to = Dst::of(inst, Role::D);
    Ok(Some(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let places = address.lanes(state).map(|address| space.place(address));
        env.report(Access::Atomic, 8, state.active, &places);
        let mut before = [0; WARP];
        for lane in state.active_lanes() {
            let fault = |kind| Halt::fault(lane, kind);
            let update = |[low, high, ..]: [u32; 4]| [low, arrive(low, high), 0, 0];
            let [low, high, ..] = env.spaces.update_wide(places[lane], 8, lane, update).map_err(fault)?;
            if (low, high) == (0, 0) {
                return Err(fault(FaultKind::Misuse("an arrival at an mbarrier that is not initialised".into())));
            }
            before[lane] = u64::from(low) | u64::from(high) << 32;
        }
        to.set_wide(state, &before);
        Ok(())
    })))
}

/// The high word after one arrival.
fn arrive(low: u32, high: u32) -> u32 {
    let next = high.wrapping_add(1);
    match (next ^ high) >> 31 {
        0 => next,
        // The last one: the count starts anew in the next phase.
        _ => next & 1 << 31 | low.wrapping_add(1 << 30) & !(1 << 31),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other() {
        // mbarrier.init for 2 arrivals, as ptxas computes it.
        let (low, mut high) = (0x4000_0000 - 2, 0x8000_0000u32 - 2);
        for phase in [0, 1, 0] {
            assert_eq!(high, phase << 31 | (0x8000_0000 - 2));
            high = arrive(low, high);
            assert_eq!(high >> 31, phase);
            high = arrive(low, high);
        }
    }
}
