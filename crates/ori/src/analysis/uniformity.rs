//! Which registers may differ between the active threads of a warp ("varying").
//!
//! A register varies when an instruction that writes it draws on something per thread, reads a varying
//! register (and its opcode's [`Lanes`] do not make it the warp's), or is guarded by a varying predicate; and when two values of it may meet after a varying
//! branch: it is live where the branch's paths join, and written on one of them. Registers of the
//! uniform files never vary.

use super::cfg::Cfg;
use super::cfg::DomTree;
use super::liveness::Liveness;
use crate::call::Callee;
use crate::entity::{Block, InstId, VReg, entry_for_each};
use crate::function::Function;
use crate::inst::{Inst, InstFlags};
use crate::operand::{Operand, OperandKind};
use crate::terminator::{Exit, exit_of};
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap, packed_option::PackedOption};
use oriole_graph::Rows;
use oriole_isa::{Arch, Effects, Field, Lanes, Opcode, RegFile, Role, Shfl, special_registers};

/// How the results of an instruction differ: what all lanes take from one of them is the same in all.
fn lanes(inst: &Inst) -> Lanes {
    /// Lanes up to the last one, in one segment.
    const WHOLE_WARP: u32 = 0x1f;
    let constant = |role| {
        inst.opcode
            .position(role)
            .and_then(|at| inst.operands.get(at))
            .and_then(|lane| if lane.is_zero() { Some(0) } else { lane.as_imm() })
    };
    let is_shuffle = inst.is_machine() && inst.opcode == Opcode::SHFL && inst.get(Field::SHFL) == Shfl::IDX;
    let from_one = is_shuffle && constant(Role::B).is_some() && constant(Role::C) == Some(WHOLE_WARP);
    if from_one { Lanes::Warp } else { inst.opcode.lanes() }
}

/// Steps that joins of paths may take, per block of the function. A function beyond that (thousands of
/// divergent branches over the same code) gets a plain answer: what crosses blocks varies.
const STEPS_PER_BLOCK: usize = 500;

/// The result: varying registers and varying branches.
#[derive(Clone, Debug)]
pub struct Uniformity {
    varying: EntitySet<VReg>,
    branches: EntitySet<Block>,
}

/// Where the analysis stands.
struct Solver<'f> {
    func: &'f Function,
    cfg: &'f Cfg,
    postdom: &'f DomTree,
    liveness: &'f Liveness,
    arch: Arch,
    /// By register: the instructions that read it.
    readers: &'f Rows<InstId>,
    /// By register: the blocks in which it is written.
    writers: Rows<Block>,
    block_of: SecondaryMap<InstId, PackedOption<Block>>,
    result: Uniformity,
    work: Vec<VReg>,
    steps_left: usize,
}

impl Uniformity {
    /// Compute it for `func` on `arch`.
    pub fn new(func: &Function, arch: Arch, cfg: &Cfg, postdom: &DomTree, liveness: &Liveness) -> Self {
        let result = Uniformity { varying: EntitySet::new(), branches: EntitySet::new() };
        let mut block_of = entry_for_each(func.insts().len());
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for (block, inst) in func.iter_insts() {
            block_of[inst] = block.into();
            func.for_each_use(inst, |read| reads.push((read.reg.as_u32(), inst)));
            func.for_each_def(inst, |write| writes.push((write.reg.as_u32(), block)));
        }
        let readers = Rows::new(func.regs().len(), reads.into_iter());
        let mut solver = Solver {
            func,
            cfg,
            postdom,
            liveness,
            arch,
            readers: &readers,
            writers: Rows::new(func.regs().len(), writes.into_iter()),
            block_of,
            result,
            work: Vec::new(),
            steps_left: STEPS_PER_BLOCK * (func.layout().len() + 100),
        };
        solver.start();
        solver.run();
        solver.result
    }

    /// Whether the register may differ between active threads.
    pub fn is_varying(&self, reg: VReg) -> bool {
        self.varying.contains(reg)
    }

    /// Whether the branch at the end of the block may go different ways.
    pub fn is_divergent(&self, block: Block) -> bool {
        self.branches.contains(block)
    }

    /// Whether the operand may differ between active threads. Physical registers are taken to, but for
    /// the stack pointer R1 and the uniform files.
    pub fn is_varying_operand(&self, operand: Operand) -> bool {
        match operand.kind() {
            OperandKind::Reg(reg, _) | OperandKind::Guard { pred: reg, .. } => self.is_varying(reg),
            OperandKind::Phys { file, number, .. } => {
                !matches!((file, number), (RegFile::UR | RegFile::UP, _) | (RegFile::R, 1))
            }
            _ => false,
        }
    }
}

