//! When registers are written and read, and which hold the same value.

use cranelift_entity::SecondaryMap;

use super::copies::{Isolation, Moves};
use crate::machine::passes::cfg::{DomTree, Loops};
use crate::machine::passes::defs::ByReg;
use crate::machine::passes::liveness::Liveness;
use crate::machine::{BlockId, Function, Inst, Opcode, VReg};

/// A moment in a function: the block by its number in the dominator tree, and a number in the block.
/// Even numbers are reads, odd ones writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Moment {
    block: u32,
    at: u32,
}

/// Where `phi`s write.
const PHIS: u32 = 1;
/// Where the copies behind the `phi`s read.
const ENTRY: u32 = 2;
/// Where the first instruction reads.
const FIRST: u32 = 4;
/// On the way out of the block.
const ON_EDGE: u32 = u32::MAX;

/// A copy that goes away when both its registers become one.
pub(super) struct Affinity {
    pub(super) depth: u32,
    pub(super) to: VReg,
    pub(super) from: VReg,
}

/// Who is live when, and with what value.
pub(super) struct Values<'a> {
    dominators: &'a DomTree,
    /// From before the `phi`s were cut off: their operands count as read in the predecessors.
    live: Liveness,
    /// Where a register is written that is written once.
    written: SecondaryMap<VReg, Option<Moment>>,
    /// In order of blocks and moments.
    reads: ByReg<Moment>,
    /// The first register that held the value of this one, where that is another.
    origin: SecondaryMap<VReg, Option<VReg>>,
}

impl<'a> Values<'a> {
    /// Collects everything, and the copies that may go away.
    pub(super) fn new(
        function: &Function,
        isolation: &Isolation,
        (dominators, loops): (&'a DomTree, &Loops),
        live: Liveness,
    ) -> (Values<'a>, Vec<Affinity>) {
        let mut walk = Walk {
            function,
            writes: count_writes(function, isolation),
            written: SecondaryMap::new(),
            origin: SecondaryMap::new(),
            reads: Vec::new(),
            affinities: Vec::new(),
            ties: Vec::new(),
            depth: 0,
        };
        for (number, &block) in (0..).zip(dominators.preorder()) {
            walk.depth = loops.depth(block);
            walk.block(number, block, isolation, dominators);
        }
        let Walk { written, origin, reads, affinities, .. } = walk;
        let reads = ByReg::new(function.regs.len(), &reads);
        (Values { dominators, live, written, reads, origin }, affinities)
    }

    /// What registers are ordered by: each comes after those that dominate it.
    pub(super) fn order(&self, reg: VReg) -> (u32, u32, VReg) {
        let Moment { block, at } = self.written[reg].unwrap_or(Moment { block: 0, at: 0 });
        (block, at, reg)
    }

    /// True when `above` is written on all ways to where `below` is, or at the same time.
    pub(super) fn dominates(&self, above: VReg, below: VReg) -> bool {
        let (Some(above), Some(below)) = (self.written[above], self.written[below]) else { return false };
        let block = |moment: Moment| self.dominators.preorder()[moment.block as usize];
        above <= below && self.dominators.dominates(block(above), block(below))
    }

    /// True when both hold the same value wherever both are live.
    pub(super) fn same(&self, a: VReg, b: VReg) -> bool {
        self.origin[a].unwrap_or(a) == self.origin[b].unwrap_or(b)
    }

    /// True when `above`, which dominates `reg`, is live behind where `reg` is written, or both are
    /// written at once.
    pub(super) fn intersect(&self, reg: VReg, above: VReg) -> bool {
        let Some(moment) = self.written[reg] else { return true };
        if self.written[above] == Some(moment) {
            return true;
        }
        let block = self.dominators.preorder()[moment.block as usize];
        if self.live.is_live_out(block, above) {
            return true;
        }
        let reads = self.reads.of(above);
        let end = reads.partition_point(|read| read.block <= moment.block);
        end > 0 && reads[end - 1] > moment
    }
}

/// How often each register is written; guarded instructions count more, since what they write is no
/// single value.
fn count_writes(function: &Function, isolation: &Isolation) -> SecondaryMap<VReg, u32> {
    let mut writes = SecondaryMap::with_capacity(function.regs.len());
    let moves = isolation.entry.values().chain(isolation.exit.values());
    moves.flatten().for_each(|(to, _)| writes[*to] += 1);
    for &block in &function.layout {
        let content = &function.blocks[block];
        content.phis.iter().for_each(|phi| writes[phi.dst] += 1);
        for inst in &content.insts {
            inst.for_each_def(|reg| writes[reg] += if inst.guard.is_none() { 1 } else { 2 });
        }
    }
    writes
}

/// The walk over the function in the order of the dominator tree.
struct Walk<'a> {
    function: &'a Function,
    writes: SecondaryMap<VReg, u32>,
    written: SecondaryMap<VReg, Option<Moment>>,
    origin: SecondaryMap<VReg, Option<VReg>>,
    reads: Vec<(VReg, Moment)>,
    affinities: Vec<Affinity>,
    /// Results of assembly and the operands that live in their registers.
    ties: Vec<(VReg, VReg)>,
    depth: u32,
}

