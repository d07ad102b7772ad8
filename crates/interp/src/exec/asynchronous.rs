//! Copies, stores and reductions that the hardware does behind the threads' backs: `cp.async`,
//! `cp.async.bulk`, `cp.reduce.async.bulk`, both of `multimem`, `st.async`, `red.async`. Here they happen at once, in order, so
//! that groups are always complete; barriers get their bytes.

use super::atomic;
use super::mbarrier::{self, Change, in_block};
use crate::arith::Unsupported;
use crate::builder::{Builder, Location, form};
use crate::code::Action;
use crate::lane::Lane;
use crate::lanes::lanes_of;
use crate::operand::Source;
use crate::space::{Data, Place};
use oriole_device::FaultKind;
use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, Space, Word};
use smallvec::SmallVec;

/// Bulk copies are of so many bytes, and aligned to them.
const BULK_UNIT: u64 = 16;
/// The most bytes of a bulk copy: no shared memory has more.
const MOST_BULK: u64 = 1 << 20;

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    let word = |word| inst.has(word);
    Ok(Some(match inst.opcode {
        Opcode::Fabric if word(Word::Submit) || word(Word::Wait) => Action::Nothing,
        Opcode::Fabric => {
            return Err(Unsupported(format!(
                "other devices' memory behind the fabric, which `{}` is for",
                inst.opcode
            )));
        }
        Opcode::St if word(Word::Async) => store(inst, builder)?,
        Opcode::Red if word(Word::Async) => reduce(inst, builder)?,
        Opcode::Cp if word(Word::Tensor) => return Ok(None),
        Opcode::Cp if word(Word::CommitGroup) || word(Word::WaitGroup) || word(Word::WaitAll) => Action::Nothing,
        Opcode::Cp if word(Word::Mbarrier) => arrive(inst, builder)?,
        Opcode::Cp if word(Word::Prefetch) => Action::Nothing,
        Opcode::Cp | Opcode::Multimem if word(Word::Bulk) => bulk(inst, builder)?,
        Opcode::Cp if word(Word::Async) => copy(inst, builder)?,
        _ => return Ok(None),
    }))
}

/// The two spaces of a copy, and its two addresses.
fn ends(
    inst: &Instruction,
    to: &Operand,
    from: &Operand,
    builder: &mut Builder<'_, '_>,
) -> Result<(Location, Location), Unsupported> {
    let mut spaces = inst.spaces();
    let (Some(to_space), Some(from_space)) = (spaces.next(), spaces.next()) else { return Err(form("cp.async")) };
    Ok((builder.location(to, Some(to_space))?, builder.location(from, Some(from_space))?))
}

/// A byte between places that need not be aligned to more.
fn copy_byte(lane: &mut Lane<'_, '_>, to: &Location, from: &Location, index: u64) -> Result<(), FaultKind> {
    let at =
        |location: &Location, lane: &Lane<'_, '_>| location.space.place(location.address(lane).wrapping_add(index));
    let data = lane.load(at(from, lane), 1)?;
    lane.store(at(to, lane), 1, data)
}

/// `cp.async`: 4, 8 or 16 bytes, of which those that the source does not have are zero.
fn copy(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from, size, more @ ..] = &inst.operands[..] else { return Err(form("cp.async")) };
    let (to, from) = ends(inst, to, from, builder)?;
    let Source::Constant(size @ (4 | 8 | 16)) = builder.source(size, ScalarType::U32)? else {
        return Err(form("cp.async"));
    };
    let size = size as u32;
    // A cache policy stands behind everything else.
    let more = if inst.has(Word::L2CacheHint) { more.split_last().map_or(more, |(_, more)| more) } else { more };
    let limit = match more {
        [] => None,
        [limit, ..] if builder.is_predicate(limit) => Some((builder.source(limit, ScalarType::Pred)?, true)),
        [limit, ..] => Some((builder.source(limit, ScalarType::U32)?, false)),
    };
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let taken = match limit.as_ref().map(|(source, ignore)| (lane.get(source) as u32, ignore)) {
            None => size,
            Some((ignored, true)) => {
                if ignored == 0 {
                    size
                } else {
                    0
                }
            }
            Some((taken, false)) if taken <= size => taken,
            Some((taken, false)) => {
                return Err(FaultKind::Misuse(format!("cp.async of {taken} bytes into {size}")));
            }
        };
        let (to_place, from_place) = (to.place(lane), from.place(lane));
        let data = if taken == size { lane.load(from_place, size)? } else { Data::default() };
        lane.store(to_place, size, data)?;
        let part = if taken == size { 0 } else { taken };
        (0..u64::from(part)).try_for_each(|index| copy_byte(lane, &to, &from, index))
    })))
}

/// `cp.async.mbarrier.arrive`: all copies before it are complete. Without `.noinc` the arrival is one
/// that the barrier did not wait for before.
fn arrive(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [at] = &inst.operands[..] else { return Err(form("cp.async.mbarrier.arrive")) };
    let at = builder.location(at, inst.space())?;
    let arrivals = u64::from(inst.has(Word::Noinc));
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let place = at.place(lane);
        mbarrier::change(lane, place, Change { arrivals, ..Change::default() }).map(|_| ())
    })))
}

