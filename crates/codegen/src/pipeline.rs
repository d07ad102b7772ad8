//! PTX to cubin: the stages in order, with what the caller wants to see on the way.

use crate::back_end::{BackEnd, Emitted};
use crate::emit::{self, LineTable, emit};
use crate::error::CompileError;
use crate::history::{FunctionHistory, Historian};
use crate::laps::ENCODING;
use crate::options::{CompileOptions, DebugInfo};
use crate::parameters::{ParameterType, parameter_types};
use crate::placing::Retries;
use crate::selection::LOWERING;
use crate::session::Session;
use crate::uniformity::{Lister, UniformityListing};
use oriole_cubin::{FileKind, Suffix, Target};
use oriole_isa::{Arch, Opcode};
use oriole_opt::pipeline::PIPELINE;
use oriole_opt::{Watcher, dump};
use oriole_ori::analysis::Cfg;
use oriole_ori::dump::{dot, rpo_and_backedges};
use oriole_ori::{FuncId, Function, FunctionKind, Module};
use oriole_passes::{Dump, Numbering, PassCount, Record, Timing, Workers};
use oriole_regalloc::{AllocOptions, ModuleAllocation, RegisterCounts};
use oriole_sched::OrderSeed;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

/// From this level on functions stand in place of their calls: below it a program's calls are its own.
const INLINING_LEVEL: u8 = 2;

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
    /// The module as allocation leaves it, if asked for.
    pub allocated: Option<Module>,
    /// What allocation did.
    pub allocation: ModuleAllocation,
    /// What has become of `setmaxnreg`.
    pub counts: RegisterCounts,
    /// What the writer was told.
    pub spec: oriole_cubin::ModuleSpec,
    /// By kernel: the source line of each instruction of its section.
    pub lines: BTreeMap<String, LineTable>,
    /// The dumps that were asked for, in order.
    pub dumps: Vec<Dump>,
    /// What each phase made of each function, in the order of the module's functions, if the Ori behind every phase was asked for.
    pub history: Vec<FunctionHistory>,
    /// Time by stage and pass, with what passes and rules did.
    pub times: Vec<Timing>,
    /// Control flow of each function before allocation, if asked for.
    pub graphs: Vec<FlowGraph>,
    /// Over which threads each value is the same, if asked for, in the order of the module's functions.
    pub uniformity: Vec<UniformityListing>,
    /// By kernel: the types of its parameters in order.
    pub parameters: BTreeMap<String, Vec<ParameterType>>,
    /// How far [`CompileOptions::pass_limit`] let the optional phases run.
    pub passes: PassCount,
    /// What is to be said of the module's `.version`: that it is newer than those known here.
    pub newer_version: Option<String>,
}

impl Compiled {
    /// All that a user is warned of.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.newer_version.as_deref().into_iter().chain(self.allocation.warnings())
    }

    /// What the writer was told of a function; `None` where it has no section of its own.
    pub fn function_spec(&self, func: &Function) -> Option<&oriole_cubin::FunctionSpec> {
        self.spec.functions.iter().find(|spec| spec.name == func.name())
    }
}

/// Compile PTX text.
pub fn compile(ptx: &str, options: &CompileOptions) -> Result<Compiled, CompileError> {
    compile_in(ptx, options, &Session::default())
}

/// Compile PTX text while the caller looks on.
pub fn compile_in(ptx: &str, options: &CompileOptions, session: &Session<'_>) -> Result<Compiled, CompileError> {
    session.watched(|| {
        let mut watch = Watch::default();
        let ast = watch.time("parse", || oriole_ptx::load_with(ptx, options.leeway())).map_err(CompileError::Source)?;
        compile_tree(Cow::Owned(ast), Some(ptx), options, session, watch)
    })?
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
    session.watched(|| compile_tree(Cow::Borrowed(ast), None, options, session, Watch::default()))?
}

