//! The dependence graph of one block.

use crate::code::{Accesses, ByRegister, Op, Reg};
use crate::memory_order::MemoryOrder;
use crate::timing;
use oriole_checkpoint::checkpoint;
use oriole_graph::Rows;
use oriole_isa::chip::Demand;
use oriole_isa::latency::{Read, Write};
use oriole_isa::{CodeOrder, Kinds};
use smallvec::SmallVec;

/// An edge to a later instruction: it issues at least `latency` cycles after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) to: u32,
    pub(crate) latency: u32,
}

/// Edges from each instruction of a block, and how many come into each.
pub(crate) struct Graph {
    pub(crate) edges: Rows<Edge>,
    pub(crate) incoming: Vec<u32>,
    /// By instruction: what it takes of which unit.
    pub(crate) demands: Vec<Demand>,
}

impl Graph {
    /// By instruction: those that it waits for.
    pub(crate) fn waits(&self) -> Rows<u32> {
        let count = self.incoming.len();
        let edges = (0..count as u32).flat_map(|from| self.edges.row(from as usize).iter().map(move |e| (e.to, from)));
        Rows::new(count, edges)
    }

    /// Nothing in an order of all instructions, each by its place there, stands before what it waits for.
    pub(crate) fn allows(&self, ranks: &[u32]) -> bool {
        let ahead = |from: usize, to: u32| ranks[from] < ranks[to as usize];
        (0..ranks.len()).all(|from| self.edges.row(from).iter().all(|edge| ahead(from, edge.to)))
    }
}

/// Why an instruction follows an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause<R> {
    /// It reads what the earlier one writes.
    ReadAfterWrite(R),
    /// It writes what the earlier one writes.
    WriteAfterWrite(R),
    /// It writes what the earlier one reads.
    WriteAfterRead(R),
    /// Both access memory, and may meet there.
    Memory,
    /// One of them has an effect on the warp's threads or the outside, and the other must stay on its side.
    Effect,
    /// Nothing moves across the earlier one.
    Behind,
    /// Nothing moves across the later one.
    Ahead,
}

/// Who is told of edges. That of the scheduler does not look at causes, which cost nothing then.
pub(crate) trait Edges {
    /// An edge between two instructions, with its latency; not from one to itself.
    fn add(&mut self, from: u32, to: u32, latency: u32, cause: Cause<Reg>);
}

/// Edges as they are found: where from, where to.
struct Found<'a> {
    found: &'a mut Vec<(u32, Edge)>,
    incoming: Vec<u32>,
}

/// Builds the graphs of one block after the other, in the same room.
pub(crate) struct GraphBuilder {
    states: ByRegister<RegState>,
    found: Vec<(u32, Edge)>,
}

/// So many definitions of one register are told apart. Were it as many as there are guarded ones, edges would grow with the
/// square of their number.
const MOST_DEFS: usize = 16;

/// What has been seen of one register so far.
#[derive(Clone, Default)]
pub(crate) struct RegState {
    /// Definitions that may still hold: the last unguarded one and the guarded ones after it, up to [`MOST_DEFS`] of them.
    defs: SmallVec<[(u32, Option<Write>); 2]>,
    /// Reads since the last definition.
    uses: SmallVec<[(u32, Option<Read>); 4]>,
}

struct Finder<'a, I, E> {
    ops: &'a [Op<I>],
    accesses: &'a Accesses,
    graph: &'a mut E,
    regs: &'a mut ByRegister<RegState>,
    memory: MemoryOrder<'a>,
    /// The last instruction that all later ones follow, and the first behind it.
    fence: Option<u32>,
    behind_fence: u32,
    /// The last instruction with an effect on the warp's threads or the outside.
    effect: Option<u32>,
    of_warp: OfWarp,
}

/// What threads that act as a warp have put into uniform registers since the last instruction with an effect, and what has
/// come of it there. Threads that are apart share these registers, and the warp may turn from some to others at a barrier.
#[derive(Default)]
struct OfWarp {
    regs: Vec<Reg>,
    /// Who has written or read them.
    insts: Vec<u32>,
}

impl GraphBuilder {
    /// For blocks that touch no more registers than so many.
    pub(crate) fn of(registers: usize) -> Self {
        GraphBuilder { states: ByRegister::of(registers), found: Vec::new() }
    }

    /// The graph of a block.
    pub(crate) fn build<I>(&mut self, ops: &[Op<I>], accesses: &Accesses) -> Graph {
        self.found.clear();
        self.found.reserve(4 * ops.len());
        let mut graph = Found { found: &mut self.found, incoming: vec![0; ops.len()] };
        find(ops, accesses, &mut self.states, &mut graph);
        let incoming = graph.incoming;
        Graph {
            edges: Rows::new(ops.len(), self.found.iter().copied()),
            incoming,
            demands: ops.iter().map(|op| op.demand).collect(),
        }
    }
}

