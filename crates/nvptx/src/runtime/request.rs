//! Calls of the library in the place of instructions.

use super::template::{Instance, Template, Words};
use crate::ir::{CastOp, TypeId, Value};

/// A conversion of an argument.
pub(super) type ArgCast = Option<(CastOp, TypeId)>;

/// The type that the library's function gives, and how the result comes from it.
pub(super) type ResultCast = Option<(TypeId, CastOp)>;

/// A call of a function of the library.
pub(super) struct Request {
    /// Its name.
    pub(super) function: String,
    /// Where it comes from; nowhere when a library that is linked has it.
    pub(super) instance: Option<Instance>,
    /// The arguments.
    pub(super) args: Vec<Value>,
    /// How arguments are converted before.
    pub(super) casts: Vec<ArgCast>,
    /// How the result is converted after.
    pub(super) back: ResultCast,
    /// Vectors are taken element by element.
    pub(super) elementwise: bool,
}

impl Request {
    /// A call of the function that the template makes with these words.
    pub(super) fn new(function: String, template: Template, words: Words, args: Vec<Value>) -> Request {
        let instance = Some(Instance { template, words });
        Request { function, instance, args, casts: Vec::new(), back: None, elementwise: true }
    }

    /// All arguments are converted by one conversion.
    pub(super) fn with_casts(mut self, cast: ArgCast) -> Request {
        self.casts = vec![cast; self.args.len()];
        self
    }

    /// The result is converted.
    pub(super) fn with_back(mut self, back: ResultCast) -> Request {
        self.back = back;
        self
    }
}
