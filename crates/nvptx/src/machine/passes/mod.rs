//! Passes on machine functions, in the order of one table.
//!
//! | file | what it does |
//! |---|---|
//! | [`verify`] | checks what every pass relies on |
//! | [`cse`] | computes nothing twice |
//! | [`licm`] | moves what is the same in each turn of a loop before it |
//! | [`sink`] | moves values towards their uses |
//! | [`remat`] | computes cheap values again when too many registers are live |
//! | [`dead_code`] | removes what nothing reads |
//! | [`out_of_ssa`] | makes each web of `phi`s one register |
//! | [`layout`] | orders the blocks |
//! | [`pressure`] | how many registers are live at once |
//! | [`mod@cfg`], [`defs`], [`liveness`] | what passes ask of a function |
//! | [`run_all`] | the passes on all functions, several at a time |
//! | [`rename`] | registers that are read in the place of others |

pub mod cfg;
mod context;
pub mod cse;
pub mod dead_code;
pub mod defs;
pub mod layout;
pub mod licm;
pub mod liveness;
pub mod out_of_ssa;
pub mod pressure;
pub mod remat;
pub mod rename;
pub mod sink;
mod together;
pub mod verify;

use super::{Forms, Function};
pub use context::{Context, PassOptions};
pub use together::run_all;
use verify::{Fault, Stage};

/// One pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name, as in reports.
    pub name: &'static str,
    /// The lowest level that runs it.
    pub level: u8,
    /// What holds after it.
    pub leaves: Stage,
    /// Runs it; true when it changed something.
    pub run: fn(&mut Context<'_>) -> bool,
}

/// All passes, in the order in which they run.
#[rustfmt::skip]
pub const PASSES: &[Pass] = &[
    Pass { name: "cse",        level: 1, leaves: Stage::Ssa,   run: cse::run },
    Pass { name: "licm",       level: 2, leaves: Stage::Ssa,   run: licm::run },
    Pass { name: "sink",       level: 2, leaves: Stage::Ssa,   run: sink::run },
    Pass { name: "remat",      level: 2, leaves: Stage::Ssa,   run: remat::run },
    Pass { name: "dead-code",  level: 0, leaves: Stage::Ssa,   run: dead_code::run },
    Pass { name: "out-of-ssa", level: 0, leaves: Stage::Plain, run: out_of_ssa::run },
    Pass { name: "layout",     level: 0, leaves: Stage::Plain, run: layout::run },
];

/// The names of the passes of a level that [`PassOptions::disabled`] can name: those that emission does not need.
pub fn optional(level: u8) -> impl Iterator<Item = &'static str> {
    PASSES.iter().filter(move |pass| (1..=level).contains(&pass.level)).map(|pass| pass.name)
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct PassReport {
    /// The passes that changed something.
    pub changed: Vec<&'static str>,
}

/// A pass left, or selection handed over, a function that is not right: a mistake of ours.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("internal fault after {pass}: {fault}")]
pub struct PassFault {
    /// The pass, or `selection`.
    pub pass: &'static str,
    /// What is wrong.
    #[source]
    pub fault: Fault,
}

/// Runs the passes of a level on a function in SSA form; afterwards it can be emitted.
///
/// # Errors
///
/// [`PassFault`] when a check fails; never without [`PassOptions::verify`].
pub fn run(function: &mut Function, forms: &mut Forms, options: &PassOptions) -> Result<PassReport, PassFault> {
    run_until(function, forms, options, &|| false)
}

/// The same, but that no further pass runs when `is_stopped` gives true.
fn run_until(
    function: &mut Function,
    forms: &mut Forms,
    options: &PassOptions,
    is_stopped: &dyn Fn() -> bool,
) -> Result<PassReport, PassFault> {
    let check = |function: &Function, pass, stage| match options.verify {
        true => verify::verify(function, stage).map_err(|fault| PassFault { pass, fault }),
        false => Ok(()),
    };
    check(function, "selection", Stage::Ssa)?;
    let mut report = PassReport::default();
    let is_disabled = |pass: &Pass| pass.level > 0 && options.disabled.iter().any(|name| name == pass.name);
    for pass in PASSES.iter().filter(|pass| pass.level <= options.level && !is_disabled(pass)) {
        if is_stopped() {
            break;
        }
        if (pass.run)(&mut Context { function: &mut *function, forms: &mut *forms, options }) {
            report.changed.push(pass.name);
        }
        check(function, pass.name, pass.leaves)?;
    }
    Ok(report)
}
