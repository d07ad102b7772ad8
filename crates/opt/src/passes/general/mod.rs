//! The `GeneralOptimize*` bundles: copy propagation, constant folding and peepholes in one walk.
//!
//! On SSA form: the walk goes over the blocks in reverse post-order with [`defs::Defs`]. At each instruction,
//! sources are replaced by what they are copies of, then rules rewrite the instruction from its
//! sources' definitions. What nobody reads any more is swept after the walk; walks repeat until
//! nothing changes, and look again only at what stands near a change.

mod address;
mod bits;
mod both_words;
mod bounds;
mod bytes;
mod choices;
mod common;
pub(crate) mod commute;
mod contract;
mod conversions;
mod copies;
mod defs;
mod divisions;
mod extremes;
mod fold;
mod halves;
mod identities;
mod merge;
mod narrow;
mod phis;
mod rules;
mod signs;
mod steps;
mod sums;
mod table;
mod truth;
mod warpgroup;
mod wide;

use super::dead_code::{self, SWEPT};
use crate::{Changed, Context, PhaseError};
pub(crate) use address::is_scaled;
pub(crate) use bounds::conjunction;
pub(crate) use bytes::narrow;
pub(crate) use common::{equal, key, may_be_shared};
use defs::{Defs, reads_of};
pub(crate) use defs::{is_full_definition, is_stable};
pub(crate) use merge::opposite_cmp;
use oriole_isa::{Arch, Field, Mods, Mul, Opcode, RegFile, Role, ShiftDir, ShiftType};
use oriole_ori::analysis::Analyses;
use oriole_ori::terminator::is_terminator;
use oriole_ori::{Block, BuildError, EntitySet, Function, Inst, InstId, Operand, RegType, VReg};
use oriole_passes::Tally;
pub(crate) use rules::{COMMON_NAMES, GENERAL_NAMES};
use rules::{COPIES, FIRST_RULE, PHIS, UNUSED};
use rules::{Rewrite, Rules};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
pub(crate) use sums::build;
pub(crate) use wide::two_summands;

/// Rewrites of one instruction before the walk goes on: each makes it simpler, so few are needed.
const MOST_REWRITES: usize = 8;

/// Walk until nothing changes, at most as often as the knob says.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    repeat(func, context, analyses, ("the general rules are done", &rules::GENERAL))
}

/// Slot 49: equal expressions once.
pub(crate) fn common(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    repeat(func, context, analyses, ("equal expressions are one", &rules::COMMON))
}

/// The first walk looks at every instruction; the following at those near to what the one before has changed, and so does that
/// of a later slot after a walk that has left nothing to do.
fn repeat(
    func: &mut Function,
    context: &Context,
    analyses: &mut Analyses,
    (work, rules): (&'static str, &'static Rules),
) -> Result<Changed, PhaseError> {
    if analyses.is_settled(work, func) {
        return Ok(Changed::No);
    }
    let mut swept = analyses.is_settled(SWEPT, func);
    let cfg = analyses.cfg(func);
    let changed = func.def_use().filter(|_| rules.resume).and_then(|lists| lists.changed().map(<[VReg]>::to_vec));
    let defs = Defs::new(func, analyses, changed.as_deref());
    let mut cx = Cx {
        func,
        defs,
        rules,
        tally: &context.tally,
        arch: context.arch,
        offset_limit: context.knobs.int("fold-offset-limit"),
        contracts: context.knobs.is_set("contract"),
        current: InstId::from_u32(0),
        own_reads: SmallVec::new(),
        common: FxHashMap::default(),
        replaced: EntitySet::new(),
    };
    let mut changed = Changed::No;
    let rounds = context.knobs.int("general-rounds");
    for _ in 0..if context.knobs.is_set("general-optimization") { rounds } else { 0 } {
        let walked = cx.walk(cfg.rpo())?;
        if walked == Changed::No && rules.resume && context.tally.is_open() {
            cx.func.edit().note_changes();
        }
        if walked == Changed::Yes || !swept {
            changed = changed.or(walked).or(cx.sweep());
            swept = true;
        }
        if walked == Changed::No {
            break;
        }
        cx.defs.start_again();
        cx.common.clear();
    }
    // Where rewrites are forbidden from some number on, nothing is done.
    if context.tally.is_open() && swept {
        analyses.settle(SWEPT, func);
        if changed == Changed::No {
            analyses.settle(work, func);
        }
    }
    Ok(changed)
}

