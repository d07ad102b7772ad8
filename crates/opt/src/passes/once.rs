//! Slot 42, on SSA form and behind slot 29: what acts once for a warp, once.
//!
//! Instructions of the uniform datapath act once for the threads that execute them together. In PTX each thread has operands and an effect
//! of its own, so lowering lets the active threads take turns: a loop that elects one after the other. And programs elect a thread for what
//! one is to do. Neither election is needed
//!
//! * where at most one thread is anyway (`alone.rs`): it is elected;
//! * around turns that do the same for all and are idempotent (the ISA text says what is): one does it for all;
//! * around elected code each of whose instructions acts once for the warp, only computes, or is guarded by the election: the elected
//!   thread takes the others along, and nobody parts.
//!
//! ptxas does the same (13.0.88, measured for each operation on sm_90a and sm_100a): tensor and bulk copies from shared to global memory,
//! prefetches, `mbarrier.init` by a whole warp are issued once; reductions, copies that count at an mbarrier, tcgen05 and
//! `clusterlaunchcontrol` take turns; and none of them is elected twice.

use super::alone::{Alone, Wrong};
use super::general::source;
use super::nested::decide;
use super::predicate::lone_branch;
use crate::{Changed, Context, PhaseError};
use oriole_isa::{Arch, CopyDst, Effects, Field, Opcode, RegFile, Role};
use oriole_ori::analysis::{Analyses, Cfg, Uniformity};
use oriole_ori::layout::remove_unreachable;
use oriole_ori::terminator::{Exit, exit_of};
use oriole_ori::{Block, EntitySet, Function, Guard, Inst, InstFlags, InstId, Operand, VReg};

/// What is counted.
pub(crate) const RULES: &[&str] = &["elected already", "turns that do the same", "elections for the warp"];
const ALREADY: usize = 0;
const SAME: usize = 1;
const FOR_THE_WARP: usize = 2;

/// Blocks that elected code may have for the others to be taken along.
const MOST_BLOCKS: usize = 64;

/// First the elections that decide nothing, then the code that is left under others.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    if !func.iter_insts().any(|(_, inst)| func[inst].opcode == Opcode::ELECT) {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let uniformity = analyses.uniformity(func, context.arch);
    let alone = Alone::new(func, analyses, uniformity.clone(), context.arch, Wrong::Broken);
    let mut known = Vec::new();
    for election in elections(func) {
        let rule = match () {
            () if alone.is_at(func, election.block) => ALREADY,
            () if turns_do_the_same(func, context.arch, &uniformity, &election) => SAME,
            () => continue,
        };
        known.push((election, rule));
    }
    for (election, rule) in known {
        if context.tally.is_open() {
            context.tally.count(rule);
            is_elected(func, &election);
        }
    }
    remove_unreachable(func, &Cfg::new(func));
    let mut cfg = Cfg::new(func);
    for election in elections(func) {
        // Code under one election may stand in several pieces, each behind the one before.
        for block in cfg.rpo().to_vec() {
            let Some(region) = elected_code(func, context.arch, (&cfg, &uniformity), &election, block) else {
                continue;
            };
            if context.tally.is_open() {
                context.tally.count(FOR_THE_WARP);
                take_along(func, &election, &region);
                cfg = Cfg::new(func);
            }
        }
        sweep(func, &election);
    }
    let changed = context.tally.last().is_some();
    if changed {
        remove_unreachable(func, &Cfg::new(func));
    }
    Ok(Changed::when(changed))
}

/// An `ELECT` of which the predicate alone is read.
struct Election {
    block: Block,
    inst: InstId,
    elected: VReg,
}

fn elections(func: &Function) -> Vec<Election> {
    let mut found = Vec::new();
    for (block, inst) in func.iter_insts() {
        let elect = &func[inst];
        if elect.opcode != Opcode::ELECT || elect.guard().is_some() || elect.flags.contains(InstFlags::BY_MASK) {
            continue;
        }
        let leader = source(elect, Role::D).and_then(Operand::as_whole_reg);
        let unread = leader.is_none_or(|leader| func.def_use().is_some_and(|uses| uses.count(leader) == 0));
        let elected = source(elect, Role::PD).and_then(Operand::as_reg).filter(|_| unread);
        found.extend(elected.map(|elected| Election { block, inst, elected }));
    }
    found
}

