//! Barriers of the block: `bar`, `barrier`; and of the cluster: `barrier.cluster`.

use crate::arith::Unsupported;
use crate::barrier::{BarrierKind, BarrierOp, Verdict};
use crate::builder::{Builder, form};
use crate::code::Action;
use oriole_ptx::ast::{Instruction, Modifier, Opcode, ScalarType, Scope, Word};

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    if !matches!(inst.opcode, Opcode::Bar | Opcode::Barrier) || inst.has(Word::Warp) {
        return Ok(None);
    }
    if inst.modifiers.contains(&Modifier::Scope(Scope::Cluster)) {
        return Ok(Some(if inst.has(Word::Arrive) { Action::ClusterArrive } else { Action::ClusterWait }));
    }
    let operands = &inst.operands[..];
    let word = |word| inst.has(word);
    let (kind, rest) = if word(Word::Red) {
        let [to, rest @ .., predicate] = operands else { return Err(form("barrier.red")) };
        let (judge, ty): (fn(Verdict) -> u32, ScalarType) = match () {
            () if word(Word::And) => (|v| u32::from(v.votes == v.threads), ScalarType::Pred),
            () if word(Word::Or) => (|v| u32::from(v.votes > 0), ScalarType::Pred),
            () if word(Word::Popc) => (|v| v.votes, ScalarType::U32),
            () => return Err(form("barrier.red")),
        };
        let (to, predicate) = (builder.destination(to, ty)?, builder.source(predicate, ScalarType::Pred)?);
        (BarrierKind::Reduce { predicate, to, judge }, rest)
    } else {
        (if word(Word::Arrive) { BarrierKind::Arrive } else { BarrierKind::Sync }, operands)
    };
    let [id, threads @ ..] = rest else { return Err(form("barrier")) };
    let id = builder.source(id, ScalarType::U32)?;
    let threads = threads.first().map(|threads| builder.source(threads, ScalarType::U32)).transpose()?;
    Ok(Some(Action::Barrier(Box::new(BarrierOp { id, threads, kind }))))
}
