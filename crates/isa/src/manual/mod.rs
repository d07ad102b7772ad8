//! The reference manual, made from the tables: a page per instruction as text, and the book that
//! `docs/isa/manual` holds.

mod book;
mod page;

pub use book::book;
