//! Launches, device memory, faults and printf, shared by every engine.
