//! Linking of modules.
