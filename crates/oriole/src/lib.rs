//! The Oriole library and command line.
