//! Dead-code elimination: what nothing needs goes, circles of `phi`s too.

use super::Context;
use crate::analysis::effects::effects;
use crate::ir::{Body, InstId};

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let mut live = vec![false; body.inst_count()];
    let mut work: Vec<InstId> = Vec::new();
    let view = cx.view(body);
    for (_, inst) in body.insts_in_order() {
        if !effects(view, inst).is_removable() {
            live[inst.as_u32() as usize] = true;
            work.push(inst);
        }
    }
    while let Some(inst) = work.pop() {
        body[inst].op.for_each_value(|value| {
            if let Some(def) = body.def_inst(value).filter(|def| !live[def.as_u32() as usize]) {
                live[def.as_u32() as usize] = true;
                work.push(def);
            }
        });
    }
    let mut changed = false;
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let mut insts = std::mem::take(&mut body[block].insts);
        let before = insts.len();
        insts.retain(|inst| live[inst.as_u32() as usize]);
        changed |= insts.len() != before;
        body[block].insts = insts;
    }
    changed
}
