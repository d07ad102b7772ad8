//! When the instructions of a block issue, and what each of them waits for: one warp, alone, with what comes at no fixed time
//! after as long as a scheduler assumes (caches hit).
//!
//! All of it is told by the control words, the tables of latencies and the instructions' registers, so that the code of any compiler can be
//! looked at. What is outstanding where the block begins is not known: waits for that cost nothing here.

use crate::graph::{Block, Graph};
use crate::program::{Line, LineId, Program};
use crate::report::{CheckError, chosen};
use crate::step::cycles_between;
use oriole_cubin::{Cubin, Function};
use oriole_isa::access::{SCOREBOARDS, Touch};
use oriole_isa::latency::{self, Slot};
use oriole_isa::{Arch, Inst, Opcode};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Cycles until an instruction of no fixed time has read its registers: what the order of instructions assumes as well.
const UNTIL_READ: u32 = 12;

/// The blocks of a function, in the order of the code.
#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    /// Its name.
    pub function: String,
    /// The target of its code.
    #[serde(skip)]
    pub arch: Arch,
    /// Its blocks that have instructions.
    pub blocks: Vec<BlockTimeline>,
}

/// One block, from the cycle in which its first instruction could issue.
#[derive(Clone, Debug, Serialize)]
pub struct BlockTimeline {
    /// Byte offset of its first instruction in the section.
    pub address: u64,
    /// Cycles until its last instruction has let the next one issue.
    pub cycles: u32,
    /// Its instructions.
    pub instructions: Vec<Issue>,
    /// The chain of instructions that made the last one issue as late as it does, by position in `instructions`.
    pub critical: Vec<usize>,
    /// The blocks of the function that may come next, by position in [`Timeline::blocks`]; behind a call the one that it comes back to.
    pub next: Vec<usize>,
}

/// An instruction that issues.
#[derive(Clone, Debug, Serialize)]
pub struct Issue {
    /// Byte offset in the section.
    pub address: u64,
    /// Its text.
    pub text: String,
    /// What the text says.
    #[serde(skip)]
    pub inst: Inst,
    /// The cycle in which it issues.
    pub cycle: u32,
    /// Cycles in which nothing issued before it.
    pub stalled: u32,
    /// Why not earlier; nothing where it comes right behind the one before.
    pub reason: Option<Reason>,
    /// The cycle in which its last result is there; nothing where it has none.
    pub done: Option<u32>,
    /// What it depends on within the block, latest first.
    pub bounds: Vec<Bound>,
}

/// Why an instruction issues no earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Reason {
    /// The stall count of the one before: as long as an earlier result of fixed latency takes.
    Latency {
        /// Whose, by position in the block.
        of: usize,
    },
    /// The stall count of the one before, and no register of this one asks for it: a later instruction's, or the one before ends
    /// something.
    StallCount,
    /// A scoreboard.
    Scoreboard {
        /// Its number.
        scoreboard: u8,
        /// What comes last of all that is outstanding there, by position in the block.
        of: usize,
        /// Its sources are waited for, not its results.
        sources: bool,
    },
}

/// A dependence on an earlier instruction of the block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bound {
    /// On which, by position.
    pub on: usize,
    /// The register.
    pub register: String,
    /// What is done to the register.
    pub kind: Dependence,
    /// The first cycle in which nothing of it would be in the way.
    pub from: u32,
}

/// What a later instruction does to a register that an earlier one names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dependence {
    /// It reads what the earlier one writes.
    Read,
    /// It writes what the earlier one writes.
    Overwrite,
    /// It writes what the earlier one reads.
    WriteAfterRead,
}

impl Dependence {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Dependence::Read => "read",
            Dependence::Overwrite => "overwrite",
            Dependence::WriteAfterRead => "write-after-read",
        }
    }
}

