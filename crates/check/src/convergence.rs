//! Convergence barriers: who waits has been noted, and nobody is noted twice.
//!
//! A second dataflow, function by function, from the point of view of one thread: what each of `B0` to `B15` holds. At a
//! `BSYNC` the barrier holds threads on every path, among them this one; at a `BSSY` it holds none; a `BREAK` takes this
//! thread out of one that holds it; up to sm_75 it has been cleared before it is set; no call changes one that holds threads; at a return none holds any; and who waits at
//! one has been taken out of all that were set after it. `docs/convergence.md` says why this is enough.

use crate::checked::Checked;
use crate::convergence_state::{BARRIERS, Held, State, threads};
use crate::finding::{Finding, Kind};
use crate::graph::{Block, BlockId, EdgeKind, End, Graph};
use crate::program::{Condition, Line, LineId, Program};
use crate::uniform::Same;
use oriole_checkpoint::checkpoint;
use oriole_isa::{Field, Inst, Opcode, RegFile, Role, Trap, Value};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What a function with the standard interface may change: ptxas's code keeps B6 and up.
const STANDARD: u16 = 0x003f;

/// Findings about the functions that start at these blocks, and those that they call.
pub(crate) fn check(checked: &Checked<'_>, graph: &Graph, roots: &[BlockId]) -> Vec<Finding> {
    let program = checked.program;
    let calls = (0..graph.blocks.len() as BlockId).filter(|block| comes_back(graph, *block));
    let called = calls.flat_map(|block| callees(&graph.blocks[block as usize]));
    let starts: BTreeSet<BlockId> = roots.iter().copied().chain(called).collect();
    let adds = program.arch.adds_to_barriers();
    let mut functions =
        Functions { program, graph, adds, changed: FxHashMap::default(), written: FxHashMap::default() };
    // A function changes what its callees change; rounds until none is found to change more.
    while functions.round(&starts) {}
    let mut lapses = BTreeMap::new();
    for &start in &starts {
        let entry = functions.solve(start);
        for (&block, state) in &entry {
            let mut report = |line: LineId, lapse: String| {
                lapses.entry(line).or_insert(lapse);
            };
            functions.pass(&graph.blocks[block as usize], state.clone(), &mut report);
        }
    }
    let finding = |(line, lapse)| checked.single(Kind::Convergence, line, Vec::new(), lapse);
    lapses.into_iter().map(finding).collect()
}

/// The block ends with a call that comes back. ptxas also writes calls that never do, in place of jumps within a function.
fn comes_back(graph: &Graph, block: BlockId) -> bool {
    !graph.returned_by[block as usize].is_empty()
}

/// The first blocks of the functions that a block calls.
fn callees(block: &Block) -> impl Iterator<Item = BlockId> + '_ {
    block.edges.iter().filter(|edge| edge.kind == EdgeKind::Call).map(|edge| edge.to)
}

struct Functions<'p> {
    program: &'p Program,
    graph: &'p Graph,
    /// `BSSY` adds threads to those that the barrier has.
    adds: bool,
    /// By first block: the barriers that the function may come back with changed.
    changed: FxHashMap<BlockId, u16>,
    /// By first block: the registers that the function and its callees write.
    written: FxHashMap<BlockId, Same>,
}

