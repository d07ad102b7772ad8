//! Which registers may differ between the active threads of a warp ("varying"), and of those that do not, over which
//! threads they are the same.
//!
//! A register varies when an instruction that writes it draws on something per thread, reads a varying
//! register (and its opcode's lanes do not make it the warp's), or is guarded by a varying predicate; and when two values of it may meet after a varying
//! branch: it is live where the branch's paths join, and written on one of them. Registers of the
//! uniform files never vary.
//!
//! [`Uniformity`] knows what varies and no more: phases ask it often. [`Sameness`] of each register, with the [`Cause`],
//! is in [`UniformityLevels`], by the same rules.

mod bits;
mod causes;
mod levels;
mod solver;
mod sources;

pub use causes::{Cause, Reason};
pub use levels::UniformityLevels;

use super::cfg::{Cfg, DomTree};
use super::liveness::{Liveness, Numbering};
use crate::entity::{Block, PieceId, VReg};
use crate::function::Function;
use crate::operand::{Operand, OperandKind};
use cranelift_entity::{EntityRef, EntitySet};
use oriole_isa::{Arch, RegFile};
use solver::{Findings, Part, Solver};
use std::fmt;

/// Over which threads a value is the same, those that agree most first: what depends on several is the greatest of them.
///
/// Meant are the threads that execute an instruction, each in the same iteration of the loops around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sameness {
    /// All threads of the grid.
    #[default]
    Grid,
    /// Those of a block.
    Block,
    /// Those of a warp.
    Warp,
    /// Each thread may have its own.
    Varying,
}

impl fmt::Display for Sameness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sameness::Grid => "grid-uniform",
            Sameness::Block => "block-uniform",
            Sameness::Warp => "warp-uniform",
            Sameness::Varying => "varying",
        })
    }
}

/// Varying registers and varying branches.
#[derive(Clone, Debug)]
pub struct Uniformity {
    varying: Varying,
    /// By which the components of registers are known.
    numbering: Numbering,
}

/// What varies.
#[derive(Clone, Debug)]
struct Varying {
    /// Registers of which some component varies.
    regs: EntitySet<VReg>,
    /// Components that vary, by number.
    pieces: EntitySet<PieceId>,
    branches: EntitySet<Block>,
}

impl Uniformity {
    /// Compute it for `func` on `arch`.
    pub fn new(func: &Function, arch: Arch, cfg: &Cfg, postdom: &DomTree, liveness: &Liveness) -> Self {
        Uniformity::on_demand(func, arch, cfg, postdom, &|| liveness)
    }

    /// The same where liveness is worked out when it is asked for: only what threads decide differently needs it.
    pub(super) fn on_demand<'f>(
        func: &'f Function,
        arch: Arch,
        cfg: &'f Cfg,
        postdom: &'f DomTree,
        liveness: &'f dyn Fn() -> &'f Liveness,
    ) -> Self {
        let varying = Varying { regs: EntitySet::new(), pieces: EntitySet::new(), branches: EntitySet::new() };
        let (varying, numbering) = Solver::new(func, arch, (cfg, postdom, liveness), varying).solve();
        Uniformity { varying, numbering }
    }

    /// Whether the register may differ between active threads.
    pub fn is_varying(&self, reg: VReg) -> bool {
        self.varying.regs.contains(reg)
    }

    /// Whether the branch at the end of the block may go different ways.
    pub fn is_divergent(&self, block: Block) -> bool {
        self.varying.branches.contains(block)
    }

    /// Whether the operand may differ between active threads. Physical registers are taken to, but for
    /// the stack pointer R1 and the uniform files.
    pub fn is_varying_operand(&self, operand: Operand) -> bool {
        match operand.kind() {
            OperandKind::Reg(reg, selected) if self.is_varying(reg) => {
                let mut range = selected.range(self.numbering.width(reg));
                range.any(|k| self.varying.pieces.contains(PieceId::new(self.numbering.of(reg, k))))
            }
            OperandKind::Guard { pred: reg, .. } => self.is_varying(reg),
            OperandKind::Phys { file, number, .. } => physical(file, number) == Sameness::Varying,
            _ => false,
        }
    }
}

/// What is known of a physical register.
fn physical(file: RegFile, number: u16) -> Sameness {
    match (file, number) {
        (RegFile::UR | RegFile::UP, _) | (RegFile::R, 1) => Sameness::Warp,
        _ => Sameness::Varying,
    }
}

impl Findings for Varying {
    const LEVELS: bool = false;

    #[inline]
    fn of(&self, part: Part) -> Sameness {
        if self.pieces.contains(part.piece) { Sameness::Varying } else { Sameness::Grid }
    }

    #[inline]
    fn raise(&mut self, part: Part, to: Sameness, _cause: Cause) -> bool {
        let is_news = to == Sameness::Varying && self.pieces.insert(part.piece);
        if is_news {
            self.regs.insert(part.reg);
        }
        is_news
    }

    #[inline]
    fn raise_branch(&mut self, block: Block, to: Sameness, _cause: Cause) -> bool {
        to == Sameness::Varying && self.branches.insert(block)
    }
}