/// Bytes have come: the barrier of a copy, if it has one, is told.
pub(super) fn complete(lane: &mut Lane<'_, '_>, barrier: Option<Place>, bytes: u64) -> Result<(), FaultKind> {
    complete_and_report(lane, barrier, bytes, false)
}

/// The same, and that something is reported of them.
fn complete_and_report(
    lane: &mut Lane<'_, '_>,
    barrier: Option<Place>,
    bytes: u64,
    reported: bool,
) -> Result<(), FaultKind> {
    let Some(place) = barrier else { return Ok(()) };
    mbarrier::change(lane, place, Change { arrived_bytes: bytes as i64, reported, ..Change::default() }).map(|_| ())
}

/// Which 16 bytes of a copy are reported, from the lowest on.
type Validity = fn(u128) -> bool;

/// What is looked for: a negative zero in the element of each 16 bytes that is looked at, which is the first one here (the manual says
/// that it is a sample), or a byte of ones.
const VALIDITY: [(Word, Validity); 5] = [
    (Word::MbarrierReportValidityPer16bytes80000000, |unit| unit as u32 == 1 << 31),
    (Word::MbarrierReportValidityPer16bytes8000, |unit| unit as u16 == 1 << 15),
    (Word::MbarrierReportValidityPer16bytes80, |unit| unit as u8 == 1 << 7),
    (Word::MbarrierReportValidityPer16bytes8, |unit| unit & 0xf == 1 << 3),
    (Word::MbarrierReportValidityPerElementFf, |unit| unit.to_le_bytes().contains(&0xff)),
];

fn validity(inst: &Instruction) -> Option<Validity> {
    VALIDITY.iter().find(|(word, _)| inst.has(*word)).map(|(_, is_reported)| *is_reported)
}

/// The barrier among the last operands, if the form has one. It is in shared memory of the cluster however its
/// address is written.
fn barrier(
    inst: &Instruction,
    more: &[Operand],
    builder: &mut Builder<'_, '_>,
) -> Result<Option<Location>, Unsupported> {
    match more {
        [at @ Operand::Address(_), ..] if inst.has(Word::MbarrierCompleteTxBytes) => {
            builder.location(at, Some(Space::SharedCluster)).map(Some)
        }
        _ => Ok(None),
    }
}

/// How many bytes at both ends of the source may be out of bounds, if the form says so, and the operands after them.
type Ignored<'i> = (Option<[Source; 2]>, &'i [Operand]);

