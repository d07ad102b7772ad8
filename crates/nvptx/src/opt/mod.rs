//! The SSA clean-up.
