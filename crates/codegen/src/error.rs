//! Why a compilation gave no cubin.

use oriole_ptx::diag::Diagnostic;
use std::time::Duration;

/// Why a compilation gave no cubin.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The PTX is wrong, or has what is not supported: every place where.
    #[error("{}", summary(.0))]
    Source(Vec<Diagnostic>),
    /// No code is made for the target.
    #[error("no code is made for target '{}'{}", .0, oriole_isa::meant_or_all(.0, target_names()))]
    Target(String),
    /// A kernel that was asked for is not in the module.
    #[error("no kernel '{name}'; the module has: {}", known.join(" "))]
    NoEntry {
        /// The name asked for.
        name: String,
        /// The kernels that there are.
        known: Vec<String>,
    },
    /// A knob setting makes no sense.
    #[error(transparent)]
    Knob(#[from] oriole_opt::knobs::KnobError),
    /// An option about passes would have no effect.
    #[error(transparent)]
    Passes(#[from] oriole_passes::SettingsError),
    /// An optimisation phase failed.
    #[error(transparent)]
    Phase(#[from] oriole_opt::PhaseError),
    /// Register allocation failed.
    #[error(transparent)]
    Allocation(#[from] oriole_regalloc::AllocError),
    /// The cubin cannot be written.
    #[error(transparent)]
    Write(#[from] oriole_cubin::WriteError),
    /// `LDCU` was asked for on a target that lacks it: ptxas's words, and as with ptxas nothing but text could hold it on sm_90.
    #[error(
        "SM does not support LDCU. On SM90 -knob EmitLDCU is only supported when options '-forcetext' and '-sso out.sass' \
         are provided."
    )]
    Ldcu,
    /// `.target …, debug` at another level than 0: ptxas's words.
    #[error("Optimized debugging not supported")]
    OptimisedDebugging,
    /// No such `-O` level.
    #[error("there is no optimisation level {0}; there are 0 to 3")]
    Level(u8),
    /// The module has more of something than the caller allows.
    #[error("the module has {count} {what}, the limit is {limit}")]
    Limit {
        /// `functions` or `instructions`.
        what: &'static str,
        /// How many it has.
        count: usize,
        /// How many it may have.
        limit: usize,
    },
    /// The compilation took longer than the caller allows.
    #[error("the compilation takes longer than {} seconds", .0.as_secs_f64())]
    Time(Duration),
    /// The process has grown more than the caller allows.
    #[error("out of memory: the compilation needs more than the {0} bytes that it may have")]
    Memory(u64),
    /// The caller ended the compilation.
    #[error("the compilation was cancelled")]
    Cancelled,
    /// A fault of Oriole itself.
    #[error("internal fault in function '{function}': {reason}")]
    Internal {
        /// The function being compiled.
        function: String,
        /// What went wrong.
        reason: String,
    },
}

fn summary(diagnostics: &[Diagnostic]) -> String {
    match diagnostics {
        [] => "the PTX was rejected".to_owned(),
        [only] => only.message.clone(),
        [first, rest @ ..] => format!("{} (and {} more errors)", first.message, rest.len()),
    }
}

fn target_names() -> impl Iterator<Item = String> {
    oriole_cubin::targets().map(|target| target.to_string())
}