/// Where a branch on the election at the end of a block leads: the elected thread, the others.
fn ways(func: &Function, block: Block, elected: VReg) -> Option<(Block, Block)> {
    let (guard, _) = lone_branch(func, block).filter(|(guard, _)| guard.pred == elected)?;
    match *func.succs(block) {
        [taken, next] if taken != next => Some(if guard.negated { (next, taken) } else { (taken, next) }),
        _ => None,
    }
}

/// Whoever asks whether he is elected is.
fn is_elected(func: &mut Function, election: &Election) {
    let mut known = Inst::copy(RegFile::P, Operand::reg(election.elected), Operand::pt());
    known.loc = func[election.inst].loc;
    func.edit().replace(election.inst, known);
    for block in func.layout().to_vec() {
        if let Some((inside, _)) = ways(func, block, election.elected) {
            decide(func, block, inside);
        }
    }
}

/// The election is that of a loop in which each thread takes its turn, all turns have the same operands, and the second one changes
/// nothing.
fn turns_do_the_same(func: &Function, arch: Arch, uniformity: &Uniformity, election: &Election) -> bool {
    let Some((body, latch)) = ways(func, election.block, election.elected) else { return false };
    let again = ways(func, latch, election.elected).is_some_and(|(_, again)| again == election.block);
    let mut acts = false;
    again
        && *func.succs(body) == [latch]
        && func.block_insts(body).iter().all(|inst| {
            let act = acts_for_the_warp(func, uniformity, *inst);
            acts |= act;
            only_computes(func, arch, *inst) && !takes_one_of_many(func, uniformity, *inst)
                || act && is_idempotent(&func[*inst])
                || exit_of(&func[*inst]) == Exit::Branch && func[*inst].guard().is_none()
        })
        && acts
}

/// Done again with the same operands it changes nothing: what counts at an mbarrier does.
fn is_idempotent(inst: &Inst) -> bool {
    let counts = inst.get(Field::COUNTED) || inst.opcode == Opcode::UBLKCP && inst.get(Field::COPY_DST) == CopyDst::S;
    let reads_before = inst.opcode == Opcode::SYNCSU && source(inst, Role::D).and_then(Operand::as_reg).is_some();
    inst.opcode.info().effects.contains(Effects::IDEMPOTENT) && !counts && !reads_before
}

/// It acts once for the threads that execute it together, with operands on which they agree.
fn acts_for_the_warp(func: &Function, uniformity: &Uniformity, inst: InstId) -> bool {
    let data = &func[inst];
    data.is_machine()
        && data.opcode.info().guard_uniform
        && data.guard().is_none()
        && !data.uses().any(|(_, operand)| uniformity.is_varying_operand(operand))
}

/// It always happens, and has no effect but its results.
fn only_computes(func: &Function, arch: Arch, inst: InstId) -> bool {
    let data = &func[inst];
    let brings_over = data.opcode == Opcode::R2UR && data.guard().is_none();
    !data.is_machine() || brings_over || data.depends_on_operands_alone(arch)
}

/// It takes what one of the threads has, and they do not agree on it.
fn takes_one_of_many(func: &Function, uniformity: &Uniformity, inst: InstId) -> bool {
    let data = &func[inst];
    data.opcode == Opcode::R2UR && data.uses().any(|(_, operand)| uniformity.is_varying_operand(operand))
}

/// The threads that come to the end of a block are those among which one was elected: on no way in between do some of them go another
/// way, or call.
fn come_from(func: &Function, (cfg, uniformity): (&Cfg, &Uniformity), election: &Election, block: Block) -> bool {
    let leaves = |inst: &InstId| {
        func[*inst].opcode.info().effects.intersects(Effects::BRANCH) && exit_of(&func[*inst]) != Exit::Branch
    };
    let (mut seen, mut work) = (EntitySet::new(), vec![block]);
    seen.insert(block);
    while let Some(at) = work.pop() {
        let parts = at != block && func.succs(at).len() > 1 && uniformity.is_divergent(at);
        let insts = func.block_insts(at);
        let is_first = at == election.block;
        let from = if is_first { insts.iter().position(|inst| *inst == election.inst).unwrap_or(0) } else { 0 };
        if parts || insts[from..].iter().any(leaves) {
            return false;
        }
        if !is_first {
            work.extend(cfg.preds(at).iter().filter(|pred| seen.insert(**pred)));
        }
    }
    seen.contains(election.block)
}

/// The code that the elected thread executes before it meets the others, and what needs the election as its guard.
struct Region {
    from: Block,
    first: Block,
    guarded: Vec<InstId>,
}

