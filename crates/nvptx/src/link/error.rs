//! Why modules do not fit together.

use crate::bitcode;

/// Why modules do not fit together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// Two strong definitions.
    #[error("`{name}` is defined in both `{first}` and `{second}`")]
    Duplicate {
        /// The symbol.
        name: String,
        /// The module that had it.
        first: String,
        /// The module that was added.
        second: String,
    },
    /// The same name for things that cannot be the same.
    #[error("`{name}` is {first_is} in `{first}`, but {second_is} in `{second}`")]
    Mismatch {
        /// The symbol.
        name: String,
        /// The module that had it.
        first: String,
        /// What it is there.
        first_is: String,
        /// The module that was added.
        second: String,
        /// What it is there.
        second_is: String,
    },
    /// Pointers of different widths.
    #[error("pointers have {first_bits} bits in `{first}`, but {second_bits} in `{second}`")]
    PointerWidth {
        /// The module that was there.
        first: String,
        /// Bits of its pointers.
        first_bits: u32,
        /// The module that was added.
        second: String,
        /// Bits of its pointers.
        second_bits: u32,
    },
    /// A body of a library cannot be read.
    #[error(transparent)]
    Bitcode(#[from] bitcode::Error),
}
