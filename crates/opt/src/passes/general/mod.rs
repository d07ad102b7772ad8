//! The `GeneralOptimize*` bundles: copy propagation, constant folding and peepholes in one walk.
//!
//! On SSA form: the walk goes over the blocks in reverse post-order with [`defs::Defs`]. At each instruction,
//! sources are replaced by what they are copies of, then rules rewrite the instruction from its
//! sources' definitions. What nobody reads any more is swept after the walk; walks repeat until
//! nothing changes.

mod address;
mod bytes;
mod common;
mod commute;
mod contract;
mod copies;
mod defs;
mod fold;
mod identities;
mod merge;
mod narrow;
mod phis;
mod sums;
mod table;
mod wide;

use super::dead_code;
use crate::{Changed, Context, PhaseError};
use defs::{Defs, is_stable};
use oriole_isa::{Arch, Field, Opcode, RegFile};
use oriole_ori::analysis::Analyses;
use oriole_ori::terminator::is_terminator;
use oriole_ori::{BuildError, EntitySet, Function, Inst, InstFlags, InstId, Operand, RegType, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Rewrites of one instruction before the walk goes on: each makes it simpler, so few are needed.
const MOST_REWRITES: usize = 8;

/// Walk until nothing changes, at most as often as the knob says.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    repeat(func, context, analyses, RULES)
}

/// Slot 49: equal expressions once.
pub(crate) fn common(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    repeat(func, context, analyses, &[common::expression])
}

