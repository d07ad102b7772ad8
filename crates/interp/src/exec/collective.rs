//! Instructions in which threads of a warp look at each other's values: shuffles, votes, matches,
//! reductions, elections.
//!
//! With `.sync` they wait for the threads of their member mask, wherever each of them executes an
//! instruction of the same kind with the same mask. Without it they see the threads that execute them
//! together.

use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::collective::{Collective, Kind, Reduce, Shuffle, Vote};
use crate::operand::Destination;
use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, Word};
use smallvec::SmallVec;

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
