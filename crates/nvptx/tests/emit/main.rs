//! Emission of machine functions made by hand: the text, and what it does.

mod build;
mod text;
mod variables;
