//! The pipeline on a module: passes on functions side by side, between passes on the module.

use crate::knobs::Knobs;
use crate::passes::check;
use crate::pipeline::{Code, Done, ModuleContext, OnModule, PIPELINE};
use crate::uniform_calls::leaving_uniform;
use crate::{Changed, Context, PhaseError};
use oriole_isa::Arch;
use oriole_ori::analysis::{Analyses, CallNode, Kept, Uniformity, call_order};
use oriole_ori::{Epochs, FuncId, Function, Module, SecondaryMap};
use oriole_passes::{Dump, Numbering, Pass, Plan, Record, Settings, Tally, Unit, Workers};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Who looks on, from several threads where there are several jobs.
pub trait Watcher: Sync {
    /// A pass has run on a function; the time, where that is known of the function alone, and what the pass has counted.
    fn after(&self, pass: &Pass<Code>, func: &Function, changed: Changed, time: Option<Duration>, tally: &Tally);

    /// At the place of a pass, whether it has run or not: the function may be changed.
    ///
    /// # Errors
    /// What the caller makes of it is wrong.
    fn rewrite(&self, pass: &Pass<Code>, arch: Arch, func: &mut Function) -> Result<Changed, PhaseError>;

    /// Whether the compilation is to end.
    fn is_stopped(&self) -> bool;
}

/// What the passes on a module go by.
pub struct Options<'a> {
    /// Level, what is left out, limits, dumps.
    pub settings: &'a Settings,
    /// Tunable numbers.
    pub knobs: &'a Knobs,
    /// Other functions may be in other files.
    pub relocatable: bool,
    /// Dumps spell mnemonics as the published opcode table does.
    pub rot13: bool,
    /// Who looks on.
    pub watcher: &'a dyn Watcher,
    /// Threads.
    pub workers: &'a Workers,
}

/// Runs the passes of the level on all functions, callees first.
///
/// # Errors
/// The first failure in the order of the functions, or [`PhaseError::Stopped`].
pub fn run(
    module: &mut Module,
    options: &Options<'_>,
    numbering: &mut Numbering,
    record: &mut Record,
) -> Result<(), PhaseError> {
    let order = call_order(module);
    let mut known = Known::new();
    let mut start = 0;
    while start < PIPELINE.len() {
        match PIPELINE[start].run {
            Code::Function { .. } => {
                let rest = PIPELINE[start..].iter();
                let end = start + rest.take_while(|pass| matches!(pass.run, Code::Function { .. })).count();
                on_functions(module, (&order, start..end), options, numbering, record, &mut known)?;
                start = end;
            }
            Code::Module(run) => {
                on_module(module, &order, (start, run), options, numbering, record, &mut known)?;
                start += 1;
            }
        }
    }
    Ok(())
}

/// What passes on the module have left known of functions: it goes from thread to thread, which analyses do not.
type Known = SecondaryMap<FuncId, Option<(Uniformity, Epochs)>>;

/// The analyses of a function to begin with.
fn analyses(known: Option<(Uniformity, Epochs)>) -> Analyses {
    known.map_or_else(Analyses::default, |(uniformity, of)| Analyses::with_uniformity(uniformity, of))
}

/// Entries of the pipeline on each function.
fn on_functions(
    module: &mut Module,
    (order, range): (&[CallNode], Range<usize>),
    options: &Options<'_>,
    numbering: &mut Numbering,
    record: &mut Record,
    known: &mut Known,
) -> Result<(), PhaseError> {
    let plan = Plan::new(PIPELINE, range, options.settings);
    let names = plan.optional();
    let units: Vec<&str> = order.iter().map(|node| module.functions[node.function].name()).collect();
    let first = numbering.open(&names, &units);
    let place: BTreeMap<FuncId, usize> = order.iter().enumerate().map(|(at, node)| (node.function, at)).collect();
    let (arch, leaving) = (module.arch, leaving_uniform(module, order));
    let placed = |(id, func)| (place.get(&id).copied().unwrap_or(0), func, known[id].take());
    let mut functions: Vec<(usize, &mut Function, _)> = module.functions.iter_mut().map(placed).collect();
    functions.sort_by_key(|(at, ..)| *at);
    let work = |(at, func, known): (usize, &mut Function, Option<(Uniformity, Epochs)>)| {
        let mut record = Record::default();
        if options.watcher.is_stopped() {
            return (record, Err(PhaseError::Stopped));
        }
        let context =
            Context { arch, knobs: options.knobs.clone(), leaving_uniform: leaving.clone(), tally: Tally::default() };
        let mut unit = OneFunction { func, context, analyses: analyses(known), options };
        let outcome = plan.run(first + (at * names.len()) as u64, &mut unit, &mut record);
        (record, outcome)
    };
    options.workers.each_into(functions, work, |(own, outcome)| {
        record.add(own);
        outcome
    })?;
    numbering.note(record.last.take());
    Ok(())
}

