//! The propagation over values and control, forward until nothing changes.

use super::causes::Cause;
use super::sources::{Facts, Lanes, lanes};
use super::{Sameness, bits, physical};
use crate::analysis::cfg::{Cfg, DomTree};
use crate::analysis::liveness::{Liveness, Numbering};
use crate::entity::{Block, InstId, PieceId, VReg, entry_for_each};
use crate::function::Function;
use crate::operand::OperandKind;
use crate::terminator::{Exit, exit_of};
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap, packed_option::PackedOption};
use oriole_graph::Rows;
use oriole_isa::Arch;
use std::cell::OnceCell;

/// Steps that joins of paths may take, per block of the function and level that is told apart. A function beyond that
/// (thousands of divergent branches over the same code) gets a plain answer: what crosses blocks varies.
const STEPS_PER_BLOCK: usize = 500;

/// A component of a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) reg: VReg,
    pub(super) piece: PieceId,
}

/// What a solver finds out.
pub(super) trait Findings {
    /// Whether levels below [`Sameness::Varying`] are told apart.
    const LEVELS: bool;

    /// What is known of a component of a register so far.
    fn of(&self, of: Part) -> Sameness;

    /// A component is no better than `to`: whether that is news.
    fn raise(&mut self, part: Part, to: Sameness, cause: Cause) -> bool;

    /// The same of what decides the branch at the end of a block.
    fn raise_branch(&mut self, block: Block, to: Sameness, cause: Cause) -> bool;
}

/// Where the analysis stands.
pub(super) struct Solver<'f, F> {
    func: &'f Function,
    cfg: &'f Cfg,
    postdom: &'f DomTree,
    liveness: &'f dyn Fn() -> &'f Liveness,
    facts: Facts,
    numbering: Numbering,
    /// By component: the blocks in which it is written, once somebody has asked.
    writers: OnceCell<Rows<Block>>,
    block_of: SecondaryMap<InstId, PackedOption<Block>>,
    /// While the code is gone through in order: what has been read so far, when it was not known to vary. Who reads the others comes
    /// later.
    read: Option<EntitySet<PieceId>>,
    /// Registers of which some bits vary and the others do not. There is hardly ever one.
    partly: Vec<(VReg, u32)>,
    found: F,
    work: Vec<Part>,
    steps_left: usize,
}

impl<'f, F: Findings> Solver<'f, F> {
    pub(super) fn new(
        func: &'f Function,
        arch: Arch,
        (cfg, postdom, liveness): (&'f Cfg, &'f DomTree, &'f dyn Fn() -> &'f Liveness),
        found: F,
    ) -> Self {
        let mut block_of = entry_for_each(func.insts().len());
        func.iter_insts().for_each(|(block, inst)| block_of[inst] = block.into());
        let levels = if F::LEVELS { Sameness::Varying as usize } else { 1 };
        Solver {
            func,
            cfg,
            postdom,
            liveness,
            facts: Facts::new(func, arch),
            numbering: Numbering::new(func),
            writers: OnceCell::new(),
            block_of,
            read: None,
            partly: Vec::new(),
            found,
            work: Vec::new(),
            steps_left: levels * STEPS_PER_BLOCK * (func.layout().len() + 100),
        }
    }

    /// What it finds out, and the numbering of the components.
    pub(super) fn solve(mut self) -> (F, Numbering) {
        self.start();
        // Causes are told in the order in which they are found from the sources.
        if !F::LEVELS {
            self.go_through();
        }
        if !self.work.is_empty() {
            self.propagate();
        }
        (self.found, self.numbering)
    }

    fn start(&mut self) {
        for &reg in self.func.live_in() {
            for part in self.parts(reg, 0..self.func[reg].components) {
                self.raise(part, Sameness::Varying, Cause::Entry);
            }
        }
        for (_, inst) in self.func.iter_insts() {
            let own = self.facts.of_itself(self.func, inst);
            if own > Sameness::Grid {
                self.raise_results(inst, own, Cause::Source(inst));
                self.note_partly(inst);
            }
            self.check_branch(inst);
        }
    }

