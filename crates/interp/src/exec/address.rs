//! Addresses: `cvta`, `isspacep`, `mapa`, `getctarank`.

use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::lane::Lane;
use crate::space::{CONSTANT_WINDOW, LOCAL_WINDOW, Named, PARAMETER_WINDOW, Place, RANK_SHIFT, SHARED_WINDOW, WINDOW};
use oriole_ptx::ast::{Instruction, Opcode, ScalarType, Space, Word};

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::Cvta => convert(inst, builder)?,
        Opcode::Isspacep => test(inst, builder)?,
        Opcode::Mapa => map(inst, builder)?,
        Opcode::Getctarank => rank(inst, builder)?,
        _ => return Ok(None),
    }))
}

/// `cvta.space`: to a generic address; `cvta.to.space`: from one.
fn convert(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let ty = inst.last_type().unwrap_or(ScalarType::U64);
    let [to, from] = &inst.operands[..] else { return Err(form("cvta")) };
    let (to, from) = (builder.destination(to, ty)?, builder.source(from, ty)?);
    let window = Named::of(inst.space()).ok_or_else(|| form("cvta"))?.window();
    let back = inst.has(Word::To);
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let address = lane.get(&from) as u64;
        let converted = match back {
            _ if window == 0 => address,
            true => address.wrapping_sub(window),
            false => address.wrapping_add(window),
        };
        lane.set(&to, u128::from(converted));
        Ok(())
    })))
}

/// Whether a generic address is one of `space`, for a thread of the block with this rank in its cluster.
fn is_in(space: Space, address: u64, rank: u32) -> bool {
    match space {
        Space::Shared | Space::SharedCta => address >> RANK_SHIFT == SHARED_WINDOW >> RANK_SHIFT | u64::from(rank),
        Space::SharedCluster => (SHARED_WINDOW..LOCAL_WINDOW).contains(&address),
        Space::Local => (LOCAL_WINDOW..LOCAL_WINDOW + WINDOW).contains(&address),
        Space::Const => (CONSTANT_WINDOW..PARAMETER_WINDOW).contains(&address),
        Space::Param | Space::ParamEntry => (PARAMETER_WINDOW..PARAMETER_WINDOW + WINDOW).contains(&address),
        _ => matches!(Place::of_generic(address), Place::Global(_)),
    }
}

fn test(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from] = &inst.operands[..] else { return Err(form("isspacep")) };
    let (to, from) = (builder.destination(to, ScalarType::Pred)?, builder.source(from, ScalarType::U64)?);
    let space = inst.space().ok_or_else(|| form("isspacep"))?;
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let inside = is_in(space, lane.get(&from) as u64, lane.state.identity.cluster_rank);
        lane.set(&to, u128::from(inside));
        Ok(())
    })))
}

/// `mapa`: the address of the same variable in another block of the cluster.
fn map(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let ty = inst.last_type().unwrap_or(ScalarType::U64);
    let [to, from, rank] = &inst.operands[..] else { return Err(form("mapa")) };
    let to = builder.destination(to, ty)?;
    let (from, rank) = (builder.source(from, ty)?, builder.source(rank, ScalarType::U32)?);
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let within = lane.get(&from) as u64 & !(0xff << RANK_SHIFT);
        let rank = (lane.get(&rank) as u64 & 0xff) << RANK_SHIFT;
        lane.set(&to, u128::from(within | rank));
        Ok(())
    })))
}

/// `getctarank`: which block of the cluster an address belongs to.
fn rank(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let ty = inst.last_type().unwrap_or(ScalarType::U64);
    let [to, from] = &inst.operands[..] else { return Err(form("getctarank")) };
    let (to, from) = (builder.destination(to, ScalarType::U32)?, builder.source(from, ty)?);
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let rank = lane.get(&from) >> RANK_SHIFT & 0xff;
        lane.set(&to, rank);
        Ok(())
    })))
}
