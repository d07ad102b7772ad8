//! Instructions in which threads of a warp look at each other's values: shuffles, votes, matches,
//! reductions, elections.
//!
//! With `.sync` they wait for the threads of their member mask, wherever each of them executes an
//! instruction of the same kind with the same mask. Without it they see the threads that execute them
//! together.

use super::control::form;
use crate::arith::{Bits, Unsupported};
use crate::code::{Action, Destination, Source, WarpAction};
use crate::compile::Builder;
use crate::machine::{Env, Halt};
use crate::state::{WARP, lanes_of};
use crate::threads::{Group, Threads, Wait};
use crate::warp::{Next, Warp};
use oriole_device::FaultKind;
use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, Word};
use smallvec::SmallVec;

/// An exchange between threads.
pub(crate) struct Collective {
    kind: Kind,
    /// The member mask of `.sync`.
    members: Option<Source>,
    sources: SmallVec<[Source; 3]>,
    destinations: SmallVec<[Destination; 2]>,
}

/// What is exchanged; threads at different instructions belong together if this is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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
enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduce {
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

/// The first of `words` that the instruction has, with its meaning.
fn choose<T: Copy>(inst: &Instruction, words: &[(Word, T)]) -> Result<T, Unsupported> {
    let found = words.iter().find(|(word, _)| inst.has(*word));
    found.map(|&(_, meaning)| meaning).ok_or_else(|| form(inst.opcode.as_str()))
}

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    use ScalarType::{B32, Pred, U32};
    let ty = inst.last_type().unwrap_or(B32);
    let (kind, results, sources): (Kind, &[ScalarType], &[ScalarType]) = match inst.opcode {
        Opcode::Shfl => {
            const MODES: [(Word, Shuffle); 4] = [
                (Word::Up, Shuffle::Up),
                (Word::Down, Shuffle::Down),
                (Word::Bfly, Shuffle::Butterfly),
                (Word::Idx, Shuffle::Index),
            ];
            (Kind::Shuffle(choose(inst, &MODES)?), &[B32, Pred], &[B32, U32, U32])
        }
        Opcode::Vote => {
            const MODES: [(Word, Vote); 4] = [
                (Word::All, Vote::All),
                (Word::Any, Vote::Any),
                (Word::Uni, Vote::Uniform),
                (Word::Ballot, Vote::Ballot),
            ];
            let mode = choose(inst, &MODES)?;
            (Kind::Vote(mode), if mode == Vote::Ballot { &[B32] } else { &[Pred] }, &[Pred])
        }
        Opcode::Match => {
            let kind = choose(inst, &[(Word::Any, Kind::MatchAny), (Word::All, Kind::MatchAll)])?;
            (kind, &[B32, Pred], std::slice::from_ref(if ty == ScalarType::B64 { &ScalarType::B64 } else { &B32 }))
        }
        Opcode::Redux => (Kind::Reduce(reduction(inst, ty)?), &[B32], &[B32]),
        Opcode::Elect => (Kind::Elect, &[B32, Pred], &[]),
        Opcode::Activemask => (Kind::Active, &[B32], &[]),
        Opcode::Bar | Opcode::Barrier if inst.has(Word::Warp) => (Kind::Barrier, &[], &[]),
        _ => return Ok(None),
    };
    let (to, rest) = inst.operands.split_at(usize::from(!results.is_empty()).min(inst.operands.len()));
    let destinations = two_destinations(builder, to, results)?;
    if rest.len() < sources.len() {
        return Err(form(inst.opcode.as_str()));
    }
    let bring = rest.iter().zip(sources).map(|(operand, &ty)| builder.source(operand, ty)).collect::<Result<_, _>>()?;
    // `elect.sync` and `bar.warp.sync` say `.sync` too; only `activemask` and old forms do not.
    let members = match rest.get(sources.len()) {
        Some(mask) => Some(builder.source(mask, B32)?),
        None => None,
    };
    Ok(Some(Action::Collective(Box::new(Collective { kind, members, sources: bring, destinations }))))
}

/// `d` or `d|p`.
fn two_destinations(
    builder: &mut Builder<'_, '_>,
    to: &[Operand],
    types: &[ScalarType],
) -> Result<SmallVec<[Destination; 2]>, Unsupported> {
    let operands = match to.first() {
        Some(Operand::Pair(pair)) => &pair[..],
        _ => to,
    };
    operands.iter().zip(types).map(|(operand, &ty)| builder.destination(operand, ty)).collect()
}

