//! The code of a cubin, decoded: all instructions of all sections in one list.

use oriole_cubin::{Cubin, SectionIndex, SectionKind};
use oriole_isa::access::Touches;
use oriole_isa::{Arch, Guard, Inst, Opcode, code};
use rustc_hash::FxHashMap;

/// Number of an instruction in [`Program::lines`].
pub(crate) type LineId = u32;

/// Under which predicate something happens: 0 always (or not known), otherwise a predicate and its sense, so that
/// the opposite sense is the number with its lowest bit changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Condition(u8);

impl Condition {
    /// Always, or under something that is not known.
    pub(crate) const ALWAYS: Condition = Condition(0);

    /// That `P<number>` (or `UP<number>`) holds, or does not.
    pub(crate) fn new(uniform: bool, number: u8, negated: bool) -> Condition {
        match number {
            0..7 => Condition(2 + (u8::from(uniform) << 4 | number << 1 | u8::from(negated))),
            _ => Condition::ALWAYS,
        }
    }

    fn of_guard(inst: &Inst) -> Condition {
        Condition::new(inst.opcode.info().guard_uniform, inst.guard.predicate, inst.guard.negated)
    }

    /// The condition says something.
    pub(crate) fn is_known(self) -> bool {
        self.0 != 0
    }

    /// It is about a uniform predicate: it holds for all threads of the warp or for none.
    pub(crate) fn is_uniform(self) -> bool {
        self.0 >= 2 + 16
    }

    /// The opposite.
    pub(crate) fn opposite(self) -> Condition {
        Condition(if self.is_known() { self.0 ^ 1 } else { 0 })
    }

    /// The two cannot hold at once.
    pub(crate) fn excludes(self, other: Condition) -> bool {
        self.is_known() && self.opposite() == other
    }

    /// It is about this predicate.
    pub(crate) fn is_about(self, uniform: bool, number: u16) -> bool {
        self.is_known() && self.is_uniform() == uniform && u16::from((self.0 - 2) >> 1 & 7) == number
    }
}

/// One instruction.
#[derive(Debug)]
pub(crate) struct Line {
    /// The section, as a position in [`Program::sections`].
    pub(crate) section: u32,
    /// Byte offset in the section.
    pub(crate) address: u64,
    /// The instruction; a `NOP` where the word is none.
    pub(crate) inst: Inst,
    /// What it does to registers and scoreboards.
    pub(crate) touches: Touches,
    /// Its guard.
    pub(crate) guard: Condition,
    /// Its guard never holds.
    pub(crate) never: bool,
    /// Why the word is no instruction, if it is none.
    pub(crate) unknown: Option<String>,
}

/// One section of code.
#[derive(Debug)]
pub(crate) struct Section {
    /// Its first instruction.
    pub(crate) first: LineId,
    /// One past its last.
    pub(crate) end: LineId,
}

/// All code of a cubin.
#[derive(Debug)]
pub(crate) struct Program {
    /// The target.
    pub(crate) arch: Arch,
    /// Its sections.
    pub(crate) sections: Vec<Section>,
    /// Its instructions, section by section.
    pub(crate) lines: Vec<Line>,
    /// Positions in `sections` by number in the file.
    by_index: FxHashMap<SectionIndex, u32>,
}

impl Program {
    /// Decodes all code sections.
    pub(crate) fn new(cubin: &Cubin, arch: Arch) -> Program {
        let mut program = Program { arch, sections: Vec::new(), lines: Vec::new(), by_index: FxHashMap::default() };
        let code = cubin.sections.iter().enumerate().filter(|(_, section)| section.kind == SectionKind::Text);
        for (index, section) in code {
            let first = program.lines.len() as LineId;
            let number = program.sections.len() as u32;
            let words = code::words(&section.data, arch);
            program.lines.extend(words.into_iter().map(|(address, word)| Line::new(number, address, word, arch)));
            program.by_index.insert(index, number);
            program.sections.push(Section { first, end: program.lines.len() as LineId });
        }
        program
    }

    /// The instruction at a byte offset of a section (a position in [`Program::sections`]).
    pub(crate) fn at(&self, section: u32, address: u64) -> Option<LineId> {
        let section = self.sections.get(section as usize)?;
        let lines = self.lines.get(section.first as usize..section.end as usize)?;
        let found = lines.binary_search_by_key(&address, |line| line.address).ok()?;
        Some(section.first + found as LineId)
    }

    /// The instruction at a byte offset of a section of the file.
    pub(crate) fn at_file_section(&self, index: SectionIndex, address: u64) -> Option<LineId> {
        self.at(self.number_of(index)?, address)
    }

    /// The position in [`Program::sections`] of a section of the file.
    pub(crate) fn number_of(&self, index: SectionIndex) -> Option<u32> {
        self.by_index.get(&index).copied()
    }

    /// The instruction after `line` in its section.
    pub(crate) fn next(&self, line: LineId) -> Option<LineId> {
        let section = self.sections.get(self.lines.get(line as usize)?.section as usize)?;
        (line + 1 < section.end).then_some(line + 1)
    }

    /// An instruction as text.
    pub(crate) fn text(&self, line: LineId) -> String {
        self.lines.get(line as usize).map(|line| line.inst.display(self.arch).to_string()).unwrap_or_default()
    }
}

impl Line {
    fn new(section: u32, address: u64, word: u128, arch: Arch) -> Line {
        let (inst, unknown) = match oriole_isa::decode(word, arch, address) {
            Ok(inst) => (inst, None),
            Err(error) => (Inst::new(Opcode::NOP), Some(format!("{word:032x}: {error}"))),
        };
        let never = inst.guard.negated && Guard { negated: false, ..inst.guard } == Guard::ALWAYS;
        let guard = Condition::of_guard(&inst);
        Line { section, address, touches: Touches::of(&inst, arch), guard, never, inst, unknown }
    }
}
