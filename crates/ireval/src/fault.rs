//! Why an evaluation ended without a result.

use std::fmt;

/// What kind of end it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The program has undefined behaviour: any result is right.
    Undefined,
    /// The program's way depends on a value that LLVM leaves open: several results are right.
    Open,
    /// The evaluator lacks something that the program uses.
    Unsupported,
    /// The limit of steps, calls or memory is reached.
    Limit,
    /// The IR is not well formed.
    Invalid,
}

/// The end of an evaluation without a result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Fault {
    /// What kind.
    pub kind: FaultKind,
    /// What happened.
    pub message: String,
    /// The function and the number of the instruction in it, once known.
    pub place: Option<(String, usize)>,
}

impl Fault {
    pub(crate) fn undefined(message: impl Into<String>) -> Fault {
        Fault { kind: FaultKind::Undefined, message: message.into(), place: None }
    }

    pub(crate) fn open(message: impl Into<String>) -> Fault {
        Fault { kind: FaultKind::Open, message: message.into(), place: None }
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Fault {
        Fault { kind: FaultKind::Unsupported, message: message.into(), place: None }
    }

    pub(crate) fn limit(message: impl Into<String>) -> Fault {
        Fault { kind: FaultKind::Limit, message: message.into(), place: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Fault {
        Fault { kind: FaultKind::Invalid, message: message.into(), place: None }
    }

    /// The fault with its place, unless it has one from a function called.
    pub(crate) fn at(mut self, function: &str, inst: usize) -> Fault {
        self.place.get_or_insert_with(|| (function.to_owned(), inst));
        self
    }

    /// True when the program itself has no single right result: nothing can be said of a compiler by it.
    #[must_use]
    pub const fn is_of_program(&self) -> bool {
        matches!(self.kind, FaultKind::Undefined | FaultKind::Open)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FaultKind::Undefined => "undefined behaviour",
            FaultKind::Open => "result left open",
            FaultKind::Unsupported => "not supported",
            FaultKind::Limit => "limit",
            FaultKind::Invalid => "invalid IR",
        };
        write!(f, "{kind}: {}", self.message)?;
        match &self.place {
            Some((function, inst)) => write!(f, " (@{function}, instruction {inst})"),
            None => Ok(()),
        }
    }
}
