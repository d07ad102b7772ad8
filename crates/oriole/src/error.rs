//! Why there is no cubin.

use crate::diagnostic::Diagnostic;
use oriole_ptx::diag::SourceMap;
use std::time::Duration;

/// A setting of a [`CompilerBuilder`](crate::CompilerBuilder) that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingError(pub(crate) String);

/// Bytes that are no cubin of a known target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CubinError(pub(crate) String);

/// Why a compilation gave no cubin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The input is wrong, or has what is not supported: every place that was found. Displayed as the command prints it, in several
    /// lines: each error with its line of the input, a caret below the place, and advice.
    #[error("{}", rendered(.0))]
    Source(Vec<Diagnostic>),
    /// No code is made for the target that the module names.
    #[error("{0}")]
    Target(
        /// What is said of it; it names those that there are.
        String,
    ),
    /// A kernel that was asked for is not in the module.
    #[error("no kernel '{name}'; the module has: {}", known.join(" "))]
    NoKernel {
        /// The name asked for.
        name: String,
        /// The kernels that there are.
        known: Vec<String>,
    },
    /// The module has more functions or instructions than [`Limits`](crate::Limits) allow.
    #[error("the module has {count} {what}, the limit is {limit}")]
    Limit {
        /// `functions` or `instructions`.
        what: &'static str,
        /// How many it has.
        count: usize,
        /// How many it may have.
        limit: usize,
    },
    /// It took longer than [`Limits`](crate::Limits) allow.
    #[error("the compilation takes longer than {} seconds", .0.as_secs_f64())]
    Time(
        /// The limit.
        Duration,
    ),
    /// It took more memory than [`Limits`](crate::Limits) allow.
    #[error("out of memory: the compilation needs more than the {0} bytes that it may have")]
    Memory(
        /// The limit in bytes.
        u64,
    ),
    /// A [`CancelToken`](crate::CancelToken) ended it.
    #[error("the compilation was cancelled")]
    Cancelled,
    /// The module is right, but the machine cannot hold it: too few registers are allowed, or a function is too large.
    #[error("{0}")]
    Capacity(
        /// What is too small.
        String,
    ),
    /// A pass of the caller's own fails, or leaves what is no function ([`CompilerBuilder::pass`](crate::CompilerBuilder::pass)).
    #[error("{0}")]
    Pass(
        /// The function, the place, and what is wrong.
        String,
    ),
    /// A fault of Oriole itself.
    #[error("{0}")]
    Internal(
        /// What went wrong, and where.
        String,
    ),
}

/// What the command prints: each error with its line, a caret below the place, and advice.
fn rendered(diagnostics: &[Diagnostic]) -> String {
    if diagnostics.is_empty() {
        return "the input was rejected".to_owned();
    }
    diagnostics.iter().map(|diagnostic| diagnostic.render().trim_end()).collect::<Vec<_>>().join("\n\n")
}

impl CompileError {
    /// `source` is the text that places mean, where there is one.
    pub(crate) fn from_codegen(error: oriole_codegen::CompileError, source: Option<&SourceMap<'_>>) -> CompileError {
        use oriole_codegen::CompileError as Inner;
        match error {
            Inner::Source(list) => {
                CompileError::Source(list.iter().map(|error| Diagnostic::of_ptx(error, source)).collect())
            }
            Inner::NoEntry { name, known } => CompileError::NoKernel { name, known },
            Inner::Limit { what, count, limit } => CompileError::Limit { what, count, limit },
            Inner::Time(limit) => CompileError::Time(limit),
            Inner::Memory(limit) => CompileError::Memory(limit),
            Inner::Cancelled => CompileError::Cancelled,
            Inner::Phase(ref phase) if phase.is_the_callers() => CompileError::Pass(error.to_string()),
            Inner::Target(_) | Inner::Ldcu | Inner::OptimisedDebugging => CompileError::Target(error.to_string()),
            Inner::Allocation(_) | Inner::Phase(_) | Inner::Write(_) => CompileError::Capacity(error.to_string()),
            // The settings were checked when the compiler was built.
            Inner::Internal { .. } | Inner::Knob(_) | Inner::Passes(_) | Inner::Level(_) => {
                CompileError::Internal(error.to_string())
            }
        }
    }
}
