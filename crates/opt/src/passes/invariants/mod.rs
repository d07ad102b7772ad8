//! Slot 66, on SSA form: what is the same in every round of a loop is computed ahead of it.
//!
//! An instruction goes that computes from its operands alone and faults nowhere, stands where every round comes by, and reads nothing
//! that the loop makes but what goes as well. Its result then lives all through the loop: so many go as there is room for, those
//! first that take the most instructions along. Inner loops come first, so that what leaves them may leave the outer ones too.

mod latch;

use super::dead_code::SWEPT;
use super::general::may_be_shared;
use super::sink::{place_at_end, take_out};
use crate::{Changed, Context, PhaseError};
use oriole_isa::{Arch, RegFile};
use oriole_ori::analysis::{Analyses, DomTree, Liveness, Loop, LoopForest, Speculation};
use oriole_ori::{Block, Function, InstId};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// What is counted.
pub(crate) const RULES: &[&str] = &["computations ahead of loops", "tests of rounds ahead of their ways"];
const AHEAD: usize = 0;
const TESTS: usize = 1;

/// Predicates that live in a loop, at most, because of what went ahead of it.
const MOST_PREDICATES: usize = 3;

/// What takes more along counts as this: of each that might go it is asked.
const LARGEST: usize = 256;

/// Move what can go.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let loops = analyses.loops(func);
    let room = usize::try_from(context.knobs.int("invariant-registers")).unwrap_or(0);
    if loops.is_empty() || room == 0 {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let dominators = analyses.dominators(func);
    let is_swept = analyses.is_settled(SWEPT, func);
    let mut hoist = Hoist { arch: context.arch, loops, dominators, live: None, added: Registers::default(), room };
    let mut changed = false;
    for this in hoist.loops.inner_first() {
        let Some(to) = hoist.entrance(this) else { continue };
        let found = hoist.invariants(func, this);
        if found.is_empty() {
            continue;
        }
        let live = hoist.live.get_or_insert_with(|| analyses.live(func)).clone();
        let chosen = hoist.chosen(func, &live, this, &found);
        if chosen.is_empty() || !context.tally.is_open() {
            continue;
        }
        context.tally.add(AHEAD, chosen.len() as u32);
        carry_out(func, &chosen, to);
        changed = true;
    }
    // Values that live across calls are saved for them.
    let loops = if func.call_sites().is_empty() { hoist.loops.inner_first() } else { Vec::new() };
    for this in loops {
        let early = latch::early(func, context.arch, &hoist.dominators, &hoist.loops, this);
        let Some((insts, to)) = early.filter(|_| context.tally.is_open()) else { continue };
        context.tally.add(TESTS, insts.len() as u32);
        carry_out(func, &insts, to);
        changed = true;
    }
    if is_swept {
        // What is moved is as dead or alive as before.
        analyses.settle(SWEPT, func);
    }
    Ok(Changed::when(changed))
}

/// General registers and predicates.
#[derive(Clone, Copy, Default)]
struct Registers {
    general: usize,
    predicates: usize,
}

impl Registers {
    /// Those of what an instruction gives.
    fn of(func: &Function, inst: InstId) -> Registers {
        let mut registers = Registers::default();
        func.for_each_def(inst, |write| match func[write.reg].file() {
            RegFile::R => registers.general += write.range.len(),
            RegFile::P => registers.predicates += 1,
            _ => {}
        });
        registers
    }

    fn and(self, other: Registers) -> Registers {
        Registers { general: self.general + other.general, predicates: self.predicates + other.predicates }
    }
}

struct Hoist {
    arch: Arch,
    loops: Rc<LoopForest>,
    dominators: Rc<DomTree>,
    /// As things were before the first move.
    live: Option<Rc<Liveness>>,
    /// What lives longer since then.
    added: Registers,
    /// General registers in a loop, at most, for the sake of what went ahead of it.
    room: usize,
}

impl Hoist {
    /// The block from whose end on the loop is entered.
    fn entrance(&self, this: Loop) -> Option<Block> {
        let data = &self.loops[this];
        data.entrance.or_else(|| self.dominators.idom(data.header))
    }

