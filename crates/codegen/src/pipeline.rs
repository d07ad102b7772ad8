//! PTX to cubin: the stages in order, with what the caller wants to see on the way.

use crate::emit::{self, LineTable, emit};
use crate::error::CompileError;
use crate::parallel::{Workers, groups};
use crate::parameters::{ParameterType, parameter_types};
use crate::selection::{ALLOCATION, PassCount, SCHEDULING, Selection};
use crate::session::Session;
use oriole_cubin::{FileKind, Target};
use oriole_isa::{Arch, RegFile};
use oriole_opt::pipeline::Code;
use oriole_opt::{CallBarriers, Context, PhaseError, knobs::Knobs, run_passes};
use oriole_ori::analysis::Cfg;
use oriole_ori::dump::{dot, rpo_and_backedges};
use oriole_ori::{Callee, FuncId, Function, FunctionKind, Module, layout};
use oriole_passes::Pass;
use oriole_regalloc::{AllocOptions, ModuleAllocation, allocate_module};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What to compile and how.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Target; the module's `.target` where it is not given.
    pub target: Option<Target>,
    /// `-O` level, 0 to 3.
    pub opt_level: u8,
    /// Upper bound of R registers per thread.
    pub maxrregcount: Option<u32>,
    /// Kernels to compile; all where empty.
    pub entries: Vec<String>,
    /// `NAME=VALUE` settings of knobs.
    pub knobs: Vec<String>,
    /// Threads that work on functions side by side; the bytes do not depend on it.
    pub jobs: usize,
    /// Verify the IR after every phase, and the allocation.
    pub verify: bool,
    /// Names of the phases after which the Ori of each function is kept.
    pub dump_after: Vec<String>,
    /// Keep the Ori of each function after every phase that changed it.
    pub dump_all: bool,
    /// Keep the control-flow graph of each function.
    pub graphs: bool,
    /// Spell the mnemonics of kept Ori as the published opcode table does, letters turned by 13.
    pub rot13: bool,
    /// Names of optional phases that do not run.
    pub disabled_passes: Vec<String>,
    /// Only this many runs of optional phases happen, counted over the module's functions; all where `None`.
    pub pass_limit: Option<u64>,
    /// Name of the source file, for line information.
    pub file_name: String,
    /// Make an object file for a linker.
    pub relocatable: bool,
    /// What the cubin tells debuggers.
    pub debug: DebugInfo,
}

impl Default for CompileOptions {
    /// What `oriole compile` does without options.
    fn default() -> Self {
        CompileOptions {
            target: None,
            opt_level: 3,
            maxrregcount: None,
            entries: Vec::new(),
            knobs: Vec::new(),
            jobs: 1,
            verify: false,
            dump_after: Vec::new(),
            dump_all: false,
            graphs: false,
            rot13: false,
            disabled_passes: Vec::new(),
            pass_limit: None,
            file_name: String::new(),
            relocatable: false,
            debug: DebugInfo::None,
        }
    }
}

/// How much a cubin tells debuggers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DebugInfo {
    /// Stack frames only.
    #[default]
    None,
    /// Source lines too.
    Lines,
    /// Source lines and functions.
    Full,
}

/// Ori of one function after one phase.
#[derive(Clone, Debug)]
pub struct Dump {
    /// Function.
    pub function: String,
    /// The phase's published number.
    pub number: u16,
    /// Its name.
    pub phase: String,
    /// The function in the IR's text form.
    pub text: String,
}

/// Control flow of one function.
#[derive(Clone, Debug)]
pub struct FlowGraph {
    /// The function.
    pub function: String,
    /// The graph with the code in its nodes, in the DOT language.
    pub dot: String,
    /// Reverse post-order and backedges, as published.
    pub rpo: String,
}

/// A compiled module.
#[derive(Debug)]
pub struct Compiled {
    /// The cubin's bytes.
    pub cubin: Vec<u8>,
    /// The target.
    pub target: Target,
    /// The module after scheduling.
    pub module: Module,
    /// What allocation did.
    pub allocation: ModuleAllocation,
    /// What the writer was told.
    pub spec: oriole_cubin::ModuleSpec,
    /// By kernel: the source line of each instruction of its section.
    pub lines: BTreeMap<String, LineTable>,
    /// The dumps that were asked for, in order.
    pub dumps: Vec<Dump>,
    /// Time by stage and phase, in order of first use.
    pub times: Vec<(String, Duration)>,
    /// Control flow of each function before allocation, if asked for.
    pub graphs: Vec<FlowGraph>,
    /// By kernel: the types of its parameters in order.
    pub parameters: BTreeMap<String, Vec<ParameterType>>,
    /// How far [`CompileOptions::pass_limit`] let the optional phases run.
    pub passes: PassCount,
}

