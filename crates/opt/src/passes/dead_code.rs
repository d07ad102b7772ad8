//! Slots 10, 16, 33, 61, 84: removal of instructions whose results nobody reads, and of single predicates that nobody does.

use crate::{Changed, Context, PhaseError};
use oriole_isa::{Effects, RegFile};
use oriole_ori::analysis::{Analyses, LiveSet, Liveness};
use oriole_ori::{DefUse, EntitySet, Function, InstFlags, InstId, Operand, OperandKind, Slot, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What is counted.
pub(crate) const RULES: &[&str] = &["instructions removed", "predicates removed"];

/// And on SSA form.
pub(crate) const SWEEP_RULES: &[&str] = &["instructions removed"];

/// On SSA form nothing is dead.
pub(crate) const SWEPT: &str = "dead code is gone";

/// On other forms the code was looked at: a chain of instructions from block to block that only need each other may have lost its end
/// alone. What is left of it goes on SSA form.
pub(crate) const LOOKED_AT: &str = "dead code was looked for";

/// Remove dead instructions.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    if !context.tally.is_open() {
        return Ok(Changed::No);
    }
    let is_ssa = func.first_value().is_some();
    let work = if is_ssa { SWEPT } else { LOOKED_AT };
    if analyses.is_settled(work, func) {
        return Ok(Changed::No);
    }
    let (removed, unread) = if is_ssa { (sweep(func).len() as u32, 0) } else { remove(func, analyses) };
    analyses.settle(work, func);
    context.tally.add(0, removed);
    context.tally.add(1, unread);
    Ok(Changed::when(removed + unread > 0))
}

/// Remove what liveness says is dead. Gives the number of instructions, and that of predicates of others.
pub(crate) fn remove(func: &mut Function, analyses: &mut Analyses) -> (u32, u32) {
    let before = func.epochs();
    let Dead { insts: dead, predicates, read_from_elsewhere } = Dead::new(func, &analyses.live(func));
    for (inst, at) in &predicates {
        func.edit().set_operand(*inst, *at, Operand::pt());
    }
    let mut removed = 0;
    if !dead.is_empty() {
        for block in func.layout().to_vec() {
            let before = func.block_insts(block).len();
            func.edit().retain_insts(block, |_, inst| !dead.contains(inst));
            removed += (before - func.block_insts(block).len()) as u32;
        }
    }
    if !read_from_elsewhere {
        analyses.keep_live(func, before);
    }
    (removed, predicates.len() as u32)
}

/// What nobody reads.
struct Dead {
    insts: EntitySet<InstId>,
    /// Results of other instructions, each with its operand. One that is written under a guard would hold its register from the
    /// start of the function on: where nothing is written, the old value stays.
    predicates: Vec<(InstId, usize)>,
    /// Some instruction that is dead reads what other blocks have written: without it less may be live there. (That it writes
    /// something no longer makes nothing live: nobody reads that.)
    read_from_elsewhere: bool,
}

impl Dead {
    /// By one backward walk per block from what is live out of it: an instruction that is dead does not make its sources live.
    fn new(func: &Function, liveness: &Liveness) -> Self {
        let mut dead = Dead { insts: EntitySet::new(), predicates: Vec::new(), read_from_elsewhere: false };
        let mut live = liveness.empty_set();
        for block in func.layout() {
            live.clear();
            for component in liveness.live_out(*block) {
                live.insert(component);
            }
            for inst in func.block_insts(*block).iter().rev() {
                if removable(func, *inst) && !writes_live(func, *inst, &live) {
                    dead.insts.insert(*inst);
                    func.for_each_use(*inst, |read| {
                        let mut parts = read.range.clone();
                        dead.read_from_elsewhere |= parts.any(|k| liveness.is_live_in(*block, read.reg, k));
                    });
                } else {
                    dead.add_predicates(func, *inst, &live);
                    live.step_back(func, *inst);
                }
            }
        }
        dead
    }

    /// Those of an instruction that stays.
    fn add_predicates(&mut self, func: &Function, inst: InstId, live: &LiveSet) {
        func.for_each_def(inst, |mention| {
            let data = &func[mention.reg];
            if let Slot::Operand(at) = mention.slot
                && data.file() == RegFile::P
                && !data.is_fixed()
                && !live.contains((mention.reg, 0))
            {
                self.predicates.push((inst, at));
            }
        });
    }
}

/// Whether the instruction does nothing but write virtual registers.
pub(crate) fn removable(func: &Function, inst: InstId) -> bool {
    let data = &func[inst];
    !data.opcode.info().effects.intersects(Effects::WANTED)
        && data.call.is_none()
        && !data.is_hold()
        && !data.flags.contains(InstFlags::VOLATILE)
        && data.defs().all(|(_, operand)| !matches!(operand.kind(), OperandKind::Phys { .. }))
}