    /// What may go, each behind what it reads.
    fn invariants(&self, func: &Function, this: Loop) -> Vec<InstId> {
        let data = &self.loops[this];
        let always = |block: &Block| data.latches.iter().all(|latch| self.dominators.dominates(*block, *latch));
        // In reverse post-order who dominates comes first.
        let blocks = data.blocks.iter().copied().filter(always);
        let (mut found, mut known) = (Vec::new(), FxHashSet::default());
        for &inst in blocks.flat_map(|block| func.block_insts(block)) {
            if self.may_go(func, this, inst, &known) {
                known.insert(inst);
                found.push(inst);
            }
        }
        found
    }

    fn may_go(&self, func: &Function, this: Loop, inst: InstId, going: &FxHashSet<InstId>) -> bool {
        let data = &func[inst];
        if data.is_phi() || !may_be_shared(data.opcode) || !Speculation::is_harmless(func, inst, self.arch) {
            return false;
        }
        let mut outside = true;
        func.for_each_use(inst, |read| {
            let definition = func.definition(read.reg).filter(|_| func.is_value(read.reg));
            let home = definition.and_then(|inst| func.def_use()?.home(inst));
            let there = definition.is_some_and(|inst| going.contains(&inst));
            outside &= there || home.is_some_and(|home| !self.loops.contains(this, home));
        });
        outside
    }

    /// What goes: those first that take the most along, as long as there is room in the loop.
    fn chosen(&mut self, func: &Function, live: &Liveness, this: Loop, found: &[InstId]) -> Vec<InstId> {
        let pressure = self.pressure(func, live, this);
        let going: FxHashSet<InstId> = found.iter().copied().collect();
        let mut roots: Vec<(usize, InstId)> = found
            .iter()
            .filter(|inst| is_read_elsewhere(func, **inst, &going))
            .map(|inst| (tree(func, *inst, &going, LARGEST).len(), *inst))
            .collect();
        // The order of the code among equals.
        roots.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        let mut chosen: FxHashSet<InstId> = FxHashSet::default();
        for (_, root) in roots {
            let with = self.added.and(Registers::of(func, root));
            let all = pressure.and(with);
            if all.general <= self.room && all.predicates <= MOST_PREDICATES {
                self.added = with;
                chosen.extend(tree(func, root, &going, usize::MAX));
            }
        }
        found.iter().copied().filter(|inst| chosen.contains(inst)).collect()
    }

    /// The most registers that live anywhere in the loop.
    fn pressure(&self, func: &Function, live: &Liveness, this: Loop) -> Registers {
        let (mut most, mut set) = (Registers::default(), live.empty_set());
        for block in &self.loops[this].blocks {
            live.walk_back(func, *block, &mut set, |_, behind| {
                let mut here = Registers::default();
                for (reg, _) in behind.iter() {
                    match func[reg].file() {
                        RegFile::R => here.general += 1,
                        RegFile::P => here.predicates += 1,
                        _ => {}
                    }
                }
                most.general = most.general.max(here.general);
                most.predicates = most.predicates.max(here.predicates);
            });
        }
        most
    }
}

/// Whether something reads a result that does not go.
fn is_read_elsewhere(func: &Function, inst: InstId, going: &FxHashSet<InstId>) -> bool {
    let Some(lists) = func.def_use() else { return false };
    let mut elsewhere = false;
    func.for_each_def(inst, |write| elsewhere |= lists.users(write.reg).any(|user| !going.contains(&user)));
    elsewhere
}

/// The instruction and what it reads of those that go, `most` of them.
fn tree(func: &Function, root: InstId, going: &FxHashSet<InstId>, most: usize) -> FxHashSet<InstId> {
    let (mut tree, mut work) = (FxHashSet::default(), vec![root]);
    while let Some(inst) = work.pop().filter(|_| tree.len() < most) {
        if tree.insert(inst) {
            func.for_each_use(inst, |read| {
                work.extend(func.definition(read.reg).filter(|inst| going.contains(inst)));
            });
        }
    }
    tree
}

/// Take the instructions to the end of a block.
fn carry_out(func: &mut Function, insts: &[InstId], to: Block) {
    let homes = insts.iter().filter_map(|inst| func.def_use()?.home(*inst)).collect();
    take_out(func, insts.iter().copied().collect(), homes);
    place_at_end(func, to, insts);
}
