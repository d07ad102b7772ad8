//! The numbered optimisation phases over Ori.
