//! Selection: IR to machine instructions.
