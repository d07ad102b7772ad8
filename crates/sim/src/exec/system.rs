//! Special registers and results of barriers.

use super::Unsupported;
use crate::operand::{Dst, operand};
use crate::program::{Effect, Env};
use crate::special;
use crate::state::State;
use oriole_isa::{Field, Inst, Opcode, Role, Value, cs2r_size};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::S2R => read(inst, false)?,
        Opcode::CS2R => read(inst, inst.get(Field::Cs2rSize) == cs2r_size::X64)?,
        _ => return Ok(None),
    }))
}

/// A special register; as a pair with the one that follows it, if `pair`.
fn read(inst: &Inst, pair: bool) -> Result<Effect, Unsupported> {
    let Value::Special(number) = operand(inst, Role::A).value else {
        return Err(Unsupported("a special register that is none".into()));
    };
    let to = Dst::of(inst, Role::D);
    Ok(Box::new(move |state: &mut State, _: &mut Env<'_>| {
        let low = special::read(number, state);
        if pair {
            let high = special::read(number.saturating_add(1), state);
            to.set_wide(state, &std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32));
        } else {
            to.set(state, &low);
        }
        Ok(())
    }))
}
