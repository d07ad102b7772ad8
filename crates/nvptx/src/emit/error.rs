//! Why a module cannot be emitted.

use oriole_ptx::diag::Diagnostic;

use crate::machine::reg::BadRegisterClass;

/// Why a module cannot be emitted.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// A register of a class that has no encoding.
    #[error(transparent)]
    BadRegisterClass(#[from] BadRegisterClass),
    /// PTX has no way to say it, or Oriole does not know one yet.
    #[error("`{symbol}`: {what}")]
    Unsupported {
        /// The function or variable.
        symbol: String,
        /// What it is that cannot be said.
        what: String,
    },
    /// Inline assembly that is no PTX.
    #[error("inline assembly in `{function}`: {}\n{text}", first_message(.diagnostics))]
    Asm {
        /// The function.
        function: String,
        /// The text with the operands put in.
        text: String,
        /// What is wrong with it; places are in `text`.
        diagnostics: Vec<Diagnostic>,
    },
    /// An earlier stage handed over what makes no sense.
    #[error("internal error in `{symbol}`: {what}")]
    Internal {
        /// The function or variable.
        symbol: String,
        /// What is wrong.
        what: String,
    },
}

fn first_message(diagnostics: &[Diagnostic]) -> &str {
    diagnostics.first().map_or("", |diagnostic| &diagnostic.message)
}
