//! Machine instructions to a PTX module.
