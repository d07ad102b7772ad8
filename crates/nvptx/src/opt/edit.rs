//! Changes to bodies that many passes make.

use crate::analysis::Cfg;
use crate::ir::{BlockId, Body, InstId, Op, Value, ValueId};

/// Values that others stand for from now on. Dense, applied to all uses at once.
#[derive(Debug, Default)]
pub struct Replacements {
    map: Vec<Option<Value>>,
    any: bool,
}

impl Replacements {
    /// Lets `by` stand for `value`.
    pub fn set(&mut self, value: ValueId, by: Value) {
        let index = value.as_u32() as usize;
        if self.map.len() <= index {
            self.map.resize(index + 1, None);
        }
        self.map[index] = Some(by);
        self.any = true;
    }

    /// What stands for `value` now.
    #[must_use]
    pub fn get(&self, value: ValueId) -> Option<Value> {
        self.map.get(value.as_u32() as usize).copied().flatten()
    }

    /// Follows the replacements of a value to their end.
    pub fn resolve(&mut self, value: Value) -> Value {
        let Some(first) = value.local() else { return value };
        let Some(mut last) = self.get(first) else { return value };
        // A circle of values that mean nothing ends when it meets its start.
        let mut steps = 0;
        while let Some(next) = last.local().and_then(|id| self.get(id)).filter(|_| steps <= self.map.len()) {
            last = next;
            steps += 1;
        }
        self.map[first.as_u32() as usize] = Some(last);
        last
    }

    /// Rewrites the operands of one instruction.
    pub fn rewrite(&mut self, op: &mut Op) {
        if self.any {
            op.for_each_value_mut(|value| *value = self.resolve(*value));
        }
    }

    /// True when nothing is replaced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.any
    }

    /// Rewrites all operands of a body. True if there was anything to do.
    pub fn apply(&mut self, body: &mut Body) -> bool {
        if !self.any {
            return false;
        }
        for at in 0..body.layout.len() {
            let block = body.layout[at];
            for index in 0..body[block].insts.len() {
                let inst = body[block].insts[index];
                self.rewrite(&mut body[inst].op);
            }
        }
        true
    }
}

/// The `phi`s at the start of a block.
pub(super) fn phis(body: &Body, block: BlockId) -> impl Iterator<Item = InstId> + '_ {
    body[block].insts.iter().copied().take_while(|&inst| matches!(body[inst].op, Op::Phi(_)))
}

/// How many `phi`s stand at the start of a block.
#[must_use]
pub(super) fn phi_count(body: &Body, block: BlockId) -> usize {
    phis(body, block).count()
}

/// Calls `f` with the incoming values of each `phi` of a block.
pub(super) fn for_each_phi_mut(
    body: &mut Body,
    block: BlockId,
    mut f: impl FnMut(&mut smallvec::SmallVec<[(BlockId, Value); 2]>),
) {
    for index in 0..body[block].insts.len() {
        let inst = body[block].insts[index];
        let Op::Phi(incoming) = &mut body[inst].op else { break };
        f(incoming);
    }
}

/// Takes one edge away from the `phi`s of `to`; the branch itself is the caller's.
pub(super) fn remove_incoming(body: &mut Body, from: BlockId, to: BlockId) {
    for_each_phi_mut(body, to, |incoming| {
        if let Some(at) = incoming.iter().position(|(block, _)| *block == from) {
            incoming.remove(at);
        }
    });
}

/// Lets the `phi`s of `to` expect `new` instead of `old`.
pub(super) fn rename_incoming(body: &mut Body, to: BlockId, old: BlockId, new: BlockId) {
    for_each_phi_mut(body, to, |incoming| {
        for (block, _) in incoming.iter_mut().filter(|(block, _)| *block == old) {
            *block = new;
        }
    });
}

/// Lets a block go to `new` wherever it went to `old`; the `phi`s are the caller's.
pub(super) fn retarget(body: &mut Body, from: BlockId, old: BlockId, new: BlockId) {
    if let Some(last) = body.terminator(from) {
        body[last].op.for_each_successor_mut(|to| *to = if *to == old { new } else { *to });
    }
}

/// Drops blocks that the entry does not reach, and what `phi`s expect from them.
pub(super) fn remove_unreachable(body: &mut Body) -> bool {
    let cfg = Cfg::of_reachable(body);
    if cfg.rpo().len() == body.layout.len() {
        return false;
    }
    body.layout.retain(|&block| cfg.is_reachable(block));
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        for_each_phi_mut(body, block, |incoming| incoming.retain(|(from, _)| cfg.is_reachable(*from)));
    }
    true
}
