//! Frame slots that are only loaded from and stored to as a whole become values.
//!
//! `phi`s are placed at the iterated dominance frontiers of the stores, where the slot is live (Cytron et al.).

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::edit::Replacements;
use super::{Context, frame};
use crate::analysis::{Cfg, DomTree, View};
use crate::ir::{BlockId, Body, Constant, InstId, Op, Ordering, TypeId, Value, ValueId};

const NONE: u32 = u32::MAX;

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let slots = Slots::find(cx.view(body));
    if slots.types.is_empty() {
        return false;
    }
    let cfg = Cfg::of_reachable(body);
    let tree = DomTree::dominators(&cfg);
    let phis = place_phis(body, &cfg, &tree, &slots);
    let undefined = slots.types.iter().map(|&ty| cx.module.constants.intern(Constant::Undef(ty)).into()).collect();
    rename(body, &tree, &slots, phis, undefined);
    true
}

/// The slots that can be promoted, numbered.
struct Slots {
    number: SecondaryMap<ValueId, u32>,
    types: Vec<TypeId>,
}

impl Slots {
    fn find(view: View<'_>) -> Slots {
        let body = view.body;
        let mut types = Vec::new();
        let mut number = SecondaryMap::with_default(NONE);
        for &inst in body.layout.first().map_or(&[][..], |&entry| &body[entry].insts) {
            if let Some(element) = frame::single_slot(view, inst) {
                number[body.result(inst)] = types.len() as u32;
                types.push(element);
            }
        }
        if types.is_empty() {
            return Slots { number, types };
        }
        let mut fit = vec![true; types.len()];
        for (_, inst) in body.insts_in_order() {
            let mut refuse = |value: Value| {
                if let Some(fit) = value.local().and_then(|id| fit.get_mut(number[id] as usize)) {
                    *fit = false;
                }
            };
            let slot = |value: Value| value.local().map_or(NONE, |id| number[id]);
            match &body[inst].op {
                Op::Load { ptr, volatile, ordering, .. } if slot(*ptr) != NONE => {
                    if *volatile || *ordering != Ordering::NotAtomic || body[inst].ty != types[slot(*ptr) as usize] {
                        refuse(*ptr);
                    }
                }
                Op::Store { value, ptr, volatile, ordering, .. } => {
                    refuse(*value);
                    let ty = view.ty(*value);
                    if slot(*ptr) != NONE
                        && (*volatile || *ordering != Ordering::NotAtomic || ty != types[slot(*ptr) as usize])
                    {
                        refuse(*ptr);
                    }
                }
                Op::Call(call) if frame::is_lifetime(view, call) => {}
                op => op.for_each_value(refuse),
            }
        }
        let mut kept = Vec::new();
        for &inst in &body[body.layout[0]].insts {
            let Some(result) = body[inst].result.expand().filter(|&result| number[result] != NONE) else { continue };
            let old = number[result] as usize;
            number[result] = if fit[old] { kept.len() as u32 } else { NONE };
            if fit[old] {
                kept.push(types[old]);
            }
        }
        Slots { number, types: kept }
    }

    fn of(&self, value: Value) -> Option<usize> {
        value.local().map(|id| self.number[id]).filter(|&slot| slot != NONE).map(|slot| slot as usize)
    }
}

type Phis = SecondaryMap<BlockId, SmallVec<[(u32, InstId); 2]>>;

