//! PTX to Ori.