impl Functions<'_> {
    /// Look at all functions once; whether one changes more than was known.
    fn round(&mut self, starts: &BTreeSet<BlockId>) -> bool {
        let mut grown = false;
        for &start in starts {
            let (mut changed, mut written) = (0, Same::NONE);
            for (block, state) in self.solve(start) {
                let block = &self.graph.blocks[block as usize];
                let lines = &self.program.lines[block.first as usize..block.end as usize];
                lines.iter().for_each(|line| written.add_written(line));
                written.add(self.written_by_callees(block));
                if block.ends == End::Return {
                    changed |= self.pass(block, state, &mut |_, _| {}).changed();
                }
            }
            let known = self.changed.entry(start).or_default();
            grown |= changed & !*known != 0;
            *known |= changed;
            grown |= self.written.entry(start).or_default().add(written);
        }
        grown
    }

    /// The registers that the functions which a block calls write.
    fn written_by_callees(&self, block: &Block) -> Same {
        let mut all = Same::NONE;
        callees(block).filter_map(|to| self.written.get(&to)).for_each(|written| {
            all.add(*written);
        });
        all
    }

    /// The states at the starts of the blocks of a function.
    fn solve(&self, start: BlockId) -> BTreeMap<BlockId, State> {
        let mut entry = BTreeMap::from([(start, State::default())]);
        let mut work = BTreeSet::from([start]);
        while let Some(at) = work.pop_first() {
            checkpoint(16);
            let block = &self.graph.blocks[at as usize];
            let Some(state) = entry.get(&at).cloned() else { continue };
            let state = self.pass(block, state, &mut |_, _| {});
            let jumps = block.edges.iter().filter_map(|edge| match edge.kind {
                EdgeKind::Jump(condition) => Some((edge.to, condition)),
                EdgeKind::Call => (!comes_back(self.graph, at)).then_some((edge.to, Condition::ALWAYS)),
            });
            let back = match block.ends {
                End::Call { back, .. } => back,
                End::Plain | End::Return => None,
            };
            for (to, condition) in jumps.chain(back.map(|back| (back, Condition::ALWAYS))) {
                let mut arriving = state.under(condition);
                if self.program.lines[block.end as usize - 1].inst.opcode == Opcode::BRA {
                    let goes_on = self.graph.blocks[to as usize].first == block.end;
                    arriving.part(threads(&self.program.lines[block.end as usize - 1]), !goes_on);
                }
                if state.same.decides(condition) {
                    self.forsake(to, &mut arriving);
                }
                let grown = match entry.get_mut(&to) {
                    Some(known) => known.join(&arriving),
                    None => {
                        entry.insert(to, arriving);
                        true
                    }
                };
                if grown {
                    work.insert(to);
                }
            }
        }
        entry
    }

    /// The whole warp goes to a block together: where nobody waits any more at a barrier, it holds nobody.
    fn forsake(&self, to: BlockId, state: &mut State) {
        for barrier in 0..BARRIERS {
            if state.held[barrier].holds() && !self.is_used_behind(to, barrier) {
                state.set(barrier, Held::NOBODY);
            }
        }
    }

    /// Some way from the start of a block comes to a `BSYNC` or `BREAK` of the barrier as it is there.
    fn is_used_behind(&self, start: BlockId, barrier: usize) -> bool {
        let (mut seen, mut work) = (BTreeSet::from([start]), vec![start]);
        while let Some(at) = work.pop() {
            checkpoint(16);
            let block = &self.graph.blocks[at as usize];
            let insts = (block.first..block.end).map(|line| &self.program.lines[line as usize].inst);
            match insts.filter(|inst| self::barrier(inst, Role::Bar) == Some(barrier)).map(|inst| inst.opcode).next() {
                Some(Opcode::BSSY) => {}
                Some(_) => return true,
                None => work.extend(self.graph.next_ids(block).filter(|next| seen.insert(*next))),
            }
        }
        false
    }

    /// The block begins with a trap.
    fn traps(&self, block: BlockId) -> bool {
        let first = &self.program.lines[self.graph.blocks[block as usize].first as usize].inst;
        first.opcode == Opcode::BPT && first.get(Field::TRAP) == Trap::TRAP
    }

    /// Through a block; `report` is told what is wrong in it.
    fn pass(&self, block: &Block, mut state: State, report: &mut impl FnMut(LineId, String)) -> State {
        for at in block.first..block.end {
            let line = &self.program.lines[at as usize];
            if !line.never {
                step(self.adds, line, &mut state, &mut |lapse| report(at, lapse));
                state.same.step(line, self.program.arch);
            }
        }
        let last = block.end - 1;
        match block.ends {
            // Who comes back traps, and the kernel ends: a function that does not return.
            End::Call { back: Some(back), .. } if self.traps(back) => {}
            End::Call { known, .. } => {
                let known_change = |to| self.changed.get(&to).copied().unwrap_or(0);
                let changed = if known { callees(block).fold(0, |all, to| all | known_change(to)) } else { STANDARD };
                for barrier in numbers(changed) {
                    let holds = state.held[barrier].holds();
                    if holds {
                        report(last, format!("the function may change B{barrier}, which holds threads here"));
                    }
                    // One finding is enough.
                    state.set(barrier, if holds { Held::UNKNOWN } else { Held::NOBODY });
                }
                state.same = if known { state.same.without(self.written_by_callees(block)) } else { Same::NONE };
            }
            End::Return => {
                let leaving = state.returned(threads(&self.program.lines[last as usize]));
                for barrier in (0..BARRIERS).filter(|barrier| leaving[*barrier].holds()) {
                    report(last, format!("B{barrier} holds threads of the function that returns"));
                }
            }
            End::Plain => {}
        }
        state
    }
}