/// The timelines of the functions that `entries` name, or of all; with those that have sections of their own.
///
/// # Errors
/// Where the target has no latency tables, or a function does not exist.
pub fn timeline(cubin: &Cubin, entries: &[String]) -> Result<Vec<Timeline>, CheckError> {
    let (arch, functions) = chosen(cubin, entries)?;
    let program = Program::new(cubin, arch);
    let graph = Graph::new(&program, cubin);
    Ok(functions.into_iter().map(|function| of_function(&program, &graph, function)).collect())
}

fn of_function(program: &Program, graph: &Graph, function: &Function) -> Timeline {
    let section = program.number_of(function.section);
    let range = function.offset..function.offset.saturating_add(function.size);
    let blocks = graph.blocks.iter().filter(|block| {
        let first = program.lines.get(block.first as usize);
        first.is_some_and(|line| Some(line.section) == section && range.contains(&line.address))
    });
    // What stands behind the code, up to the next multiple of 128 bytes.
    let is_padding = |line: &Line| line.inst.opcode == Opcode::NOP;
    let is_code = |block: &&Block| !program.lines[block.first as usize..block.end as usize].iter().all(is_padding);
    let blocks: Vec<&Block> = blocks.filter(is_code).collect();
    let place = |line: LineId| blocks.binary_search_by_key(&line, |block| block.first).ok();
    let timelines = blocks.iter().map(|block| {
        let next = graph.nexts(block).filter_map(|next| place(next.first)).collect();
        of_block(program, block.first..block.end, next)
    });
    Timeline { function: function.name.clone(), arch: program.arch, blocks: timelines.collect() }
}

fn of_block(program: &Program, lines: std::ops::Range<LineId>, next: Vec<usize>) -> BlockTimeline {
    let mut walk = Walk {
        program,
        first: lines.start,
        issues: Vec::new(),
        outstanding: Default::default(),
        named: FxHashMap::default(),
        next: 0,
    };
    for line in lines.clone() {
        walk.issue(line);
    }
    let critical = critical(&walk.issues);
    let address = program.lines.get(lines.start as usize).map_or(0, |line| line.address);
    BlockTimeline { address, cycles: walk.next, instructions: walk.issues, critical, next }
}

/// What a scoreboard counts.
#[derive(Clone, Copy)]
struct Outstanding {
    of: usize,
    sources: bool,
    until: u32,
}

/// Who has named a register, by position in the block.
#[derive(Default)]
struct Named {
    /// The last that wrote it, and where it names it.
    write: Option<(usize, Slot)>,
    /// Those that have read it since.
    reads: Vec<(usize, Slot)>,
}

struct Walk<'p> {
    program: &'p Program,
    first: LineId,
    issues: Vec<Issue>,
    outstanding: [Vec<Outstanding>; SCOREBOARDS],
    /// By register ([`oriole_isa::access::Register::index`]): who has named it.
    named: FxHashMap<usize, Named>,
    /// The first cycle that the stall count of the last one leaves to the next.
    next: u32,
}

