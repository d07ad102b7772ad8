//! Copies of a loop's blocks, one behind the other.

use rustc_hash::FxHashMap;

use super::super::Context;
use super::super::edit::{for_each_phi_mut, phis, remove_incoming, retarget};
use super::trip_count::TripCount;
use crate::analysis::LoopData;
use crate::ir::{Attachment, BlockId, Body, InstId, Op, TypeId, Value, ValueId};

/// Lets a loop with one latch run `copies` times before it comes back to its header. Of a test whose count is known
/// only the copy remains that may leave, and of that only the leaving when the loop has no more to run. Values of the
/// loop must not be read outside of it but by `phi`s at its exits.
pub(super) fn unroll(body: &mut Body, cx: &Context<'_>, around: &LoopData, copies: u32, test: Option<&TripCount>) {
    let mut copier = Copier::new(body, cx, around);
    for _ in 1..copies {
        copier.add();
    }
    copier.connect();
    if let Some(test) = test {
        copier.decide(test);
    }
}

/// One run of the loop: what the blocks and values of the first are here. The first has nothing to say.
#[derive(Default)]
struct Run {
    blocks: FxHashMap<BlockId, BlockId>,
    values: FxHashMap<ValueId, Value>,
}

impl Run {
    fn block(&self, block: BlockId) -> BlockId {
        self.blocks.get(&block).copied().unwrap_or(block)
    }

    fn value(&self, value: Value) -> Value {
        value.local().and_then(|id| self.values.get(&id)).copied().unwrap_or(value)
    }
}

pub(super) struct Copier<'a, 'm> {
    body: &'a mut Body,
    cx: &'a Context<'m>,
    around: &'a LoopData,
    latch: BlockId,
    /// For each `phi` of the header, its value in the next run.
    nexts: Vec<(ValueId, Value)>,
    /// What `phi`s outside expect from the loop.
    leaving: Vec<(InstId, BlockId, Value)>,
    runs: Vec<Run>,
}

impl<'a, 'm> Copier<'a, 'm> {
    fn new(body: &'a mut Body, cx: &'a Context<'m>, around: &'a LoopData) -> Copier<'a, 'm> {
        let latch = around.latches[0];
        let mut nexts = Vec::new();
        for phi in phis(body, around.header) {
            if let Op::Phi(incoming) = &body[phi].op
                && let Some(&(_, next)) = incoming.iter().find(|(from, _)| *from == latch)
            {
                nexts.push((body.result(phi), next));
            }
        }
        let mut leaving = Vec::new();
        let mut targets: Vec<BlockId> = around.exits.iter().map(|&(_, to)| to).collect();
        targets.sort_unstable();
        targets.dedup();
        for phi in targets.into_iter().flat_map(|to| phis(body, to).collect::<Vec<_>>()) {
            if let Op::Phi(incoming) = &body[phi].op {
                let inside = incoming.iter().filter(|(from, _)| around.exits.iter().any(|exit| exit.0 == *from));
                leaving.extend(inside.map(|&(from, value)| (phi, from, value)));
            }
        }
        // Scopes of aliasing hold for one run.
        let insts: Vec<InstId> = around.blocks.iter().flat_map(|&block| body[block].insts.iter().copied()).collect();
        for inst in insts {
            if let Some(attached) = body.attachments.get_mut(&inst) {
                attached.retain(|(kind, _)| !matches!(kind, Attachment::AliasScope | Attachment::NoAlias));
            }
        }
        Copier { body, cx, around, latch, nexts, leaving, runs: vec![Run::default()] }
    }

    /// For runs in front of the loop itself, which they never leave: one run with these values for the `phi`s of the
    /// header.
    pub(super) fn ahead(
        body: &'a mut Body,
        cx: &'a Context<'m>,
        around: &'a LoopData,
        firsts: &[(ValueId, Value)],
    ) -> Copier<'a, 'm> {
        let mut copier = Copier::new(body, cx, around);
        copier.leaving.clear();
        copier.runs.clear();
        copier.write(firsts.iter().copied().collect());
        copier
    }

    /// Adds one run. Its latch goes back to the first header, as that of the first run still does.
    pub(super) fn add(&mut self) {
        if let Some(last) = self.runs.last() {
            self.write(self.nexts.iter().map(|&(phi, next)| (phi, last.value(next))).collect());
        }
    }