fn ignored<'i>(
    inst: &Instruction,
    more: &'i [Operand],
    builder: &mut Builder<'_, '_>,
) -> Result<Ignored<'i>, Unsupported> {
    match more {
        [left, right, more @ ..] if inst.has(Word::IgnoreOob) => {
            Ok((Some([builder.source(left, ScalarType::U32)?, builder.source(right, ScalarType::U32)?]), more))
        }
        _ => Ok((None, more)),
    }
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`, also of `multimem`.
fn bulk(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from, size, more @ ..] = &inst.operands[..] else { return Err(form("cp.async.bulk")) };
    let (to, from) = ends(inst, to, from, builder)?;
    let size = builder.source(size, ScalarType::U32)?;
    let (ignored, more) = ignored(inst, more, builder)?;
    let barrier = barrier(inst, more, builder)?;
    let blocks = blocks(inst, more, builder)?;
    let validity = validity(inst);
    let byte_mask = match (inst.has(Word::CpMask), more) {
        (true, [.., mask]) => Some(builder.source(mask, ScalarType::U16)?),
        (true, _) => return Err(form("cp.async.bulk")),
        (false, _) => None,
    };
    let (element, step) = match inst.last_type() {
        Some(ty) if inst.has(Word::Reduce) => (ty.bytes(), atomic::combine(inst, ty)?),
        _ if byte_mask.is_some() || ignored.is_some() => (1, atomic::replace()),
        _ => (BULK_UNIT as u32, atomic::replace()),
    };
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let size = lane.get(&size) as u64;
        let byte_mask = byte_mask.as_ref().map(|mask| lane.get(mask) as u16);
        // Bit i of the mask is for byte i of each unit.
        let written = move |at: u64| byte_mask.is_none_or(|mask| mask >> (at % BULK_UNIT) & 1 != 0);
        if !size.is_multiple_of(BULK_UNIT) || size > MOST_BULK {
            return Err(FaultKind::Misuse(format!("a bulk copy of {size} bytes, no multiple of {BULK_UNIT}")));
        }
        let (to_start, from_start) = (to.address(lane), from.address(lane));
        let [left, right] =
            ignored.as_ref().map_or([0; 2], |ends| [lane.get(&ends[0]) as u64, lane.get(&ends[1]) as u64]);
        if left.max(right) >= BULK_UNIT {
            return Err(FaultKind::Misuse(format!("a bulk copy that ignores {left} and {right} bytes at its ends")));
        }
        let may_be_outside = move |at: u64| at < left || at >= size.saturating_sub(right);
        for address in [to_start, from_start] {
            if !address.is_multiple_of(BULK_UNIT) {
                return Err(FaultKind::Misuse(format!("a bulk copy at {address:#x}, no multiple of {BULK_UNIT}")));
            }
        }
        let copy_to = |lane: &mut Lane<'_, '_>, to_start: u64| {
            (0..size).step_by(element as usize).filter(|at| written(*at)).try_for_each(|at| {
                let data = match lane.load(from.space.place(from_start.wrapping_add(at)), element) {
                    Ok(data) => data.element(0, element),
                    // The manual leaves open what is written then: nothing.
                    Err(_) if may_be_outside(at) => return Ok(()),
                    Err(fault) => return Err(fault),
                };
                let combined = lane.update(to.space.place(to_start.wrapping_add(at)), element, |old| {
                    let mut new = Data::default();
                    new.set(0, element, step(old.element(0, element), data, 0));
                    new
                });
                combined.map(drop)
            })
        };
        let mut reported = false;
        for at in (0..size).step_by(BULK_UNIT as usize) {
            let Some(is_reported) = validity else { break };
            let unit = lane.load(from.space.place(from_start.wrapping_add(at)), BULK_UNIT as u32)?;
            reported |= is_reported(unit.element(0, BULK_UNIT as u32));
        }
        let Some(blocks) = &blocks else {
            copy_to(lane, to_start)?;
            let told = barrier.as_ref().map(|barrier| barrier.place(lane));
            return complete_and_report(lane, told, size, reported);
        };
        // Each block of the mask gets the copy where the address stands in its own shared memory, and so its barrier.
        for rank in lanes_of(lane.get(blocks) as u32) {
            copy_to(lane, in_block(to_start, rank))?;
            let told = barrier.as_ref().map(|barrier| barrier.space.place(in_block(barrier.address(lane), rank)));
            complete_and_report(lane, told, size, reported)?;
        }
        Ok(())
    })))
}

/// The mask of the blocks that get a copy, after its mbarrier, if it is for several.
fn blocks(inst: &Instruction, more: &[Operand], builder: &mut Builder<'_, '_>) -> Result<Option<Source>, Unsupported> {
    const MULTICAST: [(Word, ScalarType); 3] = [
        (Word::MulticastCluster, ScalarType::U16),
        (Word::MulticastCluster16b, ScalarType::U16),
        (Word::MulticastCluster32b, ScalarType::U32),
    ];
    let Some((_, ty)) = MULTICAST.iter().find(|(word, _)| inst.has(*word)) else { return Ok(None) };
    match more {
        [_, blocks, ..] => builder.source(blocks, *ty).map(Some),
        _ => Err(form("cp.async.bulk")),
    }
}

/// The space of a store or reduction: what an mbarrier counts is in shared memory of the cluster however its address is
/// written, as a generic one or not.
fn counted_space(inst: &Instruction) -> Option<Space> {
    inst.space().or_else(|| inst.has(Word::MbarrierCompleteTxBytes).then_some(Space::SharedCluster))
}

/// `st.async`.
fn store(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from, more @ ..] = &inst.operands[..] else { return Err(form("st.async")) };
    let ty = inst.last_type().ok_or_else(|| form("st.async"))?;
    let location = builder.location(to, counted_space(inst))?;
    let from: SmallVec<[Source; 4]> = builder.sources(from, ty)?;
    let (element, bytes) = (ty.bytes(), ty.bytes() * from.len() as u32);
    if bytes as usize > Data::BYTES || !bytes.is_power_of_two() {
        return Err(form("st.async"));
    }
    let barrier = barrier(inst, more, builder)?;
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let mut data = Data::default();
        for (index, from) in from.iter().enumerate() {
            data.set(index, element, lane.get(from));
        }
        lane.store(location.place(lane), bytes, data)?;
        let told = barrier.as_ref().map(|barrier| barrier.place(lane));
        complete(lane, told, bytes.into())
    })))
}

/// `red.async`.
fn reduce(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, from, more @ ..] = &inst.operands[..] else { return Err(form("red.async")) };
    let ty = inst.last_type().ok_or_else(|| form("red.async"))?;
    let (location, from) = (builder.location(to, counted_space(inst))?, builder.source(from, ty)?);
    let (bytes, step) = (ty.bytes(), atomic::combine(inst, ty)?);
    let barrier = barrier(inst, more, builder)?;
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let (place, data) = (location.place(lane), lane.get(&from));
        lane.update(place, bytes, |old| {
            let mut new = Data::default();
            new.set(0, bytes, step(old.element(0, bytes), data, 0));
            new
        })?;
        let told = barrier.as_ref().map(|barrier| barrier.place(lane));
        complete(lane, told, bytes.into())
    })))
}