/// Makes the `phi`s, still without incoming values, and says which slot each is for.
fn place_phis(body: &mut Body, cfg: &Cfg, tree: &DomTree, slots: &Slots) -> Phis {
    let mut stores: Vec<Vec<BlockId>> = vec![Vec::new(); slots.types.len()];
    let mut exposed: Vec<Vec<BlockId>> = vec![Vec::new(); slots.types.len()];
    for &block in cfg.rpo() {
        for &inst in &body[block].insts {
            match &body[inst].op {
                Op::Store { ptr, .. } => {
                    if let Some(slot) = slots.of(*ptr).filter(|&slot| stores[slot].last() != Some(&block)) {
                        stores[slot].push(block);
                    }
                }
                Op::Load { ptr, .. } => {
                    let Some(slot) = slots.of(*ptr) else { continue };
                    if stores[slot].last() != Some(&block) && exposed[slot].last() != Some(&block) {
                        exposed[slot].push(block);
                    }
                }
                _ => {}
            }
        }
    }
    let frontiers = tree.frontiers(cfg);
    let mut phis = Phis::new();
    let mut live: SecondaryMap<BlockId, u32> = SecondaryMap::with_default(NONE);
    let mut stored: SecondaryMap<BlockId, u32> = SecondaryMap::with_default(NONE);
    let mut placed: SecondaryMap<BlockId, u32> = SecondaryMap::with_default(NONE);
    for (slot, mut work) in exposed.into_iter().enumerate() {
        let mark = slot as u32;
        for &block in &stores[slot] {
            stored[block] = mark;
        }
        while let Some(block) = work.pop() {
            if live[block] != mark {
                live[block] = mark;
                work.extend(cfg.preds(block).iter().filter(|&&pred| stored[pred] != mark));
            }
        }
        let mut work = std::mem::take(&mut stores[slot]);
        while let Some(block) = work.pop() {
            for &join in &frontiers[block] {
                if live[join] == mark && placed[join] != mark {
                    placed[join] = mark;
                    let phi = body.make_inst(Op::Phi(SmallVec::new()), slots.types[slot]);
                    phis[join].push((mark, phi));
                    work.push(join);
                }
            }
        }
    }
    phis
}

/// Walks the dominator tree with the value that each slot holds.
fn rename(body: &mut Body, tree: &DomTree, slots: &Slots, phis: Phis, undefined: Vec<Value>) {
    let mut held = undefined;
    let mut undo: Vec<(usize, Value)> = Vec::new();
    let mut path: Vec<(BlockId, usize)> = Vec::new();
    let mut loads = Replacements::default();
    for &block in tree.preorder() {
        while let Some(&(_, mark)) = path.last().filter(|(above, _)| tree.idom(block) != Some(*above)) {
            for (slot, value) in undo.drain(mark..).rev() {
                held[slot] = value;
            }
            path.pop();
        }
        path.push((block, undo.len()));
        let mut hold = |slot: usize, value: Value, held: &mut Vec<Value>| {
            undo.push((slot, std::mem::replace(&mut held[slot], value)));
        };
        let old = std::mem::take(&mut body[block].insts);
        let mut new = Vec::with_capacity(old.len());
        for &(slot, phi) in &phis[block] {
            hold(slot as usize, body.result(phi).into(), &mut held);
            new.push(phi);
        }
        for inst in old {
            loads.rewrite(&mut body[inst].op);
            match &body[inst].op {
                Op::Load { ptr, .. } if slots.of(*ptr).is_some() => {
                    let slot = slots.of(*ptr).unwrap_or_default();
                    loads.set(body.result(inst), held[slot]);
                }
                Op::Store { value, ptr, .. } if slots.of(*ptr).is_some() => {
                    hold(slots.of(*ptr).unwrap_or_default(), *value, &mut held);
                }
                Op::Alloca { .. } if slots.of(body.result(inst).into()).is_some() => {}
                Op::Call(call) if call.args.iter().any(|&arg| slots.of(arg).is_some()) => {}
                _ => new.push(inst),
            }
        }
        let mut edges: SmallVec<[BlockId; 4]> = SmallVec::new();
        if let Some(&last) = new.last() {
            body[last].op.for_each_successor(|next| edges.push(next));
        }
        body[block].insts = new;
        for next in edges {
            for &(slot, phi) in &phis[next] {
                if let Op::Phi(incoming) = &mut body[phi].op {
                    incoming.push((block, held[slot as usize]));
                }
            }
        }
    }
    loads.apply(body);
}
