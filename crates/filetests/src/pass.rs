//! `test pass NAME`: a function, or a module for a pass on modules, before and after one pass of the pipeline.

use crate::ori::{module, verified};
use oriole_isa::Arch;
use oriole_opt::pipeline::{Code, ModuleContext, OnModule, PIPELINE, works_on_ssa_form};
use oriole_opt::{CallBarriers, Context, knobs::Knobs, synchronise};
use oriole_ori::analysis::{Analyses, call_order};
use oriole_ori::{EntitySet, Function, Symbol};
use oriole_passes::{Pass, Tally, Workers};

/// The pass that brings functions into SSA form.
const ENTRY: &str = "GenerateMovPhi";

/// Calls of this symbol leave uniform registers alone.
const LEAVES_UNIFORM: u32 = 63;

/// What came of a pass.
pub(crate) struct Outcome {
    /// The function.
    pub(crate) text: String,
    /// Names of the pass's rules that have rewritten something.
    pub(crate) rules: Vec<&'static str>,
}

/// What the pass makes of the function; one that works on SSA form gets it in that. The verifier must have nothing against it before and after, or only after the
/// pass that gives registers without a value one.
pub(crate) fn run(pass: &Pass<Code>, arch: Arch, input: &str) -> Result<Outcome, String> {
    if let (Code::Module(run), true) = (pass.run, input.starts_with(".module")) {
        return on_module(pass, run, arch, input);
    }
    let mut func: Function = input.parse().map_err(|error| format!("{error}"))?;
    if pass.name != PIPELINE[0].name {
        verified(&func, arch)?;
    }
    enter_form(&mut func, pass, arch)?;
    let tally = apply(&mut func, pass, arch)?;
    verified(&func, arch)?;
    let counts = pass.rules.iter().zip(tally.counts());
    let rules = counts.filter(|(_, count)| *count > 0).map(|(rule, _)| *rule).collect();
    Ok(Outcome { text: func.to_string(), rules })
}

/// Brings a function into SSA form where the pass works on that.
fn enter_form(func: &mut Function, pass: &Pass<Code>, arch: Arch) -> Result<(), String> {
    if func.first_value().is_some() || !works_on_ssa_form(pass.name) {
        return Ok(());
    }
    let entry = PIPELINE.iter().find(|pass| pass.name == ENTRY).ok_or("nothing makes SSA form")?;
    apply(func, entry, arch)?;
    verified(func, arch)
}

/// What a pass on modules makes of the functions of one.
fn on_module(pass: &Pass<Code>, run: OnModule, arch: Arch, input: &str) -> Result<Outcome, String> {
    let mut module = module(input, arch)?;
    module.functions.values_mut().try_for_each(|func| enter_form(func, pass, arch))?;
    let (order, workers) = (call_order(&module), Workers::new(1));
    let context = ModuleContext { order: &order, workers: &workers, relocatable: false };
    run(&mut module, &context).map_err(|error| error.to_string())?;
    module.functions.values().try_for_each(|func| verified(func, arch))?;
    Ok(Outcome { text: module.functions.values().map(Function::to_string).collect(), rules: Vec::new() })
}

/// Runs one pass. Gives what its rules did.
pub(crate) fn apply(func: &mut Function, pass: &Pass<Code>, arch: Arch) -> Result<Tally, String> {
    let mut leaving_uniform = EntitySet::new();
    leaving_uniform.insert(Symbol::from_u32(LEAVES_UNIFORM));
    let context = Context { arch, knobs: Knobs::default(), leaving_uniform, tally: Tally::default() };
    let done = match pass.run {
        Code::Function { run, .. } => run(func, &context, &mut Analyses::default()),
        // The only pass on modules that is for one function as well; what the callees do is not known here.
        Code::Module(_) => synchronise(func, arch, CallBarriers::STANDARD),
    };
    done.map(|_| context.tally).map_err(|error| error.to_string())
}