fn numbers(mask: u16) -> impl Iterator<Item = usize> {
    (0..BARRIERS).filter(move |barrier| mask >> barrier & 1 != 0)
}

/// One instruction. `adds`: `BSSY` adds threads.
fn step(adds: bool, line: &Line, state: &mut State, report: &mut impl FnMut(String)) {
    let inst = &line.inst;
    match inst.opcode {
        Opcode::BSSY => {
            let Some(barrier) = barrier(inst, Role::Bar) else { return };
            if state.held[barrier].holds() {
                report(format!("B{barrier} is set although it still holds threads on some path"));
            }
            if adds && state.cleared >> barrier & 1 == 0 {
                report(format!(
                    "B{barrier} is set and not cleared before, so threads are added that it may still hold"
                ));
            }
            state.begin(barrier);
        }
        Opcode::BSYNC | Opcode::BREAK => {
            let Some(barrier) = barrier(inst, Role::Bar) else { return };
            leave(line, barrier, state, report);
        }
        Opcode::BMOV => barrier_move(line, state),
        _ => state.registers(line),
    }
}

/// The thread waits at the barrier, or is taken out of it. Threads that have all left it by `BREAK` go on at its `BSYNC`, as ptxas's code has them
/// behind `BRA.CONV`.
fn leave(line: &Line, barrier: usize, state: &mut State, report: &mut impl FnMut(String)) {
    let held = state.held[barrier];
    let waits_for_nobody = line.inst.opcode == Opcode::BSYNC && state.broken >> barrier & 1 != 0;
    if held.may_lack() && !waits_for_nobody {
        let what = if held.holds() { "on some path" } else { "on any path" };
        report(format!("B{barrier} is not set {what} to here"));
    }
    if line.inst.opcode == Opcode::BSYNC {
        let inside = numbers(state.inside[barrier]).find(|other| state.held[*other].certainly_holds());
        if let Some(other) = inside {
            report(format!("waits at B{barrier} while B{other}, which was set after it, still holds the thread"));
        }
    }
    let threads = threads(line);
    state.leave(barrier, threads);
    if line.inst.opcode == Opcode::BREAK && !threads.are_some() {
        state.broken |= 1 << barrier;
    }
}

fn barrier_move(line: &Line, state: &mut State) {
    let inst = &line.inst;
    let register = |role: Role| match operand(inst, role) {
        Some(Value::Reg(RegFile::R, number)) => Some(number),
        _ => None,
    };
    let always = !line.guard.is_known();
    match (barrier(inst, Role::D), barrier(inst, Role::A)) {
        (Some(to), _) => {
            let value = register(Role::A).and_then(|from| state.note(from)).filter(|_| always);
            state.set(to, value.unwrap_or(Held::UNKNOWN));
        }
        (None, Some(from)) => {
            let value = state.held[from];
            state.registers(line);
            if let Some(to) = register(Role::D).filter(|_| always) {
                state.write_note(to, value);
            }
            if inst.get(Field::CLEAR) {
                state.set(from, if always { Held::NOBODY } else { Held::UNKNOWN });
                state.cleared |= u16::from(always) << from;
            }
        }
        (None, None) => state.registers(line),
    }
}

fn operand(inst: &Inst, role: Role) -> Option<Value> {
    Some(inst.operands.get(inst.opcode.position(role)?)?.value)
}

/// The convergence barrier that an operand is.
fn barrier(inst: &Inst, role: Role) -> Option<usize> {
    match operand(inst, role)? {
        Value::Reg(RegFile::B, number) => Some(usize::from(number)).filter(|number| *number < BARRIERS),
        _ => None,
    }
}
