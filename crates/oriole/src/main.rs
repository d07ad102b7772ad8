//! The `oriole` command.

fn main() {}
