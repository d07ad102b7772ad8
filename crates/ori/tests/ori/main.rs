//! Tests of the IR: operands, text form, analyses, dumps, verifier, hardware form.

mod analyses;
mod call_graph;
mod common;
mod def_use;
mod dumps;
mod machine;
mod operands;
mod published;
mod speculation;
mod text;
mod uniformity;
mod uniformity_levels;
mod verifier;
