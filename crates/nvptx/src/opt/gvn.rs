//! Common subexpressions by dominance: an operation that has been done on the same operands above need not be done
//! again; nor a load, where nothing may have written between.
//!
//! The dominator tree is walked with a table of what is known, scope by scope. What memory is known to hold is handed on
//! to blocks with one way in, and forgotten at joins; a write forgets what it may change.

use std::hash::{Hash, Hasher};

use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::{Context, Replacements};
use crate::analysis::alias::{Location, Private, Written, accessed};
use crate::analysis::effects::effects;
use crate::analysis::{Cfg, DomTree, Effects, View};
use crate::ir::{BlockId, Body, InstId, Op, Ordering, Type, TypeId, Value};

/// Known loads and stores that are kept at once, oldest forgotten first.
const MAX_AVAILABLE: usize = 24;

/// Within blocks and along dominators.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let cfg = Cfg::of_reachable(body);
    let tree = DomTree::dominators(&cfg);
    let private = Private::new(cx.view(body));
    let mut walker = Walker {
        table: FxHashMap::default(),
        undo: Vec::new(),
        path: Vec::new(),
        memory: SecondaryMap::new(),
        same: Replacements::default(),
        private,
    };
    for &block in tree.preorder() {
        walker.block(body, cx, &cfg, &tree, block);
    }
    let mut same = walker.same;
    same.apply(body)
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
    /// The instructions that are known by the hash of what they do.
    table: FxHashMap<u64, InstId>,
    undo: Vec<(u64, Option<InstId>)>,
    path: Vec<(BlockId, usize)>,
    /// What memory holds at the end of each block.
    memory: SecondaryMap<BlockId, Memory>,
    same: Replacements,
    private: Private,
}

impl Walker {
    fn block(&mut self, body: &mut Body, cx: &Context<'_>, cfg: &Cfg, tree: &DomTree, block: BlockId) {
        while let Some(&(_, mark)) = self.path.last().filter(|(above, _)| tree.idom(block) != Some(*above)) {
            for (hash, old) in self.undo.drain(mark..).rev() {
                match old {
                    Some(inst) => self.table.insert(hash, inst),
                    None => self.table.remove(&hash),
                };
            }
            self.path.pop();
        }
        self.path.push((block, self.undo.len()));
        let mut memory = match cfg.single_pred(block) {
            Some(pred) => self.memory[pred].clone(),
            None => Memory::new(),
        };
        let mut insts = std::mem::take(&mut body[block].insts);
        insts.retain(|&inst| {
            self.same.rewrite(&mut body[inst].op);
            !self.inst(body, cx, inst, &mut memory)
        });
        body[block].insts = insts;
        self.memory[block] = memory;
    }

    /// Looks at one instruction; true when it goes because its value is known.
    fn inst(&mut self, body: &mut Body, cx: &Context<'_>, inst: InstId, memory: &mut Memory) -> bool {
        let view = cx.view(body);
        match &body[inst].op {
            Op::Load { volatile: false, ordering: Ordering::NotAtomic, .. } => return self.load(view, inst, memory),
            Op::Store { value, volatile: false, ordering: Ordering::NotAtomic, .. } => {
                return self.store(view, inst, *value, memory);
            }
            Op::Phi(_) | Op::Alloca { .. } => return false,
            _ => {}
        }
        let what = effects(view, inst);
        if what.contains(Effects::WRITES) {
            let written = Written::by(view, inst);
            memory.retain(|held| !written.may_touch(view, &self.private, &held.location));
        }
        let Some(result) = body[inst].result.expand() else { return false };
        if what.intersects(Effects::READS | Effects::WRITES | Effects::CONVERGENT | Effects::ORDERED) {
            return false;
        }
        let hash = hash_of(&body[inst].op, body[inst].ty);
        match self.table.get(&hash) {
            Some(&known) if is_same(body, known, inst) => {
                keep_common_flags(body, known, inst);
                self.same.set(result, body.result(known).into());
                true
            }
            _ => {
                self.undo.push((hash, self.table.insert(hash, inst)));
                false
            }
        }
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

fn hash_of(op: &Op, ty: TypeId) -> u64 {
    let mut hasher = FxHasher::default();
    std::mem::discriminant(op).hash(&mut hasher);
    ty.hash(&mut hasher);
    match op {
        Op::Binary(kind, _, [a, b]) => {
            let ordered = kind.is_commutative() && a > b;
            (kind, if ordered { [b, a] } else { [a, b] }).hash(&mut hasher);
        }
        Op::Cast(kind, ..) => kind.hash(&mut hasher),
        Op::ICmp(kind, ..) => kind.hash(&mut hasher),
        Op::FCmp(kind, ..) => kind.hash(&mut hasher),
        Op::Gep { source, .. } => source.hash(&mut hasher),
        Op::ExtractValue(_, path) | Op::InsertValue(_, path) => path.hash(&mut hasher),
        Op::Shuffle(_, mask) => mask.hash(&mut hasher),
        _ => {}
    }
    if !matches!(op, Op::Binary(..)) {
        op.for_each_value(|value| value.hash(&mut hasher));
    }
    hasher.finish()
}

/// True when `known` does what `inst` does, promises aside.
fn is_same(body: &Body, known: InstId, inst: InstId) -> bool {
    let (a, b) = (&body[known], &body[inst]);
    if a.ty != b.ty {
        return false;
    }
    match (&a.op, &b.op) {
        (Op::Binary(kind, flags, pair), Op::Binary(other_kind, other_flags, other)) => {
            let swapped = kind.is_commutative() && pair[0] == other[1] && pair[1] == other[0];
            // What fast-math flags allow may not have the same value twice.
            kind == other_kind && (pair == other || swapped) && (!kind.is_float() || flags == other_flags)
        }
        (Op::Gep { source, base, indices, .. }, Op::Gep { source: s, base: p, indices: i, .. }) => {
            source == s && base == p && indices == i
        }
        (Op::Cast(kind, _, from), Op::Cast(other, _, p)) => kind == other && from == p,
        (Op::ICmp(kind, _, args), Op::ICmp(other, _, p)) => kind == other && args == p,
        (a, b) => a == b,
    }
}

/// What stands for both promises only what both did.
fn keep_common_flags(body: &mut Body, known: InstId, inst: InstId) {
    match body[inst].op {
        Op::Binary(_, other, _) | Op::Cast(_, other, _) | Op::ICmp(_, other, _) => {
            if let Op::Binary(_, flags, _) | Op::Cast(_, flags, _) | Op::ICmp(_, flags, _) = &mut body[known].op {
                *flags &= other;
            }
        }
        Op::Gep { flags: other, .. } => {
            if let Op::Gep { flags, .. } = &mut body[known].op {
                *flags &= other;
            }
        }
        _ => {}
    }
}
