//! Emission of machine functions made by hand: the text, and what it does.

mod build;
mod hostile;
mod lines;
mod modules;
mod text;
mod variables;
mod whole;
