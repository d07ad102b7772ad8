//! The pipeline over Ori, up to allocation. [`crate::slots`] says of every published slot what fills it.

use crate::passes::{back_copy, branches, check, control_flow, dead_code, form, general, nops, predicate, synchronise};
use crate::{Context, PhaseError};
use oriole_ori::Function;
use oriole_ori::analysis::{Analyses, Kept};
use oriole_passes::{Changed, Pass, Repetition};

/// A pass's code.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// Runs it.
    pub run: fn(&mut Function, &Context, &mut Analyses) -> Result<Changed, PhaseError>,
    /// Which analyses hold after it, where it changed the function.
    pub keeps: Kept,
}

type Run = fn(&mut Function, &Context, &mut Analyses) -> Result<Changed, PhaseError>;

const fn entry(
    name: &'static str,
    slots: &'static [u16],
    level: u8,
    needed: bool,
    repetition: Repetition,
    keeps: Kept,
    run: Run,
) -> Pass<Code> {
    Pass { name, slots, level, needed, repetition, run: Code { run, keeps } }
}

use Kept::{Flow, Nothing};
use Repetition::{Once, Settle};

/// The passes in the order in which they run, each under the published name of the slot that it fills. Slots 23 and 73
/// make and leave the form that all between them works on, so that no level has the one without the other.
#[rustfmt::skip]
pub const PIPELINE: &[Pass<Code>] = &[
    //    pass                        slots   level needed repetition keeps    code
    entry("OriCheckInitialProgram",   &[0],   0,    true,  Once,      Flow,    check::run),
    entry("AnalyzeControlFlow",       &[3],   0,    true,  Once,      Nothing, control_flow::run),
    entry("EarlyOriSimpleLiveDead",   &[10],  1,    false, Once,      Flow,    dead_code::run),
    entry("OriBranchOpt",             &[15],  1,    false, Once,      Nothing, branches::run),
    entry("OriPerformLiveDeadFirst",  &[16],  1,    false, Once,      Flow,    dead_code::run),
    entry("GenerateMovPhi",           &[23],  1,    true,  Once,      Flow,    form::enter),
    entry("GeneralOptimize",          &[29],  1,    false, Settle,    Flow,    general::run),
    entry("OriPerformLiveDeadSecond", &[33],  1,    false, Once,      Flow,    dead_code::run),
    entry("GvnCse",                   &[49],  1,    false, Settle,    Flow,    general::common),
    entry("OriPerformLiveDeadThird",  &[61],  1,    false, Once,      Flow,    dead_code::run),
    entry("OriDoPredication",         &[63],  1,    false, Once,      Nothing, predicate::run),
    entry("GeneralOptimizeLate2",     &[65],  1,    false, Settle,    Flow,    general::run),
    entry("ConvertAllMovPhiToMov",    &[73],  1,    true,  Once,      Flow,    form::leave),
    entry("OriBackCopyPropagate",     &[83],  1,    false, Once,      Flow,    back_copy::run),
    entry("OriPerformLiveDeadFourth", &[84],  1,    false, Once,      Flow,    dead_code::run),
    entry("OriDoSyncronization",      &[99],  0,    true,  Once,      Nothing, synchronise::run),
    entry("OriRemoveNopCode",         &[107], 0,    true,  Once,      Flow,    nops::run),
];
