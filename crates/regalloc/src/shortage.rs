//! What is said where a function has too few registers.

use crate::limits::MAXIMUM;
use oriole_isa::{KEPT_REGISTERS, RegFile};
use oriole_ori::analysis::{Cfg, LiveSet, Liveness};
use oriole_ori::{Function, InstId, VReg};
use std::fmt;

/// Registers are given out in steps of eight, so a limit in between gains nothing.
const STEP: u32 = 8;

/// More is live at one instruction than there are registers, and none of it can go elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The function.
    pub function: String,
    /// The register file.
    pub file: RegFile,
    /// Registers of the file that a thread has.
    pub limit: u32,
    /// Where the most is needed.
    pub tightest: Option<Tightest>,
}

/// The instruction of a function at which most registers are live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tightest {
    /// Line of the source, if it is known.
    pub line: Option<u32>,
    /// Registers of a thread with which the function can be compiled.
    pub enough: u32,
}

impl Shortage {
    /// For a caller that tries something else: nothing is looked for. Code may name `named` registers of the file.
    pub(crate) fn unexplained(func: &Function, file: RegFile, named: u16) -> Self {
        let limit = u32::from(named) + kept(file);
        Shortage { function: func.name().to_owned(), file, limit, tightest: None }
    }

    /// Look for the instruction. `func` is as allocation gave it up, with all in memory that can go there; `reserved` registers
    /// of the file are given to no value.
    pub(crate) fn explained(self, func: &Function, reserved: u32) -> Self {
        Shortage { tightest: tightest(func, self.file, reserved), ..self }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shortage { function, file, limit, tightest } = self;
        // ptxas's words, which name a line and a limit.
        if *file == RegFile::R {
            write!(f, "(C7602) Insufficient registers ({limit}) to compile ")?;
        } else {
            write!(f, "function '{function}': {limit} registers of file {file:?} are too few for ")?;
        }
        match tightest.and_then(|tightest| tightest.line) {
            Some(line) => write!(f, "instruction at line {line} in function {function}.")?,
            None => write!(f, "function {function}.")?,
        }
        // What is counted is a lower bound: registers side by side can ask for more.
        match tightest.as_ref().filter(|tightest| tightest.enough > *limit) {
            Some(Tightest { enough, .. }) if *file == RegFile::R && *enough <= MAXIMUM => {
                write!(f, " Try to compile with register target of {enough} or higher.")
            }
            Some(Tightest { enough, .. }) => write!(f, " It needs {enough}."),
            None => Ok(()),
        }
    }
}

/// Registers of a thread that code cannot name.
fn kept(file: RegFile) -> u32 {
    if file == RegFile::R { KEPT_REGISTERS } else { 0 }
}

fn tightest(func: &Function, file: RegFile, reserved: u32) -> Option<Tightest> {
    let live = Liveness::new(func, &Cfg::new(func));
    let in_file = |reg: VReg| func[reg].file() == file;
    let count = |set: &LiveSet<'_>| set.iter().filter(|(reg, _)| in_file(*reg)).count() as u32;
    // The most registers so far, the registers that the instruction itself names, and the instruction.
    let mut most: Option<(u32, u32, InstId)> = None;
    let mut set = live.empty_set();
    for &block in func.layout() {
        let mut next: Option<(InstId, u32)> = None;
        let mut note = |inst: InstId, live: u32| {
            let mut named = 0;
            func.for_each_reg(inst, |mention| {
                named += if in_file(mention.reg) { mention.range.len() as u32 } else { 0 }
            });
            if most.is_none_or(|(most, of_it, _)| (live, named) > (most, of_it)) {
                most = Some((live, named, inst));
            }
        };
        live.walk_back(func, block, &mut set, |inst, behind| {
            let lives_on = count(behind);
            // What lives behind this instruction lives before the next one.
            if let Some((next, at_it)) = next {
                note(next, at_it.max(lives_on));
            }
            // Results are there together with what lives on behind them, read or not.
            let mut unread = 0;
            func.for_each_def(inst, |def| {
                let dead = def.range.clone().filter(|k| in_file(def.reg) && !behind.contains((def.reg, *k)));
                unread += dead.count() as u32;
            });
            next = Some((inst, lives_on + unread));
        });
        if let Some((first, at_it)) = next {
            note(first, at_it.max(count(&set)));
        }
    }
    let (most, _, inst) = most?;
    let line = func[inst].loc.expand().map(|loc| func[loc].line);
    // What is reserved lies below the first place of an aligned value, which may have nothing else there.
    let mut gap = reserved;
    func.for_each_reg(inst, |mention| {
        let align = if in_file(mention.reg) { func[mention.reg].align } else { 0 };
        gap = gap.max(align.into());
    });
    Some(Tightest { line, enough: (most + gap + kept(file)).next_multiple_of(STEP) })
}