/// The code under an election, if the others may be taken along.
fn elected_code(
    func: &Function,
    arch: Arch,
    (cfg, uniformity): (&Cfg, &Uniformity),
    election: &Election,
    block: Block,
) -> Option<Region> {
    let (first, join) = ways(func, block, election.elected)?;
    if !func.phis(join).is_empty() || !come_from(func, (cfg, uniformity), election, block) {
        return None;
    }
    let blocks = region(func, cfg, block, first, join)?;
    let (mut guarded, mut acts) = (Vec::new(), false);
    for &within in &blocks {
        for &inst in func.block_insts(within) {
            let is_branch = exit_of(&func[inst]) == Exit::Branch;
            if is_branch && !uniformity.is_divergent(within) || only_computes(func, arch, inst) {
                if takes_one_of_many(func, uniformity, inst) {
                    return None;
                }
            } else if acts_for_the_warp(func, uniformity, inst) {
                acts = true;
            } else if can_be_guarded(func, inst) {
                guarded.push(inst);
            } else if !only_orders(&func[inst]) {
                return None;
            }
        }
    }
    (acts || !guarded.is_empty()).then_some(Region { from: block, first, guarded })
}

/// The blocks from `first` on up to `join`, if nothing else leads into them and they lead nowhere else.
fn region(func: &Function, cfg: &Cfg, from: Block, first: Block, join: Block) -> Option<Vec<Block>> {
    let (mut blocks, mut seen, mut at) = (vec![first], EntitySet::new(), 0);
    seen.insert(first);
    while let Some(&block) = blocks.get(at) {
        at += 1;
        if block == from || func.succs(block).is_empty() || blocks.len() > MOST_BLOCKS {
            return None;
        }
        for &next in func.succs(block) {
            if next != join && seen.insert(next) {
                blocks.push(next);
            }
        }
    }
    let closed =
        |block: &Block| cfg.preds(*block).iter().all(|pred| seen.contains(*pred) || *block == first && *pred == from);
    blocks.iter().all(closed).then_some(blocks)
}

/// An effect of the thread, without results that somebody reads.
fn can_be_guarded(func: &Function, inst: InstId) -> bool {
    let data = &func[inst];
    let unsuitable = Effects::CONVERGENT.with(Effects::BRANCH);
    let uses = |reg: VReg| func.def_use().map_or(1, |uses| uses.count(reg));
    let unread = |operand: Operand| {
        let is_read = func.named(operand).into_iter().any(|reg| uses(reg) > 0);
        !operand.names_registers() || nothing(func, operand).is_some() && !is_read
    };
    data.is_machine()
        && data.guard().is_none()
        && data.call.is_none()
        && !data.opcode.info().guard_uniform
        && data.opcode.info().effects.intersects(Effects::WRITES_MEMORY)
        && !data.opcode.info().effects.intersects(unsuitable)
        && data.defs().all(|(_, operand)| unread(operand))
}

/// Where a result goes that nobody reads, in the place of a register.
fn nothing(func: &Function, operand: Operand) -> Option<Operand> {
    match func[func.first_named(operand)?].file() {
        RegFile::R => Some(Operand::rz()),
        RegFile::P => Some(Operand::pt()),
        _ => None,
    }
}

/// It orders what the thread has done before it: the others have nothing to order.
fn only_orders(inst: &Inst) -> bool {
    let orders =
        matches!(inst.opcode, Opcode::FENCE | Opcode::MEMBAR | Opcode::ERRBAR | Opcode::CGAERRBAR | Opcode::DEPBAR);
    inst.is_machine() && orders && inst.guard().is_none()
}

/// All threads go where the elected one goes, who alone does what has a guard there.
fn take_along(func: &mut Function, election: &Election, region: &Region) {
    decide(func, region.from, region.first);
    for &inst in &region.guarded {
        let unread = func[inst].defs().filter_map(|(at, operand)| Some((at, nothing(func, operand)?)));
        let unread: Vec<(usize, Operand)> = unread.collect();
        func.edit().update(inst, |inst| {
            for (at, nothing) in unread {
                inst.operands[at] = nothing;
            }
            inst.set_guard(Some(Guard { pred: election.elected, negated: false }));
        });
    }
}

/// Take an election out that nobody asks for any more.
fn sweep(func: &mut Function, election: &Election) {
    if func.def_use().is_some_and(|uses| uses.count(election.elected) == 0) {
        let inst = election.inst;
        func.edit().retain_insts(election.block, |_, other| other != inst);
    }
}