impl Walk<'_> {
    fn line(&self, at: usize) -> &Line {
        &self.program.lines[self.first as usize + at]
    }

    fn issue(&mut self, id: LineId) {
        let at = self.issues.len();
        let line = &self.program.lines[id as usize];
        let bounds = self.bounds(line);
        let idle = self.issues.last().map_or(0, |last| last.cycle + 1);
        let (mut cycle, mut reason) = (self.next, None);
        if cycle > idle {
            let latency = bounds.iter().find(|bound| !self.is_variable(bound) && bound.from >= cycle);
            reason = Some(latency.map_or(Reason::StallCount, |bound| Reason::Latency { of: bound.on }));
        }
        for wait in &line.touches.waits {
            let board = &mut self.outstanding[usize::from(wait.scoreboard)];
            board.sort_by_key(|one| one.until);
            let left = board.split_off(board.len().saturating_sub(usize::from(wait.left)));
            if let Some(last) = std::mem::replace(board, left).pop().filter(|last| last.until > cycle) {
                cycle = last.until;
                reason = Some(Reason::Scoreboard { scoreboard: wait.scoreboard, of: last.of, sources: last.sources });
            }
        }
        let variable = latency::is_variable(&line.inst, self.program.arch);
        let takes = |touch: &Touch| match variable {
            true => line.inst.opcode.estimate(),
            false => latency::longest(&line.inst, touch.slot, self.program.arch).into(),
        };
        let done = line.touches.writes.iter().map(|touch| cycle + takes(touch)).max();
        let ends = [done.unwrap_or(cycle + UNTIL_READ), cycle + UNTIL_READ];
        for ((scoreboard, until), sources) in line.touches.sets.into_iter().zip(ends).zip([false, true]) {
            if let Some(scoreboard) = scoreboard {
                self.outstanding[usize::from(scoreboard)].push(Outstanding { of: at, sources, until });
            }
        }
        for (touch, writes) in both(line) {
            let named = self.named.entry(touch.register.index()).or_default();
            match writes {
                true => *named = Named { write: Some((at, touch.slot)), reads: Vec::new() },
                false => named.reads.push((at, touch.slot)),
            }
        }
        self.next = cycle + u32::from(line.inst.control.cycles());
        let text = self.program.text(id);
        let stalled = cycle.saturating_sub(idle);
        let (address, inst) = (line.address, line.inst.clone());
        self.issues.push(Issue { address, text, inst, cycle, stalled, reason, done, bounds });
    }

    fn is_variable(&self, bound: &Bound) -> bool {
        latency::is_variable(&self.line(bound.on).inst, self.program.arch)
    }

    /// What the instruction depends on: of each register the last that wrote it, and those that have read it since.
    fn bounds(&self, later: &Line) -> Vec<Bound> {
        let mut bounds: Vec<Bound> = Vec::new();
        for (touch, writes) in both(later) {
            let Some(named) = self.named.get(&touch.register.index()) else { continue };
            for (on, place) in named.reads.iter().filter(|_| writes) {
                bounds.push(self.bound((*on, *place), (later, touch), Dependence::WriteAfterRead));
            }
            if let Some((on, place)) = named.write {
                let kind = if writes { Dependence::Overwrite } else { Dependence::Read };
                bounds.push(self.bound((on, place), (later, touch), kind));
            }
        }
        bounds.sort_by(|a, b| b.from.cmp(&a.from).then(a.on.cmp(&b.on)));
        bounds.dedup_by(|a, b| (a.on, a.kind, a.from) == (b.on, b.kind, b.from));
        bounds
    }

    fn bound(&self, (on, place): (usize, Slot), (later, touch): (&Line, &Touch), kind: Dependence) -> Bound {
        let (arch, earlier, issued) = (self.program.arch, &self.line(on).inst, self.issues[on].cycle);
        let (is_write, writes) = (kind != Dependence::WriteAfterRead, kind != Dependence::Read);
        let from = match (latency::is_variable(earlier, arch), is_write) {
            (true, true) => self.issues[on].done.unwrap_or(issued),
            (true, false) => issued + UNTIL_READ,
            (false, _) => {
                let cycles = cycles_between((earlier, place, is_write), (&later.inst, touch.slot, writes), arch);
                issued + u32::from(cycles)
            }
        };
        Bound { on, register: touch.register.to_string(), kind, from }
    }
}

/// What an instruction reads, then what it writes.
fn both(line: &Line) -> impl Iterator<Item = (&Touch, bool)> {
    let reads = line.touches.reads.iter().map(|touch| (touch, false));
    reads.chain(line.touches.writes.iter().map(|touch| (touch, true)))
}

/// From the last instruction back: whoever made one issue when it does, or else the one before it.
fn critical(issues: &[Issue]) -> Vec<usize> {
    let mut chain = Vec::new();
    let mut at = issues.len().checked_sub(1);
    while let Some(here) = at {
        chain.push(here);
        at = match issues[here].reason {
            Some(Reason::Latency { of } | Reason::Scoreboard { of, .. }) => Some(of),
            Some(Reason::StallCount) | None => here.checked_sub(1),
        };
    }
    chain.reverse();
    chain
}
