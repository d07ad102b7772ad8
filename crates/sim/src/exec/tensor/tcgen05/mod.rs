//! `tcgen05`: instructions on the tensor memory of sm_100.
//!
//! | file | instructions |
//! |---|---|
//! | [`access`] | `LDTM`, `STTM`, `LDTM.STAT` |
//! | [`copy`] | `UTCCP`, `UTCSHIFT`, `UTCBAR` |
//! | [`description`] | the instruction descriptor of products |
//! | [`product`] | `UTCHMMA`, `UTCQMMA`, `UTCIMMA`, `UTCOMMA` |

mod access;
mod copy;
mod description;
mod product;

use crate::effect::{Effect, Env, Found, Unsupported};
use crate::halt::Halt;
use crate::operand::{Src, operand};
use crate::state::State;
use oriole_device::FaultKind;
use oriole_isa::{Inst, Opcode, Role, Value};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Found<Effect> {
    Ok(Some(match inst.opcode {
        Opcode::LDTM => access::load(inst)?,
        Opcode::LDTM_STAT => access::load_with_statistic(inst)?,
        Opcode::STTM => access::store(inst)?,
        Opcode::UTCHMMA | Opcode::UTCQMMA | Opcode::UTCIMMA | Opcode::UTCOMMA => product::compile(inst)?,
        Opcode::UTCCP => copy::copy(inst)?,
        Opcode::UTCSHIFT => copy::shift(inst)?,
        Opcode::UTCBAR => copy::commit(inst)?,
        _ => return Ok(None),
    }))
}

/// An address in tensor memory: a uniform register and an offset.
#[derive(Clone, Copy, Debug)]
struct TensorAddress {
    base: Src,
    offset: u32,
}

impl TensorAddress {
    /// The operands `UBase` and `Offset` of `inst`.
    fn of(inst: &Inst) -> Result<Self, Unsupported> {
        let offset = match operand(inst, Role::Offset).value {
            Value::Imm(bits) => bits as u32,
            Value::None => 0,
            other => return Err(Unsupported(format!("an offset of {other:?} in tensor memory"))),
        };
        Ok(TensorAddress { base: Src::of(inst, Role::UBase), offset })
    }

    /// Lane and column.
    fn place(self, state: &State) -> (usize, usize) {
        place_of(self.base.scalar(state).wrapping_add(self.offset))
    }
}

/// Lane and column of an address: its upper and its lower half.
fn place_of(address: u32) -> (usize, usize) {
    ((address >> 16) as usize, (address & 0xffff) as usize)
}

/// The blocks that an instruction concerns: the own, or both of the pair.
fn ranks(env: &Env<'_>, of_pair: bool) -> Vec<usize> {
    let rank = env.spaces.rank;
    if of_pair { vec![rank & !1, rank | 1] } else { vec![rank] }
}

/// A rule of the instruction that the kernel breaks.
fn misuse(lane: usize, what: String) -> Halt {
    Halt::fault(lane, FaultKind::Misuse(what))
}

/// Something that is not simulated and that only shows when the instruction runs.
fn unsupported(lane: usize, what: &str) -> Halt {
    Halt::fault(lane, FaultKind::Unsupported(Unsupported(what.to_owned()).to_string()))
}