    /// Once over the code in its order. Straight code is done with that, and of other code what is read ahead of where it is found
    /// to vary is left to do.
    fn go_through(&mut self) {
        self.work.clear();
        let mut read = EntitySet::with_capacity(self.numbering.count());
        for (_, inst) in self.func.iter_insts() {
            let mut varying = smallvec::SmallVec::<[Part; 4]>::new();
            self.func.for_each_use(inst, |mention| {
                for part in self.parts(mention.reg, mention.range) {
                    match self.found.of(part) {
                        Sameness::Varying => varying.push(part),
                        _ => _ = read.insert(part.piece),
                    }
                }
            });
            if varying.is_empty() {
                continue;
            }
            self.read = Some(read);
            let passed = varying.into_iter().map(|part| self.passed_on(inst, part));
            if let Some((passed, cause)) = passed.max_by_key(|(passed, _)| *passed) {
                self.raise_results(inst, passed, cause);
            }
            self.check_branch(inst);
            read = self.read.take().unwrap_or_default();
        }
    }

    fn propagate(&mut self) {
        let mut reads = Vec::new();
        for (_, inst) in self.func.iter_insts() {
            self.func.for_each_use(inst, |read| {
                reads.extend(self.parts(read.reg, read.range).map(|part| (part.piece.as_u32(), inst)));
            });
        }
        let readers = Rows::new(self.numbering.count(), reads.into_iter());
        while let Some(part) = self.work.pop() {
            for &inst in readers.row(part.piece.index()) {
                let (passed, cause) = self.passed_on(inst, part);
                self.raise_results(inst, passed, cause);
                self.check_branch(inst);
            }
        }
    }