impl CompileOptions {
    /// Whether the options make sense, as far as that does not depend on the module.
    ///
    /// # Errors
    /// A level, knob or phase that there is not.
    pub fn check(&self) -> Result<(), CompileError> {
        self.knobs()?;
        Selection::new(self).map(drop)
    }

    fn knobs(&self) -> Result<Knobs, CompileError> {
        let mut knobs = Knobs::default();
        for setting in &self.knobs {
            knobs.set(setting)?;
        }
        Ok(knobs)
    }
}

/// Compile PTX text.
pub fn compile(ptx: &str, options: &CompileOptions) -> Result<Compiled, CompileError> {
    compile_in(ptx, options, &Session::default())
}

/// Compile PTX text while the caller looks on.
pub fn compile_in(ptx: &str, options: &CompileOptions, session: &Session<'_>) -> Result<Compiled, CompileError> {
    let mut watch = Watch::default();
    let load = if options.relocatable { oriole_ptx::load_object } else { oriole_ptx::load };
    let ast = watch.time("parse", || load(ptx)).map_err(CompileError::Source)?;
    compile_tree(&ast, Some(ptx), options, session, watch)
}

/// Compile a PTX module that was made without text, and passes [`oriole_ptx::check`]. Places in
/// errors mean nothing then; for debug information there has to be text.
pub fn compile_module(ast: &oriole_ptx::ast::Module, options: &CompileOptions) -> Result<Compiled, CompileError> {
    compile_module_in(ast, options, &Session::default())
}

/// [`compile_module`] while the caller looks on.
pub fn compile_module_in(
    ast: &oriole_ptx::ast::Module,
    options: &CompileOptions,
    session: &Session<'_>,
) -> Result<Compiled, CompileError> {
    if options.debug != DebugInfo::None {
        return compile_in(&oriole_ptx::print(ast), options, session);
    }
    compile_tree(ast, None, options, session, Watch::default())
}

fn compile_tree(
    ast: &oriole_ptx::ast::Module,
    ptx: Option<&str>,
    options: &CompileOptions,
    session: &Session<'_>,
    mut watch: Watch,
) -> Result<Compiled, CompileError> {
    let target = match options.target {
        Some(target) => target,
        None => self::target(ast.target.first().map_or("", String::as_str))?,
    };
    oriole_ptx::check_target(ast, &target.to_string()).map_err(|error| CompileError::Source(vec![error]))?;
    check_entries(ast, &options.entries)?;
    session.check_functions(ast)?;
    session.poll()?;
    let selection = Selection::new(options)?;
    let workers = Workers::new(options.jobs)?;
    let lowering = oriole_lower::Options {
        arch: generation(target)?,
        relocatable: options.relocatable,
        entries: (!options.entries.is_empty()).then_some(options.entries.as_slice()),
        source: ptx.map(|ptx| (options.file_name.as_str(), ptx)),
    };
    let mut module = watch.time("lower", || oriole_lower::lower(ast, &lowering)).map_err(CompileError::Source)?;
    session.check_instructions(&module)?;
    let mut dumps = Vec::new();
    let optimised = optimise(&mut module, options, &selection, session, &workers, &mut watch, &mut dumps)?;
    session.check_instructions(&module)?;
    let graphs = module.functions.values().filter(|_| options.graphs).map(|func| graph(func, options.rot13)).collect();
    let alloc = AllocOptions { maxrregcount: options.maxrregcount, verify: options.verify };
    let allocation = watch.time("allocate", || allocate_module(&mut module, &alloc))?;
    keep(&mut dumps, options, session, &module, (ALLOCATION.number(), ALLOCATION.name));
    session.poll()?;
    watch.time("schedule", || schedule(&mut module, &selection, &workers))?;
    keep(&mut dumps, options, session, &module, (SCHEDULING.number(), SCHEDULING.name));
    session.poll()?;
    let passes = count(&module, &optimised, &selection);
    let kind = if options.relocatable { FileKind::Relocatable } else { FileKind::Executable };
    let (mut spec, lines) = watch.time("encode", || emit(target, ast, &module, &allocation, kind))?;
    let wants_lines = options.debug != DebugInfo::None || emit::lines::has_own(ast);
    if let Some(ptx) = ptx.filter(|_| wants_lines) {
        let unit = (options.debug == DebugInfo::Full).then(|| options.file_name.clone());
        spec.debug = Some(emit::lines::describe(ast, ptx, &spec, &lines, unit));
    }
    let cubin = watch.time("write", || oriole_cubin::write(&spec))?;
    if options.verify {
        watch.time("verify", || verify_convergence(&cubin))?;
    }
    let (times, parameters) = (watch.times, parameter_types(ast));
    Ok(Compiled { cubin, target, module, allocation, spec, lines, dumps, times, graphs, parameters, passes })
}

