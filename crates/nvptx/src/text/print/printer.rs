//! What printing works with.

use super::meta_numbers::MetaNumbers;
use crate::ir::{Body, Module};
use crate::text::dialect::Form;
use crate::text::numbering::Numbers;

/// Writes to the text; writing to a string does not fail.
macro_rules! put {
    ($printer:expr, $($format:tt)*) => {
        let _ = write!($printer.out, $($format)*);
    };
}

pub(super) struct Printer<'a> {
    pub(super) module: &'a Module,
    pub(super) version: u32,
    pub(super) out: String,
    pub(super) meta: MetaNumbers,
}

impl Printer<'_> {
    /// Whether the release that is printed for has a form.
    pub(super) fn has(&self, form: Form) -> bool {
        form.is_in(self.version)
    }
}

/// The function whose body is being printed.
pub(super) struct Scope<'a> {
    pub(super) body: &'a Body,
    pub(super) numbers: Numbers,
}

pub(super) use put;