fn compile_tree(
    mut tree: Cow<'_, oriole_ptx::ast::Module>,
    ptx: Option<&str>,
    options: &CompileOptions,
    session: &Session<'_>,
    mut watch: Watch,
) -> Result<Compiled, CompileError> {
    let ast = &*tree;
    let options = &*options.for_target(&ast.target)?;
    let target = match options.target {
        Some(target) => target,
        None => self::target(ast.target.first().map_or("", String::as_str))?,
    };
    oriole_ptx::check_target(ast, &target.to_string()).map_err(|error| CompileError::Source(vec![error]))?;
    check_entries(ast, &options.entries)?;
    session.check_functions(ast)?;
    session.poll()?;
    let settings = options.settings()?;
    let (arch, knobs) = (generation(target)?, options.knobs()?);
    if knobs.is_set("emit-ldcu") && !Opcode::LDCU.exists_on(arch) {
        return Err(CompileError::Ldcu);
    }
    let workers = Workers::new(options.jobs);
    let shortens = |knob: &str| settings.level >= INLINING_LEVEL && knobs.is_set(knob);
    let (inlines, tail_calls) = (shortens("inline"), shortens("tail-calls"));
    let lowering = oriole_lower::Options {
        arch,
        relocatable: options.relocatable,
        keeps_jumps: settings.level == 0,
        extended_shared: options.extends_shared(Some(target)),
        inlines,
        tail_calls,
        entries: (!options.entries.is_empty()).then_some(options.entries.as_slice()),
        source: ptx.map(|ptx| (options.file_name.as_str(), ptx)),
    };
    let mut module = watch.time("lower", || oriole_lower::lower(ast, &lowering)).map_err(CompileError::Source)?;
    session.poll()?;
    session.check_instructions(&module)?;
    let wants_lines = options.debug != DebugInfo::None || emit::lines::has_own(ast);
    // A third of the memory of a long function, and nobody asks for it again.
    if let Cow::Owned(ast) = &mut tree
        && !wants_lines
        && !options.relocatable
    {
        ast.forget_bodies();
    }
    let ast = &*tree;
    let (mut record, mut numbering) = (Record::default(), Numbering::new(&settings));
    let lister = Lister::new(session, options.opt_level);
    let watcher: &dyn Watcher = if options.uniformity { &lister } else { session };
    let historian = options.dump_all.then(|| Historian::new(watcher, &module, &LOWERING));
    if options.dump_all {
        record.dumps.extend(module.functions.values().map(|func| dump(func, &LOWERING, options.rot13)));
    }
    let passes = oriole_opt::Options {
        settings: &settings,
        knobs: &knobs,
        relocatable: options.relocatable,
        rot13: options.rot13,
        watcher: historian.as_ref().map_or(watcher, |historian| historian),
        workers: &workers,
    };
    let optimised = oriole_opt::run(&mut module, &passes, &mut numbering, &mut record);
    session.poll()?;
    optimised?;
    let uniformity = lister.take(&module);
    watch.parts("optimise", record.timings(PIPELINE));
    session.check_instructions(&module)?;
    let graphs = module.functions.values().filter(|_| options.graphs).map(|func| graph(func, options.rot13)).collect();
    let alloc = AllocOptions {
        maxrregcount: options.maxrregcount,
        device_maxrregcount: options.device_maxrregcount,
        usage_level: options.register_usage_level,
        published_minimum: passes.knobs.is_set("published-minimum"),
        object: options.relocatable,
        debug: options.debug == DebugInfo::Full,
        keeps_moves: settings.level == 0,
        uniform_registers: u16::try_from(passes.knobs.int("uniform-registers")).ok(),
        uniform_predicates: u16::try_from(passes.knobs.int("uniform-predicates")).ok(),
        uniform_disallowed: !passes.knobs.is_set("uniform"),
        verify: options.verify,
    };
    // Plain targets have no `setmaxnreg` (the checker refuses it), and nobody has to look for one.
    let counts = match target.suffix {
        Suffix::None => RegisterCounts::default(),
        Suffix::Arch | Suffix::Family => RegisterCounts::settle(&mut module, &alloc)?,
    };
    let back_end = BackEnd {
        counts: &counts,
        alloc: &alloc,
        settings: &settings,
        session,
        historian: historian.as_ref(),
        workers: &workers,
        retries: Retries::new(&knobs, &settings),
        constant_lines: usize::try_from(knobs.int("constant-prefetch")).unwrap_or(0),
        seeds: ["order-seed", "reorder-seed"].map(|knob| OrderSeed(knobs.int(knob).cast_unsigned())),
        tail_calls,
        rot13: options.rot13,
        keeps_allocated: options.pressure,
    };
    let Emitted { code, allocation, allocated, dumps, times } = back_end.run(&mut module, &mut numbering)?;
    record.dumps.extend(dumps);
    watch.times.extend(times);
    session.poll()?;
    let kind = if options.relocatable { FileKind::Relocatable } else { FileKind::Executable };
    let (mut spec, lines) = watch.time(ENCODING, || emit(target, ast, &module, &code, &allocation, kind))?;
    spec.host.clone_from(&options.host);
    drop(code);
    if let Some(ptx) = ptx.filter(|_| wants_lines) {
        let unit = (options.debug == DebugInfo::Full).then(|| options.file_name.clone());
        spec.debug = Some(emit::lines::describe(ast, ptx, &spec, &lines, unit));
    }
    let cubin = watch.time("write", || oriole_cubin::write(&spec))?;
    if options.verify {
        watch.time("verify", || verify_convergence(&cubin))?;
    }
    let (times, dumps, passes) = (watch.times, record.dumps, numbering.count());
    let history = historian.map_or_else(Vec::new, |historian| historian.take(&module));
    let parameters = parameter_types(ast);
    let newer_version = oriole_ptx::newer_version(ast).map(|warning| warning.message);
    Ok(Compiled {
        cubin,
        target,
        module,
        allocated,
        allocation,
        counts,
        spec,
        lines,
        dumps,
        history,
        times,
        graphs,
        uniformity,
        parameters,
        passes,
        newer_version,
    })
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
    FlowGraph { function: func.name().to_owned(), dot: dot(func, &cfg, rot13), rpo: rpo_and_backedges(func, &cfg) }
}

/// Time by stage.
#[derive(Default)]
struct Watch {
    times: Vec<Timing>,
}

impl Watch {
    fn time<T>(&mut self, stage: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        let time = start.elapsed();
        match self.times.last_mut().filter(|last| last.name == stage) {
            Some(last) => last.time += time,
            None => self.times.push(Timing::stage(stage, time)),
        }
        result
    }

    /// A stage with its parts.
    fn parts(&mut self, stage: &str, parts: Vec<Timing>) {
        self.times.push(Timing::of_parts(stage, parts));
    }
}

/// The kernels of a compiled module, in order.
pub fn kernels(module: &Module) -> impl Iterator<Item = (FuncId, &Function)> {
    module.functions.iter().filter(|(_, func)| func.kind() == FunctionKind::Entry)
}
