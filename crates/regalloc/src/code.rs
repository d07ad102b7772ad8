//! The function as one register file sees it: its registers as nodes, and the instructions that name them.
//!
//! Operands are taken apart here, once; liveness and interference read these tables.

use crate::graph::PhysicalSet;
use crate::node::{Component, Node, NodeData};
use crate::weights::BlockWeights;
use oriole_checkpoint::checkpoint;
use oriole_isa::{Opcode, RegFile};
use oriole_ori::{CallId, Clobbers, EntityRef, Function, InstId, Operand, OperandKind, RegMask, VReg, VRegFlags};
use std::ops::Range;

/// Components that an instruction reads or writes together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mention {
    pub(crate) first: Component,
    pub(crate) count: u8,
}

impl Mention {
    /// The components.
    pub(crate) fn components(self) -> std::ops::Range<Component> {
        self.first..self.first + Component::from(self.count)
    }
}

/// An instruction that names registers of the file, or calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) inst: InstId,
    /// Where its reads end and its writes begin in the file's mentions.
    reads_end: u32,
    end: u32,
    /// Of a plain copy: the component that the first written one is a copy of.
    pub(crate) copied: Option<Component>,
    pub(crate) call: Option<CallId>,
    /// What it writes may also keep its old value.
    pub(crate) partly: bool,
}

/// Nodes and instructions of one file.
#[derive(Debug)]
pub(crate) struct FileCode {
    pub(crate) file: RegFile,
    /// In the order of the first mention.
    pub(crate) nodes: Vec<NodeData>,
    /// How many components the nodes have.
    pub(crate) components: Component,
    lines: Vec<Line>,
    mentions: Vec<Mention>,
    /// By place in the layout: where the block's lines end.
    block_ends: Vec<u32>,
    /// While an instruction is read: where its reads end in `mentions`.
    reads_end: u32,
}

/// A line with what it reads and what it writes.
pub(crate) struct Access<'c> {
    pub(crate) line: &'c Line,
    pub(crate) reads: &'c [Mention],
    pub(crate) writes: &'c [Mention],
}

impl FileCode {
    /// With room for so many instructions.
    fn new(file: RegFile, insts: usize) -> Self {
        FileCode {
            file,
            nodes: Vec::with_capacity(insts),
            components: 0,
            lines: Vec::with_capacity(insts),
            // Most read two registers and write one.
            mentions: Vec::with_capacity(3 * insts),
            block_ends: Vec::new(),
            reads_end: 0,
        }
    }

    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> usize {
        self.block_ends.len()
    }

    /// The lines of the block at place `at` of the layout, last one first.
    pub(crate) fn lines_backwards(&self, at: usize) -> impl Iterator<Item = Access<'_>> {
        self.lines(at).rev()
    }

    /// The lines of the block at place `at` of the layout.
    pub(crate) fn lines(&self, at: usize) -> impl DoubleEndedIterator<Item = Access<'_>> + ExactSizeIterator {
        let start = at.checked_sub(1).map_or(0, |before| self.block_ends[before]) as usize;
        (start..self.block_ends[at] as usize).map(|number| {
            checkpoint(1);
            let line = &self.lines[number];
            let begin = number.checked_sub(1).map_or(0, |before| self.lines[before].end) as usize;
            let (middle, end) = (line.reads_end as usize, line.end as usize);
            Access { line, reads: &self.mentions[begin..middle], writes: &self.mentions[middle..end] }
        })
    }

    /// Some call.
    pub(crate) fn call(&self) -> Option<CallId> {
        self.lines.iter().find_map(|line| line.call)
    }

    /// The registers of the file that a call site changes.
    pub(crate) fn clobbers(&self, func: &Function, call: CallId) -> PhysicalSet {
        let mask = match &func[call].clobbers {
            Clobbers::Mask(mask) => *mask,
            Clobbers::ByCallee => RegMask::ALL,
        };
        physical_set(&mask, self.file)
    }

    fn add_node(&mut self, func: &Function, reg: VReg) -> Node {
        let data = &func[reg];
        let number = self.nodes.len() as Node;
        let physical = data.physical.filter(|_| data.is_fixed());
        let temporary = data.flags.contains(VRegFlags::SPILLED);
        self.nodes.push(NodeData {
            vreg: reg,
            base: self.components,
            width: data.components,
            align: data.align,
            physical,
            fixed: physical.is_some(),
            // Temporaries of spill code cannot be spilled again.
            spill_cost: if temporary { f32::INFINITY } else { 0.0 },
        });
        self.components += u32::from(data.components);
        number
    }
}

const NO_NODE: u32 = u32::MAX;

/// Some register files of a function.
#[derive(Debug)]
pub(crate) struct Code {
    files: Vec<FileCode>,
    /// Of every register in one of the files that the code names: its node there.
    node_of: Vec<Node>,
}

impl Code {
    /// Go through the function once, for the registers of `files`.
    pub(crate) fn new(func: &Function, weights: &BlockWeights, files: &[RegFile]) -> Self {
        let node_of = vec![NO_NODE; func.regs().len()];
        // Nearly all of a function names general registers.
        let insts = |file: RegFile| if file == RegFile::R { func.inst_count() } else { 0 };
        let mut code = Code { files: files.iter().map(|file| FileCode::new(*file, insts(*file))).collect(), node_of };
        for block in func.layout() {
            let weight = weights.of(*block);
            for inst in func.block_insts(*block) {
                code.inst(func, *inst, weight);
            }
            for file in &mut code.files {
                file.block_ends.push(file.lines.len() as u32);
            }
        }
        code
    }

