//! The `GeneralOptimize*` bundles: copy propagation, constant folding and peepholes in one walk.
//!
//! The walk goes over the blocks in reverse post-order with [`facts::Facts`]. At each instruction,
//! sources are replaced by what they are copies of, then rules rewrite the instruction from its
//! sources' definitions. What nobody reads any more is swept after the walk; walks repeat until
//! nothing changes.

mod commute;
mod copies;
mod facts;
mod fold;
mod identities;
mod table;

use super::dead_code;
use crate::{Changed, Context, PhaseError};
use facts::Facts;
use oriole_isa::{Arch, Mods, Opcode};
use oriole_ori::analysis::Cfg;
use oriole_ori::{BuildError, EntitySet, Function, Inst, InstFlags, InstId, Operand};
use smallvec::SmallVec;

/// Rewrites of one instruction before the walk goes on: each makes it simpler, so few are needed.
const MOST_REWRITES: usize = 8;

/// Walk until nothing changes, at most as often as the knob says.
pub(crate) fn run(func: &mut Function, context: &Context) -> Result<Changed, PhaseError> {
    let mut changed = Changed::No;
    for _ in 0..context.knobs.get("general-rounds") {
        let walked = walk(func, context)?;
        let swept = dead_code::sweep(func);
        changed = changed.or(walked).or(swept);
        if walked == Changed::No {
            break;
        }
    }
    Ok(changed)
}

/// What a rule puts in an instruction's place.
pub(super) type Rewrite = SmallVec<[Inst; 2]>;

/// A rule: gives what shall stand in the instruction's place, or `None` where it does not apply.
type Rule = fn(&mut Cx<'_>, &Inst) -> Result<Option<Rewrite>, BuildError>;

/// In the order in which they are tried.
const RULES: &[Rule] = &[fold::constants, identities::simplify, table::logic, table::predicates];

/// The walk's state, as rules see it.
struct Cx<'f> {
    func: &'f mut Function,
    facts: Facts,
    arch: Arch,
    /// The block's new instructions.
    out: Vec<InstId>,
    /// Instructions whose work an instruction further down has taken over.
    replaced: EntitySet<InstId>,
}

fn walk(func: &mut Function, context: &Context) -> Result<Changed, PhaseError> {
    let cfg = Cfg::new(func);
    let facts = Facts::new(func, &cfg);
    let mut cx = Cx { func, facts, arch: context.arch, out: Vec::new(), replaced: EntitySet::new() };
    let mut changed = false;
    for &block in cfg.rpo() {
        cx.facts.enter(block);
        for id in std::mem::take(&mut cx.func.blocks[block].insts) {
            changed |= cx.visit(id)?;
        }
        let replaced = std::mem::take(&mut cx.replaced);
        cx.out.retain(|id| !replaced.contains(*id));
        cx.func.blocks[block].insts = std::mem::take(&mut cx.out);
    }
    Ok(Changed::when(changed))
}

impl Cx<'_> {
    /// Simplify one instruction and append what it becomes.
    fn visit(&mut self, id: InstId) -> Result<bool, BuildError> {
        let data = &self.func.insts[id];
        if data.flags.intersects(InstFlags::PHI | InstFlags::UNDEF) {
            self.append(id);
            return Ok(false);
        }
        let mut inst = data.clone();
        let mut changed = self.propagate(&mut inst);
        let propagated = inst.clone();
        self.facts.count(self.func, id, false);
        for _ in 0..MOST_REWRITES {
            let Some(mut rewrite) = self.rewrite(&inst)? else { break };
            changed = true;
            for new in &mut rewrite {
                new.loc = inst.loc;
                new.set_guard(inst.guard());
            }
            if rewrite.len() != 1 {
                return Ok(self.replace(rewrite));
            }
            inst = rewrite.remove(0);
            self.propagate(&mut inst);
        }
        if changed {
            self.func.insts[id] = self.legal_form(inst).unwrap_or(propagated);
        }
        self.facts.count(self.func, id, true);
        self.append(id);
        Ok(changed)
    }

    /// The first rule's rewrite. What is volatile or has a call site stays as it is.
    fn rewrite(&mut self, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
        if inst.flags.contains(InstFlags::VOLATILE) || inst.call.is_some() {
            return Ok(None);
        }
        for rule in RULES {
            if let Some(rewrite) = rule(self, inst)? {
                return Ok(Some(rewrite));
            }
        }
        Ok(None)
    }

    fn replace(&mut self, rewrite: Rewrite) -> bool {
        for inst in rewrite {
            let id = self.func.add_inst(inst);
            self.facts.count(self.func, id, true);
            self.append(id);
        }
        true
    }

    fn append(&mut self, id: InstId) {
        self.facts.pass(self.func, id);
        self.out.push(id);
    }

    /// The instruction that gave a source of one component its present value.
    fn def_of(&self, operand: Operand) -> Option<&Inst> {
        self.facts.def_of(self.func, operand).map(|id| &self.func.insts[id])
    }

    /// Whether the target has a form for it.
    fn is_legal(&self, inst: &Inst) -> bool {
        self.func.is_legal(inst, self.arch)
    }
}

/// The value of an operand that is a constant of 32 bits.
fn constant(operand: Operand) -> Option<u32> {
    if operand.has_flags() {
        return None;
    }
    if operand.is_zero() { Some(0) } else { operand.as_imm() }
}

/// A constant as an operand: zero is the zero register.
fn word(bits: u32) -> Operand {
    if bits == 0 { Operand::rz() } else { Operand::imm(bits) }
}

/// `d = value`
fn mov(d: Operand, value: Operand) -> Inst {
    let mut inst = Inst::neutral(Opcode::MOV, Mods::new());
    inst.operands[0] = d;
    inst.operands[1] = value;
    inst
}

/// `pd = value`, for predicates.
fn mov_pred(pd: Operand, value: Operand) -> Inst {
    let mut inst = Inst::neutral(Opcode::PLOP3, Mods::new());
    let lut = Operand::imm(u32::from(table::A));
    let operands = [pd, Operand::pt(), value, Operand::pt(), Operand::pt(), lut];
    inst.operands[..operands.len()].copy_from_slice(&operands);
    inst
}