/// The walk's state, as rules see it.
struct Cx<'f> {
    func: &'f mut Function,
    defs: Defs,
    rules: &'static Rules,
    tally: &'f Tally,
    arch: Arch,
    /// Bytes: the largest address offset that is folded.
    offset_limit: i64,
    /// Products and sums that PTX leaves open become one instruction.
    contracts: bool,
    /// The instruction at hand.
    current: InstId,
    /// What it read when the walk came to it.
    own_reads: SmallVec<[VReg; 8]>,
    /// Instructions that computed something, by what identifies it, for slot 49.
    common: FxHashMap<u64, InstId>,
    /// Instructions whose work an instruction further down has taken over.
    replaced: EntitySet<InstId>,
}

impl Cx<'_> {
    fn walk(&mut self, blocks: &[Block]) -> Result<Changed, BuildError> {
        let mut changed = false;
        for &block in blocks {
            self.defs.enter(block);
            if self.tally.is_open() && self.phis(block) {
                self.tally.count(PHIS);
                changed = true;
            }
            let insts = self.func.edit().take_insts(block);
            self.func.edit().set_insts(block, Vec::with_capacity(insts.len()));
            for id in insts {
                changed |= self.visit(id)?;
            }
            let replaced = std::mem::take(&mut self.replaced);
            if !replaced.is_empty() {
                replaced.iter().for_each(|id| self.defs.touch_sources(self.func, id));
                self.func.edit().retain_insts(block, |_, id| !replaced.contains(id));
            }
        }
        Ok(Changed::when(changed))
    }

    /// Remove what nobody needs any more.
    fn sweep(&mut self) -> Changed {
        if !self.tally.is_open() {
            return Changed::No;
        }
        let dead = dead_code::sweep(self.func);
        dead.iter().for_each(|id| self.defs.touch_sources(self.func, *id));
        self.tally.add(UNUSED, dead.len() as u32);
        Changed::when(!dead.is_empty())
    }

    /// Simplify one instruction and append what it becomes.
    fn visit(&mut self, id: InstId) -> Result<bool, BuildError> {
        self.current = id;
        let data = &self.func[id];
        let looking = self.rules.of(data);
        let rules = looking.map_or(0, |looking| looking.rules);
        if !data.is_machine() || !self.defs.is_due(self.func, id, looking.map(|looking| looking.reach)) {
            self.defs.see(self.func, id);
            self.place_last(id);
            return Ok(false);
        }
        self.own_reads = reads_of(self.func, id);
        let mut inst = self.func[id].clone();
        let reads_copies = self.own_reads.iter().any(|read| self.defs.copied(*read).is_some());
        let mut changed = reads_copies && self.take_copies(&mut inst);
        let mut propagated = None;
        for _ in 0..MOST_REWRITES {
            let Some((rule, mut rewrite)) = self.rewrite(&inst, rules)? else { break };
            for new in &mut rewrite {
                new.loc = inst.loc;
                new.set_guard(inst.guard());
            }
            if !self.carry_olds(&inst, &mut rewrite) {
                break;
            }
            self.tally.count(FIRST_RULE + rule);
            changed = true;
            if rewrite.len() != 1 {
                self.defs.touch(&self.own_reads);
                self.func.edit().remove(id);
                return Ok(self.replace(rewrite));
            }
            let mut new = rewrite.remove(0);
            new.flags = inst.flags;
            let before = std::mem::replace(&mut inst, new);
            propagated.get_or_insert(before);
            self.take_copies(&mut inst);
        }
        if let Some(propagated) = propagated {
            inst = self.legal_form(inst).unwrap_or(propagated);
        }
        if changed {
            self.func.edit().replace(id, inst);
            self.defs.touch(&self.own_reads);
            self.defs.touch_results(self.func, id);
            self.defs.pass(self.func, id);
        }
        self.defs.see(self.func, id);
        self.place_last(id);
        Ok(changed)
    }

    /// [`Cx::propagate`], counted.
    fn take_copies(&mut self, inst: &mut Inst) -> bool {
        let changed = self.tally.is_open() && self.propagate(inst);
        self.tally.add(COPIES, changed.into());
        changed
    }

    /// The first rewrite by the rules of a set, with the rule's number.
    fn rewrite(&mut self, inst: &Inst, rules: u64) -> Result<Option<(usize, Rewrite)>, BuildError> {
        if !self.tally.is_open() {
            return Ok(None);
        }
        for (at, rule) in self.rules.in_set(rules) {
            if let Some(rewrite) = (rule.apply)(self, inst)? {
                return Ok(Some((at, rewrite)));
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
            let id = self.func.edit().add(inst);
            self.defs.touch_results(self.func, id);
            self.append(id);
        }
        true
    }

    /// Place a new instruction behind what the walk has passed.
    fn append(&mut self, id: InstId) {
        self.defs.pass(self.func, id);
        self.place_last(id);
    }

    fn place_last(&mut self, id: InstId) {
        if let Some(block) = self.defs.block() {
            self.func.edit().place_last(block, id);
        }
    }

    /// The instruction that gives a source of one value.
    fn def_of(&self, operand: Operand) -> Option<&Inst> {
        self.full_definition(operand.as_reg()?).map(|id| &self.func[id])
    }

    /// The machine instruction that gives a value in full.
    fn full_definition(&self, value: VReg) -> Option<InstId> {
        self.func.definition(value).filter(|inst| is_full_definition(&self.func[*inst]))
    }

    /// How often a register is read. (The instruction at hand is not counted.)
    fn reads(&self, reg: VReg) -> u32 {
        let own = self.own_reads.iter().filter(|read| **read == reg).count() as u32;
        self.func.def_use().map_or(u32::MAX, |lists| lists.count(reg) - own)
    }

    /// What stands in the block at hand before the instruction at hand.
    fn passed(&self) -> &[InstId] {
        self.defs.block().map_or(&[], |block| self.func.block_insts(block))
    }

    /// The same for an instruction of a kind, if nobody else reads its result and no flags are on it. (The
    /// instruction at hand is not counted.)
    fn only_use(&self, operand: Operand, opcode: Opcode) -> Option<&Inst> {
        let single = self.reads(operand.as_reg()?) == 0 && !operand.has_flags();
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
        let id = self.func.edit().add(mov(Operand::reg(reg), Operand::imm(bits)));
        let here = self.defs.block();
        match self.defs.outside_of_loops() {
            Some(block) if Some(block) != here => {
                self.defs.pass(self.func, id);
                let place = self.func.block_insts(block).iter().position(|&at| is_terminator(&self.func[at]));
                let place = place.unwrap_or(self.func.block_insts(block).len());
                self.func.edit().place(block, place, &[id]);
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

/// The constant that a value is, on SSA form with lists of definitions.
pub(crate) fn constant_of(func: &Function, value: VReg) -> Option<u32> {
    let inst = &func[func.definition(value)?];
    let copied = is_full_definition(inst).then(|| copies::copy_source(func, inst, Operand::reg(value)))??;
    constant(copied)
}

/// What a predicate is, if it is a constant.
pub(crate) fn known_predicate(func: &Function, value: VReg) -> Option<bool> {
    let inst = &func[func.definition(value)?];
    let copied = is_full_definition(inst).then(|| copies::copy_source(func, inst, Operand::reg(value)))??;
    table::known_bit(copied)
}

/// The operand with a role.
pub(crate) fn source(inst: &Inst, role: Role) -> Option<Operand> {
    inst.operand(role)
}

/// Which part of the product an IMAD takes.
fn mul_field(inst: &Inst) -> Mul {
    inst.get(Field::MUL)
}

/// A constant as an operand: zero is the zero register.
pub(crate) fn word(bits: u32) -> Operand {
    if bits == 0 { Operand::rz() } else { Operand::imm(bits) }
}

/// `d = value & mask`
fn mask_of(d: Operand, value: Operand, mask: u32) -> Inst {
    let mut inst = Inst::neutral(Opcode::LOP3, Mods::new());
    let (mask, and) = (Operand::imm(mask), Operand::imm(bounds::AND));
    for (role, operand) in [(Role::D, d), (Role::A, value), (Role::B, mask), (Role::C, Operand::rz()), (Role::Lut, and)]
    {
        inst.set_role(role, operand);
    }
    inst
}

/// `d = value` shifted by so many bits, zeros coming in.
fn shift_of(d: Operand, value: Operand, dir: ShiftDir, count: u32) -> Inst {
    let to_left = dir == ShiftDir::L;
    let fields = [Field::SHIFT_DIR.is(dir), Field::SHIFT_TYPE.is(ShiftType::U32), Field::HI.is(!to_left)];
    let (to, other) = if to_left { (Role::A, Role::C) } else { (Role::C, Role::A) };
    let mut inst = Inst::neutral(Opcode::SHF, fields.into_iter().collect());
    for (role, operand) in [(Role::D, d), (to, value), (other, Operand::rz()), (Role::B, Operand::imm(count))] {
        inst.set_role(role, operand);
    }
    inst
}

/// `d = value`
fn mov(d: Operand, value: Operand) -> Inst {
    Inst::copy(RegFile::R, d, value)
}

/// `pd = value`, for predicates.
fn mov_pred(pd: Operand, value: Operand) -> Inst {
    Inst::copy(RegFile::P, pd, value)
}
