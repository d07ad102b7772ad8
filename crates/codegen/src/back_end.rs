//! From optimised code to words. Order, registers, control words and encoding of a function follow each other at once:
//! what is done with it is done while it is in the caches, and of its machine code only the words stay.

use crate::both::branch_on_both;
use crate::cold::place_cold_last;
use crate::edge_copies::guard_edge_copies;
use crate::error::CompileError;
use crate::history::Historian;
use crate::jumps::settle_jumps;
use crate::laps::{Laps, Stage, StageTimes};
use crate::placing::{Placing, Retries};
use crate::selection::{ALLOCATION, ORDER, SCHEDULING};
use crate::session::Session;
use crate::zeros::join_zeros;
use oriole_isa::Arch;
use oriole_ori::analysis::{CallNode, call_groups};
use oriole_ori::{
    EntitySet, FuncId, Function, FunctionKind, MachineCode, Module, PrimaryMap, SecondaryMap, Symbol, SymbolData,
    SymbolKind, layout,
};
use oriole_passes::{Changed, Dump, Numbering, PassInfo, Settings, Timing, Workers};
use oriole_regalloc::{
    AllocOptions, FunctionAllocation, ModuleAllocation, ModuleAllocator, RegisterBudget, RegisterCounts,
};
use oriole_sched::OrderSeed;

/// What the functions of a module are worked on by.
pub(crate) struct BackEnd<'a> {
    pub(crate) counts: &'a RegisterCounts,
    pub(crate) alloc: &'a AllocOptions,
    pub(crate) settings: &'a Settings,
    pub(crate) session: &'a Session<'a>,
    /// Who keeps what each phase does, if it is asked for.
    pub(crate) historian: Option<&'a Historian<'a>>,
    pub(crate) workers: &'a Workers,
    pub(crate) retries: Retries,
    /// Lines of constants that are asked for at the start of a kernel, at most.
    pub(crate) constant_lines: usize,
    /// Which order is taken ahead of allocation, and behind it.
    pub(crate) seeds: [OrderSeed; 2],
    /// Dumps spell mnemonics as the published opcode table does.
    /// Calls at the ends of functions become tail calls.
    pub(crate) tail_calls: bool,
    pub(crate) rot13: bool,
    /// The functions as allocation leaves them are asked for.
    pub(crate) keeps_allocated: bool,
}

/// What comes of it.
pub(crate) struct Emitted {
    /// By function.
    pub(crate) code: SecondaryMap<FuncId, MachineCode>,
    pub(crate) allocation: ModuleAllocation,
    /// The module as allocation leaves it, if it was asked for.
    pub(crate) allocated: Option<Module>,
    pub(crate) dumps: Vec<Dump>,
    pub(crate) times: Vec<Timing>,
}

/// One function, done.
struct Done {
    allocation: FunctionAllocation,
    code: MachineCode,
    allocated: Option<Function>,
    /// Behind order, allocation and scheduling.
    dumps: [Option<Dump>; 3],
    times: StageTimes,
}

