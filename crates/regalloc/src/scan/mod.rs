//! Registers given out along the code, where colouring finds none though no more values are live than there are registers:
//! wide values need neighbours, and what stands between them moves aside.
//!
//! A colour holds for a whole life, a place here until somebody else needs it. Blocks are walked in reverse postorder, each from
//! the places where the block before it has left its values (a scan of the tree of blocks, as in Mesa's NAK; Hack, "Register
//! Allocation for Programs in SSA Form", 2007). What colouring found is where values go if they can. A result that finds no
//! window takes the one that costs the fewest moves, and who is there moves to a free place right before. Where two ways
//! meet in a block that has its places already, copies at the end of the one that comes later put all in order.

mod choice;
mod copies;
mod ends;
mod file;
mod last_reads;
mod rewrite;

use crate::belady::{Anchor, Scene};
use crate::code::{Access, Mention};
use crate::graph::{Graph, PhysicalSet};
use crate::node::{Component, Node};
use crate::weights::BlockWeights;
use copies::{Copy, Move, in_turn};
use file::File;
use last_reads::LastReads;
use oriole_ori::{Block, Function, InstId, PackedOption, SecondaryMap};
use smallvec::SmallVec;

pub(crate) use rewrite::carry_out;

/// A register that an instruction names, and where its value begins then.
#[derive(Clone, Copy)]
struct Named {
    inst: InstId,
    node: Node,
    base: u16,
    is_def: bool,
}

/// Where each value is at each place, and what moves.
#[derive(Default)]
pub(crate) struct Placement {
    named: Vec<Named>,
    copies: SecondaryMap<Block, Vec<(Anchor, Copy)>>,
    /// On the way from one block to another, which have other ways.
    edges: Vec<(Block, Block, Vec<Copy>)>,
}

/// How often somebody is moved for one line, tries that fail counted.
const PATIENCE: u32 = 128;

/// What is live where a block begins, and where it is.
type Entry = Vec<(Component, u16)>;

/// Registers for a function, `None` where some value finds no place. `graph` has what colouring found; `usable` are the
/// registers that may be given out.
pub(crate) fn place(
    scene: &Scene<'_>,
    weights: &BlockWeights,
    graph: &Graph,
    usable: PhysicalSet,
) -> Option<Placement> {
    let Scene { func, lines, flow, .. } = *scene;
    let all_reached = func.layout().iter().all(|block| flow.cfg.is_reachable(*block));
    if !all_reached || !func.iter_insts().all(|(_, inst)| may_be_scanned(func, inst)) || scene.limits.is_some() {
        return None;
    }
    let mut places = SecondaryMap::new();
    func.layout().iter().enumerate().for_each(|(place, block)| places[*block] = place);
    let mut scan = Scan {
        scene,
        weights,
        graph,
        usable,
        file: File::new(&lines.nodes, lines.components as usize),
        entries: SecondaryMap::new(),
        dies_at: vec![0; lines.components as usize],
        now: 0,
        claimed: [0; 256],
        results: SmallVec::new(),
        moved: Vec::new(),
        header: None,
        headers: vec![PackedOption::default(); lines.components as usize],
        promised: vec![0; lines.components as usize],
        patience: 0,
        placement: Placement::default(),
    };
    let mut last_reads = LastReads::new(lines.components as usize);
    for block in flow.cfg.rpo() {
        scan.block(*block, places[*block], &mut last_reads)?;
    }
    Some(scan.placement)
}

/// What is written while others run must not move meanwhile, and what calls pass on has fixed places.
fn may_be_scanned(func: &Function, inst: InstId) -> bool {
    let Some(call) = func[inst].call.expand().map(|call| &func[call]) else { return !func[inst].is_hold() };
    let mut passed = call.args.iter().chain(&call.results).filter_map(|operand| operand.as_piece());
    passed.all(|(reg, _)| func[reg].is_fixed())
}

struct Scan<'a> {
    scene: &'a Scene<'a>,
    weights: &'a BlockWeights,
    graph: &'a Graph,
    usable: PhysicalSet,
    file: File<'a>,
    entries: SecondaryMap<Block, Option<Entry>>,
    /// By component: the line at which it was read for the last time.
    dies_at: Vec<u32>,
    /// Counts the lines, from 1.
    now: u32,
    /// By register: the last line that writes it.
    claimed: [u32; 256],
    /// What the line writes.
    results: SmallVec<[Written; 2]>,
    /// Who moves for the sake of the line, and where that one began.
    moved: Vec<(Node, u16)>,
    /// Where the innermost loop around the block begins.
    header: Option<Block>,
    /// By component: the start of a loop that was looked at last of those where it is live.
    headers: Vec<PackedOption<Block>>,
    /// By component: the register in which that start finds it.
    promised: Vec<u16>,
    /// How often somebody may yet be moved for the line.
    patience: u32,
    placement: Placement,
}

/// What an instruction writes of a register.
struct Written {
    node: Node,
    parts: SmallVec<[Component; 4]>,
    /// Where the register begins, once that is known.
    base: u16,
}

