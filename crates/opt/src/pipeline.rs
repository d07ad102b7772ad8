//! The pipeline over Ori, up to allocation. [`crate::slots`] says of every published slot what fills it.

use crate::passes::{
    atomics, back_copy, branches, check, control_flow, dead_code, form, general, hoist, induction, invariants,
    known_calls, late_arch, launch_constants, member_masks, memory, nested, nops, once, pipelining, predicate,
    products, side_exits, sink, synchronise, uniform, unroll, wide_loads, zeros,
};
use crate::{Context, PhaseError};
use oriole_ori::analysis::{Analyses, CallNode, Kept, Uniformity};
use oriole_ori::{FuncId, Function, Module};
use oriole_passes::{Changed, FastCompile, MOST_RULES, Pass, Repetition, Workers};

/// A pass's code.
#[derive(Clone, Copy, Debug)]
pub enum Code {
    /// A pass on one function after the other, in any order or at the same time.
    Function {
        /// Runs it.
        run: OnFunction,
        /// Which analyses hold after it, where it changed the function.
        keeps: Kept,
    },
    /// A pass on the module.
    Module(OnModule),
}

/// Changes a function.
pub type OnFunction = fn(&mut Function, &Context, &mut Analyses) -> Result<Changed, PhaseError>;

/// Changes a module; says what was done to which functions, in that order.
pub type OnModule = fn(&mut Module, &ModuleContext<'_>) -> Result<Vec<Done>, PhaseError>;

/// What a pass on a module did to one function.
#[derive(Debug)]
pub struct Done {
    /// The function.
    pub function: FuncId,
    /// Whether it changed.
    pub changed: Changed,
    /// What varies between the threads of a warp, if that is known of the function as it now stands.
    pub uniformity: Option<Uniformity>,
}

/// What a pass on a module may know besides.
#[derive(Clone, Copy, Debug)]
pub struct ModuleContext<'a> {
    /// The functions, callees before callers, with what they call.
    pub order: &'a [CallNode],
    /// Threads to work with.
    pub workers: &'a Workers,
    /// Other functions may be in other files.
    pub relocatable: bool,
}

const fn entry(
    name: &'static str,
    slots: &'static [u16],
    (level, fast): (u8, FastCompile),
    needed: bool,
    repetition: Repetition,
    rules: &'static [&'static str],
    run: Code,
) -> Pass<Code> {
    // What is not counted would be taken for not done.
    assert!(rules.len() <= MOST_RULES);
    Pass { name, slots, level, fast, needed, repetition, rules, run }
}

/// A pass that leaves the blocks and edges as they are.
const fn same_flow(run: OnFunction) -> Code {
    Code::Function { run, keeps: Kept::Flow }
}

/// A pass that changes blocks or edges.
const fn new_flow(run: OnFunction) -> Code {
    Code::Function { run, keeps: Kept::Nothing }
}

use FastCompile::{Max, Mid, Min, Off};
use Repetition::{Once, Settle};

