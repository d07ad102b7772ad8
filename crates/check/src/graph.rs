//! The control-flow graph over all code of a cubin: basic blocks, calls and returns.

use crate::program::{Condition, LineId, Program};
use crate::transfer::{Transfer, Transfers};
use oriole_cubin::Cubin;
use smallvec::SmallVec;

/// Number of a block.
pub(crate) type BlockId = u32;

/// How control gets from one block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    /// By a jump or by going on, with what is known to hold then.
    Jump(Condition),
    /// From a call into a function.
    Call,
}

/// An edge to a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// Where it goes.
    pub(crate) to: BlockId,
    /// How.
    pub(crate) kind: EdgeKind,
}

/// What the end of a block does besides its edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing.
    Plain,
    /// It calls; control comes back to `back`, if there is code.
    Call {
        /// What it may call is known: the edges of the kind [`EdgeKind::Call`].
        known: bool,
        /// The block after the call.
        back: Option<BlockId>,
    },
    /// It returns.
    Return,
}

/// A basic block.
#[derive(Debug)]
pub(crate) struct Block {
    /// Its first instruction.
    pub(crate) first: LineId,
    /// One past its last.
    pub(crate) end: LineId,
    /// Edges to others, without those of returns.
    pub(crate) edges: SmallVec<[Edge; 2]>,
    /// What its last instruction does.
    pub(crate) ends: End,
}

/// The graph.
#[derive(Debug)]
pub(crate) struct Graph {
    /// Blocks in the order of the code.
    pub(crate) blocks: Vec<Block>,
    /// For each block that returns, the calls (blocks) that it returns to.
    pub(crate) returns: Vec<SmallVec<[BlockId; 2]>>,
    /// For each block that calls, the blocks that return to it.
    pub(crate) returned_by: Vec<SmallVec<[BlockId; 2]>>,
    /// Instructions whose targets are not known.
    pub(crate) unknown_targets: Vec<LineId>,
    /// Jumps and calls to where no instruction begins.
    pub(crate) nowhere: Vec<LineId>,
}

/// Steps that finding the returns of functions may take for each instruction.
const STEPS_PER_LINE: usize = 200;

impl Graph {
    /// The graph of a program.
    pub(crate) fn new(program: &Program, cubin: &Cubin) -> Graph {
        let mut transfers = Transfers::new(program, cubin);
        let starts = starts(program, cubin, &transfers);
        transfers.resolve_calls(cubin, &starts);
        let block_of = |line: LineId| starts.binary_search(&line).ok().map(|block| block as BlockId);
        let ends = starts.iter().copied().skip(1).chain([program.lines.len() as LineId]);
        let mut graph = Graph {
            blocks: Vec::with_capacity(starts.len()),
            returns: vec![SmallVec::new(); starts.len()],
            returned_by: vec![SmallVec::new(); starts.len()],
            unknown_targets: transfers.unknown.clone(),
            nowhere: transfers.nowhere.clone(),
        };
        for (&first, end) in starts.iter().zip(ends) {
            graph.blocks.push(block(first, end, &transfers.of(end - 1), &block_of));
        }
        graph.find_returns(STEPS_PER_LINE * program.lines.len());
        graph
    }

    /// The block that begins with an instruction.
    pub(crate) fn block_at(&self, line: LineId) -> Option<BlockId> {
        self.blocks.binary_search_by_key(&line, |block| block.first).ok().map(|block| block as BlockId)
    }

    /// The blocks that may come next in the same function: where a call comes back to, rather than what it calls.
    pub(crate) fn nexts(&self, block: &Block) -> impl Iterator<Item = &Block> {
        self.next_ids(block).map(|next| &self.blocks[next as usize])
    }

    /// The numbers of [`Graph::nexts`].
    pub(crate) fn next_ids(&self, block: &Block) -> impl Iterator<Item = BlockId> + use<> {
        let back = match block.ends {
            End::Call { back, .. } => back,
            End::Plain | End::Return => None,
        };
        let jumps = block.edges.iter().filter(|edge| edge.kind != EdgeKind::Call).map(|edge| edge.to);
        jumps.chain(back).collect::<SmallVec<[BlockId; 3]>>().into_iter()
    }

