//! Values of a loop that are read behind it: read by `phi`s at the exit, they may have a copy per run.

use cranelift_entity::SecondaryMap;
use smallvec::smallvec;

use super::super::Context;
use super::super::edit::phi_count;
use crate::analysis::{Cfg, Loop, Loops};
use crate::ir::{BlockId, Body, InstId, Op, TypeId, Value, ValueDef, ValueId};

/// For each loop the values that are read outside of it, other than by `phi`s from blocks of it.
pub(super) type Escapes = SecondaryMap<Loop, Vec<ValueId>>;

/// Finds what escapes from the loops.
pub(super) fn escapes(body: &Body, loops: &Loops) -> Escapes {
    let mut home: SecondaryMap<ValueId, Option<Loop>> = SecondaryMap::new();
    for (block, inst) in body.insts_in_order() {
        if let Some(result) = body[inst].result.expand()
            && let Some(id) = loops.innermost(block)
        {
            home[result] = Some(id);
        }
    }
    let mut escapes = Escapes::new();
    for (block, inst) in body.insts_in_order() {
        for_each_read(body, block, inst, |value, at| {
            let mut around = home[value];
            while let Some(id) = around.filter(|&id| !loops.contains(id, at)) {
                escapes[id].push(value);
                around = loops[id].parent;
            }
        });
    }
    for list in escapes.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    escapes
}

/// Calls `f` with each local value that an instruction reads and the block where it must be known.
fn for_each_read(body: &Body, block: BlockId, inst: InstId, mut f: impl FnMut(ValueId, BlockId)) {
    match &body[inst].op {
        Op::Phi(incoming) => {
            incoming.iter().filter_map(|&(from, value)| Some((value.local()?, from))).for_each(|(v, at)| f(v, at));
        }
        op => op.for_each_value(|value| value.local().into_iter().for_each(|id| f(id, block))),
    }
}

/// Lets all that reads `values` outside of a loop read them from `phi`s at its exits. What that asks for more than
/// one `phi` goes through a frame slot, which becomes registers again later.
pub(super) fn close(body: &mut Body, cx: &mut Context<'_>, cfg: &Cfg, loops: &Loops, id: Loop, values: &[ValueId]) {
    if values.is_empty() {
        return;
    }
    let single = match *loops[id].exits.as_slice() {
        [(from, to)] if *cfg.preds(to) == [from] && is_one_edge(body, from) => Some((from, to)),
        _ => None,
    };
    for &value in values {
        let ValueDef::Inst(def) = body.def(value) else { continue };
        let ty = body.local_type(value);
        match single {
            Some((from, to)) => {
                let phi = cx.make(body, Op::Phi(smallvec![(from, value.into())]), ty, def);
                body[to].insts.insert(0, phi);
                let by: Value = body.result(phi).into();
                replace_outside(body, loops, id, value, Some(phi), |_, _, _| by);
            }
            None => through_slot(body, cx, loops, id, value, def, ty),
        }
    }
}

/// True when each edge out of a block goes elsewhere.
fn is_one_edge(body: &Body, block: BlockId) -> bool {
    let mut edges = 0;
    if let Some(last) = body.terminator(block) {
        body[last].op.for_each_successor(|_| edges += 1);
    }
    edges == body.successors(block).len()
}

/// Puts what `by` makes for a place for each read of a value outside of a loop. `by` is given the body, the block, and
/// the instruction before which the value must be known.
fn replace_outside(
    body: &mut Body,
    loops: &Loops,
    id: Loop,
    value: ValueId,
    except: Option<InstId>,
    mut by: impl FnMut(&mut Body, BlockId, InstId) -> Value,
) {
    let mut reads: Vec<(BlockId, InstId, BlockId)> = Vec::new();
    for (block, inst) in body.insts_in_order().filter(|&(_, inst)| Some(inst) != except) {
        for_each_read(body, block, inst, |read, at| {
            if read == value && !loops.contains(id, at) {
                reads.push((block, inst, at));
            }
        });
    }
    reads.dedup();
    for (_, inst, at) in reads {
        let is_phi = matches!(body[inst].op, Op::Phi(_));
        let Some(before) = (if is_phi { body.terminator(at) } else { Some(inst) }) else { continue };
        let new = by(body, at, before);
        let old = Value::Local(value);
        match &mut body[inst].op {
            Op::Phi(incoming) => {
                incoming
                    .iter_mut()
                    .filter(|(from, read)| *from == at && *read == old)
                    .for_each(|(_, read)| *read = new);
            }
            op => op.for_each_value_mut(|read| *read = if *read == old { new } else { *read }),
        }
    }
}

/// Stores a value where it is made, and loads it where it is read outside.
fn through_slot(
    body: &mut Body,
    cx: &mut Context<'_>,
    loops: &Loops,
    id: Loop,
    value: ValueId,
    def: InstId,
    ty: TypeId,
) {
    let align = cx.module.layout.align(&cx.module.types, ty);
    let count = cx.int(TypeId::I32, 1);
    let slot = cx.make(body, Op::Alloca { element: ty, count, align }, TypeId::PTR, def);
    let entry = body.layout[0];
    body[entry].insts.insert(0, slot);
    let ptr: Value = body.result(slot).into();
    let store = cx.make(body, Op::store(value.into(), ptr, align), TypeId::VOID, def);
    let place = |block: BlockId| Some((block, body[block].insts.iter().position(|&inst| inst == def)?));
    if let Some((block, at)) = loops[id].blocks.iter().copied().find_map(place) {
        let at = (at + 1).max(phi_count(body, block));
        body[block].insts.insert(at, store);
    }
    replace_outside(body, loops, id, value, None, |body, block, before| {
        let load = cx.make(body, Op::load(ptr, align), ty, before);
        let at = body[block].insts.iter().position(|&inst| inst == before).unwrap_or(0);
        body[block].insts.insert(at, load);
        body.result(load).into()
    });
}