/// The passes in the order in which they run, each under the published name of the slot that it fills. Slots 23 and 73
/// make and leave the form that all between them works on, so that no level has the one without the other. Slots 74 and 86 are
/// filled behind slot 99: `docs/uniform.md`.
#[rustfmt::skip]
pub const PIPELINE: &[Pass<Code>] = &[
    //    pass                        slots   (level, fast) needed repetition rules code
    entry("OriCheckInitialProgram",   &[0],   (0, Max),  true,   Once,      &[], same_flow(check::run)),
    entry("AnalyzeControlFlow",       &[3],   (0, Max),  true,   Once,      &[], new_flow(control_flow::run)),
    entry("EarlyOriSimpleLiveDead",   &[10],  (1, Max),  false,  Once,      dead_code::RULES, same_flow(dead_code::run)),
    entry("ReplaceUniformsWithImm",   &[11],  (1, Max),  false,  Once,      launch_constants::RULES, same_flow(launch_constants::run)),
    entry("OriBranchOpt",             &[15],  (1, Max),  false,  Once,      &[], new_flow(branches::run)),
    entry("OriPerformLiveDeadFirst",  &[16],  (1, Min),  false,  Once,      dead_code::RULES, same_flow(dead_code::run)),
    entry("GenerateMovPhi",           &[23],  (1, Max),  true,   Once,      &[], same_flow(form::enter)),
    // Behind slot 23, not before slot 72: what comes between is simpler for it.
    entry("OptimizeSyncInstructions", &[71],  (1, Max),  false,  Once,      member_masks::RULES, new_flow(member_masks::run)),
    entry("GeneralOptimize",          &[29],  (1, Max),  false,  Settle,    general::GENERAL_NAMES, same_flow(general::run)),
    // Behind slot 29, which makes conditions simple, and ahead of slots 22, 38 and 63, which would put elections into others' code.
    entry("ExpandMbarrier",           &[42],  (1, Max),  false,  Once,      once::RULES, new_flow(once::run)),
    // Behind slot 29, which makes arguments constants.
    entry("AdvancedPhaseEarlyEnforceArgs", &[47], (2, Off), false, Once,     &[], Code::Module(known_calls::run)),
    // Behind slot 29, not before slot 23: counters are told by definitions, and found where copies are gone.
    entry("OriLoopUnrolling",         &[22],  (2, Off),  false,  Once,      unroll::RULES, new_flow(unroll::run)),
    // With ConvertMemoryToRegisterOrUniform, which is published without a number: behind slot 29, which puts offsets into addresses.
    entry("CompactLocalMemory",       &[32],  (1, Mid),  false,  Once,      memory::promote::RULES, same_flow(memory::promote::run)),
    entry("OriPerformLiveDeadSecond", &[33],  (1, Off),  false,  Once,      dead_code::SWEEP_RULES, same_flow(dead_code::run)),
    entry("GeneralOptimizeMid",       &[37],  (2, Off),  false,  Settle,    general::GENERAL_NAMES, same_flow(general::run)),
    entry("OptimizeUniformAtomic",    &[44],  (1, Max),  false,  Once,      atomics::RULES, new_flow(atomics::run)),
    entry("GvnCse",                   &[49],  (1, Min),  false,  Settle,    memory::RULES, same_flow(memory::run)),
    // Behind slot 49, not before slot 44: equal conditions are one value there.
    entry("OptimizeNestedCondBranches", &[38], (1, Mid), false,  Once,      nested::RULES, new_flow(nested::run)),
    entry("SpeculativeHoistComInsts", &[56],  (1, Mid),  false,  Once,      hoist::RULES, same_flow(hoist::run)),
    entry("OriDoPredication",         &[63],  (1, Max),  false,  Once,      predicate::RULES, new_flow(predicate::run)),
    entry("LateOriCommoning",         &[64],  (1, Mid),  false,  Once,      wide_loads::RULES, same_flow(wide_loads::run)),
    // Behind slot 63, not before slot 22: counters of loops that predication and unrolling have left.
    entry("OriStrengthReduce",        &[21],  (1, Mid),  false,  Once,      induction::RULES, same_flow(induction::run)),
    entry("GeneralOptimizeLate2",     &[65],  (1, Min),  false,  Settle,    general::GENERAL_NAMES, same_flow(general::run)),
    entry("OriHoistInvariantsLate",   &[66],  (1, Mid),  false,  Once,      invariants::RULES, same_flow(invariants::run)),
    entry("OriDoRemat",               &[69],  (1, Mid),  false,  Once,      sink::RULES, same_flow(sink::run)),
    // Behind slot 69, which puts things where they are needed.
    entry("DoTexMovement",            &[68],  (2, Mid),  false,  Once,      side_exits::RULES, same_flow(side_exits::run)),
    // Behind slot 63, not before slot 25: loops with loads under guards are of one block there.
    entry("OriPipelining",            &[24],  (2, Off),  false,  Once,      pipelining::RULES, new_flow(pipelining::run)),
    // Ahead of slot 73: values have one definition, and nothing behind it folds constants.
    entry("LateArchOptimizeFirst",    &[75],  (1, Mid),  false,  Once,      late_arch::RULES, same_flow(late_arch::run)),
    entry("ConvertAllMovPhiToMov",    &[73],  (1, Max),  true,   Once,      &[], new_flow(form::leave)),
    // Copies of MovPhis that needed none have left blocks empty.
    entry("LateMergeEquivalentConditionalFlow", &[136], (1, Mid), false, Once, &[], new_flow(branches::run)),
    entry("LateArchOptimizeSecond",   &[81],  (1, Mid),  false,  Once,      zeros::RULES, same_flow(zeros::run)),
    entry("OriBackCopyPropagate",     &[83],  (1, Mid),  false,  Once,      back_copy::RULES, same_flow(back_copy::run)),
    entry("OriPerformLiveDeadFourth", &[84],  (1, Mid),  false,  Once,      dead_code::RULES, same_flow(dead_code::run)),
    entry("OriPropagateGmma",         &[85],  (0, Max),  true,   Once,      &[], same_flow(products::propagate)),
    entry("FixupGmmaSequence",        &[87],  (0, Max),  true,   Once,      &[], same_flow(products::hold)),
    entry("OriDoSyncronization",      &[99],  (0, Max),  true,   Once,      &[], Code::Module(synchronise::run_all)),
    // Behind slot 99, not before slot 75: where threads are together is known from the barriers alone.
    entry("ConvertToUniformReg",      &[74, 86], (1, Mid),  false,  Once,      uniform::RULES, same_flow(uniform::convert)),
    entry("OriRemoveNopCode",         &[107], (0, Max),  true,   Once,      &[], same_flow(nops::run)),
];

/// Whether the pass of that name works on SSA form: it stands behind the pass that makes it, up to the one that leaves it.
pub fn works_on_ssa_form(name: &str) -> bool {
    let place = |name| PIPELINE.iter().position(|pass| pass.name == name);
    let (made, left) = (place("GenerateMovPhi"), place("ConvertAllMovPhiToMov"));
    place(name).is_some_and(|at| Some(at) > made && Some(at) <= left)
}