    /// Which returns belong to which calls: those that the callee reaches without leaving the function.
    fn find_returns(&mut self, mut steps: usize) {
        let mut calls: Vec<(BlockId, BlockId)> = Vec::new();
        for (caller, block) in self.blocks.iter().enumerate() {
            let callees = block.edges.iter().filter(|edge| edge.kind == EdgeKind::Call);
            calls.extend(callees.map(|callee| (callee.to, caller as BlockId)));
        }
        calls.sort_unstable();
        let mut seen = vec![BlockId::MAX; self.blocks.len()];
        for of_one in calls.chunk_by(|a, b| a.0 == b.0) {
            let callee = of_one[0].0;
            let mut work = vec![callee];
            while let Some(at) = work.pop() {
                if std::mem::replace(&mut seen[at as usize], callee) == callee || steps == 0 {
                    continue;
                }
                steps -= 1;
                let block = &self.blocks[at as usize];
                match block.ends {
                    End::Return => self.returns[at as usize].extend(of_one.iter().map(|(_, caller)| *caller)),
                    End::Call { back, .. } => work.extend(back),
                    End::Plain => {}
                }
                let jumps = block.edges.iter().filter(|edge| edge.kind != EdgeKind::Call);
                work.extend(jumps.map(|edge| edge.to));
            }
        }
        for (block, callers) in self.returns.iter().enumerate() {
            for caller in callers {
                self.returned_by[*caller as usize].push(block as BlockId);
            }
        }
    }

    /// Blocks in reverse postorder from `roots`, as a position for each block; those not reached come last.
    pub(crate) fn order(&self, roots: &[BlockId]) -> Vec<u32> {
        let count = self.blocks.len();
        let mut position = vec![u32::MAX; count];
        let mut visited = vec![false; count];
        let mut next = count as u32;
        for &root in roots.iter().rev() {
            let mut stack: Vec<(BlockId, usize)> = vec![(root, 0)];
            if std::mem::replace(&mut visited[root as usize], true) {
                continue;
            }
            while let Some((at, child)) = stack.pop() {
                match self.successor(at, child) {
                    Some(to) => {
                        stack.push((at, child + 1));
                        if !std::mem::replace(&mut visited[to as usize], true) {
                            stack.push((to, 0));
                        }
                    }
                    None => {
                        next -= 1;
                        position[at as usize] = next;
                    }
                }
            }
        }
        position
    }

    /// The successors one by one: edges, then the block after a call.
    fn successor(&self, at: BlockId, child: usize) -> Option<BlockId> {
        let block = &self.blocks[at as usize];
        match (block.edges.get(child), block.ends) {
            (Some(edge), _) => Some(edge.to),
            (None, End::Call { back, .. }) if child == block.edges.len() => back,
            _ => None,
        }
    }
}

/// First instructions of blocks: entries of functions, targets of jumps, and what follows a transfer.
fn starts(program: &Program, cubin: &Cubin, transfers: &Transfers) -> Vec<LineId> {
    let mut starts: Vec<LineId> = program.sections.iter().filter(|s| s.first < s.end).map(|s| s.first).collect();
    let entries = cubin.functions.iter().filter_map(|f| program.at_file_section(f.section, f.offset));
    starts.extend(entries);
    for (line, transfer) in transfers.all() {
        starts.extend(transfer.targets.iter().map(|(target, _)| *target));
        starts.extend(transfer.callees.iter().copied());
        starts.extend(program.next(line));
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

fn block(first: LineId, end: LineId, last: &Transfer, block_of: &impl Fn(LineId) -> Option<BlockId>) -> Block {
    let mut edges: SmallVec<[Edge; 2]> = SmallVec::new();
    let jumps = last
        .targets
        .iter()
        .filter_map(|(target, condition)| Some(Edge { to: block_of(*target)?, kind: EdgeKind::Jump(*condition) }));
    edges.extend(jumps);
    let mut ends = End::Plain;
    if last.returns {
        ends = End::Return;
    } else if last.calls {
        let callees = last.callees.iter().filter_map(|callee| block_of(*callee));
        edges.extend(callees.map(|to| Edge { to, kind: EdgeKind::Call }));
        ends = End::Call { known: !last.callees.is_empty(), back: last.back.and_then(block_of) };
    }
    Block { first, end, edges, ends }
}