impl BackEnd<'_> {
    /// Work on every function of the module, callees before callers.
    ///
    /// # Errors
    /// The first in the order of [`call_groups`].
    pub(crate) fn run(&self, module: &mut Module, numbering: &mut Numbering) -> Result<Emitted, CompileError> {
        let groups = call_groups(module);
        let routines = routines(module);
        let order = Runs::open(&ORDER, module, self.settings, numbering);
        let scheduling = Runs::open(&SCHEDULING, module, self.settings, numbering);
        let mut allocator = ModuleAllocator::new(module.arch, &module.symbols, self.counts, self.alloc);
        let mut done: PrimaryMap<FuncId, Option<Done>> = module.functions.keys().map(|_| None).collect();
        let mut functions: PrimaryMap<FuncId, Option<&mut Function>> =
            module.functions.values_mut().map(Some).collect();
        let each = |allocator: &ModuleAllocator<'_>, (node, func): (CallNode, &mut Function)| {
            let id = node.function;
            let steps = (order.includes(id), scheduling.includes(id));
            self.function(allocator, node, func, &routines, steps).map(|done| (id, done))
        };
        for group in groups {
            let nodes = group.into_iter().filter_map(|node| functions[node.function].take().map(|func| (node, func)));
            for result in self.workers.each(nodes.collect(), |item| each(&allocator, item)) {
                let (id, mut function) = result?;
                allocator.keep(id, std::mem::take(&mut function.allocation));
                done[id] = Some(function);
            }
        }
        let allocation = allocator.finish();
        Ok(self.put_together(module, allocation, done))
    }

    /// In the order of the module, whatever that of the work was.
    fn put_together(
        &self,
        module: &Module,
        allocation: ModuleAllocation,
        done: PrimaryMap<FuncId, Option<Done>>,
    ) -> Emitted {
        let mut allocated = self.keeps_allocated.then(|| module.clone());
        let mut code = SecondaryMap::with_capacity(module.functions.len());
        let mut dumps: [Vec<Dump>; 3] = Default::default();
        let mut times = StageTimes::default();
        for (id, function) in done {
            let Some(function) = function else { continue };
            code[id] = function.code;
            dumps.iter_mut().zip(function.dumps).for_each(|(all, dump)| all.extend(dump));
            times.iter_mut().zip(function.times).for_each(|(sum, time)| *sum += time);
            if let (Some(allocated), Some(function)) = (&mut allocated, function.allocated) {
                allocated.functions[id] = function;
            }
        }
        let times = Stage::NAMES.iter().zip(times).map(|(stage, time)| Timing::stage(stage, time)).collect();
        Emitted { code, allocation, allocated, dumps: dumps.into_iter().flatten().collect(), times }
    }

    fn function(
        &self,
        allocator: &ModuleAllocator<'_>,
        node: CallNode,
        func: &mut Function,
        routines: &EntitySet<Symbol>,
        (orders, reorders): (bool, bool),
    ) -> Result<Done, CompileError> {
        self.session.poll()?;
        let (id, arch) = (node.function, allocator.arch());
        let mut laps = Laps::start();
        let budget = RegisterBudget::new(id, func, arch, self.counts, self.alloc);
        let [seed, reorder_seed] = self.seeds;
        if self.tail_calls {
            allocator.put_tail_calls(&node, func);
        }
        let placing = Placing { allocator, budget: &budget, retries: self.retries, seed };
        let done = if orders { Some(placing.order(func, &mut laps)?) } else { None };
        let ordered = self.keep(func, &ORDER);
        self.session.poll()?;
        let mut allocation = placing.allocate(&node, func, done)?;
        settle(func, arch, &mut allocation);
        laps.end(Stage::Allocate);
        let placed = self.keep(func, &ALLOCATION);
        self.session.poll()?;
        let allocated = self.keeps_allocated.then(|| func.clone());
        let fault =
            |func: &Function, reason: String| CompileError::Internal { function: func.name().to_owned(), reason };
        if reorders {
            join_zeros(func, arch);
            guard_edge_copies(func, arch);
            place_cold_last(func, routines);
            settle_jumps(func);
            branch_on_both(func);
        } else if self.settings.level > 0 {
            // At -O0 each jump of the program is a step.
            layout::remove_redundant_branches(func);
        }
        layout::make_fallthroughs_explicit(func);
        laps.end(Stage::Layout);
        let (reorder, constant_lines) = (reorders, self.constant_lines);
        let options = oriole_sched::Options { reorder, constant_lines, seed: reorder_seed };
        let machine = oriole_sched::schedule(func, arch, &options).map_err(|error| fault(func, error.to_string()))?;
        laps.end(Stage::Schedule);
        let scheduled = self.keep(func, &SCHEDULING);
        self.session.poll()?;
        let code = machine.finish().map_err(|error| fault(func, error.to_string()))?;
        laps.end(Stage::Encode);
        Ok(Done { allocation, code, allocated, dumps: [ordered, placed, scheduled], times: laps.times })
    }

    /// Show the function behind a stage to who looks on.
    fn keep(&self, func: &Function, stage: &PassInfo) -> Option<Dump> {
        self.session.after_pass(stage.number(), stage.name, func, Changed::Yes, None);
        if let Some(historian) = self.historian {
            historian.note(stage, func, Vec::new(), stage.name != ORDER.name);
        }
        self.settings.shows(stage.name, Changed::Yes).then(|| oriole_opt::dump(func, stage, self.rot13))
    }
}

/// The routines that the compiler brings.
fn routines(module: &Module) -> EntitySet<Symbol> {
    let is_routine = |data: &SymbolData| match data.kind {
        SymbolKind::Function(id) => module.functions[id].kind() == FunctionKind::Internal,
        _ => false,
    };
    let mut routines = EntitySet::new();
    for (symbol, _) in module.symbols.iter().filter(|(_, data)| is_routine(data)) {
        routines.insert(symbol);
    }
    routines
}

/// Runs of an optional stage, one for each function.
struct Runs {
    first: u64,
    limit: u64,
    enabled: bool,
}

impl Runs {
    fn open(stage: &PassInfo, module: &Module, settings: &Settings, numbering: &mut Numbering) -> Self {
        let names: &[&'static str] = if settings.level < stage.level { &[] } else { &[stage.name] };
        let units: Vec<&str> = module.functions.values().map(|func| func.name()).collect();
        let first = numbering.open(names, &units);
        let limit = settings.limit.map_or(u64::MAX, |limit| limit.runs);
        Runs { first, limit, enabled: !names.is_empty() && settings.enables(stage) }
    }

    /// Whether the stage is to work on the function.
    fn includes(&self, id: FuncId) -> bool {
        self.enabled && self.first + u64::from(id.as_u32()) < self.limit
    }
}

/// Look once more at products of warpgroups, and tell what the passes have to say.
fn settle(func: &mut Function, arch: Arch, allocation: &mut FunctionAllocation) {
    oriole_opt::settle_products(func, arch);
    let (losses, notes) = func.notes().iter().cloned().partition::<Vec<_>, _>(|note| note.contains("Performance Loss"));
    allocation.own.warnings.extend(losses);
    allocation.own.notes.extend(notes);
}
