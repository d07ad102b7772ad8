//! Errors of lowering: values with a place in the PTX source.

use oriole_ptx::ast::Span;
use oriole_ptx::diag::Diagnostic;

/// Why something could not be lowered.
pub(crate) type LowerError = Box<Diagnostic>;

/// The result of lowering one thing.
pub(crate) type Lowered<T = ()> = Result<T, LowerError>;

/// PTX that is valid but that Oriole does not lower (yet, or for this target).
pub(crate) fn unsupported(span: Span, what: impl Into<String>) -> LowerError {
    Box::new(Diagnostic::new(span, format!("{} is not supported", what.into())))
}

/// PTX that is wrong.
pub(crate) fn invalid(span: Span, message: impl Into<String>) -> LowerError {
    Box::new(Diagnostic::new(span, message))
}