fn repeat(
    func: &mut Function,
    context: &Context,
    analyses: &mut Analyses,
    rules: &[Rule],
) -> Result<Changed, PhaseError> {
    let mut changed = Changed::No;
    for _ in 0..context.knobs.get("general-rounds") {
        let walked = walk(func, context, analyses, rules)?;
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
const RULES: &[Rule] = &[
    fold::constants,
    identities::simplify,
    table::logic,
    table::predicates,
    narrow::products,
    address::offsets,
    wide::shift_to_product,
    wide::product_and_sum,
    wide::constant_addend,
    contract::product_and_sum,
    sums::constants,
    sums::product_and_sum,
    sums::shift_and_sum,
    sums::three_summands,
    merge::logic,
    merge::comparison,
    merge::bit_test,
    bytes::permutation,
    narrow::constant_pair,
];

/// The walk's state, as rules see it.
struct Cx<'f> {
    func: &'f mut Function,
    defs: Defs,
    arch: Arch,
    /// Bytes: the largest address offset that is folded.
    offset_limit: i64,
    /// Products and sums that PTX leaves open become one instruction.
    contracts: bool,
    /// The block's new instructions.
    out: Vec<InstId>,
    /// The instruction at hand.
    current: InstId,
    /// Instructions that computed something, for slot 49.
    common: FxHashMap<common::Key, InstId>,
    /// Instructions whose work an instruction further down has taken over.
    replaced: EntitySet<InstId>,
}

fn walk(
    func: &mut Function,
    context: &Context,
    analyses: &mut Analyses,
    rules: &[Rule],
) -> Result<Changed, PhaseError> {
    let cfg = analyses.cfg(func);
    let defs = Defs::new(func, analyses);
    let offset_limit = context.knobs.get("fold-offset-limit");
    let mut cx = Cx {
        func,
        defs,
        arch: context.arch,
        offset_limit,
        contracts: context.knobs.get("contract") != 0,
        out: Vec::new(),
        current: InstId::from_u32(0),
        common: FxHashMap::default(),
        replaced: EntitySet::new(),
    };
    let mut changed = false;
    for &block in cfg.rpo() {
        cx.defs.enter(block);
        changed |= cx.phis(block);
        for id in std::mem::take(&mut cx.func.blocks[block].insts) {
            changed |= cx.visit(id, rules)?;
        }
        let replaced = std::mem::take(&mut cx.replaced);
        cx.out.retain(|id| !replaced.contains(*id));
        cx.func.blocks[block].insts = std::mem::take(&mut cx.out);
    }
    Ok(Changed::when(changed))
}

impl Cx<'_> {
    /// Simplify one instruction and append what it becomes.
    fn visit(&mut self, id: InstId, rules: &[Rule]) -> Result<bool, BuildError> {
        self.current = id;
        let data = &self.func.insts[id];
        if !data.is_machine() {
            self.out.push(id);
            return Ok(false);
        }
        let mut inst = data.clone();
        let mut changed = self.propagate(&mut inst);
        let propagated = inst.clone();
        self.defs.count(self.func, id, false);
        for _ in 0..MOST_REWRITES {
            let Some(mut rewrite) = self.rewrite(&inst, rules)? else { break };
            for new in &mut rewrite {
                new.loc = inst.loc;
                new.set_guard(inst.guard());
            }
            if !self.carry_olds(&inst, &mut rewrite) {
                break;
            }
            changed = true;
            if rewrite.len() != 1 {
                return Ok(self.replace(rewrite));
            }
            let mut new = rewrite.remove(0);
            new.flags = inst.flags;
            inst = new;
            self.propagate(&mut inst);
        }
        if changed {
            self.func.insts[id] = self.legal_form(inst).unwrap_or(propagated);
        }
        self.defs.count(self.func, id, true);
        self.append(id);
        Ok(changed)
    }

    /// The first rule's rewrite. What has a call site stays as it is.
    fn rewrite(&mut self, inst: &Inst, rules: &[Rule]) -> Result<Option<Rewrite>, BuildError> {
        if inst.call.is_some() {
            return Ok(None);
        }
        // Of what is volatile, only the address may be written in another way.
        let rules = if inst.flags.contains(InstFlags::VOLATILE) { &[address::offsets as Rule] } else { rules };
        for rule in rules {
            if let Some(rewrite) = rule(self, inst)? {
                return Ok(Some(rewrite));
            }
        }
        Ok(None)
    }

    /// Give the instructions that stand for a partial write what stays where it does not happen. `false` where that cannot
    /// be said.
    fn carry_olds(&mut self, inst: &Inst, rewrite: &mut Rewrite) -> bool {
        rewrite.iter_mut().for_each(Inst::drop_olds);
        if inst.olds().is_empty() {
            return true;
        }
        // What each value that is written was.
        let mut known: SmallVec<[(VReg, Option<VReg>); 4]> = SmallVec::new();
        for ((_, new), old) in inst.defs().zip(inst.olds()) {
            let olds = self.func.named(*old);
            known.extend(self.func.named(new).into_iter().enumerate().map(|(k, new)| (new, olds.get(k).copied())));
        }
        for new in rewrite {
            let defs: SmallVec<[Operand; 4]> = new.defs().map(|(_, operand)| operand).collect();
            for def in defs {
                let values = self.func.named(def);
                let of = |value: &VReg| known.iter().find(|(new, _)| new == value).map(|(_, old)| *old);
                let Some(olds) = values.iter().map(of).collect::<Option<SmallVec<[Option<VReg>; 4]>>>() else {
                    return false;
                };
                let defined: SmallVec<[VReg; 4]> = olds.iter().copied().flatten().collect();
                let old = match defined.len() {
                    0 if values.is_empty() => Operand::NONE,
                    0 => Operand::undef(),
                    count if count == values.len() => self.func.tuple(&defined),
                    _ => return false,
                };
                new.operands.push(old);
            }
        }
        true
    }

    fn replace(&mut self, rewrite: Rewrite) -> bool {
        for inst in rewrite {
            let id = self.func.add_inst(inst);
            self.defs.count(self.func, id, true);
            self.append(id);
        }
        true
    }

    fn append(&mut self, id: InstId) {
        self.defs.pass(self.func, id);
        self.out.push(id);
    }

    /// The instruction that gives a source of one value.
    fn def_of(&self, operand: Operand) -> Option<&Inst> {
        self.defs.def_of(self.func, operand).map(|id| &self.func.insts[id])
    }

    /// The same for an instruction of a kind, if nobody else reads its result and no flags are on it. (The
    /// instruction at hand is not counted.)
    fn only_use(&self, operand: Operand, opcode: Opcode) -> Option<&Inst> {
        let single = self.defs.reads(operand.as_reg()?) == 0 && !operand.has_flags();
        self.def_of(operand).filter(|inst| single && inst.opcode == opcode)
    }

    /// Whether an operand of an earlier instruction means the same here.
    fn is_stable(&self, operand: Operand) -> bool {
        is_stable(self.func, operand)
    }

    /// The two values of a 64-bit operand.
    fn pair(&self, operand: Operand) -> Option<[VReg; 2]> {
        <[VReg; 2]>::try_from(self.func.tuple_values(operand.as_tuple()?)).ok()
    }

    /// A register with a constant, made here, or before the loops that are here, unless there is one already.
    fn constant_register(&mut self, bits: u32) -> Result<Operand, BuildError> {
        if let Some(reg) = self.defs.constant(bits) {
            return Ok(Operand::reg(reg));
        }
        let reg = self.func.new_vreg(RegType::R)?;
        let id = self.func.add_inst(mov(Operand::reg(reg), Operand::imm(bits)));
        let here = self.defs.block();
        match self.defs.outside_of_loops() {
            Some(block) if Some(block) != here => {
                self.defs.pass_in(self.func, id, block);
                let place = self.func.blocks[block].insts.iter().position(|&at| is_terminator(&self.func.insts[at]));
                let insts = &mut self.func.blocks[block].insts;
                insts.insert(place.unwrap_or(insts.len()), id);
                self.defs.set_constant(bits, reg, block);
            }
            home => {
                self.append(id);
                if let Some(block) = home.or(here) {
                    self.defs.set_constant(bits, reg, block);
                }
            }
        }
        Ok(Operand::reg(reg))
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

/// Which part of the product an IMAD takes.
fn mul_field(inst: &Inst) -> u8 {
    inst.get(Field::Mul)
}

/// A constant as an operand: zero is the zero register.
fn word(bits: u32) -> Operand {
    if bits == 0 { Operand::rz() } else { Operand::imm(bits) }
}

/// `d = value`
fn mov(d: Operand, value: Operand) -> Inst {
    Inst::copy(RegFile::R, d, value)
}

/// `pd = value`, for predicates.
fn mov_pred(pd: Operand, value: Operand) -> Inst {
    Inst::copy(RegFile::P, pd, value)
}