impl Walk<'_> {
    fn block(&mut self, block: u32, id: BlockId, isolation: &Isolation, dominators: &DomTree) {
        let content = &self.function.blocks[id];
        for phi in &content.phis {
            self.write(phi.dst, Moment { block, at: PHIS });
            for (from, value) in &phi.incoming {
                let edge = Moment { block: dominators.preorder_number(*from).unwrap_or(u32::MAX), at: ON_EDGE };
                self.reads.extend(value.vreg().map(|reg| (reg, edge)));
            }
        }
        self.moves(&isolation.entry[id], Moment { block, at: ENTRY });
        let mut at = FIRST;
        for inst in &content.insts {
            self.inst(inst, Moment { block, at });
            at += 2;
        }
        self.moves(&isolation.exit[id], Moment { block, at });
        self.reads.extend(content.terminator.used().map(|reg| (reg, Moment { block, at: at + 2 })));
    }

    fn write(&mut self, reg: VReg, moment: Moment) {
        if self.writes[reg] == 1 {
            self.written[reg] = Some(moment);
        }
    }

    fn moves(&mut self, moves: &Moves, moment: Moment) {
        for (to, from) in moves {
            self.write(*to, Moment { at: moment.at + 1, ..moment });
            if let Some(from) = from.vreg() {
                self.reads.push((from, moment));
                self.copy(from, *to);
            }
        }
    }

    fn inst(&mut self, inst: &Inst, moment: Moment) {
        match inst.opcode {
            Opcode::Asm(asm) => self.asm_reads(inst, &self.function.asms[asm].ties, moment),
            _ => inst.for_each_use(|reg| self.reads.push((reg, moment))),
        }
        inst.for_each_def(|reg| self.write(reg, Moment { at: moment.at + 1, ..moment }));
        if let Some((from, to)) = inst.as_copy() {
            self.copy(from, to);
        }
        self.tie();
    }

    /// Assembly may write a result before it reads its last operand. Operands that are tied to results are copied
    /// there before it.
    fn asm_reads(&mut self, inst: &Inst, ties: &[(u32, u32)], moment: Moment) {
        let late = Moment { at: moment.at + 2, ..moment };
        for (at, operand) in inst.operands.iter().enumerate().skip(usize::from(inst.defs)) {
            let tie = ties.iter().find(|(_, input)| *input as usize == at);
            let when = if tie.is_some() { moment } else { late };
            operand.for_each_reg(&mut |reg| self.reads.extend(reg.vreg().map(|reg| (reg, when))));
            let output = tie.and_then(|(output, _)| inst.operands[*output as usize].vreg());
            if let (Some(to), Some(from)) = (output, operand.vreg()) {
                self.ties.push((to, from));
            }
        }
        inst.guard.into_iter().for_each(|(guard, _)| self.reads.push((guard, late)));
    }

    /// Notes the copies to results of assembly, which are removed when both are one register.
    fn tie(&mut self) {
        for (to, from) in std::mem::take(&mut self.ties) {
            self.affinity(from, to);
        }
    }

    /// Notes a copy of one value: `from` has been seen, since it dominates `to`.
    fn copy(&mut self, from: VReg, to: VReg) {
        let are_values = self.written[from].is_some() && self.written[to].is_some();
        if are_values && self.function.regs[to] == self.function.regs[from] {
            self.origin[to] = Some(self.origin[from].unwrap_or(from));
        }
        self.affinity(from, to);
    }

    /// Notes that a copy goes away when both registers become one, if the rules of classes allow it.
    /// What guarded instructions write stays alone.
    fn affinity(&mut self, from: VReg, to: VReg) {
        let class = self.function.regs[to];
        let are_values = self.written[from].is_some() && self.written[to].is_some();
        if are_values && class == self.function.regs[from] && class.info().coalesceable {
            self.affinities.push(Affinity { depth: self.depth, to, from });
        }
    }
}
