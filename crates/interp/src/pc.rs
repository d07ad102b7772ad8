//! Places in the code of a function.

/// Number of an operation in its function.
pub(crate) type Pc = u32;

/// No place in the function: the threads meet where it returns.
pub(crate) const NOWHERE: Pc = Pc::MAX;
