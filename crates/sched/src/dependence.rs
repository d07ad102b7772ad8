//! The dependence graph of one block.

use crate::code::{END_OF_R, Op, REGISTERS, Reg};
use crate::memory::MemoryAccess;
use crate::timing;
use oriole_graph::Rows;
use oriole_isa::latency::{Read, Write};
use oriole_isa::{Effects, Opcode};
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
}

/// Edges as they are found: where from, where to.
struct Edges {
    found: Vec<(u32, Edge)>,
    incoming: Vec<u32>,
}

/// Memory accesses that are compared with a new one; beyond that the oldest stand for all.
const MEMORY_WINDOW: usize = 64;

/// What has been seen of one register so far.
#[derive(Clone, Default)]
struct RegState {
    /// Definitions that may still hold: the last unguarded one and the guarded ones after it.
    defs: SmallVec<[(u32, Option<Write>); 2]>,
    /// Reads since the last definition.
    uses: SmallVec<[(u32, Option<Read>); 4]>,
}

/// The states of all registers; those that a block has touched are emptied after it, so that many small blocks cost
/// no more than one large one.
pub(crate) struct RegStates {
    states: Vec<RegState>,
    touched: Vec<Reg>,
}

impl RegStates {
    pub(crate) fn new() -> Self {
        RegStates { states: vec![RegState::default(); REGISTERS], touched: Vec::new() }
    }

    fn of(&mut self, reg: Reg) -> &mut RegState {
        let state = &mut self.states[usize::from(reg)];
        if state.defs.is_empty() && state.uses.is_empty() {
            self.touched.push(reg);
        }
        state
    }

    fn clear(&mut self) {
        for reg in self.touched.drain(..) {
            let state = &mut self.states[usize::from(reg)];
            state.defs.clear();
            state.uses.clear();
        }
    }
}

struct Builder<'a> {
    ops: &'a [Op],
    graph: Edges,
    regs: &'a mut RegStates,
    memory: Vec<(u32, MemoryAccess)>,
    /// The last instruction that all later ones follow.
    fence: Option<u32>,
    since_fence: Vec<u32>,
    /// The last instruction with an effect on the warp's threads or the outside.
    effect: Option<u32>,
}

/// Build the graph of a block.
pub(crate) fn build(ops: &[Op], regs: &mut RegStates) -> Graph {
    let graph = Edges { found: Vec::with_capacity(4 * ops.len()), incoming: vec![0; ops.len()] };
    let mut builder =
        Builder { ops, graph, regs, memory: Vec::new(), fence: None, since_fence: Vec::new(), effect: None };
    for at in 0..ops.len() as u32 {
        builder.order(at);
        builder.registers(at);
    }
    builder.regs.clear();
    let Edges { found, incoming } = builder.graph;
    Graph { edges: Rows::new(ops.len(), found.iter().copied()), incoming }
}

/// Opcodes that nothing moves across: convergence points, and what says that the registers of a warpgroup's
/// products may be used.
const FENCES: [Opcode; 5] = [Opcode::BSSY, Opcode::BSYNC, Opcode::BREAK, Opcode::BMOV, Opcode::WARPGROUP];

/// Nothing moves across it: what follows is out of this block's sight, or depends on it by no register.
fn is_fence(op: &Op) -> bool {
    op.leaves || op.terminator || FENCES.contains(&op.inst.opcode)
}

/// It must keep its place among others of its kind, and memory accesses stay on their side.
fn has_order(op: &Op) -> bool {
    op.has(Effects::SIDE_EFFECT) || op.has(Effects::CONVERGENT) || op.has(Effects::VOLATILE) || op.has(Effects::BRANCH)
}

impl Edges {
    fn edge(&mut self, from: u32, to: u32, latency: u32) {
        if from != to {
            self.found.push((from, Edge { to, latency }));
            self.incoming[to as usize] += 1;
        }
    }
}

impl Builder<'_> {
    fn edge(&mut self, from: u32, to: u32, latency: u32) {
        self.graph.edge(from, to, latency);
    }

    fn order(&mut self, at: u32) {
        let op = &self.ops[at as usize];
        if let Some(fence) = self.fence {
            self.edge(fence, at, 1);
        }
        if is_fence(op) {
            for before in std::mem::take(&mut self.since_fence) {
                self.edge(before, at, 1);
            }
            self.fence = Some(at);
            self.memory.clear();
            self.effect = None;
            return;
        }
        self.since_fence.push(at);
        if has_order(op) {
            if let Some(before) = self.effect {
                self.edge(before, at, 1);
            }
            for (before, _) in std::mem::take(&mut self.memory) {
                self.edge(before, at, 1);
            }
            self.effect = Some(at);
        }
        self.memory_order(at);
    }

    fn memory_order(&mut self, at: u32) {
        let op = &self.ops[at as usize];
        let Some(access) = MemoryAccess::of(op) else { return };
        if let Some(effect) = self.effect {
            self.edge(effect, at, 1);
        }
        if self.memory.len() >= MEMORY_WINDOW {
            for (before, _) in std::mem::take(&mut self.memory) {
                self.edge(before, at, 1);
            }
            // From here on this access stands for those before it.
            self.effect = Some(at);
        }
        let conflicts: Vec<u32> =
            self.memory.iter().filter(|(_, other)| other.conflicts(&access)).map(|(before, _)| *before).collect();
        for before in conflicts {
            self.edge(before, at, 1);
        }
        self.memory.push((at, access));
    }

    fn registers(&mut self, at: u32) {
        let (ops, graph) = (self.ops, &mut self.graph);
        let op = &ops[at as usize];
        for access in &op.uses {
            for (def, write) in &self.regs.states[usize::from(access.reg)].defs {
                let producer = &ops[*def as usize];
                let known = || timing::raw(*write, access.read);
                graph.edge(*def, at, if producer.variable { timing::estimate(producer) } else { known() });
            }
        }
        for access in &op.defs {
            let state = &self.regs.states[usize::from(access.reg)];
            for (def, write) in &state.defs {
                let producer = &ops[*def as usize];
                let known = || timing::waw(*write, access.write);
                graph.edge(*def, at, if producer.variable { timing::estimate(producer) } else { known() });
            }
            for (user, read) in &state.uses {
                graph.edge(*user, at, timing::war(*read, access.write));
            }
        }
        for access in &op.uses {
            self.regs.of(access.reg).uses.push((at, access.read));
        }
        let guarded = op.is_guarded();
        for access in &op.defs {
            let state = self.regs.of(access.reg);
            if !guarded {
                state.defs.clear();
                state.uses.clear();
            }
            state.defs.push((at, access.write));
        }
        debug_assert!(usize::from(END_OF_R) < REGISTERS);
    }
}
