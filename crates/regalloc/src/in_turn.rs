//! Registers in turn: what lives within a block moves to a register that is free by when it can be written, if there is one.
//! Who writes a register then seldom has to wait for one that still reads it, and the order behind allocation has more to choose
//! from.
//!
//! When that is the block's data flow says, with as many instructions at a time as may be: what the order behind allocation could
//! make of it. A load whose address is there early gets a register that is not waiting for another load to be read; what comes
//! late gets one that has just become free and leaves the others to those. A node moves to where nobody is in its way, so that
//! none is left without a register.

use crate::code::{Access, FileCode, Mention};
use crate::fatpoint::FatPoint;
use crate::graph::Graph;
use crate::weights::BlockWeights;
use oriole_isa::{Arch, latency};
use oriole_ori::{EntityRef, Function, InstId};
use std::cmp::Reverse;

/// Where a node is named: in no block that has been seen, or in several; else the block's place in the layout.
const NOWHERE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;
/// Cycles until a result of fixed latency is there.
const FIXED: u32 = 4;
/// Cycles until an instruction of variable latency has read its registers.
const READ: u32 = 12;
/// Registers that become free within so many cycles are free at the same time.
const NEAR: u32 = 16;

/// A cycle of a block, by its place in the layout.
#[derive(Clone, Copy)]
struct Moment {
    block: u32,
    cycle: u32,
}

impl Moment {
    /// Of what no block has named.
    const NEVER: Moment = Moment { block: NOWHERE, cycle: 0 };

    /// The cycle of a block: all others are over.
    fn within(self, block: u32) -> u32 {
        if self.block == block { self.cycle } else { 0 }
    }
}

/// What is known of a physical register: from when on it may be written, and the line that has named it last, from 1.
#[derive(Clone, Copy)]
struct Past {
    free: Moment,
    named: u32,
}

/// The function whose file is allocated.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) func: &'a Function,
    pub(crate) arch: Arch,
    pub(crate) weights: &'a BlockWeights,
    pub(crate) lines: &'a FileCode,
}

/// Goes through a file's lines.
struct InTurn<'a> {
    graph: &'a mut Graph,
    fat_point: FatPoint,
    /// By node: the block that names it, if there is but one and the node may move; until its first write.
    homes: Vec<u32>,
    /// By virtual register, of all files: when it can be read.
    results: Vec<Moment>,
    /// By physical register.
    pasts: [Past; 256],
    block: u32,
    line: u32,
}

/// Move what lives within a block, in the order of the code. What the blocks take then, each as often as it is executed.
pub(crate) fn in_turn(graph: &mut Graph, fat_point: FatPoint, place: Place<'_>) -> f32 {
    let Place { func, arch, weights, lines } = place;
    let mut walk = InTurn {
        homes: homes(graph, lines),
        graph,
        fat_point,
        results: vec![Moment::NEVER; func.regs().len()],
        pasts: [Past { free: Moment::NEVER, named: 0 }; 256],
        block: 0,
        line: 0,
    };
    let mut cycles = 0.0;
    for (at, block) in (0..).zip(func.layout()) {
        walk.block = at;
        let mut accesses = lines.lines(at as usize).peekable();
        let mut end = 0;
        for inst in func.block_insts(*block) {
            let access = accesses.next_if(|access| access.line.inst == *inst);
            end = end.max(walk.inst(func, arch, *inst, access));
        }
        cycles += weights.of(*block) * end as f32;
    }
    cycles
}

/// By node: the place of the block that names it, if there is but one and the node may move.
fn homes(graph: &Graph, lines: &FileCode) -> Vec<u32> {
    let mut homes = vec![NOWHERE; graph.nodes.len()];
    for at in 0..lines.blocks() {
        for mention in lines.lines(at).flat_map(|access| access.reads.iter().chain(access.writes)) {
            let node = graph.owner[mention.first as usize] as usize;
            let is_home = (homes[node] == NOWHERE || homes[node] == at as u32) && !graph.nodes[node].fixed;
            homes[node] = if is_home { at as u32 } else { SEVERAL };
        }
    }
    homes
}

/// Registers of all values that live within a block, of the block where they are most.
pub(crate) fn most_within_a_block(graph: &Graph, lines: &FileCode) -> u16 {
    let mut registers = vec![0u16; lines.blocks()];
    for (home, node) in homes(graph, lines).into_iter().zip(&graph.nodes) {
        if let Some(of_block) = registers.get_mut(home as usize) {
            *of_block = of_block.saturating_add(node.width.into());
        }
    }
    registers.into_iter().max().unwrap_or(0)
}

impl InTurn<'_> {
    /// Goes on by an instruction. When its results are there.
    fn inst(&mut self, func: &Function, arch: Arch, inst: InstId, access: Option<Access<'_>>) -> u32 {
        let data = &func[inst];
        if data.is_undef() {
            return 0;
        }
        let mut cycle = 0;
        func.for_each_use(inst, |read| cycle = cycle.max(self.results[read.reg.index()].within(self.block)));
        let is_variable = data.is_machine() && latency::is_variable_opcode(data.opcode, arch);
        let (until_read, until_there) = if is_variable { (READ, data.opcode.estimate()) } else { (0, FIXED) };
        if let Some(Access { reads, writes, .. }) = access {
            self.line += 1;
            reads.iter().for_each(|read| self.name(read, cycle + until_read));
            writes.iter().for_each(|write| self.settle(write, cycle));
            for component in writes.iter().flat_map(|write| write.components()) {
                let number = self.graph.physical(component);
                let past = number.and_then(|number| self.pasts.get(usize::from(number)));
                cycle = past.map_or(cycle, |past| cycle.max(past.free.within(self.block)));
            }
            writes.iter().for_each(|write| self.name(write, cycle + until_there));
        }
        let there = Moment { block: self.block, cycle: cycle + until_there };
        func.for_each_def(inst, |write| self.results[write.reg.index()] = there);
        there.cycle
    }

    /// The registers of a mention are not free before `cycle`.
    fn name(&mut self, mention: &Mention, cycle: u32) {
        for component in mention.components() {
            let number = self.graph.physical(component);
            let Some(past) = number.and_then(|number| self.pasts.get_mut(usize::from(number))) else { continue };
            let cycle = past.free.within(self.block).max(cycle);
            *past = Past { free: Moment { block: self.block, cycle }, named: self.line };
        }
    }

    /// Move the node that is written at `cycle` at the earliest, if that is its first write.
    fn settle(&mut self, write: &Mention, cycle: u32) {
        let node = self.graph.owner[write.first as usize];
        let home = std::mem::replace(&mut self.homes[node as usize], SEVERAL);
        let Some(before) = self.graph.nodes[node as usize].physical.filter(|_| home == self.block) else { return };
        self.graph.unplace(node);
        let age = |number: u16| {
            let past = self.pasts[usize::from(number)];
            let free = past.free.within(self.block);
            (free.max(cycle), Reverse(free / NEAR), past.named)
        };
        let first = self.fat_point.choose_by(self.graph, node, age).unwrap_or(before);
        self.graph.place(node, first);
    }
}