    /// The tables of one file out of those that were asked for.
    pub(crate) fn take(&mut self, file: RegFile) -> FileCode {
        let at = self.files.iter().position(|code| code.file == file);
        at.map_or_else(|| FileCode::new(file, 0), |at| self.files.swap_remove(at))
    }

    /// The node of a register, if it belongs to one of the files and the code names it.
    pub(crate) fn node(&self, reg: VReg) -> Option<Node> {
        self.node_of.get(reg.index()).copied().filter(|node| *node != NO_NODE)
    }

    /// Component `k` of a register of `file`, whose nodes are `nodes`; nothing for other files and what the code does not name.
    pub(crate) fn component(
        &self,
        func: &Function,
        file: RegFile,
        nodes: &[NodeData],
        (reg, k): (VReg, u8),
    ) -> Option<Component> {
        let node = self.node(reg).filter(|_| func[reg].file() == file)?;
        Some(nodes[node as usize].base + Component::from(k))
    }

    fn inst(&mut self, func: &Function, inst: InstId, weight: f32) {
        // The files that it names, a bit each.
        let mut named = 0u8;
        func.for_each_use(inst, |read| named |= self.mention(func, (read.reg, read.range), weight, named));
        for at in members(named) {
            let file = &mut self.files[at];
            file.reads_end = file.mentions.len() as u32;
        }
        func.for_each_def(inst, |write| named |= self.mention(func, (write.reg, write.range), weight, named));
        let data = &func[inst];
        let (call, partly) = (data.call.expand(), data.writes_partly());
        for at in members(if call.is_some() { (1 << self.files.len()) - 1 } else { named }) {
            let file = &mut self.files[at];
            let (start, end) = (file.lines.last().map_or(0, |line| line.end), file.mentions.len() as u32);
            // Of a file that is not named this is what it was at an earlier line.
            let reads_end = file.reads_end.max(start);
            file.lines.push(Line { inst, reads_end, end, copied: None, call, partly });
        }
        if let Some((reg, k)) = copy_of(func, inst) {
            self.note_copy(func, reg, k);
        }
    }

    /// The line just added copies from component `k` of `reg`.
    fn note_copy(&mut self, func: &Function, reg: VReg, k: u8) {
        let (node, from) = (self.node(reg), func[reg].file());
        let Some(file) = self.files.iter_mut().find(|code| code.file == from) else { return };
        if let (Some(node), Some(line)) = (node, file.lines.last_mut()) {
            line.copied = Some(file.nodes[node as usize].base + Component::from(k));
        }
    }

    /// Adds to the line at hand, which has `named` some files before. The bit of the register's file, if that is one of ours.
    fn mention(&mut self, func: &Function, (reg, range): (VReg, Range<u8>), weight: f32, named: u8) -> u8 {
        let data = &func[reg];
        // The last is what most registers are in.
        let Some(at) = self.files.iter().rposition(|code| code.file == data.file()) else { return 0 };
        let file = &mut self.files[at];
        if named >> at & 1 == 0 {
            file.reads_end = file.mentions.len() as u32;
        }
        let node = &mut self.node_of[reg.index()];
        if *node == NO_NODE {
            *node = file.add_node(func, reg);
        }
        let node = &mut file.nodes[*node as usize];
        node.spill_cost += weight * f32::from(data.components);
        let first = node.base + Component::from(range.start);
        file.mentions.push(Mention { first, count: range.len() as u8 });
        1 << at
    }
}

/// The places of the bits that are set.
fn members(mut set: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = set.checked_ilog2().map(|_| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(at)
    })
}

/// For a plain copy: the source register and its first component.
fn copy_of(func: &Function, inst: InstId) -> Option<(VReg, u8)> {
    match move_operands(func, inst)?.1.kind() {
        OperandKind::Reg(reg, piece) => Some((reg, piece.range(func[reg].components).start)),
        _ => None,
    }
}

/// Destination and source of an unguarded register move without flags.
pub(crate) fn move_operands(func: &Function, inst: InstId) -> Option<(Operand, Operand)> {
    let data = &func[inst];
    if !matches!(data.opcode, Opcode::MOV | Opcode::UMOV) || data.guard().is_some() {
        return None;
    }
    let (to, from) = (*data.operands.first()?, *data.operands.get(1)?);
    // From a uniform register to a general one it is no copy within a file.
    let same_file = func[to.as_reg()?].file() == func[from.as_reg()?].file();
    (!from.has_flags() && same_file).then_some((to, from))
}

/// The part of a mask that lies in one file.
pub(crate) fn physical_set(mask: &RegMask, file: RegFile) -> PhysicalSet {
    match file {
        RegFile::R => mask.r,
        RegFile::UR => [mask.ur as u64, (mask.ur >> 64) as u64, 0, 0],
        RegFile::P => [u64::from(mask.p), 0, 0, 0],
        RegFile::UP => [u64::from(mask.up), 0, 0, 0],
        RegFile::B => [u64::from(mask.b), 0, 0, 0],
        RegFile::SB => [0; 4],
    }
}
