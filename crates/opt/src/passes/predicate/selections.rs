//! What one side of a selection computes is computed under the selection's predicate.
//!
//! `t = op …; d = SEL p, t, y` becomes `@p d = op …` over `y`: one instruction less, and `d` waits for one less. `op` computes from its
//! operands alone, stands in the selection's block and serves it alone; `y` ends there, so that the result can have its register.
//! Results of several registers need a selection of each. A guard must be known earlier than what a selection reads: where the predicate
//! is what comes last, the selection stays.

use super::{SELECTIONS, can_be_guarded};
use crate::Context;
use crate::passes::general::source;
use oriole_isa::latency::is_variable_opcode;
use oriole_isa::{Arch, Opcode, RegFile, Role};
use oriole_ori::analysis::{Analyses, LoopForest, Speculation};
use oriole_ori::{Block, Function, Guard, InstId, Operand, SecondaryMap, VReg, entry_for_each};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::rc::Rc;

/// Guard what can be, block by block, from the top of each.
pub(super) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) {
    let is_there = |(_, inst): (Block, InstId)| Selection::of(func, inst).is_some();
    if context.knobs.int("predicate-selections") == 0 || !func.iter_insts().any(is_there) {
        return;
    }
    func.edit().keep_def_use();
    let slack = u32::try_from(context.knobs.int("predicate-selections")).unwrap_or(0);
    let mut pass = Pass {
        arch: context.arch,
        slack,
        loops: analyses.loops(func),
        places: SecondaryMap::new(),
        ready: entry_for_each(func.regs().len()),
    };
    for block in func.layout().to_vec() {
        let insts = func.block_insts(block).to_vec();
        if !insts.iter().any(|inst| Selection::of(func, *inst).is_some()) {
            continue;
        }
        for (at, inst) in insts.iter().enumerate() {
            pass.places[*inst] = at;
        }
        let mut order = insts.clone();
        let mut gone: FxHashSet<InstId> = FxHashSet::default();
        for (at, inst) in insts.into_iter().enumerate() {
            let found = Selection::of(func, inst).filter(|_| context.tally.is_open() && !gone.contains(&inst));
            let Some(guarded) = found.and_then(|selection| pass.guarded(func, block, &selection)) else {
                pass.see(func, inst);
                continue;
            };
            context.tally.count(SELECTIONS);
            let op = guarded.op;
            gone.extend(guarded.selections.iter().copied());
            carry_out(func, guarded);
            // It stands where the selection stood, and that, which is gone, where it did.
            order.swap(at, pass.places[op]);
            pass.places[op] = at;
            pass.see(func, op);
        }
        if !gone.is_empty() {
            order.retain(|inst| !gone.contains(inst));
            func.edit().set_insts(block, order);
        }
    }
}

/// One register is one of two others.
struct Selection {
    inst: InstId,
    result: VReg,
    /// What the result is where the predicate holds, and where it does not.
    sides: [VReg; 2],
    predicate: Guard,
}

impl Selection {
    fn of(func: &Function, inst: InstId) -> Option<Selection> {
        let data = &func[inst];
        let plain = data.is_machine() && data.guard().is_none();
        if !plain || !matches!(data.opcode, Opcode::SEL | Opcode::FSEL) {
            return None;
        }
        let value = |role| {
            let operand = source(data, role)?;
            let reg = operand.as_whole_reg().filter(|reg| func.is_value(*reg) && func[*reg].file() == RegFile::R)?;
            (!operand.has_flags()).then_some(reg)
        };
        let predicate = source(data, Role::PA)?;
        let pred = predicate.as_reg().filter(|reg| func.is_value(*reg) && func[*reg].file() == RegFile::P)?;
        let guard = Guard { pred, negated: predicate.is_not() };
        Some(Selection { inst, result: value(Role::D)?, sides: [value(Role::A)?, value(Role::B)?], predicate: guard })
    }
}

/// An instruction that is to be guarded.
struct Guarded {
    op: InstId,
    guard: Guard,
    /// The selections that go.
    selections: SmallVec<[InstId; 2]>,
    /// What it gives instead, and what that is where the guard does not hold.
    results: SmallVec<[VReg; 2]>,
    olds: SmallVec<[VReg; 2]>,
}

struct Pass {
    arch: Arch,
    /// Cycles by which a guarded result may come later than a selected one.
    slack: u32,
    loops: Rc<LoopForest>,
    /// By instruction of the block at hand.
    places: SecondaryMap<InstId, usize>,
    /// Cycles from the start of the block at hand to when a value that it makes is there, if nothing waits for anything else.
    ready: SecondaryMap<VReg, u32>,
}

/// A block of a loop with so few instructions has little to do while it waits for a guard.
const SHORT: usize = 24;

/// Cycles until the result of an instruction with a fixed latency is there, as an operand and as a guard.
const OPERAND: u32 = 4;
const GUARD: u32 = 13;