/// Prove that the convergence barriers of the final code fit each other.
fn verify_convergence(cubin: &[u8]) -> Result<(), CompileError> {
    let internal = |function: &str, reason: String| CompileError::Internal { function: function.to_owned(), reason };
    let cubin = oriole_cubin::Cubin::parse(cubin).map_err(|error| internal("", error.to_string()))?;
    // Code that is too tangled to be checked is not judged.
    let Ok(report) = oriole_check::check(&cubin, &[]) else { return Ok(()) };
    match report.findings.iter().find(|finding| finding.kind == oriole_check::Kind::Convergence) {
        Some(finding) => Err(internal(&finding.later.function, finding.to_string())),
        None => Ok(()),
    }
}

/// The target of that name, if code is made for it.
pub fn target(name: &str) -> Result<Target, CompileError> {
    let target = Target::from_name(name).filter(|target| oriole_cubin::targets().any(|known| known == *target));
    let target = target.ok_or_else(|| CompileError::Target(name.to_owned()))?;
    generation(target).map(|_| target)
}

/// The generation whose instructions the target has, if code is made for it.
fn generation(target: Target) -> Result<Arch, CompileError> {
    let arch = Arch::of_capability(target.sm).filter(|arch| Arch::MODELLED.contains(arch));
    arch.ok_or_else(|| CompileError::Target(target.to_string()))
}

fn check_entries(ast: &oriole_ptx::ast::Module, wanted: &[String]) -> Result<(), CompileError> {
    let known: Vec<String> = ast.functions().filter(|f| f.is_entry).map(|f| ast.text(f.name).to_owned()).collect();
    match wanted.iter().find(|name| !known.contains(name)) {
        Some(name) => Err(CompileError::NoEntry { name: name.clone(), known }),
        None => Ok(()),
    }
}

fn graph(func: &Function, rot13: bool) -> FlowGraph {
    let cfg = Cfg::new(func);
    FlowGraph { function: func.name.clone(), dot: dot(func, &cfg, rot13), rpo: rpo_and_backedges(func, &cfg) }
}

/// Run the phases on each function, callees first: a caller's convergence barriers are none of those that what it calls
/// changes. Gives the order.
fn optimise(
    module: &mut Module,
    options: &CompileOptions,
    selection: &Selection,
    session: &Session<'_>,
    workers: &Workers,
    watch: &mut Watch,
    dumps: &mut Vec<Dump>,
) -> Result<Vec<FuncId>, CompileError> {
    let knobs = options.knobs()?;
    let mut barriers: BTreeMap<FuncId, CallBarriers> = BTreeMap::new();
    let order = oriole_ori::analysis::call_order(module);
    let mut dumped: BTreeMap<usize, Vec<Dump>> = BTreeMap::new();
    for group in groups(&order) {
        let mut contexts = Vec::with_capacity(group.len());
        for number in group {
            let context = Context {
                arch: module.arch,
                opt_level: options.opt_level,
                knobs: knobs.clone(),
                calls: call_barriers(module, order[number].function, &barriers, options.relocatable),
                verify: options.verify,
            };
            contexts.push((number, context));
        }
        let functions = contexts.into_iter().map(|(number, context)| {
            // Its place is held until the group is done.
            let func = &mut module.functions[order[number].function];
            let held = Function::new(&func.name, func.kind);
            (number, context, std::mem::replace(func, held))
        });
        let work = |(number, context, func)| optimise_function(number, context, func, options, selection, session);
        for done in workers.each(functions.collect(), work) {
            let Optimised { number, context, func, outcome, dumps, watch: spent } = done;
            spent.times.into_iter().for_each(|(phase, time)| watch.add(&phase, time));
            let own = barriers_of(&func);
            let all = context.calls.or(CallBarriers { changed: own & !CallBarriers::KEPT, used: own });
            barriers.insert(order[number].function, all);
            module.functions[order[number].function] = func;
            dumped.insert(number, dumps);
            outcome?;
        }
        session.poll()?;
    }
    dumps.extend(dumped.into_values().flatten());
    Ok(order.into_iter().map(|call| call.function).collect())
}

/// What the phases have made of one function.
struct Optimised {
    /// Number in the order of optimisation.
    number: usize,
    context: Context,
    func: Function,
    outcome: Result<(), PhaseError>,
    dumps: Vec<Dump>,
    watch: Watch,
}

