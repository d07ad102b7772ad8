//! Slot 63: short blocks under a branch become guarded instructions.
//!
//! `@p BRA join; body; join:` becomes the body under `@!p`, and a block that then has one predecessor
//! joins it. Results that only the body reads are computed without a guard where that does no harm: fewer
//! conditional writes. What a guarded instruction writes for the body alone gets an undefined value first,
//! so that it does not live before.

use super::branches::address_taken;
use crate::{Changed, Context, PhaseError};
use oriole_isa::{Effects, Opcode, RegFile, Role};
use oriole_ori::analysis::{Cfg, DefUse};
use oriole_ori::terminator::{Exit, exit_of, is_terminator};
use oriole_ori::{Block, EntitySet, Function, Guard, Inst, InstId, Operand, VReg};
use rustc_hash::FxHashSet;

/// Predicate what is short enough.
pub(crate) fn run(func: &mut Function, context: &Context) -> Result<Changed, PhaseError> {
    let cfg = Cfg::new(func);
    let mut pass = Pass {
        uses: DefUse::new(func),
        preds: vec![0; func.blocks.len()],
        taken: address_taken(func),
        removed: EntitySet::new(),
        limit: usize::try_from(context.knobs.get("predication-limit")).unwrap_or(0),
        block_limit: usize::try_from(context.knobs.get("predication-block")).unwrap_or(0),
    };
    for block in &func.layout {
        for succ in &func.blocks[*block].succs {
            pass.preds[succ.as_u32() as usize] += 1;
        }
    }
    let mut changed = false;
    for &block in cfg.rpo() {
        if pass.removed.contains(block) {
            continue;
        }
        changed |= pass.exit_at_once(func, &cfg, block);
        while let Some(shape) = pass.shape(func, block) {
            pass.flatten(func, block, &shape);
            pass.exit_at_once(func, &cfg, block);
            changed = true;
        }
    }
    func.layout.retain(|block| !pass.removed.contains(*block));
    Ok(Changed::when(changed))
}

/// A branch around one or two bodies that meet.
struct Shape {
    /// The bodies, each with the guard under which it runs.
    bodies: Vec<(Block, Guard)>,
    join: Block,
}

struct Pass {
    uses: DefUse,
    /// Edges into each block.
    preds: Vec<u32>,
    taken: EntitySet<Block>,
    removed: EntitySet<Block>,
    /// Most instructions of the bodies.
    limit: usize,
    /// Most instructions of a block that is to take in more.
    block_limit: usize,
}

impl Pass {
    /// A branch to a block that does nothing but exit becomes a guarded EXIT. (Not at the end of a loop, where
    /// the branch goes back.)
    fn exit_at_once(&mut self, func: &mut Function, cfg: &Cfg, block: Block) -> bool {
        let (&[taken, next], Some((guard, branch))) = (&func.blocks[block].succs[..], lone_branch(func, block)) else {
            return false;
        };
        let not = Guard { negated: !guard.negated, ..guard };
        let ways = [(taken, next, guard), (next, taken, not)];
        let leaves = |out: Block, stay: Block| {
            out != stay && only_exits(func, out) && cfg.rpo_number(stay) > cfg.rpo_number(block)
        };
        let Some((out, stay, guard)) = ways.into_iter().find(|(out, stay, _)| leaves(*out, *stay)) else {
            return false;
        };
        let mut exit = func.insts[func.block_insts(out)[0]].clone();
        exit.set_guard(Some(guard));
        exit.loc = func.insts[branch].loc;
        func.insts[branch] = exit;
        func.blocks[block].succs = [stay].into_iter().collect();
        let edges = &mut self.preds[out.as_u32() as usize];
        *edges -= 1;
        if *edges == 0 && !self.taken.contains(out) {
            func.blocks[out] = Default::default();
            self.removed.insert(out);
        }
        true
    }

