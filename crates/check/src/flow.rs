//! The dataflow: states at the starts of all blocks, the smallest that hold on every path.
//!
//! Calls are followed into the callee with the events of the caller marked by the call; a return gives each
//! call its own events back, as far as they are still pending, and what the callee has left to be done.

use crate::graph::{Block, BlockId, Edge, EdgeKind, End, Graph};
use crate::program::{Condition, LineId, Program};
use crate::state::{Event, OWN, State};
use crate::step::{Lapse, Machine, tells_threads};
use oriole_checkpoint::checkpoint;
use oriole_isa::access::Register;
use oriole_isa::latency;
use std::collections::BTreeSet;

/// Events that may be looked at for each instruction before the work is given up.
const WORK_PER_LINE: u64 = 20_000;
/// The same for small programs, in all.
const LEAST_WORK: u64 = 200_000_000;

/// What the dataflow found.
pub(crate) struct Flow {
    /// State at the start of each block; `None` where it is not reached.
    pub(crate) entry: Vec<Option<State>>,
    /// The work became too much; the states are not final.
    pub(crate) gave_up: bool,
}

struct Solver<'p> {
    program: &'p Program,
    graph: &'p Graph,
    entry: Vec<Option<State>>,
    /// State at the end of blocks that call or return.
    exit: Vec<Option<State>>,
    position: Vec<u32>,
    by_position: Vec<BlockId>,
    queue: BTreeSet<u32>,
}

/// Finds the states, starting from `roots`.
pub(crate) fn solve(program: &Program, graph: &Graph, roots: &[BlockId]) -> Flow {
    let position = graph.order(roots);
    let mut by_position = vec![0; graph.blocks.len()];
    for (block, &at) in position.iter().enumerate().filter(|(_, at)| **at != u32::MAX) {
        by_position[at as usize] = block as BlockId;
    }
    let count = graph.blocks.len();
    let (entry, exit, queue) = (vec![None; count], vec![None; count], BTreeSet::new());
    let mut solver = Solver { program, graph, entry, exit, position, by_position, queue };
    for &root in roots {
        solver.arrive(root, &State::default());
    }
    let gave_up = !solver.run();
    Flow { entry: solver.entry, gave_up }
}

impl Solver<'_> {
    /// False if it became too much work.
    fn run(&mut self) -> bool {
        let mut machine = Machine::new(self.program);
        let most = (self.program.lines.len() as u64 * WORK_PER_LINE).max(LEAST_WORK);
        while let Some(at) = self.queue.pop_first() {
            checkpoint(16);
            let block = self.by_position[at as usize];
            let out = self.pass(block, &mut machine);
            self.leave(block, out);
            if machine.work > most {
                return false;
            }
        }
        true
    }

    fn pass(&self, block: BlockId, machine: &mut Machine<'_>) -> State {
        let Block { first, end, .. } = self.graph.blocks[block as usize];
        if let Some(state) = &self.entry[block as usize] {
            machine.enter(state);
        }
        for line in first..end {
            machine.issue(line, |_| {});
        }
        machine.leave()
    }

    fn arrive(&mut self, block: BlockId, state: &State) {
        let entry = &mut self.entry[block as usize];
        let changed = match entry {
            Some(entry) => entry.join(state),
            None => {
                *entry = Some(state.clone());
                true
            }
        };
        if changed {
            self.queue.insert(self.position[block as usize]);
        }
    }

    /// Hands the state at the end of a block on.
    fn leave(&mut self, from: BlockId, out: State) {
        let graph = self.graph;
        let block = &graph.blocks[from as usize];
        let last = &self.program.lines[block.end as usize - 1].inst;
        for edge in &block.edges {
            let mut arriving = along(edge, from, &out);
            let jumps = graph.blocks[edge.to as usize].first != block.end;
            let more = latency::cycles_to_next(last, jumps) - latency::cycles_to_next(last, false);
            if more > 0 {
                arriving.events.iter_mut().for_each(|event| event.issued = event.issued.saturating_sub(more.into()));
            }
            self.arrive(edge.to, &arriving);
        }
        match block.ends {
            End::Plain => {}
            End::Call { known, back } => {
                self.exit[from as usize] = Some(out);
                for &returning in &graph.returned_by[from as usize] {
                    self.come_back(from, returning);
                }
                if !known && let (Some(back), Some(out)) = (back, self.exit[from as usize].clone()) {
                    // The callee waits for nothing, for all that is known.
                    self.arrive(back, &out);
                }
            }
            End::Return => {
                self.exit[from as usize] = Some(out);
                for &caller in &graph.returns[from as usize] {
                    self.come_back(caller, from);
                }
            }
        }
    }

    /// Control comes back to a call by the return at the end of a block.
    fn come_back(&mut self, caller: BlockId, returning: BlockId) {
        let End::Call { back: Some(back), .. } = self.graph.blocks[caller as usize].ends else { return };
        let (Some(before), Some(after)) = (&self.exit[caller as usize], &self.exit[returning as usize]) else { return };
        let state = returned(caller, before, after);
        self.arrive(back, &state);
    }
}

/// The state that an edge hands on.
fn along(edge: &Edge, from: BlockId, out: &State) -> State {
    let events = out.events.iter().copied();
    match edge.kind {
        EdgeKind::Jump(Condition::ALWAYS) => out.clone(),
        EdgeKind::Jump(holds) => {
            State { events: events.filter(|event| !is_elsewhere(event, holds)).collect(), set: out.set }
        }
        EdgeKind::Call => State::sorted(events.map(|event| Event { site: from, ..event }).collect(), out.set),
    }
}

/// The event happened in other threads than those that go where `holds`.
fn is_elsewhere(event: &Event, holds: Condition) -> bool {
    let register = Register::from_index(event.register.into());
    event.condition.excludes(holds) && register.is_some_and(|register| tells_threads(event.condition, register))
}

/// The state after the call at the end of block `caller`, where `before` was true, and `after` is at a return.
fn returned(caller: BlockId, before: &State, after: &State) -> State {
    let mut events = Vec::new();
    let place = |event: &Event| (event.register, event.is_write, event.line);
    for event in &after.events {
        if event.site == OWN {
            events.push(*event);
        } else if event.site == caller {
            let from = before.events.partition_point(|other| place(other) < place(event));
            let same = before.events[from..].iter().take_while(|other| place(other) == place(event));
            events.extend(same.filter(|o| o.slot == event.slot).map(|other| Event { site: other.site, ..*event }));
        }
    }
    State::sorted(events, after.set)
}

/// Goes through a block once more, and tells `report` what is done too early, and by which instruction. The state at
/// its end.
pub(crate) fn review(
    machine: &mut Machine<'_>,
    block: &Block,
    entry: &State,
    mut report: impl FnMut(LineId, Lapse),
) -> State {
    machine.enter(entry);
    for line in block.first..block.end {
        machine.issue(line, |lapse| report(line, lapse));
    }
    machine.leave()
}
