//! What a module has: symbols, variables, the functions to lower, the library of slow paths.

pub(crate) mod bank_two;
pub(crate) mod context;
mod data;
pub(crate) mod inlining;
pub(crate) mod library;
pub(crate) mod lines;
pub(crate) mod meetings;
pub(crate) mod objects;
pub(crate) mod plan;
