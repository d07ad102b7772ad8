//! The levels of all registers and branches, with the first cause of each.

use super::Sameness;
use super::causes::Cause;
use super::solver::{Findings, Part, Solver};
use crate::analysis::cfg::{Cfg, DomTree};
use crate::analysis::liveness::Liveness;
use crate::entity::{Block, VReg};
use crate::function::Function;
use cranelift_entity::SecondaryMap;
use oriole_isa::Arch;

/// Over which threads each register is the same, and each branch goes the same way; and why not over more.
#[derive(Clone, Debug, Default)]
pub struct UniformityLevels {
    regs: SecondaryMap<VReg, Level>,
    branches: SecondaryMap<Block, Level>,
}

/// A level with what it comes from.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    sameness: Sameness,
    cause: Option<Cause>,
}

impl Level {
    fn raise(&mut self, to: Sameness, cause: Cause) -> bool {
        let is_news = to > self.sameness;
        if is_news {
            *self = Level { sameness: to, cause: Some(cause) };
        }
        is_news
    }
}

impl UniformityLevels {
    /// Compute them for `func` on `arch`.
    pub fn new(func: &Function, arch: Arch, cfg: &Cfg, postdom: &DomTree, liveness: &Liveness) -> Self {
        Solver::new(func, arch, (cfg, postdom, &|| liveness), UniformityLevels::default()).solve().0
    }

    /// Over which threads the register is the same.
    pub fn of(&self, reg: VReg) -> Sameness {
        self.regs[reg].sameness
    }

    /// Over which threads the branch at the end of the block goes the same way.
    pub fn of_branch(&self, block: Block) -> Sameness {
        self.branches[block].sameness
    }

    /// Why the register is not the same in more threads; `None` where it is the same in the grid.
    pub fn cause(&self, reg: VReg) -> Option<Cause> {
        self.regs[reg].cause
    }

    /// Why the branch does not go the same way in more threads.
    pub fn branch_cause(&self, block: Block) -> Option<Cause> {
        self.branches[block].cause
    }
}

impl Findings for UniformityLevels {
    const LEVELS: bool = true;

    fn of(&self, part: Part) -> Sameness {
        self.regs[part.reg].sameness
    }

    fn raise(&mut self, part: Part, to: Sameness, cause: Cause) -> bool {
        self.regs[part.reg].raise(to, cause)
    }

    fn raise_branch(&mut self, block: Block, to: Sameness, cause: Cause) -> bool {
        self.branches[block].raise(to, cause)
    }
}
