//! The map of free tensor memory: `UTCATOMSWS`. `UVIRTCOUNT` gives units of a pool back that blocks of other kernels
//! would wait for; here every block is alone.

use crate::effect::{Effect, Env, Unsupported};
use crate::lanes::Mask;
use crate::operand::{Dst, Src};
use crate::state::State;
use oriole_isa::{Field, Inst, Opcode, Role, SwsOp};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::UTCATOMSWS => change(inst)?,
        Opcode::UVIRTCOUNT => Box::new(|_: &mut State, _: &mut Env<'_>| Ok(())),
        _ => return Ok(None),
    }))
}

/// `UTCATOMSWS`: D = the first of A units of columns that now are held, or the old map, of which the bits of A stay
/// (AND) or to which they are added (OR).
fn change(inst: &Inst) -> Result<Effect, Unsupported> {
    let (to, found, source) = (Dst::of(inst, Role::D), Dst::of(inst, Role::PD), Src::of(inst, Role::A));
    let of_pair = inst.get(Field::CTA_PAIR);
    let aligned = inst.get(Field::SWS_ALIGN);
    let op = inst.get(Field::SWS_OP);
    if op == SwsOp::CAS {
        return Err(Unsupported("UTCATOMSWS.CAS".into()));
    }
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let (rank, bits) = (env.spaces.rank, source.scalar(state));
        let pair = [rank & !1, rank | 1];
        let ranks = if of_pair { &pair[..] } else { &[rank] };
        if op == SwsOp::FIND_AND_SET {
            let first = env.columns.take(ranks, bits, aligned);
            to.set_scalar(state, first.unwrap_or(u32::MAX));
            found.set_mask(state, Mask::from(first.is_some()).wrapping_neg());
            return Ok(());
        }
        to.set_scalar(state, *env.columns.of(rank));
        for rank in ranks {
            let map = env.columns.of(*rank);
            *map = if op == SwsOp::AND { *map & bits } else { *map | bits };
        }
        Ok(())
    }))
}
