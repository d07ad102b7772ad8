//! A `phi` of extended values beside a `phi` of the values themselves is the extension of that: one value to carry
//! around a loop, and one that addresses can be taken apart by.

use super::edit::{phi_count, phis};
use super::{Context, Replacements};
use crate::ir::{BlockId, Body, CastOp, InstFlags, InstId, Op, Value};

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let mut same = Replacements::default();
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        if phi_count(body, block) < 2 {
            continue;
        }
        let all: Vec<InstId> = phis(body, block).collect();
        for &wide in &all {
            let Some((op, flags, narrow)) = extended(body, cx, wide, &all) else { continue };
            let cast = Op::Cast(op, flags, body.result(narrow).into());
            let cast = cx.make(body, cast, body[wide].ty, wide);
            same.set(body.result(wide), body.result(cast).into());
            replace(body, block, wide, cast);
        }
    }
    same.apply(body)
}

/// Drops a `phi`, and puts what stands for it behind the others.
fn replace(body: &mut Body, block: BlockId, phi: InstId, by: InstId) {
    body[block].insts.retain(|&inst| inst != phi);
    let place = phi_count(body, block);
    body[block].insts.insert(place, by);
}

/// The `phi` whose values are extended to those of `wide`, and how.
fn extended(body: &Body, cx: &Context<'_>, wide: InstId, all: &[InstId]) -> Option<(CastOp, InstFlags, InstId)> {
    let Op::Phi(incoming) = &body[wide].op else { return None };
    let mut how: Option<(CastOp, InstFlags)> = None;
    for (_, value) in incoming.iter().filter(|(_, value)| value.local().is_some()) {
        let &Op::Cast(op @ (CastOp::SExt | CastOp::ZExt), flags, _) = body.def_op(*value)? else { return None };
        how = match how {
            None => Some((op, flags)),
            Some((known, common)) => (known == op).then_some((op, common & flags)),
        };
        how?;
    }
    let (op, mut flags) = how?;
    let view = cx.view(body);
    let narrow = all.iter().copied().find(|&narrow| {
        let Op::Phi(sources) = &body[narrow].op else { return false };
        narrow != wide
            && incoming.iter().all(|(from, value)| {
                let source = sources.iter().find(|(block, _)| block == from).map(|(_, source)| *source);
                match body.def_op(*value) {
                    Some(&Op::Cast(_, _, inner)) => source == Some(inner),
                    // A constant is extended when it is made.
                    _ => source.is_some_and(|source| {
                        source.constant().is_some()
                            && match op {
                                CastOp::SExt => {
                                    view.signed(source).is_some() && view.signed(source) == view.signed(*value)
                                }
                                _ => view.int(source).is_some() && view.int(source) == view.int(*value),
                            }
                    }),
                }
            })
    })?;
    // A constant does not tell whether it may be negative.
    if incoming.iter().any(|(_, value): &(BlockId, Value)| value.constant().is_some()) {
        flags = InstFlags::empty();
    }
    Some((op, flags, narrow))
}