    /// Adds a run in which these values stand for the `phi`s of the header.
    fn write(&mut self, values: FxHashMap<ValueId, Value>) {
        let mut run = Run { blocks: FxHashMap::default(), values };
        for &block in &self.around.blocks {
            run.blocks.insert(block, self.body.make_block());
        }
        for &block in &self.around.blocks {
            let skipped = if block == self.around.header { phis(self.body, block).count() } else { 0 };
            for index in skipped..self.body[block].insts.len() {
                self.copy(block, index, &mut run);
            }
        }
        let header = self.around.header;
        for &block in self.around.blocks.iter() {
            for index in 0..self.body[run.block(block)].insts.len() {
                let inst = self.body[run.block(block)].insts[index];
                let op = &mut self.body[inst].op;
                op.for_each_value_mut(|value| *value = run.value(*value));
                op.for_each_successor_mut(|to| *to = if *to == header { header } else { run.block(*to) });
                if let Op::Phi(incoming) = op {
                    incoming.iter_mut().for_each(|(from, _)| *from = run.block(*from));
                }
            }
        }
        for &(phi, from, value) in &self.leaving {
            if let Op::Phi(incoming) = &mut self.body[phi].op {
                incoming.push((run.block(from), run.value(value)));
            }
        }
        self.runs.push(run);
    }

    /// Copies one instruction; its operands are those of the first run.
    fn copy(&mut self, block: BlockId, index: usize, run: &mut Run) {
        let inst = self.body[block].insts[index];
        let (op, ty) = (self.body[inst].op.clone(), self.body[inst].ty);
        let copy = self.cx.make(self.body, op, ty, inst);
        if let (Some(old), Some(new)) = (self.body[inst].result.expand(), self.body[copy].result.expand()) {
            run.values.insert(old, new.into());
        }
        if let Some(attached) = self.body.attachments.get(&inst).cloned() {
            self.body.attachments.insert(copy, attached);
        }
        self.body[run.block(block)].insts.push(copy);
    }

    /// Lets each run lead to the next, and the last to the first.
    fn connect(&mut self) {
        let header = self.around.header;
        for at in 1..self.runs.len() {
            let (latch, next) = (self.runs[at - 1].block(self.latch), self.runs[at].block(header));
            retarget(self.body, latch, header, next);
        }
        if let Some(last) = self.runs.last() {
            for_each_phi_mut(self.body, header, |incoming| {
                for (from, value) in incoming.iter_mut().filter(|(from, _)| *from == self.latch) {
                    *from = last.block(self.latch);
                    *value = last.value(*value);
                }
            });
        }
        let list = self.runs.iter().skip(1).flat_map(|run| self.around.blocks.iter().map(|&block| run.block(block)));
        let list: Vec<BlockId> = list.collect();
        let behind = self.body.layout.iter().rposition(|block| self.around.blocks.contains(block));
        let place = behind.map_or(self.body.layout.len(), |at| at + 1);
        self.body.layout.splice(place..place, list);
    }

    /// Lets each run lead to the next, and the last to `test`, which leads to the first; the test in `exiting` always
    /// goes `inside`. Answers the blocks in order.
    pub(super) fn connect_ahead(self, test: BlockId, exiting: BlockId, inside: BlockId) -> Vec<BlockId> {
        let header = self.around.header;
        for at in 0..self.runs.len() {
            let next = self.runs.get(at + 1).map_or(test, |run| run.block(header));
            let [exit, latch, to] = [exiting, self.latch, inside].map(|block| self.runs[at].block(block));
            if let Some(last) = self.body.terminator(exit) {
                // Where the test is that of the latch, it goes to the header.
                self.body[last].op = Op::Br(if inside == header { header } else { to });
            }
            retarget(self.body, latch, header, next);
        }
        if let Some(last) = self.runs.last() {
            let from = last.block(self.latch);
            for (phi, (_, next)) in phis(self.body, test).collect::<Vec<_>>().into_iter().zip(&self.nexts) {
                let next = last.value(*next);
                if let Op::Phi(incoming) = &mut self.body[phi].op {
                    incoming.push((from, next));
                }
            }
        }
        self.runs.iter().flat_map(|run| self.around.blocks.iter().map(|&block| run.block(block))).collect()
    }

    /// Drops the tests whose outcome is known.
    fn decide(&mut self, test: &TripCount) {
        let copies = self.runs.len() as u32;
        for (number, run) in (0..copies).zip(&self.runs) {
            let block = run.block(test.exiting);
            let Some(last) = self.body.terminator(block) else { continue };
            let Op::CondBr(_, [yes, no]) = self.body[last].op else { continue };
            let [inside, outside] = if yes == test.outside { [no, yes] } else { [yes, no] };
            let (kept, dropped) = if number != test.passes % copies {
                (inside, outside)
            } else if copies > test.passes {
                (outside, inside)
            } else {
                continue;
            };
            remove_incoming(self.body, block, dropped);
            let jump = self.cx.make(self.body, Op::Br(kept), TypeId::VOID, last);
            self.body[block].insts.pop();
            self.body[block].insts.push(jump);
        }
    }
}
