//! The names of the classes: what the `latency` lines of the spec say.

include!(concat!(env!("OUT_DIR"), "/latency_class.rs"));
