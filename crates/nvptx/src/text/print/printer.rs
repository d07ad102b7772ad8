//! What printing works with.

use super::meta_numbers::MetaNumbers;
use crate::ir::{Body, Module};
use crate::text::numbering::Numbers;

/// The version that brought `samesign` of `icmp`.
pub(super) const SAME_SIGN_SINCE: u32 = 20;

/// The version since which `llvm.lifetime.start` and `.end` have no size.
pub(super) const SHORT_LIFETIMES_SINCE: u32 = 22;

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

/// The function whose body is being printed.
pub(super) struct Scope<'a> {
    pub(super) body: &'a Body,
    pub(super) numbers: Numbers,
}

pub(super) use put;
