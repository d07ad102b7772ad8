//! Asynchronous operations: mbarriers, copies in bulk, the groups that they form, distributed shared
//! memory.
//!
//! Copies are done at once, when they are issued, and so are their arrivals at mbarriers: what waits
//! for a copy, by a group, a scoreboard or an mbarrier, finds it done.

mod bulk;
mod early;
mod launch_control;
mod ldgsts;
mod remote;
mod syncs;
mod tensor;
mod usyncs;
mod validity;

use crate::access::PhaseKind;
use crate::effect::{Effect, Env, Found};
use crate::halt::Halt;
use crate::mbarrier::Mbarrier;
use crate::state::State;
use oriole_isa::{Inst, Opcode};

/// One arrival at the mbarrier at a shared address, whose byte 3 names the block; its bits before.
pub(super) fn arrive_at(env: &mut Env<'_>, lane: usize, address: u32, kind: PhaseKind) -> Result<Mbarrier, Halt> {
    syncs::change(env, lane, address, (0, 1, false), kind)
}

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Found<Effect> {
    const PARTS: [fn(&Inst) -> Found<Effect>; 8] = [
        syncs::compile,
        usyncs::compile,
        early::compile,
        ldgsts::compile,
        remote::compile,
        bulk::compile,
        tensor::compile,
        launch_control::compile,
    ];
    for part in PARTS {
        if let Some(effect) = part(inst)? {
            return Ok(Some(effect));
        }
    }
    Ok(match inst.opcode {
        // A group of copies is done when it is formed; there is no cache of tensor maps and no L2.
        Opcode::UTMACMDFLUSH | Opcode::UTMACCTL | Opcode::UBLKPF | Opcode::UTMAPF | Opcode::UTMAPF_RESHAPED => {
            Some(Box::new(|_: &mut State, _: &mut Env<'_>| Ok(())))
        }
        _ => None,
    })
}