fn reduction(inst: &Instruction, ty: ScalarType) -> Result<Reduce, Unsupported> {
    const BITS: [(Word, Reduce); 4] =
        [(Word::Add, Reduce::Add), (Word::And, Reduce::And), (Word::Or, Reduce::Or), (Word::Xor, Reduce::Xor)];
    if let Ok(found) = choose(inst, &BITS) {
        return Ok(found);
    }
    let max = choose(inst, &[(Word::Min, false), (Word::Max, true)])?;
    Ok(match ty {
        ScalarType::F32 => Reduce::Float { max, abs: inst.has(Word::Abs), nan: inst.has(Word::NaN) },
        ScalarType::S32 => Reduce::Signed { max },
        _ => Reduce::Unsigned { max },
    })
}

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

impl Warp {
    /// A collective instruction of the threads `active` of group `at`.
    pub(crate) fn collective(&mut self, env: &Env<'_>, at: usize, op: &Collective, active: u32) -> Result<Next, Halt> {
        let alive = self.threads.alive;
        let Group { pc, base, .. } = self.threads.groups()[at];
        let Some(members) = &op.members else {
            exchange(&mut self.state, &[(active, base, op)]);
            self.threads.group_mut(at).pc = pc + 1;
            return Ok(Next::Go(at));
        };
        let lane = Threads::first_lane(active);
        let mask = self.state.get(members, lane) as u32;
        let same = lanes_of(active).filter(|&lane| self.state.get(members, lane) as u32 == mask);
        let together = same.fold(0, |mask, lane| mask | 1 << lane);
        if let Some(lane) = lanes_of(together & !mask).next() {
            let rule = format!("lane {lane} executes an instruction for the threads {mask:#010x}");
            return Err(Halt { lane, kind: FaultKind::Misuse(rule) });
        }
        if together == active && mask & alive == active {
            exchange(&mut self.state, &[(active, base, op)]);
            self.threads.group_mut(at).pc = pc + 1;
            return Ok(Next::Go(at));
        }
        self.part_inactive(at, active);
        if together != active {
            // Threads with another mask execute the instruction by themselves.
            self.threads.split(at, active & !together, pc, pc + 1);
        }
        self.threads.group_mut(at).wait = Wait::Members(mask);
        self.gather(env, at)
    }

    /// An instruction for the whole warp: runs when all its living threads are there.
    pub(crate) fn together(
        &mut self,
        env: &mut Env<'_>,
        at: usize,
        run: &WarpAction,
        active: u32,
    ) -> Result<Next, Halt> {
        if active == self.threads.alive {
            run(&mut self.state, env, active)?;
            self.threads.group_mut(at).pc += 1;
            return Ok(Next::Go(at));
        }
        self.part_inactive(at, active);
        self.threads.group_mut(at).wait = Wait::Members(u32::MAX);
        self.gather(env, at)
    }

    /// Lets the instruction happen that group `at` waits at, if all that it waits for are there.
    pub(crate) fn gather(&mut self, env: &Env<'_>, at: usize) -> Result<Next, Halt> {
        let alive = self.threads.alive;
        let own = &self.threads.groups()[at];
        let Wait::Members(mask) = own.wait else { return Ok(Next::Leave) };
        let functions = env.machine.functions;
        let action = |group: &Group| &functions[group.function as usize].ops[group.pc as usize].action;
        let belongs = |group: &&Group| {
            group.wait == own.wait
                && match (action(own), action(group)) {
                    (Action::Collective(a), Action::Collective(b)) => a.kind == b.kind,
                    _ => (group.function, group.pc) == (own.function, own.pc),
                }
        };
        let here: Vec<&Group> = self.threads.groups().iter().filter(belongs).collect();
        let present = here.iter().fold(0, |all, group| all | group.mask);
        if present != mask & alive {
            return Ok(Next::Leave);
        }
        let parts: SmallVec<[(u32, u32, &Collective); 4]> = here
            .iter()
            .filter_map(|group| match action(group) {
                Action::Collective(op) => Some((group.mask, group.base, &**op)),
                _ => None,
            })
            .collect();
        let is_exchange = !parts.is_empty();
        if is_exchange {
            exchange(&mut self.state, &parts);
        }
        self.threads.resume(present, is_exchange);
        Ok(self.threads.group_of(Threads::first_lane(present)).map_or(Next::Leave, Next::Go))
    }

    /// Gathers again those that wait: threads that they waited for may have exited. Whether any go on.
    pub(crate) fn gather_again(&mut self, env: &Env<'_>) -> bool {
        let waits = |group: &Group| matches!(group.wait, Wait::Members(_));
        let waiting = self.threads.groups().iter().filter(|group| waits(group)).map(|group| group.mask);
        let lanes: Vec<usize> = waiting.map(Threads::first_lane).collect();
        let gathered = lanes.into_iter().filter_map(|lane| {
            let at = self.threads.group_of(lane)?;
            matches!(self.gather(env, at), Ok(Next::Go(_))).then_some(())
        });
        gathered.count() > 0
    }
}

/// Carries an exchange out: threads, first register slot of their frame and instruction of each part.
fn exchange(state: &mut crate::state::State, parts: &[(u32, u32, &Collective)]) {
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
