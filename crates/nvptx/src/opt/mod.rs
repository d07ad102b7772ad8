//! The SSA clean-up: what is done to the IR before selection, by level.
//!
//! [`PASSES`] reads as the pipeline; `docs/nvptx-opt.md` says what each pass does.

mod address_spaces;
mod combine;
mod context;
mod dce;
mod dead_stores;
mod edit;
mod frame;
mod inline;
mod intrinsic;
mod invariant_loads;
mod mem2reg;
mod offsets;
mod options;
mod phi_casts;
mod redundant_loads;
mod simplify_cfg;
mod sroa;
mod strides;
mod unreachable_blocks;
mod unroll;
mod vectorize;

pub use context::Context;
pub use edit::Replacements;
pub(crate) use intrinsic::call as call_of;
pub use options::Options;

use smallvec::SmallVec;

use crate::ir::{Body, Module};

/// What [`run`] did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Instructions of all functions before.
    pub before: usize,
    /// Instructions of all functions after.
    pub after: usize,
    /// For each pass of the pipeline: in how many functions it changed something.
    pub changed: Vec<(&'static str, usize)>,
}

/// One step of the pipeline.
pub struct Pass {
    /// Its name, for reports and dumps.
    pub name: &'static str,
    /// The lowest level at which it runs.
    pub level: u8,
    /// The pass that must have changed the function for this one to run.
    pub after: Option<&'static str>,
    /// Changes one function; true if it did.
    pub run: Run,
}

type Run = fn(&mut Body, &mut Context<'_>) -> bool;

const fn pass(name: &'static str, level: u8, run: Run) -> Pass {
    Pass { name, level, after: None, run }
}

/// A pass that runs again on what an earlier one has made.
const fn after(earlier: &'static str, name: &'static str, run: Run) -> Pass {
    Pass { name, level: 2, after: Some(earlier), run }
}

/// The pipeline, in order, for each function.
pub const PASSES: &[Pass] = &[
    pass("unreachable-blocks", 0, unreachable_blocks::run),
    pass("inline", 1, inline::run),
    pass("sroa", 1, sroa::run),
    pass("mem2reg", 1, mem2reg::run),
    pass("combine", 1, combine::run),
    pass("simplify-cfg", 1, simplify_cfg::run),
    pass("address-spaces", 0, address_spaces::run),
    pass("redundant-loads", 1, redundant_loads::run),
    pass("combine", 1, combine::run),
    pass("unroll", 2, unroll::run),
    after("unroll", "simplify-cfg", simplify_cfg::run),
    after("unroll", "combine", combine::run),
    after("unroll", "sroa", sroa::run),
    after("unroll", "mem2reg", mem2reg::run),
    after("unroll", "combine", combine::run),
    after("unroll", "simplify-cfg", simplify_cfg::run),
    after("unroll", "combine", combine::run),
    pass("phi-casts", 2, phi_casts::run),
    pass("strides", 2, strides::run),
    pass("offsets", 2, offsets::run),
    pass("invariant-loads", 2, invariant_loads::run),
    pass("vectorize", 2, vectorize::run),
    pass("divisions", 1, combine::divisions),
    pass("dead-stores", 1, dead_stores::run),
    pass("dce", 1, dce::run),
];

/// The names of the passes that run at a level and that [`Options::disabled`] can name: those that selection does not
/// need.
#[must_use]
pub fn optional_passes(level: u8) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for pass in PASSES.iter().filter(|pass| (1..=level).contains(&pass.level)) {
        if !names.contains(&pass.name) {
            names.push(pass.name);
        }
    }
    names
}

/// Cleans up all functions of a module.
pub fn run(module: &mut Module, options: &Options) -> Report {
    run_until(module, options, &|| false)
}

/// The same, but that the passes that are left do not run from when `is_stopped` gives true on.
pub fn run_until(module: &mut Module, options: &Options, is_stopped: &dyn Fn() -> bool) -> Report {
    let annotations = module.annotations();
    let mut report = Report { changed: PASSES.iter().map(|pass| (pass.name, 0)).collect(), ..Report::default() };
    let order = inline::callees_first(module);
    report.before = size(module);
    let mut room = inline::room(report.before);
    for symbol in order {
        let Some(mut body) = module.symbols[symbol].function_mut().and_then(|function| function.body.take()) else {
            continue;
        };
        let mut cx = Context { module, symbol, kernel: annotations.kernels.get(&symbol), options, room };
        let mut active: SmallVec<[&str; 16]> = SmallVec::new();
        for (pass, (_, changed)) in PASSES.iter().zip(&mut report.changed).take(options.passes) {
            let is_disabled = pass.level > 0 && options.disabled.iter().any(|name| name == pass.name);
            let is_due =
                options.level >= pass.level && pass.after.is_none_or(|name| active.contains(&name)) && !is_disabled;
            if is_due && !is_stopped() && (pass.run)(&mut body, &mut cx) {
                active.push(pass.name);
                *changed += 1;
            }
        }
        room = cx.room;
        if let Some(function) = module.symbols[symbol].function_mut() {
            function.body = Some(body);
        }
    }
    if options.level >= 1 {
        // What has been inlined everywhere is not called any more.
        crate::link::strip_unused(module);
    }
    report.after = size(module);
    report
}

/// The instructions of all functions.
fn size(module: &Module) -> usize {
    module.definitions().map(|(.., body)| body.insts_in_order().count()).sum()
}
