//! Instructions that look at the registers of other lanes: shuffles, votes, matches, reductions.
//!
//! They see the lanes that execute them together. A shuffle from a lane that does not gives zero.

use super::float::extreme;
use crate::effect::{Effect, Env, Unsupported};
use crate::lanes::{Mask, WARP, lanes_of, mask_where};
use crate::operand::{Dst, PredSrc, Src};
use crate::state::State;
use oriole_isa::{Credux, CreduxType, Field, Inst, MatchMode, MatchSize, Opcode, Redux, Role, Shfl, Vote};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::SHFL => shuffle(inst)?,
        Opcode::VOTE | Opcode::VOTEU => vote(inst)?,
        Opcode::MATCH => matching(inst),
        Opcode::REDUX => reduce(inst)?,
        Opcode::CREDUX => reduce_extreme(inst)?,
        Opcode::ELECT => elect(inst),
        Opcode::R2UR => to_uniform(inst),
        _ => return Ok(None),
    }))
}

/// How `SHFL` finds the lane to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shuffle {
    Index,
    Up,
    Down,
    Butterfly,
}

/// The lane that `lane` reads, and whether it is in the segment; as the PTX manual describes `shfl`:
/// `clamp` holds the last lane in bits 0–4 and the segment mask in bits 8–12.
fn source_lane(mode: Shuffle, lane: u32, by: u32, clamp: u32) -> (u32, bool) {
    let (by, segment, last) = (by & 31, clamp >> 8 & 31, clamp & 31);
    let most = (lane & segment) | (last & !segment);
    let least = lane & segment;
    let (from, inside) = match mode {
        Shuffle::Up => {
            let from = lane.wrapping_sub(by) as i32;
            (from, from >= most as i32)
        }
        Shuffle::Down => ((lane + by) as i32, lane + by <= most),
        Shuffle::Butterfly => ((lane ^ by) as i32, lane ^ by <= most),
        Shuffle::Index => {
            let from = least | (by & !segment);
            (from as i32, from <= most)
        }
    };
    // Outside of the segment a lane reads its own value; inside, `from` is a lane.
    if inside { (from as u32 & 31, true) } else { (lane, false) }
}

/// `SHFL`: D = A of another lane; PD: the lane is in the segment.
fn shuffle(inst: &Inst) -> Result<Effect, Unsupported> {
    let mode = match inst.get(Field::SHFL) {
        Shfl::IDX => Shuffle::Index,
        Shfl::UP => Shuffle::Up,
        Shfl::DOWN => Shuffle::Down,
        Shfl::BFLY => Shuffle::Butterfly,
        other => return Err(Unsupported(format!("shuffle mode {other}"))),
    };
    let (to, truth) = (Dst::of(inst, Role::D), Dst::of(inst, Role::PD));
    let (a, by, clamp) = (Src::of(inst, Role::A), Src::of(inst, Role::B), Src::of(inst, Role::C));
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let (values, by, clamp) = (a.bits(state), by.bits(state), clamp.bits(state));
        let mut result = [0; WARP];
        let mut inside = 0;
        for lane in state.active_lanes() {
            let (from, is_inside) = source_lane(mode, lane as u32, by[lane], clamp[lane]);
            inside |= Mask::from(is_inside) << lane;
            if state.active >> from & 1 != 0 {
                result[lane] = values[from as usize];
            } else if let Some(log) = env.log.as_deref_mut() {
                log.push_absent(lane, from as usize);
            }
        }
        to.set(state, &result);
        truth.set_mask(state, inside);
        Ok(())
    }))
}

/// `VOTE`, `VOTEU`: D = the lanes where PA holds; PD: all, any, or all alike.
fn vote(inst: &Inst) -> Result<Effect, Unsupported> {
    let judge: fn(Mask, Mask) -> bool = match inst.get(Field::VOTE) {
        Vote::ALL => |ballot, active| ballot == active,
        Vote::ANY => |ballot, _| ballot != 0,
        Vote::EQ => |ballot, active| ballot == active || ballot == 0,
        other => return Err(Unsupported(format!("vote mode {other}"))),
    };
    let (to, truth, condition) = (Dst::of(inst, Role::D), Dst::of(inst, Role::PD), PredSrc::of(inst, Role::PA));
    Ok(Box::new(move |state: &mut State, _: &mut Env<'_>| {
        let ballot = condition.mask(state) & state.active;
        let holds = judge(ballot, state.active);
        to.set_scalar(state, ballot);
        truth.set_mask(state, Mask::from(holds).wrapping_neg());
        Ok(())
    }))
}

/// `MATCH.ANY`: D = the lanes with the same A. `MATCH.ALL`: D = all lanes if they have the same A,
/// else none; PD: they have.
fn matching(inst: &Inst) -> Effect {
    let all = inst.get(Field::MATCH_MODE) == MatchMode::ALL;
    let wide = inst.get(Field::MATCH_SIZE) == MatchSize::U64;
    let (to, truth, a) = (Dst::of(inst, Role::D), Dst::of(inst, Role::PD), Src::of(inst, Role::A));
    Box::new(move |state: &mut State, _: &mut Env<'_>| {
        let values = if wide { a.wide_bits(state) } else { a.bits(state).map(u64::from) };
        let same =
            |lane: usize| lanes_of(state.active).filter(|&l| values[l] == values[lane]).fold(0, |m, l| m | 1 << l);
        let mut result = [0; WARP];
        let mut alike = false;
        if all {
            alike = same(state.first_active()) == state.active;
            result = [if alike { state.active } else { 0 }; WARP];
        } else {
            for lane in state.active_lanes() {
                result[lane] = same(lane);
            }
        }
        to.set(state, &result);
        truth.set_mask(state, Mask::from(alike).wrapping_neg());
        Ok(())
    })
}

