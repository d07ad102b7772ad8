//! Exchanges of values between threads of a warp: what each gets.

use crate::arith::Bits;
use crate::lanes::{WARP, lanes_of};
use crate::operand::{Destination, Source};
use crate::state::State;
use smallvec::SmallVec;

/// An exchange between threads.
pub(crate) struct Collective {
    /// What is exchanged.
    pub(crate) kind: Kind,
    /// The member mask of `.sync`.
    pub(crate) members: Option<Source>,
    /// What each thread brings.
    pub(crate) sources: SmallVec<[Source; 3]>,
    /// Where goes what it takes home.
    pub(crate) destinations: SmallVec<[Destination; 2]>,
}

/// What is exchanged; threads at different instructions belong together if this is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Shuffle(Shuffle),
    Vote(Vote),
    MatchAny,
    MatchAll,
    Reduce(Reduce),
    Elect,
    /// `activemask`.
    Active,
    /// `bar.warp.sync`.
    Barrier,
}

/// How `shfl` finds the lane to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduce {
    Add,
    And,
    Or,
    Xor,
    Unsigned { max: bool },
    Signed { max: bool },
    Float { max: bool, abs: bool, nan: bool },
}

/// What the threads bring, and what they take home: up to three and two values of each lane.
type Brought = [[Bits; 3]; WARP];
type Taken = [[Bits; 2]; WARP];

/// The lane that `lane` reads, and whether it is inside, as the manual's table for `shfl` says: `c`
/// holds the last lane in bits 0 to 4 and the segment mask in bits 8 to 12.
fn shuffled(mode: Shuffle, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let max_lane = lane & segment | clamp & !segment;
    let min_lane = lane & segment;
    let (from, inside) = match mode {
        Shuffle::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= max_lane as i32),
        Shuffle::Down => (lane + b, lane + b <= max_lane),
        Shuffle::Butterfly => (lane ^ b, lane ^ b <= max_lane),
        Shuffle::Index => (min_lane | b & !segment, min_lane | b & !segment <= max_lane),
    };
    if inside { (from & 31, true) } else { (lane, false) }
}

/// NaN as the manual's f32 instructions give it.
const NAN: u32 = 0x7fff_ffff;

fn float_extreme(a: u32, b: u32, max: bool, nan: bool) -> u32 {
    let is_nan = |bits| f32::from_bits(bits).is_nan();
    match (is_nan(a), is_nan(b)) {
        (true, true) => NAN,
        (true, false) | (false, true) if nan => NAN,
        (true, false) => b,
        (false, true) => a,
        // The total order puts -0 below +0.
        (false, false) => match f32::from_bits(a).total_cmp(&f32::from_bits(b)).is_lt() == max {
            true => b,
            false => a,
        },
    }
}

impl Reduce {
    fn join(self, a: u32, b: u32) -> u32 {
        match self {
            Reduce::Add => a.wrapping_add(b),
            Reduce::And => a & b,
            Reduce::Or => a | b,
            Reduce::Xor => a ^ b,
            Reduce::Unsigned { max: false } => a.min(b),
            Reduce::Unsigned { max: true } => a.max(b),
            Reduce::Signed { max: false } => (a as i32).min(b as i32) as u32,
            Reduce::Signed { max: true } => (a as i32).max(b as i32) as u32,
            Reduce::Float { max, nan, .. } => float_extreme(a, b, max, nan),
        }
    }

    /// Joins the values of some lanes; there is at least one.
    fn all(self, values: impl Iterator<Item = u32>) -> u32 {
        let prepared = values.map(|value| match self {
            Reduce::Float { abs: true, .. } => value & 0x7fff_ffff,
            _ => value,
        });
        let joined = prepared.reduce(|a, b| self.join(a, b)).unwrap_or(0);
        match self {
            Reduce::Float { .. } if f32::from_bits(joined).is_nan() => NAN,
            _ => joined,
        }
    }
}

impl Kind {
    /// What each lane of `mask` takes home.
    fn exchange(self, mask: u32, brought: &Brought) -> Taken {
        let mut taken = [[0; 2]; WARP];
        let first = mask.trailing_zeros();
        let lanes_where = |holds: &dyn Fn(usize) -> bool| {
            lanes_of(mask).filter(|&lane| holds(lane)).fold(0u32, |set, lane| set | 1 << lane)
        };
        let mut to_all = |value: u32| lanes_of(mask).for_each(|lane| taken[lane][0] = Bits::from(value));
        match self {
            Kind::Barrier => {}
            Kind::Active => to_all(mask),
            Kind::Vote(vote) => {
                let ballot = lanes_where(&|lane| brought[lane][0] & 1 != 0);
                to_all(match vote {
                    Vote::All => u32::from(ballot == mask),
                    Vote::Any => u32::from(ballot != 0),
                    Vote::Uniform => u32::from(ballot == mask || ballot == 0),
                    Vote::Ballot => ballot,
                });
            }
            Kind::Reduce(reduce) => to_all(reduce.all(lanes_of(mask).map(|lane| brought[lane][0] as u32))),
            Kind::Elect => {
                to_all(first);
                taken[first as usize % WARP][1] = 1;
            }
            Kind::MatchAny => {
                for lane in lanes_of(mask) {
                    taken[lane][0] = Bits::from(lanes_where(&|other| brought[other][0] == brought[lane][0]));
                }
            }
            Kind::MatchAll => {
                let value = brought[first as usize % WARP][0];
                let alike = lanes_where(&|lane| brought[lane][0] == value) == mask;
                lanes_of(mask).for_each(|lane| taken[lane] = [if alike { mask.into() } else { 0 }, alike.into()]);
            }
            Kind::Shuffle(mode) => {
                for lane in lanes_of(mask) {
                    let [_, b, c] = brought[lane];
                    let (from, inside) = shuffled(mode, lane as u32, b as u32, c as u32);
                    // What a thread that does not take part has is not defined: zero.
                    let value = if mask >> from & 1 != 0 { brought[from as usize][0] } else { 0 };
                    taken[lane] = [value, inside.into()];
                }
            }
        }
        taken
    }
}

/// Carries an exchange out: threads, first register slot of their frame and instruction of each part.
pub(crate) fn exchange(state: &mut State, parts: &[(u32, u32, &Collective)]) {
    let mut brought: Brought = [[0; 3]; WARP];
    let Some(&(_, _, Collective { kind, .. })) = parts.first() else { return };
    let base = state.base;
    for &(mask, base, op) in parts {
        state.base = base;
        for lane in lanes_of(mask) {
            for (place, source) in brought[lane].iter_mut().zip(&op.sources) {
                *place = state.get(source, lane);
            }
        }
    }
    let everybody = parts.iter().fold(0, |all, (mask, ..)| all | mask);
    let taken = kind.exchange(everybody, &brought);
    for &(mask, base, op) in parts {
        state.base = base;
        for lane in lanes_of(mask) {
            for (destination, value) in op.destinations.iter().zip(taken[lane]) {
                state.set(destination, lane, value);
            }
        }
    }
    state.base = base;
}
