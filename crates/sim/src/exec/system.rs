//! Special registers and results of barriers.

use super::Unsupported;
use crate::operand::{Dst, operand};
use crate::program::{Effect, Env};
use crate::special;
use crate::state::{Mask, State};
use oriole_isa::{Field, Inst, Opcode, Role, Value, cs2r_size};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::S2R => read(inst, false, false)?,
        Opcode::CS2R | Opcode::CS2UR => read(inst, true, inst.get(Field::Cs2rSize) == cs2r_size::X64)?,
        Opcode::S2UR => read(inst, false, false)?,
        Opcode::B2R => barrier_result(inst),
        _ => return Ok(None),
    }))
}

/// `B2R`: the result of the last `BAR.RED`.
fn barrier_result(inst: &Inst) -> Effect {
    let (to, truth) = (Dst::of(inst, Role::D), Dst::of(inst, Role::PD));
    Box::new(move |state: &mut State, env: &mut Env<'_>| {
        to.set_scalar(state, env.barrier_result.value);
        truth.set_mask(state, Mask::from(env.barrier_result.truth).wrapping_neg());
        Ok(())
    })
}

/// A special register, through the path that reads only those that are `coupled` or through that for
/// all; as a pair with the one that follows it, if `pair`.
fn read(inst: &Inst, coupled: bool, pair: bool) -> Result<Effect, Unsupported> {
    let Value::Special(number) = operand(inst, Role::A).value else {
        return Err(Unsupported("a special register that is none".into()));
    };
    let to = Dst::of(inst, Role::D);
    Ok(Box::new(move |state: &mut State, _: &mut Env<'_>| {
        let low = special::read(number, coupled, state);
        if pair {
            let high = special::read(number.saturating_add(1), coupled, state);
            to.set_wide(state, &std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32));
        } else {
            to.set(state, &low);
        }
        Ok(())
    }))
}
