//! A program with its states, and what these show.

use crate::finding::{Finding, Kind, Missing, Place};
use crate::flow::{self, Flow};
use crate::graph::{Block, BlockId, End, Graph};
use crate::path::path;
use crate::program::{LineId, Program};
use crate::state::Event;
use crate::step::{Lapse, Machine};
use oriole_cubin::{Cubin, Function};
use oriole_isa::access::Register;
use oriole_isa::latency::{self, Row};
use oriole_isa::{Arch, Slip, control_fault};
use std::collections::BTreeMap;

/// The index of `R1`, the stack pointer: functions that do not need it load it, and never wait.
const STACK_POINTER: usize = 1;

/// From sm_100 on: cycles after which code that is not known finds a result written. The longest distances there are
/// those of matrix instructions that read it, and ptxas leaves no more than these before a call.
const ACROSS_CALLS_SM100: u8 = 7;

/// Findings that get a path; the others have their own block only.
const WITH_PATH: usize = 200;

/// What is found between two instructions.
struct Pair {
    registers: Vec<Register>,
    missing: Missing,
    event: Event,
    /// The block of the later one.
    block: BlockId,
}

impl Pair {
    /// One more register, of which so much is missing.
    fn add(&mut self, event: &Event, missing: Missing) {
        let register = Register::from_index(event.register.into());
        self.registers.extend(register.filter(|register| !self.registers.contains(register)));
        if missing.lack() > self.missing.lack() {
            self.missing = missing;
        }
    }
}

/// A program with its states.
pub(crate) struct Checked<'p> {
    /// The program.
    pub(crate) program: &'p Program,
    /// Its control flow.
    pub(crate) graph: &'p Graph,
    /// Its states.
    pub(crate) flow: &'p Flow,
    names: Names,
}

impl<'p> Checked<'p> {
    /// The program of `cubin` with its states.
    pub(crate) fn new(program: &'p Program, graph: &'p Graph, flow: &'p Flow, cubin: &Cubin) -> Checked<'p> {
        Checked { program, graph, flow, names: Names::new(program, cubin) }
    }

    /// Instructions that can be reached.
    pub(crate) fn reached(&self) -> impl Iterator<Item = LineId> + '_ {
        self.reached_blocks().flat_map(|block| block.first..block.end)
    }

    fn reached_blocks(&self) -> impl Iterator<Item = &Block> {
        let blocks = self.graph.blocks.iter().zip(&self.flow.entry).filter(|(_, entry)| entry.is_some());
        blocks.map(|(block, _)| block)
    }

    /// Whether a block can be reached.
    pub(crate) fn is_reached(&self, block: BlockId) -> bool {
        self.flow.entry[block as usize].is_some()
    }

    /// An instruction as reports show it.
    pub(crate) fn place(&self, line: LineId) -> Place {
        let address = self.program.lines[line as usize].address;
        Place { function: self.names.of(line).to_owned(), address, text: self.program.text(line) }
    }

    /// What is done too early; registers of one pair of instructions together.
    pub(crate) fn lapses(&self) -> Vec<Finding> {
        let mut machine = Machine::new(self.program);
        let mut pairs: BTreeMap<(LineId, Kind, LineId), Pair> = BTreeMap::new();
        let mut findings = Vec::new();
        for (number, block) in self.graph.blocks.iter().enumerate() {
            let Some(entry) = &self.flow.entry[number] else { continue };
            let mut add = |line: LineId, kind: Kind, event: Event, missing: Missing| {
                let new = || Pair { registers: Vec::new(), missing: missing.clone(), event, block: number as BlockId };
                pairs.entry((line, kind, event.line)).or_insert_with(new).add(&event, missing);
            };
            let end = flow::review(&mut machine, block, entry, |line, lapse| match lapse {
                Lapse::Wait { scoreboard, missing } => findings.push(self.early_wait(line, scoreboard, missing)),
                Lapse::Register { event, writes, cycles } => {
                    add(line, kind_of(&event, writes), event, missing_of(&event, cycles));
                }
            });
            for (event, missing) in self.unfinished(number, &end.events) {
                add(block.end - 1, Kind::Unfinished, event, missing);
            }
        }
        let found = pairs.into_iter().enumerate();
        findings.extend(found.map(|(number, (key, pair))| self.finding(key, pair, number < WITH_PATH)));
        findings
    }

    fn finding(&self, (later, kind, earlier): (LineId, Kind, LineId), mut pair: Pair, with_path: bool) -> Finding {
        pair.registers.sort_unstable();
        let blocks = if with_path { path(self.graph, self.flow, &pair.event, pair.block) } else { vec![pair.block] };
        let address = |block: BlockId| self.program.lines[self.graph.blocks[block as usize].first as usize].address;
        Finding {
            kind,
            earlier: Some(self.place(earlier)),
            later: self.place(later),
            registers: pair.registers.iter().map(Register::to_string).collect(),
            missing: pair.missing,
            path: blocks.into_iter().map(address).collect(),
        }
    }

    /// What is still pending where control leaves for code that is not known: a callee, or a caller.
    fn unfinished(&self, block: usize, events: &[Event]) -> Vec<(Event, Missing)> {
        let leaves = match self.graph.blocks[block].ends {
            End::Call { known, .. } => !known,
            End::Return => self.graph.returns[block].is_empty(),
            End::Plain => false,
        };
        let busy = events.iter().filter(|event| leaves && event.is_write).filter_map(|event| match event.pending {
            Some(pending) if pending.scoreboards == 0 && usize::from(event.register) == STACK_POINTER => None,
            Some(_) => Some((*event, missing_of(event, None))),
            None => {
                let inst = &self.program.lines[event.line as usize].inst;
                let longest = latency::longest(inst, event.slot, self.program.arch);
                let is_new = self.program.arch >= Arch::Sm100;
                let needed = if is_new { longest.min(ACROSS_CALLS_SM100) } else { longest };
                let passed = -event.issued;
                let missing = Missing::Cycles { passed: passed.max(0) as u8, needed, row: None };
                (passed < i32::from(needed)).then_some((*event, missing))
            }
        });
        busy.collect()
    }