    /// What the branch at the end of the block goes around, if it may be flattened.
    fn shape(&self, func: &Function, block: Block) -> Option<Shape> {
        let &[taken, next] = &func.blocks[block].succs[..] else { return None };
        let (guard, _) = lone_branch(func, block)?;
        if taken == next {
            return None;
        }
        let not = Guard { negated: !guard.negated, ..guard };
        let only = |body: Block| match func.blocks[body].succs[..] {
            [join] if join != body && join != block => Some(join),
            _ => None,
        };
        let shape = match (only(taken), only(next)) {
            (_, Some(join)) if join == taken => Shape { bodies: vec![(next, not)], join },
            (Some(join), _) if join == next => Shape { bodies: vec![(taken, guard)], join },
            (Some(join), Some(other)) if join == other => Shape { bodies: vec![(taken, guard), (next, not)], join },
            _ => return None,
        };
        let instructions: usize = shape.bodies.iter().map(|(body, _)| func.block_insts(*body).len()).sum();
        let room = func.block_insts(block).len() <= self.block_limit;
        let fits = room && instructions <= self.limit && !starts_with_phi(func, shape.join);
        let possible = shape.bodies.iter().all(|(body, guard)| self.may_guard(func, *body, guard.pred));
        (fits && possible).then_some(shape)
    }

    fn may_guard(&self, func: &Function, body: Block, pred: VReg) -> bool {
        let alone = self.preds[body.as_u32() as usize] == 1 && !self.taken.contains(body) && func.entry() != Some(body);
        alone && func.block_insts(body).iter().all(|inst| can_be_guarded(func, *inst, pred))
    }

    /// Put the bodies, guarded, into the block, and the join too if nobody else goes there.
    fn flatten(&mut self, func: &mut Function, block: Block, shape: &Shape) {
        func.blocks[block].insts.pop();
        for (body, guard) in &shape.bodies {
            let insts = std::mem::take(&mut func.blocks[*body]).insts;
            self.removed.insert(*body);
            self.guard_all(func, block, *body, insts, *guard);
        }
        func.blocks[block].succs = [shape.join].into_iter().collect();
        // One edge is left of those that the branch and the bodies had.
        let edges = &mut self.preds[shape.join.as_u32() as usize];
        *edges -= 1;
        let alone = *edges == 1 && !self.taken.contains(shape.join) && func.entry() != Some(shape.join);
        if alone && shape.join != block {
            let join = std::mem::take(&mut func.blocks[shape.join]);
            func.blocks[block].insts.extend(join.insts);
            for succ in &join.succs {
                func.rename_phi_pred(*succ, shape.join, block);
            }
            func.blocks[block].succs = join.succs;
            self.removed.insert(shape.join);
        }
    }

    fn guard_all(&self, func: &mut Function, block: Block, body: Block, insts: Vec<InstId>, guard: Guard) {
        let locals = self.locals(func, body, &insts);
        let mut conditional: EntitySet<VReg> = EntitySet::new();
        let mut written: EntitySet<VReg> = EntitySet::new();
        for inst in insts {
            if exit_of(&func.insts[inst]) == Exit::Branch {
                continue;
            }
            let marker = func.insts[inst].is_undef();
            let mut local = true;
            let mut reads_conditional = false;
            func.for_each_def(inst, |m| local &= locals.contains(m.reg));
            func.for_each_use(inst, |m| reads_conditional |= conditional.contains(m.reg));
            let harmless = func.insts[inst].opcode.info().effects == Effects::NONE && !may_fault(&func.insts[inst]);
            if !(marker || local && harmless && !reads_conditional) {
                func.for_each_def(inst, |m| {
                    if locals.contains(m.reg) {
                        conditional.insert(m.reg);
                    }
                });
                undefine_locals(func, block, inst, &locals, &mut written);
                func.insts[inst].set_guard(Some(guard));
            }
            func.for_each_def(inst, |m| {
                written.insert(m.reg);
            });
            func.blocks[block].insts.push(inst);
        }
    }

