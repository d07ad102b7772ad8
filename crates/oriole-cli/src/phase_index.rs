//! What stands beside the Ori texts of `--dump-all`: for each function the phases in order, with the file of each, its figures and
//! the rules that fired. `oriole diff` reads it. Nothing in it depends on time or threads.

use oriole_codegen::{Compiled, Dump, Figures, FunctionHistory, PRESSURE_FILES, PressureCounts, Step};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Its name in the folder.
pub(crate) const FILE: &str = "phases.json";

/// The whole of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Index {
    /// Target of the compilation, such as `sm_90`.
    pub(crate) target: String,
    pub(crate) functions: Vec<FunctionEntry>,
}

/// A function from phase to phase.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FunctionEntry {
    pub(crate) function: String,
    pub(crate) kernel: bool,
    /// The function as lowering made it, then behind each phase that ran on it.
    pub(crate) phases: Vec<PhaseEntry>,
}

/// A function behind a phase.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PhaseEntry {
    pub(crate) phase: String,
    /// The published number.
    pub(crate) slot: u16,
    /// Whether the text is another than before it.
    pub(crate) changed: bool,
    /// Where its text is.
    pub(crate) file: String,
    /// How often each rule fired, of those that did.
    pub(crate) rules: BTreeMap<String, u64>,
    #[serde(flatten)]
    pub(crate) figures: FigureEntry,
}

/// A function in figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FigureEntry {
    pub(crate) instructions: u64,
    /// Physical registers that the code names; nothing up to allocation.
    pub(crate) registers: Option<RegisterEntry>,
    /// The most that hold a value at one point.
    pub(crate) pressure: RegisterEntry,
    /// An estimate: `docs/cli.md`.
    pub(crate) cycles: f64,
}

/// Registers by file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) struct RegisterEntry {
    pub(crate) r: u32,
    pub(crate) ur: u32,
    pub(crate) p: u32,
    pub(crate) up: u32,
}

impl RegisterEntry {
    fn new(counts: PressureCounts) -> Self {
        let of =
            |file| PRESSURE_FILES.iter().zip(counts).find(|(known, _)| **known == file).map_or(0, |(_, count)| count);
        use oriole_isa::RegFile::{P, R, UP, UR};
        RegisterEntry { r: of(R), ur: of(UR), p: of(P), up: of(UP) }
    }
}

impl FigureEntry {
    fn new(figures: &Figures) -> Self {
        FigureEntry {
            instructions: figures.instructions,
            registers: figures.registers.map(RegisterEntry::new),
            pressure: RegisterEntry::new(figures.pressure),
            cycles: figures.cycles,
        }
    }
}

/// The file of a dump.
pub(crate) fn file_name(dump: &Dump) -> String {
    format!("{}.{:03}-{}.ori", dump.unit, dump.number, dump.pass)
}

impl Index {
    /// Of a compilation that has kept the Ori behind every phase.
    pub(crate) fn new(compiled: &Compiled) -> Self {
        let texts: HashMap<(&str, &str), &Dump> =
            compiled.dumps.iter().map(|dump| ((dump.unit.as_str(), dump.pass), dump)).collect();
        let functions = compiled.history.iter().map(|history| FunctionEntry::new(history, &texts)).collect();
        Index { target: compiled.target.to_string(), functions }
    }
}

impl FunctionEntry {
    fn new(history: &FunctionHistory, texts: &HashMap<(&str, &str), &Dump>) -> Self {
        let mut now: Option<&Dump> = None;
        let entry = |step: &Step| {
            // A phase that changed nothing has written no text: that of the phase before it holds.
            let text = texts.get(&(history.function.as_str(), step.phase)).copied().or(now);
            let changed = text.map(|dump| &dump.text) != now.map(|dump| &dump.text);
            now = text;
            PhaseEntry {
                phase: step.phase.to_owned(),
                slot: step.number,
                changed,
                file: text.map(file_name).unwrap_or_default(),
                rules: step.rewrites.iter().map(|(rule, count)| ((*rule).to_owned(), *count)).collect(),
                figures: FigureEntry::new(&step.figures),
            }
        };
        FunctionEntry {
            function: history.function.clone(),
            kernel: history.is_kernel,
            phases: history.steps.iter().map(entry).collect(),
        }
    }

    /// Each phase with what stood before it.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&PhaseEntry, &PhaseEntry)> {
        self.phases.iter().zip(self.phases.iter().skip(1))
    }
}