/// The unit of a pass on the module, where runs are numbered.
const MODULE: &str = "the module";

/// A pass on the module.
fn on_module(
    module: &mut Module,
    order: &[CallNode],
    (at, run): (usize, OnModule),
    options: &Options<'_>,
    numbering: &mut Numbering,
    record: &mut Record,
    known: &mut Known,
) -> Result<(), PhaseError> {
    let (pass, settings) = (&PIPELINE[at], options.settings);
    if options.watcher.is_stopped() {
        return Err(PhaseError::Stopped);
    }
    if settings.level < pass.level {
        return Ok(());
    }
    if !pass.needed {
        let number = numbering.open(&[pass.name], &[MODULE]);
        let is_within = settings.limit.is_none_or(|limit| number < limit.runs);
        if !settings.enables(pass) || !is_within {
            return Ok(());
        }
    }
    let context = ModuleContext { order, workers: options.workers, relocatable: options.relocatable };
    let start = Instant::now();
    let changes = run(module, &context)?;
    let any = Changed::when(changes.iter().any(|done| done.changed == Changed::Yes));
    record.note(at, pass, any, start.elapsed(), &Tally::default());
    let arch = module.arch;
    for Done { function: id, changed, uniformity } in changes {
        let func = &mut module.functions[id];
        known[id] = uniformity.map(|found| (found, func.epochs()));
        if settings.verify && changed == Changed::Yes {
            check::verify_after(func, arch, pass.name, &analyses(known[id].clone()))?;
        }
        if settings.shows(pass.name, changed) {
            record.dumps.push(dump(func, pass, options.rot13));
        }
        options.watcher.after(pass, func, changed, None, &Tally::default());
        options.watcher.rewrite(pass, arch, func)?;
    }
    Ok(())
}

/// A function with its analyses.
struct OneFunction<'a> {
    func: &'a mut Function,
    context: Context,
    analyses: Analyses,
    options: &'a Options<'a>,
}

impl Unit<Code> for OneFunction<'_> {
    type Error = PhaseError;

    fn run(&mut self, pass: &Pass<Code>) -> Result<Changed, PhaseError> {
        // A range of entries for functions has no other.
        let Code::Function { run, keeps } = pass.run else { return Ok(Changed::No) };
        let before = self.func.epochs();
        let changed = run(self.func, &self.context, &mut self.analyses)?;
        let kept = if changed == Changed::Yes { keeps } else { Kept::All };
        self.analyses.keep(kept, self.func, before);
        Ok(changed)
    }

    fn verify(&mut self, pass: &Pass<Code>) -> Result<(), PhaseError> {
        check::verify_after(self.func, self.context.arch, pass.name, &self.analyses)
    }

    fn tally(&self) -> &Tally {
        &self.context.tally
    }

    fn dump(&self) -> (String, String) {
        text(self.func, self.options.rot13)
    }

    fn is_stopped(&self) -> bool {
        self.options.watcher.is_stopped()
    }

    fn after(&mut self, pass: &Pass<Code>, ran: Option<(Changed, Duration)>) -> Result<(), PhaseError> {
        let watcher = self.options.watcher;
        if let Some((changed, time)) = ran {
            watcher.after(pass, self.func, changed, Some(time), &self.context.tally);
        }
        if watcher.rewrite(pass, self.context.arch, self.func)? == Changed::Yes {
            self.analyses = Analyses::default();
        }
        Ok(())
    }
}

/// A function behind a pass, its mnemonics as the published opcode table spells them with `rot13`.
pub fn dump<R>(func: &Function, pass: &Pass<R>, rot13: bool) -> Dump {
    let (unit, text) = text(func, rot13);
    Dump { unit, number: pass.number(), pass: pass.name, text }
}

/// A function's name and text.
fn text(func: &Function, rot13: bool) -> (String, String) {
    (func.name().to_owned(), if rot13 { format!("{func:#}") } else { func.to_string() })
}
