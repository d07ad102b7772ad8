//! `UTCCP`: rows of shared memory to lanes of tensor memory. `UTCSHIFT`: rows of tensor memory move. `UTCBAR`: an mbarrier learns that
//! what was started is done.

use super::super::descriptor::{Descriptor, Elements};
use super::{TensorAddress, misuse, ranks};
use crate::access::PhaseKind;
use crate::effect::{Effect, Env, Unsupported};
use crate::exec::asynchronous::arrive_at;
use crate::halt::Halt;
use crate::lanes::lanes_of;
use crate::operand::Src;
use crate::state::State;
use crate::tensor_cells::{By, LANES, Part};
use oriole_isa::{CpShape, CpUnpack, Field, Inst, Role};

/// Words of a piece of 16 bytes.
const WORDS: usize = 4;
/// Lanes that a shift moves, and columns.
const SHIFTED: (usize, usize) = (32, 8);

/// The shape of a copy: rows, pieces of 16 bytes in a row, the row that a lane gets.
type Shape = (usize, usize, fn(usize) -> usize);

fn shape(inst: &Inst) -> Result<Shape, Unsupported> {
    Ok(match inst.get(Field::CP_SHAPE) {
        CpShape::DP128B256 => (128, 2, |lane| lane),
        CpShape::DP128B128 => (128, 1, |lane| lane),
        CpShape::DP64_02_13 => (64, 1, |lane| lane % 64),
        CpShape::DP64_01_23 => (64, 1, |lane| lane % 32 + lane / 64 * 32),
        CpShape::DP32 => (32, 1, |lane| lane % 32),
        other => return Err(Unsupported(format!("UTCCP of shape {other}"))),
    })
}

/// `UTCCP`: each block of a pair copies from its own shared memory.
pub(super) fn copy(inst: &Inst) -> Result<Effect, Unsupported> {
    let (rows, pieces, row_of) = shape(inst)?;
    let (to, from, of_pair) = (TensorAddress::of(inst)?, Src::of(inst, Role::Src), inst.get(Field::CTA_PAIR));
    if inst.get(Field::CP_UNPACK) != CpUnpack::NONE {
        return Err(Unsupported(format!("UTCCP that unpacks {}", inst.get(Field::CP_UNPACK))));
    }
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let issuer = state.first_active();
        let (lane, column) = to.place(state);
        if lane != 0 {
            return Err(misuse(
                issuer,
                format!("a copy to lane {lane} of tensor memory; it takes all lanes from 0 on"),
            ));
        }
        let descriptor = Descriptor::of_tensor_memory(from.wide_scalar(state)).map_err(|what| misuse(issuer, what))?;
        for rank in ranks(env, of_pair) {
            let words = Elements { bits: 32, each: WORDS, transposed: false };
            let lines = descriptor.lines(env, rank, (0, rows), pieces, words, |word| word)?;
            let part = Part { rank, lanes: 0..LANES, columns: column..column + WORDS * pieces };
            env.touch_tensor(By::Unit, &part, true).map_err(|kind| Halt::fault(issuer, kind))?;
            for lane in 0..LANES {
                env.tensor.lane_mut(rank, lane)[part.columns.clone()].copy_from_slice(lines.line(row_of(lane)));
            }
        }
        Ok(())
    }))
}

/// `UTCSHIFT.DOWN`: 32 bytes of each of 32 lanes but the last become those of the next lane.
pub(super) fn shift(inst: &Inst) -> Result<Effect, Unsupported> {
    let (at, of_pair) = (TensorAddress::of(inst)?, inst.get(Field::CTA_PAIR));
    let (height, width) = SHIFTED;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let issuer = state.first_active();
        let (lane, column) = at.place(state);
        if !lane.is_multiple_of(height) {
            return Err(misuse(issuer, format!("a shift of lanes from {lane} on; it takes a multiple of {height}")));
        }
        for rank in ranks(env, of_pair) {
            let part = Part { rank, lanes: lane..lane + height, columns: column..column + width };
            env.touch_tensor(By::Unit, &part, true).map_err(|kind| Halt::fault(issuer, kind))?;
            for lane in lane..lane + height - 1 {
                let next: Vec<u32> =
                    part.columns.clone().map(|column| env.tensor.cell(rank, lane + 1, column)).collect();
                env.tensor.lane_mut(rank, lane)[part.columns.clone()].copy_from_slice(&next);
            }
        }
        Ok(())
    }))
}

/// `UTCBAR`: one arrival, at the mbarrier or at those at its place in several blocks. What was started is done already.
pub(super) fn commit(inst: &Inst) -> Result<Effect, Unsupported> {
    let (at, blocks) = (Src::of(inst, Role::UBase), Src::of(inst, Role::Mask));
    let multicast = inst.get(Field::MULTICAST);
    if inst.get(Field::BAR_TX) {
        return Err(Unsupported("UTCBAR that counts transactions only".into()));
    }
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let issuer = state.first_active();
        let address = at.scalar(state);
        let places: Vec<u32> = match multicast {
            true => {
                lanes_of(blocks.scalar(state) & 0xffff).map(|rank| address & 0xff_ffff | (rank as u32) << 24).collect()
            }
            false => vec![address],
        };
        for place in places {
            let before = arrive_at(env, issuer, place, PhaseKind::Arrive)?;
            let (rank, own) = ((place >> 24) as usize, env.spaces.rank);
            env.tensor.commit(own, (rank, u64::from(place & 0xff_ffff), before.phase()));
        }
        Ok(())
    }))
}