/// Tell `graph` of all edges of a block.
pub(crate) fn find<I, E: Edges>(ops: &[Op<I>], accesses: &Accesses, regs: &mut ByRegister<RegState>, graph: &mut E) {
    let mut finder = Finder {
        ops,
        accesses,
        graph,
        regs,
        memory: MemoryOrder::default(),
        fence: None,
        behind_fence: 0,
        effect: None,
        of_warp: OfWarp::default(),
    };
    for at in 0..ops.len() as u32 {
        checkpoint(4);
        finder.order(at);
        finder.registers(at);
    }
    finder.regs.forget(|state| {
        state.defs.clear();
        state.uses.clear();
    });
}

/// Nothing moves across it: what follows is out of this block's sight, or depends on it by no register.
pub(crate) fn is_fence<I>(op: &Op<I>) -> bool {
    op.leaves || op.opcode.order() == CodeOrder::Fence
}

impl Edges for Found<'_> {
    fn add(&mut self, from: u32, to: u32, latency: u32, _: Cause<Reg>) {
        self.found.push((from, Edge { to, latency }));
        self.incoming[to as usize] += 1;
    }
}

/// No instruction follows itself.
fn edge(graph: &mut impl Edges, from: u32, to: u32, latency: u32, cause: Cause<Reg>) {
    if from != to {
        graph.add(from, to, latency, cause);
    }
}

impl<I, E: Edges> Finder<'_, I, E> {
    /// The two keep their order.
    fn keep(&mut self, from: u32, to: u32, cause: Cause<Reg>) {
        edge(self.graph, from, to, 1, cause);
    }

    fn order(&mut self, at: u32) {
        let op = &self.ops[at as usize];
        if let Some(fence) = self.fence {
            self.keep(fence, at, Cause::Behind);
        }
        if is_fence(op) {
            for before in self.behind_fence..at {
                self.keep(before, at, Cause::Ahead);
            }
            (self.fence, self.behind_fence) = (Some(at), at + 1);
            self.memory = MemoryOrder::default();
            self.effect = None;
            self.of_warp = OfWarp::default();
            return;
        }
        if op.has_order {
            if let Some(before) = self.effect {
                self.keep(before, at, Cause::Effect);
            }
            for before in self.memory.take() {
                self.keep(before, at, Cause::Effect);
            }
            for before in std::mem::take(&mut self.of_warp).insts {
                self.keep(before, at, Cause::Effect);
            }
            self.effect = Some(at);
        }
        self.memory_order(at);
        self.uniform_order(at);
    }

    /// A uniform register that a warp writes is read on the same side of instructions with an effect as before.
    fn uniform_order(&mut self, at: u32) {
        let op = &self.ops[at as usize];
        let is_of_warp = op.opcode.order() == CodeOrder::Warp;
        if !is_of_warp && self.of_warp.regs.is_empty() {
            return;
        }
        let is_uniform = op.opcode.signature().first().is_some_and(|result| result.kinds.contains(Kinds::UR));
        let begins = is_uniform && is_of_warp;
        let regs = &mut self.of_warp.regs;
        let goes_on = self.accesses.uses(op).iter().any(|access| regs.contains(&access.reg));
        if !begins && !goes_on {
            return;
        }
        if is_uniform {
            regs.extend(self.accesses.defs(op).iter().map(|access| access.reg));
        }
        self.of_warp.insts.push(at);
        if let Some(effect) = self.effect {
            self.keep(effect, at, Cause::Effect);
        }
    }

    fn memory_order(&mut self, at: u32) {
        let op = &self.ops[at as usize];
        let Some(access) = self.accesses.memory(op) else { return };
        if let Some(effect) = self.effect {
            self.keep(effect, at, Cause::Effect);
        }
        let graph = &mut *self.graph;
        self.memory.access(at, access, |before| edge(graph, before, at, 1, Cause::Memory));
    }

    fn registers(&mut self, at: u32) {
        let (ops, accesses, graph) = (self.ops, self.accesses, &mut *self.graph);
        let op = &ops[at as usize];
        for access in accesses.uses(op) {
            let RegState { defs, uses } = self.regs.touch(access.reg);
            for (def, write) in defs.iter() {
                let producer = &ops[*def as usize];
                let known = || timing::raw(*write, access.read);
                let latency = if producer.variable { producer.opcode.estimate() } else { known() };
                edge(graph, *def, at, latency, Cause::ReadAfterWrite(access.reg));
            }
            uses.push((at, access.read));
        }
        for access in accesses.defs(op) {
            let state = self.regs.touch(access.reg);
            for (def, write) in &state.defs {
                let producer = &ops[*def as usize];
                let known = || timing::waw(*write, access.write);
                let latency = if producer.variable { producer.opcode.estimate() } else { known() };
                edge(graph, *def, at, latency, Cause::WriteAfterWrite(access.reg));
            }
            for (user, read) in &state.uses {
                edge(graph, *user, at, timing::war(*read, access.write), Cause::WriteAfterRead(access.reg));
            }
            // What follows a write that follows all of these follows them too.
            if !op.guarded || state.defs.len() >= MOST_DEFS {
                state.defs.clear();
                state.uses.clear();
            }
            state.defs.push((at, access.write));
        }
    }
}