impl<'a> Scan<'a> {
    fn block(&mut self, block: Block, place: usize, last_reads: &mut LastReads) -> Option<()> {
        let Scene { lines, loops, .. } = *self.scene;
        let header = loops.innermost(block).map(|inner| loops[inner].header);
        match &self.entries[block] {
            Some(entry) => self.file.set(entry, &self.graph.owner),
            None => self.begin(block)?,
        }
        if let Some(start) = header.filter(|_| header != self.header) {
            for (part, register) in self.entries[start].iter().flatten() {
                self.headers[*part as usize] = start.into();
                self.promised[*part as usize] = *register;
            }
        }
        self.header = header;
        last_reads.read(lines, place, self.scene.live_out(block));
        for (at, access) in lines.lines(place).enumerate() {
            self.line(block, &access, last_reads.of_line(at))?;
        }
        self.end(block)
    }

    /// What is live where the function begins is not written, and may be anywhere.
    fn begin(&mut self, block: Block) -> Option<()> {
        self.file.set(&[], &self.graph.owner);
        self.now += 1;
        self.patience = PATIENCE;
        let mut parts: Vec<Component> = self.scene.live_in(block).collect();
        parts.sort_unstable();
        let owner = &self.graph.owner;
        for group in parts.chunk_by(|a, b| owner[*a as usize] == owner[*b as usize]) {
            self.settle(Written { node: owner[group[0] as usize], parts: group.into(), base: 0 }, None)?;
        }
        self.write(&[]);
        Some(())
    }

    /// One instruction: who has to move before it does, where what it reads is, and where its results go.
    fn line(&mut self, block: Block, access: &Access<'_>, (last, unread): (&[Component], &[Component])) -> Option<()> {
        self.now += 1;
        self.patience = PATIENCE;
        last.iter().for_each(|part| self.dies_at[*part as usize] = self.now);
        let inst = access.line.inst;
        if let Some(call) = access.line.call {
            self.clear_for_call(call)?;
        }
        for written in self.written(access) {
            if self.stays(&written, inst) {
                // It may have moved for another result.
                let base = self.file.base(written.node);
                self.claim_window(Written { base, ..written })?;
            } else {
                self.settle(written, access.line.copied)?;
            }
        }
        let copies = self.moves_of_line()?;
        self.placement.copies[block].extend(copies.into_iter().map(|copy| (Some(inst), copy)));
        let owner = &self.graph.owner;
        let read = |mention: &Mention| {
            let node = owner[mention.first as usize];
            Named { inst, node, base: self.file.base(node), is_def: false }
        };
        self.placement.named.extend(access.reads.iter().map(read));
        let write = |written: &Written| Named { inst, node: written.node, base: written.base, is_def: true };
        self.placement.named.extend(self.results.iter().map(write));
        last.iter().for_each(|part| self.file.remove(*part, owner[*part as usize]));
        self.write(unread);
        Some(())
    }

    /// What a line writes, by register.
    fn written(&self, access: &Access<'_>) -> SmallVec<[Written; 2]> {
        let mut found: SmallVec<[Written; 2]> = SmallVec::new();
        for mention in access.writes {
            let node = self.graph.owner[mention.first as usize];
            match found.iter_mut().find(|written| written.node == node) {
                Some(written) => written.parts.extend(mention.components()),
                None => found.push(Written { node, parts: mention.components().collect(), base: 0 }),
            }
        }
        found
    }

    /// Whether a result has to be where its register is: other parts of that live on, or the instruction reads and writes the
    /// same operand.
    fn stays(&self, written: &Written, inst: InstId) -> bool {
        let (node, data) = (written.node, &self.scene.func[inst]);
        let lives_on = self.file.live_parts(node).any(|part| !self.dies(part));
        let reg = self.scene.lines.nodes[node as usize].vreg;
        let in_one = |(at, operand): (usize, oriole_ori::Operand)| {
            data.is_use(at) && operand.as_piece().is_some_and(|(other, _)| other == reg)
        };
        lives_on || data.defs().any(in_one)
    }

    /// Where the next round of the innermost loop finds a component, if it does.
    fn promised(&self, part: Component) -> Option<u16> {
        let returns = self.header.is_some() && self.headers[part as usize].expand() == self.header;
        returns.then(|| self.promised[part as usize])
    }

    /// The line reads it for the last time.
    fn dies(&self, part: Component) -> bool {
        self.dies_at[part as usize] == self.now
    }

    /// The copies before the line.
    fn moves_of_line(&mut self) -> Option<Vec<Copy>> {
        let file = &self.file;
        let moves: Vec<Move> =
            self.moved.drain(..).flat_map(|(node, from)| file.moves(node, from, file.base(node))).collect();
        in_turn(moves, self.usable, |register| file.holder(register).is_none())
    }

    /// The results are there, but for what nobody reads.
    fn write(&mut self, unread: &[Component]) {
        for Written { node, parts, base } in self.results.drain(..) {
            self.file.rebase(node, base);
            parts.iter().filter(|part| !unread.contains(part)).for_each(|part| self.file.add(*part, node));
        }
    }
}