fn writes_live(func: &Function, inst: InstId, live: &LiveSet) -> bool {
    let mut found = false;
    func.for_each_def(inst, |mention| {
        let fixed = func[mention.reg].is_fixed();
        found |= fixed || mention.range.clone().any(|k| live.contains((mention.reg, k)));
    });
    found
}

/// On SSA form: remove what no instruction with an effect needs, MovPhis that only need each other included. Gives what was
/// removed.
pub(crate) fn sweep(func: &mut Function) -> Vec<InstId> {
    func.edit().keep_def_use();
    let has_phis = func.layout().iter().any(|block| !func.phis(*block).is_empty());
    let (idle, is_idle) = match func.def_use() {
        Some(lists) if !has_phis => Unread::of(func, lists),
        _ => Needs::of(func),
    };
    if !idle.is_empty() {
        for block in func.layout().to_vec() {
            func.edit().retain_insts(block, |_, inst| !is_idle.contains(inst));
        }
    }
    idle
}

/// What nobody reads, and what is read by that alone: all that is idle where there are no MovPhis, which may read each other.
struct Unread<'f> {
    func: &'f Function,
    lists: &'f DefUse,
    idle: Vec<InstId>,
    is_idle: EntitySet<InstId>,
    /// By value: how often something idle reads it.
    dropped: FxHashMap<VReg, u32>,
}

impl<'f> Unread<'f> {
    /// What is idle in a function, as a list and as a set.
    fn of(func: &'f Function, lists: &'f DefUse) -> (Vec<InstId>, EntitySet<InstId>) {
        let (idle, is_idle) = (Vec::new(), EntitySet::new());
        let mut unread = Unread { func, lists, idle, is_idle, dropped: FxHashMap::default() };
        for (_, inst) in func.iter_insts() {
            unread.look_at(inst);
        }
        // What is found on the way is at the end of the list.
        let mut next = 0;
        while let Some(inst) = unread.idle.get(next).copied() {
            next += 1;
            unread.drop_sources(inst);
        }
        (unread.idle, unread.is_idle)
    }

    /// The instruction is idle if nothing that is not reads its results.
    fn look_at(&mut self, inst: InstId) {
        let mut wanted = false;
        self.func.for_each_def(inst, |write| {
            let reads = self.lists.count(write.reg);
            wanted |= reads > 0 && self.dropped.get(&write.reg) != Some(&reads) || !self.func.is_value(write.reg);
        });
        if !wanted && removable(self.func, inst) && self.is_idle.insert(inst) {
            self.idle.push(inst);
        }
    }

    fn drop_sources(&mut self, inst: InstId) {
        let mut sources: SmallVec<[InstId; 8]> = SmallVec::new();
        self.func.for_each_use(inst, |read| {
            *self.dropped.entry(read.reg).or_default() += 1;
            sources.extend(self.lists.definition(read.reg));
        });
        sources.into_iter().for_each(|source| self.look_at(source));
    }
}

/// What is needed, found in one way over the code from its end. Most definitions stand before what reads them; those
/// that do not (around a loop, or where blocks stand in another order) are come back to.
struct Needs {
    needed: EntitySet<VReg>,
    /// What nobody was seen to need when it was passed, in that order; some of it was needed after all.
    idle: Vec<InstId>,
    is_idle: EntitySet<InstId>,
    /// Idle no more, with sources to be looked at.
    work: Vec<InstId>,
}

impl Needs {
    /// What is not needed in a function, as a list and as a set.
    fn of(func: &Function) -> (Vec<InstId>, EntitySet<InstId>) {
        let mut needs = Needs {
            needed: EntitySet::with_capacity(func.regs().len()),
            idle: Vec::new(),
            is_idle: EntitySet::with_capacity(func.insts().len()),
            work: Vec::new(),
        };
        for block in func.layout().iter().rev() {
            func.block_insts(*block).iter().rev().for_each(|inst| needs.pass(func, *inst));
        }
        needs.idle.retain(|inst| needs.is_idle.contains(*inst));
        (needs.idle, needs.is_idle)
    }

    fn pass(&mut self, func: &Function, inst: InstId) {
        let mut wanted = !removable(func, inst);
        if !wanted {
            func.for_each_def(inst, |write| wanted |= !func.is_value(write.reg) || self.needed.contains(write.reg));
        }
        if wanted {
            self.need_sources(func, inst);
        } else {
            self.idle.push(inst);
            self.is_idle.insert(inst);
        }
        while let Some(inst) = self.work.pop() {
            self.need_sources(func, inst);
        }
    }

    fn need_sources(&mut self, func: &Function, inst: InstId) {
        func.for_each_use(inst, |read| {
            if self.needed.insert(read.reg)
                && let Some(idle) = func.definition(read.reg)
                && self.is_idle.remove(idle)
            {
                self.work.push(idle);
            }
        });
    }
}