    /// Some components of a register.
    fn parts(&self, reg: VReg, range: std::ops::Range<u8>) -> impl Iterator<Item = Part> + use<'f, F> {
        let first = self.numbering.of(reg, 0);
        range.map(move |k| Part { reg, piece: PieceId::new(first + usize::from(k)) })
    }

    /// The blocks in which some component of a register is written.
    fn written_in(&self, reg: VReg, k: u8) -> &[Block] {
        self.writers().row(self.numbering.of(reg, k))
    }

    /// By component: the blocks in which it is written.
    fn writers(&self) -> &Rows<Block> {
        self.writers.get_or_init(|| {
            let mut writes = Vec::new();
            for (block, inst) in self.func.iter_insts() {
                self.func.for_each_def(inst, |write| {
                    writes.extend(self.parts(write.reg, write.range).map(|part| (part.piece.as_u32(), block)));
                });
            }
            Rows::new(self.numbering.count(), writes.into_iter())
        })
    }

    /// What the results of an instruction are at best because it reads a register.
    fn passed_on(&self, inst: InstId, part: Part) -> (Sameness, Cause) {
        let (data, level, reg) = (&self.func[inst], self.found.of(part), part.reg);
        // Lanes whose guard is false keep what they have.
        if data.guard().is_some_and(|guard| guard.pred == reg) {
            return (level, Cause::Guard(inst, reg));
        }
        let varying = self.partly.iter().find(|(partly, _)| *partly == reg);
        let unread = varying.is_some_and(|(_, bits)| bits::read_of(self.func, inst, reg) & bits == 0);
        let bounded = unread || lanes(data) == Lanes::Warp;
        (if bounded { level.min(Sameness::Warp) } else { level }, Cause::Read(inst, reg))
    }

    /// Note which bits vary of what an instruction writes, if others do not.
    fn note_partly(&mut self, inst: InstId) {
        let Some(bits) = self.facts.varying_bits(&self.func[inst]) else { return };
        let mut results = smallvec::SmallVec::<[VReg; 1]>::new();
        self.func.for_each_def(inst, |result| results.push(result.reg));
        for reg in results {
            if self.func[reg].components == 1 && self.written_in(reg, 0).len() == 1 {
                self.partly.push((reg, bits));
            }
        }
    }

    fn raise(&mut self, part: Part, to: Sameness, cause: Cause) {
        let data = &self.func[part.reg];
        let to = self.facts.narrowed(if data.reg_type.is_uniform() { to.min(Sameness::Warp) } else { to });
        if !self.found.raise(part, to, cause) {
            return;
        }
        // Levels are those of whole registers.
        let of_all = F::LEVELS.then(|| self.parts(part.reg, 0..data.components)).into_iter().flatten();
        for part in of_all.chain((!F::LEVELS).then_some(part)) {
            if self.read.as_ref().is_none_or(|read| read.contains(part.piece)) {
                self.work.push(part);
            }
        }
    }

    fn raise_results(&mut self, inst: InstId, to: Sameness, cause: Cause) {
        let mut results = smallvec::SmallVec::<[Part; 4]>::new();
        self.func.for_each_def(inst, |r| results.extend(self.parts(r.reg, r.range)));
        for part in results {
            self.raise(part, to, cause);
        }
    }

    /// If the instruction is a branch that threads decide differently, values differ where its paths join.
    fn check_branch(&mut self, inst: InstId) {
        let data = &self.func[inst];
        let branches = matches!(exit_of(data), Exit::Branch | Exit::Indirect);
        let Some(block) = self.block_of[inst].expand().filter(|_| branches) else { return };
        let (mut level, mut cause) = (Sameness::Grid, Cause::Source(inst));
        self.func.for_each_use(inst, |read| {
            for part in self.parts(read.reg, read.range) {
                if self.found.of(part) > level {
                    (level, cause) = (self.found.of(part), Cause::Read(inst, read.reg));
                }
            }
        });
        for (_, operand) in data.uses() {
            if let OperandKind::Phys { file, number, .. } = operand.kind()
                && physical(file, number) > level
            {
                (level, cause) = (physical(file, number), Cause::Source(inst));
            }
        }
        let level = self.facts.narrowed(level);
        let decides = level > Sameness::Grid && self.func.succs(block).len() > 1;
        if decides && self.found.raise_branch(block, level, cause) && self.steps_left > 0 {
            self.join_paths(block, level);
            if self.steps_left == 0 {
                self.give_up();
            }
        }
    }

    /// Take every written register that is live across blocks, and every MovPhi, to vary.
    fn give_up(&mut self) {
        let (func, liveness) = (self.func, (self.liveness)());
        for (reg, data) in func.regs().iter() {
            for (k, part) in (0..).zip(self.parts(reg, 0..data.components)) {
                if !self.written_in(reg, k).is_empty() && liveness.crosses_blocks(func, reg) {
                    self.raise(part, Sameness::Varying, Cause::GivenUp);
                }
            }
        }
        for (_, inst) in func.iter_insts().filter(|(_, i)| func[*i].is_phi()) {
            self.raise_results(inst, Sameness::Varying, Cause::GivenUp);
        }
    }

    fn spend(&mut self, steps: usize) {
        self.steps_left = self.steps_left.saturating_sub(steps);
    }

    /// Raise what is written between `branch` and the blocks where its paths meet, and live there.
    fn join_paths(&mut self, branch: Block, level: Sameness) {
        // Where no path ends, nothing says that threads wait for each other: paths meet wherever two come together.
        let end = self.postdom.idom(branch).filter(|_| !self.postdom.is_endless(branch));
        let (region, mut joins) = self.region(branch, end);
        joins.extend(end);
        let mut met = Vec::new();
        let liveness = (self.liveness)();
        for join in joins {
            if self.steps_left == 0 {
                return;
            }
            // Uniform files never vary, but warps may have different values there.
            let uniform = F::LEVELS.then(|| liveness.uniform_live_in(join)).into_iter().flatten();
            for (reg, k) in liveness.main_live_in(join).chain(uniform) {
                let count = self.written_in(reg, k).len();
                self.spend(1 + count);
                if self.written_in(reg, k).iter().any(|b| region.contains(*b)) {
                    met.extend(self.parts(reg, k..k + 1).map(|part| (part, join)));
                }
            }
            // MovPhis of the join have their sources live before it.
            for &inst in self.func.phis(join) {
                if !self.brings_one_value(inst, branch, &region) {
                    self.func.for_each_def(inst, |r| met.extend(self.parts(r.reg, r.range).map(|part| (part, join))));
                }
            }
        }
        for (part, join) in met {
            self.raise(part, level, Cause::Join { branch, join });
        }
    }

    /// Whichever way threads take from `branch` to a MovPhi, it takes the same value, which is made on none of the ways: it does not tell
    /// which one they took.
    fn brings_one_value(&self, phi: InstId, branch: Block, region: &EntitySet<Block>) -> bool {
        let mut brought = self.func.phi_inputs(phi).filter(|(_, pred)| *pred == branch || region.contains(*pred));
        let Some((first, _)) = brought.next() else { return false };
        let made_on_a_way = |reg: VReg| self.written_in(reg, 0).iter().any(|block| region.contains(*block));
        brought.all(|(other, _)| other == first) && first.as_reg().is_none_or(|reg| !made_on_a_way(reg))
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