fn optimise_function(
    number: usize,
    context: Context,
    mut func: Function,
    options: &CompileOptions,
    selection: &Selection,
    session: &Session<'_>,
) -> Optimised {
    let (mut dumps, mut watch) = (Vec::new(), Watch::default());
    // What is to end early does no more than it must until it can.
    let admits = |phase: &Pass<Code>| selection.admits(number, phase) && session.poll().is_ok();
    let outcome = run_passes(&mut func, &context, admits, |phase, func, changed, time| {
        watch.add(phase.name, time);
        session.after_pass((phase.number(), phase.name), func, changed, Some(time));
        let all = options.dump_all && changed == oriole_opt::Changed::Yes;
        if all || options.dump_after.iter().any(|name| name == phase.name) {
            dumps.push(dump(func, (phase.number(), phase.name), options.rot13));
        }
    });
    Optimised { number, context, func, outcome, dumps, watch }
}

fn count(module: &Module, optimised: &[FuncId], selection: &Selection) -> PassCount {
    let name = |id: FuncId| module.functions[id].name.as_str();
    let optimised: Vec<&str> = optimised.iter().copied().map(name).collect();
    selection.count(&optimised, &module.functions.keys().map(name).collect::<Vec<_>>())
}

/// What the calls of a function do to barriers. Of functions of other files and within a cycle of calls the standard
/// interface says it; a call by address goes to some function whose address a whole module takes.
fn call_barriers(
    module: &Module,
    function: FuncId,
    known: &BTreeMap<FuncId, CallBarriers>,
    relocatable: bool,
) -> CallBarriers {
    let func = &module.functions[function];
    let sites = func.iter_insts().filter_map(|(_, inst)| func.insts[inst].call.expand());
    let of = |callee: Option<FuncId>| callee.and_then(|id| known.get(&id)).copied().unwrap_or(CallBarriers::STANDARD);
    let mut by_address = false;
    let direct = sites.fold(CallBarriers::NONE, |all, site| match func.calls[site].callee {
        Callee::Return => all,
        Callee::Indirect => {
            by_address = true;
            all
        }
        Callee::Direct(symbol) => all.or(of(module.function_of(symbol))),
    });
    if !by_address || relocatable {
        return if by_address { CallBarriers::STANDARD } else { direct };
    }
    let targets = oriole_ori::analysis::address_taken(module);
    let used = targets.fold(direct.used, |used, target| used | of(Some(target)).used);
    CallBarriers { used, ..CallBarriers::STANDARD }
}

/// The convergence barriers that the code names, a bit each.
fn barriers_of(func: &Function) -> u16 {
    let operands = func.iter_insts().flat_map(|(_, inst)| func.insts[inst].operands.iter().copied());
    let numbers = operands.filter_map(|operand| func.physical(operand)).filter(|(file, ..)| *file == RegFile::B);
    numbers.fold(0, |all, (_, number, _)| all | 1u16.checked_shl(number.into()).unwrap_or(0))
}

fn dump(func: &Function, (number, phase): (u16, &str), rot13: bool) -> Dump {
    let text = if rot13 { format!("{func:#}") } else { func.to_string() };
    Dump { function: func.name.clone(), number, phase: phase.to_owned(), text }
}

/// The functions after a stage that works on the whole module.
fn keep(
    dumps: &mut Vec<Dump>,
    options: &CompileOptions,
    session: &Session<'_>,
    module: &Module,
    (number, phase): (u16, &str),
) {
    for func in module.functions.values() {
        session.after_pass((number, phase), func, oriole_opt::Changed::Yes, None);
    }
    if options.dump_all || options.dump_after.iter().any(|wanted| wanted == phase) {
        dumps.extend(module.functions.values().map(|func| dump(func, (number, phase), options.rot13)));
    }
}

fn schedule(module: &mut Module, selection: &Selection, workers: &Workers) -> Result<(), CompileError> {
    let (arch, all) = (module.arch, module.functions.len());
    let functions = module.functions.values_mut().enumerate().collect();
    let results = workers.each(functions, |(number, func): (usize, &mut Function)| {
        let scheduling = oriole_sched::Options { reorder: selection.reorders(number, all) };
        layout::remove_redundant_branches(func);
        layout::make_fallthroughs_explicit(func);
        oriole_sched::schedule(func, arch, &scheduling)
            .map_err(|e| CompileError::Internal { function: func.name.clone(), reason: e.to_string() })
    });
    results.into_iter().collect()
}

/// Time by stage.
#[derive(Default)]
struct Watch {
    times: Vec<(String, Duration)>,
}

impl Watch {
    fn time<T>(&mut self, stage: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(stage, start.elapsed());
        result
    }

    fn add(&mut self, stage: &str, time: Duration) {
        match self.times.iter_mut().find(|(name, _)| name == stage) {
            Some((_, sum)) => *sum += time,
            None => self.times.push((stage.to_owned(), time)),
        }
    }
}

/// The kernels of a compiled module, in order.
pub fn kernels(module: &Module) -> impl Iterator<Item = (FuncId, &Function)> {
    module.functions.iter().filter(|(_, func)| func.kind == FunctionKind::Entry)
}