impl Solver<'_> {
    fn start(&mut self) {
        for &reg in self.func.live_in() {
            self.mark(reg);
        }
        for (_, inst) in self.func.iter_insts() {
            let data = &self.func[inst];
            if self.varies_by_itself(data) {
                self.mark_results(inst);
            }
            self.check_branch(inst);
        }
    }

    fn run(&mut self) {
        while let Some(reg) = self.work.pop() {
            let readers = self.readers;
            for &inst in readers.row(reg.index()) {
                let data = &self.func[inst];
                // Lanes whose guard is false keep what they have.
                let guards = data.guard().is_some_and(|guard| guard.pred == reg);
                if guards || lanes(data) != Lanes::Warp {
                    self.mark_results(inst);
                }
                self.check_branch(inst);
            }
        }
    }

    /// Whether the result differs per thread although no register operand does.
    fn varies_by_itself(&self, inst: &Inst) -> bool {
        let info = inst.opcode.info();
        let called = inst.call.expand().is_some_and(|c| self.func[c].callee != Callee::Return);
        let special = inst.uses().any(|(_, operand)| match operand.kind() {
            OperandKind::Special(number) => {
                special_registers::by_number(number, self.arch).is_some_and(|s| !s.scope.is_warp_uniform())
            }
            _ => self.result.is_varying_operand(operand),
        });
        let volatile = info.effects.contains(Effects::VOLATILE) || inst.flags.contains(InstFlags::VOLATILE);
        let volatile_read = volatile && info.effects.contains(Effects::READS_MEMORY);
        let own = match lanes(inst) {
            Lanes::Own => true,
            Lanes::Warp => false,
            Lanes::Same => special || volatile_read,
        };
        called || own
    }

    fn mark(&mut self, reg: VReg) {
        if !self.func[reg].reg_type.is_uniform() && self.result.varying.insert(reg) {
            self.work.push(reg);
        }
    }

    fn mark_results(&mut self, inst: InstId) {
        let mut results = smallvec::SmallVec::<[VReg; 4]>::new();
        self.func.for_each_def(inst, |r| results.push(r.reg));
        for reg in results {
            self.mark(reg);
        }
    }

    /// If the instruction is a branch that goes different ways, its paths' joins make values vary.
    fn check_branch(&mut self, inst: InstId) {
        let data = &self.func[inst];
        let branches = matches!(exit_of(data), Exit::Branch | Exit::Indirect);
        let Some(block) = self.block_of[inst].expand().filter(|_| branches) else { return };
        let guard = data.guard().is_some_and(|g| self.result.is_varying(g.pred));
        let decides = guard || data.uses().any(|(_, o)| self.result.is_varying_operand(o));
        if decides && self.func.succs(block).len() > 1 && self.result.branches.insert(block) && self.steps_left > 0 {
            self.join_paths(block);
            if self.steps_left == 0 {
                self.give_up();
            }
        }
    }

    /// Take every written register that is live across blocks, and every MovPhi, to vary.
    fn give_up(&mut self) {
        let func = self.func;
        for (reg, _) in func.regs().iter() {
            if !self.writers.row(reg.index()).is_empty() && self.liveness.crosses_blocks(func, reg) {
                self.mark(reg);
            }
        }
        for (_, inst) in func.iter_insts().filter(|(_, i)| func[*i].is_phi()) {
            self.mark_results(inst);
        }
    }

    fn spend(&mut self, steps: usize) {
        self.steps_left = self.steps_left.saturating_sub(steps);
    }

    /// Mark what is written between `branch` and the blocks where its paths meet, and live there.
    fn join_paths(&mut self, branch: Block) {
        let end = self.postdom.idom(branch);
        let (region, mut joins) = self.region(branch, end);
        joins.extend(end);
        let mut varying = Vec::new();
        let liveness = self.liveness;
        for join in joins {
            if self.steps_left == 0 {
                return;
            }
            for (reg, _) in liveness.main_live_in(join) {
                self.spend(1 + self.writers.row(reg.index()).len());
                if self.writers.row(reg.index()).iter().any(|b| region.contains(*b)) {
                    varying.push(reg);
                }
            }
            // MovPhis of the join have their sources live before it.
            for &inst in self.func.block_insts(join).iter().take_while(|i| self.func[**i].is_phi()) {
                self.func.for_each_def(inst, |r| varying.push(r.reg));
            }
        }
        for reg in varying {
            self.mark(reg);
        }
    }

    /// Blocks that `branch` reaches without passing `end`, and those of them that it reaches from two
    /// of its successors.
    fn region(&mut self, branch: Block, end: Option<Block>) -> (EntitySet<Block>, Vec<Block>) {
        let mut region = EntitySet::new();
        let mut joins = Vec::new();
        let mut is_join = EntitySet::new();
        for (i, &first) in self.func.succs(branch).iter().enumerate() {
            let mut seen = EntitySet::new();
            let mut work = vec![first];
            while let Some(block) = work.pop() {
                if Some(block) == end || !self.cfg.is_reachable(block) || !seen.insert(block) {
                    continue;
                }
                self.spend(1);
                if !region.insert(block) && i > 0 && is_join.insert(block) {
                    joins.push(block);
                }
                work.extend_from_slice(self.func.succs(block));
            }
        }
        (region, joins)
    }
}