    /// Registers that the body alone mentions, and writes before it reads them.
    fn locals(&self, func: &Function, body: Block, insts: &[InstId]) -> EntitySet<VReg> {
        let mut written: FxHashSet<(VReg, u8)> = FxHashSet::default();
        let mut locals: EntitySet<VReg> = EntitySet::new();
        let mut outer: EntitySet<VReg> = EntitySet::new();
        for &inst in insts {
            func.for_each_use(inst, |m| {
                if m.range.clone().any(|k| !written.contains(&(m.reg, k))) {
                    outer.insert(m.reg);
                }
            });
            func.for_each_def(inst, |m| {
                written.extend(m.range.clone().map(|k| (m.reg, k)));
                if self.is_only_in(func, m.reg, body) {
                    locals.insert(m.reg);
                }
            });
        }
        outer.iter().for_each(|reg| {
            locals.remove(reg);
        });
        locals
    }

    /// Whether the register is written and read in the body alone.
    fn is_only_in(&self, func: &Function, reg: VReg, body: Block) -> bool {
        let mut mentions = self.uses.defs(reg).iter().chain(self.uses.uses(reg));
        !func.vregs[reg].is_fixed() && mentions.all(|inst| self.uses.block_of(*inst) == Some(body))
    }
}

/// Give the registers that a guarded instruction is the first to write for its body alone an undefined value. One
/// that the body wrote before keeps that value: the instruction may read it, or write another part.
fn undefine_locals(
    func: &mut Function,
    block: Block,
    inst: InstId,
    locals: &EntitySet<VReg>,
    written: &mut EntitySet<VReg>,
) {
    let mut fresh: Vec<VReg> = Vec::new();
    func.for_each_def(inst, |m| {
        if locals.contains(m.reg) && written.insert(m.reg) {
            fresh.push(m.reg);
        }
    });
    for reg in fresh {
        func.append(block, Inst::undef(Operand::reg(reg)));
    }
}

/// The guarded BRA that is the block's only terminator, and its guard.
fn lone_branch(func: &Function, block: Block) -> Option<(Guard, InstId)> {
    let mut from_end = func.block_insts(block).iter().rev();
    let last = *from_end.next()?;
    let data = &func.insts[last];
    let guard = data.guard().filter(|_| exit_of(data) == Exit::Branch)?;
    let lone = from_end.next().is_none_or(|inst| !is_terminator(&func.insts[*inst]));
    let plain = func.vregs[guard.pred].file() == RegFile::P && data.operands.first() == Some(&Operand::pt());
    (lone && plain).then_some((guard, last))
}

/// Whether the instruction must not run with an address that its own code did not compute: an indexed read of a
/// constant bank, which faults beyond the bank's end.
fn may_fault(inst: &Inst) -> bool {
    let base = inst.opcode.position(Role::Base).map(|at| inst.operands[at]);
    inst.opcode == Opcode::LDC && base.is_some_and(|base| base != Operand::rz())
}

/// Whether the block is one EXIT.
fn only_exits(func: &Function, block: Block) -> bool {
    match func.block_insts(block) {
        [inst] => {
            let data = &func.insts[*inst];
            data.opcode == Opcode::EXIT && data.guard().is_none() && func.blocks[block].succs.is_empty()
        }
        _ => false,
    }
}

fn starts_with_phi(func: &Function, block: Block) -> bool {
    func.block_insts(block).first().is_some_and(|inst| func.insts[*inst].is_phi())
}

/// Whether the instruction may run under a guard that it does not change itself.
fn can_be_guarded(func: &Function, inst: InstId, pred: VReg) -> bool {
    let data = &func.insts[inst];
    if exit_of(data) == Exit::Branch {
        return data.guard().is_none();
    }
    let effects = data.opcode.info().effects;
    let unsuitable = [Effects::CONVERGENT, Effects::BRANCH, Effects::SIDE_EFFECT];
    let mut changes_guard = false;
    func.for_each_def(inst, |m| changes_guard |= m.reg == pred);
    let plain = data.guard().is_none() && data.call.is_none() && !data.is_phi() && !data.opcode.info().guard_uniform;
    plain && !changes_guard && !unsuitable.iter().any(|effect| effects.contains(*effect))
}