    fn early_wait(&self, line: LineId, scoreboard: u8, missing: u8) -> Finding {
        let needed = oriole_isa::latency::SET_TO_WAIT;
        Finding {
            kind: Kind::EarlyWait,
            earlier: None,
            later: self.place(line),
            registers: vec![format!("SB{scoreboard}")],
            missing: Missing::Cycles { passed: needed.saturating_sub(missing), needed, row: None },
            path: Vec::new(),
        }
    }

    /// Words that are no instructions.
    pub(crate) fn unknown_words(&self) -> Vec<Finding> {
        let unknown = self.reached().filter_map(|line| {
            let reason = self.program.lines[line as usize].unknown.clone()?;
            Some(self.single(Kind::Unknown, line, Vec::new(), reason))
        });
        unknown.collect()
    }

    /// Instructions with control words that the ISA forbids them.
    pub(crate) fn control_words(&self) -> Vec<Finding> {
        let program = self.program;
        let forbidden = self.reached().filter_map(|line| {
            let at = &program.lines[line as usize];
            let fault = control_fault(&at.inst, program.arch).filter(|_| at.unknown.is_none())?;
            Some(self.single(Kind::ControlWord, line, Vec::new(), fault.to_string()))
        });
        forbidden.chain(self.slips()).collect()
    }

    /// Instructions with control words that do not do for them.
    fn slips(&self) -> impl Iterator<Item = Finding> {
        let lines = self.reached_blocks().flat_map(|block| (block.first..block.end).map(|line| (line, block.end)));
        lines.filter_map(|(line, end)| {
            let (program, arch) = (self.program, self.program.arch);
            let inst = |line: LineId| &program.lines[line as usize].inst;
            let following = std::iter::successors(program.next(line), |line| program.next(*line));
            let slip = Slip::of(inst(line), following.map(inst), arch)
                .or_else(|| Slip::before_label(inst(line), (line + 1..end).map(inst), arch))?;
            Some(self.single(Kind::ControlWord, line, Vec::new(), slip.to_string()))
        })
    }

    /// A finding about one instruction.
    pub(crate) fn single(&self, kind: Kind, line: LineId, registers: Vec<String>, reason: String) -> Finding {
        let later = self.place(line);
        Finding { kind, earlier: None, later, registers, missing: Missing::Other(reason), path: Vec::new() }
    }

    /// Jumps and calls to where no instruction begins.
    pub(crate) fn jumps_to_nowhere(&self) -> Vec<Finding> {
        let reached = |line: &LineId| self.reached().any(|other| other == *line);
        let lost = self.graph.nowhere.iter().copied().filter(reached);
        let reason = "no instruction begins at the address that it names";
        lost.map(|line| self.single(Kind::Nowhere, line, Vec::new(), reason.to_owned())).collect()
    }

    /// What could not be followed.
    pub(crate) fn notes(&self) -> Vec<String> {
        let reached = |line: LineId| {
            let after = self.graph.blocks.partition_point(|block| block.first <= line);
            after.checked_sub(1).is_some_and(|block| self.flow.entry[block].is_some())
        };
        let note = |what: &str, line: LineId| {
            let Place { function, address, text } = self.place(line);
            format!("{function}+{address:#06x}: {what}: {text}")
        };
        let jumps = self.graph.unknown_targets.iter().copied().filter(|line| reached(*line));
        let mut notes: Vec<String> =
            jumps.map(|line| note("a jump to a place that the file does not tell", line)).collect();
        for (block, entry) in self.graph.blocks.iter().zip(&self.flow.entry) {
            if entry.is_some() && matches!(block.ends, End::Call { known: false, .. }) {
                notes.push(note("a call of a function that the file does not tell", block.end - 1));
            }
        }
        notes
    }
}

fn kind_of(event: &Event, writes: bool) -> Kind {
    match (event.is_write, writes) {
        (true, false) => Kind::ReadAfterWrite,
        (true, true) => Kind::WriteAfterWrite,
        (false, _) => Kind::WriteAfterRead,
    }
}

fn missing_of(event: &Event, cycles: Option<(u8, u8, Row)>) -> Missing {
    match cycles {
        Some((passed, needed, row)) => Missing::Cycles { passed, needed, row: Some(row) },
        None => Missing::Wait { scoreboards: event.pending.map_or(0, |pending| pending.scoreboards) },
    }
}

/// Which function an instruction is in.
struct Names {
    /// First instruction and name, by instruction.
    starts: Vec<(LineId, String)>,
}

impl Names {
    fn new(program: &Program, cubin: &Cubin) -> Names {
        let start = |f: &Function| Some((program.at_file_section(f.section, f.offset)?, f.name.clone()));
        let mut starts: Vec<(LineId, String)> = cubin.functions.iter().filter_map(start).collect();
        starts.sort();
        Names { starts }
    }

    fn of(&self, line: LineId) -> &str {
        let after = self.starts.partition_point(|(start, _)| *start <= line);
        after.checked_sub(1).map_or("?", |at| self.starts[at].1.as_str())
    }
}
