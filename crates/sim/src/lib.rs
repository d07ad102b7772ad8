//! SASS simulator.
