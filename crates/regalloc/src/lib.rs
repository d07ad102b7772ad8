//! The fat-point register allocator.
