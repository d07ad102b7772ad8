//! Loads and tests moved down to their first use, in a block where more values are live than there are registers.
//!
//! Unrolled code loads all and computes afterwards. Stretches of a long block are put in order one by one, so that its loads
//! would never come to where their values are used: each would be spilled on the way. A load waits here until something
//! needs its value or changes what it reads. How far it then moves up again is for the order of its stretch. So does a test, which gives
//! predicates alone: bits of a few words that are all tested ahead of their votes are more predicates than there are.

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
/// The same of what is tested.
const TESTED_AGAIN: u32 = 1;

/// The instructions of a block with their loads and tests as late as may be, where less has to leave the registers then: by place.
pub(crate) fn sink_late(values: &Values<'_>, ops: &[Op<InstId>], live_out: &[Reg], limit: Counts) -> Option<Vec<u32>> {
    let again = read_again(values, ops, live_out);
    let mut sink = Sink {
        values,
        ops,
        waiting: Vec::new(),
        tests: Vec::new(),
        is_waiting: vec![false; ops.len()],
        results: ByRegister::of(values.registers()),
        sources: ByRegister::of(values.registers()),
        order: Vec::with_capacity(ops.len()),
    };
    for at in 0..ops.len() as u32 {
        sink.pass(at, again[at as usize]);
    }
    sink.release_all();
    sink.release_tests();
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
    /// The same of tests, for which nothing but registers matters.
    tests: Vec<u32>,
    is_waiting: Vec<bool>,
    /// By register: what waited to write it, or to read it.
    results: ByRegister<Vec<u32>>,
    sources: ByRegister<Vec<u32>>,
    order: Vec<u32>,
}

