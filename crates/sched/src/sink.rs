//! Loads moved down to their first use, in a block where more values are live than there are registers.
//!
//! Unrolled code loads all and computes afterwards. Stretches of a long block are put in order one by one, so that its loads
//! would never come to where their values are used: each would be spilled on the way. A load waits here until something
//! needs its value or changes what it reads. How far it then moves up again is for the order of its stretch.

use crate::code::{ByRegister, Op, Reg};
use crate::dependence::is_fence;
use crate::lives::{Class, Counts};
use crate::memory::MemoryAccess;
use crate::values::Values;
use oriole_isa::{CodeOrder, Effects};
use oriole_ori::InstId;

/// Loads that wait and are compared with a store.
const WINDOW: usize = 64;
/// Reads of an address that are to come: with fewer it would stay live for the sake of one value.
const READ_AGAIN: u32 = 4;

/// The instructions of a block with their loads as late as may be, where less has to leave the registers then: by place.
pub(crate) fn sink_loads(values: &Values<'_>, ops: &[Op<InstId>], live_out: &[Reg], limit: Counts) -> Option<Vec<u32>> {
    let again = read_again(values, ops, live_out);
    let mut sink = Sink {
        values,
        ops,
        waiting: Vec::new(),
        is_waiting: vec![false; ops.len()],
        results: ByRegister::of(values.registers()),
        sources: ByRegister::of(values.registers()),
        order: Vec::with_capacity(ops.len()),
    };
    for at in 0..ops.len() as u32 {
        sink.pass(at, again[at as usize] >= READ_AGAIN);
    }
    sink.release_all();
    let order = sink.order;
    let source: Vec<u32> = (0..ops.len() as u32).collect();
    let without = |order: &[u32]| excess(values, ops, live_out, order, limit);
    (without(&order) < without(&source)).then_some(order)
}

/// By instruction: how often the least read of its general registers is read later.
fn read_again(values: &Values<'_>, ops: &[Op<InstId>], live_out: &[Reg]) -> Vec<u32> {
    let mut later: ByRegister<u32> = ByRegister::of(values.registers());
    live_out.iter().for_each(|reg| *later.touch(*reg) = u32::MAX);
    let mut again = vec![u32::MAX; ops.len()];
    for (at, op) in ops.iter().enumerate().rev() {
        for def in values.accesses.defs(op).iter().filter(|_| !op.guarded) {
            *later.get_mut(def.reg) = 0;
        }
        for reg in values.accesses.uses(op).iter().map(|read| read.reg) {
            let reads = later.get_mut(reg);
            if values.class(reg) == Class::General {
                again[at] = again[at].min(*reads);
            }
            *reads = reads.saturating_add(1);
        }
    }
    again
}

/// By how much there are more values than registers, over all instructions.
fn excess(values: &Values<'_>, ops: &[Op<InstId>], live_out: &[Reg], order: &[u32], limit: Counts) -> u64 {
    let mut live: ByRegister<bool> = ByRegister::of(values.registers());
    let (mut counts, mut sum) = (Counts::default(), 0);
    let mut set = |counts: &mut Counts, reg: Reg, to: bool| {
        if std::mem::replace(live.get_mut(reg), to) != to {
            counts.add(values.class(reg), if to { 1 } else { -1 });
        }
    };
    live_out.iter().for_each(|reg| set(&mut counts, *reg, true));
    for at in order.iter().rev() {
        let op = &ops[*at as usize];
        values.accesses.defs(op).iter().filter(|_| !op.guarded).for_each(|def| set(&mut counts, def.reg, false));
        values.accesses.uses(op).iter().for_each(|read| set(&mut counts, read.reg, true));
        sum += u64::from(counts.excess(limit).unsigned_abs());
    }
    sum
}

struct Sink<'a, 'f> {
    values: &'a Values<'f>,
    ops: &'a [Op<InstId>],
    /// The loads that wait, and some that have been released, in order.
    waiting: Vec<u32>,
    is_waiting: Vec<bool>,
    /// By register: the loads that waited to write it, or to read it.
    results: ByRegister<Vec<u32>>,
    sources: ByRegister<Vec<u32>>,
    order: Vec<u32>,
}

impl<'a> Sink<'a, '_> {
    /// The next instruction of the block.
    fn pass(&mut self, at: u32, may_wait: bool) {
        let (values, op) = (self.values, &self.ops[at as usize]);
        let (uses, defs) = (values.accesses.uses(op), values.accesses.defs(op));
        uses.iter().for_each(|read| self.release_writers(read.reg));
        for def in defs {
            self.release_writers(def.reg);
            let readers = std::mem::take(self.sources.get_mut(def.reg));
            readers.into_iter().for_each(|load| self.release(load));
        }
        if is_fence(op) || op.has_order {
            self.release_all();
        }
        let ordered = values.accesses.memory(op).filter(|access| !access.is_plain_load());
        if let Some(access) = ordered {
            self.release_before(access);
        }
        if may_wait && ordered.is_none() && is_load(op) {
            uses.iter().for_each(|read| self.sources.get_mut(read.reg).push(at));
            defs.iter().for_each(|def| self.results.get_mut(def.reg).push(at));
            self.waiting.push(at);
            self.is_waiting[at as usize] = true;
        } else {
            self.order.push(at);
        }
    }

    fn release_writers(&mut self, reg: Reg) {
        let writers = std::mem::take(self.results.get_mut(reg));
        writers.into_iter().for_each(|load| self.release(load));
    }

    fn release(&mut self, load: u32) {
        if std::mem::replace(&mut self.is_waiting[load as usize], false) {
            self.order.push(load);
        }
    }

    fn release_all(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().for_each(|load| self.release(load));
    }

    /// What must not see a store; of very many, all.
    fn release_before(&mut self, store: &MemoryAccess) {
        self.waiting.retain(|load| self.is_waiting[*load as usize]);
        if self.waiting.len() > WINDOW {
            self.release_all();
            return;
        }
        let (values, ops) = (self.values, self.ops);
        let conflicts = |load: &u32| values.accesses.memory(&ops[*load as usize]).is_some_and(|m| m.conflicts(store));
        let conflicting: Vec<u32> = self.waiting.iter().copied().filter(conflicts).collect();
        conflicting.into_iter().for_each(|load| self.release(load));
    }
}

/// It reads memory, or a constant, and does nothing else.
fn is_load(op: &Op<InstId>) -> bool {
    op.opcode.info().effects == Effects::READS_MEMORY && op.opcode.order() == CodeOrder::Free && !op.guarded
}
