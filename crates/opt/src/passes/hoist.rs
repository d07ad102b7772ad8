//! Slot 56, on SSA form: what both ways of a branch compute is computed before it.
//!
//! Where each way leads to a block of its own, equal instructions of the two go to the end of the block that branches, if what they
//! read is there, and they may be executed there (slot 27, `ori::analysis::Speculation`). A load goes if in both blocks nothing before it
//! writes such memory, waits, or ends the thread: then it happens on all ways and gives the same. One of memory that nobody writes gives the
//! same in any case, and goes if each thread may load it at the branch. What both compute is computed once where threads take both ways, and both
//! blocks are shorter for slot 63.

use super::dead_code::SWEPT;
use super::general::{equal, is_stable, key, may_be_shared};
use super::predicate::lone_branch;
use super::sink::{place_at_end, take_out};
use crate::{Changed, Context, PhaseError};
use oriole_isa::Arch;
use oriole_ori::analysis::{Analyses, Cfg, DomTree, Passed, Speculation, is_load};
use oriole_ori::layout::address_taken;
use oriole_ori::{Block, EntitySet, Function, InstFlags, InstId, VReg};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::rc::Rc;

/// What is counted.
pub(crate) const RULES: &[&str] = &["computations of both ways", "loads of both ways"];
const COMPUTATIONS: usize = 0;
const LOADS: usize = 1;

/// So many instructions of each way are looked at: results of what stands farther down would live long.
const WINDOW: usize = 32;

/// Hoist what can be, from the innermost branches outward.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let cfg = analyses.cfg(func);
    let taken = address_taken(func);
    let branches: Vec<(Block, [Block; 2])> =
        cfg.rpo().iter().rev().filter_map(|block| Some((*block, ways(func, &cfg, &taken, *block)?))).collect();
    if branches.is_empty() {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let loads = Loads { arch: context.arch, dominators: analyses.dominators(func), known: OnceCell::new() };
    let is_swept = analyses.is_settled(SWEPT, func);
    let mut changed = false;
    for (block, ways) in branches {
        let pairs = Pairs::of(func, context, &loads, block, ways);
        if !pairs.found.is_empty() {
            pairs.hoist(func, block, ways);
            changed = true;
        }
    }
    if is_swept {
        // What is left is read by those who read either.
        analyses.settle(SWEPT, func);
    }
    Ok(Changed::when(changed))
}

/// The two blocks to which the end of `block` leads, if nobody else leads there.
fn ways(func: &Function, cfg: &Cfg, taken: &EntitySet<Block>, block: Block) -> Option<[Block; 2]> {
    let &[first, second] = func.succs(block) else { return None };
    let alone = |way: Block| cfg.single_pred(way) == Some(block) && !taken.contains(way) && func.phis(way).is_empty();
    (first != second && alone(first) && alone(second) && lone_branch(func, block).is_some()).then_some([first, second])
}

/// Equal instructions of two ways.
#[derive(Default)]
struct Pairs {
    /// Those of the first way, each with that of the second.
    found: FxHashMap<InstId, InstId>,
    /// Values of the second way that are those of the first.
    same: FxHashMap<VReg, VReg>,
}

impl Pairs {
    fn of(func: &Function, context: &Context, loads: &Loads, block: Block, [first, second]: [Block; 2]) -> Pairs {
        let mut pairs = Pairs::default();
        let mut offers: FxHashMap<u64, InstId> = FxHashMap::default();
        for inst in candidates(func, loads, (block, first)) {
            offers.entry(key(func, &func[inst], |value| value)).or_insert(inst);
        }
        if offers.is_empty() {
            return pairs;
        }
        for inst in candidates(func, loads, (block, second)) {
            let key = key(func, &func[inst], |value| pairs.first_of(value));
            let Some(&other) = offers.get(&key).filter(|_| context.tally.is_open()) else { continue };
            if !pairs.found.contains_key(&other) && pairs.are_equal(func, other, inst, first) {
                let harmless = Speculation::is_harmless(func, inst, context.arch);
                context.tally.count(if harmless { COMPUTATIONS } else { LOADS });
                for ((_, of_first), (_, of_second)) in func[other].defs().zip(func[inst].defs()) {
                    pairs.same.extend(func.named(of_second).into_iter().zip(func.named(of_first)));
                }
                pairs.found.insert(other, inst);
            }
        }
        pairs
    }

