//! Redundant loads: what memory is known to hold, from a load or a store before, is not loaded again; nor is it stored
//! again.
//!
//! What is known is handed on to blocks with one way in, and forgotten at joins; a write forgets what it may change. Only
//! the IR tells which accesses are apart: by `noalias`, by types, by slots that do not escape. The same computation twice
//! is left to what comes behind.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::{Context, Replacements};
use crate::analysis::alias::{Location, Private, Written, accessed};
use crate::analysis::effects::effects;
use crate::analysis::{Cfg, Effects, View};
use crate::ir::{BlockId, Body, InstId, Op, Ordering, Type, TypeId, Value};

/// Known loads and stores that are kept at once, oldest forgotten first.
const MAX_AVAILABLE: usize = 24;

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let cfg = Cfg::of_reachable(body);
    let private = Private::new(cx.view(body));
    let mut walker = Walker { memory: SecondaryMap::new(), same: Replacements::default(), private, changed: false };
    for &block in cfg.rpo() {
        walker.block(body, cx, &cfg, block);
    }
    walker.same.apply(body);
    walker.changed
}

/// A value that memory is known to hold.
#[derive(Clone, Copy)]
struct Held {
    location: Location,
    ty: TypeId,
    value: Value,
}

type Memory = SmallVec<[Held; 8]>;

struct Walker {
    /// What memory holds at the end of each block.
    memory: SecondaryMap<BlockId, Memory>,
    same: Replacements,
    private: Private,
    changed: bool,
}

impl Walker {
    fn block(&mut self, body: &mut Body, cx: &Context<'_>, cfg: &Cfg, block: BlockId) {
        // One way in comes from a block that dominates this one: it has been walked.
        let mut memory = cfg.single_pred(block).map_or_else(Memory::new, |pred| self.memory[pred].clone());
        let mut insts = std::mem::take(&mut body[block].insts);
        let before = insts.len();
        insts.retain(|&inst| {
            self.same.rewrite(&mut body[inst].op);
            !self.inst(cx.view(body), inst, &mut memory)
        });
        self.changed |= insts.len() != before;
        body[block].insts = insts;
        self.memory[block] = memory;
    }

    /// Looks at one instruction; true when it goes.
    fn inst(&mut self, view: View<'_>, inst: InstId, memory: &mut Memory) -> bool {
        match &view.body[inst].op {
            Op::Load { volatile: false, ordering: Ordering::NotAtomic, .. } => return self.load(view, inst, memory),
            Op::Store { value, volatile: false, ordering: Ordering::NotAtomic, .. } => {
                return self.store(view, inst, *value, memory);
            }
            _ => {}
        }
        if effects(view, inst).contains(Effects::WRITES) {
            let written = Written::by(view, inst);
            memory.retain(|held| !written.may_touch(view, &self.private, &held.location));
        }
        false
    }

    fn load(&mut self, view: View<'_>, inst: InstId, memory: &mut Memory) -> bool {
        let Some(location) = accessed(view, inst) else { return false };
        let ty = view.body[inst].ty;
        let result = view.body.result(inst);
        if let Some(held) = memory.iter().find(|held| is_at(&held.location, &location) && held.ty == ty) {
            self.same.set(result, held.value);
            return true;
        }
        remember(memory, Held { location, ty, value: result.into() });
        false
    }

    /// A store of what is there already goes; others are remembered.
    fn store(&mut self, view: View<'_>, inst: InstId, value: Value, memory: &mut Memory) -> bool {
        let Some(location) = accessed(view, inst) else { return false };
        let ty = view.ty(value);
        if memory.iter().any(|held| is_at(&held.location, &location) && held.ty == ty && held.value == value) {
            return true;
        }
        let written = Written::At(location, false);
        memory.retain(|held| !written.may_touch(view, &self.private, &held.location));
        if !matches!(view.module.types[ty], Type::Struct { .. } | Type::Array(..)) {
            remember(memory, Held { location, ty, value });
        }
        false
    }
}

fn remember(memory: &mut Memory, held: Held) {
    if memory.len() >= MAX_AVAILABLE {
        memory.remove(0);
    }
    memory.push(held);
}

/// True when both surely start at the same byte.
fn is_at(held: &Location, read: &Location) -> bool {
    // A write that one type's rules tell apart from `held` may be what another type reads.
    let same_rules = held.tag.is_none() || held.tag == read.tag;
    let same_base = held.base == read.base && held.offset.is_some() && held.offset == read.offset;
    same_rules && (held.pointer == read.pointer || same_base)
}
