//! Special registers, results of barriers, and how many registers a warp has.

use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::Mask;
use crate::operand::{Dst, Src, operand};
use crate::special;
use crate::state::State;
use crate::threads::Wait;
use oriole_device::FaultKind;
use oriole_isa::{Cs2rSize, Field, Inst, MaxregOp, Opcode, Role, Value};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::S2R => read(inst, false, false)?,
        Opcode::CS2R | Opcode::CS2UR => read(inst, true, inst.get(Field::CS2R_SIZE) == Cs2rSize::X64)?,
        Opcode::S2UR => read(inst, false, false)?,
        Opcode::B2R => barrier_result(inst),
        Opcode::USETMAXREG => set_max_registers(inst),
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

/// Registers per thread that `setmaxnreg` may ask for, by the PTX manual; they are multiples of 8.
const MAX_REGISTERS: std::ops::RangeInclusive<u32> = 24..=256;

/// `USETMAXREG`: gives registers back to the block's pool, or takes some from it if it has so many. Each warp
/// does so for itself.
fn set_max_registers(inst: &Inst) -> Effect {
    let (count, got) = (Src::of(inst, Role::A), Dst::of(inst, Role::PD));
    let takes = inst.get(Field::MAXREG_OP) == MaxregOp::TRY_ALLOC;
    Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let (old, new) = (state.identity.registers, count.scalar(state));
        let is_right_way = if takes { new >= old } else { new <= old };
        if !MAX_REGISTERS.contains(&new) || !new.is_multiple_of(8) || !is_right_way {
            let change = if takes { "more" } else { "fewer" };
            let rule =
                format!("setmaxnreg from {old} to {new} registers; it takes {change}, a multiple of 8 from 24 to 256");
            return Err(Halt::fault(state.first_active(), FaultKind::Misuse(rule)));
        }
        let is_there = !takes || new - old <= *env.register_pool;
        if !is_there && !env.is_last_try {
            return Err(Halt::NotYet(Wait::Registers(new - old)));
        }
        if is_there {
            *env.signals += u64::from(new < old);
            *env.register_pool = (*env.register_pool + old).saturating_sub(new);
            state.identity.registers = new;
        }
        got.set_mask(state, Mask::from(is_there).wrapping_neg());
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
        let low = special::read(number, coupled, state)?;
        if pair {
            let high = special::read(number.saturating_add(1), coupled, state)?;
            to.set_wide(state, &std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32));
        } else {
            to.set(state, &low);
        }
        Ok(())
    }))
}