/// `REDUX`: D = A of all active lanes joined.
fn reduce(inst: &Inst) -> Result<Effect, Unsupported> {
    let signed = inst.get(Field::REDUX_SIGNED);
    let join: fn(u32, u32) -> u32 = match (inst.get(Field::REDUX), signed) {
        (Redux::AND, _) => |a, b| a & b,
        (Redux::OR, _) => |a, b| a | b,
        (Redux::XOR, _) => |a, b| a ^ b,
        (Redux::SUM, _) => u32::wrapping_add,
        (Redux::MIN, false) => u32::min,
        (Redux::MAX, false) => u32::max,
        (Redux::MIN, true) => |a, b| (a as i32).min(b as i32) as u32,
        (Redux::MAX, true) => |a, b| (a as i32).max(b as i32) as u32,
        (other, _) => return Err(Unsupported(format!("REDUX operation {other}"))),
    };
    let (to, a) = (Dst::of(inst, Role::D), Src::of(inst, Role::A));
    Ok(Box::new(move |state: &mut State, _: &mut Env<'_>| {
        let values = a.bits(state);
        let joined = state.active_lanes().map(|lane| values[lane]).reduce(join);
        to.set_scalar(state, joined.unwrap_or(0));
        Ok(())
    }))
}

/// `CREDUX`: D = the least or greatest of A, or of its absolute value, over the active lanes.
fn reduce_extreme(inst: &Inst) -> Result<Effect, Unsupported> {
    let (least, absolute) = match inst.get(Field::CREDUX) {
        Credux::MIN => (true, false),
        Credux::MINABS => (true, true),
        Credux::MAXABS => (false, true),
        _ => (false, false),
    };
    let nan_wins = inst.get(Field::NAN);
    let (join, magnitude): (Join, fn(u32) -> u32) = match inst.get(Field::CREDUX_TYPE) {
        CreduxType::F32 => (Box::new(move |a, b| extreme(a, b, least, nan_wins)), |v| v & i32::MAX as u32),
        CreduxType::S32 => {
            (Box::new(move |a, b| if ((a as i32) < b as i32) == least { a } else { b }), |v| (v as i32).unsigned_abs())
        }
        _ => (Box::new(move |a, b| if (a < b) == least { a } else { b }), |v| v),
    };
    let (to, a) = (Dst::of(inst, Role::D), Src::of(inst, Role::A));
    Ok(Box::new(move |state: &mut State, _: &mut Env<'_>| {
        let values = a.int(state).map(|value| if absolute { magnitude(value) } else { value });
        let joined = state.active_lanes().map(|lane| values[lane]).reduce(&join).unwrap_or(0);
        // A single NaN among no numbers comes out as every NaN does.
        to.set_scalar(state, join(joined, joined));
        Ok(())
    }))
}

/// Joins two values of a reduction.
type Join = Box<dyn Fn(u32, u32) -> u32 + Send + Sync>;

/// `ELECT`: D = the lowest active lane where PA holds; PD: this lane is it.
fn elect(inst: &Inst) -> Effect {
    let (to, truth, condition) = (Dst::of(inst, Role::D), Dst::of(inst, Role::PD), PredSrc::of(inst, Role::PA));
    Box::new(move |state: &mut State, _: &mut Env<'_>| {
        let candidates = condition.mask(state) & state.active;
        let leader = lanes_of(candidates).next();
        to.set_scalar(state, leader.unwrap_or(0) as u32);
        truth.set_mask(state, leader.map_or(0, |lane| 1 << lane));
        Ok(())
    })
}

/// `R2UR`: D = A of the lowest active lane; PD: the lanes whose A differs, which a loop has left to do. With
/// `OR`, lanes where PD held already stay: they differ in another register.
fn to_uniform(inst: &Inst) -> Effect {
    let (to, differs, a) = (Dst::of(inst, Role::D), Dst::of(inst, Role::PD), Src::of(inst, Role::A));
    let joins = inst.get(Field::R2UR_OR);
    Box::new(move |state: &mut State, _: &mut Env<'_>| {
        let values = a.bits(state);
        let value = values[state.first_active()];
        let before = match differs {
            Dst::Predicate(number) if joins => state.p(number),
            _ => 0,
        };
        to.set_scalar(state, value);
        differs.set_mask(state, before | mask_where(|lane| values[lane] != value));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clamp operand that `__shfl_*_sync` passes for a width.
    fn clamp(width: u32, up: bool) -> u32 {
        (32 - width) << 8 | if up { 0 } else { 31 }
    }

    #[test]
    fn shuffles_stay_in_their_segment() {
        assert_eq!(source_lane(Shuffle::Up, 5, 2, clamp(32, true)), (3, true));
        assert_eq!(source_lane(Shuffle::Up, 1, 2, clamp(32, true)), (1, false));
        assert_eq!(source_lane(Shuffle::Up, 9, 2, clamp(8, true)), (9, false));
        assert_eq!(source_lane(Shuffle::Down, 5, 2, clamp(8, false)), (7, true));
        assert_eq!(source_lane(Shuffle::Down, 6, 2, clamp(8, false)), (6, false));
        assert_eq!(source_lane(Shuffle::Butterfly, 6, 16, clamp(32, false)), (22, true));
        assert_eq!(source_lane(Shuffle::Butterfly, 6, 8, clamp(8, false)), (6, false));
        assert_eq!(source_lane(Shuffle::Index, 13, 3, clamp(8, false)), (11, true));
        assert_eq!(source_lane(Shuffle::Index, 13, 11, clamp(8, false)), (11, true));
    }
}
