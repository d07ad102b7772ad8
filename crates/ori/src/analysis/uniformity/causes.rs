//! Why values differ between threads: causes, the way back to where a difference begins, and the words for it.

use super::Sameness;
use super::levels::UniformityLevels;
use super::sources::{Lanes, is_call, is_volatile_read, lanes};
use crate::entity::{Block, InstId, VReg};
use crate::function::Function;
use crate::inst::InstFlags;
use crate::operand::{Operand, OperandKind};
use crate::text::{operand_text, reg_name};

/// What first made a register, or the way of a branch, different between some threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It has a value on entry: the caller's.
    Entry,
    /// The instruction that writes it, whatever it reads: the difference begins here.
    Source(InstId),
    /// The instruction that writes it, or branches, reads that register.
    Read(InstId, VReg),
    /// The instruction that writes it is guarded by that predicate: where it is false, the old value stays.
    Guard(InstId, VReg),
    /// Two values meet: paths lead from the branch at the end of `branch` to `join`.
    Join {
        /// The block with the branch.
        branch: Block,
        /// Where they meet.
        join: Block,
    },
    /// There are too many divergent branches to follow them all.
    GivenUp,
}

/// One step on the way back from a value to where the difference begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What it is.
    pub cause: Cause,
    /// In words, such as "S2R SR_TID.X, line 12".
    pub text: String,
    /// The line in the source, where it is known: from 1.
    pub line: Option<u32>,
}

impl Reason {
    /// The way back in one line: its first step, the first branch that it leads to, and where it ends.
    pub fn summary(way: &[Reason]) -> String {
        let is_join = |reason: &Reason| matches!(reason.cause, Cause::Join { .. });
        let join = way.iter().position(is_join);
        let mut steps: Vec<usize> = [Some(0), join, way.len().checked_sub(1)].into_iter().flatten().collect();
        steps.dedup();
        let texts: Vec<&str> =
            steps.iter().filter_map(|step| way.get(*step)).map(|reason| reason.text.as_str()).collect();
        texts.join(", from ")
    }
}

impl UniformityLevels {
    /// The way back from a register to where its difference begins, its own cause first; nothing for what is the same in the grid.
    pub fn reasons(&self, func: &Function, reg: VReg) -> Vec<Reason> {
        self.way_back(func, self.cause(reg), Some(reg))
    }

    /// The same from a branch.
    pub fn branch_reasons(&self, func: &Function, block: Block) -> Vec<Reason> {
        self.way_back(func, self.branch_cause(block), None)
    }

    /// It ends: what a cause names reached its level before, or has risen above it since.
    fn way_back(&self, func: &Function, mut next: Option<Cause>, mut of: Option<VReg>) -> Vec<Reason> {
        let mut way = Vec::new();
        while let Some(cause) = next {
            way.push(Reason { cause, text: self.words(func, cause, of), line: line(func, cause) });
            (next, of) = match cause {
                Cause::Read(_, reg) | Cause::Guard(_, reg) => (self.cause(reg), Some(reg)),
                Cause::Join { branch, .. } => (self.branch_cause(branch), None),
                Cause::Entry | Cause::Source(_) | Cause::GivenUp => (None, None),
            };
        }
        way
    }

    /// A cause in words; `of` is the register whose it is.
    fn words(&self, func: &Function, cause: Cause, of: Option<VReg>) -> String {
        let line = line(func, cause).map_or_else(String::new, |line| format!(", line {line}"));
        match cause {
            Cause::Entry => "the caller's value".to_owned(),
            Cause::Source(inst) => source(func, inst, &line),
            Cause::Read(_, reg) => format!("reads {}", reg_name(func, reg)),
            Cause::Guard(_, reg) => format!("stays as it was where {} is false", reg_name(func, reg)),
            Cause::Join { branch, join } => {
                let how = match self.of_branch(branch) {
                    Sameness::Varying => "divergent".to_owned(),
                    level => level.to_string(),
                };
                let phis =
                    || func.phis(join).iter().any(|phi| func[*phi].operands.first().and_then(|to| to.as_reg()) == of);
                let what = if of.is_some() && phis() { "phi" } else { "values that meet" };
                format!("{what} behind the {how} branch of {branch}{line}")
            }
            Cause::GivenUp => "too many divergent branches".to_owned(),
        }
    }
}

/// Where a difference begins, in words.
fn source(func: &Function, id: InstId, line: &str) -> String {
    let inst = &func[id];
    let name = inst.opcode.name();
    let special = |operand: &Operand| matches!(operand.kind(), OperandKind::Special(_));
    if let Some(operand) = inst.operands.iter().find(|operand| special(operand)) {
        return format!("{name} {}{line}", operand_text(func, *operand));
    }
    let why = match lanes(inst) {
        _ if is_call(func, inst) => "what a function gives back",
        _ if inst.flags.contains(InstFlags::BY_MASK) => "lanes have different member masks",
        Lanes::Own => "each thread's own",
        Lanes::Warp => "one for the warp",
        Lanes::Same if is_volatile_read(inst) => "a volatile read",
        Lanes::Same => "what others may write",
    };
    format!("{name}{line}: {why}")
}

/// The line of an instruction, or of the branch whose paths meet.
fn line(func: &Function, cause: Cause) -> Option<u32> {
    let inst = match cause {
        Cause::Source(inst) | Cause::Read(inst, _) | Cause::Guard(inst, _) => inst,
        Cause::Join { branch, .. } => *func.block_insts(branch).last()?,
        Cause::Entry | Cause::GivenUp => return None,
    };
    let loc = func[inst].loc.expand()?;
    func.source_locs().get(loc).map(|loc| loc.line)
}