impl<'a> Sink<'a, '_> {
    /// The next instruction of the block.
    fn pass(&mut self, at: u32, again: u32) {
        let (values, op) = (self.values, &self.ops[at as usize]);
        let (uses, defs) = (values.accesses.uses(op), values.accesses.defs(op));
        uses.iter().for_each(|read| self.release_writers(read.reg));
        for def in defs {
            self.release_writers(def.reg);
            let readers = std::mem::take(self.sources.get_mut(def.reg));
            readers.into_iter().for_each(|load| self.release(load));
        }
        if is_fence(op) || op.has_order || op.terminator {
            self.release_all();
        }
        if op.terminator || op.leaves {
            self.release_tests();
        }
        let ordered = values.accesses.memory(op).filter(|access| !access.is_plain_load());
        if let Some(access) = ordered {
            self.release_before(access);
        }
        let waits = match () {
            () if ordered.is_none() && is_load(op) && again >= READ_AGAIN => &mut self.waiting,
            () if is_test(values, op) && again >= TESTED_AGAIN => &mut self.tests,
            () => return self.order.push(at),
        };
        waits.push(at);
        self.is_waiting[at as usize] = true;
        uses.iter().for_each(|read| self.sources.get_mut(read.reg).push(at));
        defs.iter().for_each(|def| self.results.get_mut(def.reg).push(at));
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

    /// All loads: tests may pass what these may not.
    fn release_all(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().for_each(|load| self.release(load));
    }

    /// All tests: a block that branches goes on behind none that stands behind its branch, and a call comes back to the next block.
    fn release_tests(&mut self) {
        let tests = std::mem::take(&mut self.tests);
        tests.into_iter().for_each(|test| self.release(test));
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

/// It gives predicates of the thread, and does nothing else.
fn is_test(values: &Values<'_>, op: &Op<InstId>) -> bool {
    let defs = values.accesses.defs(op);
    let plain = op.opcode.info().effects == Effects::NONE && op.opcode.order() == CodeOrder::Free && !op.guarded;
    plain && !op.has_order && !defs.is_empty() && defs.iter().all(|def| values.class(def.reg) == Class::Predicate)
}

#[cfg(test)]
mod tests {
    use super::sink_late;
    use crate::lives::{Class, Counts};
    use crate::values::Values;
    use oriole_isa::{Arch, Opcode, RegFile};
    use oriole_ori::{Function, InstId};

    /// A block that tests all bits of two words before it votes about each; `behind` the tests stands an instruction more.
    fn tests_before_votes(behind: &str) -> Function {
        const BITS: usize = 64;
        let mut text = ".function entry f\n  .frame local=0 spill=0 align=0\n".to_owned();
        (0..2 + BITS).for_each(|number| text += &format!("  .reg %R{number}\n"));
        (2 + BITS..2 + 2 * BITS).for_each(|number| text += &format!("  .reg %P{number}\n"));
        text += "  .symref ref0 sym0 +0 relative\n  .call call0 sym0 () -> () callee\n";
        text += "bix0:\n    MOV %R0, RZ, 0x5\n    MOV %R1, RZ, 0x7\n";
        for bit in 0..BITS {
            let (word, mask) = (bit / 32, 1u32 << (bit % 32));
            text += &format!("    LOP3 %P{}, RZ, %R{word}, {mask:#x}, RZ, 0xc0, !PT\n", 2 + BITS + bit);
        }
        text += behind;
        (0..BITS).for_each(|bit| text += &format!("    VOTE{{vote=ANY}} %R{}, PT, %P{}\n", 2 + bit, 2 + BITS + bit));
        text += "    STS %R0, URZ, 0x0, %R1\n    EXIT PT\n.end\n";
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The opcodes in their order with tests as late as may be, and the most predicates that are still to be read, each of which is read once.
    fn sunk(func: &Function) -> Option<(Vec<Opcode>, usize)> {
        let mut values = Values::new(func, Arch::Sm80);
        let insts: Vec<InstId> = func.iter_insts().map(|(_, inst)| inst).collect();
        let ops = values.ops(&insts);
        let mut limit = Counts::default();
        [(Class::General, 100), (Class::Predicate, 6)].into_iter().for_each(|(class, most)| limit.add(class, most));
        let order = sink_late(&values, &ops, &[], limit)?;
        let (mut now, mut most) = (0, 0);
        for at in &order {
            func.for_each_reg(insts[*at as usize], |mention| match func[mention.reg].file() {
                RegFile::P if mention.is_def => now += 1,
                RegFile::P => now -= 1,
                _ => (),
            });
            most = most.max(now);
        }
        Some((order.iter().map(|at| func[insts[*at as usize]].opcode).collect(), most))
    }

    #[test]
    fn tests_come_to_their_readers() {
        let (_, most) = sunk(&tests_before_votes("")).expect("there are more than six predicates");
        // The last test of a word that nobody reads behind it stands where it did.
        assert!(most <= 3, "{most} predicates");
    }

    /// All tests of the second word stand before it is written anew, none of the first.
    #[test]
    fn what_is_tested_is_what_it_was() {
        let opcodes =
            sunk(&tests_before_votes("    MOV %R1, RZ, 0x9\n")).map(|(opcodes, _)| opcodes).unwrap_or_default();
        let written = opcodes.iter().rposition(|opcode| *opcode == Opcode::MOV).unwrap_or_default();
        assert_eq!(opcodes[..written].iter().filter(|opcode| **opcode == Opcode::LOP3).count(), 32, "{opcodes:?}");
    }

    /// Other blocks that a branch leads to may read what is tested ahead of it: no test waits for a reader behind it.
    #[test]
    fn tests_stay_ahead_of_a_branch() {
        assert_eq!(sunk(&tests_before_votes("    @%P66 BRA PT, bix0, _\n")), None);
    }

    /// A call comes back to the next block: what stands behind it in its own is never executed.
    #[test]
    fn tests_stay_ahead_of_a_call() {
        assert_eq!(sunk(&tests_before_votes("    CALL _, ref0, 0x0, PT ;call0\n")), None);
    }
}