    fn first_of(&self, value: VReg) -> VReg {
        self.same.get(&value).copied().unwrap_or(value)
    }

    /// Whether the instruction of the first way gives all that that of the second gives, and can before both.
    fn are_equal(&self, func: &Function, of_first: InstId, of_second: InstId, first: Block) -> bool {
        let (a, b) = (&func[of_first], &func[of_second]);
        let mut there = a.uses().all(|(_, operand)| is_stable(func, operand));
        there &= is_there_before(func, of_first, first, |inst| self.found.contains_key(&inst));
        let results = a.defs().zip(b.defs()).all(|((_, a), (_, b))| func.named(a).len() == func.named(b).len());
        there && results && a.flags == b.flags && equal(func, a, b, |value| self.first_of(value))
    }

    /// Put those of the first way before the branch, and their results in place of the others'.
    fn hoist(self, func: &mut Function, block: Block, [first, second]: [Block; 2]) {
        let insts = func.block_insts(first).iter().copied();
        let moved: Vec<InstId> = insts.filter(|inst| self.found.contains_key(inst)).collect();
        go_up(func, &moved, first, block);
        let gone: FxHashSet<InstId> = self.found.values().copied().collect();
        func.edit().retain_insts(second, |_, inst| !gone.contains(&inst));
        for (of_second, of_first) in &self.same {
            let readers: Vec<InstId> = func.def_use().map_or(Vec::new(), |lists| lists.users(*of_second).collect());
            for reader in readers {
                let rename = |reg, _| if reg == *of_second { *of_first } else { reg };
                func.edit().rename_regs(reader, rename);
            }
        }
    }
}

/// Whether all that an instruction of `block` reads is there before the block, or comes there with what `goes` there.
pub(super) fn is_there_before(func: &Function, inst: InstId, block: Block, goes: impl Fn(InstId) -> bool) -> bool {
    let mut there = true;
    func.for_each_use(inst, |read| {
        let definition = func.definition(read.reg);
        let home = definition.and_then(|inst| func.def_use()?.home(inst));
        let comes = definition.is_some_and(&goes) || home.is_some_and(|home| home != block);
        there &= func.is_value(read.reg) && comes;
    });
    there
}

/// Instructions of a block, in its order, go to the end of another, ahead of what leaves it.
pub(super) fn go_up(func: &mut Function, insts: &[InstId], from: Block, to: Block) {
    take_out(func, insts.iter().copied().collect(), vec![from]);
    place_at_end(func, to, insts);
}

/// Slot 27's answers, from when they are first asked for: few loads need them. Loads that go up meanwhile go to where they
/// dominate as much as before.
struct Loads {
    arch: Arch,
    dominators: Rc<DomTree>,
    known: OnceCell<Speculation>,
}

impl Loads {
    fn may_execute(&self, func: &Function, inst: InstId, block: Block) -> bool {
        let known = self.known.get_or_init(|| Speculation::new(func, self.arch, self.dominators.clone()));
        known.may_execute(func, inst, block)
    }
}

/// What may go up from the top of a way.
fn candidates<'a>(
    func: &'a Function,
    loads: &'a Loads,
    (block, way): (Block, Block),
) -> impl Iterator<Item = InstId> + 'a {
    let mut passed = Passed::default();
    func.block_insts(way).iter().take(WINDOW).copied().filter(move |&inst| {
        let data = &func[inst];
        let harmless = may_be_shared(data.opcode) && Speculation::is_harmless(func, inst, loads.arch);
        let is_same = |inst| data.flags.contains(InstFlags::INVARIANT) && loads.may_execute(func, inst, block);
        let goes = harmless || is_load(func, inst) && (passed.lets_pass(data) || is_same(inst));
        passed.add(data);
        goes
    })
}
