//! What each phase made of each function: its size, the registers that it takes, how long it may run, and the rules that fired.

use crate::by_function::ByFunction;
use crate::pressure::{PRESSURE_FILES, PressureCounts, physical_peaks};
use crate::throughput::NEAR;
use oriole_isa::Arch;
use oriole_opt::pipeline::Code;
use oriole_opt::{PhaseError, Watcher};
use oriole_ori::analysis::{Flow, Liveness};
use oriole_ori::dump::Statistics;
use oriole_ori::{Function, FunctionKind, Module};
use oriole_passes::{Changed, Pass, PassInfo, Tally};
use std::time::Duration;

/// A function from phase to phase.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionHistory {
    /// Name of the function.
    pub function: String,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// The function as lowering made it, then behind each phase that ran on it, in order.
    pub steps: Vec<Step>,
}

/// A function behind a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The phase's published number.
    pub number: u16,
    /// Its name.
    pub phase: &'static str,
    /// Rewrites by rule, those that there were.
    pub rewrites: Vec<(&'static str, u64)>,
    /// What there is behind it.
    pub figures: Figures,
}

/// A function in figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Instructions of the code: no marks, no MovPhis.
    pub instructions: u64,
    /// Behind allocation, by [`PRESSURE_FILES`]: the highest number of a register plus one.
    pub registers: Option<PressureCounts>,
    /// By [`PRESSURE_FILES`]: the most registers that hold a value at one point, virtual ones up to allocation.
    pub pressure: PressureCounts,
    /// An estimate of one warp's time: [`oriole_sched::block_cycles`], each block as often as
    /// [`oriole_regalloc::weighted`] has it.
    pub cycles: f64,
}

impl Figures {
    /// Of a function as it stands.
    fn new(func: &Function, arch: Arch, is_allocated: bool) -> Self {
        let flow = Flow::new(func);
        let lengths = oriole_sched::block_cycles(func, arch, &flow.live, NEAR);
        let instructions = func.iter_insts().filter(|(_, inst)| func.emits_code(*inst)).count();
        Figures {
            instructions: instructions as u64,
            registers: is_allocated.then(|| named(func)),
            pressure: if is_allocated { physical_peaks(func) } else { virtual_peaks(func, &flow.live) },
            cycles: oriole_regalloc::weighted(func, |block| lengths[block] as f32).into(),
        }
    }
}

/// The registers that the code names.
fn named(func: &Function) -> PressureCounts {
    let counted = Statistics::count(func);
    [counted.r_registers, counted.uniform_registers, counted.predicates, counted.uniform_predicates, 0]
}

/// The most components of values that live at one point.
fn virtual_peaks(func: &Function, live: &Liveness) -> PressureCounts {
    let (mut most, mut set) = (PressureCounts::default(), live.empty_set());
    let mut note = |set: &oriole_ori::analysis::LiveSet<'_>| {
        let mut here = PressureCounts::default();
        for (reg, _) in set.iter() {
            let file = PRESSURE_FILES.iter().position(|file| *file == func[reg].file());
            file.into_iter().for_each(|file| here[file] += 1);
        }
        most.iter_mut().zip(here).for_each(|(most, here)| *most = here.max(*most));
    };
    for &block in func.layout() {
        live.walk_back(func, block, &mut set, |_, behind| note(behind));
        note(&set);
    }
    most
}

/// Keeps the history of each function, and passes on what it sees.
pub(crate) struct Historian<'w> {
    watcher: &'w dyn Watcher,
    arch: Arch,
    found: ByFunction<FunctionHistory>,
}

impl<'w> Historian<'w> {
    /// For a module as lowering made it.
    pub(crate) fn new(watcher: &'w dyn Watcher, module: &Module, lowering: &PassInfo) -> Self {
        let historian = Historian { watcher, arch: module.arch, found: ByFunction::default() };
        for func in module.functions.values() {
            historian.note(lowering, func, Vec::new(), false);
        }
        historian
    }

    /// A function behind a phase, with what its rules did.
    pub(crate) fn note<R>(
        &self,
        pass: &Pass<R>,
        func: &Function,
        rewrites: Vec<(&'static str, u64)>,
        is_allocated: bool,
    ) {
        let figures = Figures::new(func, self.arch, is_allocated);
        let step = Step { number: pass.number(), phase: pass.name, rewrites, figures };
        let first = || FunctionHistory {
            function: func.name().to_owned(),
            is_kernel: func.kind() == FunctionKind::Entry,
            steps: Vec::new(),
        };
        self.found.update(func, first, |history| history.steps.push(step));
    }

    /// All of it, in the order of the module's functions.
    pub(crate) fn take(&self, module: &Module) -> Vec<FunctionHistory> {
        self.found.take(module)
    }
}

impl Watcher for Historian<'_> {
    fn after(&self, pass: &Pass<Code>, func: &Function, changed: Changed, time: Option<Duration>, tally: &Tally) {
        self.watcher.after(pass, func, changed, time, tally);
        self.note(pass, func, tally.by_rule(pass.rules), false);
    }

    fn rewrite(&self, pass: &Pass<Code>, arch: Arch, func: &mut Function) -> Result<Changed, PhaseError> {
        self.watcher.rewrite(pass, arch, func)
    }

    fn is_stopped(&self) -> bool {
        self.watcher.is_stopped()
    }
}
