//! PTX lexer, syntax tree, parser, printer and diagnostics.

pub mod ast;
