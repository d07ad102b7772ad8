//! What passes ask of a function.