impl Pass {
    /// What becomes of the selection, the last of those of one instruction.
    fn guarded(&self, func: &Function, block: Block, last: &Selection) -> Option<Guarded> {
        let [on, off] = last.sides;
        let ways = [(on, last.predicate, 0), (off, last.predicate.opposite(), 1)];
        ways.into_iter().find_map(|(side, guard, way)| self.way(func, block, last, (side, guard, way)))
    }

    /// The same for one side of it.
    fn way(
        &self,
        func: &Function,
        block: Block,
        last: &Selection,
        (side, guard, way): (VReg, Guard, usize),
    ) -> Option<Guarded> {
        let lists = func.def_use()?;
        let op = lists.definition(side).filter(|op| lists.home(*op) == Some(block))?;
        if !can_be_guarded(func, op) || !Speculation::is_harmless(func, op, self.arch) {
            return None;
        }
        let mut defs = func[op].defs().map(|(_, def)| func.named(def)).filter(|values| !values.is_empty());
        let values = defs.next().filter(|_| defs.next().is_none())?;
        let mut all =
            Guarded { op, guard, selections: SmallVec::new(), results: SmallVec::new(), olds: SmallVec::new() };
        for value in values {
            let mut users = lists.users(value);
            let reader = users.next().filter(|_| users.next().is_none())?;
            let selection = Selection::of(func, reader).filter(|_| lists.home(reader) == Some(block))?;
            let fits = selection.sides[way] == value && selection.predicate == last.predicate;
            if !fits || self.places[reader] > self.places[last.inst] || all.selections.contains(&reader) {
                return None;
            }
            // Nobody reads the results of the others before the last.
            let early = |user| lists.home(user) == Some(block) && self.places[user] < self.places[last.inst];
            if reader != last.inst && lists.users(selection.result).any(early) {
                return None;
            }
            all.selections.push(reader);
            all.results.push(selection.result);
            all.olds.push(selection.sides[1 - way]);
        }
        let ends = all.olds.iter().all(|old| self.ends(func, block, *old, &all));
        (ends && all.selections.contains(&last.inst) && self.pays(func, block, &all)).then_some(all)
    }

    /// Notes when the results of an instruction are there.
    fn see(&mut self, func: &Function, inst: InstId) {
        let ready = self.start(func, inst) + self.latency(func, inst);
        func.for_each_def(inst, |mention| self.ready[mention.reg] = ready);
    }

    /// When the instruction has what it reads.
    fn start(&self, func: &Function, inst: InstId) -> u32 {
        let guard = func[inst].guard().map_or(0, |guard| self.ready[guard.pred] + GUARD - OPERAND);
        let mut start = guard;
        func.for_each_use(inst, |mention| start = start.max(self.ready[mention.reg]));
        start
    }

    fn latency(&self, func: &Function, inst: InstId) -> u32 {
        let data = &func[inst];
        if is_variable_opcode(data.opcode, self.arch) { data.opcode.estimate() } else { OPERAND }
    }

    /// Whether the results under a guard come as early as selected ones, or not much later; in long code, and in code that is executed
    /// once, there is enough else to do.
    fn pays(&self, func: &Function, block: Block, all: &Guarded) -> bool {
        if self.loops.innermost(block).is_none() || func.block_insts(block).len() > SHORT {
            return true;
        }
        let predicate = self.ready[all.guard.pred];
        let others = all.olds.iter().map(|old| self.ready[*old]).max().unwrap_or(0);
        let start = self.start(func, all.op);
        let latency = self.latency(func, all.op);
        let selected = (start + latency).max(predicate).max(others) + OPERAND;
        let guarded = start.max(predicate + GUARD - OPERAND).max(others) + latency;
        guarded <= selected + self.slack
    }

    /// Whether nobody reads the old value behind the last selection, in the next round of a loop neither.
    fn ends(&self, func: &Function, block: Block, old: VReg, all: &Guarded) -> bool {
        let Some(lists) = func.def_use() else { return false };
        let last = all.selections.iter().map(|inst| self.places[*inst]).max();
        let early = |user: InstId| {
            let here = lists.home(user) == Some(block) && !func[user].is_phi();
            user == all.op || here && Some(self.places[user]) <= last
        };
        let home = lists.definition(old).and_then(|inst| lists.home(inst));
        let in_loop = home.is_some_and(|home| {
            home == block || self.loops.innermost(block).is_none_or(|this| self.loops.contains(this, home))
        });
        in_loop && lists.users(old).all(early) && all.olds.iter().filter(|other| **other == old).count() == 1
    }
}

/// Guard the instruction and take the selections out; the block's order is the caller's.
fn carry_out(func: &mut Function, guarded: Guarded) {
    for inst in &guarded.selections {
        func.edit().remove(*inst);
    }
    let (result, old) = (func.tuple(&guarded.results), func.tuple(&guarded.olds));
    let mut inst = func[guarded.op].clone();
    inst.set_guard(Some(guarded.guard));
    let defs: SmallVec<[(usize, Operand); 4]> = inst.defs().collect();
    for (at, def) in defs {
        let names_values = !func.named(def).is_empty();
        if names_values {
            inst.operands[at] = result;
        }
        inst.operands.push(if names_values { old } else { Operand::NONE });
    }
    func.edit().replace(guarded.op, inst);
}
