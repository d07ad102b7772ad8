//! Errors of building and reading Ori.

use crate::operand::MAX_INDEX;

/// Why a function could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// More virtual registers than a packed operand can name.
    #[error("function '{function}' needs more than {MAX_INDEX} virtual registers; split it into smaller functions")]
    TooManyRegisters {
        /// The function's name.
        function: String,
    },
    /// More basic blocks than a packed operand can name.
    #[error("function '{function}' needs more than {MAX_INDEX} basic blocks; split it into smaller functions")]
    TooManyBlocks {
        /// The function's name.
        function: String,
    },
    /// More symbol references than a packed operand can name.
    #[error("function '{function}' needs more than {MAX_INDEX} symbol references; split it into smaller functions")]
    TooManySymbols {
        /// The function's name.
        function: String,
    },
    /// An instruction was emitted after the block's last branch.
    #[error("function '{function}': instruction after the end of {block}")]
    BlockEnded {
        /// The function's name.
        function: String,
        /// The block, as `bix3`.
        block: String,
    },
    /// The operand list does not fit the opcode's signature.
    #[error("function '{function}': {opcode} takes {expected} operands, {found} given")]
    Arity {
        /// The function's name.
        function: String,
        /// The mnemonic.
        opcode: String,
        /// Length of the signature.
        expected: usize,
        /// Number of operands given.
        found: usize,
    },
}
